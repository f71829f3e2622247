"""What came of each try, and which fixes are kept: level by level, each on top of the fixes before.

What is tried next and what is answered both follow from it, so that they can't contradict each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.numbers import FEWEST
from suite.analysis.result.why import TryStanding
from suite.analysis.why.gains import Case, Gain, Key, find_gains, find_pairs
from suite.analysis.why.runs import Run, read_runs
from suite.analysis.why.training import ORDER, RARER, compare_training
from suite.model.why import BASE, Inquiry, Kind, Training, Try

NAMED = 1.10
"""A gain is one where its interval lies above this: a tenth of the time as it stands."""

SMALL = 1 - 1 / NAMED
"""The share of the time as it stands that such a gain takes away."""

LEAST = 0.03
"""A cause takes at least this share of the unchanged script's time: where a fix has left little, a tenth of
that is nothing that anybody would notice."""

ANOTHER = 2.0
"""What trains otherwise is a gain above this: a larger batch saves something in nearly every script, and is
another training."""

PROMISING, PROMISING_ALONE = 1.07, 1.25
"""What is looked at again: by CPU seconds, or by wall time where they agree or can't see it; and by wall time
alone, since a neighbour makes some such gain in many a run."""

AGREES = 1.02
"""What CPU seconds have to say at the least where wall time says much more."""

PER_TRY = 2
"""Each try is looked at alone, and on top of what helps more: so many comparisons are there at the most."""

FEWEST_ALONE = 5
"""Pairs where wall time has to show it alone: what CPU seconds don't see is waiting."""

LADDER = (FEWEST, FEWEST_ALONE, 8)
"""So many pairs decide, or else so many, or else so many."""

HOPELESS = 24
"""What would take more pairs than this is given up."""

AS_MUCH = 0.7
"""A fix gives about as much as a ceiling where it reaches this share of it, in logarithms."""

MOST_ASKED = 12
"""A case that was asked for so often is left alone, whatever came back."""

UNSEEN = 0.08
"""What a try can give, in logarithms, that a run did not show by wall time."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What came of one try on top of the fixes ``on``; ``asked`` is how often its runs were asked for.

    ``withdrawn``: it trains otherwise than it should, so that its gain shows a cause, and is no fix.
    """

    change: Try
    on: Case
    asked: int
    standing: TryStanding = "not tried"
    gain: Gain | None = None
    training: Training | None = None
    applied: int = 0
    withdrawn: bool = False
    reason: str = "budget"

    @property
    def case(self) -> Case:
        """That of its runs."""
        return (*self.on, self.change.name)

    @property
    def pairs(self) -> int:
        """How many there are."""
        return self.gain.wall.n if self.gain else 0

    @property
    def size(self) -> float:
        """The gain's logarithm, by the clock that knows it best so far."""
        if self.gain is None:
            return 0.0
        work = self.gain.work
        by_cpu = work and self.pairs < FEWEST and work.value > PROMISING
        return math.log(work.value if work and by_cpu else self.gain.wall.value)

    @property
    def most(self) -> float:
        """The largest share of the time that it may take away, as far as its runs have shown."""
        work = self.gain.work if self.gain else None
        return 1 - 1 / (work.most if work and work.high else math.exp(self.size + UNSEEN))

    @property
    def made(self) -> Training:
        """What it makes of the training; where nobody saw, the most that it may."""
        return self.training or self.change.training

    @property
    def kind(self) -> Kind:
        """What it is, as far as was seen."""
        return "ceiling" if self.withdrawn else self.change.kind

    @property
    def keeps(self) -> bool:
        """Whether it is a line to write that keeps the training, if not its random numbers."""
        return self.kind == "fix" and self.made != "otherwise"

    def stands_for(self, other: Judged) -> bool:
        """Whether nothing is left to be decided of another try where this one helps."""
        alike = (self.kind, self.keeps) == (other.kind, other.keeps)
        reached = other.kind == "ceiling" and self.size >= AS_MUCH * other.size
        return self.change.cause == other.change.cause and (alike or reached)

    @property
    def needed(self) -> int:
        """The pairs in all that should decide it; as many as there are where no reasonable number would."""
        more = next((pairs for pairs in LADDER if pairs > self.pairs), self.pairs)
        if self.gain is None or self.pairs < FEWEST:
            return more
        wall = self.gain.wall
        beyond = math.log(wall.value / find_least(self.change))
        # Below it, it helps by CPU seconds alone.
        reach = math.log(wall.value / wall.low) / beyond if wall.low and beyond > 0 else 0.0
        hopeless = wall.low is None or self.pairs * reach**2 > HOPELESS
        return self.pairs if hopeless else more

    @property
    def is_open(self) -> bool:
        """Whether more pairs should decide it."""
        return self.standing == "undecided" and self.needed > self.pairs and self.asked < MOST_ASKED


@dataclass(frozen=True, kw_only=True)
class Level:
    """What was tried on top of the fixes ``on``, in the order of the tries."""

    on: Case
    tries: Sequence[Judged]

    @cached_property
    def queue(self) -> list[Judged]:
        """What has to be decided, the heaviest first; a fix that keeps the training before what gives about
        as much, and of such fixes what changes it least.  Of each cause there is one of a kind, and no
        ceiling that a fix reaches.  A change that trains otherwise is last of all: by the example a larger
        batch thins everything."""
        helping = [tried for tried in self.tries if tried.standing == "helps" or tried.is_open]
        helping.sort(key=lambda tried: -tried.size)
        helping = [t for t in helping if t.keeps or t.kind == "ceiling"] or helping
        queue: list[Judged] = []
        while helping:
            near = [t for t in helping if t.keeps and t.size >= AS_MUCH * helping[0].size]
            best = min(near or helping[:1], key=lambda tried: near and ORDER.index(tried.made))
            queue.append(best)
            helping = [tried for tried in helping if not best.stands_for(tried)]
        return queue

    @property
    def best(self) -> Judged | None:
        """The first line to write that keeps the training."""
        return next((tried for tried in self.queue if tried.keeps), None)

    @property
    def missing(self) -> list[Judged]:
        """What has had no run yet."""
        return [tried for tried in self.tries if tried.standing == "not tried"]

    @property
    def open(self) -> list[Judged]:
        """What has to be decided next: up to the first fix that would be kept."""
        return [tried for tried in self._list_until(self.best) if tried.is_open]

    @property
    def pick(self) -> Judged | None:
        """The fix that is kept; None: nothing, or not yet."""
        best = self.best
        done = best and best.standing == "helps" and not self.missing and not self.open
        return best if done else None

    @property
    def helping(self) -> list[Judged]:
        """What was shown to help, as far as was looked before a fix was kept."""
        return [tried for tried in self._list_until(self.pick) if tried.standing == "helps"]

    def _list_until(self, last: Judged | None) -> list[Judged]:
        return self.queue[: self.queue.index(last) + 1] if last else self.queue


class Course:
    """How the search goes on one arm: its runs, and what they say."""

    def __init__(self, plan: Inquiry, arm: str, runs: Iterable[Run]) -> None:
        self.arm, self.gpu = arm, plan.arm(arm).gpu
        self.tries = plan.tries.get(arm, [])
        self.runs = [run for run in runs if run.arm == arm]
        self.asked = Counter(case for of in plan.rounds for case in of.runs.get(arm, ()))
        self.gains = find_gains(
            find_pairs(self.runs),
            comparisons=PER_TRY * max(1, sum(map(len, plan.tries.values()))),
            blind={change.name for change in self.tries if self.gpu or change.waits},
        )

    @cached_property
    def watched(self) -> Run | None:
        """The run that was watched, and came through."""
        return next((run for run in self.runs if run.notes.watched and run.seconds), None)

    @property
    def simulated(self) -> bool:
        """Whether the GPU's driver is a stand-in."""
        return any(run.simulated for run in self.runs)

    def select(self, *tries: str) -> list[Run]:
        """The runs of a case that came through, but for those that were watched."""
        return [run for run in self.runs if run.tries == tries and run.counts]

    @property
    def seconds(self) -> list[float]:
        """Those of a step of the unchanged script."""
        return [run.seconds for run in self.select() if run.seconds]

    def count_asked(self, *tries: str) -> int:
        """How often a case was asked for, whether or not it came back."""
        return self.asked["+".join(tries) or BASE]

    @cached_property
    def levels(self) -> list[Level]:
        """What was tried, by what it was tried on top of; the last is where the search is."""
        levels: list[Level] = []
        while not levels or levels[-1].pick:
            on = tuple(level.pick.change.name for level in levels if level.pick)
            worth = [change for change in self.tries if is_worth(change, levels)]
            levels.append(Level(on=on, tries=[self.judge(on, change) for change in worth]))
        return levels

    @property
    def together(self) -> Gain | None:
        """What the fixes that were kept give at once."""
        return self.gains.get(Key(self.arm, (), self.levels[-1].on))

    def judge(self, on: Case, change: Try) -> Judged:
        """What came of a try on top of these fixes."""
        case = (*on, change.name)
        judged = Judged(change=change, on=on, asked=self.count_asked(*case))
        runs = [run for run in self.runs if run.tries == case]
        gain = self.gains.get(Key(self.arm, on, case))
        sound = [run for run in runs if run.counts]
        if sound and not any(run.applied for run in sound):
            return replace(judged, standing="no effect", reason="")
        if gain is None:
            reason = "unpaired" if sound else runs[-1].reason if runs else "lost"
            failed = judged.asked > 1 or (runs and not sound)
            return replace(judged, standing="failed", reason=reason) if failed else judged
        training = compare_training(change, sound, self.select(*on), gain.wall.value)
        standing = _decide(change, gain)
        worst = max(ORDER.index(change.training), ORDER.index("rounding"))
        withdrawn = change.kind == "fix" and ORDER.index(training or "unchanged") > worst
        if withdrawn and standing != "no gain" and change.cause in RARER:
            # What is done less often then was a part of the training, and no time lost.
            standing = "withdrawn"
        return replace(
            judged,
            standing=standing,
            withdrawn=withdrawn,
            gain=gain,
            training=training,
            applied=max(run.applied for run in sound),
            reason="",
        )


def follow(loaded: LoadedCampaign) -> dict[str, Course]:
    """By arm how the search goes.

    Raises:
        DocumentError: a run's notes are not what a run tells.
    """
    plan, runs = loaded.campaign, read_runs(loaded)
    if not isinstance(plan, Inquiry):
        raise TypeError("this campaign asks about no script")
    return {arm: Course(plan, arm, runs) for arm in plan.arms}


def find_least(change: Try) -> float:
    """What a gain has to exceed."""
    return ANOTHER if (change.kind, change.training) == ("fix", "otherwise") else NAMED


def is_worth(change: Try, levels: Sequence[Level]) -> bool:
    """Whether a try can be a cause on top of the fixes that were kept, and goes with them."""
    left = 1.0
    for level, kept in ((level, level.pick) for level in levels if level.pick):
        before, left = left, left * math.exp(-kept.size)
        judged = next((tried for tried in level.tries if tried.change == change), None)
        same_line = (kept.change.cause, kept.change.line) == (change.cause, change.line)
        same = kept.change.intervention == change.intervention and not change.line
        if judged is None or same_line or same:
            return False
        if judged.standing not in {"no gain", "otherwise", "undecided", "helps"}:
            return False
        if judged.withdrawn or (judged.standing == "helps" and not judged.keeps):
            return False
        # What is a small share of the time as it was is a larger one of what is left.
        if min(before * judged.most, left) < max(LEAST, SMALL * left):
            return False
    return True


def _decide(change: Try, gain: Gain) -> TryStanding:
    """Whether a try helps, gives nothing, or is still open."""
    wall, work = gain.wall, gain.work
    least = PROMISING if work is None or work.value > AGREES else PROMISING_ALONE
    if wall.value <= least and (work is None or work.value <= PROMISING):
        return "no gain"
    named = find_least(change)
    if named == ANOTHER and max(wall.value, work.value if work else 1.0) <= ANOTHER:
        return "otherwise"
    if wall.n < FEWEST:
        return "undecided"
    if wall.low is None or wall.low <= named:
        return "undecided" if wall.value > NAMED or (work and work.least > NAMED) else "no gain"
    # What only wall time shows is waiting; on a GPU it is all that there is.
    shown = gain.agreed and gain.cpu.least > 1 if work else not change.waits
    return "helps" if shown or wall.n >= FEWEST_ALONE else "undecided"
