"""How long things may take, are guessed to take, and have taken, against a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from suite import clock
from suite.analysis.documents.read import load_campaign
from suite.errors import UsageError
from suite.fingerprint import SUITE
from suite.host.campaign import durations, plan
from suite.host.campaign.durations import Budget
from suite.host.engine import Job
from suite.model import Check, Document, container_seconds
from tests import synthetic
from tests.fakes.engine import Life
from tests.host.campaign.flow import NOW, end, find_k, make_campaign, make_cells
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
    assert container_seconds(find_k(make_campaign(), [], seconds=20.0)) == 20.0
    last = end(a, container="c", ended=NOW + timedelta(seconds=5))
    assert container_seconds(find_k(make_campaign(), [last], seconds=20.0)) == 25.0


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


def test_each_process_costs_what_its_containers_take_beside_their_cells() -> None:
    a, b, c = make_cells(*"abc")
    alone = replace(c, process="c")
    made = make_campaign(cells=[a, b, alone])
    measured = [end(cell, container="a", spent_s={"measure": 1.0}) for cell in (a, b)]
    scripted = end(alone, container="b", spent_s={"first_call": 2.5})
    document = find_k(made, [*measured, scripted], seconds=10.0)
    first, second, _ = document.invocation.containers
    containers = [first, replace(second, process="c")]
    document = replace(document, invocation=replace(document.invocation, containers=containers))
    costs = durations.find_costs(document)
    assert costs.add_up(made.cells) == pytest.approx(container_seconds(document)) == 10.0
    assert costs.add_up([a, b]) == costs.add_up([alone]) == pytest.approx(5.0)
    assert costs.add_up([b, alone]) == pytest.approx(4.0 + 5.0)
    budget = Budget(None)
    assert budget.need_s([("cpu", [a])]) is None
    budget.expect("cpu", costs)
    # A later block in which only one ran, for longer: of the others the older figure holds.
    budget.expect("cpu", durations.Costs(cells={a.id: 3.0}, processes={None: 4.0}))
    assert budget.need_s([("cpu", [a]), ("cpu", [b, alone])]) == pytest.approx(7.0 + 10.0)


SAMPLES = sorted(p for p in (SUITE.parent / "results/samples").glob("*-standard"))


@pytest.mark.parametrize("folder", SAMPLES, ids=[path.name for path in SAMPLES])
def test_a_recorded_campaign_takes_what_was_to_be_expected(folder: Path) -> None:
    """After each block within 10 % of what was left; but for the cells whose calls are slow, which were
    measured otherwise when these were recorded, and for checks."""
    loaded = load_campaign(folder)
    campaign, documents = loaded.campaign, loaded.every_document
    turns = {(d.invocation.arm, d.invocation.block): d for d in documents}
    arms = [arm.name for arm in campaign.every_arm]
    budget, last = Budget(None), max(block for _, block in turns)
    slow = {
        name
        for arm in campaign.arms
        for name in plan.find_slow(turns[campaign.calibrating_arm(arm), 0], campaign.warmup_s)
    }
    for block in range(1, last):
        for arm in arms:
            budget.expect(arm, durations.find_costs(turns[arm, block]))
        left = [(arm, after) for arm in arms for after in range(block + 1, last + 1)]
        took = sum(
            container_seconds(turns[turn])
            - sum(
                cell.spent_s.get("check", 0.0)
                if cell.id not in slow
                else sum(cell.spent_s.values())
                for cell in turns[turn].cells
            )
            for turn in left
        )
        needed = budget.need_s(
            (arm, [c for c in plan.awake_cells(campaign, arm, b) if c.id not in slow])
            for arm, b in left
        )
        assert needed == pytest.approx(took, rel=0.1)


def test_what_is_done_once_is_not_expected_again() -> None:
    """Full checks, traces, and the search for K."""
    full, brief = make_cells("full", "brief")
    check = Check(what="a sum", value=42.0, tolerance=1e-6)
    spent = {"calibrate": 0.3, "measure": 1.0, "trace": 0.2, "check": 0.5}
    document = find_k(
        make_campaign(cells=[full, brief]),
        [
            end(full, container="a", spent_s=spent, check=check),
            end(brief, container="a", spent_s=spent, check=replace(check, brief=True)),
        ],
    )
    costs = durations.find_costs(document)
    assert costs.cells == pytest.approx({full.id: 1.0, brief.id: 1.5})
    # What the container took besides is no less for it.
    besides = container_seconds(document) - 2 * 2.0
    assert costs.processes == pytest.approx({None: besides})


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
    budget.book(lasting(20.0))
    return budget


def test_a_block_that_would_cross_the_limit_is_refused_and_one_that_fits_is_not() -> None:
    budget = budget_of(45.0)
    assert budget.refuse(2, 10.0) is None
    assert budget.refuse(2, 0.0) is None
    assert budget.refuse(2, None) is None
    assert budget.refuse(2, 30.0) == (
        "after block 1: the next one was predicted to cross the budget of 45 s "
        "(20 s spent, 30 s more)"
    )


def test_what_an_earlier_command_took_is_spent_and_not_on_this_budget() -> None:
    budget = Budget(45.0)
    budget.resume([lasting(100.0), lasting(200.0)])
    assert budget.spent_s == pytest.approx(300.0)
    assert budget.refuse(3, 30.0) is None
    budget.book(lasting(20.0))
    assert "(20 s spent, 30 s more)" in (budget.refuse(3, 30.0) or "")


def test_a_repeat_takes_what_the_invocation_took() -> None:
    for limit_s, barred in ((39.0, True), (41.0, False), (None, False)):
        assert budget_of(limit_s).bars_repeat(lasting(20.0)) is barred


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
    assert campaign.prediction.actual_s == pytest.approx(40.0, abs=5.0)
    jumps = [one.invocation.clock_jump_s for one in stage.load().documents]
    assert jumps == [pytest.approx(jump_s if n == 2 else 0.0, abs=1.0) for n in range(4)]
    assert "the wall clock was adjusted meanwhile, by 3600 s at most" in stage.report()
