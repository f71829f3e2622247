"""Which arms a campaign has: a GPU that is there is never silently left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite import codec
from suite.errors import GpuError, NoGpuError, UsageError
from suite.host.campaign.arms import Arms, known_arms, resolve_arms
from suite.host.engine import Card
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


@pytest.mark.parametrize(
    "wanted",
    [("gpu",), ("cpu", "cpu", "cpu"), (), ("auto", "cpu"), ("cuda", "cpu", "cuda")],
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


def test_every_gpu_has_the_arms_that_need_one_in_the_order_that_was_asked_for() -> None:
    uuid = "GPU-11111111-0000-0000-0000-000000000000"
    engine = FakeEngine(gpu=REQUEST, cards=(Card(index=0, uuid=uuid), Card(index=1)))
    arms = resolve_arms(engine, ("cuda", "cpu"), "all")
    assert [arm.name for arm in arms.run] == ["cuda:0", "cuda:1", "cpu"]
    assert [arm.uuid for arm in arms.run] == [codec.hash_uuid(uuid), None, None]
    # A worker on another GPU is refused where it is known which one it has to be.
    assert arms.gpus == {"0": replace(REQUEST, uuid=uuid), "1": REQUEST}
    assert engine.gpus_asked == ["0", "1"]
