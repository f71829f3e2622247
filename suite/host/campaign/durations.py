"""How long a campaign's parts may take and should take, in seconds, and when a budget forbids more of them.

No engine, no files, no clock.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Collection, Iterable
from dataclasses import replace

from suite.cells.cell import Cell
from suite.cells.traits import LEAST_SAMPLES, LONG_BUDGETS, is_slow
from suite.errors import UsageError
from suite.host.campaign.plan import cells_of, order_arms, rest_s, sustained_of
from suite.input_limits import RANGES
from suite.model import (
    FIRST_CALL,
    Campaign,
    Document,
    Prediction,
    container_seconds,
    lived_seconds,
)

START_DEADLINE_S = 900.0
"""The deadline for everything before the first cell: a GPU newer than the wheel's code compiles
kernels for minutes."""

CELL_DEADLINE_FLOOR_S = 120.0
CELL_DEADLINE_BUDGETS = 4.0
"""A cell that takes longer than so many of its budgets, and longer than the floor, hangs."""

START_GUESS_S = 4.0
CELL_GUESS_S = 0.9
"""What a container's start, and a cell beside its warm-up and samples, are thought to take before
anything ran; the latter is a mean over cells of which a few take most.  Measured on two cores (standard:
0.9 times what it took); the calibration soon knows better."""


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
    """The plan with what its calibration and blocks should take, before anything ran."""
    first = order_arms(campaign, 0)
    turns = [*first, *order_arms(campaign, 1) * campaign.blocks]
    before_s = math.fsum(
        [
            *(guess_sustained_s(campaign, arm) for arm in first),
            *(guess_invocation_s(campaign, arm) for arm in turns),
        ]
    )
    return replace(campaign, prediction=Prediction(before_s=before_s))


def predict_invocation_s(campaign: Campaign, arm: str, calibration: Document) -> float:
    """What each block's invocation of an arm should take, in seconds, from its calibration.

    What is not warming up or sampling is taken as it was; those two as the profile will have them.
    Never negative: the containers' lives are read from the machine's clock, which can be set back.
    """
    by_id = {cell.id: cell for cell in cells_of(campaign, arm)}
    kept = {cell.id for cell in sustained_of(campaign, calibration.invocation.arm)}
    alone = {cell.container for cell in calibration.cells if cell.id in kept}
    total = container_seconds(calibration) - math.fsum(
        lived_seconds(calibration, container)
        for container in calibration.invocation.containers
        if container.id in alone
    )
    for result in calibration.cells:
        if result.id in kept:
            continue
        spent = result.spent_s
        own = math.fsum(spent.values())
        if result.outcome != "measured" or result.id not in by_id:
            total -= own
            continue
        if by_id[result.id].one_shot or not result.samples_s:
            continue
        timed = spent.get("warmup", 0.0) + spent.get("measure", 0.0)
        total -= timed + spent.get("calibrate", 0.0)
        call_s = statistics.median(result.samples_s)
        sample_s = call_s * (result.calls_per_sample or 1)
        if result.warmup_status == FIRST_CALL:
            total += result.first_call_s or 0.0
        if not is_slow(call_s, campaign.warmup_s):
            total += max(campaign.warmup_s, sample_s)
        least_s = 0.0 if call_s > campaign.measure_s else campaign.measure_s
        total += max(least_s, sample_s * (LEAST_SAMPLES if least_s else 1))
    return max(0.0, total)


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
        self._expected_s: dict[str, float] = {}

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

    def expect(self, arm: str, seconds: float) -> None:
        """What an invocation of an arm is expected to take from now on."""
        self._expected_s[arm] = seconds

    def need_s(self, arms: Collection[str]) -> float | None:
        """What one invocation of each of these should take; None before they are calibrated."""
        if not set(arms) <= set(self._expected_s):
            return None
        return math.fsum(self._expected_s[arm] for arm in arms)

    def bars_repeat(self, document: Document) -> bool:
        """Whether the limit leaves no time for an invocation like this one, which is booked."""
        more_s = self._expected_s.get(document.invocation.arm, container_seconds(document))
        return self._crosses(more_s)

    def refuse(self, block: int, arms: Collection[str]) -> str | None:
        """Why a block of which these arms are missing may not begin; None: it may."""
        needed_s = self.need_s(arms)
        if not needed_s or not self._crosses(needed_s):
            return None
        return (
            f"after block {block - 1}: the next one was predicted to cross the budget of "
            f"{self._limit_s:g} s ({self._own_s:.0f} s spent, {needed_s:.0f} s more)"
        )

    def _crosses(self, more_s: float) -> bool:
        return self._limit_s is not None and self._own_s + more_s > self._limit_s
