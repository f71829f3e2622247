"""SLOWER=: fails where a cell of work is slower beyond doubt, and says what would settle the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from suite.analysis.analyse import analyse
from suite.analysis.compare import Bounded, compare_pairs, judge_bound
from suite.analysis.observations import Observation, values_by_block
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, Bound
from suite.analysis.result.numbers import LEVEL, Verdict
from suite.analysis.result.several import Versus
from suite.analysis.several.cells import compare_cells
from suite.analysis.statistics.ratio import find_paired_ratio, find_welch_ratio
from suite.report.pages.comparison import compose_versus
from suite.report.render.markdown import render_page
from tests import synthetic
from tests.bench.rates import Rate
from tests.bench.truth.tally import is_at_most
from tests.rendering import load

WORK = [one for one in synthetic.make_cells() if one.scenario in {"matmul", "mlp"}]
FENCE = next(one for one in synthetic.make_cells() if one.id == "overhead.fence")
SLOW = WORK[0].id


def make(
    name: str,
    truth: synthetic.Truth = synthetic.plain_truth,
    host: synthetic.Host = synthetic.QUIET,
    seed: int = 1,
    **plan: object,
) -> Analysis:
    how: dict[str, Any] = {"samples": 60, "host": host, "truth": truth}
    campaign = synthetic.make_campaign(blocks=6, seed=seed, cells=[*WORK, FENCE])
    campaign = replace(campaign, id=name, **plan)  # type: ignore[arg-type]
    documents = synthetic.make_documents(campaign, calibration=False, **how)
    return analyse(load(campaign, documents, synthetic.make_twins(campaign, **how)))


@pytest.fixture(scope="module")
def base() -> Analysis:
    return make("base")


@pytest.fixture(scope="module")
def new() -> Analysis:
    """The same another time."""
    return make("new", seed=2)


@pytest.fixture(scope="module")
def slow() -> Analysis:
    """Another time, in which one cell takes 20 % longer."""
    return make("new", one_cell(1.2), seed=2)


def one_cell(factor: float) -> synthetic.Truth:
    return synthetic.slow_down(factor, SLOW)


def judge(*analyses: Analysis) -> tuple[Versus, str]:
    versus = compare_cells(analyses, bound=0.05)
    return versus, render_page(compose_versus(versus, analyses))


def test_what_is_slower_is_named_on_each_arm_and_nothing_else(
    base: Analysis, slow: Analysis
) -> None:
    versus, text = judge(base, slow)
    slower = {(cell, pair.other.arm) for pair, cell, _ in versus.pick("slower")}
    assert slower == {(SLOW, "cpu"), (SLOW, "cuda")}
    assert len(versus.pick("passed")) == 2 * len(WORK) - 2
    assert not versus.holds
    assert "**2 slowdowns.**" in text
    # A comparison that is named twice counts once.
    once, twice = (
        compare_cells([base, slow], ["2:cpu/1:cpu"] * times, bound=0.05) for times in (1, 2)
    )
    assert once == twice


@pytest.mark.parametrize("factor", [1.03, 0.5])
def test_what_is_faster_or_no_slower_than_it_may_be_passes(base: Analysis, factor: float) -> None:
    versus, text = judge(base, make("new", one_cell(factor), seed=2))
    assert versus.holds
    assert len(versus.pick("passed")) == 2 * len(WORK)
    assert "No slowdown shown" in text
    assert "make bench" not in text


def test_only_what_the_interval_rules_out_passes_where_noise_is_larger_than_the_bound(
    base: Analysis, slow: Analysis
) -> None:
    loud = structs.replace(slow, noise_floor=0.3)
    versus, text = judge(base, loud)
    undecided = {cell for _, cell, _ in versus.pick("undecided")}
    assert undecided == {SLOW}
    assert not versus.pick("slower")
    assert "only what is slower by over 30.0 % is shown to be" in text
    for _, _, compared in versus.pick("passed"):
        assert compared.ratio is not None
        assert (compared.ratio.inner_high or 9) < 1.05


def replace_controls(analysis: Analysis) -> Analysis:
    campaign = synthetic.make_campaign(blocks=6, seed=9, cells=[*WORK, FENCE])
    how: dict[str, Any] = {"samples": 60, "host": synthetic.QUIET}
    twins = synthetic.make_twins(campaign, truth=synthetic.slow_down(1.2), **how)
    documents = synthetic.make_documents(campaign, calibration=False, **how)
    bad = analyse(load(campaign, documents, twins))
    assert bad.controls.failed == ("twins",)
    return structs.replace(analysis, controls=bad.controls)


def test_what_settles_names_the_cells_the_profile_and_the_arms_of_both_sides() -> None:
    noisy = synthetic.Host(between=0.03, within=0.01)
    first, second = (
        make(name, one_cell(factor), noisy, seed)
        for name, factor, seed in (("a", 1.0, 5), ("b", 1.12, 6))
    )
    across = compare_cells([first, second], ["2:cpu/1:cuda"]).pairs[0].cells[SLOW].ratio
    assert across
    for pairs, bound, arms in (
        ([], 0.05, "cpu cuda"),
        (["2:cpu/1:cuda"], across.value * 0.98 - 1, "cuda cpu"),
    ):
        versus = compare_cells([first, second], pairs, bound=bound)
        rows = versus.pick("undecided")
        blocks = [
            (row.bound.blocks, cell) for _, cell, row in rows if row.bound and row.bound.blocks
        ]
        text = render_page(compose_versus(versus, [first, second]))
        (line,) = [row.strip() for row in text.splitlines() if "make bench" in row]
        assert line.startswith(
            f"make bench PROFILE=standard BLOCKS={max(blocks)[0]} ARMS='{arms}' ONLY="
        )
        assert set(line.partition("ONLY=")[2].strip("'").split()) == {cell for _, cell in blocks}


@pytest.mark.method
def test_equal_campaigns_seldom_fail_over_all_arms() -> None:
    typical = [make(f"{n}", host=synthetic.TYPICAL, seed=n) for n in range(20, 28)]
    pairs = [(one, other) for one in typical for other in typical if one is not other]
    wrong = sum(bool(compare_cells(pair, bound=0.0).pick("slower")) for pair in pairs)
    assert is_at_most(Rate(hits=wrong, tries=len(pairs)), 0.05)
    assert not any(compare_cells(pair, bound=0.05).pick("slower") for pair in pairs)


def test_what_could_not_be_judged_is_told_and_nothing_judged_is_no_success(base: Analysis) -> None:
    versus, text = judge(base, make("new", one_cell(2.0), seed=2, profile="smoke"))
    assert not versus.holds
    assert "**No cell of work could be judged.**" in text
    assert f"{2 * len(WORK)} comparisons of cells of work not judged (no verdict" in text
    plan = structs.replace(base.campaign, id="fewer")
    fewer = structs.replace(base, cells=base.cells[1:], campaign=plan)
    versus, text = judge(base, fewer)
    assert "2 comparisons of cells of work not judged (" in text


def answer(*analyses: Analysis, pairs: Sequence[str] = (), bound: float = 0.05) -> tuple[bool, str]:
    """Whether it passes, and its first lines."""
    versus = compare_cells(analyses, pairs, bound=bound)
    return versus.holds, render_page(compose_versus(versus, analyses)).split("## ")[0]


def take(analysis: Analysis, arm: str) -> Analysis:
    return structs.replace(
        analysis,
        arms={arm: analysis.arms[arm]},
        cells=tuple(
            structs.replace(cell, arms={arm: cell.arms[arm]}, comparisons={})
            for cell in analysis.cells
        ),
    )


def test_nothing_passes_without_what_the_base_has(base: Analysis, new: Analysis) -> None:
    assert answer(base, new)[0]
    alone = take(new, "cpu")
    holds, text = answer(base, alone)
    assert not holds
    assert "**Missing: 2:cuda.**" in text
    # Nobody asks about the other arm.
    holds, text = answer(base, alone, pairs=["2:cpu/1:cpu"])
    assert holds
    assert "Missing" not in text
    assert answer(take(base, "cpu"), new)[0]


def lose(name: str, seed: int, *, invalid: bool = False) -> Analysis:
    campaign = synthetic.make_campaign(blocks=6, seed=seed, cells=[*WORK, FENCE])
    campaign = replace(campaign, id=name)
    documents = synthetic.make_documents(
        campaign, calibration=False, samples=60, host=synthetic.QUIET
    )
    change: dict[str, Any] = {"outcome": "failed", "reason": "lost", "samples_s": []}
    if invalid:
        change = {"evidence": {"steal_share": 0.5}}
    changed = [synthetic.change_cell(one, SLOW, **change) for one in documents]
    return analyse(load(campaign, changed))


@pytest.mark.parametrize("invalid", [False, True])
def test_a_cell_of_work_that_is_missing_now_does_not_pass(
    base: Analysis, new: Analysis, invalid: bool
) -> None:
    lost = lose("lost", 3, invalid=invalid)
    holds, text = answer(base, lost)
    assert not holds
    assert "**Missing: 1 cell of work of 2:cpu.**" in text
    assert SLOW in text
    # What the base does not have either is not missing.
    holds, text = answer(lost, new)
    assert holds
    assert "Missing" not in text


def test_a_cell_with_too_few_numbers_now_does_not_pass(base: Analysis, new: Analysis) -> None:
    for blocks, passes in ((2, False), (3, True)):
        cells = tuple(
            structs.replace(cell, arms=cell.arms | {"cpu": keep(cell.arms["cpu"], blocks)})
            if cell.id == SLOW
            else cell
            for cell in new.cells
        )
        holds, text = answer(base, structs.replace(new, cells=cells))
        assert holds == passes
        assert ("Missing: 1 cell of work of 2:cpu." in text) != passes


def keep(result: ArmResult, blocks: int) -> ArmResult:
    """A result of its first blocks alone."""
    values = {block: value for block, value in result.values.items() if block <= blocks}
    return structs.replace(result, values=values)


def test_an_unknown_noise_floor_is_said(base: Analysis, new: Analysis) -> None:
    unknown = structs.replace(new, noise_floor=None)
    assert "knows its noise floor" in answer(base, unknown)[1]
    assert "knows its noise floor" not in answer(base, new)[1]


def test_only_work_has_to_be_there(base: Analysis, new: Analysis) -> None:
    for lacking, passes in ((SLOW, False), (FENCE.id, True)):
        cells = tuple(cell for cell in new.cells if cell.id != lacking)
        assert answer(base, structs.replace(new, cells=cells))[0] == passes


def test_values_that_two_campaigns_have_never_pass(base: Analysis, new: Analysis) -> None:
    copy = structs.replace(base, campaign=structs.replace(base.campaign, id="copy"))
    holds, text = answer(base, copy)
    assert not holds
    assert "**The same values in two campaigns**: " in text
    plain = render_page(compose_versus(compare_cells([base, copy]), [base, copy]))
    assert "**The same values in two campaigns**: " in plain.split("## ")[0]
    assert "The same values" not in answer(base, new)[1]


def test_a_bound_under_2_per_cent_is_the_limit_where_the_noise_is_less() -> None:
    quiet = synthetic.Host(between=0.0005, within=0.001)
    first, second = (
        structs.replace(make(name, one_cell(factor), quiet, seed), noise_floor=0.002)
        for name, factor, seed in (("a", 1.0, 1), ("b", 1.012, 2))
    )
    versus = compare_cells([first, second], bound=0.005)
    assert {cell for _, cell, _ in versus.pick("slower")} == {SLOW}
    assert "noise is larger" not in render_page(compose_versus(versus, [first, second]))


def test_each_pair_has_the_limit_of_its_own_campaigns(
    base: Analysis, new: Analysis, slow: Analysis
) -> None:
    plan = structs.replace(new.campaign, id="loud")
    loud = structs.replace(new, noise_floor=0.2, campaign=plan)
    text = answer(base, slow, loud)[1]
    assert "- 3:cpu against 1:cpu: the campaigns' noise is larger" in text
    assert "- 2:cpu against 1:cpu: the campaigns' noise" not in text


def test_arms_of_one_campaign_are_paired_by_their_blocks(base: Analysis, new: Analysis) -> None:
    text = answer(base, new, pairs=["1:cuda/1:cpu"])[1]
    assert "one-sided paired t test" in text
    assert "not interleaved" not in text
    assert "Welch" not in text
    text = answer(base, new)[1]
    assert "Welch's one-sided t test" in text
    assert "were not interleaved" in text
    # What both arms of a block share is no noise of their ratio.
    days = np.array([0.0, 0.3, -0.2, 0.25, -0.3, 0.1])
    rows = [
        [observation(day + step, block) for block, day in enumerate(days.tolist(), start=1)]
        for step in (0.0, 0.08)
    ]
    rows[1] = [
        replace(row, seconds=(row.seconds or 0) * (1 + row.block % 2 / 500)) for row in rows[1]
    ]  # type: ignore[operator]
    paired = find_paired_ratio(*map(values_by_block, rows))
    welch = find_welch_ratio(*(values_by_block(side).values() for side in rows))
    assert paired
    assert welch
    told = {
        "paired": Bounded(paired, rows[0], rows[1], 0.05, paired=True),
        "welch": Bounded(welch, rows[0], rows[1], 0.05),
    }
    answers = {name: judge_bound({name: row}, 0.05)[name].answer for name, row in told.items()}
    assert answers == {"paired": "slower", "welch": "undecided"}


def observation(logarithm: float, block: int) -> Observation:
    return Observation(
        campaign="c",
        created=datetime(2026, 1, 1, tzinfo=timezone.utc),
        suite="s",
        arm="cpu",
        block=block,
        cell="x",
        family="f",
        seconds=math.exp(logarithm),
        work=1.0,
        unit="call",
        profile="standard",
        role="work",
    )


def spread_over(blocks: int, mean: float, deviation: float) -> list[Observation]:
    """Rows whose logarithms have exactly this mean and deviation."""
    draws = np.random.default_rng(1).standard_normal(blocks)
    draws = (draws - draws.mean()) / draws.std(ddof=1)
    return [
        observation(mean + deviation * draw, block)
        for block, draw in enumerate(draws.tolist(), start=1)
    ]


def decide(blocks: int, mean: float, deviation: float) -> Bound:
    base, other = spread_over(blocks, 0.0, deviation), spread_over(blocks, mean, deviation)
    ratio = find_welch_ratio(*(values_by_block(rows).values() for rows in (base, other)))
    assert ratio
    return judge_bound({"": Bounded(ratio, base, other, 0.05)}, 0.05)[""]


@pytest.mark.parametrize(
    ("blocks", "mean", "deviation"),
    [(3, 0.03, 0.02), (4, 0.025, 0.03), (5, 0.03, 0.03), (5, 0.035, 0.02), (4, 0.08, 0.05)],
)
def test_the_blocks_that_are_told_decide_and_one_fewer_does_not(
    blocks: int, mean: float, deviation: float
) -> None:
    told = decide(blocks, mean, deviation).blocks
    assert told is not None
    assert decide(told, mean, deviation).answer != "undecided"
    assert decide(told - 1, mean, deviation).answer == "undecided"


def test_the_blocks_of_an_inconclusive_ratio_of_two_campaigns_decide_it() -> None:
    def compare_made(blocks: int) -> Verdict:
        sides = spread_over(blocks, 0.0, 0.03), spread_over(blocks, 0.03, 0.03)
        verdict = compare_pairs({"": sides}, margin=0.02, paired=False, level=LEVEL)[""].verdict
        assert isinstance(verdict, Verdict)
        return verdict

    told = compare_made(5).blocks
    assert told is not None
    assert compare_made(told).name != "INCONCLUSIVE"
    assert compare_made(told - 1).name == "INCONCLUSIVE"


def test_a_failed_control_stands_first_on_every_page_and_nothing_passes(
    base: Analysis, new: Analysis
) -> None:
    bad = replace_controls(new)
    line = "**A control of new failed: an arm differs from its twin.**"
    asked: tuple[dict[str, Any], ...] = ({}, {"bound": 0.05}, {"seed": "f" * 64})
    for how in asked:
        versus = compare_cells([base, bad], **how)
        text = render_page(compose_versus(versus, [base, bad]))
        assert text.split("\n\n")[1] == line
        assert "eproduced:" not in text
        assert versus.holds == (not how)
    assert "Undecided, because a control failed" in text
    versus = compare_cells([base, new], seed="f" * 64)
    text = render_page(compose_versus(versus, [base, new]))
    assert versus.holds
    assert "Reproduced:" in text
    assert "control" not in text.split("## ")[0]
    assert "ROWS=cell" in text.split("side by side:")[1]


@pytest.mark.parametrize(
    ("logarithms", "code"),
    [((0.0, 0.1), "few-pairs"), ((228.0, 228.0, -228.0), "too-wide"), ((0.0, 0.1, 0.2), "")],
)
def test_a_ratio_without_an_interval_has_no_verdict_and_says_which_kind_it_is(
    logarithms: Sequence[float], code: str
) -> None:
    other = [observation(logarithm, block) for block, logarithm in enumerate(logarithms)]
    base = [observation(0.0, row.block or 0) for row in other]
    comparison = compare_pairs({"": (base, other)}, margin=0.02)[""]
    assert (comparison.no_verdict.code if comparison.no_verdict else "") == code
