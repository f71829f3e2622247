"""What parts take on two arms, and whether they differ.  Calls the one comparison.  Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from suite.analysis.compare import judge
from suite.analysis.result.numbers import OTHER_LEVEL, WORK_LEVEL, Ratio, Verdict, cite
from suite.analysis.statistics.ratio import find_mean_ratio

Key = TypeVar("Key", bound=Hashable)

MOST_SHARE = 100.0
"""No difference counts as a larger share, lest its exponential be no number."""


class Amount(NamedTuple):
    """What a part takes of one cell on two arms, base and other: seconds by block, of either sign.

    What else is in a cell's time is known within bounds: the part is ``most`` where the least of that is
    taken away, and ``least`` where the most is.  Both have the same blocks, some of which both arms have.
    ``whole`` are the base's seconds, of which it is a part.
    """

    most: tuple[Mapping[int, float], Mapping[int, float]]
    least: tuple[Mapping[int, float], Mapping[int, float]]
    whole: float


class Told(NamedTuple):
    """The ratio of a part, other over base, at its most and at its ``least``, and what it means; ``rows`` are
    the ratios and verdicts of its cells."""

    ratio: Ratio | None
    least: Ratio | None
    verdict: Verdict | None
    rows: Mapping[str, tuple[Ratio | None, Verdict | None]]


def compare_parts(
    parts: Mapping[Key, Mapping[str, Amount]],
    *,
    margin: float,
    share: float | None = None,
    judged: bool = True,
) -> dict[Key, Told]:
    """The parts of a comparison, by key and cell: of each the mean ratio of its cells, and what that means.

    All parts are one family of tests (`WORK_LEVEL`), and all of their cells another (`OTHER_LEVEL`).  A ratio
    is of those cells of which the part took something in every block on both arms; None: there is none, and
    the verdict is then on the difference, as a share of the whole cells, and never EQUIVALENT.  It is FASTER
    or SLOWER where it is that both at its most and at its least, so that what can't be told from another part
    never has its name; and EQUIVALENT where it is at its most, and neither it at its least nor a cell of it
    differs.
    ``judged``: the profile gives verdicts.
    """
    rows = _judge_amounts(
        {(key, cell): [amount] for key, of in parts.items() for cell, amount in of.items()},
        margin=margin,
        level=OTHER_LEVEL,
        share=share,
        judged=judged,
    )
    every = _judge_amounts(
        {key: list(of.values()) for key, of in parts.items()},
        margin=margin,
        level=WORK_LEVEL,
        share=share,
        judged=judged,
    )
    told = {}
    for key, (ratio, lower, verdict) in every.items():
        own = {cell: (rows[key, cell][0], rows[key, cell][2]) for cell in parts[key]}
        apart = any(row is not None and row.names_winner for _, row in own.values())
        equal = verdict is not None and verdict.name == "EQUIVALENT"
        unlike = Verdict(name="INCONCLUSIVE", reason=cite("cells-apart"))
        told[key] = Told(
            ratio=ratio, least=lower, verdict=unlike if equal and apart else verdict, rows=own
        )
    return told


def _judge_amounts(
    parts: Mapping[Key, Sequence[Amount]],
    *,
    margin: float,
    level: float,
    share: float | None,
    judged: bool,
) -> dict[Key, tuple[Ratio | None, Ratio | None, Verdict | None]]:
    """One family of parts: of each the ratios at most and at least, and the verdict."""
    ends: tuple[dict[Key, Ratio], dict[Key, Ratio]] = {}, {}
    clear = set()
    for key, amounts in parts.items():
        counted = [amount for amount in amounts if _is_positive(amount.most)]
        if counted:
            clear.add(key)
        for found, name in zip(ends, ("most", "least"), strict=True):
            pairs = [_take_sides(amount, name) for amount in counted or amounts]
            if ratio := find_mean_ratio(pairs, paired=True, tested=True):
                found[key] = ratio
    how: dict[str, Any] = {"margin": margin, "invalid": {}, "level": level, "share": share}
    most, least = (judge(found, **how) if judged else {} for found in ends)
    told: dict[Key, tuple[Ratio | None, Ratio | None, Verdict | None]] = {}
    for key in parts:
        ratio, lower = ends[0].get(key), ends[1].get(key)
        verdict = _agree(most.get(key), least.get(key))
        if key not in clear:
            # A small share of whole cells says nothing of what the part itself takes.
            equal = verdict is not None and verdict.name == "EQUIVALENT"
            lost = Verdict(name="INCONCLUSIVE", reason=cite("lost-in-noise"))
            ratio, lower, verdict = None, None, lost if equal else verdict
        told[key] = ratio, lower, verdict
    return told


def _take_sides(amount: Amount, end: str) -> tuple[Mapping[int, float], Mapping[int, float]]:
    """What is compared of an amount at one of its ends: its seconds, or, where they are not above 0 in every
    block, what differs by their difference, as a share of the part at its most, or of the whole."""
    base, other = getattr(amount, end)
    if _is_positive((base, other)):
        return base, other
    usual = amount.most[0].values()
    scale = math.fsum(usual) / len(usual) if _is_positive(amount.most) else amount.whole
    common = base.keys() & other.keys()
    shares = {block: (other[block] - base[block]) / scale for block in common}
    least, most = -MOST_SHARE, MOST_SHARE
    return dict.fromkeys(common, 1.0), {
        block: math.exp(min(most, max(least, share))) for block, share in shares.items()
    }


def _is_positive(sides: tuple[Mapping[int, float], Mapping[int, float]]) -> bool:
    common = sides[0].keys() & sides[1].keys()
    return bool(common) and all(side[block] > 0 for side in sides for block in common)


def _agree(most: Verdict | None, least: Verdict | None) -> Verdict | None:
    """The verdict on a part by those on the most and on the least that it can be."""
    if most is None or least is None:
        return None
    if most.name == least.name:
        return max(most, least, key=lambda verdict: verdict.p or 0.0)
    if most.name == "EQUIVALENT" and not least.names_winner:
        return most
    for verdict in (most, least):
        if verdict.name == "INCONCLUSIVE":
            return verdict
    return Verdict(name="INCONCLUSIVE", reason=cite("part-untold"))
