"""What must hold in a plan, and between a plan and its documents, beyond a field's own range.

Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from suite.cells.cell import Cell
from suite.model import (
    PLAN,
    Arm,
    Campaign,
    Document,
    container_seconds,
    document_name,
    name_files,
)
from suite.model.rules import Complaint, judge_fields, judge_name, judge_repeated, judge_work


def judge_plan(plan: Campaign) -> Iterator[Complaint]:
    """The complaints about a campaign's plan on its own."""
    yield from judge_fields("$", plan)
    if not plan.arms:
        yield "$.arms", "names no arm"
    yield from judge_repeated("$.arms[{}]", plan.arms)
    arms = [arm.name for arm in plan.every_arm]
    for index, name in enumerate(plan.arms):
        if name not in arms:
            yield f"$.arms[{index}]", f"{name!r} is not an arm of $.every_arm ({', '.join(arms)})"
    yield from _judge_arms(plan)
    cells = [cell.id for cell in plan.every_cell]
    yield from judge_repeated("$.cells[{}].id", cells)
    kept = plan.sustained.cells if plan.sustained else []
    placed = [
        *((f"$.cells[{index}]", cell) for index, cell in enumerate(plan.cells)),
        *((f"$.sustained.cells[{index}]", cell) for index, cell in enumerate(kept)),
    ]
    for path, cell in placed:
        yield from _judge_cell(path, cell)
    for field, by_arm in (("calls", plan.calls), ("slow", plan.slow), ("excluded", plan.excluded)):
        for arm, of_cells in by_arm.items():
            yield from _judge_reference(f"$.{field}.{arm}", arm, plan.arms)
            for name in of_cells.keys() - set(cells):
                yield f"$.{field}.{arm}.{name}", "is not a cell of this plan"
    yield from _judge_again(plan, arms)


def _judge_cell(path: str, cell: Cell) -> Iterator[Complaint]:
    yield from judge_name(path, cell)
    yield from judge_work(f"{path}.work", cell.work)
    if cell.sweep is not None and cell.sweep not in cell.params:
        yield f"{path}.sweep", f"{cell.sweep!r} is not an axis of this cell"
    if cell.cpus is not None and cell.cpus < 1:
        yield f"{path}.cpus", f"{cell.cpus} is not a number of CPUs"
    for axis in cell.choices.keys() - cell.params.keys():
        yield f"{path}.choices.{axis}", "is not an axis of this cell"


def judge_membership(document: Document, plan: Campaign) -> Iterator[Complaint]:
    """The complaints about a document as a part of a campaign with this plan."""
    for name in ("id", "profile", "seed"):
        ours, theirs = getattr(document.campaign, name), getattr(plan, name)
        if ours != theirs:
            yield f"$.campaign.{name}", f"{ours!r}, but campaign.json says {theirs!r}"
    arms = [arm.name for arm in plan.every_arm]
    yield from _judge_reference("$.invocation.arm", document.invocation.arm, arms)
    planned = {cell.id for cell in plan.every_cell}
    for index, cell in enumerate(document.cells):
        if cell.id not in planned:
            yield f"$.cells[{index}].id", f"{cell.id} is not in the plan of campaign.json"


def _judge_reference(path: str, arm: str, arms: Iterable[str]) -> Iterator[Complaint]:
    if arm not in arms:
        yield path, f"{arm!r} is not an arm of campaign.json ({', '.join(arms)})"


def _judge_arms(plan: Campaign) -> Iterator[Complaint]:
    """Whether the arms are what their names promise: a number stands under its arm's name."""
    # Its documents and logs are called after it.
    files = [name_files(arm.name) for arm in plan.every_arm]
    yield from judge_repeated("$.every_arm[{}].name", files)
    by_name = {arm.name: arm for arm in plan.every_arm}
    for index, arm in enumerate(plan.every_arm):
        path = f"$.every_arm[{index}]"
        compared = arm.name in plan.arms
        if arm.control == "twin" if compared else arm.control in {None, "again"}:
            group = "compared" if compared else "not compared"
            yield f"{path}.control", f"{arm.control!r} does not go with an arm that is {group}"
        yield from _judge_arm(path, arm, by_name.get(arm.of or ""))


CPU_NAME = "cpu"
"""What the name of an arm without a GPU has to say: any other name could be read as a GPU's."""


def _judge_arm(path: str, arm: Arm, of: Arm | None) -> Iterator[Complaint]:
    if arm.control is None:
        if arm.of is not None:
            yield f"{path}.of", f"is {arm.of!r}, but the arm is not a control"
        if arm.name.partition(":")[2] != (arm.device or ""):
            yield f"{path}.device", f"{arm.device!r} is not the GPU that {arm.name!r} names"
        if not arm.gpu and CPU_NAME not in arm.name:
            yield f"{path}.gpu", f"{arm.name!r} has no GPU, so its name has to contain {CPU_NAME!r}"
        return
    if arm.name != f"{arm.of}-{arm.control}":
        yield f"{path}.name", f"{arm.name!r} is not {arm.of}-{arm.control}, which this control is"
    if arm.control == "hidden":
        if arm.gpu:
            yield f"{path}.gpu", "is true, but the arm hides the GPU"
    elif of is None or _locate(of) != _locate(arm):
        yield f"{path}.of", f"{arm.of!r} is not an arm with the same image and GPU"


def _locate(arm: Arm) -> tuple[object, ...]:
    """What an arm shares with its twin, and with itself a second time."""
    return arm.image, arm.gpu, arm.device, arm.uuid


def _judge_again(plan: Campaign, arms: Iterable[str]) -> Iterator[Complaint]:
    """Blocks that are measured again, each time by a higher number."""
    repeats: dict[int, int] = {}
    for index, again in enumerate(plan.again):
        path = f"$.again[{index}]"
        yield from _judge_reference(f"{path}.arm", again.arm, arms)
        if not 1 <= again.block <= plan.blocks:
            yield f"{path}.block", f"{again.block} is not one of the plan's {plan.blocks} blocks"
        if again.repeat <= repeats.get(again.block, 0):
            yield f"{path}.repeat", f"{again.repeat} is not above the block's repeat before it"
        repeats[again.block] = again.repeat


_ROUNDING_S = 0.01
"""Sums of container times agree to far less."""


def judge_whole(
    plan: Campaign, documents: Sequence[Document], controls: Sequence[Document]
) -> Iterator[str]:
    """What must hold between a plan and all its documents together: complaints with their file and field.

    The analysis can do with less, since a campaign can be cut off; somebody who doubts a folder need not.
    """
    yield from _judge_blocks(plan, documents)
    every_document = [*documents, *controls]
    for document in every_document:
        name, block = document.name, document.invocation.block
        if block > plan.blocks:
            yield f"{name}: $.invocation.block: {block}, but {PLAN} has {plan.blocks} blocks"
        if document.campaign.label != plan.label:
            yield f"{name}: $.campaign.label: is not that of {PLAN}"
        if document.suite.content != plan.suite.content:
            yield f"{name}: $.suite.content: is not that of {PLAN}"
        yield from _judge_calls(name, plan, document)
    # The plan adds up what its containers took; of one that was cut off it may not know yet.
    spent, planned = math.fsum(map(container_seconds, every_document)), plan.prediction.actual_s
    complete = all(document.invocation.status == "complete" for document in every_document)
    if complete and abs(spent - planned) > _ROUNDING_S:
        took = f"the documents' containers took {spent:.2f} s"
        yield f"{PLAN}: $.prediction.actual_s: {planned:.2f} s, but {took}"


def _judge_blocks(plan: Campaign, documents: Sequence[Document]) -> Iterator[str]:
    """Blocks follow each other, and every arm has its turn in each: only the last can be cut off."""
    present = {(document.invocation.arm, document.invocation.block) for document in documents}
    last = max((block for _, block in present), default=0)
    if (done := len(plan.prediction.corrected_s)) > last:
        yield f"{PLAN}: $.prediction.corrected_s: tells of {done} blocks; the last one here is {last}"
    for arm in plan.arms:
        for block in range(1, last):
            if plan.has_turn(arm, block) and (arm, block) not in present:
                yield f"{document_name(arm, block)}: is missing, and block {last} is there"


def _judge_calls(name: str, plan: Campaign, document: Document) -> Iterator[str]:
    of = document.invocation
    planned = plan.calls.get(plan.calibrating_arm(of.arm), {})
    for index, cell in enumerate(document.cells):
        calls, expected = cell.calls_per_sample, planned.get(cell.id)
        if of.block and None not in {calls, expected} and calls != expected:
            field = f"$.cells[{index}].calls_per_sample"
            yield f"{name}: {field}: {calls}, but {PLAN} says {expected} for {cell.id}"
