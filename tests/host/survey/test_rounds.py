"""Surveys of several GPUs: how they are planned, and how the campaigns of a turn are run and stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait
from dataclasses import replace
from typing import Any, cast

import pytest

from suite.errors import UsageError
from suite.host.campaign.arms import Arms, known_arms
from suite.host.campaign.request import Request
from suite.host.engine import GpuRequest, Job
from suite.host.survey.halting import Halted, HaltingEngine
from suite.host.survey.plan import Part, plan_survey, share_cpus
from suite.host.survey.rounds import AT_ONCE, order_turns, start_pool, step
from suite.model import SuiteIdentity, Survey
from suite.worker import scenarios
from tests.fakes.engine import FakeEngine, fake_image

CELLS = [cell for cell in scenarios.cells() if cell.id in {"overhead.fence", "overhead.eager_op"}]
JOB = Job(image=fake_image("cuda"), arguments=("measure", "--arm", "cuda"), cpus=(0,), labels={})


@pytest.fixture(autouse=True)
def _identity(suite_identity: SuiteIdentity) -> None:
    """No git."""


def draw(*gpus: str, cells: Any = CELLS, **request: Any) -> tuple[Survey, list[Part]]:
    run = (known_arms()["cpu"], known_arms()["cuda"])
    gpu = GpuRequest(driver="cdi", devices=("0",))
    arms = dict.fromkeys(gpus, Arms(run=run, gpu=gpu))
    shares = {gpu: (place,) for place, gpu in enumerate(gpus)}
    given: dict[str, Any] = {"profile": "smoke", "label": "box", "seed": 5, "blocks": 2, **request}
    return plan_survey(Request(**given), arms, shares, cells)


def test_cpus_are_shared_by_whole_cores_on_each_gpus_side() -> None:
    # Two sockets of four cores with two threads each: n and n + 8 are one core.
    cores = [(n, n + 8) for n in range(8)]
    left, right = (*range(4), *range(8, 12)), (*range(4, 8), *range(12, 16))
    shares = share_cpus(cores, {"0": left, "1": right, "2": left, "3": right})
    expected = {"0": (0, 1, 8, 9), "2": (2, 3, 10, 11), "1": (4, 5, 12, 13), "3": (6, 7, 14, 15)}
    assert shares == expected
    with pytest.raises(UsageError, match="3 GPUs at work at once, and there are 2 CPU cores"):
        share_cpus([(0,), (1,)], {"0": None, "1": None, "2": None})


@pytest.mark.parametrize(
    "near",
    [
        {"0": None, "1": None, "2": None},
        {"0": (0, 1), "1": (0, 1), "2": (0, 1, 2, 3, 4, 5, 6, 7)},
        {"0": (90,), "1": (0,), "2": (1,)},
    ],
    ids=["unknown", "overlapping", "a side without a core"],
)
def test_where_the_sides_can_t_serve_all_the_cores_are_dealt_out_equally(near: Any) -> None:
    shares = share_cpus([(n,) for n in range(8)], near)
    assert sorted(map(len, shares.values())) == [2, 2, 2]
    assert len({cpu for share in shares.values() for cpu in share}) == 6


def test_the_plan_is_one_campaign_alone_and_one_at_once_for_each_gpu() -> None:
    survey, parts = draw("0", "1", profile="standard", blocks=None, price=30.0)
    plans = [part.campaign for part in parts]
    turns = [("0", False), ("1", False), ("0", True), ("1", True)]
    assert [(m.gpu, m.at_once) for m in survey.members] == turns
    assert survey.members == [part.member for part in parts]
    # The processor is the same beside every GPU, and the price is the machine's.
    assert [one.arms for one in plans] == [["cpu", "cuda"], ["cuda"], ["cuda"], ["cuda"]]
    assert [one.price for one in plans] == [30.0, 30.0, None, None]
    assert {(one.seed, one.survey) for one in plans} == {(5, survey.id)}
    assert [one.at_once for one in plans] == [1, 1, 2, 2]
    assert [one.calibrated_by for one in plans] == [None, None, plans[0].id, plans[1].id]
    # None looks whether to go on.
    assert {(one.blocks, one.most_blocks) for one in plans} == {(5, 5)}
    assert survey.cpus == {"0": "0", "1": "1"}
    assert [m.campaign for m in survey.members] == [one.id for one in plans]
    assert survey.command.endswith("SEED=5")


def test_a_label_may_be_as_long_as_any_and_no_longer_and_cells_need_the_arm() -> None:
    _, parts = draw("0", "1", label="x" * 60)
    assert parts[3].campaign.label == "x" * 60 + "-gpu1-at-once"
    for label in ("x" * 61, ""):
        with pytest.raises(UsageError, match="LABEL="):
            draw("0", "1", label=label)
    with pytest.raises(UsageError, match="no cell"):
        draw("0", "1", cells=[replace(CELLS[0], arms=["cpu"])])


def test_a_round_has_every_turn_once_in_an_order_of_its_own() -> None:
    survey, _ = draw("0", "1", "2")
    orders = [order_turns(survey, number) for number in range(1, 13)]
    assert all(sorted(one) == ["0", "1", "2", AT_ONCE] for one in orders)
    assert len({tuple(one) for one in orders}) > 3
    assert orders == [order_turns(survey, number) for number in range(1, 13)]


def test_the_blocks_of_a_turn_are_at_the_same_time_and_one_alone_has_no_thread() -> None:
    # Each waits for the other: one by one would hang.
    both, names = threading.Barrier(2, timeout=20), set()

    def meet() -> Iterator[int]:
        yield both.wait()

    def alone() -> Iterator[int]:
        yield names.add(threading.current_thread()) or 1

    with start_pool(2) as pool:
        step([(cast("Any", meet()), HaltingEngine(FakeEngine())) for _ in range(2)], pool)
        step([(cast("Any", alone()), HaltingEngine(FakeEngine()))], pool)
    assert names == {threading.main_thread()}


def test_a_pool_starts_no_thread_once_it_is_there() -> None:
    with start_pool(3) as pool:
        before = set(threading.enumerate())
        wait([pool.submit(time.sleep, 0.01) for _ in range(6)])
        assert set(threading.enumerate()) == before


def fail() -> Iterator[int]:
    yield int("no number")


class Meeting(HaltingEngine):
    """An engine that takes its time to halt: it waits for another one that does."""

    both = threading.Barrier(2, timeout=20)

    def halt(self) -> None:
        super().halt()
        self.both.wait()


def test_trouble_of_one_stops_all_at_once() -> None:
    engines = [Meeting(FakeEngine()) for _ in range(2)]
    with start_pool(2) as pool, pytest.raises(ValueError, match="no number"):
        step([(cast("Any", fail()), engine) for engine in engines], pool)
    # Who halted one after the other would have broken it.
    assert not Meeting.both.broken
    for engine in engines:
        with pytest.raises(Halted):
            engine.start(JOB)


def test_a_halted_engine_starts_nothing_and_ends_what_runs() -> None:
    fake = FakeEngine()
    engine = HaltingEngine(fake)
    running = engine.start(JOB)
    assert running.next_line(1) is not None
    engine.halt()
    with pytest.raises(Halted):
        running.next_line(1)
    assert ("stop", "fake-1") in fake.log
    with pytest.raises(Halted):
        engine.start(JOB)
    running.close()
    assert fake.closed()


def test_what_is_halted_while_it_is_being_started_is_stopped() -> None:
    fake = FakeEngine()
    engine = HaltingEngine(fake)
    start = fake.start
    fake.start = lambda job: (engine.halt(), start(job))[1]  # type: ignore[method-assign]
    engine.start(JOB)
    assert ("stop", "fake-1") in fake.log
