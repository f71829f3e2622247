"""What each change gives: the time before over the time after, by alternated pairs of runs.

A run with a change is beside the nearest run without it in the same round.  All that was tried is one family.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from suite.analysis.compare import find_common_ratios
from suite.analysis.result.numbers import Estimate
from suite.analysis.why.runs import Run

PER_TRY = 2
"""Each try is looked at alone, and on top of what helps more."""


class Key(NamedTuple):
    """On an arm, runs with these tries beside runs with those that they are ``on`` top of."""

    arm: str
    on: tuple[str, ...]
    tries: tuple[str, ...]


class Gain(NamedTuple):
    """The time before over the time after: by wall time the interval holds for all that is tried together,
    by CPU seconds of the process (None: unknown) for this one; from three pairs on there is one."""

    wall: Estimate
    cpu: Estimate | None


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


def find_gains(pairs: Mapping[Key, Sequence[Pair]], tries: int) -> dict[Key, Gain]:
    """By key what the change gives; ``tries`` is how many there are, on all arms.

    The noise is that of an arm, and of what the changes are on top of: shorter steps make more of it.
    """
    gains: dict[Key, Gain] = {}
    for arm, on in dict.fromkeys(key[:2] for key in pairs):
        family = {key: pairs[key] for key in pairs if key[:2] == (arm, on)}
        wall = _find_ratios(family, "seconds", comparisons=PER_TRY * max(1, tries))
        with_cpu = {
            key: of for key, of in family.items() if all(run.cpu_s for pair in of for run in pair)
        }
        cpu = _find_ratios(with_cpu, "cpu_s", comparisons=1)
        gains |= {key: Gain(wall[key], cpu.get(key)) for key in family}
    return gains


def _find_ratios(
    family: Mapping[Key, Sequence[Pair]], clock: str, *, comparisons: int
) -> dict[Key, Estimate]:
    def log(run: Run) -> float:
        return math.log(getattr(run, clock))

    before = {run.number: run for pairs in family.values() for run, _ in pairs}.values()
    return find_common_ratios(
        {key: [log(base) - log(run) for base, run in pairs] for key, pairs in family.items()},
        [
            [log(run) for run in before if run.block == block]
            for block in {run.block: None for run in before}
        ],
        comparisons=comparisons,
    )
