"""What a campaign has taken and will take, against a limit, without a campaign."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

import pytest

from suite.host.campaign.durations import Budget
from suite.host.engine import Job
from suite.kernel import clock
from suite.model import Document, container_seconds
from tests import synthetic
from tests.fakes.engine import Life
from tests.host.campaign.stage import Stage


def lasting(seconds: float, arm: str = "cpu") -> Document:
    """A document whose containers lived so long."""
    made = synthetic.make_document(synthetic.make_campaign(arms=("cpu", "cuda")), arm, 1)
    (first, *_) = made.invocation.containers
    one = replace(first, ended=first.started + timedelta(seconds=seconds))
    document = replace(made, invocation=replace(made.invocation, containers=[one]))
    assert container_seconds(document) == pytest.approx(seconds)
    return document


def budget_of(limit_s: float | None) -> Budget:
    budget = Budget(limit_s)
    budget.expect("cpu", 10.0)
    budget.expect("cuda", 20.0)
    return budget


def test_what_is_needed_is_known_once_each_is_expected_to_take_something() -> None:
    budget = Budget(None)
    budget.expect("cpu", 10.0)
    assert budget.need_s(["cpu", "cuda"]) is None
    budget.expect("cuda", 20.0)
    assert budget.need_s(["cpu", "cuda", "cuda"]) == 50.0
    assert budget.need_s([]) == 0


def test_a_block_that_would_cross_the_limit_is_refused_and_one_that_fits_is_not() -> None:
    budget = budget_of(45.0)
    budget.book(lasting(20.0))
    assert budget.refuse(2, ["cpu"]) is None
    assert budget.refuse(2, []) is None
    assert budget.refuse(2, ["cpu", "cuda"]) == (
        "after block 1: the next one was predicted to cross the budget of 45 s "
        "(20 s spent, 30 s more)"
    )


def test_what_an_earlier_command_took_is_spent_and_not_on_this_budget() -> None:
    budget = budget_of(45.0)
    budget.resume([lasting(100.0), lasting(200.0)])
    assert budget.spent_s == pytest.approx(300.0)
    assert budget.refuse(3, ["cpu", "cuda"]) is None
    budget.book(lasting(20.0))
    assert "(20 s spent, 30 s more)" in (budget.refuse(3, ["cpu", "cuda"]) or "")


def test_a_repeat_takes_what_its_arm_is_expected_to_or_what_it_took() -> None:
    for limit_s, barred in ((29.0, True), (31.0, False), (None, False)):
        budget = budget_of(limit_s)
        budget.book(lasting(20.0))
        assert budget.bars_repeat(lasting(20.0)) is barred
    unknown = Budget(39.0)
    unknown.book(lasting(20.0))
    assert unknown.bars_repeat(lasting(20.0))


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock of the day by so many seconds."""
    ahead = [0.0]

    class Day(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Day:
            return super().now(tz) + timedelta(seconds=ahead[0])

    monkeypatch.setattr(clock, "datetime", Day)
    return lambda seconds: ahead.__setitem__(0, ahead[0] + seconds)


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
def test_a_clock_that_is_set_spends_nothing_and_is_told(
    jump_s: float, stage: Stage, set_clock: Callable[[float], None]
) -> None:
    def life(job: Job) -> Life:
        def words() -> Iterator[str]:
            lines = stage.worker.words(job)
            yield from lines[:-2]
            if len(stage.engine.jobs) == 3:
                set_clock(jump_s)
            yield from lines[-2:]

        return Life(words=words(), seconds=10.0)

    campaign = stage.run(otherwise=life, blocks=4, budget_s=1800.0)
    assert campaign.stopped is None
    assert campaign.prediction.actual_s == pytest.approx(50.0, abs=5.0)
    jumps = [one.invocation.clock_jump_s for one in stage.load().documents]
    assert jumps == [pytest.approx(jump_s if n == 2 else 0.0, abs=1.0) for n in range(5)]
    assert "the wall clock was adjusted meanwhile, by 3600 s at most" in stage.report()
