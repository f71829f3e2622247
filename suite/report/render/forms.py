"""What names a machine, a person or a place by its form, taken out of a text before it leaves.

The table of `forms.toml` as regular expressions, and addresses.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from itertools import chain, repeat
from pathlib import Path

import msgspec

from suite.input_limits import ARM

_ADDRESS = re.compile(
    r"(?<![\w.:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)",
    re.IGNORECASE,
)
_AFTER_VERSION = re.compile(r"(?:version|cudnn|v)[\s:=]*$|pkg:[\w./%+-]+@$", re.IGNORECASE)

_TABLE = Path(__file__).with_name("forms.toml")

_ENDING = (
    r"(?:-(?:twin|again|hidden))*(?::\d{1,2})*(?:-\d{2,3}(?:-r\d+)?)?(?:\.(?:cdx\.json|json|log|txt))?"
    r"(?![\w\\]|[.:-][\w~]|@(?!sha256:))"
)
"""What is added to an arm's name in those of its controls, GPUs and files; what stands behind it makes it no
longer name, such as a host's."""

_ARMS: ContextVar[frozenset[str]] = ContextVar("arms", default=frozenset())


@contextmanager
def keep_arms(names: Iterable[str]) -> Iterator[None]:
    """Within it, the names of these arms of a campaign, and of their files, are nobody's address, whatever
    their form: ``cpu@nightly`` has that of a person at a host, ``amd-cpu@x.de`` has a host in it.

    What can be no arm's name, such as a link, is hidden as anywhere.
    """
    token = _ARMS.set(frozenset(name for name in names if ARM.refuse(name) is None))
    try:
        yield
    finally:
        _ARMS.reset(token)


def list_arms() -> frozenset[str]:
    """The names that are kept now."""
    return _ARMS.get()


@lru_cache(maxsize=100)
def _find_arms(arms: frozenset[str]) -> re.Pattern[str]:
    """Where the names of these arms stand by themselves; without an arm, nowhere."""
    names = map(re.escape, sorted(arms, key=lambda name: (-len(name), name)))
    # Their files have a hyphen in the place of these two.
    every = "|".join(name.replace("@", "[@-]").replace(":", "[:-]") for name in names)
    return re.compile(rf"(?<![\w.@+-])({every}){_ENDING}" if every else "(?!)()")


def hide_matches(
    pattern: re.Pattern[str],
    word: str | Callable[[re.Match[str]], str],
    text: str,
    *,
    files: bool = True,
) -> str:
    """The text with that word in the place of each match, but for what lies within an arm's name; with
    ``files`` also of its controls, GPUs and files, which have the form of many a host's name (``cpu-01``)."""
    arms = (found.span(0 if files else 1) for found in _find_arms(_ARMS.get()).finditer(text))
    spans = chain(arms, repeat((math.inf, math.inf)))
    start, end = -1.0, -1.0

    def change(match: re.Match[str]) -> str:
        nonlocal start, end
        # Both come in the text's order, so that a long log takes no longer than it is long.
        while end < match.end():
            start, end = next(spans)
        if start <= match.start():
            return match[0]
        return word if isinstance(word, str) else word(match)

    return pattern.sub(change, text)


def hide_forms(text: str) -> str:
    """The text without what identifies anybody by its form; what it was stands in its place."""
    for pattern, word in _read_forms():
        text = hide_matches(pattern, f"hidden-{word}", text)

    def hide_number(match: re.Match[str]) -> str:
        if "." in match[0] and _AFTER_VERSION.search(text, 0, match.start()):
            return match[0]
        try:
            address = ipaddress.ip_address(match[0])
        except ValueError:
            return match[0]
        # C++'s names have two colons, too, and are no addresses without a digit.
        everybodys = address.is_loopback or address.is_unspecified or not re.search(r"\d", match[0])
        return match[0] if everybodys else "hidden-address"

    return hide_matches(_ADDRESS, hide_number, text)


@cache
def _read_forms() -> Sequence[tuple[re.Pattern[str], str]]:
    """What is recognised by its form, and what it is, in the order in which it is looked for."""
    table = msgspec.toml.decode(_TABLE.read_bytes())
    parts: dict[str, str] = {}
    for name, part in table["parts"].items():
        parts[name] = (
            "|".join(map(re.escape, part)) if isinstance(part, list) else _fill(part, parts)
        )
    return [
        (re.compile(_fill(pattern, parts), re.IGNORECASE), form["what"])
        for form in table["forms"]
        for pattern in form["patterns"]
    ]


def _fill(pattern: str, parts: Mapping[str, str]) -> str:
    """The pattern with its parts in the place of their names; `{8}` is not a name."""
    return re.sub(r"\{([a-z_]+)\}", lambda match: parts[match[1]], pattern)
