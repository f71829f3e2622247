"""What must hold between a plan and all of its documents together.  Pure.

The analysis can do with less, since a campaign can be cut off; somebody who doubts a folder need not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from suite.analysis.documents.read import LoadedCampaign
from suite.model import PLAN, Campaign, Document, container_seconds, document_name

_ROUNDING_S = 0.01
"""Sums of container times agree to far less."""


def judge_whole(loaded: LoadedCampaign) -> Iterator[str]:
    """The complaints, each with its file and field."""
    plan = loaded.campaign
    yield from _judge_blocks(plan, loaded.documents)
    for document in loaded.every_document:
        of = document.invocation
        name = document.name
        if of.block > plan.blocks:
            yield f"{name}: $.invocation.block: {of.block}, but {PLAN} has {plan.blocks} blocks"
        if document.campaign.label != plan.label:
            yield f"{name}: $.campaign.label: is not that of {PLAN}"
        if document.suite.content != plan.suite.content:
            yield f"{name}: $.suite.content: is not that of {PLAN}"
        yield from _judge_calls(name, plan, document)
    yield from _judge_time(plan, loaded.every_document)


def _judge_blocks(plan: Campaign, documents: Sequence[Document]) -> Iterator[str]:
    """Blocks follow each other, and every arm has its turn in each: only the last can be cut off."""
    present = {(document.invocation.arm, document.invocation.block) for document in documents}
    last = max((block for _, block in present), default=0)
    if len(plan.prediction.corrected_s) > last:
        done = len(plan.prediction.corrected_s)
        yield f"{PLAN}: $.prediction.corrected_s: tells of {done} blocks; the last one here is {last}"
    for arm in plan.arms:
        if arm in plan.not_run:
            continue
        for block in range(1, last):
            if (arm, block) not in present:
                yield f"{document_name(arm, block)}: is missing, and block {last} is there"


def _judge_calls(name: str, plan: Campaign, document: Document) -> Iterator[str]:
    of = document.invocation
    planned = plan.calls.get(plan.arm(of.arm).of or of.arm, {})
    for index, cell in enumerate(document.cells):
        calls, expected = cell.calls_per_sample, planned.get(cell.id)
        if of.block and None not in {calls, expected} and calls != expected:
            field = f"$.cells[{index}].calls_per_sample"
            yield f"{name}: {field}: {calls}, but {PLAN} says {expected} for {cell.id}"


def _judge_time(plan: Campaign, documents: Sequence[Document]) -> Iterator[str]:
    """The plan adds up what its containers took; of one that was cut off it may not know yet."""
    if any(document.invocation.status != "complete" for document in documents):
        return
    spent, planned = math.fsum(map(container_seconds, documents)), plan.prediction.actual_s
    if abs(spent - planned) > _ROUNDING_S:
        yield (
            f"{PLAN}: $.prediction.actual_s: {planned:.2f} s, but the documents' containers took "
            f"{spent:.2f} s"
        )
