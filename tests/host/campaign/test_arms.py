"""Which arms a campaign has: a GPU that is there is never silently left out."""

from __future__ import annotations

import pytest

from suite.errors import GpuError, NoGpuError, UsageError
from suite.host.campaign.arms import Arms, known_arms, resolve_arms
from suite.model import control_of
from tests.fakes.engine import FakeEngine
from tests.host.campaign.stage import BOTH, REQUEST

ABSENT = NoGpuError("no GPU: looked at /dev", "ARMS=cpu")
REFUSED = GpuError("the engine refuses the GPU", "install the toolkit")


def test_what_runs_follows_from_whether_there_is_a_gpu() -> None:
    why = {"cuda": "no GPU: looked at /dev"}
    alone = Arms(run=(known_arms()["cpu"],), not_run=why)
    assert resolve_arms(FakeEngine(gpu=ABSENT), ("auto",), "0") == alone
    engine = FakeEngine(gpu=REQUEST)
    assert resolve_arms(engine, ("auto",), "1") == BOTH
    assert engine.gpus_asked == ["1"]


@pytest.mark.parametrize(
    ("gpu", "wanted"),
    [
        (REFUSED, ("auto",)),
        (REFUSED, ("cuda",)),
        (REFUSED, ("cpu", "cuda")),
        (ABSENT, ("cpu", "cuda")),
    ],
)
def test_a_gpu_that_is_refused_or_was_named_is_an_error_and_never_a_silent_cpu_run(
    gpu: GpuError, wanted: tuple[str, ...]
) -> None:
    engine = FakeEngine(gpu=gpu)
    with pytest.raises(GpuError, match=gpu.what) as caught:
        resolve_arms(engine, wanted, "0")
    assert caught.value.exit_status == 4
    assert caught.value.remedy
    assert (engine.jobs, engine.provided) == ([], [])


def test_arms_without_the_gpu_do_not_ask_for_it() -> None:
    engine = FakeEngine()
    arms = resolve_arms(engine, ("cuda-hidden", "cpu"), "0")
    assert [arm.name for arm in arms.run] == ["cuda-hidden", "cpu"]
    assert engine.gpus_asked == []


@pytest.mark.parametrize(
    "wanted",
    [("gpu",), ("cpu", "cpu", "cpu"), (), ("auto", "cpu"), ("cuda", "cpu", "cuda"), ("CPU",)],
)
def test_unknown_and_doubled_arms_are_usage_errors(wanted: tuple[str, ...]) -> None:
    engine = FakeEngine(gpu=REQUEST)
    with pytest.raises(UsageError, match="cpu, cuda, cuda-hidden"):
        resolve_arms(engine, wanted, "0")
    assert engine.gpus_asked == []


@pytest.mark.parametrize("name", ["cpu", "cuda"])
def test_an_arm_that_is_named_twice_runs_against_itself(name: str) -> None:
    first, second = resolve_arms(FakeEngine(gpu=REQUEST), (name, name), "0").run
    assert first == known_arms()[name]
    assert second == control_of(first, "again")
