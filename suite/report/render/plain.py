"""Text from outside made safe to print, on one line: in a page, a picture, a terminal.

Whatever a document says is data from outside.  It is shown, never interpreted.
"""

from __future__ import annotations

import re

from suite.analysis.result.arms import hash_identity

LONGEST = 20_000
"""Characters of what is shown of one text, unless said otherwise; no paragraph comes near it."""

LONGEST_ASIDE = 1000
"""Characters of a footnote or a table's cell: a reason from outside can be a library's whole complaint."""

_UUID = re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)


def show_plainly(text: str, limit: int = LONGEST) -> str:
    """The text on one line, with every unprintable character spelled out, cut at ``limit``.

    Lengths are in characters; what was cut is replaced by an ellipsis.  A GPU's UUID is replaced
    by a hash, because a report is private by default.
    """
    text = _UUID.sub(lambda match: f"{match[1]}-{hash_identity(match[0])}", text)[: limit + 1]
    shown = "".join(char if char.isprintable() else _spell(char) for char in text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _spell(char: str) -> str:
    return " " if char.isspace() else char.encode("unicode_escape").decode()
