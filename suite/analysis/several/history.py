"""A cell's values over campaigns to the levels that they have.  Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from suite.analysis.numbers.steady import LEAST_NOISE, find_changes
from suite.analysis.result.history import Change, Point, Series
from suite.analysis.result.numbers import MARGIN

SHORTEST = 3
"""A level has as many campaigns at least: fewer are outliers."""

PENALTY = 8.0
"""What a change costs, in noise variances times ln n: of 300 series of 6, 10 and 20 values without one,
7, 4 and 0 % had one all the same."""


def find_series(machine: str, arm: str, points: Sequence[Point]) -> Series:
    """The series with its changes; INVALID points have no part in them."""
    sound = [index for index, one in enumerate(points) if one.invalid is None]
    breaks = find_breaks([points[index] for index in sound])
    edges = [0, *breaks, len(sound)]
    levels = [
        float(np.median([points[index].value for index in sound[begin:end]]))
        for begin, end in pairwise(edges)
    ]
    changes = []
    for number, place in enumerate(breaks, 1):
        before, after = points[sound[place - 1]].facts, points[sound[place]].facts
        times = levels[number] / levels[number - 1]
        if abs(math.log(times)) > math.log1p(MARGIN):
            differs = {n: (before.get(n), now) for n, now in after.items() if before.get(n) != now}
            changes.append(Change(at=sound[place], times=times, differs=differs))
    return Series(machine=machine, arm=arm, points=tuple(points), changes=tuple(changes))


def find_breaks(points: Sequence[Point]) -> tuple[int, ...]:
    """Where new levels begin.

    The noise is that of successive values, or of the campaigns' own intervals where these are wider.
    """
    if len(points) < 2 * SHORTEST:
        return ()
    logs = np.log([one.value for one in points])
    errors = [math.log(one.high / one.low) / 4 for one in points if one.low and one.high]
    noise = max(LEAST_NOISE, float(np.median(errors)) if errors else 0.0)
    return find_changes(logs, penalty=PENALTY, shortest=SHORTEST, noise=noise)
