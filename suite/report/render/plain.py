"""Text from outside made safe to print, on one line: in a page, a picture, a terminal.

Whatever a document says is data from outside.  It is shown, never interpreted.
"""

from __future__ import annotations

import re
from functools import lru_cache

from suite.analysis.result.arms import hash_identity
from suite.report.pictures.picture import Picture
from suite.report.render.forms import hide_forms, hide_matches, list_arms

LONGEST = 20_000
"""Characters of what is shown of one text, unless said otherwise; no paragraph comes near it."""

LONGEST_ASIDE = 1000
"""Characters of a footnote or a table's cell: a reason from outside can be a library's whole complaint."""

_UUID = re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)

_VERSION = re.compile(r"\d+(?:\.\d+){3}")

_MAIL = re.compile(
    r"(?<![\w.+-])(?!(?:cpu|cuda)@(?:\d|keras-\d))"
    r"[\w.+-]+(?:@[\w.-]*)*@[\w.-]*\.[\w.-]*[a-z](?![\w-])",
    re.IGNORECASE | re.ASCII,
)
"""What GitHub makes a link, whatever is escaped in it; but for the name of a version's arm, which is nobody's
address (``cuda@2.20-hidden``)."""

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u1680\u180e"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\uf8ff\ufdd0-\ufdef\ufeff\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000f0000-\U0010ffff]"
)
"""What draws nothing, or changes how others are drawn: controls, formats, separators but the space,
surrogates, private use and non-characters, as of Unicode 17.  `str.isprintable` changes with Python."""


def show_plainly(text: str, limit: int = LONGEST) -> str:
    """The text on one line, with every unprintable character spelled out, cut at ``limit``.

    Lengths are in characters; what was cut is replaced by an ellipsis.  A GPU's UUID is replaced
    by a hash, because a report is private by default.
    """
    text = _UUID.sub(lambda match: f"{match[1]}-{hash_identity(match[0])}", text)[: limit + 1]
    shown = _HIDDEN.sub(lambda match: _spell(match[0]), text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def show_privately(text: str, limit: int = LONGEST) -> str:
    """As `show_plainly`, without what names a machine, a person or a place by its form: for files that are
    handed on.

    Four numbers alone are a version: what has an address for its value is a hash already.  The names of
    arms stay within `keep_arms`.
    """
    return _show(text, limit, list_arms())


@lru_cache(maxsize=10_000)
def _show(text: str, limit: int, _arms: frozenset[str]) -> str:
    """`show_privately`, once for a text and the arms by which it is read."""
    if not _VERSION.fullmatch(text):
        text = hide_matches(_MAIL, "hidden-address", hide_forms(text))
    return show_plainly(text, limit)


def describe_picture(picture: Picture) -> tuple[str, str]:
    """What stands in a picture for those who don't see it: its title, and how to read it."""
    title, caption = picture.title, picture.caption
    return show_privately(title, len(title)), show_privately(caption, len(caption))


def _spell(char: str) -> str:
    return " " if char.isspace() else char.encode("unicode_escape").decode()
