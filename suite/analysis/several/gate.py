"""Whether a campaign is slower than another by more than it may be, and what would settle the rest.  Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from msgspec.structs import replace

from suite.analysis.numbers.ratio import compare_campaigns
from suite.analysis.numbers.verdict import adjust, count_blocks
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import LEVEL, Ratio
from suite.analysis.result.several import Gate, Gated
from suite.analysis.several.comparison import set_side_by_side
from suite.flags import Flag, raise_flag
from suite.ranges import RANGES


@dataclass(frozen=True, kw_only=True)
class _Tested:
    """A cell with its ratio to ``limit`` times the base, and the p-value of its being no more."""

    cell: str
    arm: str
    limit: float
    ratio: Ratio
    shifted: Ratio
    p: float


def judge_gate(base: Analysis, new: Analysis, bound: float) -> Gate:
    """The cells of work that both campaigns have, arm by arm, each against ``1 + bound`` times the base.

    One-sided Welch tests on logarithms, adjusted by Holm for all cells of all arms; where the campaigns'
    noise makes more than the bound, that counts in its place.

    Raises:
        UsageError: the campaigns can't be compared.
    """
    tested: list[_Tested] = []
    missing: Counter[str] = Counter()
    flags: dict[str, Flag] = {}
    work = {cell.id for cell in (*base.work, *new.work)}
    for _ in {*base.arms} - {*new.arms}:
        flag = raise_flag("no-number")
        flags[flag.code] = flag
        missing[flag.code] += len(base.work)
    for pair in set_side_by_side([base, new]).pairs:
        arm, limit = pair.other.arm, max(bound, pair.margin)
        for cell, one in pair.cells.items():
            why = one.no_verdict or next(iter(one.invalid), None)
            if cell in work and one.ratio and not why:
                tested.append(_test((base, new), cell, arm, limit, one.ratio))
            elif cell in work and why:
                flags[why.code] = why
                missing[why.code] += 1
    adjusted = adjust([one.p for one in tested])
    cells = [_judge(one, p) for one, p in zip(tested, adjusted, strict=True)]
    # Of the cells that are open Holm asks as much of the first one to be decided.
    level = LEVEL / max(1, sum(one.answer == "undecided" for one in cells))
    found = Gate(
        base=base.campaign,
        new=new.campaign,
        flags=(*base.flags, *new.flags),
        bound=bound,
        cells=tuple(
            replace(one, blocks=_count(was.shifted, level)) if one.answer == "undecided" else one
            for one, was in zip(cells, tested, strict=True)
        ),
        missing=tuple((flags[code], number) for code, number in missing.items()),
        minutes=0.0,
    )
    return replace(found, minutes=sum(_predict(one, found) for one in (base, new)) / 60)


def _test(
    sides: tuple[Analysis, Analysis], cell: str, arm: str, limit: float, ratio: Ratio
) -> _Tested:
    before, after = (
        next(one.arms[arm].values.values() for one in side.cells if one.id == cell)
        for side in sides
    )
    shifted = compare_campaigns([(1 + limit) * one for one in before], after) or ratio
    # Without any spread nothing is known but the timer's resolution.
    p = 1.0 if shifted.p is None else shifted.p / 2 if shifted.value > 1 else 1 - shifted.p / 2
    return _Tested(cell=cell, arm=arm, limit=limit, ratio=ratio, shifted=shifted, p=p)


def _judge(one: _Tested, p: float) -> Gated:
    passed = one.shifted.inner_high is not None and one.shifted.inner_high < 1
    return Gated(
        cell=one.cell,
        arm=one.arm,
        limit=one.limit,
        ratio=one.ratio,
        answer="slower" if p < LEVEL else "passed" if passed else "undecided",
        p=p,
    )


def _count(shifted: Ratio, level: float) -> int | None:
    """The blocks that would tell a ratio from its limit, whichever side it is on."""
    blocks = count_blocks(shifted, 0.0, 2 * level, equivalence=0.0)
    return blocks if blocks and blocks <= RANGES["blocks"].most else None


def _predict(one: Analysis, gate: Gate) -> float:
    """The seconds of a campaign of the cells to be measured again, by what a cell took in this one."""
    seconds = 0.0
    for arm in {cell.arm for cell in gate.again}:
        turns = len(one.arms[arm].blocks) + one.arms[arm].calibrated
        cells = sum(cell.arm == arm for cell in gate.again)
        share = cells / max(1, len(one.cells) * turns)
        seconds += one.spent[arm].total_s * share * (gate.blocks + 1)
    return seconds
