"""Whether a TensorFlow is one that the worker can use: told by what it has, in words."""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from suite.worker import __main__ as worker
from suite.worker.session import preflight, startup
from suite.worker.session.preflight import Unfit, check_tensorflow
from tests.worker.session.test_session import raising
from tests.worker.verdict import hear


def install(
    monkeypatch: pytest.MonkeyPatch,
    *,
    version: str = "2.17.0+nv25.2",
    keras: str = "3.5.0",
    cuda: bool = True,
) -> None:
    module: Any = ModuleType("tensorflow")
    build = {"is_cuda_build": cuda, "cuda_version": "12.8"}
    module.sysconfig = SimpleNamespace(get_build_info=lambda: build)
    module.version = SimpleNamespace(
        VERSION=version, GIT_VERSION="unknown", COMPILER_VERSION="unknown"
    )
    # Of Keras 2 it is the package that has a version, and not what TensorFlow shows of it.
    model = SimpleNamespace(__module__="keras.src.somewhere")
    module.keras = SimpleNamespace(Model=model)
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(__version__=keras))
    monkeypatch.setitem(sys.modules, "tensorflow", module)


def test_a_vendors_build_fits_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    found = check_tensorflow(gpu=True)
    assert "TensorFlow 2.17.0+nv25.2 (CUDA 12.8), Keras 3.5.0, NumPy" in found
    assert sys.executable in found
    install(monkeypatch, version="2.15.1", keras="2.15.0")
    assert "TensorFlow 2.15.1 (CUDA 12.8), Keras 2.15.0, NumPy" in check_tensorflow(gpu=True)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"cuda": False}, "for the CPU only (is_cuda_build: False)"),
        ({"version": "2.14.1", "keras": "2.14.0"}, "older than 2.15"),
    ],
)
def test_what_is_wrong_is_said_beside_all_that_was_found(
    monkeypatch: pytest.MonkeyPatch, made: dict[str, Any], said: str
) -> None:
    install(monkeypatch, **made)
    told = hear(Unfit, check_tensorflow, gpu=True)
    for part in ("refused: ", said, "Keras", "Python 3."):
        assert part in told
    if "cuda" in made:
        # It is fit where no GPU is asked for.
        assert "CPU only" in check_tensorflow(gpu=False)


def test_a_python_that_is_old_or_has_no_tensorflow_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    said = "can't import tensorflow and numpy: ModuleNotFoundError"
    assert said in hear(Unfit, check_tensorflow, gpu=True)
    # Before anything is imported.
    monkeypatch.setattr(sys, "version_info", (3, 10, 12, "final", 0))
    with pytest.raises(Unfit, match=r"Python 3\.10\.12 \(.*, and the worker needs 3\.11 or newer"):
        check_tensorflow(gpu=True)


def test_the_record_is_the_last_line_and_so_is_the_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def reason() -> str:
        assert preflight.main() == 1
        record = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert record["record"] == "unfit"
        return str(record["reason"])

    install(monkeypatch, cuda=False)
    assert "CPU only" in reason()
    install(monkeypatch)
    monkeypatch.setattr(startup, "start", raising(ValueError("no such kernel")))
    assert reason() == "the worker's first steps fail: ValueError: no such kernel"


def test_the_worker_says_what_is_lacking_and_not_how_it_died(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = AttributeError("module 'tensorflow.test' has no attribute 'sync_devices'")
    sent: list[tuple[str, dict[str, Any]]] = []
    channel = SimpleNamespace(send=lambda record, **fields: sent.append((record, fields)))
    monkeypatch.setattr(startup, "start", raising(error))
    monkeypatch.setattr(worker, "Channel", lambda: channel)
    install(monkeypatch, version="2.14.1")
    assert worker.main(["describe"]) == worker.EXIT_UNFIT
    assert [record for record, _ in sent] == ["hello", "unfit"]
    assert "older than 2.15" in sent[1][1]["reason"]
    assert "AttributeError: module" in sent[1][1]["reason"]
    # Nothing is explained by what is there.
    install(monkeypatch)
    with pytest.raises(AttributeError):
        worker.main(["describe"])
