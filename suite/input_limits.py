"""How large a number from outside may be, and how long a list, a name or a text, whether an option or a
document brings it.

Standard library only.  What is out of its range is refused before anything is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """From ``least`` to ``most``, both included."""

    least: float
    most: float

    def refuse(self, value: float) -> str | None:
        """What is wrong with a value; None: nothing."""
        if self.least <= value <= self.most:
            return None
        if value > self.most:
            return f"{value} is more than {self.most}"
        return f"{value} is negative" if value < 0 else f"{value} is less than {self.least}"


@dataclass(frozen=True)
class Text:
    """A text that matches a ``pattern`` as a whole and has at most ``longest`` characters."""

    what: str
    pattern: str
    longest: int

    def refuse(self, text: str) -> str | None:
        """What is wrong with a text; None: nothing."""
        if len(text) > self.longest:
            return f"has {len(text)} characters; {self.longest} is the most"
        if re.fullmatch(self.pattern, text, re.DOTALL):
            return None
        return f"{text!r} is not {self.what}" if text.strip() else "is empty"


RANGES: Mapping[str, Range] = {
    "block": Range(0, 99),
    "blocks": Range(1, 99),
    "budget": Range(0, 366 * 86_400),  # seconds
    "bytes": Range(0, 2**60),
    "call": Range(
        1e-12, 1e9
    ),  # seconds; a picosecond is less than a thousandth of a processor's cycle
    "calls": Range(1, 1_000_000),  # K; the worker's cap is a tenth of it
    "count": Range(0, 2**53),  # what every reader of JSON takes for the same whole number
    "cpus": Range(0, 8191),  # the most that Linux can be built for
    "price": Range(0, 1_000_000),  # an hour
    "repeat": Range(0, 99),
    "seconds": Range(0, 1e9),  # 31 years; a larger number is a unit gone wrong
    "seed": Range(0, 2**31 - 1),
    "share": Range(0, 1),
    "sustain": Range(20, 1800),  # seconds
    "tolerance": Range(0, float("inf")),
}
"""By what is counted: an option and the fields of documents that are of one kind share a row."""

LENGTHS: Mapping[str, int] = {
    "at_s": 200_000,  # two days, an instant a second
    "cells": 500,  # the analysis looks from each at all others
    "facts": 5000,
    "cpu_s": 10_000,
    "replaced_s": 10_000,
    "replaced_cpu_s": 10_000,
    "samples_s": 10_000,  # one takes 10 ms, and all of them a second; or 250, and half an hour
    "warmup_s": 10_000,
}
"""The most values in a list or an object, by its field's name; some times what a campaign has."""

LENGTH = 2000
"""In any other."""

LONGEST_LABEL = 60
LONGEST_NAME = 200
LONGEST_KEY = 1000
LONGEST_TEXT = 100_000
"""Characters.  Names become those of files; the longest texts are what a container said last."""

NAME = Text("a valid name of a folder", r"\w[\w.-]*", LONGEST_NAME)
ARM = Text("a valid name of an arm", r"\w[\w.@:-]*", LONGEST_NAME)
LABEL = Text("a label", ".*", LONGEST_LABEL)
FILLED = Text("a text", r".*\S.*", LONGEST_TEXT)
"""A name from outside that becomes a path must stay within the folder of results; some texts must not be
empty."""
