"""Text from documents made safe to print: in Markdown, in a terminal, in a spreadsheet.

Whatever a document says is data from outside.  It is shown, never interpreted.
"""

from __future__ import annotations

import re
import unicodedata

from suite.analysis.result.arms import hash_identity

_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
"""Unicode's controls, direction marks, halves of characters, line separators and odd spaces."""

_SPECIAL = re.compile(r"[\\`*\[\]<>|~$&#!]")
_EDGE_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_LINK = re.compile(
    r"(?<=[a-z]):(?=//)|(?<=mailto):|(?<=xmpp):|(?<=www)\.|@(?=[\w-]+\.)", re.IGNORECASE
)
_UUID = re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_BLOCK_START = re.compile(r"^()(=|[-+](?=[-\s]|$))|^(\d+)([.)])(?=\s|$)")


def show_plainly(text: str, limit: int = 300) -> str:
    """The text on one line, with every unprintable character spelled out, cut at ``limit``.

    Lengths are in characters; what was cut is replaced by an ellipsis.  A GPU's UUID is replaced
    by a hash, because a report is private by default.
    """
    text = _UUID.sub(lambda match: f"{match[1]}-{hash_identity(match[0])}", text)
    shown = "".join(
        _spell(char) if unicodedata.category(char) in _UNPRINTABLE else char
        for char in text[: limit + 1]
    )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def escape(text: str, limit: int = 300) -> str:
    """The text as Markdown that renders as exactly this text, on one line and as no markup.

    Covers CommonMark and GitHub's additions: table pipes, bare links and addresses, strike-through
    and mathematics.  Underscores inside words mean nothing to Markdown and stay as they are.
    """
    shown = " ".join(show_plainly(text, limit).split())
    shown = _SPECIAL.sub(r"\\\g<0>", shown)
    shown = _EDGE_UNDERSCORE.sub(r"\\_", shown)
    shown = _LINK.sub(r"\\\g<0>", shown)
    return _BLOCK_START.sub(r"\1\3\\\2\4", shown)


def guard_formula(text: str) -> str:
    """The text for a spreadsheet's cell: one that would be taken for a formula gets a quote.

    Source: OWASP, "CSV Injection"; a leading ``=``, ``+``, ``-``, ``@``, tab or return starts one.
    """
    shown = show_plainly(text, limit=2000)
    return (
        f"'{shown}" if shown.lstrip()[:1] in {"=", "+", "-", "@"} or text[:1].isspace() else shown
    )


def _spell(char: str) -> str:
    if char.isspace():
        return " "
    return (
        char.encode("ascii", "backslashreplace").decode()
        if ord(char) > 127
        else f"\\x{ord(char):02x}"
    )
