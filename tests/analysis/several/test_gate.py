"""The gate fails where a cell of work is slower beyond doubt, and says what would settle the rest."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from suite.analysis.analyse import analyse
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.several import Gate
from suite.analysis.several.gate import judge_gate
from suite.report.produce import build_gate
from tests import synthetic
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


def told(gate: Gate) -> str:
    (text,) = build_gate(gate).values()
    return text


def test_what_is_slower_is_named_on_each_arm_and_nothing_else(base: Analysis) -> None:
    gate = judge_gate(base, make("new", one_cell(1.2), seed=2), 0.05)
    assert {(one.cell, one.arm) for one in gate.pick("slower")} == {(SLOW, "cpu"), (SLOW, "cuda")}
    assert {one.cell for one in gate.cells} == {one.id for one in WORK}
    assert len(gate.pick("passed")) == len(gate.cells) - 2
    assert "2 slowdowns" in told(gate)
    assert "1.2" in told(gate)


def codes(gate: Gate) -> list[str]:
    return [flag.code for flag in gate.missing]


@pytest.mark.parametrize("factor", [1.0, 1.03, 0.5])
def test_what_is_faster_or_no_slower_than_it_may_be_passes(base: Analysis, factor: float) -> None:
    gate = judge_gate(base, make("new", one_cell(factor), seed=2), 0.05)
    assert not gate.pick("slower")
    assert not gate.pick("undecided")
    assert "No slowdown shown" in told(gate)
    assert "make bench" not in told(gate)


def test_noise_does_not_fail_and_says_what_would_settle_it(base: Analysis) -> None:
    noisy = synthetic.Host(between=0.06, within=0.02)
    first = make("noisy", host=noisy, seed=3)
    gate = judge_gate(first, make("new", one_cell(1.04), host=noisy, seed=4), 0.05)
    assert not gate.pick("slower")
    assert gate.again
    assert gate.minutes > 0
    text = told(gate)
    line = next(one for one in text.splitlines() if "make bench" in one)
    assert f"BLOCKS={gate.blocks} " in line
    assert set(re.findall(r"ONLY='?([^']*)", line)[0].split()) == {one.cell for one in gate.again}
    # Twice the cells, or twice the blocks, are about twice the minutes.
    spent = [one.spent["cpu"].total_s for one in (first, base)]
    assert gate.minutes * 60 < sum(spent) * 2 * (gate.blocks + 1)


def test_as_many_blocks_as_it_says_settle_it() -> None:
    noisy = synthetic.Host(between=0.03, within=0.01)
    gate = judge_gate(
        make("a", host=noisy, seed=5), make("b", one_cell(1.12), host=noisy, seed=6), 0.05
    )
    open_ = gate.pick("undecided")
    assert gate.again
    more = [
        make(name, truth, noisy, seed, blocks=gate.blocks, twins=False)
        for name, seed, truth in (("a", 7, one_cell(1.0)), ("b", 8, one_cell(1.12)))
    ]
    after = judge_gate(*more, 0.05)
    assert len(after.pick("undecided")) < len(open_)


def test_equal_campaigns_seldom_fail_and_never_by_more_than_five_per_cent_allows() -> None:
    typical = [make(f"{n}", host=synthetic.TYPICAL, seed=n) for n in range(20, 28)]
    pairs = [(one, other) for one in typical for other in typical if one is not other]
    assert not [1 for one, other in pairs if judge_gate(one, other, 0.05).pick("slower")]


def test_cells_without_a_verdict_are_told_and_do_not_fail(base: Analysis) -> None:
    quick = make("new", one_cell(2.0), seed=2, profile="quick")
    gate = judge_gate(base, quick, 0.05)
    assert gate.cells == ()
    assert codes(gate) == ["provisional"] * 2 * len(WORK)
    assert f"{2 * len(WORK)} comparisons could not be judged: no verdict" in told(gate)
    plan = structs.replace(base.campaign, id="fewer")
    fewer = structs.replace(base, cells=base.cells[1:], campaign=plan)
    gate = judge_gate(base, fewer, 0.05)
    assert codes(gate) == ["not-in-both"] * 2
    assert not gate.pick("slower")


def test_an_arm_that_the_new_one_lacks_is_told(base: Analysis) -> None:
    plan = structs.replace(base.campaign, id="without")
    without = structs.replace(base, campaign=plan, arms={"cpu": base.arms["cpu"]})
    gate = judge_gate(base, without, 0.05)
    assert {one.arm for one in gate.cells} == {"cpu"}
    assert codes(gate) == ["no-number"] * len(WORK)


def test_noise_beyond_the_bound_counts_in_its_place(base: Analysis) -> None:
    loud = structs.replace(make("new", one_cell(1.2), seed=2), noise_floor=0.3)
    gate = judge_gate(base, loud, 0.05)
    assert not gate.pick("slower")
    assert "noise raises the limit to 30.0 %" in told(gate)
