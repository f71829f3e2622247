"""What a machine's folder holds, whichever engine left it there: a row of the fleet's table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from suite.analysis.documents.read import load_campaign
from suite.cli.fleet.asked import CHANGES, find_other, word_begun
from suite.cli.fleet.end import STOPPED, End, read_end
from suite.cli.fleet.reasons import Reason, word_remedy
from suite.errors import DocumentError
from suite.model import PLAN, Campaign

UNSOUND = 7
"""The exit status of a campaign that STOP_IF=unsound has ended."""

REPORT = "report.md"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A machine: what ``came`` home of it, with which ``arms``, and why not all.

    ``status`` is 0 where nothing is missing (an unsound machine is not to be completed), 2 where a whole
    campaign is another than the one that is asked for, else 1.
    """

    machine: str
    came: str
    arms: str = ""
    reason: Reason | None = None
    status: int = 1


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """A campaign: its plan, and how many blocks every arm has done."""

    plan: Campaign
    done: int
    arms: tuple[str, ...]
    reported: bool

    @property
    def whole(self) -> bool:
        """Whether nothing that was planned is missing."""
        return self.done >= self.plan.blocks and self.reported


def look_home(folder: Path, asked: Mapping[str, str]) -> Row:
    """The row of a machine's folder, which need not exist; ``asked`` are the options of the campaign that
    is wanted, none where that is whichever is there."""
    row = _look(folder, asked)
    if row.reason is None:
        return row
    return replace(row, reason=replace(row.reason, remedy=word_remedy(row.reason.remedy)))


def _look(folder: Path, asked: Mapping[str, str]) -> Row:
    end, stopped = read_end(folder), read_end(folder, STOPPED)
    try:
        measured = _find_measured(folder)
    except DocumentError as error:
        return Row(
            machine=folder.name,
            came="can't be read",
            reason=Reason(what=error.what, remedy=error.remedy),
        )
    if end is not None and end.status == UNSOUND and (measured is None or not measured.whole):
        # Left alone, unless a campaign is asked for that goes on all the same.
        alone = "stop_if" in asked or not asked
        return Row(
            machine=folder.name,
            came="unsound",
            arms=" ".join(measured.arms) if measured else "",
            reason=end.reason,
            status=0 if alone else 1,
        )
    if measured is None:
        reason = next(iter(_list_reasons(end, stopped)), None)
        return Row(machine=folder.name, came="nothing", reason=reason)
    return _describe(folder.name, measured, end, stopped, asked)


def _describe(
    machine: str,
    measured: _Measured,
    end: End | None,
    stopped: End | None,
    asked: Mapping[str, str],
) -> Row:
    row = Row(machine=machine, came="whole", arms=" ".join(measured.arms), status=0)
    left_out = f", without {' '.join(measured.plan.not_run)}" if measured.plan.not_run else ""
    blocks = max(measured.plan.blocks, int(asked.get("blocks", 0)))
    # Who ends early by a budget has what was asked for.
    done = measured.done >= blocks or (
        measured.plan.stopped is not None and end is not None and end.well
    )
    reasons = _list_reasons(end, stopped)
    # What was refused before it began has changed nothing.
    ended = end is None or end.well or end.status in {2, 6}
    if not (done and ended and measured.reported):
        runs = "; it runs, or was cut off" if end is None and stopped is None else ""
        came = f"a part: {measured.done} of {blocks} blocks{left_out}{runs}"
        return replace(row, came=came, reason=next(iter(reasons), None), status=1)
    now, before = find_other(asked, measured.plan)
    refused = next((reason for reason in reasons if CHANGES in reason.what), None)
    if now or (refused and not asked):
        of = " ".join(before or [f"PROFILE={measured.plan.profile}"])
        why = Reason(
            what=f"it {word_begun(now, before)}; {' '.join(now)} {CHANGES}",
            remedy="ask for the same options again, or give the fleet another name to start a new "
            "campaign beside it",
        )
        reason = why if now or refused is None else refused
        return replace(row, came=f"whole, of {of}", reason=reason, status=2)
    failed = "; some cell failed" if end is not None and end.status == 1 else ""
    whys = "; ".join(dict.fromkeys(measured.plan.not_run.values()))
    return replace(row, came=f"whole{failed}{left_out}", reason=Reason(what=whys) if whys else None)


def _list_reasons(end: End | None, stopped: End | None) -> list[Reason]:
    """What kept the engine from going on is the newer one; that a campaign did not end well may be all that
    it knows."""
    return [ending.reason for ending in (stopped, end) if ending and ending.reason]


def _find_measured(folder: Path) -> _Measured | None:
    """Of the campaigns in a machine's folder the one that came furthest; None: it has none.

    Raises:
        DocumentError: something in it can't be read.
    """
    places = sorted(place for place in folder.glob("*/") if place.name[0] != ".")
    measured = [_measure(place) for place in places if (place / PLAN).exists()]
    return max(measured, key=lambda each: each.done / each.plan.blocks, default=None)


def _measure(place: Path) -> _Measured:
    loaded = load_campaign(place)
    plan = loaded.campaign
    counted = [arm for arm in plan.arms if arm not in plan.not_run]
    invocations = [document.invocation for document in loaded.documents]
    finished = {(of.arm, of.block) for of in invocations if of.status == "complete"}
    done = [
        block
        for block in range(1, plan.blocks + 1)
        if counted and all((arm, block) in finished for arm in counted)
    ]
    return _Measured(
        plan=plan,
        done=len(done),
        arms=tuple(arm for arm in plan.arms if any(arm == name for name, _ in finished)),
        reported=(place / REPORT).exists(),
    )
