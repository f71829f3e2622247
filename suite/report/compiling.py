"""Kernels that a GPU's driver has to compile before they run, and which figures hold that time; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from suite.model import CACHE, Document

_COMPILES = re.compile(r"gpu\.\d+\.compiles_first")


def compiles_first(document: Document) -> bool:
    """Whether the invocation's TensorFlow held no machine code for its GPU."""
    facts = document.facts
    return any(_COMPILES.fullmatch(name) and facts[name] is True for name in facts)


def label_compiling(arm: str, documents: Mapping[int, Document]) -> str | None:
    """The label of every number on such an arm, from its counted documents by block; or None."""
    if not any(map(compiles_first, documents.values())):
        return None
    return (
        f"{arm}: ptx-jit: TensorFlow holds no machine code for this GPU, so that its driver compiles "
        "kernels at first use"
    )


def doubt_cold(arm: str, documents: Mapping[int, Document]) -> str | None:
    """What a cold figure (a first call, a start) on an arm holds beside what it is about, or None.

    Only what the documents bear out: an empty compile cache at the start, or none that is known of.
    """
    compiling = {block: one for block, one in documents.items() if compiles_first(one)}
    held = {block: one.facts.get(f"{CACHE}.at_start.files") for block, one in compiling.items()}
    empty = [block for block, files in held.items() if files == 0]
    unknown = [block for block, files in held.items() if files is None]
    found = []
    if empty:
        found.append(
            f"cold figures of {_word_blocks(empty)} include compiling kernels: CUDA's compile cache "
            "was empty at the start"
        )
    if unknown:
        found.append(
            f"whether cold figures of {_word_blocks(unknown)} include compiling kernels is unknown: "
            "no document says what CUDA's compile cache held"
        )
    return f"{arm}: {'; '.join(found)}" if found else None


def _word_blocks(blocks: list[int]) -> str:
    return f"block{'s' if len(blocks) > 1 else ''} {', '.join(map(str, sorted(blocks)))}"
