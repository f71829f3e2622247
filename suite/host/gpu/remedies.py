"""What to do where a GPU is refused or fails: by the engine's text, the worker's reason, TensorFlow's
standard error.

Pure: finds the row of `refusals`, in their order, and words the error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from suite.errors import GpuError
from suite.host.engine import EngineKind, Refusal, find_row
from suite.host.gpu.drivers import REQUIREMENT, describe_requirement
from suite.host.gpu.refusals import REFUSALS, TRY_TOOLKIT, WORDS, is_harmless, reword


def find_refusal(text: str) -> Refusal | None:
    """The row that fits a text, if there is one; of what an image demands, in the demand's own numbers."""
    row = find_row(text, REFUSALS)
    return describe_requirement(text) or row if row is REQUIREMENT else row


UNKNOWN = WORDS["UNKNOWN"]
"""What to do where nothing that is known was said."""

LAST_LINES = 40
"""Of a diary, where something died that had begun well: what was said long before is not why."""

_SHAPE = re.compile(r"tensor (?:with|of) shape\s?\[([\d,\s]+)\] and type (\w+)")
_BYTES = {
    **dict.fromkeys(("double", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float", "int32", "uint32"), 4),
    **dict.fromkeys(("half", "bfloat16", "int16"), 2),
}
"""Bytes of an element, by TensorFlow's names for types."""


_HEAD = re.compile(r"^[IWEF]\d{4} \S+\s+\d+ (?=\S+\])")
"""What TensorFlow's logger puts before a line: how grave it is, when, and in which thread."""

_GRAVE = re.compile(r"^[EF]\d{4} |\b\w*Error\b|: [EF] tensorflow|\bFATAL\b")
"""What a line says of itself that is about trouble."""


class RefusedGpu(GpuError):
    """A GPU that an engine refused; ``row`` is what that means, None: it is not known."""

    def __init__(self, what: str, remedy: str, row: Refusal | None) -> None:
        super().__init__(what, remedy)
        self.row = row


def explain_refusal(text: str, where: str = "", kind: EngineKind = "docker") -> RefusedGpu:
    """The error for a refusal: its cause and remedy, and the engine's own text, whole.

    ``where`` is the endpoint that was asked; a wrong one is a common cause.  ``kind`` is what answers
    there, since each is set up by commands of its own.
    """
    at = f" at {where}" if where else ""
    row = find_refusal(text)
    if row is None:
        return RefusedGpu(
            f"the engine{at} refused the GPU: {text}",
            "this message is not listed here; run `nvidia-smi` on the engine's machine (does the driver "
            f"work?), then {reword(TRY_TOOLKIT, kind)} (does the toolkit?)",
            row,
        )
    what = f"the engine{at} refused the GPU: {reword(row.cause, kind)}: {text}"
    return RefusedGpu(what, reword(row.remedy, kind), row)


def explain_worker(what: str, diary: str, kind: EngineKind = "docker") -> GpuError:
    """The error for a worker that can't be the arm with a GPU: ``what`` it said, and its whole diary.

    The cause and remedy are those of the first known text in either; the diary's line is quoted.  Where
    none is known, that is said, and what the diary has last is quoted.
    """
    lines = _drop_harmless(diary)
    row = find_refusal("\n".join((what, *lines)))
    if row is None:
        last = _quote_last(lines)
        return GpuError(what + (f" (TensorFlow's last words: {last})" if last else ""), UNKNOWN)
    line = _quote(row, lines)
    cause = reword(row.cause, kind)
    return GpuError(f"{what}: {cause}" + (f" ({line})" if line else ""), reword(row.remedy, kind))


def explain_failure(reason: str, diary: str = "", kind: EngineKind = "docker") -> str:
    """The reason why a cell failed on a GPU, with cause and remedy where they are known."""
    said = _drop_harmless(diary)[-LAST_LINES:]
    row = find_refusal("\n".join((reason, *said)))
    if row is None:
        return reason
    need = _describe_need(reason)
    return f"{reason}; {reword(row.cause, kind)}{need}; what to do: {reword(row.remedy, kind)}"


def _drop_harmless(diary: str) -> list[str]:
    return [line for line in diary.splitlines() if not is_harmless(line)]


def _quote(row: Refusal, lines: Sequence[str]) -> str | None:
    """The line that the row is about, without the logger's head."""
    for line in lines:
        if re.search(row.pattern, line, re.IGNORECASE):
            return _HEAD.sub("", line.strip())[:300]
    return None


def _quote_last(lines: Sequence[str]) -> str | None:
    """The last line that is about trouble, else the last one at all, without the logger's head."""
    words = [line.strip() for line in lines if line.strip()]
    grave = [line for line in words if _GRAVE.search(line)]
    return _HEAD.sub("", (grave or words)[-1])[:300] if words else None


def _describe_need(reason: str) -> str:
    """How much the tensor takes for which there was no room: ``, which takes 6.40 GB``."""
    found = _SHAPE.search(reason)
    size = _BYTES.get(found[2]) if found else None
    if found is None or size is None:
        return ""
    elements = math.prod(int(length) for length in found[1].replace(" ", "").split(",") if length)
    return f", and this tensor alone takes {elements * size / 1e9:.3g} GB"
