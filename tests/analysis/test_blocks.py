"""How many blocks an inconclusive cell would need, against cells that have as many."""

from __future__ import annotations

import math

import numpy as np
import pytest

from suite.analysis.compare import judge
from suite.analysis.result.numbers import Verdict
from suite.analysis.statistics.ratio import find_paired_ratio


def judge_made(difference: float, spread: float, blocks: int, beside: int = 0) -> Verdict:
    """A cell whose blocks' log ratios have this mean and deviation, beside others of p = 1."""
    steps = np.linspace(-1, 1, blocks)
    logs = difference + spread * steps / steps.std(ddof=1)
    found = find_paired_ratio(
        dict.fromkeys(range(blocks), 1.0), dict(enumerate(map(math.exp, logs.tolist())))
    )
    noise = find_paired_ratio({1: 1.0, 2: 1.0, 3: 1.0}, {1: 0.5, 2: 1.0, 3: 2.0})
    assert found is not None
    assert noise is not None
    family = {"cell": found} | {f"noise {number}": noise for number in range(beside)}
    return judge(family, margin=0.02, invalid={}, paired=False)["cell"]


@pytest.mark.parametrize(
    ("difference", "spread", "beside"),
    [(0.05, 0.10, 0), (0.05, 0.10, 40), (0.0, 0.10, 0), (-0.3, 0.5, 10), (0.015, 0.05, 0)],
)
def test_as_many_blocks_decide_and_one_fewer_does_not(
    difference: float, spread: float, beside: int
) -> None:
    blocks = judge_made(difference, spread, 5, beside).blocks
    assert blocks is not None
    assert judge_made(difference, spread, blocks, beside).name != "INCONCLUSIVE"
    assert judge_made(difference, spread, blocks - 1, beside).name == "INCONCLUSIVE"


@pytest.mark.parametrize(
    ("difference", "spread", "name"),
    [
        (0.05, 3.0, "INCONCLUSIVE"),
        (0.0, 0.4, "INCONCLUSIVE"),
        (math.log(1.0199), 0.0001, "EQUIVALENT"),
        (0.3, 0.01, "SLOWER"),
    ],
)
def test_no_number_where_nothing_is_open_or_nobody_would_wait(
    difference: float, spread: float, name: str
) -> None:
    found = judge_made(difference, spread, 5)
    assert (found.name, found.blocks) == (name, None)
