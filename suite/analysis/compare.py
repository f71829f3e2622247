"""Do two sets of times differ?  The one comparison, and the only place that adjusts a p-value.  Pure.

`compare` sets some rows of the table of observations beside others: ratios with intervals, Holm's
adjustment, equivalence, and verdicts.  Arms of a campaign, controls, campaigns, a cell measured again,
machines and scripts are all compared by it, with other keys.  Below it are verdicts; ratios are made in
`suite.analysis.statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec import structs
from scipy import special

from suite.analysis.observations import Measure, Observation, take_seconds, values_by_block
from suite.analysis.result.cells import Answer, Bound, Comparison, set_down
from suite.analysis.result.numbers import (
    EQUIVALENCE,
    FEWEST,
    INNER,
    LEVEL,
    LEVELS_APART,
    OTHER_LEVEL,
    SETTLED,
    WORK_LEVEL,
    Ratio,
    Verdict,
    VerdictName,
    cite,
)
from suite.analysis.statistics.estimate import find_quantile, find_spread
from suite.analysis.statistics.moderated_variance import widen_by_family
from suite.analysis.statistics.ratio import (
    Spread,
    find_paired_ratio,
    find_welch_ratio,
    find_welch_spread,
)
from suite.cells.traits import WITH_VERDICTS
from suite.flags import IMPLAUSIBLE, Flag, raise_flag
from suite.input_limits import RANGES

MOST_BLOCKS = 100
"""Nobody runs more blocks than this to settle a cell."""

Key = TypeVar("Key", bound=Hashable)

Rows = Sequence[Observation]

Test = Callable[[Iterable[float], Iterable[float]], Ratio | None]
"""How values that were not measured in the same blocks are compared."""


# --- The comparison -----------------------------------------------------------------------------------


def compare(
    base: Iterable[Observation], other: Iterable[Observation], **how: Any
) -> dict[str, Comparison]:
    """By cell, in the order of ``other``, its times there over those in ``base``, and what that means.

    ``how`` is that of `compare_pairs`.
    """
    pairs: dict[str, tuple[list[Observation], list[Observation]]] = {}
    for side, rows in ((1, other), (0, base)):
        for row in rows:
            pairs.setdefault(row.cell, ([], []))[side].append(row)
    return compare_pairs(pairs, **how)


def compare_pairs(
    pairs: Mapping[Key, tuple[Rows, Rows]],
    *,
    margin: float | Mapping[Key, float],
    paired: bool = True,
    level: float | None = None,
    any_profile: bool = False,
    measure: Measure = take_seconds,
    unpaired: Test | None = None,
    refused: Mapping[Key, Flag] | None = None,
    beside: Mapping[Key, tuple[Flag, ...]] | None = None,
    share: float | None = None,
    among: int = 1,
) -> dict[Key, Comparison]:
    """One family of comparisons, by key: of each the base's rows and the other's.

    Args:
        pairs: what is compared with what.
        margin: what a difference must exceed to count, a share: of all of them, or of each.
        paired: both sides were measured in the same blocks (Student); else Welch's test, in whose intervals
            drift between the sides is not.
        level: the chance of any false FASTER or SLOWER among all of them; None: split between the cells
            with the role "work" and all others, which are two families (`WORK_LEVEL`, `OTHER_LEVEL`).
        any_profile: judge rows of any profile; else one that gives no verdicts forbids them.
        measure: what of a row is compared.
        unpaired: the test where nothing is paired; None: `find_welch_ratio`.
        refused: why some must not be compared.
        beside: flags that stand beside some of the ratios.
        share: what of every level this look may spend, as `find_share` has it; None: all.
        among: how many comparisons, this one included, have the chance of a false verdict together.
    """
    test = unpaired or find_welch_ratio
    spreads: dict[Key, Spread] = {}
    ratios: dict[Key, Ratio | Flag] = {}
    invalid: dict[Key, tuple[Flag, ...]] = {}
    for key, sides in pairs.items():
        base, other = (values_by_block(rows, measure) for rows in sides)
        flags = [next((row.invalid for row in rows if row.invalid), ()) for rows in sides]
        if first := next(filter(None, flags), ()):
            invalid[key] = first
        if not all(sides):
            ratios[key] = raise_flag("not-in-both")
        elif any(flag.code in IMPLAUSIBLE for side in flags for flag in side):
            ratios[key] = raise_flag("no-possible-number")
        elif not base or not other:
            ratios[key] = raise_flag("no-number")
        elif refused and key in refused:
            ratios[key] = refused[key]
        elif paired:
            ratios[key] = find_paired_ratio(base, other) or raise_flag("no-common-block")
        else:
            ratios[key] = test(base.values(), other.values()) or raise_flag("no-number")
            if spread := find_welch_spread(base.values(), other.values()):
                spreads[key] = spread
    first_rows = {key: [rows[0] for rows in sides if rows] for key, sides in pairs.items()}
    profiles = (row.profile for rows in first_rows.values() for row in rows)
    verdicts = _judge_families(
        ratios,
        invalid,
        without_verdicts=None
        if any_profile
        else next((p for p in profiles if p not in WITH_VERDICTS), None),
        work={key for key, rows in first_rows.items() if any(row.role == "work" for row in rows)},
        level=level,
        margin=margin,
        paired=paired,
        spreads=spreads,
        share=share,
        among=among,
    )
    return {
        key: set_down(
            ratio,
            verdicts[key],
            beside=(beside or {}).get(key, ()) if isinstance(ratio, Ratio) else (),
            invalid=invalid.get(key, ()),
        )
        for key, ratio in ratios.items()
    }


def _judge_families(
    found: Mapping[Key, Ratio | Flag],
    invalid: Mapping[Key, tuple[Flag, ...]],
    *,
    without_verdicts: str | None,
    work: Collection[Key],
    level: float | None,
    margin: float | Mapping[Key, float],
    paired: bool,
    spreads: Mapping[Key, Spread],
    share: float | None,
    among: int,
) -> dict[Key, Verdict | Flag]:
    """The verdict of each, or the flag that says why there is none."""
    ratios = {key: ratio for key, ratio in found.items() if isinstance(ratio, Ratio)}
    families = [(ratios, level)]
    if level is None:
        families = [
            ({key: ratio for key, ratio in ratios.items() if (key in work) == is_work}, own)
            for is_work, own in ((True, WORK_LEVEL), (False, OTHER_LEVEL))
        ]
    judged: dict[Key, Verdict] = {}
    for family, chance in () if without_verdicts else families:
        judged |= judge(
            family,
            margin=margin,
            invalid=invalid,
            level=chance or LEVEL,
            paired=paired,
            spreads=spreads,
            share=share,
            among=among,
        )
    absent = {key: _explain_absence(ratio, without_verdicts) for key, ratio in found.items()}
    return {**absent, **judged}


def _explain_absence(ratio: Ratio | Flag, without_verdicts: str | None) -> Flag:
    """Why there is no verdict on a ratio."""
    if isinstance(ratio, Flag):
        return ratio
    if without_verdicts:
        return raise_flag("provisional", profile=without_verdicts)
    too_wide = (flag for flag in ratio.flags if flag.code == "too-wide")
    return next(too_wide, raise_flag("few-pairs", fewest=FEWEST))


# --- Verdicts -----------------------------------------------------------------------------------------


def adjust(ps: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given (Holm 1979)."""
    adjusted = [1.0] * len(ps)
    worst = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        worst = max(worst, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = worst
    return adjusted


def judge(
    ratios: Mapping[Key, Ratio],
    *,
    margin: float | Mapping[Key, float],
    invalid: Mapping[Key, tuple[Flag, ...]],
    level: float = LEVEL,
    paired: bool = True,
    spreads: Mapping[Key, Spread] | None = None,
    share: float | None = None,
    among: int = 1,
) -> dict[Key, Verdict]:
    """The verdicts of a family of cells of one comparison, by cell; Holm adjusts for all with a p-value, and
    Bonferroni for the comparisons ``among`` which it is, whose families have the level together.

    A few blocks can agree by chance, and a cell's own spread is then too small.  So of ``paired`` ratios,
    those of one campaign, the larger of two spreads counts: its own, or what its family makes of it.
    ``margin`` is what a difference must exceed, the larger of 2 % and what the campaign's twins show
    beyond their own intervals; ``level`` is the chance of any false FASTER or SLOWER in the family;
    ``invalid`` gives the flags of cells whose numbers must not be judged, and ``spreads`` what is behind
    ratios that are not of pairs.  ``share`` is what one of several looks spends of the level, and of that of
    EQUIVALENT; few pairs then borrow degrees of freedom from their family, and a difference exceeds
    `LEVELS_APART`.
    Cells with fewer than three pairs have no verdict and are left out.
    """
    sound = {key: ratio for key, ratio in ratios.items() if key not in invalid}
    if paired:
        sound = widen_by_family(sound, lends=share is not None)
    if share is not None:
        level, sound = share * level, {key: _spend(ratio, share) for key, ratio in sound.items()}
    tested = {key: ratio.p for key, ratio in sound.items() if ratio.p is not None}
    ps = (min(1.0, among * p) for p in adjust(list(tested.values())))
    adjusted = dict(zip(tested, ps, strict=True))
    # What Holm asks of the next cell to be decided: the level over the number of those that are open.
    next_level = level / among / max(1, sum(p >= level for p in adjusted.values()))
    verdicts = {}
    for key in ratios:
        if key in invalid:
            verdicts[key] = Verdict(name="INVALID", flags=invalid[key])
        elif sound[key].low is not None:
            own = margin[key] if isinstance(margin, Mapping) else margin
            if share is not None and sound[key].n < SETTLED:
                own = max(own, LEVELS_APART)
            spread = (spreads or {}).get(key)
            verdicts[key] = _judge_one(
                sound[key], adjusted.get(key), own, level, next_level=next_level, spread=spread
            )
    return verdicts


def _spend(ratio: Ratio, share: float) -> Ratio:
    """A paired ratio whose inner interval is wrong with so much of its chance alone."""
    spread = find_spread(ratio)
    if spread is None:
        return ratio
    confidence = 1 - share * (1 - INNER)
    half = find_quantile(ratio.n - 1, confidence) * spread / math.sqrt(ratio.n)
    ends = {"inner_low": ratio.value / math.exp(half), "inner_high": ratio.value * math.exp(half)}
    return structs.replace(ratio, **ends)


def is_beyond(ratio: float, margin: float) -> bool:
    """Whether a ratio differs from 1 by more than the margin, whichever way round it is turned."""
    return min(abs(ratio - 1), abs(1 / ratio - 1)) > margin


def _judge_one(
    ratio: Ratio,
    p: float | None,
    margin: float,
    level: float,
    *,
    next_level: float,
    spread: Spread | None,
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
    wide = cite("not-significant", p=p, level=level)
    reason = cite("within-noise", margin=margin) if p < level else wide
    blocks = count_blocks(ratio, margin, next_level, spread=spread)
    return Verdict(name="INCONCLUSIVE", reason=reason, p=p, blocks=blocks)


def count_blocks(
    ratio: Ratio,
    margin: float,
    level: float,
    *,
    spread: Spread | None = None,
) -> int | None:
    """How many blocks in all would decide a cell if its ratio and the spread stay as they are.

    ``level`` is what its own p-value has to be under; ``spread`` that of a ratio that is not of pairs.
    None: not even `MOST_BLOCKS` would, or the ratio has no interval.
    """
    spread = spread or _find_paired_spread(ratio)
    if spread is None:
        return None
    distance = abs(math.log(ratio.value))
    for blocks in range(ratio.n + 1, MOST_BLOCKS + 1):
        error, freedom = spread.deviation / math.sqrt(blocks), spread.freedom * (blocks - 1)
        reach = find_quantile(freedom, INNER) * error
        if distance + reach < math.log(1 + EQUIVALENCE):
            return blocks
        p = 2 * float(special.stdtr(freedom, -distance / error))
        if is_beyond(ratio.value, margin) and p < level:
            return blocks
    return None


def _find_paired_spread(ratio: Ratio) -> Spread | None:
    deviation = find_spread(ratio)
    return None if deviation is None else Spread(deviation)


class Bounded(NamedTuple):
    """A ratio that must not be over a bound, and what it is made of.

    ``limit`` is the bound, or what noise makes where that is more, a share; ``paired``: both sides were
    measured in the same blocks.
    """

    ratio: Ratio
    base: Rows
    other: Rows
    limit: float
    paired: bool = False


def judge_bound(tested: Mapping[Key, Bounded], bound: float) -> dict[Key, Bound]:
    """Whether each is slower by over ``bound``, a share; all of them are one family.

    Slower: by over its limit, by a one-sided t test on logarithms (of pairs Student's, else Welch's),
    adjusted by Holm for all of them at 5 %.  Passed: the 90 % interval ends under the bound, whatever the
    noise.  Else undecided.
    """
    ps = dict(zip(tested, adjust(list(map(_test_over, tested.values()))), strict=True))
    answers: dict[Key, Answer] = {
        key: "slower"
        if ps[key] < LEVEL
        else "passed"
        if _is_under(row.ratio, bound)
        else "undecided"
        for key, row in tested.items()
    }
    next_level = LEVEL / max(1, sum(answer == "undecided" for answer in answers.values()))
    return {
        key: Bound(
            answer=answer,
            p=ps[key],
            limit=tested[key].limit,
            blocks=_count_for_bound(tested[key], bound, next_level)
            if answer == "undecided"
            else None,
        )
        for key, answer in answers.items()
    }


def _is_under(ratio: Ratio, bound: float) -> bool:
    return ratio.inner_high is not None and ratio.inner_high < 1 + bound


def _test_over(row: Bounded) -> float:
    """The one-sided p-value of being no slower than the limit; 1 where there is no spread to test by."""
    base = {block: (1 + row.limit) * s for block, s in values_by_block(row.base).items()}
    other = values_by_block(row.other)
    scaled = (
        find_paired_ratio(base, other)
        if row.paired
        else find_welch_ratio(base.values(), other.values())
    )
    if scaled is None or scaled.p is None:
        return 1.0
    return scaled.p / 2 if scaled.value > 1 else 1 - scaled.p / 2


def _count_for_bound(row: Bounded, bound: float, level: float) -> int | None:
    """The blocks, of each side, that would put a ratio over its limit, or its interval under the bound."""
    ratio, spread = row.ratio, _find_paired_spread(row.ratio)
    if not row.paired:
        sides = (values_by_block(rows).values() for rows in (row.base, row.other))
        spread = find_welch_spread(*sides)
    if spread is None:
        return None
    under, over = (math.log(ratio.value / (1 + end)) for end in (bound, row.limit))
    for blocks in range(ratio.n + 1, int(min(MOST_BLOCKS, RANGES["blocks"].most)) + 1):
        error, freedom = spread.deviation / math.sqrt(blocks), spread.freedom * (blocks - 1)
        if under < 0 and under + find_quantile(freedom, INNER) * error < 0:
            return blocks
        if over > 0 and error > 0 and float(special.stdtr(freedom, -over / error)) < level:
            return blocks
    return None
