"""The runs of a script, from the documents of its campaign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from suite.analysis.campaign.consistency import counted_documents
from suite.analysis.campaign.proof import find_unproven, is_simulated
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.numbers import Evidence
from suite.errors import DocumentError
from suite.model import Arm, CellResult, Document, facts_of
from suite.model.why import BASE, RunNotes

SHORTEST = 0.9
"""Of the window's work, which whole steps of a larger batch don't meet exactly."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of the script: the changes that it had, and what it told.

    ``number`` counts all runs of the campaign in their order, ``block`` is the round.  ``seconds`` and
    ``cpu_s`` are wall and CPU seconds for the work of a step of the unchanged script (None: it failed, for
    the ``reason``; or it does not count, since it is ``unproven`` to be the GPU's); ``first_step_s`` are
    those of its first step.  ``spent_s`` is what the run took in all.
    """

    arm: str
    block: int
    number: int
    tries: tuple[str, ...]
    seconds: float | None
    cpu_s: float | None
    spent_s: float
    first_step_s: float | None
    reason: str
    unproven: Evidence | None
    simulated: bool
    evidence: Mapping[str, float]
    notes: RunNotes

    @property
    def counts(self) -> bool:
        """Whether its time may be compared: it came through, and nobody watched."""
        return self.seconds is not None and self.notes.watched is None

    @property
    def applied(self) -> int:
        """How often its changes took effect."""
        return int(self.evidence.get("applied", 0))


def read_runs(loaded: LoadedCampaign) -> list[Run]:
    """The runs of a campaign that count, in their order.

    Raises:
        DocumentError: a run's notes are not what a run tells.
    """
    runs = []
    for arm, by_block in counted_documents(loaded).items():
        steps = 0
        for document in by_block.values():
            for cell in document.cells:
                # What the end of the budget has cut off was not tried.
                if cell.outcome not in {"pending", "skipped"}:
                    runs.append(_read_run(loaded.campaign.arm(arm), document, cell, steps))
                    # The first run is the base's, which fixes the window of all others.
                    steps = steps or cell.calls_per_sample or 0
    return sorted(runs, key=lambda run: run.number)


def _read_run(arm: Arm, document: Document, cell: CellResult, steps: int) -> Run:
    """``steps`` are in the window (0: nobody knows yet)."""
    facts = facts_of(document, cell.container)
    unproven, simulated = None, arm.gpu and is_simulated(document)
    if arm.gpu and not simulated and cell.outcome == "measured":
        unproven = find_unproven(facts, uuid=arm.uuid, posted=True)
    evidence = {name: value for name, value in cell.evidence.items() if value is not None}
    early = evidence.get("ended") and (cell.calls_per_sample or 0) <= SHORTEST * steps
    timed = cell.samples_s and evidence.get("cpu_s")
    reason = cell.reason or ("no-time" if not timed else "early" if early else "")
    sound = cell.outcome == "measured" and not reason and unproven is None
    ends = (cell.started, cell.ended)
    return Run(
        arm=arm.name,
        block=document.invocation.block,
        number=int(cell.params["run"]),
        tries=() if cell.case == BASE else tuple(cell.case.split("+")),
        seconds=cell.samples_s[0] if sound else None,
        cpu_s=evidence["cpu_s"] if sound else None,
        spent_s=(ends[1] - ends[0]).total_seconds() if ends[0] and ends[1] else 0.0,
        first_step_s=cell.first_call_s,
        reason=reason,
        unproven=unproven,
        simulated=simulated,
        evidence=evidence,
        notes=_read_notes(document.name, facts.get(f"notes.{cell.id}")),
    )


def _read_notes(name: str, text: object) -> RunNotes:
    try:
        return msgspec.json.decode(text, type=RunNotes) if isinstance(text, str) else RunNotes()
    except msgspec.DecodeError as error:
        raise DocumentError(
            f"{name}: a run's notes: {error}", "Move the folder aside, and ask again."
        ) from error
