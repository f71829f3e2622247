"""What a family of ratios means: FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE or INVALID, and why.

Pure.  Sees ratios and reasons, never a sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scipy import special

from suite.analysis.numbers.estimate import find_quantile, find_spread
from suite.analysis.numbers.ratio import INNER
from suite.analysis.numbers.spread import share
from suite.analysis.result.numbers import LEVEL, Ratio, Verdict, VerdictName, cite
from suite.flags import Flag

EQUIVALENCE = 0.05
"""Two times within this are equivalent.  Fixed, because noise must not widen it."""

MOST_BLOCKS = 100
"""Nobody runs more blocks than this to settle a cell."""


def adjust(ps: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given (Holm 1979)."""
    adjusted = [1.0] * len(ps)
    worst = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        worst = max(worst, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = worst
    return adjusted


def judge(
    ratios: Mapping[str, Ratio],
    *,
    margin: float,
    invalid: Mapping[str, tuple[Flag, ...]],
    level: float = LEVEL,
    paired: bool = True,
) -> dict[str, Verdict]:
    """The verdicts of a family of cells of one comparison, by cell; Holm adjusts for all with a p-value.

    A few blocks can agree by chance, and a cell's own spread is then too small.  So of ``paired`` ratios,
    those of one campaign, the larger of two spreads counts: its own, or what its family makes of it.
    ``margin`` is what a difference must exceed, the larger of 2 % and what the campaign's twins show
    beyond their own intervals; ``level`` is the chance of any false FASTER or SLOWER in the family;
    ``invalid`` gives the flags of cells whose numbers must not be judged.
    Cells with fewer than three pairs have no verdict and are left out.
    """
    sound = {name: ratio for name, ratio in ratios.items() if name not in invalid}
    if paired:
        sound = share(sound)
    tested = {name: ratio.p for name, ratio in sound.items() if ratio.p is not None}
    adjusted = dict(zip(tested, adjust(list(tested.values())), strict=True))
    # Of the cells that are still open Holm asks as much of the first one to be decided.
    strict = level / max(1, sum(p >= level for p in adjusted.values()))
    verdicts = {}
    for name in ratios:
        if name in invalid:
            verdicts[name] = Verdict(name="INVALID", flags=invalid[name])
        elif sound[name].low is not None:
            verdicts[name] = _judge_one(sound[name], adjusted.get(name), margin, level, strict)
    return verdicts


def is_beyond(ratio: float, margin: float) -> bool:
    """Whether a ratio differs from 1 by more than the margin, whichever way round it is turned."""
    return min(abs(ratio - 1), abs(1 / ratio - 1)) > margin


def _judge_one(
    ratio: Ratio, p: float | None, margin: float, level: float, strict: float
) -> Verdict:
    if p is None:
        return Verdict(name="INCONCLUSIVE", reason=cite("resolution"))
    if p < level and is_beyond(ratio.value, margin):
        side: VerdictName = "SLOWER" if ratio.value > 1 else "FASTER"
        return Verdict(name=side, reason=cite("significant", p=p, margin=margin), p=p)
    # Schuirmann 1987: both one-sided tests at 5 % reject exactly where the 90 % CI is inside.
    # Inside whichever way round the ratio is turned, which is 1/1.05 to 1.05.
    least, most = ratio.inner_low or 0.0, ratio.inner_high or math.inf
    if least > 1 / (1 + EQUIVALENCE) and most < 1 + EQUIVALENCE:
        return Verdict(name="EQUIVALENT", reason=cite("within-margin", margin=EQUIVALENCE), p=p)
    reason = cite("within-noise", margin=margin) if p < level else cite("not-significant", p=p)
    blocks = count_blocks(ratio, margin, strict)
    return Verdict(name="INCONCLUSIVE", reason=reason, p=p, blocks=blocks)


def count_blocks(
    ratio: Ratio, margin: float, level: float, equivalence: float = EQUIVALENCE
) -> int | None:
    """How many blocks in all would decide a cell if its ratio and the spread stay as they are.

    ``level`` is what its own p-value has to be under; ``equivalence`` within what it would be decided as
    well, 0: by nothing.  None: not even `MOST_BLOCKS` would, or the ratio has no interval.
    """
    spread = find_spread(ratio)
    if spread is None:
        return None
    distance = abs(math.log(ratio.value))
    for blocks in range(ratio.n + 1, MOST_BLOCKS + 1):
        error = spread / math.sqrt(blocks)
        reach = find_quantile(blocks - 1, INNER) * error
        if distance + reach < math.log(1 + equivalence):
            return blocks
        p = 2 * float(special.stdtr(blocks - 1, -distance / error))
        if is_beyond(ratio.value, margin) and p < level:
            return blocks
    return None
