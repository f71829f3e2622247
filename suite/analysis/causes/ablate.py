"""From a cell to plainer cells of the same work, each without one thing more: what each thing takes.

Pure.  Every part is a difference between two cells, or a measured price within such a difference; it has
seconds by arm and block, in a call of the cell that was asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from suite.analysis.ablation.cell_index import CellIndex, Values
from suite.analysis.ablation.overheads import transfer_cost
from suite.analysis.ablation.pipeline import cite_parts, find_better, find_pipeline, is_input_bound
from suite.analysis.ablation.speedups import find_speedup
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.ladder_steps import next_stage
from suite.analysis.causes.parts import (
    Found,
    Part,
    count_calls,
    has_numbers,
    leave_out,
    mean_of,
    scale,
    subtract,
)
from suite.analysis.causes.plain_cell import split_plain_cell
from suite.analysis.result.findings import RuleName
from suite.analysis.result.numbers import cite
from suite.cells.traits import LinkName

Ablation = Callable[[CellIndex, CellSummary, Sequence[str]], Found | None]
"""To a plainer cell that has a number on all of these arms, and what is gone there; None: there is none."""


def ablate(index: CellIndex, one: CellSummary, arms: Sequence[str]) -> list[Part]:
    """The parts of a cell, by the cells that have a number on all of these arms, the GPU's the last: what
    goes away down to the plainest of them, and what that consists of.

    The rest is no matter where the GPU waits for something that hides it.
    """
    parts: list[Part] = []
    here, times, seen = one, 1.0, {one.cell.id}
    while True:
        ablated = (ablation(index, here, arms) for ablation in ABLATIONS)
        found = next((found for found in ablated if found), None)
        below, gone = found or (None, split_plain_cell(index, here, arms))
        parts += [replace(part, times=times, seconds=scale(part.seconds, times)) for part in gone]
        if below is None or below.cell.id in seen:
            return parts
        times *= count_calls(here, below)
        here = below
        seen.add(here.cell.id)


def _follow(name: LinkName, rule: RuleName | None) -> Ablation:
    """To the cell that a link leads to."""

    def follow(index: CellIndex, one: CellSummary, arms: Sequence[str]) -> Found | None:
        other, how = index.link(one, name)
        if other is None or not has_numbers(index, other, arms):
            return None
        seconds = leave_out(index, one, other, arms)
        own, less = (index.seconds(cell, arms[-1]) or 0.0 for cell in (one, other))
        less *= count_calls(one, other)
        gone = cite("left-out", own=own, less=less, **how.values)
        gain = find_speedup(index, one, other, arms[-1], how)
        part = Part(rule=rule, cell=one, seconds=seconds, evidence=(gone,), gain=gain)
        return other, [part]

    return follow


def _feed_by_hand(index: CellIndex, one: CellSummary, arms: Sequence[str]) -> Found | None:
    """The same step with its data at hand: what goes away is the pipeline and the copies.

    Of a step that is hidden behind its input nothing else is a part, since nothing would go away with it
    alone.  None: it has no pipeline.
    """
    found_by = ((arm, find_pipeline(index, one, arm)) for arm in arms)
    pipelines = {arm: found for arm, found in found_by if found is not None}
    below, _ = index.link(one, "compute")
    if below is None or below is one or not has_numbers(index, below, arms):
        return None
    if len(pipelines) < len(arms):
        return None
    times = count_calls(one, below)
    fed: dict[str, Values] = {}
    copied: dict[str, Values] = {}
    for arm in arms:
        left = subtract(index.values(one, arm), index.values(below, arm), times)
        batch, by_cells = _find_copies(index, below, arm)
        copied[arm] = {b: max(0.0, min(times * batch.get(b, 0.0), s)) for b, s in left.items()}
        fed[arm] = subtract(left, copied[arm])
        waits = one.cell.data == "prefetched" and is_input_bound(pipelines[arm], mean_of(batch))
        if waits:
            # Without its copies the step would wait as long.
            copied[arm] = dict.fromkeys(left, 0.0)
    # What is told is the GPU's, the last.
    gpu = arms[-1]
    at, how = find_better(index, pipelines[gpu], gpu)
    gain = find_speedup(index, one, at, gpu, how)
    parts = [
        Part(
            rule="input",
            cell=one,
            seconds=fed,
            evidence=tuple(cite_parts(pipelines[gpu])),
            gain=gain,
        ),
        Part(
            rule="transfer",
            cell=one,
            seconds=copied,
            evidence=(
                cite("copied" if by_cells else "copied-by-price", seconds=mean_of(copied[gpu])),
            ),
        ),
    ]
    return (None if waits else below), parts


def _find_copies(index: CellIndex, below: CellSummary, arm: str) -> tuple[Values, bool]:
    """Seconds for copying a batch: the step with its data on the host against at hand, else the price;
    and whether it is the former."""
    for other in index.cells.values():
        if other.cell.data == "host" and index.link(other, "nearer")[0] is below:
            values = index.values(other, arm)
            if values:
                return subtract(values, index.values(below, arm)), True
    price = transfer_cost(index, below, arm)
    return dict.fromkeys(index.values(below, arm), price.seconds if price else 0.0), False


ABLATIONS: Sequence[Ablation] = (
    next_stage,
    _follow("without", "fallback"),
    _follow("nearer", "transfer"),
    _feed_by_hand,
    _follow("warm", "start-up"),
    _follow("traced", "retracing"),
    # Nothing that is a cause.
    _follow("plain", None),
    _follow("own-loop", "overhead"),
    _follow("prefetched", "input"),
)
"""What can be left out, in the order in which it is tried."""
