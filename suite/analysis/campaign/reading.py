"""One cell in one invocation, read: its value, which part of it was steady, and its shape.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from suite.analysis.campaign.labels import MOST, Label, share
from suite.analysis.numbers.estimate import reduce_invocation
from suite.analysis.numbers.shape import Outliers, classify_outliers, is_bimodal
from suite.analysis.numbers.steady import Steady, SteadyClass, find_steady
from suite.model import CellResult

MANY_OUTLIERS = 0.05
"""With a larger share of its samples far out a cell says so."""

_KINDS: Mapping[SteadyClass, str] = {
    "too few": "under 50 samples in {}: too few to tell where it was steady, so all count",
    "unsteady": "unsteady in {}: no steady part was found, so all samples count",
    "slowdown": "slowed down on the way in {}; only what follows counts",
}
_MODES = "bimodal: the samples of {} fall into two groups"


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


def label(readings: Mapping[int, Reading], *, one_shot: bool) -> list[Label]:
    """What has to stand beside a number, from its readings by block.

    A one-shot cell has one sample an invocation by definition, and is not blamed for it.
    """
    count = len(readings)
    kinds = Counter(one.steady.kind for one in readings.values())
    labels = [
        _count(text, kinds[kind], count)
        for kind, text in _KINDS.items()
        if kinds[kind] and not (kind == "too few" and one_shot)
    ]
    modes = sum(one.bimodal for one in readings.values())
    if 2 * modes > count:
        labels.append(_count(_MODES, modes, count))
    if is_bimodal([one.value for one in readings.values()]):
        labels.append(_all("bimodal: the invocations fall into two groups", count))
    far, samples = (
        sum(getattr(one.outliers, name) for one in readings.values()) for name in ("far", "n")
    )
    if far > MANY_OUTLIERS * samples:
        found = f"{100 * far / samples:.0f} %"
        text = "outliers: {} of the samples are far out (Tukey), and kept"
        brief = text.format(f"over {100 * MANY_OUTLIERS:.0f} %")
        labels.append(Label(text=text.format(found), brief=brief, blocks=count, of=count))
    return labels


def _count(text: str, blocks: int, of: int) -> Label:
    return Label(text=text.format(share(blocks, of)), brief=text.format(MOST), blocks=blocks, of=of)


def _all(text: str, of: int) -> Label:
    return Label(text=text, brief=text, blocks=of, of=of)
