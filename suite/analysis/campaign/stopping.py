"""In how many blocks a cell is worth measuring: a function of how wide its intervals are, either way round.

It sees no verdict and not which arm is ahead, so that looking does not choose the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scipy import special

from suite.analysis.campaign.validity import MOST_SET_ASIDE
from suite.analysis.compare import count_blocks
from suite.analysis.result.numbers import EQUIVALENCE, FEWEST, MARGIN, Estimate, Ratio
from suite.analysis.statistics.estimate import CONFIDENCE, find_quantile, find_spread
from suite.analysis.statistics.moderated_variance import widen_by_family

HALF_WIDTH = 0.02
"""A value whose 95 % CI reaches no further to either side is known well enough."""

NARROW = EQUIVALENCE / 2
"""So is a ratio with this one: it is equivalent, or differs by about the margin of a verdict or more."""

CLEAR = 1.5
"""A ratio whose whole interval lies beyond this, and has a verdict, has nothing more to say to a reader."""

FAR = 2.0
"""Of the fewest blocks that have an interval only one beyond this counts: three agree by chance too often.
A ratio that the first block sees beyond it is likely to be clear by then."""

HOPE = 1.5
"""A ratio that would take so many times the most blocks to be decided goes on: its spread is not known well,
and giving it up too soon costs more verdicts than time."""

LIKELY = 0.75
"""How noisy blocks are the first one can't tell: a ratio that is not far is guessed to take this share of the
most."""

SLOW_S = 0.25
"""The noise of neighbours averages out over calls that take longer."""


@dataclass(frozen=True, kw_only=True)
class Precision:
    """Which cells are ``precise``, and by cell that has a number in how many of the campaign's blocks it is
    ``wanted`` in all: in no more than there have been where it is precise, or would not come to be."""

    precise: frozenset[str]
    wanted: Mapping[str, int]


Family = Mapping[str, Estimate]
"""What is known of cells whose spreads are comparable, by cell."""

Enough = Callable[[float, int], bool]
"""Whether an interval is good enough, by how far it reaches, on logarithms, and its blocks."""


def assess(
    ratios: Sequence[tuple[float, Family]],
    values: Sequence[Family],
    *,
    spoiled: Mapping[str, int],
    block: int,
    fewest: int,
    most: int,
) -> Precision:
    """The precision after a ``block``, of ``most`` that there can be.

    Each family of ``ratios`` stands with the chance of any false verdict in it.  ``spoiled`` are the cells
    that are INVALID since too large a share of their blocks was disturbed, with how many: they are wanted
    in so many that the share is small again, or in ``fewest`` where ``most`` are too few for that.

    A ratio is precise where its 95 % CI is narrow, or lies within what is equivalent, or is clear; beyond the
    margin only with a verdict that names a winner, whichever.  The value of a cell without a ratio is where
    it is narrow.  Each by the larger of the cell's own spread and what its
    family makes of it, since of many cells some have next to no spread in a few blocks, by chance, and
    these would be the ones to rest.  What is not precise is wanted in ``fewest`` blocks; a ratio also in
    more, where these are likely to make it precise, or to decide it.

    Fixed-width stopping (Chow and Robbins 1965), cell by cell; tests/bench measures what that costs.
    """
    compared = {cell for _, family in ratios for cell in family}
    alone = [{c: v for c, v in family.items() if c not in compared} for family in values]
    wanted: dict[str, list[int]] = {}
    for chance, family in ratios:
        for cell, ratio in widen_by_family(family).items():
            more = _count_for_ratio(ratio, most - block, chance / len(family))
            if block == 1 and more is None:
                more = math.ceil(LIKELY * most) - block
            wanted.setdefault(cell, []).append(_place(block, more, fewest, most))
    for family in alone:
        for cell, value in widen_by_family(family).items():
            more = _count_more(value, most - block, _is_known)
            wanted.setdefault(cell, []).append(_place(block, more, fewest, fewest))
    for cell, disturbed in spoiled.items():
        enough = math.ceil(disturbed / MOST_SET_ASIDE)
        wanted[cell] = [fewest] if enough > most else [*wanted.get(cell, ()), enough]
    return Precision(
        precise=frozenset(cell for cell, blocks in wanted.items() if set(blocks) == {0}),
        wanted={cell: max(block, *blocks) for cell, blocks in wanted.items()},
    )


def _place(block: int, more: int | None, fewest: int, most: int) -> int:
    """In how many blocks a cell is wanted that is precise after so many ``more`` (None: never); 0: it is."""
    if more == 0:
        return 0
    return fewest if more is None else min(most, max(FEWEST, block + more))


def _count_for_ratio(ratio: Ratio, most: int, level: float) -> int | None:
    """How many more blocks make a ratio precise; as many as there can be where they are likely to decide
    it.  ``level`` is what its p-value has to be under for a verdict, whatever the others' are."""
    distance = abs(math.log(ratio.value))
    if ratio.n < FEWEST:
        return FEWEST - ratio.n if distance > math.log(FAR) else None

    def is_enough(reach: float, n: int) -> bool:
        t = distance * find_quantile(n - 1, CONFIDENCE) / reach if reach else math.inf
        p = ratio.p if n == ratio.n else 2 * float(special.stdtr(n - 1, -t))
        names_winner = p is not None and p < level
        if distance - reach > math.log(CLEAR if n > FEWEST else FAR):
            return names_winner
        is_narrow = n > FEWEST and reach <= math.log1p(NARROW)
        if distance > math.log1p(MARGIN):  # more blocks could still name a winner
            return is_narrow and names_winner
        return is_narrow or (n > FEWEST and distance + reach < math.log1p(EQUIVALENCE))

    more = _count_more(ratio, most, is_enough)
    if more is None:
        blocks = count_blocks(ratio, MARGIN, level)
        more = most if blocks and blocks <= HOPE * (ratio.n + most) else None
    return more


def _is_known(reach: float, n: int) -> bool:
    return n > FEWEST and reach <= math.log1p(HALF_WIDTH)


def _count_more(known: Estimate, most: int, is_enough: Enough) -> int | None:
    """How many more values give a good enough interval if the spread stays as it is; None: more than
    ``most``, or nobody knows."""
    spread = find_spread(known)
    if spread is None:
        return None
    for more in range(most + 1):
        n = known.n + more
        if is_enough(find_quantile(n - 1, CONFIDENCE) * spread / math.sqrt(n), n):
            return more
    return None
