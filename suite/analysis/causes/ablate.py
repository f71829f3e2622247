"""From a cell to plainer cells of the same work, each without one thing more: what each thing takes.

Pure.  Every part is a difference between two cells, or a measured price within such a difference; it has
seconds by arm and block, in a call of the cell that was asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from suite.analysis.ablation.cell_index import Values
from suite.analysis.ablation.overheads import transfer_cost
from suite.analysis.ablation.pipeline import cite_parts, find_better, find_pipeline, is_input_bound
from suite.analysis.causes.ladder_steps import next_stage
from suite.analysis.causes.parts import Compared, Found, Part, count_calls, mean_of, subtract
from suite.analysis.causes.plain_cell import split_plain_cell
from suite.analysis.result.findings import RuleName
from suite.analysis.result.numbers import cite
from suite.cells.traits import LinkName

Ablation = Callable[[Compared], Found | None]
"""To a plainer cell that has a number on all of the arms, and what is gone there; None: there is none."""


def ablate(here: Compared) -> list[Part]:
    """The parts of a cell, by the cells that have a number on all of its arms: what goes away down to the
    plainest of them, and what that consists of.

    The rest is no matter where the GPU waits for something that hides it.
    """
    parts: list[Part] = []
    times, passed = 1.0, {here.cell.id}
    while True:
        ablated = (ablation(here) for ablation in ABLATIONS)
        below, gone = next(filter(None, ablated), None) or (None, list(split_plain_cell(here)))
        for part in gone:
            scaled = {
                arm: {block: times * s for block, s in values.items()}
                for arm, values in part.seconds.items()
            }
            parts.append(replace(part, times=times, seconds=scaled))
        if below is None or below.cell.id in passed:
            return parts
        times *= count_calls(here.cell, below.cell)
        here = below
        passed.add(here.cell.id)


def _follow(name: LinkName, rule: RuleName | None) -> Ablation:
    """To the cell that a link leads to."""

    def follow(here: Compared) -> Found | None:
        other, how = here.link(name)
        if other is None:
            return None
        less = other.seconds * count_calls(here.cell, other.cell)
        part = Part(
            rule=rule,
            here=here,
            seconds=here.leave_out(other),
            evidence=(cite("left-out", own=here.seconds, less=less, **how.values),),
            gains=(here.find_gain(other.summary, how),),
        )
        return other, [part]

    return follow


def _feed_by_hand(here: Compared) -> Found | None:
    """The same step with its data at hand: what goes away is the pipeline and the copies.

    Of a step that is hidden behind its input nothing else is a part, since nothing would go away with it
    alone.  None: it has no pipeline.
    """
    below, _ = here.link("compute")
    pipelines = [find_pipeline(here.index, here.summary, arm) for arm in here.arms]
    fronts = [pipeline for pipeline in pipelines if pipeline]
    if below is None or below.cell is here.cell or len(fronts) < len(here.arms):
        return None
    times = count_calls(here.cell, below.cell)
    fed: dict[str, Values] = {}
    copied: dict[str, Values] = {}
    # What is told after the loop is the GPU's, the last.
    for arm, front in zip(here.arms, fronts, strict=True):
        left = subtract(here.values[arm], below.values[arm], times)
        batch, by_cells = _find_copies(below, arm)
        copied[arm] = {b: max(0.0, min(times * batch.get(b, 0.0), s)) for b, s in left.items()}
        fed[arm] = subtract(left, copied[arm])
        waits = here.cell.data == "prefetched" and is_input_bound(front, mean_of(batch))
        if waits:
            # Without its copies the step would wait as long.
            copied[arm] = dict.fromkeys(left, 0.0)
    gain = here.find_gain(*find_better(here.index, front, arm))
    how = cite("copied" if by_cells else "copied-by-price", seconds=mean_of(copied[arm]))
    parts = [
        Part(
            rule="input", here=here, seconds=fed, evidence=tuple(cite_parts(front)), gains=(gain,)
        ),
        Part(rule="transfer", here=here, seconds=copied, evidence=(how,)),
    ]
    return (None if waits else below), parts


def _find_copies(below: Compared, arm: str) -> tuple[Values, bool]:
    """Seconds for copying a batch: the step with its data on the host against at hand, else the price;
    and whether it is the former."""
    index, own = below.index, below.values[arm]
    for other in index.cells.values():
        nearer = other.cell.data == "host" and index.link(other, "nearer")[0] is below.summary
        if nearer and (values := index.values(other, arm)):
            return subtract(values, own), True
    price = transfer_cost(index, below.summary, arm)
    return dict.fromkeys(own, price.seconds if price else 0.0), False


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
