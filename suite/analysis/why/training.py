"""Is it the same training?  Norms of the weights and printed numbers, beside the unchanged script's own."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from suite.analysis.why.runs import Run
from suite.model.why import Training, Try

ORDER: tuple[Training, ...] = get_args(Training)
"""From what changes the training least."""

ROUNDING: Mapping[str, float] = {"norm.3": 3e-5, "norm.10": 3e-4, "norm.20": 3e-3}
"""By how much, as a share, norms differ where sums are rounded otherwise: soon little, and then by what
training, above all batch normalization, makes of it."""

EQUAL = 1e-9
"""Norms that differ by less are those of equal weights: sums of so many squares are rounded, too."""

REPEATS = 3.0
"""So many times as far as the unchanged script's runs lie apart, another may lie from them."""

LIKE_TIME = 0.05
"""Of smaller gains, in logarithms, no printed number tells whether it is a time."""

PRINTED = 1e-3
"""Printed numbers that differ by less differ by rounding."""


RARER = ("fetch", "callback", "validation")
"""Causes against which something besides the training is left out, or done less often."""


def compare_training(
    change: Try, runs: Sequence[Run], others: Sequence[Run], gain: float
) -> Training | None:
    """What a change makes of the training, from runs with it and ``others`` without; None: nobody saw.

    ``gain`` tells printed numbers that may be times or rates from those of the training.
    """
    if change.training == "otherwise":
        return "otherwise"
    found = [_compare_norms(name, limit, runs, others) for name, limit in ROUNDING.items()]
    found += _compare_printed(runs, others, abs(math.log(gain)))
    ranks = [ORDER.index(training) for training in found if training]
    if not ranks:
        return None
    worst = ORDER[max(ranks)]
    if worst == "otherwise" and change.training == "distribution" and _updates_alike(runs, others):
        return "distribution"
    return worst


def _updates_alike(runs: Sequence[Run], others: Sequence[Run]) -> bool:
    """Whether optimizers did as many updates, after as many steps."""
    found = {
        (name, count)
        for run in (*runs, *others)
        for name, count in run.evidence.items()
        if name.startswith("updates.")
    }
    return len(found) == len({name for name, _ in found})


def _compare_norms(
    name: str, limit: float, runs: Sequence[Run], others: Sequence[Run]
) -> Training | None:
    """None: not reached, or never the same twice."""
    ours, theirs = (
        [run.evidence[name] for run in of if name in run.evidence] for of in (runs, others)
    )
    if not ours or len(theirs) < 2 or not theirs[0]:
        return None
    spread = REPEATS * (max(theirs) - min(theirs)) / abs(theirs[0])
    apart = max(abs(norm / theirs[0] - 1) for norm in ours)
    return None if spread > limit else _classify(apart, EQUAL + spread, limit + spread)


def _compare_printed(
    runs: Sequence[Run], others: Sequence[Run], log_gain: float
) -> Iterator[Training]:
    """The same of each printed number that is equal in all runs without the change."""
    lists = [run.notes.printed for run in (*others, *runs)]
    if len(others) < 2 or len(set(map(len, lists))) != 1:
        return
    # What is done less often may print a number again that it printed before.
    before = {number for run in others for number in run.notes.printed}
    for column in zip(*lists, strict=True):
        usual = column[0]
        ours = [n for n in column[len(others) :] if n == usual or n not in before]
        if len(set(column[: len(others)])) > 1:
            continue
        apart = max((abs(number - usual) for number in ours), default=0.0)
        apart /= max(abs(usual), sys.float_info.min)
        # A time or a rate that is printed changes about as much as the speed does.
        times = [abs(math.log(number / usual)) for number in ours if number * usual > 0]
        is_time = times and log_gain > LIKE_TIME and max(times) > log_gain / 2
        if apart <= PRINTED or not is_time:
            yield _classify(apart, 0.0, PRINTED)


def _classify(apart: float, equal: float, rounding: float) -> Training:
    return "unchanged" if apart <= equal else "rounding" if apart <= rounding else "otherwise"
