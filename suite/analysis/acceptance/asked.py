"""One check of a sheet, before and after it is judged at the sheet's level.  Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec import structs

from suite.analysis.acceptance.power import Look, Mean, Sides, count_deciding, is_within_reach
from suite.analysis.result.acceptance import Answer, Check
from suite.analysis.result.numbers import FEWEST, Estimate, Evidence, cite
from suite.analysis.statistics.estimate import Moments, exponentiate
from suite.flags import Flag

FIRST_BLOCKS = 5
"""So many blocks tell a spread, where there are too few for that."""

ENOUGH = 10
"""So many blocks know their spread well enough to tell whether more decide a line, and how many; before,
that can be open."""

Doubt = tuple[Evidence | None, tuple[Flag, ...]]
"""What speaks against an answer: evidence, or flags."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A check that an interval decides: its place, and what is known of it.

    ``mean`` is of logarithms, to be held against ``sides``; ``looks`` are what more blocks of this campaign
    would show, ``wider`` what more of both would, and ``lost`` are blocks that have no value.  ``turn`` makes
    of the mean's exponential what is shown.  What lies between both sides neither passes nor fails, as the
    ``gap`` says.  ``doubt`` is what speaks against any answer; ``may_fail`` is false where the ``figure``
    that it is held against is not certain.  ``least`` is another mean that the answer has to hold of, too.
    """

    arm: str
    cell: str
    of: str = ""
    mean: Mean
    sides: Sides
    looks: tuple[Look, ...] = ()
    wider: tuple[Look, ...] = ()
    lost: int = 0
    turn: float = 1.0
    gap: Evidence | None = None
    doubt: Doubt | None = None
    figure: Evidence | None = None
    may_fail: bool = True
    least: Mean | None = None

    def judge(self, confidence: float) -> Check:
        """The check at the sheet's level."""
        mean, found = self.mean, _find_interval(self.mean, confidence)
        check = Check(
            answer="undecided",
            arm=self.arm,
            cell=self.cell,
            of=self.of,
            figure=self.figure,
            value=Estimate(
                value=self.turn * found.value,
                low=None if found.low is None else self.turn * found.low,
                high=None if found.high is None else self.turn * found.high,
                n=mean.n,
            ),
        )
        if self.doubt is not None:
            reason, flags = self.doubt
            return structs.replace(check, reason=reason, flags=flags)
        if mean.n < FEWEST:
            few = cite("few-for-interval", fewest=FEWEST)
            return structs.replace(check, reason=few, blocks=FIRST_BLOCKS + self.lost)
        if mean.error == 0:
            return structs.replace(check, reason=cite("no-resolution"))
        ends = self.sides.passes, self.sides.fails
        apart = math.exp(min(abs(mean.value - end) for end in ends)) - 1
        check = structs.replace(check, apart=apart)
        side = self._find_side(found)
        if side != "undecided":
            reason = self._find_reserve(side, confidence)
            return structs.replace(check, answer="undecided" if reason else side, reason=reason)
        between = min(ends) < mean.value < max(ends)
        blocks = self._count_blocks(confidence, self.looks)
        wider = None if blocks else self._count_blocks(confidence, self.wider)
        reason = self.gap if between and self.gap else cite("across")
        if not blocks and not wider and mean.n < ENOUGH:
            alone, both = (self._is_near(confidence, of) for of in (self.looks, self.wider))
            if alone or both:
                reason = cite("across-early", blocks=mean.n)
                blocks, wider = (ENOUGH + self.lost if alone else None, None if alone else ENOUGH)
        return structs.replace(check, reason=reason, blocks=blocks or wider, both=wider is not None)

    def _find_reserve(self, side: Answer, confidence: float) -> Evidence | None:
        """Why the answer stays open although the whole interval lies on one side; None: it does not."""
        if self.least and side != self._find_side(_find_interval(self.least, confidence)):
            return cite("part-untold")
        return cite("not-held") if side == "fail" and not self.may_fail else None

    def _find_side(self, found: Estimate) -> Answer:
        """On which side an interval lies as a whole."""
        if not found.low or not found.high:
            return "undecided"
        low, high = math.log(found.low), math.log(found.high)
        passes, fails, is_high = self.sides
        if low > passes if is_high else high < passes:
            return "pass"
        return "fail" if (high < fails if is_high else low > fails) else "undecided"

    def _count_blocks(self, confidence: float, looks: tuple[Look, ...]) -> int | None:
        """The blocks in all that decide it; None: nobody runs so many."""
        if not looks:
            return None
        # What may not fail can only pass.
        never = -math.inf if self.sides.high else math.inf
        sides = self.sides if self.may_fail else self.sides._replace(fails=never)
        blocks = count_deciding(self.mean, sides, confidence, looks)
        return None if blocks is None else blocks + self.lost

    def _is_near(self, confidence: float, looks: tuple[Look, ...]) -> bool:
        """Whether more blocks decide it if all stays as it is, so that it is worth to look again."""
        return bool(looks) and is_within_reach(self.mean, self.sides, confidence, looks)


def _find_interval(mean: Mean, confidence: float) -> Estimate:
    moments = Moments(mean=mean.value, error=mean.error, freedom=mean.freedom)
    return exponentiate(moments, mean.n, confidence)
