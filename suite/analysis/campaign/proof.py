"""What a document has to show before its numbers may stand under a GPU's name; pure.

The worker proves its GPU, and refuses where it can't.  This is the second lock, for documents of
another worker or of somebody's hand: what is not shown here has no number at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from suite.analysis.documents.read import LoadedCampaign
from suite.cells.cell import Cell
from suite.model import (
    AGAIN,
    HIDDEN,
    SIMULATED,
    TWIN,
    CellResult,
    Document,
    OutcomeName,
    Scalar,
    facts_of,
)

WITHOUT_GPU = ("cpu", HIDDEN)
"""The arms whose numbers are no GPU's; nor are their twins', and their other selves'.  Every other arm
has to prove its GPU, whatever its name is."""

DEMANDS: Sequence[tuple[str, Callable[[Scalar], bool], str]] = (
    ("tensorflow.build.cuda", lambda value: value is True, "TensorFlow was built for CPU only"),
    (
        "tensorflow.devices",
        lambda value: isinstance(value, str) and "GPU:0" in value.split(", "),
        "TensorFlow had no GPU among its devices",
    ),
    (
        "gpu.0.name",
        lambda value: isinstance(value, str) and bool(value.strip()),
        "the GPU had no name",
    ),
    (
        "tensorflow.soft_placement",
        lambda value: value is False,
        "soft placement was on, so that work could quietly run on the CPU",
    ),
    (
        "tensorflow.tf32",
        lambda value: value is False,
        "TF32 was on outside the cells that ask for it, so that fp32 was none",
    ),
    (
        "cuda.driver_api",
        # Not TensorFlow tells it but the driver's own library, wherever it is in the process.
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
        "CUDA's driver library in the worker's process did not tell its version",
    ),
)
"""Facts of an invocation on the arm, what they have to say, and what it means where they don't."""

_NODES = re.compile(r"(?P<operation>\S+) on (?P<device>\S+) ×(?P<count>\d+)")


def disown(loaded: LoadedCampaign) -> LoadedCampaign:
    """The campaign in which what is not proven to be the GPU's has failed, and says why."""
    cells = {one.id: one for one in loaded.campaign.cells}
    return replace(
        loaded,
        documents=[disown_document(one, cells) for one in loaded.documents],
        controls=[disown_document(one, cells) for one in loaded.controls],
    )


def disown_document(document: Document, cells: Mapping[str, Cell]) -> Document:
    """The document without the numbers that it does not prove; the same one on other arms.

    ``cells`` are the plan's, by id.
    """
    if document.invocation.arm.removesuffix(TWIN).removesuffix(AGAIN) in WITHOUT_GPU:
        return document
    if is_simulated(document):
        return replace(document, cells=[_withhold(one) for one in document.cells])
    # Each cell by what its own container saw: that the next one was well proves nothing of it.
    unproven = {
        place: find_unproven(facts_of(document, place))
        for place in {one.container for one in document.cells}
    }
    return replace(
        document,
        cells=[
            _fail(one, why)
            if one.outcome == "measured"
            and (why := unproven[one.container] or find_misplaced(one, cells[one.id]))
            else one
            for one in document.cells
        ],
    )


def is_simulated(document: Document) -> bool:
    """Whether some container of an invocation had a driver that is a stand-in without a GPU."""
    places = {one.container for one in document.cells}
    return any(facts_of(document, place).get(SIMULATED) is True for place in places)


def _withhold(cell: CellResult) -> CellResult:
    """The cell without its number, which is no GPU's; why it has none otherwise stays."""
    if cell.outcome != "measured":
        return cell
    why = "simulated: its driver is a stand-in, and no GPU made this number"
    return _strip(cell, "skipped", why)


def find_unproven(facts: Mapping[str, Scalar]) -> str | None:
    """Why no number of a container with these facts is proven to be a GPU's, or None."""
    for name, holds, meaning in DEMANDS:
        if name not in facts:
            return f"its document does not have the fact {name}"
        if not holds(facts[name]):
            return f"{meaning} ({name}: {facts[name]!r})"
    return None


def find_misplaced(cell: CellResult, planned: Cell) -> str | None:
    """Why the work of a cell on a GPU's arm was not all seen where the plan says that it belongs, or None.

    Of the operations that it names no node may be elsewhere; others may (arguments, iterators, metrics).
    A cell that names none is seen by its results alone, which all have to lie on its device.
    """
    if planned.device == "none":
        return None
    device = "CPU:0" if planned.device == "cpu" else "GPU:0"
    others = {name: count for name, count in cell.placement.items() if name != device and count}
    if cell.placement.get(device, 0) < 1:
        return f"its work was seen on {', '.join(cell.placement) or 'no device at all'}"
    names = "|".join(re.escape(name).replace(r"\*", r"\w*") for name in planned.operations)
    belongs = re.compile(rf"({names or '.*'}) on (?!{device}( |$))")
    away = [text for text in cell.elsewhere if belongs.match(text)]
    if away:
        return f"work of it was seen elsewhere: {', '.join(away[:3])}"
    if not planned.operations:
        return f"work of it was seen on {', '.join(others)}" if others else None
    # What ran elsewhere can be judged only where all of it is named.
    if _count(cell.elsewhere) != others:
        seen = ", ".join(f"{count} on {name}" for name, count in others.items()) or "none"
        return f"the nodes seen elsewhere ({seen}) are not those that are named"
    return None


def _count(elsewhere: Sequence[str]) -> dict[str, int] | None:
    """How many nodes by device these words name; None: one of them names none."""
    counts: Counter[str] = Counter()
    for text in elsewhere:
        found = _NODES.fullmatch(text)
        if found is None:
            return None
        counts[found["device"]] += int(found["count"])
    return dict(counts)


def _fail(cell: CellResult, why: str) -> CellResult:
    """The cell as one that failed."""
    return _strip(cell, "failed", f"not proven to be the GPU's: {why}")


def _strip(cell: CellResult, outcome: OutcomeName, reason: str) -> CellResult:
    """The cell with another outcome; its samples, of nobody knows what, are gone with it."""
    return replace(
        cell,
        outcome=outcome,
        reason=reason,
        first_call_s=None,
        calls_per_sample=None,
        warmup_status=None,
        warmup_s=[],
        samples_s=[],
        enqueue_fraction=None,
        placement={},
        elsewhere=[],
        check=None,
        peak_memory_bytes=None,
        labels=[],
        evidence={},
        trace={},
    )
