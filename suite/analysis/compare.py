"""Do two sets of times differ?  The one comparison, and the only place that adjusts a p-value.  Pure.

`compare` sets some rows of the table of observations beside others: ratios with intervals, Holm's
adjustment, equivalence, and verdicts.  Arms of a campaign, controls, campaigns, a cell measured again,
machines and scripts are all compared by it, with other keys.  Below it are its parts, from numbers to
verdicts.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np
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
from suite.analysis.statistics.estimate import (
    CONFIDENCE,
    Moments,
    exponentiate,
    find_moments,
    find_quantile,
    find_spread,
)
from suite.cells.traits import WITH_VERDICTS
from suite.flags import IMPLAUSIBLE, Flag, raise_flag
from suite.input_limits import RANGES

SHAMOS = 0.954
"""The median distance of two values of a normal distribution, in standard deviations."""

MEDIAN_ERROR = 1.2
"""The median of three to eight normal values has 1.09 to 1.2 times the standard error of their mean."""

MOST_BLOCKS = 100
"""Nobody runs more blocks than this to settle a cell."""

Key = TypeVar("Key", bound=Hashable)

Rows = Sequence[Observation]

Test = Callable[[Iterable[float], Iterable[float]], Ratio | None]
"""How values that were not measured in the same blocks are compared."""


class Spread(NamedTuple):
    """The standard deviation of one block's log-ratio, and the degrees of freedom for each block after the
    first: 1 for pairs, 1 to 2 for two sides that were measured apart."""

    deviation: float
    freedom: float = 1.0


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


# --- Ratios -------------------------------------------------------------------------------------------


def pair_logs(base: Mapping[int, float], other: Mapping[int, float]) -> list[float]:
    """The logarithm of other over base in every block that has both, in the blocks' order.

    Raises:
        ValueError: a value is not positive.
    """
    return [
        math.log(other[block]) - math.log(base[block]) for block in sorted(base) if block in other
    ]


def find_paired_ratio(base: Mapping[int, float], other: Mapping[int, float]) -> Ratio | None:
    """The ratio other over base of two arms' invocation values by block, paired by block.

    Geometric mean of the blocks' ratios with a t interval on their logarithms: a paired t test
    (Student 1908; Abedi and Brecht 2017 on why both arms run in every block).  None: no block has
    both.

    Raises:
        ValueError: a value is not positive.
    """
    logs = pair_logs(base, other)
    return _make_ratio(find_moments(logs), len(logs)) if logs else None


def find_welch_ratio(base: Iterable[float], other: Iterable[float]) -> Ratio | None:
    """The ratio other over base of invocation values that were not measured in the same blocks.

    Welch 1947 on the logarithms: unequal variances, the degrees of freedom by Satterthwaite 1946.
    Drift between the two campaigns is not in the interval.  None: one side has no value.

    Raises:
        ValueError: a value is not positive.
    """
    sides = [list(map(math.log, values)) for values in (base, other)]
    fewest = min(map(len, sides))
    if not fewest:
        return None
    first, second = map(find_moments, sides)
    error = math.sqrt(first.error * first.error + second.error * second.error)
    freedom = float(fewest - 1)
    if error > 0:
        shares = [
            (side.error / error) ** 4 / side.freedom for side in (first, second) if side.error
        ]
        freedom = 1 / math.fsum(shares)
    moments = Moments(mean=second.mean - first.mean, error=error, freedom=freedom)
    return _make_ratio(moments, fewest)


def find_welch_spread(base: Iterable[float], other: Iterable[float]) -> Spread | None:
    """The spread behind `find_welch_ratio`, for as many blocks of each side; None: a side has under three.

    The freedom is Satterthwaite's for sides of equal length.
    """
    sides = [list(map(math.log, values)) for values in (base, other)]
    if min(map(len, sides)) < FEWEST:
        return None
    variances = [find_moments(side).error ** 2 * len(side) for side in sides]
    total, squares = math.fsum(variances), math.fsum(variance * variance for variance in variances)
    return Spread(math.sqrt(total), total * total / squares if squares > 0 else len(sides))


def find_pooled_ratio(base: Iterable[float], other: Iterable[float]) -> Ratio | None:
    """As `find_welch_ratio`, also where a side has under three values, of which nobody knows the spread.

    Then both sides are taken to have one: Student's two-sample t with the pooled variance, which of one
    value against several is the interval of one more observation.  Three values in all are the fewest.

    Raises:
        ValueError: a value is not positive.
    """
    sides = [list(base), list(other)]
    counts = [len(side) for side in sides]
    freedom = sum(counts) - len(sides)
    if min(counts) >= FEWEST or not all(counts) or not freedom:
        return find_welch_ratio(*sides)
    first, second = (find_moments(list(map(math.log, values))) for values in sides)
    squares = [
        side.error * side.error * count * (count - 1)
        for side, count in zip((first, second), counts, strict=True)
    ]
    error = math.sqrt(math.fsum(squares) / freedom * math.fsum(1 / count for count in counts))
    moments = Moments(mean=second.mean - first.mean, error=error, freedom=freedom)
    return _make_ratio(moments, freedom + 1)


def find_mean_ratio(
    pairs: Iterable[tuple[Mapping[int, float], Mapping[int, float]]],
    *,
    paired: bool,
    tested: bool = False,
) -> Ratio | None:
    """The geometric mean of several cells' ratios, other over base, of which each counts once.

    Of each cell the base's values by block and the other's, with a block in common where they are
    ``paired``; no cell need have a value in every block.  Of ``B`` blocks in which any of the ``C`` cells
    has a pair, where cell ``c`` has the pairs ``d[c, b] = ln other[c, b] - ln base[c, b]`` in ``B_c`` of
    them, whose mean is ``d̄[c]``::

        m = (1 / C) Σ_c d̄[c]
        m[b] = m + Σ_(c with a pair in b) w[c] (d[c, b] - d̄[c])
        w[c] = (B / (C B_c)) √((B - 1) B_c / (B (B_c - 1)))
        mean = exp(m),   interval = exp(m ± t(0.975, B - 1) sd(m[b]) / √B)

    Without gaps ``w[c]`` is ``1 / C`` and ``m[b]`` the mean over cells of ``d[c, b]``.  So the cells of a
    block, which share its machine's mood, are one observation, and a block that lacks cells does not stand
    out by their ratios (``m[b]`` is the estimator's influence function, scaled so that a cell's own variance
    has ``B_c - 1`` degrees of freedom).  Where the blocks' weights ``W[b] = Σ_(c with a pair in b) w[c]``
    differ, as where cells rested, Student's t has Satterthwaite's ``(Σ W[b]²)² / Σ W[b]⁴ - 1`` degrees of
    freedom instead.  What is not paired is averaged so on each side, and the interval is Welch's.  Fleming
    and Wallace 1986 on why ratios have a geometric mean.

    It says nothing of other cells than these, and has no p-value unless they are ``tested``.  There is no
    interval where a cell has under three values on a side (pairs), since nobody knows its spread.  None:
    there are no cells.

    Raises:
        ValueError: a value is not positive.
    """
    sides: tuple[list[dict[int, float]], list[dict[int, float]]] = [], []
    for values in pairs:
        common = values[0].keys() & values[1].keys()
        for side, of in zip(sides, values, strict=True):
            side.append({block: of[block] for block in of if block in common or not paired})
    if not sides[0]:
        return None
    (base, freedom), (other, other_freedom) = map(_average, sides)
    mean = (
        find_paired_ratio(base, other)
        if paired
        else find_welch_ratio(base.values(), other.values())
    )
    fewest = min(len(of) for side in sides for of in side)
    if mean and fewest < FEWEST:
        return _make_ratio(Moments(mean=math.log(mean.value), error=0.0, freedom=0.0), fewest)
    freedom = min(freedom, other_freedom)
    return mean and structs.replace(
        _stretch(mean, freedom), p=_find_p(mean, freedom) if tested else None
    )


def _find_p(ratio: Ratio, freedom: float) -> float | None:
    """The two-sided p-value of a ratio whose spread is known by so many degrees of freedom at most."""
    if ratio.p is None or freedom >= ratio.n - 1:
        return ratio.p
    error = (find_spread(ratio) or 0.0) / math.sqrt(ratio.n)
    return 2 * float(special.stdtr(freedom, -abs(math.log(ratio.value)) / error))


def _stretch(ratio: Ratio, freedom: float) -> Ratio:
    """A ratio of whose spread no more is known than by so many degrees of freedom."""
    ends: dict[str, float] = {}
    for level, low, high in ((CONFIDENCE, "low", "high"), (INNER, "inner_low", "inner_high")):
        end = getattr(ratio, high)
        if end is None or freedom >= ratio.n - 1:
            continue
        times = find_quantile(freedom, level) / find_quantile(ratio.n - 1, level)
        half = times * math.log(end / ratio.value)
        ends |= {low: ratio.value * math.exp(-half), high: ratio.value * math.exp(half)}
    return structs.replace(ratio, **ends)


def _average(cells: Sequence[Mapping[int, float]]) -> tuple[dict[int, float], float]:
    """By block what it says of the geometric mean over the cells, of whose values by block this is the mean:
    exp(m[b]) of `find_mean_ratio`, of one side.  And by how many degrees of freedom its spread is known."""
    logs = [{block: math.log(value) for block, value in of.items()} for of in cells]
    means = [math.fsum(of.values()) / len(of) for of in logs]
    blocks = sorted({block for of in logs for block in of})
    n, mean = len(blocks), math.fsum(means) / len(cells)
    weights = [
        n / (len(of) * len(cells)) * math.sqrt((n - 1) * len(of) / (n * max(len(of) - 1, 1)))
        for of in logs
    ]
    average, squares = {}, []
    for block in blocks:
        there = [
            (weight, weight * (of[block] - own))
            for of, own, weight in zip(logs, means, weights, strict=True)
            if block in of
        ]
        average[block] = math.exp(mean + math.fsum(off for _, off in there))
        squares.append(math.fsum(weight for weight, _ in there) ** 2)
    if all(len(of) == n for of in logs):
        return average, n - 1
    freedom = math.fsum(squares) ** 2 / math.fsum(square * square for square in squares) - 1
    return average, max(1.0, freedom)


def find_common_ratios(
    pairs: Mapping[Key, Sequence[float]],
    alike: Iterable[Sequence[float]],
    *,
    comparisons: int,
    robust: bool = False,
) -> dict[Key, Ratio]:
    """Ratios of a few pairs each, by a spread that all of them share; intervals that hold all at once.

    Three pairs alone know little of their spread (Student's t has two degrees of freedom).  What is run in
    turns on one machine shares its noise, so that the variance of a pair is pooled over all pairs
    about their own means, and over runs that were ``alike``, of each group about its mean, of which two make
    a pair's variance.  The own spread of a key's pairs counts where it is the larger one.  The interval
    is Student's at 1 - `LEVEL` / ``comparisons`` (Bonferroni).

    Args:
        pairs: by key its pairs' log-ratios.
        alike: logarithms of values that differ by noise alone, by group.
        comparisons: how many ratios are looked at in all, those to come included.
        robust: the median of the pairs, and the pooled median of differences within groups (Shamos 1976),
            which a few that were hit by something else do not move, where that is the narrower; only
            where something else speaks for a ratio, too, since several of a key's few pairs can be hit.
    """
    groups = [(1.0, logs) for logs in pairs.values()] + [(2.0, logs) for logs in alike]
    groups = [(weight, logs) for weight, logs in groups if len(logs) > 1]
    freedom = float(sum(len(logs) - 1 for _, logs in groups))
    moments = [(weight * len(logs), find_moments(logs)) for weight, logs in groups]
    squares = math.fsum(times * of.freedom * of.error * of.error for times, of in moments)
    deviation = math.sqrt(squares / freedom) if freedom else 0.0
    apart = [
        math.sqrt(weight) * abs(one - other)
        for weight, logs in groups
        for one, other in combinations(logs, 2)
    ]
    of_medians = MEDIAN_ERROR * statistics.median(apart) / SHAMOS if apart else 0.0
    robust = robust and of_medians < deviation
    deviation = of_medians if robust else deviation
    ratios = {}
    for key, logs in pairs.items():
        own, n = find_moments(logs), len(logs)
        common = Moments(
            mean=statistics.median(logs) if robust else own.mean,
            error=max(deviation / math.sqrt(n), 0.0 if robust else own.error),
            freedom=freedom,
        )
        # How far they spread is known from all, however few pairs of this one there are.
        ratio = exponentiate(common, FEWEST if freedom else 1, 1 - LEVEL / comparisons)
        ratios[key] = structs.replace(ratio, n=n)
    return ratios


def scale_ratio(ratio: Ratio, by: float) -> Ratio:
    """The ratio as if the other side had taken so many times as long; its p-value is a paired ratio's."""
    names = ("value", "low", "high", "inner_low", "inner_high")
    ends = {
        name: end if end is None else by * end for name in names for end in [getattr(ratio, name)]
    }
    p, spread = None, find_spread(ratio)
    if spread and ratio.n >= FEWEST:
        error = spread / math.sqrt(ratio.n)
        p = 2 * float(special.stdtr(ratio.n - 1, -abs(math.log(by * ratio.value)) / error))
    return structs.replace(ratio, **ends, p=p)


def _make_ratio(moments: Moments, n: int) -> Ratio:
    outer, inner = (exponentiate(moments, n, level) for level in (CONFIDENCE, INNER))
    p = None
    # Without a spread there is nothing to judge a mean of 0 by.
    if n >= FEWEST and moments.error > 0:
        p = 2 * float(special.stdtr(moments.freedom, -abs(moments.mean) / moments.error))
    return structs.replace(outer, inner_low=inner.low, inner_high=inner.high, p=p)


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
) -> dict[Key, Verdict]:
    """The verdicts of a family of cells of one comparison, by cell; Holm adjusts for all with a p-value.

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
    adjusted = dict(zip(tested, adjust(list(tested.values())), strict=True))
    # What Holm asks of the next cell to be decided: the level over the number of those that are open.
    next_level = level / max(1, sum(p >= level for p in adjusted.values()))
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


# --- Moderated variance -------------------------------------------------------------------------------

FEWEST_RATIOS = 3
"""Of fewer ratios nobody knows how far their variances differ."""

FLOOR_QUANTILE = 0.1
"""Log variances below this quantile are raised to it."""

STEPS = 50
"""Newton's steps for the trigamma function's inverse at the most; it takes under ten."""


def widen_by_family(ratios: Mapping[Key, Ratio], *, lends: bool = False) -> dict[Key, Ratio]:
    """Widens each paired ratio whose spread is smaller than its family suggests; none gets narrower.

    Spreads are drawn towards what is usual among them, as in the moderated t test: variances are taken to
    come from a scaled inverse chi-squared distribution, whose scale and degrees of freedom the family
    tells (Smyth 2004, section 6.2; empirical Bayes).  The more alike they are, the further each is drawn.
    Ratios without a spread, and all where under three have one, stay as they are.
    ``lends``: the family lends each ratio degrees of freedom, as many as it has itself at most, so that its
    p-value can be smaller than by these alone; by the larger of both spreads all the same.  All that the
    moderated test would lend is too much where a family is of several kinds, or one is far noisier than the
    rest: 5 of 37 campaigns without a difference had a false verdict.
    """
    spreads = {
        name: (own, ratio.n - 1) for name, ratio in ratios.items() if (own := find_spread(ratio))
    }
    if len(spreads) < FEWEST_RATIOS:
        return dict(ratios)
    scale, prior = _fit(list(spreads.values()))
    # Nobody knows a spread better than all ratios together do, nor what is usual among them.
    most = sum(freedom for _, freedom in spreads.values())
    weight = min(prior, most)
    wider = {}
    for name, (own, freedom) in spreads.items():
        variance = (weight * scale + freedom * own * own) / (weight + freedom)
        certainty = min(weight + freedom, most)
        if variance > own * own:
            wider[name] = _widen(ratios[name], math.sqrt(variance / (freedom + 1)), certainty)
        if lends:
            error = math.sqrt(max(variance, own * own) / (freedom + 1))
            lent = min(certainty, 2 * freedom)
            p = 2 * float(special.stdtr(lent, -abs(math.log(ratios[name].value)) / error))
            wider[name] = structs.replace(wider.get(name, ratios[name]), p=p)
    return {**ratios, **wider}


def _widen(ratio: Ratio, error: float, freedom: float) -> Ratio:
    """A ratio with another standard error; ``freedom`` is how well that is known, for its p-value alone."""
    mean = math.log(ratio.value)
    ends = [
        math.exp(mean + side * find_quantile(ratio.n - 1, level) * error)
        for level in (CONFIDENCE, INNER)
        for side in (-1, 1)
    ]
    p = 2 * float(special.stdtr(freedom, -abs(mean) / error))
    names = ("low", "high", "inner_low", "inner_high")
    wider = dict(zip(names, ends, strict=True))
    return structs.replace(ratio, **wider, p=max(p, ratio.p or 0.0))


def _fit(spreads: list[tuple[float, int]]) -> tuple[float, float]:
    """The usual variance and its degrees of freedom, from standard deviations and theirs.

    By the mean and the variance of log variances; as many degrees as there can be where these vary no
    more than chance has it.  The smallest tenth counts as the tenth: one cell without a spread would
    otherwise tell that all can be so (as Phipson et al. 2016 winsorize).
    """
    halves = [freedom / 2 for _, freedom in spreads]
    logs = [
        2 * math.log(own) - float(special.digamma(half)) + math.log(half)
        for (own, _), half in zip(spreads, halves, strict=True)
    ]
    logs = np.maximum(logs, np.quantile(logs, FLOOR_QUANTILE)).tolist()
    mean = math.fsum(logs) / len(logs)
    variance = math.fsum((log - mean) * (log - mean) for log in logs) / (len(logs) - 1)
    beyond = variance - math.fsum(special.polygamma(1, halves)) / len(halves)
    if beyond <= 0:
        return math.exp(mean), math.inf
    half = _invert_trigamma(beyond)
    return math.exp(mean + float(special.digamma(half)) - math.log(half)), 2 * half


def _invert_trigamma(value: float) -> float:
    """Newton's method on the reciprocal, which is convex, from above (Smyth 2004, appendix)."""
    root = 0.5 + 1 / value
    for _ in range(STEPS):
        trigamma = float(special.polygamma(1, root))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, root))
        root += step
        if abs(step) < 1e-8 * root:
            break
    return root
