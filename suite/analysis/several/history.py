"""A cell's values over campaigns to the levels that they have.  Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import ruptures

from suite.analysis.result.history import Change, Point, Series
from suite.analysis.result.numbers import MARGIN

SHORTEST = 3
"""A level has as many campaigns at least: fewer are outliers."""

PENALTY = 8.0
"""What a change costs, in noise variances times ln n: of 300 series of 6, 10 and 20 values without one,
7, 4 and 0 % had one all the same."""

_MAD = 0.6744897501960817 * math.sqrt(2)
"""The median absolute difference of two successive values of unit normal noise."""

_LEAST_NOISE = 1e-3


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
        names = [name for name in after if before.get(name) != after[name]]
        times = levels[number] / levels[number - 1]
        if abs(math.log(times)) > math.log1p(MARGIN):
            differs = {name: (before.get(name), after[name]) for name in names}
            changes.append(Change(at=sound[place], times=times, differs=differs))
    return Series(machine=machine, arm=arm, points=tuple(points), changes=tuple(changes))


def find_breaks(points: Sequence[Point]) -> list[int]:
    """Where new levels begin.

    Change points of the logarithms by the exact l2 segmentation (Killick, Fearnhead and Eckley 2012, in
    ``ruptures``).  The noise is that of successive values, or of the campaigns' own intervals where these
    are wider.
    """
    if len(points) < 2 * SHORTEST:
        return []
    logs = np.log([one.value for one in points])
    steps = np.diff(logs)
    spread = float(np.median(np.abs(steps - np.median(steps)))) / _MAD
    errors = [math.log(one.high / one.low) / 4 for one in points if one.low and one.high]
    noise = max(_LEAST_NOISE, spread, float(np.median(errors)) if errors else 0.0)
    signal = (logs - np.median(logs)) / noise
    search = ruptures.KernelCPD(kernel="linear", min_size=SHORTEST).fit(signal[:, np.newaxis])
    return [int(one) for one in search.predict(pen=PENALTY * math.log(len(logs)))[:-1]]
