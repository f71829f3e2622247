"""How long a campaign's parts may take and should take, in seconds, and when a budget forbids more of them.

No engine, no files, no clock.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from suite.cells.cell import Cell
from suite.cells.traits import LONG_BUDGETS
from suite.errors import UsageError
from suite.host.campaign.plan import cells_of, order_arms, rest_s, sustained_of
from suite.input_limits import RANGES
from suite.model import Campaign, Document, Prediction, container_seconds, lived_seconds

START_DEADLINE_S = 900.0
"""The deadline for everything before the first cell: a GPU newer than the wheel's code compiles
kernels for minutes."""

CELL_DEADLINE_FLOOR_S = 120.0
CELL_DEADLINE_BUDGETS = 4.0
"""A cell that takes longer than so many of its budgets, and longer than the floor, hangs."""

START_GUESS_S = 3.0
CELL_GUESS_S = 0.75
"""What a container's start, and a cell beside its warm-up and samples, are thought to take before
anything ran; the latter is a mean over cells of which a few take most.  On two cores of an EPYC a block of
standard took 2.4 and 0.6 s of them, on older ones nearly twice that; the first block soon knows better."""


def cell_deadline_s(campaign: Campaign, cell: Cell) -> float:
    """Seconds after which a cell that has begun is taken to hang."""
    budget = campaign.budget_s * (LONG_BUDGETS if cell.long_budget else 1.0)
    if cell.role == "sustained" and campaign.sustained is not None:
        budget = campaign.sustained.seconds + rest_s(campaign)
    return max(CELL_DEADLINE_FLOOR_S, CELL_DEADLINE_BUDGETS * budget)


def guess_invocation_s(campaign: Campaign, arm: str) -> float:
    """What an invocation should take, in seconds, before anything ran."""
    cells = [cell for cell in cells_of(campaign, arm) if not cell.by_host]
    timed = math.fsum(0.0 if c.one_shot else campaign.warmup_s + campaign.measure_s for c in cells)
    processes = {cell.process for cell in cells if cell.process is not None}
    return START_GUESS_S * (1 + len(processes)) + timed + CELL_GUESS_S * len(cells)


def guess_sustained_s(campaign: Campaign, arm: str) -> float:
    """What the cells that are kept going should take on an arm, in seconds."""
    seconds = campaign.sustained.seconds if campaign.sustained else 0.0
    each_s = START_GUESS_S + CELL_GUESS_S + rest_s(campaign) + seconds
    return each_s * len(sustained_of(campaign, arm))


def predict_before(campaign: Campaign) -> Campaign:
    """The plan with what it should take, before anything ran."""
    before_s = math.fsum(
        [
            *(guess_sustained_s(campaign, arm) for arm in order_arms(campaign, 0)),
            *(
                guess_invocation_s(campaign, arm) * campaign.blocks
                for arm in order_arms(campaign, 1)
            ),
        ]
    )
    return replace(campaign, prediction=Prediction(before_s=before_s))


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What an arm's invocations take, in seconds: by id each cell, and by process its containers besides."""

    cells: Mapping[str, float]
    processes: Mapping[str | None, float]

    def add_up(self, cells: Iterable[Cell]) -> float:
        """What an invocation of these takes; those that nobody knows take nothing."""
        cells = [cell for cell in cells if cell.id in self.cells and not cell.by_host]
        processes = {cell.process for cell in cells}
        return math.fsum(
            [
                *(self.cells[cell.id] for cell in cells),
                *(self.processes.get(process, 0.0) for process in processes),
            ]
        )


def find_costs(document: Document) -> Costs:
    """What an invocation took, but for what later ones do not do: find K, trace, and check in full.

    Never negative: the containers' lives are read from the machine's clock, which can be set back.
    """
    cells = {cell.id: math.fsum(cell.spent_s.values()) for cell in document.cells}
    processes: dict[str | None, float] = {}
    for container in document.invocation.containers:
        inside = (cells[cell.id] for cell in document.cells if cell.container == container.id)
        besides = max(0.0, lived_seconds(document, container) - math.fsum(inside))
        processes[container.process] = processes.get(container.process, 0.0) + besides
    for cell in document.cells:
        once = ["calibrate", "trace"]
        if cell.check and not cell.check.brief:
            once.append("check")
        later = (spent for kind, spent in cell.spent_s.items() if kind not in once)
        cells[cell.id] = math.fsum(later)
    return Costs(cells=cells, processes=processes)


def parse_duration(text: str) -> float:
    """Seconds of ``20m``, ``1h30m``, ``90s`` or ``90``.

    Raises:
        UsageError: it is none of these.
    """
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?", text.strip())
    if not text.strip() or match is None:
        raise UsageError(f"{text!r} is not a duration", "write 20m, 1h30m or 90s")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total = 3600 * hours + 60 * minutes + seconds
    if total <= 0:
        raise UsageError(f"{text!r} is not a duration above zero", "write 20m, 1h30m or 90s")
    if complaint := RANGES["budget"].refuse(total):
        raise UsageError(
            f"{text[:99]!r} is too long: {complaint} seconds", "write 20m, 1h30m or 90s"
        )
    return total


class Budget:
    """The seconds that are spent and expected, against a limit (None: there is none).

    What an earlier command measured, and this one only goes on with, is spent, and not on this budget.
    """

    def __init__(self, limit_s: float | None) -> None:
        self.spent_s = 0.0
        """What every invocation took, those of earlier commands among them."""
        self._limit_s = limit_s
        self._own_s = 0.0
        self._expected: dict[str, Costs] = {}

    def resume(self, documents: Iterable[Document]) -> None:
        """Books the invocations of earlier commands."""
        for document in documents:
            self.book(document)
        self._own_s = 0.0

    def book(self, document: Document) -> None:
        """Books an invocation that has ended."""
        taken_s = container_seconds(document)
        self.spent_s += taken_s
        self._own_s += taken_s

    def expect(self, arm: str, costs: Costs) -> None:
        """What an arm's invocations are expected to take from now on; what is not in it, as before."""
        before = self._expected.get(arm)
        cells = {**before.cells, **costs.cells} if before else costs.cells
        processes = {**before.processes, **costs.processes} if before else costs.processes
        self._expected[arm] = Costs(cells=cells, processes=processes)

    def need_s(self, turns: Iterable[tuple[str, Sequence[Cell]]]) -> float | None:
        """What invocations of these arms and cells should take; None before each arm had one."""
        turns = list(turns)
        if not {arm for arm, _ in turns} <= set(self._expected):
            return None
        return math.fsum(self._expected[arm].add_up(cells) for arm, cells in turns)

    def bars_repeat(self, document: Document) -> bool:
        """Whether the limit leaves no time for an invocation like this one, which is booked."""
        return self._crosses(container_seconds(document))

    def refuse(self, block: int, needed_s: float | None) -> str | None:
        """Why a block that needs so many seconds more may not begin; None: it may."""
        if not needed_s or not self._crosses(needed_s):
            return None
        return (
            f"after block {block - 1}: the next one was predicted to cross the budget of "
            f"{self._limit_s:g} s ({self._own_s:.0f} s spent, {needed_s:.0f} s more)"
        )

    def _crosses(self, more_s: float) -> bool:
        return self._limit_s is not None and self._own_s + more_s > self._limit_s
