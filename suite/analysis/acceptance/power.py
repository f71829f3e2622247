"""How many blocks would decide what an interval leaves open.  Pure functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from scipy import special

from suite.analysis.compare import MOST_BLOCKS
from suite.analysis.result.numbers import Estimate
from suite.analysis.statistics.estimate import find_quantile, find_spread
from suite.input_limits import RANGES

PROMISE = 0.95
"""How probable an answer has to be by so many blocks: nine of ten come, and more, as
tests/bench/test_sheets_of_known_truth.py counts."""

SURE_OF_SPREAD = 0.9
"""How sure it is that the spread is no larger than what is counted on: a few blocks can agree by chance."""

MOST = int(min(MOST_BLOCKS, RANGES["blocks"].most))
"""Nobody runs more blocks than this."""


class Mean(NamedTuple):
    """A mean of logarithms of so many blocks ``n``, its standard error and the degrees of freedom of that."""

    value: float
    error: float
    freedom: float
    n: int


def take_mean(found: Estimate) -> Mean:
    """The mean of logarithms behind an estimate of one sample, or a ratio of pairs."""
    spread = find_spread(found)
    error = 0.0 if spread is None else spread / math.sqrt(found.n)
    return Mean(math.log(found.value), error, found.n - 1, found.n)


class Later(NamedTuple):
    """After more blocks: the mean's standard error and its degrees of freedom, and by how much the mean will
    have moved, as a standard deviation."""

    error: float
    freedom: float
    moves: float


class Sides(NamedTuple):
    """Where an interval has to lie as a whole, in logarithms: beyond ``passes`` (above it, of what must be
    ``high``; else under it), or on the other side of ``fails``."""

    passes: float
    fails: float
    high: bool


Look = Callable[[int], Later]
"""What there will be after so many blocks in all."""


def count_deciding(
    mean: Mean, sides: Sides, confidence: float, looks: tuple[Look, ...]
) -> int | None:
    """The fewest blocks in all after which each of these ``looks`` ends in an answer with the probability
    `PROMISE`; None: not even `MOST`.

    By what is known now the mean to come lies around the measured one, by the spread that the looks are made
    with; of that to come the upper end of its one-sided 90 % interval counts.
    """
    spread = _widen(mean.freedom)
    for blocks in range(mean.n + 1, MOST + 1):
        if all(
            _find_chance(mean, sides, confidence, look(blocks), spread) >= PROMISE for look in looks
        ):
            return blocks
    return None


def count_showing(
    deviation: float, freedom: int, n: int, distance: float, confidence: float, *, ends: int
) -> int | None:
    """The fewest blocks in all after which the interval of what has a known truth ends within a ``distance``
    of that, at one or both ``ends``, with the probability `PROMISE`; None: not even `MOST`.

    There are ``n`` now; ``deviation`` is that of a block, which so many degrees of ``freedom`` tell.
    """
    deviation *= _widen(freedom)
    for blocks in range(n + 1, MOST + 1):
        error = deviation / math.sqrt(blocks)
        room = distance - find_quantile(blocks - 1, confidence) * error
        if 1 - ends * float(special.ndtr(-room / error)) >= PROMISE:
            return blocks
    return None


def _widen(freedom: float) -> float:
    """By how much a spread of so many degrees of freedom may be larger, with `SURE_OF_SPREAD`."""
    return math.sqrt(freedom / float(special.chdtri(freedom, SURE_OF_SPREAD)))


def _find_chance(mean: Mean, sides: Sides, confidence: float, later: Later, spread: float) -> float:
    """The probability of an answer, whichever."""
    reach = find_quantile(later.freedom, confidence) * later.error * spread
    sign = 1 if sides.high else -1
    distances = (sign * (mean.value - sides.passes), sign * (sides.fails - mean.value))
    return math.fsum(
        float(special.ndtr((distance - reach) / later.moves)) for distance in distances
    )


def is_within_reach(mean: Mean, sides: Sides, confidence: float, looks: tuple[Look, ...]) -> bool:
    """Whether `MOST` blocks would decide it if the mean stayed where it is."""
    error, freedom, _ = looks[0](MOST)
    reach = find_quantile(freedom, confidence) * error
    return min(abs(mean.value - end) for end in (sides.passes, sides.fails)) > reach


def look_alone(deviation: float, n: int) -> tuple[Look, Look]:
    """Of values, or pairs, with this standard deviation: a campaign that goes on, and a new one."""

    def go_on(blocks: int) -> Later:
        return Later(
            error=deviation / math.sqrt(blocks),
            freedom=blocks - 1,
            moves=deviation * math.sqrt(1 / n - 1 / blocks),
        )

    def begin(blocks: int) -> Later:
        return go_on(blocks)._replace(moves=deviation * math.sqrt(1 / n + 1 / blocks))

    return go_on, begin


def look_beside(
    deviations: tuple[float, float], counts: tuple[int, int], *, both: bool
) -> tuple[Look, Look]:
    """The same of a campaign's values beside another's, the base's first, by Welch: that stays as it
    is, or ``both`` have so many blocks."""

    def see(blocks: int, sign: int) -> Later:
        sizes = (max(counts[0], blocks) if both else counts[0], blocks)
        parts = [deviation**2 / size for deviation, size in zip(deviations, sizes, strict=True)]
        moved = [
            deviation**2 * (1 / count + sign / size)
            for deviation, count, size in zip(deviations, counts, sizes, strict=True)
        ]
        total = math.fsum(parts)
        freedom = total**2 / math.fsum(
            p**2 / (size - 1) for p, size in zip(parts, sizes, strict=True)
        )
        return Later(
            error=math.sqrt(total), freedom=freedom, moves=math.sqrt(math.fsum(moved[not both :]))
        )

    return (lambda blocks: see(blocks, -1)), (lambda blocks: see(blocks, 1))
