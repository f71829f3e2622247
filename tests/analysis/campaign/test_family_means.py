"""The mean of a family, computed once more by NumPy and SciPy, and where cells lost blocks."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from msgspec import structs
from scipy import stats

from suite.analysis.campaign.family_means import find_means
from suite.analysis.result.campaign import Analysis, FamilyMean
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import Ratio
from suite.flags import raise_flag
from tests import synthetic
from tests.changes import lose
from tests.rendering import study
from tests.report.campaigns import SWEEPS

BLOCKS = range(1, 6)

PLAN = synthetic.make_campaign(cells=list(SWEEPS), blocks=len(BLOCKS))
DOCUMENTS = synthetic.make_documents(PLAN, samples=4, calibration=False)

STEPS = [cell for cell in SWEEPS if cell.scenario == "mlp"]
"""Of very different ratios: the cells of the smallest batches win on one arm, the others on the other."""

SMALLEST, SECOND = sorted(STEPS, key=lambda cell: cell.work.amount)[:2]


@cache
def whole() -> Analysis:
    return study(PLAN, DOCUMENTS)


def lose_in(gaps: dict[int, str], arm: str = "cuda") -> Analysis:
    """The campaign in which a cell lost its number in each of these blocks."""
    return study(
        PLAN,
        [
            lose(gaps[at.block], "failed", "a reason")(document)
            if (at := document.invocation).arm == arm and at.block in gaps
            else document
            for document in DOCUMENTS
        ],
    )


def find_steps(analysis: Analysis) -> FamilyMean:
    return next(mean for mean in analysis.means if mean.family == "mlp")


def find_logs(analysis: Analysis, family: str) -> list[dict[int, float]]:
    """By cell of a family its pairs' logarithms by block."""
    return [
        {
            block: float(np.log(other[block] / base[block]))
            for block in sorted(base.keys() & other.keys())
        }
        for cell in analysis.cells
        if cell.scenario == family and cell.role == "work"
        for base, other in [(cell.arms["cpu"].values, cell.arms["cuda"].values)]
    ]


def ends(ratio: Ratio | None) -> tuple[float | None, ...]:
    assert ratio
    return ratio.value, ratio.low, ratio.high


@pytest.mark.parametrize("family", ["matmul", "mlp"])
def test_without_gaps_it_is_students_on_the_blocks_means(family: str) -> None:
    (mean,) = [mean for mean in whole().means if mean.family == family]
    logs = np.array([list(of.values()) for of in find_logs(whole(), family)])
    assert logs.shape == (mean.cells, len(BLOCKS))
    test = stats.ttest_1samp(logs.mean(axis=0), 0.0)
    expected = np.exp([logs.mean(), *test.confidence_interval(0.95)])
    assert ends(mean.ratio) == pytest.approx(tuple(expected), rel=1e-9)
    assert mean.counted == mean.cells
    assert mean.ratio
    assert (mean.ratio.n, mean.ratio.p) == (len(BLOCKS), None)


@pytest.mark.parametrize(
    "gaps",
    [
        {2: SMALLEST.id},
        {2: SMALLEST.id, 4: SECOND.id},
        {1: SMALLEST.id, 2: SMALLEST.id},
        {block: cell.id for block, cell in zip(BLOCKS, STEPS, strict=False)},
    ],
)
def test_a_lost_number_does_not_move_the_mean_out_of_its_interval(gaps: dict[int, str]) -> None:
    mean, before = find_steps(lose_in(gaps)), find_steps(whole())
    assert before.ratio
    assert mean.ratio
    assert (mean.counted, mean.cells) == (len(STEPS), len(STEPS))
    assert (mean.wins, mean.loses) == (before.wins, before.loses)
    assert mean.ratio.low is not None
    assert mean.ratio.high is not None
    assert mean.ratio.low < before.ratio.value < mean.ratio.high
    truth = np.exp(
        np.mean(
            [
                np.log(synthetic.plain_truth(cell, "cuda") / synthetic.plain_truth(cell, "cpu"))
                for cell in STEPS
            ]
        )
    )
    assert mean.ratio.low < truth < mean.ratio.high
    # Without the cells that lack a block it would be another mean.
    others = [of for of in find_logs(lose_in(gaps), "mlp") if len(of) == len(BLOCKS)]
    left = np.exp(np.mean([list(of.values()) for of in others]))
    assert not mean.ratio.low < left < mean.ratio.high


def test_with_gaps_it_is_the_mean_of_the_cells_with_their_influence_by_block() -> None:
    analysis = lose_in({2: SMALLEST.id, 4: SECOND.id})
    logs = [np.array([of.get(b, np.nan) for b in BLOCKS]) for of in find_logs(analysis, "mlp")]
    n, cells = len(BLOCKS), len(logs)
    by_block, weights = np.full(n, np.mean([np.nanmean(of) for of in logs])), np.zeros(n)
    for of in logs:
        own = int(np.sum(~np.isnan(of)))
        # The sum of squares over n - 1 has to be the cell's own variance, over its own - 1.
        weight = n / own * np.sqrt((n - 1) * own / (n * (own - 1))) / cells
        by_block += weight * np.nan_to_num(of - np.nanmean(of))
        weights += weight * ~np.isnan(of)
    freedom = np.sum(weights**2) ** 2 / np.sum(weights**4) - 1
    assert n - 1.2 < freedom < n - 1
    half = stats.t.ppf(0.975, freedom) * by_block.std(ddof=1) / np.sqrt(n)
    expected = np.exp(by_block.mean() + np.array([0, -half, half]))
    assert ends(find_steps(analysis).ratio) == pytest.approx(tuple(expected), rel=1e-9)


def test_a_cell_with_two_pairs_counts_and_leaves_no_interval() -> None:
    analysis = lose_in(dict.fromkeys((1, 2, 4), SMALLEST.id))
    mean = find_steps(analysis)
    expected = np.exp(np.mean([np.mean(list(of.values())) for of in find_logs(analysis, "mlp")]))
    assert mean.counted == len(STEPS)
    assert ends(mean.ratio) == (pytest.approx(expected, rel=1e-9), None, None)
    assert mean.ratio
    assert [flag.code for flag in mean.ratio.flags] == ["few-blocks"]


@pytest.mark.parametrize("arm", ["cpu", "cuda"])
def test_a_cell_that_is_invalid_on_an_arm_or_has_no_pair_is_not_counted(arm: str) -> None:
    no_pair = lose_in(dict.fromkeys(BLOCKS, SMALLEST.id), arm)
    assert find_steps(no_pair).counted == len(STEPS) - 1

    def spoil(cell: CellAnalysis) -> CellAnalysis:
        if cell.id != SMALLEST.id:
            return cell
        result = structs.replace(cell.arms[arm], flags=(raise_flag("changed"),))
        return structs.replace(cell, arms={**cell.arms, arm: result})

    means = find_means(whole().arms, map(spoil, whole().cells))
    (spoilt,) = [mean for mean in means if mean.family == "mlp"]
    assert (spoilt.counted, spoilt.cells) == (len(STEPS) - 1, len(STEPS))
    assert ends(spoilt.ratio) == pytest.approx(ends(find_steps(no_pair).ratio), rel=1e-9)
