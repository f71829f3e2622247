"""SLOWER=: fails where a cell of work is slower beyond doubt, and says what would settle the rest."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from suite.analysis.analyse import analyse
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.several import Versus
from suite.analysis.several.cells import compare_cells
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
    *,
    blocks: int = 6,
    twins: bool = True,
    **plan: object,
) -> Analysis:
    how: dict[str, Any] = {"samples": 60, "host": host, "truth": truth}
    campaign = synthetic.make_campaign(blocks=blocks, seed=seed, cells=[*WORK, FENCE])
    campaign = replace(campaign, id=name, **plan)  # type: ignore[arg-type]
    documents = synthetic.make_documents(campaign, calibration=False, **how)
    controls = synthetic.make_twins(campaign, **how) if twins else []
    return analyse(load(campaign, documents, controls))


@pytest.fixture(scope="module")
def base() -> Analysis:
    return make("base")


def one_cell(factor: float) -> synthetic.Truth:
    return synthetic.slow_down(factor, SLOW)


def judge(*analyses: Analysis) -> tuple[Versus, str]:
    versus = compare_cells(analyses, bound=0.05)
    return versus, render_page(compose_versus(versus, analyses))


def test_what_is_slower_is_named_on_each_arm_and_nothing_else(base: Analysis) -> None:
    versus, text = judge(base, make("new", one_cell(1.2), seed=2))
    slower = {(cell, pair.other.arm) for pair, cell, _ in versus.pick("slower")}
    assert slower == {(SLOW, "cpu"), (SLOW, "cuda")}
    assert len(versus.pick("passed")) == 2 * len(WORK) - 2
    assert not versus.holds
    assert "**2 slowdowns.**" in text


@pytest.mark.parametrize("factor", [1.0, 1.03, 0.5])
def test_what_is_faster_or_no_slower_than_it_may_be_passes(base: Analysis, factor: float) -> None:
    versus, text = judge(base, make("new", one_cell(factor), seed=2))
    assert versus.holds
    assert len(versus.pick("passed")) == 2 * len(WORK)
    assert "No slowdown shown" in text
    assert "make bench" not in text


def test_only_what_the_interval_rules_out_passes_where_noise_is_larger_than_the_bound(
    base: Analysis,
) -> None:
    loud = structs.replace(make("new", one_cell(1.2), seed=2), noise_floor=0.3)
    versus, text = judge(base, loud)
    undecided = {cell for _, cell, _ in versus.pick("undecided")}
    assert undecided == {SLOW}
    assert not versus.pick("slower")
    assert "only what is slower by over 30.0 % is shown to be" in text
    for _, _, compared in versus.pick("passed"):
        assert compared.ratio is not None
        assert (compared.ratio.inner_high or 9) < 1.05


def test_a_control_that_failed_stands_first_and_is_no_success(base: Analysis) -> None:
    found = replace_controls(make("new", seed=2))
    versus, text = judge(base, found)
    assert not versus.holds
    first = next(line for line in text.splitlines() if line.startswith("**"))
    assert first.startswith("**A control of new failed: an arm differs from its twin.**")


def replace_controls(analysis: Analysis) -> Analysis:
    campaign = synthetic.make_campaign(blocks=6, seed=9, cells=[*WORK, FENCE])
    how: dict[str, Any] = {"samples": 60, "host": synthetic.QUIET}
    twins = synthetic.make_twins(campaign, truth=synthetic.slow_down(1.2), **how)
    documents = synthetic.make_documents(campaign, calibration=False, **how)
    bad = analyse(load(campaign, documents, twins))
    assert bad.controls.failed == ("twins",)
    return structs.replace(analysis, controls=bad.controls)


def test_as_many_blocks_as_it_says_settle_what_is_undecided() -> None:
    noisy = synthetic.Host(between=0.03, within=0.01)
    first = make("a", host=noisy, seed=5)
    versus, text = judge(first, make("b", one_cell(1.12), host=noisy, seed=6))
    undecided = versus.pick("undecided")
    line = next(one for one in text.splitlines() if "make bench" in one)
    blocks = int(re.findall(r"BLOCKS=(\d+) ", line)[0])
    settled = {cell for _, cell, one in undecided if one.bound and one.bound.blocks}
    assert set(re.findall(r"ONLY='?([^']*)", line)[0].split()) == settled
    more = [
        make(name, truth, noisy, seed, blocks=blocks, twins=False)
        for name, seed, truth in (("a", 7, one_cell(1.0)), ("b", 8, one_cell(1.12)))
    ]
    assert len(judge(*more)[0].pick("undecided")) < len(undecided)


def test_equal_campaigns_seldom_fail_over_all_arms() -> None:
    typical = [make(f"{n}", host=synthetic.TYPICAL, seed=n) for n in range(20, 28)]
    pairs = [(one, other) for one in typical for other in typical if one is not other]
    wrong = sum(bool(compare_cells(pair, bound=0.0).pick("slower")) for pair in pairs)
    assert is_at_most(Rate(hits=wrong, tries=len(pairs)), 0.05)
    assert not any(compare_cells(pair, bound=0.05).pick("slower") for pair in pairs)


def test_what_could_not_be_judged_is_told_and_nothing_judged_is_no_success(base: Analysis) -> None:
    versus, text = judge(base, make("new", one_cell(2.0), seed=2, profile="quick"))
    assert not versus.holds
    assert "**No cell of work could be judged.**" in text
    assert f"{2 * len(WORK)} comparisons could not be judged: no verdict" in text
    plan = structs.replace(base.campaign, id="fewer")
    fewer = structs.replace(base, cells=base.cells[1:], campaign=plan)
    versus, text = judge(base, fewer)
    assert "2 comparisons could not be judged: " in text
    assert versus.holds
    plan = structs.replace(base.campaign, id="without")
    without = structs.replace(base, campaign=plan, arms={"cpu": base.arms["cpu"]})
    assert "2:cuda is missing" in judge(base, without)[1]
