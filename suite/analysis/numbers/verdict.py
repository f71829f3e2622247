"""What a family of ratios means: FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE or INVALID, and why.

Pure.  Sees ratios and reasons, never a sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suite.analysis.result.numbers import LEVEL, Ratio, Verdict, VerdictName, cite
from suite.flags import Flag

EQUIVALENCE = 0.05
"""Two times within this are equivalent.  Fixed, because noise must not widen it."""


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
) -> dict[str, Verdict]:
    """The verdicts of a family of cells of one comparison, by cell; Holm adjusts for all with a p-value.

    ``margin`` is what a difference must exceed, the larger of 2 % and what the campaign's twins show
    beyond their own intervals; ``level`` is the chance of any false FASTER or SLOWER in the family;
    ``invalid`` gives the flags of cells whose numbers must not be judged.
    Cells with fewer than three pairs have no verdict and are left out.
    """
    tested = {
        name: ratio.p
        for name, ratio in ratios.items()
        if ratio.p is not None and name not in invalid
    }
    adjusted = dict(zip(tested, adjust(list(tested.values())), strict=True))
    verdicts = {}
    for name, ratio in ratios.items():
        if name in invalid:
            verdicts[name] = Verdict(name="INVALID", flags=invalid[name])
        elif ratio.low is not None:
            verdicts[name] = _judge_one(ratio, adjusted.get(name), margin, level)
    return verdicts


def is_beyond(ratio: float, margin: float) -> bool:
    """Whether a ratio differs from 1 by more than the margin, whichever way round it is turned."""
    return min(abs(ratio - 1), abs(1 / ratio - 1)) > margin


def _judge_one(ratio: Ratio, p: float | None, margin: float, level: float) -> Verdict:
    if p is None:
        return Verdict(name="INCONCLUSIVE", reason=cite("resolution"))
    if p < level and is_beyond(ratio.value, margin):
        side: VerdictName = "SLOWER" if ratio.value > 1 else "FASTER"
        return Verdict(name=side, reason=cite("significant", p=p, margin=margin), p=p)
    # Schuirmann 1987: both one-sided tests at 5 % reject exactly where the 90 % interval is inside.
    # Inside whichever way round the ratio is turned, which is 1/1.05 to 1.05.
    if _is_inside(ratio):
        return Verdict(name="EQUIVALENT", reason=cite("within-margin", margin=EQUIVALENCE), p=p)
    if p < level:
        return Verdict(name="INCONCLUSIVE", reason=cite("within-noise", margin=margin), p=p)
    return Verdict(name="INCONCLUSIVE", reason=cite("not-significant", p=p), p=p)


def _is_inside(ratio: Ratio) -> bool:
    if ratio.inner_low is None or ratio.inner_high is None:
        return False
    return ratio.inner_low > 1 / (1 + EQUIVALENCE) and ratio.inner_high < 1 + EQUIVALENCE
