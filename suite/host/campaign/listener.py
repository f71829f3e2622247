"""Who a campaign talks with while it runs: people who hear of it, and those who read what it measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from suite.model import Document, container_seconds


@dataclass(frozen=True, kw_only=True)
class AnalysisHooks:
    """What the readers of the documents report; the host reads none.

    ``build_reports`` is called after every block and at the end: what there is by then is worth a report.
    ``interim_look`` says how many cells are known well enough by then, of how many, and whether
    to stop; it sees no verdict.  ``disturbed`` says why an invocation has to be run again, or None; it
    looks at counters and at no timing.  ``find_odd`` says which invocation, of all that count so far, kept
    another pace than its siblings, or None: its arm, its block, and its time over theirs.  ``check_calibration`` is
    called after the calibration, and raises `UnsoundError` where the campaign is to end there.
    """

    build_reports: Callable[[], object]
    interim_look: Callable[[], tuple[int, int, bool]]
    disturbed: Callable[[Document], str | None]
    find_odd: Callable[[], tuple[str, int, float] | None]
    check_calibration: Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a campaign stands: which invocation, how many of its cells are done, which is in
    flight, and how long the whole is predicted to go on, in seconds (None: not known yet)."""

    arm: str
    block: int
    blocks: int
    done: int
    cells: int
    in_flight: str | None
    left_s: float | None


class Listener(Protocol):
    """Hears what a campaign has to say to people; the command line is one."""

    def say(self, line: str) -> None:
        """One line worth keeping."""

    def show(self, progress: Progress) -> None:
        """The campaign is further on; may be shown or not, at most once a second."""


def describe_progress(
    document: Document, in_flight: str | None, *, blocks: int, left_s: float | None
) -> Progress:
    """How far an invocation has come; ``left_s`` is how long it and those after it take."""
    return Progress(
        arm=document.invocation.arm,
        block=document.invocation.block,
        blocks=blocks,
        done=sum(cell.outcome != "pending" for cell in document.cells),
        cells=len(document.cells),
        in_flight=in_flight,
        left_s=left_s and max(0.0, left_s - container_seconds(document)),
    )
