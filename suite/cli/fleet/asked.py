"""Whether what is asked of a campaign that has begun is what it began with.  Pure."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suite.errors import UsageError
from suite.host.campaign.arms import AUTO
from suite.host.campaign.options import parse_price
from suite.model import Campaign

PLANNED = ("profile", "arms", "versions", "only", "seed", "label", "price")
"""Options that the plan decides."""

CHANGES = "would change it"
"""What is said of options that are given and that the plan says otherwise."""


def find_other(given: Mapping[str, str], begun: Campaign) -> tuple[list[str], list[str]]:
    """The options that are given (`Options.words`) and that the plan says otherwise: as given, and as it
    began; as words of make, none where it began without."""
    asked = {name: _read(name, given.get(name)) for name in PLANNED}
    began = {name: _read(name, value) for name, value in _list_begun(begun).items()}
    other = [name for name, value in asked.items() if value is not None and value != began[name]]
    now = [_word(name, asked[name]) for name in other]
    before = [_word(name, began[name]) for name in other if began[name] is not None]
    return now, before


def demand_same_plan(folder: Path, given: Mapping[str, str], begun: Campaign) -> None:
    """Refuses to go on with a campaign as if it were another one.

    Raises:
        UsageError: an option says otherwise than the plan.
    """
    now, before = find_other(given, begun)
    if now:
        raise UsageError(
            f"the campaign in {folder} {word_begun(now, before)}; {' '.join(now)} {CHANGES}",
            "leave that out to go on with this one (BLOCKS and BUDGET may be given), or begin another "
            "campaign in another folder",
        )


def word_begun(now: Sequence[str], before: Sequence[str]) -> str:
    """How it began, where what is asked for now is something else."""
    if before:
        return f"began with {' '.join(before)}"
    return f"began without {' '.join(word.partition('=')[0] for word in now)}"


def read_words(text: str) -> dict[str, str]:
    """Options by name from words of make: ``PROFILE=smoke ONLY='matmul.*'``.

    Raises:
        ValueError: a quote is not closed, or BLOCKS is not a number.
    """
    words = (word.partition("=") for word in shlex.split(text))
    options = {name.lower(): value for name, equals, value in words if equals}
    int(options.get("blocks", 0))
    return options


def _list_begun(begun: Campaign) -> dict[str, Any]:
    """What it began with; arms and cells as its command has them, which repeats it."""
    try:
        said = read_words(begun.command)
    except ValueError:  # no command of ours: then it began as if nothing had been said
        said = {}
    price = None if begun.price is None else f"{begun.price} {begun.price_currency}"
    return {
        # A list of versions says the arms instead.
        "arms": said.get("arms", None if "versions" in said else AUTO),
        "versions": said.get("versions"),
        "only": said.get("only"),
        "price": price,
        "profile": begun.profile,
        "seed": begun.seed,
        "label": begun.label,
    }


def _read(name: str, value: Any) -> Any:
    """A value so that alike ones are equal."""
    if value is None:
        return None
    if name in {"arms", "versions", "only"}:
        listed = str(value) if name == "only" else str(value).replace(",", " ")
        return tuple(listed.split())
    with contextlib.suppress(ValueError, UsageError):
        if name == "price":
            return parse_price(value)
        if name == "seed":
            return int(value)
    return str(value)


def _word(name: str, value: Any) -> str:
    if name == "price" and isinstance(value, tuple):
        amount, currency = value
        value = f"{amount:.15g}" + ("" if currency == "USD" else f" {currency}")
    elif isinstance(value, tuple):
        value = " ".join(value)
    return f"{name.upper()}={shlex.quote(str(value))}"
