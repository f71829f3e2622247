"""Kernels that a GPU's driver compiled while an invocation ran, and which figures hold that time; pure."""

from __future__ import annotations

from collections.abc import Mapping

from suite.model import CACHE, Document, facts_of

_AT_START, _AT_END = f"{CACHE}.at_start.files", f"{CACHE}.at_end.files"


def count_compiled(document: Document) -> int | None:
    """How many kernels CUDA's compile cache gained while the invocation ran; None: unknown."""
    containers = document.invocation.containers
    # The first one's start: those that came after it found what it had compiled.
    before = facts_of(document, containers[0].id if containers else None)
    start, end = before.get(_AT_START), document.facts.get(_AT_END)
    return max(0, end - start) if isinstance(start, int) and isinstance(end, int) else None


def doubt_cold(arm: str, documents: Mapping[int, Document]) -> str | None:
    """What a cold figure (a first call, a start) on an arm holds beside what it is about, or None.

    Only what the documents bear out: a cache that grew, or one that could not be read.
    """
    asked = {block: one for block, one in documents.items() if _AT_START in one.facts}
    compiled = {block: count_compiled(one) for block, one in asked.items()}
    grown = {block: count for block, count in compiled.items() if count}
    unknown = [block for block, count in compiled.items() if count is None]
    found = []
    if grown:
        found.append(
            f"ptx-jit: cold figures of {_word_blocks(list(grown))} include compiling kernels: CUDA's "
            f"compile cache gained {', '.join(map(str, (grown[block] for block in sorted(grown))))}"
        )
    if unknown:
        found.append(
            f"whether cold figures of {_word_blocks(unknown)} include compiling kernels is unknown: "
            "no document says what CUDA's compile cache gained"
        )
    return f"{arm}: {'; '.join(found)}" if found else None


def _word_blocks(blocks: list[int]) -> str:
    return f"block{'s' if len(blocks) > 1 else ''} {', '.join(map(str, sorted(blocks)))}"
