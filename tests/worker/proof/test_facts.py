"""What a process knows of its software, whichever TensorFlow and Keras it has."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from suite.worker.proof import facts
from tests.fakes.device import install


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("keras.src.models.model", "keras"),
        ("keras.src.engine.training", "keras"),
        ("tf_keras.src.engine.training", "tf_keras"),
    ],
    ids=["Keras 3", "Keras 2", "Keras 2 beside Keras 3"],
)
def test_keras_is_the_package_that_models_come_from(
    monkeypatch: pytest.MonkeyPatch, module: str, package: str
) -> None:
    install(monkeypatch, keras=SimpleNamespace(Model=SimpleNamespace(__module__=module)))
    for name, version in (("keras", "3.3.3"), ("tf_keras", "2.16.0")):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(__version__=version))
    assert facts.keras_version() == {"keras": "3.3.3", "tf_keras": "2.16.0"}[package]


@pytest.mark.parametrize(
    ("port", "found"),
    [
        (SimpleNamespace(IsMklEnabled=lambda: True), True),
        (SimpleNamespace(IsMklEnabled=lambda: False), False),
        (SimpleNamespace(), None),
        (None, None),
    ],
)
def test_onednn_is_on_off_or_unknown(
    monkeypatch: pytest.MonkeyPatch, port: Any, found: bool | None
) -> None:
    name = "tensorflow.python.util"
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "tensorflow.python", SimpleNamespace())
    util = SimpleNamespace() if port is None else SimpleNamespace(_pywrap_util_port=port)
    monkeypatch.setitem(sys.modules, name, util)
    assert facts.has_onednn() is found
