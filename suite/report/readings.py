"""One cell in one invocation, read: its value, which part of it was steady, and its shape.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from suite.model import CellResult
from suite.report.shape import Outliers, classify_outliers, is_bimodal
from suite.report.statistics import reduce_invocation
from suite.report.steady import Steady, find_steady

MANY_OUTLIERS = 0.05
"""With a larger share of its samples far out a cell says so."""

_FEW = "under 50 samples in {} of {} blocks: too few to tell where it was steady, so all count"
_UNSTEADY = "unsteady in {} of {} blocks: no steady part was found, so all samples count"
_SLOWDOWN = "slowed down on the way in {} of {} blocks; only what follows counts"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One invocation's value of a cell in seconds per call: the median of its steady samples.

    ``outliers`` and ``bimodal`` are about the steady samples, all of which count.
    """

    value: float
    steady: Steady
    outliers: Outliers
    bimodal: bool


def read(result: CellResult) -> Reading:
    """The reading of a measured cell.

    Raises:
        ValueError: it has no samples.
    """
    steady = find_steady(result.warmup_s, result.samples_s)
    counted = result.samples_s[steady.start :]
    return Reading(
        value=reduce_invocation(counted),
        steady=steady,
        outliers=classify_outliers(counted),
        bimodal=is_bimodal(counted),
    )


def label(readings: Mapping[int, Reading], *, one_shot: bool) -> list[str]:
    """What has to stand beside a number, from its readings by block.

    A one-shot cell has one sample an invocation by definition, and is not blamed for it.
    """
    count = len(readings)
    kinds = Counter(one.steady.kind for one in readings.values())
    labels = []
    if kinds["too few"] and not one_shot:
        labels.append(_FEW.format(kinds["too few"], count))
    if kinds["unsteady"]:
        labels.append(_UNSTEADY.format(kinds["unsteady"], count))
    if kinds["slowdown"]:
        labels.append(_SLOWDOWN.format(kinds["slowdown"], count))
    modes = sum(one.bimodal for one in readings.values())
    if 2 * modes > count:
        labels.append(f"bimodal: the samples of {modes} of {count} blocks fall into two groups")
    if is_bimodal([one.value for one in readings.values()]):
        labels.append("bimodal: the invocations fall into two groups")
    far, samples = (
        sum(getattr(one.outliers, name) for one in readings.values()) for name in ("far", "n")
    )
    if far > MANY_OUTLIERS * samples:
        share = f"{100 * far / samples:.0f} %"
        labels.append(f"outliers: {share} of the samples are far out (Tukey), and kept")
    return labels
