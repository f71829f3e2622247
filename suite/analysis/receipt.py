"""A cell of a campaign, or a try of an inquiry, to the evidence for its numbers, from the documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from suite.analysis.analyse import study
from suite.analysis.campaign.invocation_value import read
from suite.analysis.campaign.proof import withhold_unproven
from suite.analysis.documents.read import LoadedCampaign, load_campaign
from suite.analysis.documents.telemetry import join_document
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.receipt import Receipt, TryReceipt, Turn
from suite.analysis.result.why import Answer
from suite.analysis.why.gains import find_pairs
from suite.analysis.why.runs import read_runs
from suite.manifest import hash_content
from suite.model import CellResult, Document
from suite.model.why import BASE, Inquiry
from suite.safe_folder import Folder

Choose = Callable[[Sequence[str]], Sequence[str]]
"""Which of some ids are meant."""


def find_receipt(
    folder: Path, choose: Choose
) -> tuple[Analysis | Answer, list[Receipt] | list[TryReceipt], list[str]]:
    """What is known of a folder, the evidence for the cells or tries that are chosen of its ids, and these.

    Raises:
        DocumentError: as `suite.analysis.analyse.analyse_folder`.
    """
    loaded = load_campaign(folder)
    find = _find_tries if isinstance(loaded.campaign, Inquiry) else _find_cells
    with Folder.open(folder) as door:
        digests = {d.name: hash_content(door.read(d.name)) for d in loaded.every_document}
    receipts, ids = find(loaded, digests, choose)
    return study(loaded), receipts, ids


def _find_cells(
    loaded: LoadedCampaign, digests: Mapping[str, str], choose: Choose
) -> tuple[list[Receipt], list[str]]:
    # As the analysis sees it: what is not proven to be a GPU's has no samples.
    documents = withhold_unproven(loaded.change(join_document)).documents
    last = {(d.invocation.arm, d.invocation.block): d.name for d in documents}.values()
    ids = [cell.id for cell in loaded.campaign.cells]
    chosen = choose(ids)
    receipts = [
        Receipt(
            cell=planned.id,
            question=planned.question,
            scripted=planned.posted,
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
    return receipts, ids


def _find_tries(
    loaded: LoadedCampaign, digests: Mapping[str, str], choose: Choose
) -> tuple[list[TryReceipt], list[str]]:
    """A try is called by its name, what several make together by all of them."""
    runs, receipts = read_runs(loaded), []
    pairs = find_pairs(runs)
    names = (name for run in runs for name in (*run.tries, "+".join(run.tries) or BASE))
    ids = list(dict.fromkeys(names))
    for name in choose(ids):
        own = [
            (before.number, run.number)
            for key, of in pairs.items()
            # The last stands beside those that it is on top of, all together beside the script as it is.
            if (name, key.on) in {(key.tries[-1], key.tries[:-1]), ("+".join(key.tries), ())}
            for before, run in of
        ]
        numbers = {number for pair in own for number in pair}
        numbers |= {run.number for run in runs if name in {"+".join(run.tries) or BASE, *run.tries}}
        turns = {
            int(cell.params["run"]): _find_turn(document, cell, digests[document.name], last=True)
            for document in loaded.documents
            for cell in document.cells
            if cell.params["run"] in numbers
        }
        told = dict(sorted(turns.items()))
        receipts.append(TryReceipt(cell=name, runs=told, pairs=tuple(sorted(own))))
    return receipts, ids


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
        case=cell.case,
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
