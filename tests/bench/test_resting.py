"""Cells that rest cost no coverage and no verdict, and what goes on finds more: tables, and whole campaigns.

The hundreds of tables belong to ``nox -s method``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suite.analysis.campaign.stopping import assess
from suite.analysis.compare import judge
from suite.analysis.documents.rules import judge_plan, judge_whole
from suite.analysis.result.numbers import MARGIN, OTHER_LEVEL, WORK_LEVEL, Ratio
from suite.analysis.statistics.ratio import find_paired_ratio
from suite.host.campaign import plan
from tests import synthetic
from tests.bench.rates import Rate, contains, count, draw_values
from tests.bench.resting import rest
from tests.bench.truth.winners import NOISY
from tests.fakes.hosts import Array, Host
from tests.rendering import report_folder

WORK, OTHERS = 60, 20
CELLS = WORK + OTHERS
CONTROLS = frozenset({*range(8), *range(WORK, WORK + 4)})
"""They never rest."""

STANDARD = plan.PROFILES["standard"]
FEWEST, MOST = STANDARD.blocks, STANDARD.most_blocks or 0
SIZE = math.log(1.15)


def find_ratios(logs: Array, counts: list[int]) -> list[Ratio]:
    """The ratios of cells that have so many of their blocks."""
    found = [
        find_paired_ratio(dict.fromkeys(range(n), 1.0), dict(enumerate(np.exp(row[:n]).tolist())))
        for row, n in zip(logs, counts, strict=True)
    ]
    return [ratio for ratio in found if ratio]


def name_families(ratios: list[Ratio]) -> list[tuple[float, dict[str, Ratio]]]:
    names = {str(index): ratio for index, ratio in enumerate(ratios)}
    work = {name: ratio for name, ratio in names.items() if int(name) < WORK}
    others = {name: ratio for name, ratio in names.items() if int(name) >= WORK}
    return [(WORK_LEVEL, work), (OTHER_LEVEL, others)]


def count_blocks(logs: Array, controls: frozenset[int] = CONTROLS) -> list[int]:
    """In how many blocks each cell is until it rests."""
    counts, awake, block = [0] * len(logs), set(range(len(logs))), 0
    while block < MOST and awake - controls:
        block += 1
        counts = [block if index in awake else n for index, n in enumerate(counts)]
        if plan.FIRST_LOOK <= block < MOST:
            families = [pair for pair in name_families(find_ratios(logs, counts)) if pair[1]]
            seen = assess(families, [], spoiled={}, block=block, fewest=FEWEST, most=MOST)
            awake &= {int(name) for name, n in seen.wanted.items() if n > block} | controls
    return counts


@dataclass
class Outcome:
    """What came of tables: effects found, tables with a false verdict, intervals that hold the truth, blocks
    by cell, wrong directions, and verdicts that name a winner in all blocks and here as well."""

    found: list[bool] = field(default_factory=list)
    false: list[bool] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    blocks: list[float] = field(default_factory=list)
    wrong: list[bool] = field(default_factory=list)
    kept: list[bool] = field(default_factory=list)


def judge_table(logs: Array, counts: list[int]) -> tuple[list[Ratio], dict[str, str]]:
    ratios = find_ratios(logs, counts)
    verdicts = {
        name: verdict.name
        for level, family in name_families(ratios)
        for name, verdict in judge(family, margin=MARGIN, invalid={}, level=level).items()
    }
    return ratios, verdicts


def try_tables(
    host: Host, mood: float, tables: int, *, effects: int, run: Callable[[Array], list[int]]
) -> Outcome:
    """Tables of two arms that differ in so many cells of work by 15 %, either way."""
    outcome = Outcome()
    for seed in range(tables):
        draw = np.random.default_rng([seed, 11])
        base, other = (
            np.log(draw_values(host, draw, cells=CELLS, blocks=MOST))
            + draw.normal(0.0, mood, (1, MOST))
            for _ in range(2)
        )
        truth = np.zeros(CELLS)
        chosen = draw.choice(WORK, effects, replace=False)
        truth[chosen] = np.where(np.arange(effects) % 2, SIZE, -SIZE)
        logs = other - base + truth[:, np.newaxis]
        counts = run(logs)
        ratios, verdicts = judge_table(logs, counts)
        _, whole = judge_table(logs, [MOST] * CELLS)
        outcome.blocks.append(sum(counts) / CELLS)
        false = False
        for index, log in enumerate(truth.tolist()):
            verdict = verdicts[str(index)]
            wins = verdict in {"FASTER", "SLOWER"}
            if log:
                right = verdict == ("SLOWER" if log > 0 else "FASTER")
                outcome.found.append(right)
                outcome.wrong.append(wins and not right)
            else:
                false = false or wins
            if whole[str(index)] in {"FASTER", "SLOWER"}:
                outcome.kept.append(whole[str(index)] == verdict)
            outcome.held.append(contains(ratios[index], math.exp(log)))
        outcome.false.append(false)
    return outcome


def run_all(tables: int, effects: int, run: Callable[[Array], list[int]]) -> Outcome:
    """The same on every noisy machine, put together."""
    every = [
        try_tables(host, mood, tables, effects=effects, run=run) for host, mood in NOISY.values()
    ]
    return Outcome(
        **{
            name: [hit for outcome in every for hit in vars(outcome)[name]]
            for name in vars(every[0])
        }
    )


def test_on_a_quiet_machine_most_cells_rest_and_on_a_rough_one_effects_are_found() -> None:
    quiet, rough = (
        try_tables(*NOISY[name], 1, effects=10, run=count_blocks) for name in ("typical", "rough")
    )
    assert quiet.blocks[0] < FEWEST < rough.blocks[0]
    five = try_tables(*NOISY["rough"], 1, effects=10, run=lambda logs: [FEWEST] * len(logs))
    assert count(five.found).value < 0.6
    for outcome in (quiet, rough):
        assert count(outcome.found).value > 0.9
        assert not any(outcome.wrong + outcome.false)


@pytest.mark.method
def test_effects_of_fifteen_per_cent_are_found_where_five_blocks_miss_them() -> None:
    outcome = run_all(12, 10, count_blocks)
    assert count(outcome.found).is_at_least(100 / 120)
    assert not any(outcome.wrong)
    assert count(outcome.kept).is_at_least(0.97)
    assert count(outcome.held).lies_within(0.93, 0.97), str(count(outcome.held))
    five = run_all(12, 10, lambda logs: [FEWEST] * len(logs))
    assert count(five.found).value < 80 / 120


@pytest.mark.method
def test_resting_makes_no_false_verdict() -> None:
    outcome = run_all(40, 0, count_blocks)
    assert count(outcome.false).is_at_most(0.05), str(count(outcome.false))
    assert count(outcome.held).lies_within(0.93, 0.97), str(count(outcome.held))


@pytest.mark.method
@pytest.mark.parametrize("spread", [0.01, 0.02, 0.03, 0.04, 0.06])
@pytest.mark.parametrize("log", [0.0, 0.1, math.log(1.6)])
def test_a_single_cell_is_the_worst_case_for_looks(spread: float, log: float) -> None:
    """No family tells what is probable; so are all cells of a machine whose mood is common to them."""
    draw = np.random.default_rng(5)
    hits = []
    for _ in range(1500):
        logs = draw.normal(log, spread, (1, MOST))
        (ratio,) = find_ratios(logs, count_blocks(logs, frozenset()))
        hits.append(contains(ratio, math.exp(log)))
    rate = Rate(hits=sum(hits), tries=len(hits))
    assert rate.value > 0.91, str(rate)


def test_a_campaign_with_resting_cells_is_read_judged_and_told(tmp_path: Path) -> None:
    """Products and steps are clear at once; that a pipeline is equal on both arms takes longer to say."""
    whole = synthetic.make_campaign(blocks=MOST)
    control, *_ = (cell.id for cell in whole.cells if cell.scenario == "matmul")
    how: dict[str, Any] = {
        "truth": lambda cell, arm: (
            1e-3 if cell.scenario == "tfdata" else synthetic.plain_truth(cell, arm)
        ),
        "host": Host(between=0.03, within=0.01),
    }
    whole = replace(whole, controls=[control])
    documents = synthetic.make_documents(whole, **how)
    documents += synthetic.make_twins(whole, names=[control], **how)
    campaign, documents = rest(whole, documents)
    report = report_folder(synthetic.write_campaign(tmp_path, campaign, documents))
    cells = {cell.id: cell for cell in report.analysis.cells}
    equal = next(name for name, cell in cells.items() if cell.scenario == "tfdata")
    counts = {
        name: ratio.n for name, cell in cells.items() if (ratio := cell.comparisons["cuda"].ratio)
    }
    assert FEWEST < campaign.blocks < MOST
    assert counts[equal] == counts[control] == campaign.blocks
    assert min(counts.values()) == plan.FIRST_LOOK
    assert cells[equal].verdict == "EQUIVALENT"
    assert {cells[name].verdict for name in counts} - {"EQUIVALENT"} <= {"FASTER", "SLOWER"}
    # Each number says how many invocations it rests on, and the report when cells came to rest.
    summary = json.loads(report.files["summary.json"])
    rested = summary["campaign"]["rested"]
    assert rested[0]["block"] == plan.FIRST_LOOK + 1
    text = " ".join(str(report.files["report.md"]).split())
    first = f"{rested[0]['cells']} rested from block {rested[0]['block']} on"
    assert f"Of {len(whole.cells)} cells, {first}" in text
    assert f"{campaign.blocks} blocks, fewer of cells that rested" in text
    assert "| blocks | receipt |" in text
    assert not list(judge_plan(campaign))
    assert not [why for why in judge_whole(campaign, documents, []) if "rests" in why]
    # A cell's document from a block in which it rested is none of this campaign.
    first, last = (
        next(d for d in documents if (d.invocation.arm, d.invocation.block) == ("cpu", block))
        for block in (1, campaign.blocks)
    )
    other = next(cell for cell in first.cells if cell.id not in {c.id for c in last.cells})
    added = replace(last, cells=[*last.cells, other])
    (trouble,) = [why for why in judge_whole(campaign, [added], []) if "rests" in why]
    assert trouble.startswith(f"{last.name}: $.cells[{len(last.cells)}].id: {other.id} rests")
    unknown = replace(campaign, looks=[replace(campaign.looks[0], resting=["nothing"])])
    assert [where for where, _ in judge_plan(unknown)] == ["$.looks[0].resting"]
