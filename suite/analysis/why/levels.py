"""What came of each try, and which fixes are kept: level by level, each on top of the fixes before.

What is tried next and what is answered both follow from it, so that they can't contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.numbers import FEWEST
from suite.analysis.result.why import TryStanding
from suite.analysis.why.gains import Gain, Key, find_gains, find_pairs
from suite.analysis.why.runs import Run, read_runs
from suite.analysis.why.training import ORDER, compare_training
from suite.model.why import BASE, Inquiry, Training, Try

NAMED = 1.10
"""A gain is one where its interval lies above this: a tenth of the time as it stands."""

PROMISING, PROMISING_WAIT, PROMISING_ALONE = 1.07, 1.05, 1.25
"""What is looked at again: by CPU seconds, or by wall time where they agree; by wall time of what is about
waiting; and of what is not said to be, since a neighbour makes some such gain in many a run."""

AGREES = 1.02
"""What CPU seconds have to say at the least where wall time says much more."""

PER_TRY = 2
"""Each try is looked at alone, and on top of what helps more: so many comparisons are there at the most."""

MOST_PAIRS = 8
FEWEST_ALONE = 5
"""Pairs where wall time has to show it alone: what CPU seconds don't see is waiting."""

AS_MUCH = 0.8
"""A fix gives about as much as a ceiling where it reaches this share of it, in logarithms."""

KEEPING = ORDER[:3]
"""What keeps the training, if not its random numbers."""

UNSEEN = 0.08
"""What a try can give, in logarithms, that a run did not show by wall time."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What came of one try on top of some fixes."""

    change: Try
    key: Key
    standing: TryStanding
    gain: Gain | None = None
    training: Training | None = None
    applied: int = 0
    reason: str = ""
    is_blind: bool = False
    """Whether CPU seconds say nothing of it."""

    @property
    def pairs(self) -> int:
        """How many there are."""
        return self.gain.wall.n if self.gain else 0

    @property
    def size(self) -> float:
        """The gain's logarithm, by the clock that knows it best so far."""
        if self.gain is None:
            return 0.0
        wall, cpu = self.gain.wall, self.gain.cpu
        return math.log((cpu if cpu and self.pairs < FEWEST and not self.is_blind else wall).value)

    @property
    def most(self) -> float:
        """What it may give, as far as its runs have shown; a logarithm, too."""
        cpu = self.gain.cpu if self.gain and not self.is_blind else None
        return math.log(cpu.high) if cpu and cpu.high else self.size + UNSEEN

    @property
    def made(self) -> Training:
        """What it makes of the training; where nobody saw, the most that it may."""
        return self.training or self.change.training

    @property
    def keeps(self) -> bool:
        """Whether it is a line to write that keeps the training."""
        return self.change.kind == "fix" and self.made in KEEPING

    @property
    def is_open(self) -> bool:
        """Whether more pairs should decide it."""
        return self.standing == "undecided" and self.needed > self.pairs

    @property
    def needed(self) -> int:
        """The pairs in all that should decide it; as many as there are where no reasonable number would."""
        if self.gain is None or self.pairs < FEWEST:
            return FEWEST
        wall = self.gain.wall
        if self.pairs < FEWEST_ALONE and not self.gain.agreed:
            return FEWEST_ALONE
        beyond = math.log(wall.value / NAMED)
        if self.pairs >= MOST_PAIRS or wall.low is None or beyond <= 0:
            return self.pairs
        needed = math.ceil(self.pairs * (math.log(wall.value / wall.low) / beyond) ** 2)
        return (
            self.pairs if needed > 2 * MOST_PAIRS else min(MOST_PAIRS, max(needed, self.pairs + 1))
        )


@dataclass(frozen=True, kw_only=True)
class Level:
    """What was tried on top of the fixes ``on``, in the order of the tries."""

    on: tuple[str, ...]
    tries: Sequence[Judged]

    @property
    def missing(self) -> list[Judged]:
        """What has had no run yet."""
        return [tried for tried in self.tries if tried.standing == "not tried"]

    @cached_property
    def fixes(self) -> list[Judged]:
        """What seems to help and keeps the training, the best first; of equally good ones what changes the
        training least."""
        fixes = [tried for tried in self.tries if tried.keeps and _may_help(tried)]
        most = max((tried.size for tried in fixes), default=0.0)

        def rank(tried: Judged) -> tuple[bool, int, float]:
            training = ORDER.index(tried.made)
            near = tried.size >= AS_MUCH * most
            return not near, training if near else 0, -tried.size

        return sorted(fixes, key=rank)

    @property
    def queue(self) -> list[Judged]:
        """What has to be decided: the best fix; where there is none, of each cause the highest ceiling and
        the best change that trains otherwise."""
        if self.fixes:
            return self.fixes[:1]
        best: dict[tuple[str, str], Judged] = {}
        for tried in sorted(filter(_may_help, self.tries), key=lambda tried: -tried.size):
            best.setdefault((tried.change.cause, tried.change.kind), tried)
        return list(best.values())

    @property
    def open(self) -> list[Judged]:
        """What of the queue is not decided."""
        return [tried for tried in self.queue if tried.is_open]

    @property
    def pick(self) -> Judged | None:
        """The fix that is kept; None: nothing, or not yet."""
        best = self.fixes[0] if self.fixes and not self.missing else None
        return best if best and best.standing == "helps" else None


def _may_help(tried: Judged) -> bool:
    return tried.standing == "helps" or tried.is_open


class Study:
    """A campaign's runs, and what they say of each arm."""

    def __init__(self, loaded: LoadedCampaign) -> None:
        if not isinstance(loaded.campaign, Inquiry):
            raise TypeError("this campaign asks of no script")
        self.inquiry = loaded.campaign
        self.runs = read_runs(loaded)
        self.pairs = find_pairs(self.runs)
        tries = sum(map(len, self.inquiry.tries.values()))
        self.gains = find_gains(
            self.pairs, comparisons=PER_TRY * max(1, tries), is_blind=self._is_blind
        )

    def select(self, arm: str, tries: tuple[str, ...]) -> list[Run]:
        """The runs of a case on an arm, but for those that were watched."""
        return [
            run
            for run in self.runs
            if (run.arm, run.tries) == (arm, tries) and run.notes.watched is None
        ]

    def watched(self, arm: str) -> Run | None:
        """The run of an arm that was watched, and came through."""
        runs = (run for run in self.runs if run.arm == arm and run.notes.watched and run.seconds)
        return next(runs, None)

    def _is_blind(self, key: Key) -> bool:
        """Whether CPU seconds say nothing of a change: on a GPU, and of waiting."""
        changes = self.inquiry.tries.get(key.arm, [])
        waits = any(change.waits for change in changes if change.name in key.tries[len(key.on) :])
        return waits or self.inquiry.arm(key.arm).gpu

    def count_asked(self, arm: str, tries: tuple[str, ...]) -> int:
        """How often a case was asked for, whether or not it came back."""
        case = "+".join(tries) or BASE
        return sum(of.runs.get(arm, []).count(case) for of in self.inquiry.rounds)

    def levels(self, arm: str) -> list[Level]:
        """What was tried, by what it was tried on top of; the last is where the search is."""
        levels: list[Level] = []
        pick: Judged | None = None
        while not levels or pick:
            on = (*levels[-1].on, pick.change.name) if pick else ()
            levels.append(self._make_level(arm, on, levels))
            pick = levels[-1].pick
        return levels

    def _make_level(self, arm: str, on: tuple[str, ...], before: Sequence[Level]) -> Level:
        changes = [change for change in self.inquiry.tries.get(arm, []) if change.name not in on]
        changes = [change for change in changes if self._is_worth(change, before)]
        return Level(on=on, tries=[self.judge(arm, on, change) for change in changes])

    def _is_worth(self, change: Try, before: Sequence[Level]) -> bool:
        """Whether a try can give enough on top of the fixes that were kept, and goes with them."""
        scale = 1.0
        for level in before:
            kept = level.pick
            if kept is None:
                continue
            scale *= math.exp(kept.size)
            same_line = (kept.change.cause, kept.change.line) == (change.cause, change.line)
            if same_line or (kept.change.intervention == change.intervention and not change.line):
                return False
            judged = next((tried for tried in level.tries if tried.change == change), None)
            if judged is None or judged.standing == "helps":
                continue
            if judged.standing in {"failed", "no effect", "withdrawn"}:
                return False
            # What is a small share of the time as it was is a larger one of what is left.
            if scale * (1 - math.exp(-judged.most)) < 1 - 1 / NAMED:
                return False
        return True

    def judge(self, arm: str, on: tuple[str, ...], change: Try) -> Judged:
        """What came of a try on top of these fixes."""
        key = Key(arm, on, (*on, change.name))
        judged = Judged(change=change, key=key, standing="not tried")
        runs, again = self.select(arm, key.tries), self.count_asked(arm, key.tries) > 1
        sound, gain = [run for run in runs if run.seconds is not None], self.gains.get(key)
        if not sound:
            reason = runs[-1].reason if runs else "lost"
            return replace(judged, standing="failed", reason=reason) if runs or again else judged
        if not any(run.applied for run in sound):
            return replace(judged, standing="no effect")
        if gain is None:
            reason = "unpaired"
            return replace(judged, standing="failed", reason=reason) if again else judged
        training = compare_training(change, sound, self.select(arm, on), gain.wall.value)
        standing = _decide(change, gain, wall_alone=self.inquiry.arm(arm).gpu)
        worst = max(ORDER.index(change.training), ORDER.index("rounding"))
        otherwise = change.kind == "fix" and ORDER.index(training or "unchanged") > worst
        return replace(
            judged,
            standing="withdrawn" if otherwise and standing != "no gain" else standing,
            gain=gain,
            training=training,
            applied=max(run.applied for run in sound),
            is_blind=self._is_blind(key),
        )


def _decide(change: Try, gain: Gain, *, wall_alone: bool) -> TryStanding:
    """Whether a try helps, gives nothing, or is still open; ``wall_alone``: CPU seconds say nothing there."""
    wall, cpu = gain.wall, None if wall_alone else gain.cpu
    least = PROMISING if cpu and cpu.value > AGREES else PROMISING_ALONE
    if change.waits or cpu is None:
        least = PROMISING_WAIT
    if wall.value <= least and (cpu is None or cpu.value <= PROMISING):
        return "no gain"
    if wall.n < FEWEST:
        return "undecided"
    seen = cpu is not None and gain.is_seen
    if wall.low is not None and wall.low > NAMED:
        enough = wall_alone or (seen and gain.agreed) or wall.n >= FEWEST_ALONE
        return "helps" if enough else "undecided"
    seen = cpu is not None and gain.is_seen and cpu.value > NAMED
    return "undecided" if seen or wall.value > NAMED else "no gain"
