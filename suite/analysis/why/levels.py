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
from suite.analysis.why.gains import Gain, Key, find_gains, find_pairs
from suite.analysis.why.runs import Run, read_runs
from suite.analysis.why.training import ORDER, compare_training
from suite.model.why import BASE, Inquiry, Training, Try

NAMED = 1.10
"""A gain is one where its interval lies above this: a tenth of the time as it stands."""

ANOTHER = 2.0
"""The same of what trains otherwise: a larger batch saves something in nearly every script, and is another
training."""

PROMISING, PROMISING_WAIT, PROMISING_ALONE = 1.07, 1.05, 1.25
"""What is looked at again: by CPU seconds, or by wall time where they agree; by wall time of what is about
waiting; and of what is not said to be, since a neighbour makes some such gain in many a run."""

AGREES = 1.02
"""What CPU seconds have to say at the least where wall time says much more."""

PER_TRY = 2
"""Each try is looked at alone, and on top of what helps more: so many comparisons are there at the most."""

MOST_PAIRS, HOPELESS = 8, 3
"""Pairs at the most; what would take so many times as many is given up."""

FEWEST_ALONE = 5
"""Pairs where wall time has to show it alone: what CPU seconds don't see is waiting."""

AS_MUCH = 0.7
"""A fix gives about as much as a ceiling where it reaches this share of it, in logarithms."""

MOST_ASKED = 12
"""A case that was asked for so often is left alone, whatever came back."""

UNSEEN = 0.08
"""What a try can give, in logarithms, that a run did not show by wall time."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What came of one try on top of some fixes.

    ``asked`` is how often its runs were asked for.  ``is_blind``: CPU seconds say nothing of it.
    """

    change: Try
    key: Key
    asked: int
    standing: TryStanding = "not tried"
    gain: Gain | None = None
    training: Training | None = None
    applied: int = 0
    reason: str = ""
    is_blind: bool = False

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
        by_cpu = cpu and self.pairs < FEWEST and not self.is_blind and cpu.value > PROMISING
        return math.log(cpu.value if cpu and by_cpu else wall.value)

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
        """Whether it is a line to write that keeps the training, if not its random numbers."""
        return self.change.kind == "fix" and self.made != "otherwise"

    def stands_for(self, other: Judged) -> bool:
        """Whether nothing is left to be decided of another try where this one helps."""
        alike = (self.change.kind, self.keeps) == (other.change.kind, other.keeps)
        reached = other.change.kind == "ceiling" and self.size >= AS_MUCH * other.size
        return self.change.cause == other.change.cause and (alike or reached)

    @property
    def is_open(self) -> bool:
        """Whether more pairs should decide it."""
        return self.standing == "undecided" and self.needed > self.pairs and self.asked < MOST_ASKED

    @property
    def may_help(self) -> bool:
        """Whether it helps, or more pairs may show that it does."""
        return self.standing == "helps" or self.is_open

    @property
    def needed(self) -> int:
        """The pairs in all that should decide it; as many as there are where no reasonable number would."""
        if self.gain is None or self.pairs < FEWEST:
            return FEWEST
        if self.pairs < FEWEST_ALONE and not self.gain.agreed:
            return FEWEST_ALONE
        wall = self.gain.wall
        beyond = math.log(
            wall.value / (NAMED if self.keeps or self.change.kind == "ceiling" else ANOTHER)
        )
        if self.pairs >= MOST_PAIRS or wall.low is None:
            return self.pairs
        if beyond <= 0:
            # By CPU seconds alone it helps.
            return min(MOST_PAIRS, self.pairs + 2)
        needed = math.ceil(self.pairs * (math.log(wall.value / wall.low) / beyond) ** 2)
        most = min(MOST_PAIRS, max(needed, self.pairs + 1))
        return self.pairs if needed > HOPELESS * MOST_PAIRS else most


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
    def queue(self) -> list[Judged]:
        """What has to be decided, the heaviest first; a fix that keeps the training before what gives about
        as much, and of such fixes what changes it least.  Of each cause there is one of a kind, and no
        ceiling that a fix reaches.  A change that trains otherwise is last of all: by the example a larger
        batch thins everything."""
        helping = sorted((t for t in self.tries if t.may_help), key=lambda tried: -tried.size)
        helping = [t for t in helping if t.keeps or t.change.kind == "ceiling"] or helping
        queue: list[Judged] = []
        while helping:
            near = [t for t in helping if t.keeps and t.size >= AS_MUCH * helping[0].size]
            best = min(near or helping[:1], key=lambda tried: near and ORDER.index(tried.made))
            queue.append(best)
            helping = [tried for tried in helping if not best.stands_for(tried)]
        return queue

    @property
    def open(self) -> list[Judged]:
        """What has to be decided next: up to the first fix that would be kept."""
        keeping = [tried.keeps for tried in self.queue]
        last = keeping.index(True) + 1 if True in keeping else len(keeping)
        return [tried for tried in self.queue[:last] if tried.is_open]

    @property
    def pick(self) -> Judged | None:
        """The fix that is kept; None: nothing, or not yet."""
        best = next((tried for tried in self.queue if tried.keeps), None)
        done = best is not None and not self.missing and not self.open
        return best if best and done and best.standing == "helps" else None

    @property
    def helping(self) -> list[Judged]:
        """What was shown to help, as far as was looked before a fix was kept."""
        last = self.queue.index(self.pick) + 1 if self.pick else len(self.queue)
        return [tried for tried in self.queue[:last] if tried.standing == "helps"]


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
            is_blind=self._is_blind,
        )

    @cached_property
    def watched(self) -> Run | None:
        """The run that was watched, and came through."""
        return next((run for run in self.runs if run.notes.watched and run.seconds), None)

    @property
    def simulated(self) -> bool:
        """Whether the GPU's driver is a stand-in."""
        return any(run.simulated for run in self.runs)

    @property
    def base(self) -> list[Run]:
        """The runs of the unchanged script that came through and were not watched."""
        return [run for run in self.select() if run.seconds]

    @property
    def seconds(self) -> list[float]:
        """Theirs, for a step."""
        return [run.seconds for run in self.base if run.seconds]

    def select(self, *tries: str) -> list[Run]:
        """The runs of a case, but for those that were watched."""
        return [run for run in self.runs if run.tries == tries and run.notes.watched is None]

    def count_asked(self, *tries: str) -> int:
        """How often a case was asked for, whether or not it came back."""
        return self.asked["+".join(tries) or BASE]

    def _is_blind(self, key: Key) -> bool:
        added = key.tries[len(key.on) :]
        return self.gpu or any(change.waits for change in self.tries if change.name in added)

    @cached_property
    def levels(self) -> list[Level]:
        """What was tried, by what it was tried on top of; the last is where the search is."""
        levels: list[Level] = []
        while not levels or levels[-1].pick:
            on = tuple(level.pick.change.name for level in levels if level.pick)
            worth = [change for change in self.tries if is_worth(change, levels)]
            levels.append(Level(on=on, tries=[self.judge(on, change) for change in worth]))
        return levels

    def judge(self, on: tuple[str, ...], change: Try) -> Judged:
        """What came of a try on top of these fixes."""
        key = Key(self.arm, on, (*on, change.name))
        judged = Judged(change=change, key=key, asked=self.count_asked(*key.tries))
        runs, gain = self.select(*key.tries), self.gains.get(key)
        sound = [run for run in runs if run.seconds is not None]
        if sound and not any(run.applied for run in sound):
            return replace(judged, standing="no effect")
        if gain is None:
            reason = runs[-1].reason if runs else "lost"
            reason = "unpaired" if sound else reason
            failed = replace(judged, standing="failed", reason=reason)
            return failed if judged.asked > 1 or (runs and not sound) else judged
        training = compare_training(change, sound, self.select(*on), gain.wall.value)
        standing = _decide(change, gain, wall_alone=self.gpu)
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


def follow(loaded: LoadedCampaign) -> dict[str, Course]:
    """By arm how the search goes.

    Raises:
        DocumentError: a run's notes are not what a run tells.
    """
    plan, runs = loaded.campaign, read_runs(loaded)
    if not isinstance(plan, Inquiry):
        raise TypeError("this campaign asks about no script")
    return {arm: Course(plan, arm, runs) for arm in plan.arms}


def is_worth(change: Try, levels: Sequence[Level]) -> bool:
    """Whether a try can give enough on top of the fixes that were kept, and goes with them."""
    scale = 1.0
    for level, kept in ((level, level.pick) for level in levels if level.pick):
        other, scale = kept.change, scale * math.exp(kept.size)
        same_line = (other.cause, other.line) == (change.cause, change.line)
        if same_line or (other.intervention == change.intervention and not change.line):
            return False
        judged = next((tried for tried in level.tries if tried.change == change), None)
        if judged and judged.standing in {"failed", "no effect", "withdrawn"}:
            return False
        if judged and judged.standing == "helps" and not judged.keeps:
            return False
        # What is a small share of the time as it was is a larger one of what is left.
        if judged and scale * (1 - math.exp(-judged.most)) < 1 - 1 / NAMED:
            return False
    return True


def _decide(change: Try, gain: Gain, *, wall_alone: bool) -> TryStanding:
    """Whether a try helps, gives nothing, or is still open; ``wall_alone``: CPU seconds say nothing there."""
    wall, cpu = gain.wall, None if wall_alone else gain.cpu
    least = PROMISING if cpu and cpu.value > AGREES else PROMISING_ALONE
    if change.waits or cpu is None:
        least = PROMISING_WAIT
    if wall.value <= least and (cpu is None or cpu.value <= PROMISING):
        return "no gain"
    another = change.kind == "fix" and change.training == "otherwise"
    if another and max(wall.value, cpu.value if cpu else 1.0) <= ANOTHER:
        return "otherwise"
    if wall.n < FEWEST:
        return "undecided"
    if wall.low is None or wall.low <= (ANOTHER if another else NAMED):
        seen = cpu is not None and cpu.least > NAMED
        return "undecided" if seen or wall.value > NAMED else "no gain"
    seen = wall_alone or (cpu is not None and gain.is_seen and gain.agreed)
    return "helps" if seen or wall.n >= FEWEST_ALONE else "undecided"
