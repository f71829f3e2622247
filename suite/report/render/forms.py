"""What names a machine, a person or a place by its form, taken out of a text before it leaves.

The table of `forms.toml` as regular expressions, and addresses.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

import msgspec

_ADDRESS = re.compile(
    r"(?<![\w.:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)",
    re.IGNORECASE,
)
_AFTER_VERSION = re.compile(r"(?:version|cudnn|v)[\s:=]*$|pkg:[\w./%+-]+@$", re.IGNORECASE)

_TABLE = Path(__file__).with_name("forms.toml")


_FAMILIES = frozenset({"cpu", "cuda"})
"""Those of which every table of images has arms."""

_CONTROL = re.compile(r"(?:-(?:twin|again|hidden))*(?::\d+)?")
"""What is added to an arm's name in those of its controls, and of a GPU's."""

_ARMS: ContextVar[frozenset[str]] = ContextVar("arms", default=frozenset())


@contextmanager
def keep_arms(names: Iterable[str]) -> Iterator[None]:
    """Within it, the names of these arms of a campaign are nobody's address, though ``cpu@nightly`` has the
    form of a person at a host; of families that there are, whatever a plan says."""
    every = frozenset(names)
    families = _FAMILIES | {name for name in every if "@" not in name}
    token = _ARMS.set(frozenset(name for name in every if name.partition("@")[0] in families))
    try:
        yield
    finally:
        _ARMS.reset(token)


def list_arms() -> frozenset[str]:
    """The names that are kept now."""
    return _ARMS.get()


def hide_address(match: re.Match[str]) -> str:
    """What stands in the place of what has an address's form: itself where it is an arm's name."""
    arms = _ARMS.get()
    names = (arm for arm in arms if match[0].startswith(arm))
    is_arm = any(_CONTROL.fullmatch(match[0], len(arm)) for arm in names)
    return match[0] if is_arm else "hidden-address"


def hide_forms(text: str) -> str:
    """The text without what identifies anybody by its form; what it was stands in its place."""
    for pattern, word in _read_forms():
        text = pattern.sub(hide_address if word == "address" else f"hidden-{word}", text)

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

    return _ADDRESS.sub(hide_number, text)


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
