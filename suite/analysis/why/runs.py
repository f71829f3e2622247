"""The runs of a script, from the documents of its campaign."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

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
    the ``reason``; or it does not count, since it is ``unproven`` to be the GPU's); so many ``steps`` of it
    are in the window.  ``spent_s`` is what the run took in all.
    """

    arm: str
    block: int
    number: int
    tries: tuple[str, ...]
    seconds: float | None
    cpu_s: float | None
    spent_s: float
    steps: int = 0
    first_step_s: float | None = None
    reason: str = ""
    unproven: Evidence | None = None
    simulated: bool = False
    evidence: Mapping[str, float] = field(default_factory=dict)
    notes: RunNotes = field(default_factory=RunNotes)

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
        read = partial(_read_run, loaded.campaign.arm(arm))
        for document in by_block.values():
            runs += [read(document, cell) for cell in document.cells if cell.outcome != "pending"]
    runs.sort(key=lambda run: run.number)
    return [_refuse_short(run, runs) for run in runs]


def _refuse_short(run: Run, runs: list[Run]) -> Run:
    """The run without its time where the script came to its end long before the base's window did."""
    steps = next((base.steps for base in runs if base.arm == run.arm and base.steps), 0)
    if run.seconds is None or not run.evidence.get("ended") or run.steps > SHORTEST * steps:
        return run
    return replace(run, seconds=None, cpu_s=None, reason="early")


def _read_run(arm: Arm, document: Document, cell: CellResult) -> Run:
    facts = facts_of(document, cell.container)
    unproven, simulated = None, arm.gpu and is_simulated(document)
    if arm.gpu and not simulated and cell.outcome == "measured":
        unproven = find_unproven(facts, uuid=arm.uuid, posted=True)
    evidence = {name: value for name, value in cell.evidence.items() if value is not None}
    reason = cell.reason or ("no-time" if not cell.samples_s else "")
    sound = cell.outcome == "measured" and not reason and unproven is None
    spent_s = math.fsum(cell.spent_s.values())
    if cell.started and cell.ended:
        spent_s = (cell.ended - cell.started).total_seconds()
    return Run(
        arm=arm.name,
        block=document.invocation.block,
        number=int(cell.params["run"]),
        tries=() if cell.case == BASE else tuple(cell.case.split("+")),
        seconds=cell.samples_s[0] if sound else None,
        cpu_s=evidence.get("cpu_s") if sound else None,
        spent_s=spent_s,
        steps=cell.calls_per_sample or 0,
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
