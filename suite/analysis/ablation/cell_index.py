"""The cells of an analysed campaign, found by what they are, with their values ready to compare.

Pure; knows no name of a case, and says nothing about what the numbers mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from suite.analysis.campaign.summarise import CellSummary, Summary
from suite.analysis.compare import is_beyond
from suite.analysis.observations import LARGEST, Observation, values_by_block
from suite.analysis.result.cells import tell_verdict
from suite.analysis.result.numbers import Evidence, Ratio, Verdict, cite
from suite.analysis.statistics.ratio import find_paired_ratio
from suite.cells.cell import Cell
from suite.cells.traits import WITH_VERDICTS, LinkName, OverheadName
from suite.flags import Flag
from suite.model import CellResult

Values = Mapping[int, float]
"""Invocation values by block."""

Trace = Mapping[str, float]
"""What a profiler saw a GPU do in a few untimed calls, as the worker's trace.py names it."""

COUNTED = ("FLOP", "example")
"""The units of work whose rate says how well a device is used."""


@dataclass(frozen=True, kw_only=True)
class CellIndex:
    """The cells by id in the plan's order.

    ``cpu`` and ``gpu`` are the arms that are each other's rivals; None where there is none.
    ``margin`` is what a difference must exceed to count, ``gives_verdicts`` whether the profile does,
    ``share`` what this look may spend of every level (None: all, and it is the only one).
    ``traces`` are of the block that found K, by arm and cell.  ``table`` has the observations.
    """

    table: Sequence[Observation]
    cells: Mapping[str, CellSummary]
    arms: tuple[str, ...]
    cpu: str | None
    gpu: str | None
    margin: float
    gives_verdicts: bool
    share: float | None
    traces: Mapping[str, Mapping[str, Trace]]

    def prices(self, price: OverheadName) -> list[CellSummary]:
        """Every cell that is the price of something, in the plan's order."""
        return [summary for summary in self.cells.values() if summary.cell.price == price]

    def links(self, summary: CellSummary, name: LinkName) -> list[tuple[CellSummary, Evidence]]:
        """The cells of the plan that a cell links to by a name, and what is different there."""
        return [
            (self.cells[link.to], cite("linked", words=link.words))
            for link in summary.cell.links.get(name, ())
            if link.to in self.cells
        ]

    def link(self, summary: CellSummary, name: LinkName) -> tuple[CellSummary | None, Evidence]:
        """The first of them; None: there is none."""
        return next(iter(self.links(summary, name)), (None, cite("linked", words="")))

    def line(self, summary: CellSummary, axis: str, arm: str) -> list[tuple[float, CellSummary]]:
        """The cells with a number that differ from this one in a numeric axis alone, this one
        among them, sizes ascending."""
        fixed = {**summary.cell.params, axis: 0}
        sizes = [
            (float(size), other)
            for other in self.cells.values()
            if other.cell.name == summary.cell.name
            and isinstance(size := other.cell.params.get(axis), int | float)
            and {**other.cell.params, axis: 0} == fixed
            and self.values(other, arm)
        ]
        return sorted(sizes, key=lambda pair: pair[0])

    def trace(self, summary: CellSummary, arm: str) -> Trace | None:
        """What a profiler saw of a cell on an arm; None: it was not traced."""
        return self.traces.get(arm, {}).get(summary.cell.id)

    def values(self, summary: CellSummary | None, arm: str | None) -> Values:
        """Seconds a call by block; nothing where there is no number or it is INVALID."""
        return self._valid.get((summary.cell.id, arm), {}) if summary and arm else {}

    def rows(self, summary: CellSummary, arm: str) -> Sequence[Observation]:
        """The observations of a cell on an arm; none where it is INVALID."""
        return self._rows.get((summary.cell.id, arm), ())

    @cached_property
    def _rows(self) -> Mapping[tuple[str, str], Sequence[Observation]]:
        """By cell and arm, since every cell asks for those of all others."""
        rows: dict[tuple[str, str], list[Observation]] = {}
        for row in self.table:
            if not row.invalid:
                rows.setdefault((row.cell, row.arm), []).append(row)
        return rows

    @cached_property
    def _valid(self) -> Mapping[tuple[str, str], Values]:
        return {place: values_by_block(rows) for place, rows in self._rows.items()}

    def steps(self, summary: CellSummary | None, arm: str) -> Values:
        """Seconds a step by block: of a call that makes several steps of ``batch`` the mean one."""
        return divide(self.values(summary, arm), count_steps(summary.cell) if summary else 1.0)

    def per_work(self, summary: CellSummary | None, arm: str) -> Values:
        """Seconds a unit of work by block; nothing where no work is declared that makes sense."""
        return divide(self.values(summary, arm), summary.cell.work.amount if summary else 0.0)

    def seconds(self, summary: CellSummary | None, arm: str | None) -> float | None:
        """Seconds a call: the cell's value, or None."""
        return mean(self.values(summary, arm))

    def rate(self, summary: CellSummary, arm: str) -> float | None:
        """Work a second, or None."""
        return self._rates.get((summary.cell.id, arm))

    @cached_property
    def _rates(self) -> Mapping[tuple[str, str], float]:
        means = {(id_, arm): mean(self.per_work(self.cells[id_], arm)) for id_, arm in self._valid}
        return {place: 1 / seconds for place, seconds in means.items() if seconds}

    def ratio(self, summary: CellSummary) -> Ratio | None:
        """The GPU's time over the CPU's; None without both, or where one is INVALID."""
        return find_paired_ratio(self.values(summary, self.cpu), self.values(summary, self.gpu))

    def wins(self, summary: CellSummary) -> bool | None:
        """Whether the GPU is the faster one; None: nobody can tell.  See also `is_provisional`."""
        verdict = self._verdict(summary)
        if isinstance(verdict, Verdict):
            # Verdicts are about the arm that is not the first.
            won = verdict.name == ("SLOWER" if self.arms[0] == self.gpu else "FASTER")
            return won if verdict.names_winner else None
        ratio = self.ratio(summary)
        if ratio is None or not is_beyond(ratio.value, self.margin):
            return None
        least, most = ratio.low, ratio.high
        if least is None or most is None:
            # Without an interval every block has to show it.
            slow, fast = (self.values(summary, arm) for arm in (self.cpu, self.gpu))
            each = [fast[block] / slow[block] for block in slow if block in fast]
            least, most = min(each), max(each)
        return None if least <= 1 <= most else ratio.value < 1

    def is_provisional(self, summary: CellSummary) -> bool:
        """Whether no verdict stands behind `wins`, only a ratio."""
        return not isinstance(self._verdict(summary), Verdict)

    def measured(self, summary: CellSummary, arm: str) -> list[CellResult]:
        """What the invocations say of a cell that measured it on an arm."""
        return [result for result in summary.results[arm].values() if result.outcome == "measured"]

    def enqueueing(self, summary: CellSummary, arm: str) -> float | None:
        """The share of a sample spent handing work over, the median invocation's; None: unknown."""
        results = self.measured(summary, arm)
        shares = [share for result in results if (share := result.enqueue_fraction) is not None]
        return median(shares) if shares else None

    def nodes(self, summary: CellSummary, arm: str) -> int | None:
        """The nodes of the step's graph on the arm's own kind of device; None: not known."""
        kind = "GPU" if arm == self.gpu else "CPU"
        counts = [
            sum(count for device, count in result.placement.items() if kind in device)
            for result in self.measured(summary, arm)
        ]
        return round(median(counts)) if any(counts) else None

    def _verdict(self, summary: CellSummary) -> Verdict | Flag | None:
        """Of the rivals, where one of them is the arm that all are compared with."""
        base = self.arms[0]
        rival = {self.cpu: self.gpu, self.gpu: self.cpu}.get(base)
        comparison = summary.comparisons.get(rival or "")
        return tell_verdict(comparison) if comparison else None


def index_cells(summary: Summary) -> CellIndex:
    """The index of an analysed campaign."""
    plan = summary.campaign
    arms = [plan.arm(name) for name in plan.arms]
    traces: dict[str, dict[str, Trace]] = {name: {} for name in plan.arms}
    for document in summary.loaded.documents:
        if document.invocation.block == summary.loaded.calibration:
            traced = {result.id: result.trace for result in document.cells if result.trace}
            traces[document.invocation.arm].update(traced)
    gpu, cpu = plan.find_arm(gpu=True), plan.find_arm(gpu=False)
    cpu = cpu or next((arm for arm in arms if arm.control == "hidden"), None)
    return CellIndex(
        table=summary.table,
        cells={cell.cell.id: cell for cell in summary.cells},
        arms=tuple(plan.arms),
        cpu=cpu.name if cpu else None,
        gpu=gpu.name if gpu else None,
        margin=summary.margin,
        gives_verdicts=plan.profile in WITH_VERDICTS,
        share=summary.share,
        traces=traces,
    )


def trains(cell: Cell) -> bool:
    """Whether a call trains a network."""
    return cell.kind.startswith("training")


def name_unit(cell: Cell) -> str:
    """The unit of a cell's work; an element that a model is trained on is an example."""
    return "example" if trains(cell) and cell.work.unit == "element" else cell.work.unit


def count_steps(cell: Cell) -> float:
    """The training steps in a call: more than one where a call goes through more than a batch."""
    return float(cell.work.steps or 1)


def find_batch(cell: Cell) -> float | None:
    """The batch of a cell, which is an axis or the work of a step; None: neither is said."""
    batch, work = cell.params.get("batch"), cell.work
    if batch is None and work.steps:
        batch = work.amount / work.steps
    return float(batch) if isinstance(batch, int | float) and batch > 0 else None


def divide(values: Values, by: float) -> Values:
    """The values divided; nothing where a quotient is none that could be worked with."""
    if not 1 / LARGEST < by < LARGEST:
        return {}
    quotients = {block: value / by for block, value in values.items()}
    sound = all(1 / LARGEST < quotient < LARGEST for quotient in quotients.values())
    return quotients if sound else {}


def mean(values: Values) -> float | None:
    """The geometric mean over the blocks; None where there is none."""
    if not values:
        return None
    return math.exp(math.fsum(map(math.log, values.values())) / len(values))
