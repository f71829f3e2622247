"""Which arms a campaign has: a GPU that is there is never silently left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite import codec
from suite.errors import GpuError, NoGpuError, UsageError
from suite.host.campaign.arms import (
    Arms,
    check_arms,
    choose_family,
    known_arms,
    name_versions,
    resolve_arms,
)
from suite.host.campaign.options import Options
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


@pytest.mark.parametrize("family", ["cpu", "cuda"])
def test_a_list_of_versions_is_a_list_of_arms_and_the_newest_is_the_plain_one(family: str) -> None:
    named = name_versions(("2.15", "2.20", "2.21"), family)
    assert named == (f"{family}@2.15", f"{family}@2.20", family)
    # As they are named, whichever is older; a release means its version, and Keras stands apart.
    assert name_versions(("2.21.0", "keras-3.12"), family) == (family, f"{family}@keras-3.12")


@pytest.mark.parametrize(
    ("versions", "why"),
    [
        (
            ("2.18", "2.21"),
            r"no arm cpu@2\.18; versions of cpu are 2\.21, 2\.20, 2\.15, keras-3\.12",
        ),
        (("2.20",), "two at least"),
        ((), "two at least"),
        (("2.20", "2.20"), "each once"),
        (("2.21", "2.21.0"), "each once"),
        (("2", "2.20"), "no arm cpu@2"),
        (("", "2.20"), "no arm cpu@"),
        (("2.20-hidden", "2.20"), "no arm cpu@2.20-hidden"),
        (("auto", "2.20"), "no arm cpu@auto"),
    ],
)
def test_what_is_no_list_of_versions_is_a_usage_error(versions: tuple[str, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        name_versions(versions, "cpu")
    locks = "`make lock TENSORFLOW=2.18`" in (caught.value.remedy or "")
    assert locks == ("2.18" in versions)


def test_a_version_that_the_gpu_has_no_arm_of_is_compared_on_the_cpu_by_name() -> None:
    """oneDNN is on the CPU alone: the list is none of a machine with a GPU, whose error lists its own."""
    with pytest.raises(UsageError, match=r"no arm cuda@onednn-off; versions of cuda are") as caught:
        name_versions(("2.21", "onednn-off"), "cuda")
    assert "onednn-off" not in caught.value.what.partition(";")[2]
    remedy = caught.value.remedy or ""
    assert remedy.startswith('ARMS="cpu cpu@onednn-off" ')
    check_arms(("cpu", "cpu@onednn-off"))
    with pytest.raises(UsageError) as caught:
        name_versions(("onednn-off", "of-nobody"), "cuda")
    assert caught.value.remedy == 'such as VERSIONS="2.20 2.21"'


@pytest.mark.parametrize(
    ("wanted", "what", "fits"),
    [
        ("cpu@2.20 cuda", "cpu@2.20 has TensorFlow 2.20", "cpu@2.20 cuda@2.20"),
        ("cuda cpu@2.20 cpu", "cuda has TensorFlow 2.21", "cuda@2.20 cpu@2.20 cpu"),
        ("cpu cuda@2.15 cuda", "cuda@2.15 has TensorFlow 2.15", "cpu@2.15 cuda@2.15 cuda"),
        ("cpu@2.20 cuda@2.15", "has TensorFlow 2.15", "cpu@2.20 cuda@2.20"),
        ("cpu cuda@keras-3.12", "cuda@keras-3.12 has Keras 3.12", "cpu@keras-3.12 cuda@keras-3.12"),
        ("cpu@onednn-off cuda@keras-3.12", "Keras", "cpu@onednn-off cuda"),
        ("cuda cpu@keras-3.12 cpu", "Keras", "cuda@keras-3.12 cpu@keras-3.12 cpu"),
    ],
)
def test_who_wins_is_not_asked_of_one_version_against_another(
    wanted: str, what: str, fits: str
) -> None:
    with pytest.raises(UsageError, match="who wins would be asked of different versions") as caught:
        Options.parse({"arms": wanted})
    assert what in caught.value.what
    assert (caught.value.remedy or "").endswith(f'ARMS="{fits}"')
    Options.parse({"arms": fits})


@pytest.mark.parametrize(
    "wanted",
    [
        "cpu cuda cpu@2.20",
        "cuda@2.20 cpu@2.20 cpu",
        "cpu cuda cpu@2.20 cuda@2.20",
        "cpu@2.20 cpu",
        # oneDNN is nothing that a GPU has.
        "cpu@onednn-off cuda",
        "cuda@2.20 cuda@2.20-hidden",
        "auto",
    ],
)
def test_rivals_of_one_version_are_asked_who_wins(wanted: str) -> None:
    Options.parse({"arms": wanted})


@pytest.mark.parametrize("wanted", ["cpu@2.20 cuda", "cuda-hidden cpu@keras-3.12 cuda"])
def test_of_an_image_of_somebody_elses_the_versions_are_not_known_before_it_runs(
    wanted: str,
) -> None:
    with pytest.raises(UsageError, match="who wins"):
        Options.parse({"arms": wanted})
    Options.parse({"arms": wanted, "cuda_image": "acme/tf:2.20"})
    # No other arm is laid on it.
    with pytest.raises(UsageError, match="who wins"):
        Options.parse({"arms": f"{wanted} cuda@2.15", "cuda_image": "acme/tf:2.20"})


def test_versions_are_of_the_arms_with_a_gpu_where_there_is_one() -> None:
    assert choose_family(FakeEngine(gpu=ABSENT), None) == "cpu"
    engine = FakeEngine(gpu=REQUEST)
    assert [choose_family(engine, gpu) for gpu in (None, "1", "all")] == ["cuda"] * 3
    assert engine.gpus_asked == [None, "1", None]
    with pytest.raises(GpuError, match="refuses"):
        choose_family(FakeEngine(gpu=REFUSED), None)


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
