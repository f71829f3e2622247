"""What each part takes of a cell on an arm: prices of calls, and what goes away in plainer cells.  Pure.

No part is measured twice: what another part takes of a cell is subtracted by block, or the cell is not one
that the part is read off.  What nobody measured exactly is subtracted once not at all and once as much of it
as there can be (`suite.analysis.versions.amounts.Amount`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from suite.analysis.ablation.cell_index import CellIndex, Values, count_steps, mean
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.parts import subtract
from suite.analysis.result.versions import Unit, VersionPart
from suite.cells.traits import Dispatch, OverheadName

MOST_HIDDEN = 0.25
"""A cell of which something else may take a larger share is not one that a part is read off."""

LEAST_FIRST = 2.0
"""A first call that takes less than so many ordinary ones tells nothing of what it has beside them."""

CALLS: tuple[OverheadName, ...] = ("eager", "graph", "xla", "operation")
"""The prices of dispatch."""


class Own(NamedTuple):
    """What a part takes of a cell on an arm, seconds a unit by block: at most and at least."""

    most: Values
    least: Values
    whole: Values


@dataclass(frozen=True)
class PartFinder:
    """The parts of a campaign's cells."""

    index: CellIndex
    found: dict[tuple[VersionPart, str], dict[str, Own]] = field(default_factory=dict)

    def find(self, part: VersionPart, arm: str) -> dict[str, Own]:
        """By cell what a part takes on an arm, of the cells that it can be read off there."""
        if (part, arm) not in self.found:
            cells, find = self.index.cells.items(), FINDERS[part]
            every = ((name, find(self, summary, arm)) for name, summary in cells)
            self.found[part, arm] = {name: own for name, own in every if own and own.most}
        return self.found[part, arm]

    def contains(self, part: VersionPart, arms: Iterable[str]) -> tuple[VersionPart, ...]:
        """The parts that nothing in this campaign tells from a part on these arms."""
        needed = NEEDED.get(part)
        if needed is None or all(self.find(needed, arm) for arm in arms):
            return ()
        return (needed,)

    # --- Prices ---------------------------------------------------------------------------------------

    def price(self, name: OverheadName, arm: str) -> Values:
        """Seconds of one call, or of one operation, by block; nothing where it was not measured."""
        return self.index.per_work(next(iter(self.index.prices(name)), None), arm)

    def bound_dispatch(self, summary: CellSummary, arm: str) -> float | None:
        """The most that dispatch can take of a step on an arm, seconds; None: nobody can say.

        An operation inside a graph takes no more than one that Python starts, where its price is not known.
        """
        cell, work = summary.cell, summary.cell.work
        if cell.dispatch is None or (cell.dispatch == "eager" and work.launches is None):
            return None
        calls = 1.0 if work.launches is None else work.launches / count_steps(cell)
        call = mean(self.price(PRICE_OF[cell.dispatch], arm))
        if call is None or cell.dispatch in {"eager", "xla"}:
            return None if call is None else calls * call
        nodes = self.index.nodes(summary, arm)
        each = mean(self.price("operation", arm)) or mean(self.price("eager", arm))
        return None if nodes is None or each is None else calls * call + nodes * each

    # --- Parts ----------------------------------------------------------------------------------------

    def find_start(self, summary: CellSummary, arm: str) -> Own | None:
        """Imports, devices, the first kernel and model; no container, and no first step, which is traced."""
        cell = summary.cell
        if cell.price != "start-up" or cell.by_host or cell.id in self._first_steps:
            return None
        return _take(self.index.values(summary, arm))

    @cached_property
    def _first_steps(self) -> set[str]:
        cells = (summary.cell for summary in self.index.cells.values())
        return {link.to for cell in cells for link in cell.links.get("start", ())}

    def find_first_call(self, summary: CellSummary, arm: str) -> Own | None:
        """A cell's first call less an ordinary one; of a function at least without its trace."""
        cell, values = summary.cell, self.index.values(summary, arm)
        if not _is_plain(summary):
            return None
        results = summary.results[arm]
        firsts = {
            block: first
            for block in values
            if block in results and (first := results[block].first_call_s) is not None
        }
        typical, first = mean(values), mean(firsts) if _are_positive(firsts) else None
        if typical is None or first is None or first < LEAST_FIRST * typical:
            return None
        beyond = subtract(firsts, values)
        if cell.dispatch == "eager" or not self.traces(arm):
            return Own(most=beyond, least=beyond, whole=firsts)
        trace = self.traces(arm).get(cell.work_key)
        if trace is None:
            return None
        return Own(most=beyond, least=subtract(beyond, trace), whole=firsts)

    def traces(self, arm: str) -> dict[str, Values]:
        """Seconds of tracing a function, by its work."""
        cells = self.index.cells
        found: dict[str, Values] = {}
        for name, own in self.find("tracing", arm).items():
            found.setdefault(cells[name].cell.work_key, own.most)
        return found

    def find_trace(self, summary: CellSummary, arm: str) -> Own | None:
        """The time of a call that traces its function, less that of the same call once it is traced."""
        once, _ = self.index.link(summary, "traced")
        return self._leave_out(summary, once, arm)

    def _leave_out(self, summary: CellSummary, other: CellSummary | None, arm: str) -> Own | None:
        """What a call takes more than one of another cell."""
        if other is None:
            return None
        values = self.index.values(summary, arm)
        more = subtract(values, self.index.values(other, arm))
        return Own(most=more, least=more, whole=values)

    def find_dispatch(self, summary: CellSummary, arm: str) -> Own | None:
        """A price of a call."""
        return _take(self.index.per_work(summary, arm)) if summary.cell.price in CALLS else None

    def find_predict(self, summary: CellSummary, arm: str) -> Own | None:
        """A call of Keras's less the same by a function of one's own."""
        cell = summary.cell
        if cell.dispatch != "keras" or cell.one_shot or cell.way or count_steps(cell) > 1:
            return None
        every = (other for other, _ in self.index.links(summary, "fewer"))
        bare = next((other for other in every if other.cell.dispatch == "graph"), None)
        return self._leave_out(summary, bare, arm)

    def find_fit(self, summary: CellSummary, arm: str) -> Own | None:
        """A step of Keras's loop less the same step in one's own.

        What an epoch does once is left out where the campaign has an epoch with fewer steps as well, and no
        other cell is one that it is read off then, on any arm.  Otherwise all of the input's time is taken
        off for the least, since each loop waits for another share of it.
        """
        loop, _ = self.index.link(summary, "own-loop")
        if loop is None or summary.cell.one_shot:
            return None
        steps = self.index.steps(summary, arm)
        if self._has_lengths:
            own = subtract(self._lengthen(summary, arm), self.index.steps(loop, arm))
            return Own(most=own, least=own, whole=steps) if own else None
        most = subtract(steps, self.index.steps(loop, arm))
        fed, _ = self.index.link(loop, "input")
        batch = self.index.values(fed, arm)
        return Own(most=most, least=subtract(most, _fill(batch, most)), whole=steps)

    @cached_property
    def _has_lengths(self) -> bool:
        return any(self.index.links(summary, "shorter") for summary in self.index.cells.values())

    def _lengthen(self, summary: CellSummary, arm: str) -> Values:
        """Seconds by which a step more makes an epoch of Keras's longer; nothing where no epoch with fewer
        steps was measured."""
        short, _ = self.index.link(summary, "shorter")
        if short is None:
            return {}
        longer = subtract(self.index.values(summary, arm), self.index.values(short, arm))
        more = count_steps(summary.cell) - count_steps(short.cell)
        return {block: seconds / more for block, seconds in longer.items()}

    def find_input(self, summary: CellSummary, arm: str) -> Own | None:
        """A pipeline without a model; asking it for a batch is a call from Python."""
        cell = summary.cell
        if cell.role != "input" or cell.dispatch or cell.device != "cpu" or cell.cpus is not None:
            return None
        return _bound(self.index.values(summary, arm), self.price("eager", arm))

    def find_kernels(self, summary: CellSummary, arm: str) -> Own | None:
        """Work of which dispatch takes a small share at most."""
        if not _is_plain(summary):
            return None
        steps, dispatch = self.index.steps(summary, arm), self.bound_dispatch(summary, arm)
        if dispatch is None:
            return None if self._has_prices(arm) else _take(steps)
        # By block as its price was, so that a block's mood is in neither.
        price = self.price(PRICE_OF[summary.cell.dispatch or "eager"], arm)
        usual = mean(price) or 1.0
        return _bound(steps, {block: dispatch * s / usual for block, s in price.items()})

    def _has_prices(self, arm: str) -> bool:
        return any(self.price(name, arm) for name in CALLS)

    def find_transfer(self, summary: CellSummary, arm: str) -> Own | None:
        """A copy, of which the smallest one shows what every copy takes."""
        cell, size = summary.cell, summary.cell.work.bytes or 0.0
        if cell.price not in {"copy-in", "copy-out"}:
            return None
        smaller = {
            bytes_: other
            for other in self.index.prices(cell.price)
            if (bytes_ := other.cell.work.bytes or 0.0) < size and self.index.values(other, arm)
        }
        least = smaller[min(smaller)] if smaller else None
        fixed = self.index.values(least, arm) if least else self.price("eager", arm)
        return _bound(self.index.values(summary, arm), fixed)


Find = Callable[[PartFinder, CellSummary, str], Own | None]

FINDERS: Mapping[VersionPart, Find] = {
    "start-up": PartFinder.find_start,
    "first-call": PartFinder.find_first_call,
    "tracing": PartFinder.find_trace,
    "dispatch": PartFinder.find_dispatch,
    "fit": PartFinder.find_fit,
    "predict": PartFinder.find_predict,
    "tf.data": PartFinder.find_input,
    "kernels": PartFinder.find_kernels,
    "transfer": PartFinder.find_transfer,
}

UNITS: Mapping[VersionPart, Unit] = {"start-up": "start", "fit": "step"}
"""What a part is a part of, where that is no call."""

NEEDED: Mapping[VersionPart, VersionPart] = {"first-call": "tracing", "kernels": "dispatch"}
"""By part the other part without which it can't be told from that."""

PRICE_OF: Mapping[Dispatch, OverheadName] = {
    "eager": "eager",
    "graph": "graph",
    "xla": "xla",
    "keras": "graph",
}
"""By dispatch the price of a call; Keras's functions are graphs."""


def _is_plain(summary: CellSummary) -> bool:
    """Whether it is warm work with its data at hand, as no script has it, and is not traced at every call."""
    cell = summary.cell
    kind = (cell.role, cell.data, cell.way, cell.one_shot)
    return kind == ("work", "device", None, False) and "traced" not in cell.links


def _take(values: Values) -> Own:
    return Own(most=values, least=values, whole=values)


def _bound(values: Values, hidden: Values) -> Own | None:
    """What is left of values of which something else takes up to so much; None: that is too large a share."""
    own, other = mean(values), mean(hidden)
    if own is None or (other or 0.0) > MOST_HIDDEN * own:
        return None
    return Own(most=values, least=subtract(values, _fill(hidden, values)), whole=values)


def _fill(values: Values, like: Values) -> Values:
    """The values in other blocks: the usual one where there is none, since a cell can rest; 0 where none was
    measured at all."""
    usual = mean(values) or 0.0
    return {block: values.get(block, usual) for block in like}


def _are_positive(values: Values) -> bool:
    return bool(values) and min(values.values()) > 0
