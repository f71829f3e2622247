"""The products and the training cells by the real TensorFlow: each way of executing, at its smallest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from suite.host.docker.engine import DockerEngine
from suite.model import Image
from suite.worker.scenarios.mlp import infer
from tests.engine.conftest import hear

SQUARE = "matmul.square/n={}/precision={}/operands={}/xla={}"
TRAIN = "mlp.train/net=A/batch={}/data=device/precision={}/execution={}"

MEASURED = (
    SQUARE.format(10, "fp32", "device", "off"),
    SQUARE.format(100, "fp32", "host", "off"),
    SQUARE.format(100, "fp32", "device", "on"),
    TRAIN.format(32, "fp32", "graph"),
    TRAIN.format(32, "fp32", "eager"),
    TRAIN.format(32, "fp32", "xla"),
    "mlp.width/width=64/batch=32/precision=fp32",
    "mlp.loop/batch=512/steps_per_execution=1",
    "mlp.loop/batch=512/steps_per_execution=32",
    "mlp.loop_short/batch=32/steps=32",
    *(
        f"mlp.retrace/varies={v}/traced={t}/batch=32"
        for v in ("number", "shape")
        for t in ("anew", "once")
    ),
    *(f"mlp.infer/batch=32/call={call}" for call in infer.CALLS),
    "mlp.build/model=B",
    "mlp.build/model=clone",
    "mlp.build/model=deep",
    "mlp.fallback/batch=512/python=none",
    "mlp.fallback/batch=512/python=numpy_function",
)
LOW = (
    SQUARE.format(1000, "tf32", "device", "off"),
    SQUARE.format(1000, "bf16", "device", "off"),
    SQUARE.format(1000, "fp16", "device", "off"),
    TRAIN.format(512, "tf32", "graph"),
    TRAIN.format(512, "bf16", "graph"),
    "mlp.width/width=2048/batch=512/precision=tf32",
)


@pytest.fixture(scope="module")
def outcomes(engine: DockerEngine, cpu_image: Image) -> dict[str, dict[str, Any]]:
    """What became of all of them, in one container."""
    words = ("measure", "--warmup", "0.02", "--measure", "0.05", *MEASURED, *LOW)
    records = map(json.loads, hear(engine, cpu_image, *words))
    return {one["cell"]["id"]: one["cell"] for one in records if one["record"] == "cell"}


@pytest.mark.parametrize("identity", MEASURED)
def test_a_cell_is_measured_checked_and_placed(
    identity: str, outcomes: dict[str, dict[str, Any]]
) -> None:
    outcome = outcomes[identity]
    assert outcome["outcome"] == "measured", outcome["reason"]
    assert outcome["check"]["what"]
    assert outcome["placement"].keys() == {"CPU:0"}
    assert outcome["elsewhere"] == []


@pytest.mark.parametrize("identity", LOW)
def test_a_precision_is_measured_or_skipped_with_what_the_cpu_lacks(
    identity: str, outcomes: dict[str, dict[str, Any]]
) -> None:
    outcome = outcomes[identity]
    if "tf32" in identity:
        assert outcome["reason"] == "a CPU has no tf32: TensorFlow would compute in fp32"
    assert outcome["outcome"] in {"measured", "skipped"}, outcome["reason"]


def test_every_way_of_executing_learns_the_same(outcomes: dict[str, dict[str, Any]]) -> None:
    values = [
        outcomes[TRAIN.format(32, "fp32", execution)]["check"]["value"]
        for execution in ("graph", "eager", "xla")
    ]
    assert values == pytest.approx([values[0]] * 3, rel=1e-3)
    with_python, without = (
        outcomes[f"mlp.fallback/batch=512/python={python}"]["check"]["value"]
        for python in ("numpy_function", "none")
    )
    assert with_python == pytest.approx(without, rel=1e-3)
