"""What tells whether two runs of a script train the same: its weights, and the numbers that it prints."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

MOST_NUMBERS = 200
"""Of what a script prints, so many numbers are kept."""

LONGEST_LINE = 1000
"""Of a line, so many characters are looked at."""

_BREAK = re.compile(r"[\r\n\b]+")
_STYLE = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_KERAS = re.compile(r"\s*(Epoch )?\d+/(\d+|Unknown)\b|.*[mµun]?s/(step|epoch)\b|.*━")
_TIMES = re.compile(
    r".*\b(time|took|takes?|elapsed|duration|eta|seconds?|secs?|speed|throughput|fps|\w+/s(ec)?)\b",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"\d+-\d+-\d+|\d+:\d+(:\d+)?([.,]\d+)?|0x[\da-f]+|\d[\d.]*(e-?\d+)? ?([mµun]?s|min|h)\b"
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?(?![\w.]*\w)")


def find_norm(groups: Iterable[Sequence[Any]]) -> float:
    """The root of the sum of the squares of all variables, in float64."""
    import numpy as np

    values = (np.asarray(variable).astype(np.float64) for group in groups for variable in group)
    return math.sqrt(math.fsum(float(np.vdot(value, value)) for value in values))


def find_numbers(text: str) -> list[float]:
    """The numbers with a point or an exponent that a script prints, in their order; not those of Keras's
    progress, nor of lines about time."""
    found: list[float] = []
    for whole in _BREAK.split(_STYLE.sub("", text)):
        line = whole[:LONGEST_LINE]
        if not _KERAS.match(line) and not _TIMES.match(line):
            found += map(float, _NUMBER.findall(_CLOCK.sub(" ", line)))
    return [number for number in found if math.isfinite(number)][:MOST_NUMBERS]
