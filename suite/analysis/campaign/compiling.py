"""Kernels that a GPU's driver compiled while an invocation ran, and which figures hold that time; pure."""

from __future__ import annotations

from collections.abc import Mapping

from suite.model import CACHE, Document, count_compiled


def doubt_cold(arm: str, documents: Mapping[int, Document]) -> str | None:
    """What a cold figure (a first call, a start) on an arm holds beside what it is about, or None.

    Only what the documents bear out: a cache that grew, or one that could not be read.
    """
    asked = {
        block: one for block, one in documents.items() if f"{CACHE}.at_start.files" in one.facts
    }
    compiled = {block: count_compiled(one) for block, one in sorted(asked.items())}
    grown = [f"{count} in block {block}" for block, count in compiled.items() if count]
    unknown = [str(block) for block, count in compiled.items() if count is None]
    found = []
    if grown:
        found.append(
            "ptx-jit: cold figures include compiling kernels: the files that CUDA's compile cache "
            f"gained are {', '.join(grown)}"
        )
    if unknown:
        blocks = f"block{'s' if len(unknown) > 1 else ''} {', '.join(unknown)}"
        found.append(
            f"whether cold figures of {blocks} include compiling kernels is unknown: what CUDA's "
            "compile cache held is not told for the start and the end"
        )
    return f"{arm}: {'; '.join(found)}" if found else None
