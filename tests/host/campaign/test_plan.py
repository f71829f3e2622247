"""A campaign decided as values: cells, order, arguments, deadlines, durations; no engine anywhere."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.cells.cell import Cell, Work
from suite.errors import UsageError
from suite.host.campaign import durations, plan
from suite.host.machine.cpus import parse_cpus, write_cpus
from suite.model import Campaign, CellResult, Container, Document, Excluded, container_seconds
from suite.worker import scenarios
from suite.worker.loop import measure
from suite.worker.session.cell import ASKED_ABOUT_BUDGETS
from tests import synthetic

CELLS = scenarios.cells()


def cells(*names: str) -> list[Cell]:
    return [synthetic.make_cell("made", name, {}, Work(amount=1.0, unit="call")) for name in names]


def campaign(**fields: object) -> Campaign:
    made = synthetic.make_campaign(arms=("cpu", "cuda"), cells=cells(*"abcdefgh"))
    return replace(made, **{"calls": {}, **fields})  # type: ignore[arg-type]


def test_a_profile_holds_its_own_cells_only() -> None:
    chosen = plan.choose_cells(CELLS, "smoke", ["cpu", "cuda"], ())
    assert chosen == [cell for cell in CELLS if "smoke" in cell.profiles]
    assert 10 <= len(plan.choose_cells(CELLS, "smoke", ["cpu"], ())) <= 16
    assert plan.choose_cells(CELLS, "full", ["cpu", "cuda"], ()) == CELLS


def test_cells_of_no_arm_that_runs_are_left_out() -> None:
    on_cpu = plan.choose_cells(CELLS, "full", ["cpu"], ())
    assert [cell for cell in CELLS if cell not in on_cpu] == [
        cell for cell in CELLS if cell.arms == ["cuda"]
    ]
    assert any(cell.arms == ["cuda"] for cell in CELLS)


def test_globs_choose_and_may_overlap() -> None:
    chosen = plan.choose_cells(
        CELLS, "full", ["cpu"], ["matmul.*n=10/*", "*square/n=10/*", "*.fence"]
    )
    assert [cell.id for cell in chosen] == [
        "matmul.square/n=10/precision=fp32/operands=device/xla=off",
        "overhead.fence",
    ]


@pytest.mark.parametrize("globs", [["nothing.*"], ["*.fence", "MATMUL.*"], ["*n=2000/*"]])
def test_a_glob_that_matches_nothing_is_a_usage_error(globs: list[str]) -> None:
    with pytest.raises(UsageError, match="matches no cell of the profile smoke"):
        plan.choose_cells(CELLS, "smoke", ["cpu"], globs)


def test_there_are_a_dozen_controls_and_the_standard_profile_has_them_all() -> None:
    found = plan.choose_controls(plan.choose_cells(CELLS, "standard", ["cpu"], ()), "standard")
    assert len(found) == 12
    assert {identity.partition(".")[0] for identity in found} >= {"matmul", "mlp", "overhead"}
    everything = plan.choose_controls(plan.choose_cells(CELLS, "full", ["cpu"], ()), "full")
    assert found == everything
    assert plan.choose_controls(CELLS, "quick") == []


def test_an_arms_cells_are_those_with_a_meaning_on_it() -> None:
    one, two, three = cells("one", "two", "three")
    made = campaign(cells=[one, replace(two, arms=["cuda"]), replace(three, arms=["cpu"])])
    assert [cell.case for cell in plan.cells_of(made, "cpu")] == ["one", "three"]
    assert [cell.case for cell in plan.cells_of(made, "cuda")] == ["one", "two"]


def test_the_calibration_keeps_the_plans_order_whatever_the_seed() -> None:
    for seed in range(20):
        made = campaign(seed=seed)
        assert plan.order_cells(made, "cpu", 0) == made.cells
        assert plan.order_arms(made, 0) == ["cpu", "cuda"]


@given(seed=st.integers(0, 2**31 - 1), block=st.integers(1, 20))
def test_the_order_of_a_block_follows_from_the_seed_alone(seed: int, block: int) -> None:
    made = campaign(seed=seed)
    order = plan.order_cells(made, "cpu", block)
    assert order == plan.order_cells(campaign(seed=seed, label="other"), "cpu", block)
    assert sorted(cell.id for cell in order) == sorted(cell.id for cell in made.cells)
    arms = plan.order_arms(made, block)
    assert arms == plan.order_arms(made, block)
    assert sorted(arms) == ["cpu", "cuda"]
    assert made.arms == ["cpu", "cuda"]


def test_orders_differ_between_seeds_blocks_arms_and_repeats() -> None:
    made = campaign(seed=1)
    orders = [
        tuple(cell.id for cell in plan.order_cells(*asked))
        for asked in [
            (made, "cpu", 1),
            (made, "cpu", 2),
            (made, "cuda", 1),
            (made, "cpu", 1, 1),
            (campaign(seed=2), "cpu", 1),
        ]
    ]
    assert len(set(orders)) == len(orders)
    assert {tuple(plan.order_arms(made, block)) for block in range(1, 20)} == {
        ("cpu", "cuda"),
        ("cuda", "cpu"),
    }


def test_each_cell_comes_first_about_equally_often() -> None:
    firsts = [plan.order_cells(campaign(seed=s), "cpu", 1)[0].id for s in range(1600)]
    for cell in campaign().cells:
        # 200 expected; 6 standard deviations of a binomial are 79.
        assert abs(firsts.count(cell.id) - 200) < 80


def test_arguments_carry_the_frozen_k_and_the_profiles_times() -> None:
    one, two = cells("one", "two")
    made = campaign(
        calls={"cpu": {"made.one": 7}}, warmup_s=0.3, measure_s=0.7, budget_s=15.0, cells=[one, two]
    )
    assert plan.arguments(made, "cpu", 1, [two, one]) == (
        "measure",
        *("--arm", "cpu"),
        *("--warmup", "0.3"),
        *("--measure", "0.7"),
        *("--budget", "15"),
        "made.two",
        "made.one@7",
    )
    assert plan.arguments(made, "cuda", 1, [one])[-1] == "made.one"


def test_the_calibration_finds_k_itself_in_half_the_time() -> None:
    (one,) = cells("one")
    made = campaign(calls={"cpu": {"made.one": 7}}, warmup_s=0.3, measure_s=0.7)
    words = plan.arguments(made, "cpu", 0, [one])
    assert words[3:7] == ("--warmup", "0.15", "--measure", "0.35")
    assert words[-1] == "made.one"


def test_the_worker_understands_the_arguments() -> None:
    from suite.worker.__main__ import arguments

    made = replace(campaign(), cells=CELLS, calls={"cpu": {cell.id: 9 for cell in CELLS}})
    for block in (0, 1):
        parsed = arguments().parse_args(plan.arguments(made, "cpu", block, CELLS))
        assert parsed.arm == "cpu"
        assert parsed.budget == made.budget_s
        assert [word.partition("@")[0] for word in parsed.cells] == [cell.id for cell in CELLS]


def test_a_deadline_is_many_budgets_and_never_short() -> None:
    (one,) = cells("one")
    asked = replace(one, asked_about=True)
    short, long = campaign(budget_s=2.0), campaign(budget_s=60.0)
    assert durations.cell_deadline_s(short, one) == durations.CELL_DEADLINE_FLOOR_S
    assert durations.cell_deadline_s(long, one) == 240.0
    assert durations.cell_deadline_s(long, asked) == 960.0


def test_host_and_worker_agree_on_the_budget_of_what_people_asked_about() -> None:
    assert durations.ASKED_ABOUT_BUDGETS == ASKED_ABOUT_BUDGETS


NOW = datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)


def calibration(made: Campaign, results: list[CellResult], seconds: float = 20.0) -> Document:
    document = synthetic.make_document(made, "cpu", 0)
    half = Container(id="a", started=NOW, ended=NOW + timedelta(seconds=seconds / 2))
    rest = Container(id="b", started=NOW, ended=NOW + timedelta(seconds=seconds / 2))
    alive = Container(id="c", started=NOW)
    return replace(
        document,
        cells=results,
        invocation=replace(document.invocation, containers=[half, rest, alive]),
    )


def result(cell: Cell, **fields: object) -> CellResult:
    made = CellResult(
        id=cell.id,
        scenario=cell.scenario,
        case=cell.case,
        params=cell.params,
        outcome="measured",
        calls_per_sample=5,
        samples_s=[0.01],
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def test_freezing_takes_k_of_what_was_measured_and_reasons_of_what_was_not() -> None:
    a, b, c, d, e = cells(*"abcde")
    document = calibration(
        campaign(),
        [
            result(a),
            result(b, outcome="skipped", reason="too slow", calls_per_sample=3),
            result(c, outcome="failed", reason="ValueError: no"),
            result(d, outcome="failed", reason=None),
            result(e, outcome="pending"),
        ],
    )
    calls, excluded = plan.freeze(document)
    assert calls == {a.id: 5}
    assert excluded == {
        b.id: Excluded(outcome="skipped", reason="too slow"),
        c.id: Excluded(outcome="failed", reason="ValueError: no"),
        d.id: Excluded(outcome="failed", reason="no reason was given"),
    }


def test_a_container_without_an_end_counts_until_its_last_cell() -> None:
    (a,) = cells("a")
    assert container_seconds(calibration(campaign(), [], seconds=20.0)) == 20.0
    last = result(a, container="c", ended=NOW + timedelta(seconds=5))
    assert container_seconds(calibration(campaign(), [last], seconds=20.0)) == 25.0


def test_the_guess_knows_what_is_not_timed_and_not_in_the_container() -> None:
    a, b, c, d = cells(*"abcd")
    made = campaign(
        cells=[a, replace(b, one_shot=True), replace(c, by_host=True), replace(d, arms=["cuda"])],
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
    fast, slow, cold, skipped = cells("fast", "slow", "cold", "skipped")
    made = campaign(
        cells=[fast, slow, replace(cold, one_shot=True), skipped], warmup_s=0.3, measure_s=0.7
    )
    spent = {"prepare": 0.5, "calibrate": 0.2, "warmup": 0.15, "measure": 0.35, "check": 0.1}
    document = calibration(
        made,
        [
            result(fast, spent_s=spent, samples_s=[0.002, 9.0, 0.002], calls_per_sample=5),
            result(slow, spent_s=spent, samples_s=[1.0], calls_per_sample=2),
            result(cold, spent_s={"prepare": 0.5, "first_call": 3.0}, calls_per_sample=1),
            result(skipped, outcome="skipped", spent_s={"prepare": 2.0, "calibrate": 1.0}),
        ],
        seconds=30.0,
    )
    # fast and slow lose 0.7 s each; slow is ruled by its samples of 2 s; skipped goes altogether.
    expected = 30.0 - 2 * 0.7 - 3.0 + (0.3 + 0.7) + (2.0 + 6.0)
    assert durations.predict_invocation_s(made, "cpu", document) == pytest.approx(expected)


def test_a_clock_that_was_set_back_foretells_no_negative_time() -> None:
    (one,) = cells("one")
    made = campaign(cells=[one], warmup_s=0.1, measure_s=0.1)
    document = calibration(made, [result(one, spent_s={"calibrate": 100.0})], seconds=3.0)
    assert durations.predict_invocation_s(made, "cpu", document) == 0.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20m", 1200.0),
        ("1h30m", 5400.0),
        ("1h30m20s", 5420.0),
        ("90s", 90.0),
        ("90", 90.0),
        ("0.5s", 0.5),
        ("2h", 7200.0),
        (" 5m ", 300.0),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert durations.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "20 m", "1d", "-5m", "1.5h", "20m30m", "m", "0", "0s", "0h0m", "1e3", "inf"],
)
def test_what_is_no_duration_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        durations.parse_duration(text)
    assert repr(text) in caught.value.what
    assert "20m" in caught.value.remedy


@given(st.integers(0, 99), st.integers(0, 99), st.integers(1, 99))
def test_durations_add_up(hours: int, minutes: int, seconds: int) -> None:
    assert durations.parse_duration(f"{hours}h{minutes}m{seconds}s") == (
        3600 * hours + 60 * minutes + seconds
    )


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0", (0,)), ("0-3", (0, 1, 2, 3)), ("8,0-1", (0, 1, 8)), ("2,2,1-2", (1, 2)), ("5-5", (5,))],
)
def test_lists_of_cpus_are_read(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["", ",", "a", "3-1", "-1", "0-", "0..3", "0-1-2", "1,,2", "½"])
def test_what_is_no_list_of_cpus_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a list of CPUs"):
        parse_cpus(text)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_cpus_written_are_read_again(cpus: set[int]) -> None:
    text = write_cpus(list(cpus))
    assert parse_cpus(text) == tuple(sorted(cpus))
    # As short as it can be: no part continues the one before it.
    parts = [part.split("-") for part in text.split(",")]
    assert all(int(after[0]) > int(before[-1]) + 1 for before, after in itertools.pairwise(parts))


def test_cpus_are_written_as_the_kernel_does() -> None:
    assert write_cpus([8, 2, 0, 1, 3, 9]) == "0-3,8-9"


def test_k_is_frozen_by_the_fastest_calls_of_the_calibration() -> None:
    slow, cold, quick = cells("slow", "cold", "quick")
    document = calibration(
        campaign(),
        [
            # Found while something else was at work: two calls of 5 ms, which take 2 ms in peace.
            result(slow, calls_per_sample=2, warmup_s=[0.005], samples_s=[0.005, 0.002, 0.005]),
            result(cold, calls_per_sample=1, warmup_s=[], samples_s=[0.0001]),
            result(quick, calls_per_sample=9, warmup_s=[0.002], samples_s=[0.002]),
        ],
    )
    document = replace(document, facts={**document.facts, "sample_floor_s": 0.010})
    calls, _ = plan.freeze(document)
    assert calls == {slow.id: 6, cold.id: 1, quick.id: 9}


def test_what_both_sides_of_the_wall_must_agree_on_is_the_same() -> None:
    # The host can't import the worker, so each has these; a test may look at both.
    assert plan.CALLS_MARGIN == measure.CALLS_MARGIN
    assert plan.CALLS_CAP == measure.CALLS_CAP
