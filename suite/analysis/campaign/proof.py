"""What a document has to show before its numbers may stand under a GPU's name, or a number of CPUs; pure.

The worker proves its GPU, and refuses where it can't; the host holds its CPUs against those asked for.  This
is the second lock, for documents of another worker or of somebody's hand: what is not shown here has no
number at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.numbers import Evidence, cite
from suite.cells.cell import Cell
from suite.model import (
    SIMULATED,
    Arm,
    CellResult,
    Document,
    OutcomeName,
    Scalar,
    facts_of,
)

DEMANDS: Sequence[tuple[str, Callable[[Scalar], bool], str]] = (
    ("tensorflow.build.cuda", lambda value: value is True, "built-for-cpu"),
    (
        "tensorflow.devices",
        lambda value: isinstance(value, str) and "GPU:0" in value.split(", "),
        "no-gpu-device",
    ),
    ("gpu.0.name", lambda value: isinstance(value, str) and bool(value.strip()), "no-gpu-name"),
    ("tensorflow.soft_placement", lambda value: value is False, "soft-placement"),
    ("tensorflow.tf32", lambda value: value is False, "tf32-on"),
    # Not TensorFlow tells it but the driver's own library, wherever it is in the process.
    (
        "cuda.driver_api",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
        "no-driver-version",
    ),
)
"""Facts of an invocation on the arm, what they have to say, and the code for where they don't."""

AS_POSTED = ("tensorflow.soft_placement", "tensorflow.tf32")
"""Those of them that are TensorFlow's own choice in a script, and say nothing against its number."""

GPU_UUID = "gpu.0.uuid"
"""The fact that says, by a hash, which GPU a worker computed on."""

_NODES = re.compile(r"(?P<operation>\S+) on (?P<device>\S+) ×(?P<count>\d+)")


KEPT = (
    *("id", "scenario", "case", "params", "work"),
    *("started", "ended", "container", "spent_s", "absent"),
)
"""What a cell without its number still says."""


@dataclass(frozen=True, kw_only=True)
class Withheld(CellResult):
    """A cell without its number, and in the place of a document's reason ``why``."""

    why: Evidence


def withhold_unproven(loaded: LoadedCampaign) -> LoadedCampaign:
    """The campaign in which what is not proven to be the GPU's has failed, and says why."""
    plan = loaded.campaign
    cells = {cell.id: cell for cell in plan.every_cell}
    return loaded.change(
        lambda document: withhold_unproven_document(
            document, plan.arm(document.invocation.arm), cells
        )
    )


def withhold_unproven_document(document: Document, arm: Arm, cells: Mapping[str, Cell]) -> Document:
    """The document without the numbers that it does not prove.

    ``cells`` are the plan's, by id.
    """
    document = _withhold_misbound(document, cells)
    if not arm.gpu:
        return document
    simulated = is_simulated(document)
    # Each cell by what its own container saw: that the next one was well proves nothing of it.
    unproven = {
        (cell.container, posted): find_unproven(
            facts_of(document, cell.container), uuid=arm.uuid, posted=posted
        )
        for cell in document.cells
        for posted in (False, True)
    }

    def prove(cell: CellResult) -> CellResult:
        if cell.outcome != "measured":
            return cell
        if simulated:
            return _withhold(cell, "skipped", cite("stand-in-driver"))
        planned = cells[cell.id]
        why = unproven[cell.container, planned.scripted] or find_misplaced(cell, planned)
        return _withhold(cell, "failed", why) if why else cell

    return replace(document, cells=list(map(prove, document.cells)))


def _withhold_misbound(document: Document, cells: Mapping[str, Cell]) -> Document:
    """The document without the numbers of cells whose process had other than so many CPUs; the same one where
    there are none."""
    misbound: dict[str, Evidence] = {}
    for cell in document.cells:
        asked = cells[cell.id].cpus if cell.outcome == "measured" else None
        usable = facts_of(document, cell.container).get("cpu.usable")
        if asked not in {None, usable}:
            misbound[cell.id] = cite("misbound", asked=asked or 0, usable=repr(usable))
    if not misbound:
        return document
    every = [
        _withhold(c, "failed", misbound[c.id]) if c.id in misbound else c for c in document.cells
    ]
    return replace(document, cells=every)


def is_simulated(document: Document) -> bool:
    """Whether some container of an invocation had a driver that is a stand-in without a GPU."""
    places = {cell.container for cell in document.cells}
    return any(facts_of(document, place).get(SIMULATED) is True for place in places)


def find_unproven(
    facts: Mapping[str, Scalar], *, uuid: str | None = None, posted: bool = False
) -> Evidence | None:
    """Why no number of a container with these facts is proven to be a GPU's, or None.

    ``uuid`` is the hash of the GPU that it has to be, where the arm has one of several.
    ``posted``: of a script, which leaves TensorFlow's switches as they are; where its work was is seen.
    """
    for name, holds, code in DEMANDS:
        if posted and name in AS_POSTED:
            continue
        if name not in facts:
            return cite("no-fact", fact=name)
        if not holds(facts[name]):
            return Evidence(code=code, values={"fact": name, "value": repr(facts[name])})
    # A driver may not tell it.
    if uuid is not None and facts.get(GPU_UUID) not in {None, uuid}:
        return cite("not-its-gpu", fact=GPU_UUID, value=repr(facts[GPU_UUID]))
    return None


def find_misplaced(cell: CellResult, planned: Cell) -> Evidence | None:
    """Why the work of a cell on a GPU's arm was not all seen where the plan says that it belongs, or None.

    Of the operations that it names no node may be elsewhere; others may (arguments, iterators, metrics).
    A cell that names none is seen by its results alone, which all have to lie on its device.
    """
    if planned.device == "none":
        return None
    device = "CPU:0" if planned.device == "cpu" else "GPU:0"
    others = {name: count for name, count in cell.placement.items() if name != device and count}
    if cell.placement.get(device, 0) < 1:
        devices = tuple(cell.placement)
        return cite("seen-on", devices=devices) if devices else cite("seen-nowhere")
    names = "|".join(re.escape(name).replace(r"\*", r"\w*") for name in planned.operations)
    belongs = re.compile(rf"({names or '.*'}) on (?!{device}( |$))")
    away = [text for text in cell.elsewhere if belongs.match(text)]
    if away:
        return cite("seen-elsewhere", operations=tuple(away[:3]))
    if not planned.operations:
        return cite("seen-also-on", devices=tuple(others)) if others else None
    # What ran elsewhere can be judged only where all of it is named.
    if _count(cell.elsewhere) != others:
        seen = tuple(f"{count} on {name}" for name, count in others.items())
        return cite("seen-unnamed", seen=seen)
    return None


def _count(elsewhere: Sequence[str]) -> dict[str, int] | None:
    """How many nodes by device these words name; None: one of them names none."""
    counts: Counter[str] = Counter()
    for text in elsewhere:
        match = _NODES.fullmatch(text)
        if match is None:
            return None
        counts[match["device"]] += int(match["count"])
    return dict(counts)


def _withhold(cell: CellResult, outcome: OutcomeName, why: Evidence) -> Withheld:
    """The cell with another outcome; its samples, of nobody knows what, are gone with it."""
    kept = {name: getattr(cell, name) for name in KEPT}
    return Withheld(**kept, outcome=outcome, why=why)
