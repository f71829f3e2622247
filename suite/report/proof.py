"""What a document has to show before its numbers may stand under a GPU's name; pure.

The worker proves its GPU, and refuses where it can't.  This is the second lock, for documents of
another worker or of somebody's hand: what is not shown here has no number at all.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from suite.model import AGAIN, TWIN, CellResult, Document, Scalar
from suite.report.load import LoadedCampaign

GPU_ARM = "cuda"
"""The arm whose numbers are a GPU's; so are its twin's, and its other self's."""

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
)
"""Facts of an invocation on the arm, what they have to say, and what it means where they don't."""

ELSEWHERE = (
    *("overhead.fence", "overhead.startup/*", "overhead.container", "asked.clone/stage=first/*"),
    *("*/on=cpu", "*/on=cpu/*", "overhead.copy/direction=from-device/*"),
    *("tfdata.slices/*", "tfdata.cache/*", "tfdata.map/*", "tfdata.read/*"),
    "tfdata.triple/*/part=input/*",
)
"""The cells whose work is not the GPU's on its arm: they run no operation, or run it on the CPU on
every arm.  One that is missing here loses its number there; it never gets one that is not its own."""

_PRODUCT_AWAY = re.compile(r"\w*MatMul\w* on (?!GPU)")
"""A product is every scenario's work, wherever one is."""


def disown(loaded: LoadedCampaign) -> LoadedCampaign:
    """The campaign in which what is not proven to be the GPU's has failed, and says why."""
    return replace(
        loaded,
        documents=[disown_document(one) for one in loaded.documents],
        controls=[disown_document(one) for one in loaded.controls],
    )


def disown_document(document: Document) -> Document:
    """The document without the numbers that it does not prove; the same one on other arms."""
    if document.invocation.arm.removesuffix(TWIN).removesuffix(AGAIN) != GPU_ARM:
        return document
    whole = find_unproven(document)
    return replace(
        document,
        cells=[
            _fail(one, why)
            if one.outcome == "measured" and (why := whole or find_misplaced(one))
            else one
            for one in document.cells
        ],
    )


def find_unproven(document: Document) -> str | None:
    """Why no number of a GPU's invocation is proven to be the GPU's, or None."""
    facts = document.facts
    for name, holds, meaning in DEMANDS:
        if name not in facts:
            return f"its document does not have the fact {name}"
        if not holds(facts[name]):
            return f"{meaning} ({name}: {facts[name]!r})"
    return None


def is_elsewhere(identity: str) -> bool:
    """Whether the work of the cell of this id is not the GPU's on its arm (`ELSEWHERE`)."""
    return any(fnmatch.fnmatchcase(identity, pattern) for pattern in ELSEWHERE)


def find_misplaced(cell: CellResult) -> str | None:
    """Why the work of a cell on a GPU's arm was not all seen on the GPU, or None."""
    if is_elsewhere(cell.id):
        return None
    if not cell.placement.get("GPU:0"):
        seen = ", ".join(cell.placement) or "no device at all"
        return f"its work was seen on {seen}"
    away = [text for text in cell.elsewhere if _PRODUCT_AWAY.match(text)]
    return f"work of it was seen elsewhere: {', '.join(away[:3])}" if away else None


def _fail(cell: CellResult, why: str) -> CellResult:
    """The cell as one that failed; its samples, of nobody knows what, are gone with it."""
    return replace(
        cell,
        outcome="failed",
        reason=f"not proven to be the GPU's: {why}",
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
