"""What timing itself cost: an empty fence as a share of a sample, by cell.  Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from suite.analysis.campaign.summarise import Summary
from suite.model import Document

FENCE = "fence_s"
"""The fact that holds the price of an empty fence, in seconds, as each invocation finds it."""


def find_timing_costs(summary: Summary) -> dict[str, dict[str, float]]:
    """By arm and cell the largest share of a sample that an empty fence took in any counted block.

    One-shot cells are left out: a single call can't be made longer.  So are invocations that do not
    say what a fence costs.
    """
    exempt = {one.cell.id for one in summary.cells if one.cell.one_shot}
    return {
        arm: {name: share for name, share in _find_costs(blocks).items() if name not in exempt}
        for arm, blocks in summary.counted.items()
    }


def _find_costs(blocks: Mapping[int, Document]) -> dict[str, float]:
    costs: dict[str, float] = {}
    for document in blocks.values():
        fence = document.facts.get(FENCE)
        if isinstance(fence, bool) or not isinstance(fence, int | float):
            continue
        for one in document.cells:
            if one.outcome == "measured" and one.calls_per_sample and one.samples_s:
                sample = one.calls_per_sample * statistics.median(one.samples_s)
                costs[one.id] = max(costs.get(one.id, 0.0), fence / sample)
    return costs
