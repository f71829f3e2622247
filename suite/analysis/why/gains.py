"""What each change gives: the time before over the time after, by alternated pairs of runs.

A run with a change is beside the nearest run without it in the same round.  All that was tried is one family.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from suite.analysis.result.numbers import Estimate
from suite.analysis.statistics.ratio import find_common_ratios
from suite.analysis.why.runs import Run

Case = tuple[str, ...]
"""The names of the tries that a run has."""


class Key(NamedTuple):
    """On an arm, runs with these tries beside runs with those that they are ``on`` top of."""

    arm: str
    on: Case
    tries: Case


class Gain(NamedTuple):
    """The time before over the time after: by ``wall`` time the interval holds for all that is tried
    together, by ``cpu`` seconds of the process for this one.  ``blind``: these say nothing of it."""

    wall: Estimate
    cpu: Estimate
    blind: bool

    @property
    def work(self) -> Estimate | None:
        """What CPU seconds say of it; None: nothing."""
        return None if self.blind else self.cpu

    @property
    def agreed(self) -> bool:
        """Whether CPU seconds see at least half of it, in logarithms."""
        return self.work is not None and self.work.value**2 >= self.wall.value


Pair = tuple[Run, Run]


def find_pairs(runs: Iterable[Run]) -> dict[Key, list[Pair]]:
    """By key the pairs of its runs: the one without the change first.

    What was run with several tries is on top of all but the last; and, all of them together, on top of
    nothing.  Of two runs that are equally near the one before counts.
    """
    counted = [run for run in runs if run.counts]
    pairs: dict[Key, list[Pair]] = {}
    for run in counted:
        for on in dict.fromkeys([run.tries[:-1], ()]) if run.tries else ():
            wanted = (run.arm, run.block, on)
            beside = [other for other in counted if (other.arm, other.block, other.tries) == wanted]
            if beside:
                nearest = min(beside, key=lambda other: abs(other.number - run.number))
                pairs.setdefault(Key(run.arm, on, run.tries), []).append((nearest, run))
    return pairs


def find_gains(
    pairs: Mapping[Key, Sequence[Pair]], *, comparisons: int, blind: Collection[str]
) -> dict[Key, Gain]:
    """By key what the change gives, all on one arm; of those that are ``blind`` CPU seconds say nothing.

    The noise is that of all pairs, and of the runs without a change in a round, whatever they are on top of:
    three pairs alone know little of theirs.
    """
    # Those with a change are in the pairs already.
    runs = {base.number: base for of in pairs.values() for base, _ in of}.values()
    wall, cpu = _group(runs, lambda run: run.seconds), _group(runs, lambda run: run.cpu_s)
    ratios = {
        key: [log(base.seconds) - log(run.seconds) for base, run in of] for key, of in pairs.items()
    }
    # CPU seconds depend little on when a run was: all runs without the change in the round count.
    by_cpu = {
        key: [statistics.fmean(cpu[run.block, key.on]) - log(run.cpu_s) for _, run in of]
        for key, of in pairs.items()
    }
    plain, robust = (
        find_common_ratios(ratios, wall.values(), comparisons=comparisons, robust=robust)
        for robust in (False, True)
    )
    clocks = find_common_ratios(by_cpu, cpu.values(), comparisons=1)
    gains = {}
    for key in pairs:
        unseen = any(name in blind for name in key.tries[len(key.on) :])
        gain = Gain(robust[key], clocks[key], unseen)
        gains[key] = gain if gain.agreed else gain._replace(wall=plain[key])
    return gains


def _group(
    runs: Iterable[Run], clock: Callable[[Run], float | None]
) -> dict[tuple[int, Case], list[float]]:
    """Logarithms by round and by what the runs have."""
    groups: dict[tuple[int, Case], list[float]] = {}
    for run in runs:
        groups.setdefault((run.block, run.tries), []).append(log(clock(run)))
    return groups


def log(seconds: float | None) -> float:
    """The logarithm of a time that is known."""
    return math.log(seconds or math.nan)
