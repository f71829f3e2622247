"""What becomes of a cell, as the host has it: nothing yet, measured from outside, or told and sensible.

Pure.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from suite.cells.cell import Cell
from suite.host.campaign.plan import cells_of
from suite.model import Campaign, CellResult, Container, Document, Isolation, make_pending
from suite.model.rules import demand_no, judge_cell


def judge_start(
    cell: Cell, container: Container, start_s: float, *, isolation: Isolation
) -> CellResult:
    """The outcome of a cell that is about a container's start, which took ``start_s`` seconds; skipped
    where none is started."""
    if isolation != "container":
        return replace(
            make_pending(cell),
            outcome="skipped",
            reason="no container is started: the worker is a plain process",
        )
    return replace(
        make_pending(cell),
        outcome="measured",
        started=container.started,
        ended=container.started + timedelta(seconds=start_s),
        container=container.id,
        calls_per_sample=1,
        warmup_status="cold",
        samples_s=[start_s],
        absent={
            "first_call_s": "the sample is the first call",
            "enqueue_fraction": "measured from outside",
            "peak_memory_bytes": "measured from outside",
            "check": "nothing is computed that could be wrong",
        },
    )


def demand_sense(result: CellResult, cell: Cell) -> None:
    """Refuses what no document may hold, so that one is valid at any moment.

    Raises:
        ValueError: the result is another cell's or no outcome, or its numbers can't be.
    """
    if (result.scenario, result.case, result.params) != (cell.scenario, cell.case, cell.params):
        raise ValueError(f"the result of {cell.id} names another case or other parameters")
    measured = result.outcome == "measured"
    if result.outcome == "pending" or measured == (result.reason is not None):
        raise ValueError(f"{result.outcome!r} with the reason {result.reason!r} is no outcome")
    if measured != bool(result.samples_s) or measured != bool(result.calls_per_sample):
        raise ValueError(f"a {result.outcome} cell has samples and calls, or neither")
    demand_no(judge_cell("$.cell", result))
    for instant in (result.started, result.ended):
        if instant is None or instant.utcoffset() is None:
            raise ValueError("an instant is missing or has no UTC offset")


def counts(document: Document | None, campaign: Campaign) -> bool:
    """Whether there is an invocation, and its block was not measured again after it."""
    return document is not None and (
        document.invocation.repeat >= campaign.first_counted(document.invocation.block)
    )


def is_complete(document: Document, campaign: Campaign) -> bool:
    """Whether an invocation need not be run again: it ended in order and holds every cell."""
    cells = cells_of(campaign, document.invocation.arm)
    return document.invocation.status == "complete" and {cell.id for cell in cells} <= {
        result.id for result in document.cells
    }
