"""How long things may take, are guessed to take, and have taken, against a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

import pytest

from suite import clock
from suite.errors import UsageError
from suite.host.campaign import durations
from suite.host.campaign.durations import Budget
from suite.host.engine import Job
from suite.model import FIRST_CALL, Document, container_seconds
from tests import synthetic
from tests.fakes.engine import Life
from tests.host.campaign.flow import NOW, calibrate, end, make_campaign, make_cells
from tests.host.campaign.stage import Stage


def test_a_deadline_is_many_budgets_and_never_short() -> None:
    (one,) = make_cells("one")
    asked = replace(one, long_budget=True)
    short, long = make_campaign(budget_s=2.0), make_campaign(budget_s=60.0)
    assert durations.cell_deadline_s(short, one) == durations.CELL_DEADLINE_FLOOR_S
    assert durations.cell_deadline_s(long, one) == 240.0
    assert durations.cell_deadline_s(long, asked) == 960.0


def test_a_container_without_an_end_counts_until_its_last_cell() -> None:
    (a,) = make_cells("a")
    assert container_seconds(calibrate(make_campaign(), [], seconds=20.0)) == 20.0
    last = end(a, container="c", ended=NOW + timedelta(seconds=5))
    assert container_seconds(calibrate(make_campaign(), [last], seconds=20.0)) == 25.0


def test_the_guess_knows_what_is_not_timed_and_not_in_the_container() -> None:
    a, b, c, d = make_cells(*"abcd")
    made = make_campaign(
        cells=[a, replace(b, one_shot=True), replace(c, by_host=True), replace(d, arms=["gpu"])],
        warmup_s=1.0,
        measure_s=2.0,
    )
    assert durations.guess_invocation_s(made, "cpu") == pytest.approx(
        durations.START_GUESS_S + 3.0 + 2 * durations.CELL_GUESS_S
    )
    assert durations.guess_invocation_s(made, "cuda") == pytest.approx(
        durations.START_GUESS_S + 6.0 + 3 * durations.CELL_GUESS_S
    )


def test_the_prediction_swaps_the_calibrations_times_for_the_profiles() -> None:
    fast, slow, cold, skipped = make_cells("fast", "slow", "cold", "skipped")
    made = make_campaign(
        cells=[fast, slow, replace(cold, one_shot=True), skipped], warmup_s=0.3, measure_s=0.7
    )
    spent = {"prepare": 0.5, "calibrate": 0.2, "warmup": 0.15, "measure": 0.35, "check": 0.1}
    document = calibrate(
        made,
        [
            end(fast, spent_s=spent, samples_s=[0.002, 9.0, 0.002], calls_per_sample=5),
            end(slow, spent_s=spent, samples_s=[0.25], calls_per_sample=8),
            end(cold, spent_s={"prepare": 0.5, "measure": 3.0}, calls_per_sample=1),
            end(skipped, outcome="skipped", spent_s={"prepare": 2.0, "calibrate": 1.0}),
        ],
        seconds=30.0,
    )
    # fast and slow lose 0.7 s each; slow is ruled by its samples of 2 s; skipped goes altogether.
    expected = 30.0 - 2 * 0.7 - 3.0 + (0.3 + 0.7) + (2.0 + 6.0)
    assert durations.predict_invocation_s(made, "cpu", document) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call_s", "status", "block_s"),
    [
        # The first call, which was the calibration's warm-up, is a block's; then three samples, or one.
        (0.5, FIRST_CALL, 0.5 + 1.5),
        (9.0, FIRST_CALL, 9.0 + 9.0),
        # Slow beside the calibration's warm-up time, and not beside the profile's: it is warmed up, too.
        (0.2, FIRST_CALL, 0.2 + 0.3 + 0.7),
        # Its first call is booked as such, and was so in every block.
        (0.2, "time", 0.3 + 0.7),
    ],
)
def test_the_prediction_knows_a_slow_cells_first_call(
    call_s: float, status: str, block_s: float
) -> None:
    (slow,) = make_cells("slow")
    made = make_campaign(cells=[slow], warmup_s=0.3, measure_s=0.7)
    ended = end(
        slow,
        spent_s={"prepare": 0.5, "calibrate": 0.001, "warmup": call_s, "measure": 3 * call_s},
        samples_s=[call_s] * 3,
        calls_per_sample=1,
        first_call_s=call_s,
        warmup_status=status,
    )
    document = calibrate(made, [ended], seconds=60.0)
    expected = 60.0 - 4 * call_s - 0.001 + block_s
    assert durations.predict_invocation_s(made, "cpu", document) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h30m20s", 5420.0),
        ("90", 90.0),
        ("0.5s", 0.5),
        (" 5m ", 300.0),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert durations.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [" ", "20 m", "1d", "-5m", "1.5h", "20m30m", "m", "0", "0h0m", "1e3", "inf", "99999h"],
)
def test_what_is_no_duration_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        durations.parse_duration(text)
    assert repr(text) in caught.value.what
    assert "20m" in caught.value.remedy


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


def test_a_clock_that_is_set_spends_nothing_and_is_told(
    stage: Stage, set_clock: Callable[[float], None]
) -> None:
    jump_s = -3600.0

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
