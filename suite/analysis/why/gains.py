"""What each change gives: the time before over the time after, by alternated pairs of runs.

A run with a change is beside the nearest run without it in the same round.  All that was tried is one family.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from suite.analysis.compare import find_common_ratios
from suite.analysis.result.numbers import Estimate
from suite.analysis.why.runs import Run


class Key(NamedTuple):
    """On an arm, runs with these tries beside runs with those that they are ``on`` top of."""

    arm: str
    on: tuple[str, ...]
    tries: tuple[str, ...]


class Gain(NamedTuple):
    """The time before over the time after: by wall time the interval holds for all that is tried together,
    by CPU seconds of the process (None: they are unknown, or blind) for this one.  ``agreed``: these see
    at least half of it, in logarithms."""

    wall: Estimate
    cpu: Estimate | None
    agreed: bool = False

    @property
    def is_seen(self) -> bool:
        """Whether CPU seconds say that a change helps."""
        return self.cpu is not None and self.cpu.low is not None and self.cpu.low > 1


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
            beside = [
                other
                for other in counted
                if (other.arm, other.block, other.tries) == (run.arm, run.block, on)
            ]
            if beside:
                nearest = min(beside, key=lambda other: abs(other.number - run.number))
                pairs.setdefault(Key(run.arm, on, run.tries), []).append((nearest, run))
    return pairs


def find_gains(
    pairs: Mapping[Key, Sequence[Pair]], *, comparisons: int, is_blind: Callable[[Key], bool]
) -> dict[Key, Gain]:
    """By key what the change gives; ``is_blind``: CPU seconds say nothing of it.

    The noise is that of an arm, and of what the changes are on top of: shorter steps make more of it.
    """
    gains: dict[Key, Gain] = {}
    for arm, on in dict.fromkeys(key[:2] for key in pairs):
        family = {key: of for key, of in pairs.items() if key[:2] == (arm, on)}
        before = {run.number: run for of in family.values() for run, _ in of}.values()
        ratios = {
            key: [log(base.seconds) - log(run.seconds) for base, run in of]
            for key, of in family.items()
        }
        alike = _group((run.block, log(run.seconds)) for run in before)
        plain, robust = (
            find_common_ratios(ratios, alike.values(), comparisons=comparisons, robust=robust)
            for robust in (False, True)
        )
        # CPU seconds depend little on when a run was: all runs without the change in the round count.
        cpu = _group((run.block, log(run.cpu_s)) for run in before if run.cpu_s)
        by_cpu = {
            key: [statistics.fmean(cpu[run.block]) - log(run.cpu_s) for _, run in of]
            for key, of in family.items()
            if all(run.cpu_s and run.block in cpu for _, run in of)
        }
        clocks = find_common_ratios(by_cpu, cpu.values(), comparisons=1)
        for key in family:
            wall, cpu_gain = robust[key], clocks.get(key)
            agreed = cpu_gain is not None and cpu_gain.value**2 >= wall.value and not is_blind(key)
            gains[key] = Gain(wall if agreed else plain[key], cpu_gain, agreed)
    return gains


def log(seconds: float | None) -> float:
    """The logarithm of a time that is known."""
    return math.log(seconds or math.nan)


def _group(values: Iterable[tuple[int, float]]) -> dict[int, list[float]]:
    groups: dict[int, list[float]] = {}
    for block, value in values:
        groups.setdefault(block, []).append(value)
    return groups
