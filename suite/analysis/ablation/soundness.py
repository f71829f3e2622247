"""Whether a machine is what its parts promise, by the block that found K: what no further one would mend.

Here stands all for which ``STOP_IF=unsound`` ends a campaign, each with the reason why it lasts.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from suite.analysis.ablation.cell_index import index_cells
from suite.analysis.ablation.hardware import find_faults, find_hardware, is_under
from suite.analysis.ablation.limits import BELOW, FAR, find_limits, flag_limits
from suite.analysis.campaign.health import find_health
from suite.analysis.campaign.summarise import summarise
from suite.analysis.campaign.validity import MOST_SET_ASIDE, find_disturbance
from suite.analysis.documents.busy import read_quota
from suite.analysis.documents.read import LoadedCampaign
from suite.flags import Flag, raise_flag
from suite.model import Document

BUSY = 0.5
"""CPUs that others keep busy in the median cell: a machine's own services take far less."""

LASTING: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    # More invocations narrow the interval of a rate; none of them makes it nearly twice as high.
    "far-below-published": lambda _: True,
    # Whatever binds threads or CPUs is there before each block.
    "cpus-idle": lambda _: True,
    "cpus-withheld": lambda _: True,
    # Set by whoever lets the machine; a campaign changes no setting.
    "power-limited": lambda values: is_under(values["limit"], values.get("usual"), 1 - BELOW),
    # Many cards are let at their default clock, and some of these are half of the highest.
    "clock-low": lambda values: values["clock"] < FAR * values.get("usual", values["most"]),
    # Such a slice slows down while it is measured, and one day stops.
    "unlicensed": lambda _: True,
    # Rows that failed are replaced when the driver is loaded, by spare ones as long as there are any.
    "memory-errors": lambda _: True,
    # They are used until the GPU is reset, which no campaign does.
    "memory-pending": lambda _: True,
    # What the driver says so of a card is none of a block's.
    "xid-card": lambda _: True,
}
"""What is told of the hardware and lasts, and from where on; all else that is told ends nothing.  A link does
not: half of its lanes is how the slots of whole families of rented machines are made."""


def take_first_block(loaded: LoadedCampaign) -> LoadedCampaign | None:
    """The campaign as it is by the block that found K, also where that was a calibration, as if it counted;
    None: there is none, or a later block was begun."""
    finds = loaded.campaign.calibration
    begun = [document.invocation.block > finds for document in loaded.every_document]
    # One that was cut off is made anew by who goes on.
    whole = [
        doc
        for doc in loaded.documents
        if doc.invocation.block == finds and doc.invocation.status == "complete"
    ]
    if any(begun) or not whole:
        return None
    compared = {cell.id for cell in loaded.campaign.cells}
    first = [
        replace(
            doc,
            invocation=replace(doc.invocation, block=1, repeat=0),
            # What a calibration kept going is none of the campaign's cells.
            cells=[cell for cell in doc.cells if cell.id in compared],
        )
        for doc in {doc.invocation.arm: doc for doc in whole}.values()
    ]
    return replace(loaded, documents=first, controls=[], calibration=1)


def find_unsound(loaded: LoadedCampaign) -> Iterator[Flag]:
    """What speaks against the machine of a campaign that goes no further yet than the block that found K;
    later, and where it was to have no other, what befell its GPUs and their memory."""
    first, plan = take_first_block(loaded), loaded.campaign
    over = plan.calibration == plan.blocks and plan.stopped is None
    if first is None or over:
        yield from _keep_lasting(find_faults(loaded.campaign.arms, find_health(loaded)))
    else:
        yield from find_lasting(first)


def find_lasting(loaded: LoadedCampaign) -> Iterator[Flag]:
    """What speaks against the machine of a campaign in all of its blocks that count."""
    for arm, why in loaded.campaign.not_run.items():
        # The GPU could not be had, was another one, or its worker had only the CPU.
        if arm in loaded.campaign.arms:
            yield raise_flag("arm-refused", {"arm": arm}, why=why)
    summary = summarise(loaded)
    for arm, by_block in summary.counted.items():
        told = [list(_judge({"arm": arm}, document)) for document in by_block.values()]
        codes = [{flag.code for flag in flags} for flags in told]
        for flag in told[-1] if told else ():
            if all(flag.code in of for of in codes):
                yield flag
    index = index_cells(summary)
    limits = flag_limits(index, summary.places, find_limits(index, summary.places))
    yield from _keep_lasting((*summary.flags, *find_hardware(summary, index), *limits))


def _keep_lasting(flags: Iterable[Flag]) -> Iterator[Flag]:
    for flag in flags:
        if flag.code in LASTING and LASTING[flag.code](flag.values):
            yield replace(flag, severity="caution", scope="machine")


def _judge(where: dict[str, str], document: Document) -> Iterator[Flag]:
    """What an arm's invocation says of its cells, and of who else was at work."""
    # What failed here is tried in no block: work that was not proven to be the GPU's, a wrong result, no
    # memory.  One cell may have a fault of its own; so many have not.
    cells = document.cells
    failed = [cell.id for cell in cells if cell.outcome == "failed"]
    if len(failed) > MOST_SET_ASIDE * len(cells):
        yield raise_flag(
            "cells-failed", where, failed=len(failed), cells=len(cells), cell=failed[0]
        )
    # Steal, a quota that throttles, heat, another process on the GPU, a GPU that is another one or gone: in
    # so many cells it is not an accident, and an invocation that has it counts in no block.
    if (code := find_disturbance(document)) is not None:
        yield raise_flag("disturbed", where, codes=[code])
    # TensorFlow starts a thread for each CPU that it sees; a quota then stops them all now and again.
    # A group above a container's own is seen from outside alone.
    facts = (document.facts, document.telemetry.facts if document.telemetry else {})
    quota = min(filter(None, map(read_quota, facts)), default=None)
    used = document.facts.get("cpu.usable")
    if isinstance(used, int | float) and is_under(quota, used):
        yield raise_flag("quota-short", where, quota=quota, used=used)
    # A neighbour that is at work in most cells is there for longer.
    foreign = [cpus for cell in cells if (cpus := cell.evidence.get("foreign_cpus")) is not None]
    if foreign and (busy := statistics.median(foreign)) > BUSY:
        yield raise_flag("cpus-busy", where, busy=busy)
