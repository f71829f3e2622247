"""Whether a campaign is slower than another by more than it may be, and what would settle the rest.  Pure."""

from __future__ import annotations

import math

from msgspec.structs import replace

from suite.analysis.numbers.ratio import compare_campaigns
from suite.analysis.numbers.verdict import adjust, count_blocks
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import LEVEL, Ratio
from suite.analysis.result.several import Gate, Gated
from suite.analysis.several.comparison import set_side_by_side
from suite.flags import raise_flag
from suite.ranges import RANGES


def judge_gate(base: Analysis, new: Analysis, bound: float) -> Gate:
    """The cells of work that both campaigns have, arm by arm, each against ``1 + bound`` times the base.

    One-sided Welch tests on logarithms, adjusted by Holm for all cells of all arms; where the campaigns'
    noise makes more than the bound, that counts in its place.

    Raises:
        UsageError: the campaigns can't be compared.
    """
    # Each with its ratio to the limit.
    tested: list[tuple[Gated, Ratio]] = []
    work = {cell.id for cell in (*base.work, *new.work)}
    then, now = ({cell.id: cell.arms for cell in side.cells} for side in (base, new))
    lacking = {*base.arms} - {*new.arms}
    missing = [raise_flag("no-number") for _ in lacking for _ in base.work]
    for pair in set_side_by_side([base, new]).pairs:
        arm, limit = pair.other.arm, max(bound, pair.margin)
        for cell, one in pair.cells.items():
            why = one.no_verdict or next(iter(one.invalid), None)
            if cell in work and why:
                missing.append(why)
            elif cell in work and one.ratio:
                before, after = (side[cell][arm].values.values() for side in (then, now))
                scaled = compare_campaigns([(1 + limit) * v for v in before], after) or one.ratio
                gated = Gated(cell=cell, arm=arm, limit=limit, ratio=one.ratio, p=_test(scaled))
                tested.append((gated, scaled))
    adjusted = adjust([one.p for one, _ in tested])
    cells = [_judge(*one, p) for one, p in zip(tested, adjusted, strict=True)]
    # Of the cells that are open Holm asks as much of the first one to be decided.
    level = LEVEL / max(1, sum(one.answer == "undecided" for one in cells))
    found = Gate(
        base=base.campaign,
        new=new.campaign,
        flags=(*base.flags, *new.flags),
        bound=bound,
        cells=tuple(
            replace(one, blocks=_count(scaled, level)) if one.answer == "undecided" else one
            for one, (_, scaled) in zip(cells, tested, strict=True)
        ),
        missing=tuple(missing),
        minutes=0.0,
    )
    return replace(found, minutes=math.fsum(_predict(one, found) for one in (base, new)) / 60)


def _test(scaled: Ratio) -> float:
    """The p-value of being no slower than the limit; 1 where nothing but the timer's steps is known."""
    if scaled.p is None:
        return 1.0
    return scaled.p / 2 if scaled.value > 1 else 1 - scaled.p / 2


def _judge(one: Gated, scaled: Ratio, p: float) -> Gated:
    if p < LEVEL:
        return replace(one, answer="slower", p=p)
    passed = scaled.inner_high is not None and scaled.inner_high < 1
    return replace(one, answer="passed" if passed else "undecided", p=p)


def _count(scaled: Ratio, level: float) -> int | None:
    """The blocks that would tell a ratio from its limit, whichever side it is on."""
    blocks = count_blocks(scaled, 0.0, 2 * level, equivalence=0.0)
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
