"""What to do where a GPU is refused or fails: by the engine's text, the worker's reason, TensorFlow's diary.

The texts themselves are the table of `refusals`; this finds them and words the error.  Pure.
"""

from __future__ import annotations

import math
import re

from suite.errors import GpuError
from suite.host.gpu.commands import TRY_TOOLKIT, EngineKind, reword
from suite.host.gpu.refusals import find_refusal
from suite.host.machine.refusal import Refusal

UNKNOWN = (
    "`nvidia-smi` must work where TensorFlow runs; `make bench` keeps TensorFlow's own words in "
    "logs/; ARMS=cpu measures without a GPU"
)
"""What to do where nothing that is known was said."""

LAST_LINES = 40
"""Of a diary, where something died that had begun well: what was said long before is not why."""

HARMLESS = r"this is not a failure"
"""TensorFlow's own word on warnings that look like trouble, such as an allocation that was tried first."""

_SHAPE = re.compile(r"tensor (?:with|of) shape\s?\[([\d,\s]+)\] and type (\w+)")
_BYTES = {
    **dict.fromkeys(("double", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float", "int32", "uint32"), 4),
    **dict.fromkeys(("half", "bfloat16", "int16"), 2),
}
"""Bytes of an element, by TensorFlow's names for types."""


def explain_refusal(text: str, where: str = "", kind: EngineKind = "docker") -> GpuError:
    """The error for a refusal: its cause and remedy, and the engine's own text, whole.

    ``where`` is the endpoint that was asked; a wrong one is a common cause.  ``kind`` is what answers
    there, since each is set up by commands of its own.
    """
    at = f" at {where}" if where else ""
    row = find_refusal(text)
    if row is None:
        return GpuError(
            f"the engine{at} refused the GPU: {text}",
            "this refusal is not known here; `nvidia-smi` on the engine's machine, and then "
            f"{reword(TRY_TOOLKIT, kind)}, tell the driver's fault from the toolkit's",
        )
    return GpuError(
        f"the engine{at} refused the GPU: {row.cause}: {text}", reword(row.remedy, kind)
    )


def explain_worker(what: str, diary: str, kind: EngineKind = "docker") -> GpuError:
    """The error for a worker that can't be the arm with a GPU: ``what`` it said, and its whole diary.

    The cause and remedy are those of the first known text in either; the diary's line is quoted.
    """
    row = find_refusal(f"{what}\n{diary}")
    if row is None:
        return GpuError(what, UNKNOWN)
    line = _quote(row, diary)
    cause = reword(row.cause, kind)
    return GpuError(f"{what}: {cause}" + (f" ({line})" if line else ""), reword(row.remedy, kind))


def explain_failure(reason: str, diary: str = "") -> str:
    """The reason why a cell failed on a GPU, with cause and remedy where they are known."""
    lines = [line for line in diary.splitlines() if not re.search(HARMLESS, line)]
    said = "\n".join(lines[-LAST_LINES:])
    row = find_refusal(f"{reason}\n{said}")
    if row is None:
        return reason
    need = _word_need(reason)
    return f"{reason}; {row.cause}{need}; what to do: {row.remedy}"


def _quote(row: Refusal, diary: str) -> str | None:
    """The diary's line that the row is about, without the logger's head."""
    for line in diary.splitlines():
        if re.search(row.pattern, line, re.IGNORECASE):
            return re.sub(r"^[IWEF]\d{4} \S+\s+\d+ (?=\S+\])", "", line.strip())[:300]
    return None


def _word_need(reason: str) -> str:
    """How much the tensor takes for which there was no room: ``, which takes 6.40 GB``."""
    found = _SHAPE.search(reason)
    size = _BYTES.get(found[2]) if found else None
    if found is None or size is None:
        return ""
    elements = math.prod(int(one) for one in found[1].replace(" ", "").split(",") if one)
    return f", and this tensor alone takes {elements * size / 1e9:.3g} GB"
