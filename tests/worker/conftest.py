"""TensorFlow's place, for tests of the worker's own logic."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from suite.worker.loop import trace
from tests.fakes.device import FakeTensorFlow


@pytest.fixture
def tensorflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTensorFlow]:
    """A TensorFlow that sees a product on the CPU; and an unfrozen collector afterwards."""
    # The profiler is TensorFlow's own; test_trace reads what it says.
    monkeypatch.setattr(trace, "trace", lambda _step, _fence, _call_s: {"busy_share": 0.5})
    # The collections between cells then look at the test's own objects alone.
    gc.freeze()
    yield FakeTensorFlow([("MatMul", "/device:CPU:0", "product")]).install(monkeypatch)
    gc.unfreeze()


@pytest.fixture
def on_gpu(tensorflow: FakeTensorFlow) -> FakeTensorFlow:
    """The same where work is seen on a GPU."""
    tensorflow.nodes = [("MatMul", "/device:GPU:0", "product")]
    return tensorflow
