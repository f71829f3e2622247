"""A cell of a campaign to the evidence for its numbers, from the documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from suite.analysis.analyse import analyse
from suite.analysis.campaign.invocation_value import read
from suite.analysis.campaign.proof import withhold_unproven
from suite.analysis.documents.read import load_campaign
from suite.analysis.documents.telemetry import join_document
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.receipt import Receipt, Turn
from suite.manifest import hash_content
from suite.model import CellResult, Document
from suite.safe_folder import Folder


def find_receipt(
    folder: Path, choose: Callable[[Sequence[str]], Sequence[str]]
) -> tuple[Analysis, list[Receipt]]:
    """The analysis of a campaign's folder, and the evidence for the cells that are chosen of its ids.

    Raises:
        DocumentError: as `suite.analysis.analyse.analyse_folder`.
    """
    loaded = load_campaign(folder)
    # As the analysis sees it: what is not proven to be a GPU's has no samples.
    documents = withhold_unproven(loaded.change(join_document)).documents
    last = {(d.invocation.arm, d.invocation.block): d.name for d in documents}.values()
    with Folder.open(folder) as door:
        digests = {d.name: hash_content(door.read(d.name)) for d in documents}
    chosen = choose([cell.id for cell in loaded.campaign.cells])
    receipts = [
        Receipt(
            cell=planned.id,
            question=planned.question,
            scripted=planned.process is not None,
            turns=tuple(
                _find_turn(document, cell, digests[document.name], last=document.name in last)
                for document in documents
                for cell in document.cells
                if cell.id == planned.id
            ),
        )
        for planned in loaded.campaign.cells
        if planned.id in chosen
    ]
    return analyse(loaded), receipts


def _find_turn(document: Document, cell: CellResult, digest: str, *, last: bool) -> Turn:
    of = document.invocation
    reading = read(cell) if cell.outcome == "measured" else None
    return Turn(
        arm=of.arm,
        block=of.block,
        repeat=of.repeat,
        last=last,
        document=document.name,
        digest=digest,
        isolation=of.isolation,
        outcome=cell.outcome,
        started=cell.started,
        warmup=tuple(cell.warmup_s),
        samples=tuple(cell.samples_s),
        start=reading.start if reading else 0,
        steady=reading.steady if reading else None,
        value=reading.value if reading else None,
        calls=cell.calls_per_sample,
        on=cell.placement,
        elsewhere=tuple(cell.elsewhere),
        check=cell.check.what if cell.check else None,
        seen={name: value for name, value in cell.evidence.items() if value is not None},
    )
