"""The line of a log that says why: for what stops a machine before the suite runs there, which writes its
own reason.

The last match of the first kind of decisive lines that matches is the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec


@dataclass(frozen=True, kw_only=True)
class Reason:
    """What went wrong, and what to do about it, as far as that is known."""

    what: str
    remedy: str = ""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Lines that match ``pattern``: in what words (else the line's own), and what to do."""

    pattern: re.Pattern[str]
    remedy: str
    what: str


@cache
def read_kinds() -> Sequence[Kind]:
    """The kinds of decisive lines (`reasons.toml`), the most decisive first."""
    table = msgspec.toml.decode(Path(__file__).with_name("reasons.toml").read_bytes())
    remedies = table["remedies"]
    return [
        Kind(
            pattern=re.compile("|".join(row["patterns"]), re.IGNORECASE),
            remedy=remedies.get(row.get("remedy"), row.get("remedy", "")),
            what=row.get("what", ""),
        )
        for row in table["kinds"]
    ]


_REMOVE = "ssh-keygen -f .known_hosts -R ADDRESS"

_OURS = re.compile(r"^(?:crossover|fleet/\w+): (?P<what>.+)")
_REMEDY = re.compile(r"^\s+what to do: (?P<remedy>.+)")

_NOISE = re.compile(
    r"^make(?:\[\d+\])?: \*\*\*|non-zero return code|^Traceback|see above|^Task failed:? *$|^@+$"
    r"|^Shared connection to|^Connection to \S+ closed|^Warning: Permanently added|module_std(?:out|err)",
    re.IGNORECASE,
)
"""Lines that only tell that something went wrong."""

_SAYS_SO = re.compile(
    r"\b(?:errors?|fatal|denied|refused|can(?:no|')t|fail(?:ed|ure)|no such|not found|unable|timed out|"
    r"invalid|missing)\b",
    re.IGNORECASE,
)

_BEFORE = re.compile(
    r"^(?:(?:Task failed|Action failed|"
    r"Data could not be sent to remote host \S+ Make sure this host can be reached over ssh|"
    r"Failed to connect to the host via ssh): *)+",
    re.IGNORECASE,
)
"""What an engine puts before somebody else's words."""

_ELSEWHERE = {
    r"`?(?:make bench )?\bRESUME(?:=[^\s`);,]*)?`? goes on(?: with a campaign)?": (
        "run the same command again: it goes on where it was"
    ),
    r"`?(?:make bench )?\bRESUME(?:=[^\s`);,]*)?`?": "run the same command again",
    r"name another folder with RESULTS=": "use a folder elsewhere",
}
"""Variables of `make bench` that `fleet/bench` refuses, and what takes their place."""


def find_reason(text: str) -> Reason:
    """Why, of all that was said; never nothing."""
    lines = list(_split(text))
    for number in reversed(range(len(lines))):
        if ours := _OURS.match(lines[number]):
            return Reason(what=ours["what"], remedy=_find_remedy(lines, number))
    for kind in read_kinds():
        for number in reversed(range(len(lines))):
            if kind.pattern.search(lines[number]):
                return _describe_line(kind, lines, number)
    telling = [line.strip() for line in lines if not _NOISE.search(line.strip())]
    saying = [line for line in telling if _SAYS_SO.search(line)]
    what = saying[:1] or telling[-1:] or [line.strip() for line in lines[-1:]]
    return Reason(what="".join(what) or "no reason given")


def word_remedy(remedy: str) -> str:
    """What the suite says to do, as it is done in a fleet, whose engine names the folder."""
    for pattern, words in _ELSEWHERE.items():
        remedy = re.sub(pattern, words, remedy)
    return remedy


def _split(text: str) -> Iterator[str]:
    """The lines that say anything, without what an engine puts before them."""
    for line in text.replace("\\r\\n", "\n").replace("\\n", "\n").splitlines():
        if said := _BEFORE.sub("", line).rstrip():
            yield said


def _find_remedy(lines: list[str], number: int) -> str:
    """What the text itself says to do, in the line below this one; empty: it does not."""
    below = "".join(lines[number + 1 : number + 2])
    return match["remedy"] if (match := _REMEDY.match(below)) else ""


def _describe_line(kind: Kind, lines: list[str], number: int) -> Reason:
    """The reason of this kind that stands in that line, with the remedy that the text itself gives below."""
    line = lines[number].strip()
    if line.endswith(":") and number + 1 < len(lines):
        line = f"{line} {lines[number + 1].strip()}"
    remedy = _find_remedy(lines, number) or kind.remedy
    # ssh knows the file, and the name by which it has the key.
    remove = [text for text in map(str.strip, lines) if text.startswith("ssh-keygen -f")] or [
        _REMOVE
    ]
    remedy = remedy.replace("{remove}", remove[-1])
    return Reason(what=f"{kind.what} ({line})" if kind.what else line, remedy=remedy)
