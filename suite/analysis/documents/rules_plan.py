"""What must hold in a plan, and between a plan and its documents.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from suite.analysis.documents.arm_names import NAMED
from suite.cells.cell import Cell
from suite.model import Arm, Campaign, Document, name_invocation
from suite.model.rules import (
    Complaint,
    demand_text,
    judge_duration,
    judge_durations,
    judge_instant,
    judge_name,
    judge_range,
    judge_reference,
    judge_work,
)
from suite.ranges import LONGEST_LABEL, LONGEST_NAME


def judge_plan(plan: Campaign) -> Iterator[Complaint]:
    """The complaints about a campaign's plan on its own."""
    yield from _judge_identity(plan)
    yield from demand_text({"$.suite.version": plan.suite.version})
    yield from demand_text({"$.suite.content": plan.suite.content})
    yield from judge_instant("$.created", plan.created)
    if plan.rechecks is not None and not _is_name(plan.rechecks):
        yield "$.rechecks", f"{plan.rechecks[:LONGEST_NAME]!r} is no name of a folder"
    if not plan.arms:
        yield "$.arms", "names no arm"
    # What the report asks of an arm, such as to prove its GPU, goes by the arm's value; or by its name.
    known = [one.name for one in plan.every_arm] or NAMED
    for index, arm in enumerate(plan.arms):
        if not arm or arm in plan.arms[:index]:
            yield f"$.arms[{index}]", f"{arm!r} is empty or stands there twice"
        elif arm not in known:
            yield f"$.arms[{index}]", f"{arm!r} is none of {', '.join(known)}"
    yield from _judge_arms(plan)
    yield from judge_range("$.blocks", plan.blocks, "blocks")
    yield from judge_range("$.most_blocks", plan.most_blocks, "blocks")
    seen: set[str] = set()
    for index, cell in enumerate(plan.cells):
        if cell.id in seen:
            yield f"$.cells[{index}].id", f"{cell.id} stands in this plan twice"
        seen.add(cell.id)
        yield from _judge_planned(f"$.cells[{index}]", cell)
    yield from _judge_promises(plan)
    yield from _judge_again(plan)
    yield from _judge_by_arm(plan, seen)


def judge_membership(document: Document, plan: Campaign) -> Iterator[Complaint]:
    """The complaints about a document as a part of a campaign with this plan."""
    for name in ("id", "profile", "seed"):
        ours, theirs = getattr(document.campaign, name), getattr(plan, name)
        if ours != theirs:
            yield f"$.campaign.{name}", f"{ours!r}, but campaign.json says {theirs!r}"
    arm = document.invocation.arm
    if all(one.name != arm for one in plan.every_arm):
        yield (
            "$.invocation.arm",
            f"{arm!r} is no arm of campaign.json ({', '.join(plan.arms)})",
        )
    planned = {cell.id for cell in plan.cells}
    for index, cell in enumerate(document.cells):
        if cell.id not in planned:
            yield f"$.cells[{index}].id", f"{cell.id} is not in the plan of campaign.json"


def _judge_identity(plan: Campaign) -> Iterator[Complaint]:
    if not _is_name(plan.id):
        yield "$.id", f"{plan.id[:LONGEST_NAME]!r} is no name of a folder"
    yield from judge_range("$.seed", plan.seed, "seed")
    if plan.label is not None and len(plan.label) > LONGEST_LABEL:
        yield "$.label", f"has {len(plan.label)} characters; {LONGEST_LABEL} is the most"


def _is_name(text: str) -> bool:
    """Whether a name from outside, which becomes a path, stays within the folder of results."""
    return len(text) <= LONGEST_NAME and re.fullmatch(r"\w[\w.-]*", text) is not None


def _judge_arms(plan: Campaign) -> Iterator[Complaint]:
    """Whether the arms are what their names promise: a number stands under its arm's name."""
    known: dict[str, Arm] = {}
    files: set[str] = set()
    for index, arm in enumerate(plan.every_arm):
        path = f"$.every_arm[{index}]"
        # Its documents and logs are called after it.
        file = name_invocation(arm.name, 0)
        if not _is_name(file) or file in files:
            yield f"{path}.name", f"{arm.name[:LONGEST_NAME]!r} is no name, or stands there twice"
        files.add(file)
        known[arm.name] = arm
    for index, arm in enumerate(plan.every_arm):
        path = f"$.every_arm[{index}]"
        if arm.control in {None, "again"} if arm.name not in plan.arms else arm.control == "twin":
            yield f"{path}.control", f"{arm.control!r} does not go with the arms that are compared"
        yield from _judge_arm(path, arm, known.get(arm.of or ""))


CPU_NAME = "cpu"
"""What the name of an arm without a GPU has to say: any other name could be read as a GPU's."""


def _judge_arm(path: str, arm: Arm, of: Arm | None) -> Iterator[Complaint]:
    if arm.control is None:
        if arm.of is not None:
            yield f"{path}.of", f"{arm.of!r}, and the arm is no control"
        if arm.name.partition(":")[2] != (arm.device or ""):
            yield f"{path}.device", f"{arm.device!r} is not the GPU that {arm.name!r} names"
        if not arm.gpu and CPU_NAME not in arm.name:
            yield f"{path}.gpu", f"{arm.name!r} has no GPU, and does not say {CPU_NAME}"
        return
    if arm.name != f"{arm.of}-{arm.control}":
        yield f"{path}.name", f"{arm.name!r} does not say that it is {arm.of!r}, {arm.control}"
    if arm.control == "hidden":
        if arm.gpu:
            yield f"{path}.gpu", "the GPU is hidden, and it has one"
    elif of is None or _name_place(of) != _name_place(arm):
        yield f"{path}.of", f"{arm.of!r} is not an arm with the same image and GPU"


def _name_place(arm: Arm) -> tuple[object, ...]:
    """What an arm and those that are of it share."""
    return arm.image, arm.gpu, arm.device, arm.uuid


def _judge_planned(path: str, cell: Cell) -> Iterator[Complaint]:
    yield from judge_name(path, cell)
    yield from judge_work(f"{path}.work", cell.work)
    if cell.sweep is not None and cell.sweep not in cell.params:
        yield f"{path}.sweep", f"{cell.sweep!r} is no axis of this cell"


def _judge_by_arm(plan: Campaign, seen: set[str]) -> Iterator[Complaint]:
    for arm, calls in plan.calls.items():
        yield from judge_reference(f"$.calls.{arm}", arm, plan.arms, calls, seen)
        for name, count in calls.items():
            yield from judge_range(f"$.calls.{arm}.{name}", count, "calls")
    for arm, excluded in plan.excluded.items():
        yield from judge_reference(f"$.excluded.{arm}", arm, plan.arms, excluded, seen)
        for name, exclusion in excluded.items():
            yield from demand_text({f"$.excluded.{arm}.{name}.reason": exclusion.reason})


def _judge_again(plan: Campaign) -> Iterator[Complaint]:
    """Blocks that are measured again, each time by a higher number."""
    known = [one.name for one in plan.every_arm] or NAMED
    numbers: dict[int, int] = {}
    for index, one in enumerate(plan.again):
        path = f"$.again[{index}]"
        yield from judge_reference(path, one.arm, known, (), set())
        yield from judge_range(f"{path}.repeat", one.repeat, "repeat")
        yield from judge_duration(f"{path}.pace", one.pace, zero=False)
        if not 1 <= one.block <= plan.blocks:
            yield f"{path}.block", f"{one.block} is no block of this plan, which has {plan.blocks}"
        if one.repeat <= numbers.get(one.block, 0):
            yield f"{path}.repeat", f"{one.repeat} was had before"
        numbers[one.block] = one.repeat


def _judge_promises(plan: Campaign) -> Iterator[Complaint]:
    names = ("warmup_s", "measure_s", "budget_s")
    yield from judge_durations("$", {name: getattr(plan, name) for name in names})
    prediction = plan.prediction
    names = ("before_s", "actual_s", "calibrated_s")
    yield from judge_durations("$.prediction", {name: getattr(prediction, name) for name in names})
    for index, value in enumerate(prediction.corrected_s):
        yield from judge_duration(f"$.prediction.corrected_s[{index}]", value)
    yield from judge_range("$.price", plan.price, "price")
