"""What the parts that changed make of the cells of work: which of them is named first.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from suite.analysis.ablation.cell_index import count_steps
from suite.analysis.ablation.pipeline import FED
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.result.versions import PartChange, PartRow, VersionPart
from suite.analysis.versions.parts import PRICE_OF, PartFinder

ROWS: tuple[VersionPart, ...] = ("tracing", "predict")
"""The parts that a cell has of which it is itself what they are read off."""


def find_effects(
    finder: PartFinder, base: str, parts: Iterable[PartChange]
) -> dict[VersionPart, float]:
    """By part how much longer a warm cell of work takes for it, as a share of its time on the base arm, on
    average over these cells.

    A call of a function, a step of Keras's loop and a trace take so many seconds more, as they were measured.
    What is waited for, and what is copied, is what goes away without it, and the rest is arithmetic;
    these take longer by their ratios.
    """
    by_name = {part.name: part for part in parts}
    index = finder.index
    effects = [
        {part: more / whole for part, more in _take_apart(finder, summary, base, by_name).items()}
        for summary in index.cells.values()
        if (summary.cell.role, summary.cell.one_shot) == ("work", False)
        and (whole := index.seconds(summary, base))
    ]
    return {
        name: math.fsum(of.get(name, 0.0) for of in effects) / len(effects)
        for name in by_name
        if effects
    }


@dataclass(frozen=True, kw_only=True)
class _Call:
    """What is known of a call's parts so far: seconds on the base arm, and how many more on the other."""

    parts: Mapping[VersionPart, PartChange]
    own: dict[VersionPart, float] = field(default_factory=dict)
    more: dict[VersionPart, float] = field(default_factory=dict)

    def count(self, part: VersionPart, found: PartRow | None, times: float) -> None:
        """So many units of a part, as they were measured."""
        if found is not None:
            self.own[part] = self.own.get(part, 0.0) + times * max(0.0, found.own)
            self.more[part] = self.more.get(part, 0.0) + times * found.seconds.value

    def share(self, part: VersionPart, seconds: float) -> None:
        """So many seconds of a part, which takes longer by its ratio."""
        seconds, change = max(0.0, seconds), self.parts.get(part)
        self.own[part] = seconds
        if change is not None and change.ratio is not None:
            self.more[part] = seconds * (change.ratio.value - 1)


def _take_apart(
    finder: PartFinder,
    summary: CellSummary,
    base: str,
    parts: Mapping[VersionPart, PartChange],
) -> dict[VersionPart, float]:
    """By part how many seconds more a cell's call takes for it."""
    index, cell = finder.index, summary.cell
    call, whole = _Call(parts=parts), index.seconds(summary, base) or 0.0
    steps, launches = count_steps(cell), cell.work.launches
    if cell.dispatch and (cell.dispatch != "eager" or launches is not None):
        price = next((p.cell.id for p in index.prices(PRICE_OF[cell.dispatch])), "")
        row = parts["dispatch"].rows.get(price) if "dispatch" in parts else None
        call.count("dispatch", row, steps if launches is None else launches)
    if cell.dispatch == "keras" and steps > 1:
        rows = parts["fit"].rows.values() if "fit" in parts else ()
        for found in rows:
            call.count("fit", found, steps / len(rows))
    for part in ROWS:
        if part in parts:
            call.count(part, parts[part].rows.get(cell.id), 1.0)
    nearer = index.seconds(index.link(summary, "nearer")[0], base)
    if nearer is not None:
        call.share("transfer", whole - nearer)
    alone = index.seconds(index.link(summary, "compute")[0], base)
    if alone is not None and cell.data in FED:
        call.share("tf.data", whole - alone)
    call.share("kernels", whole - math.fsum(call.own.values()))
    return call.more
