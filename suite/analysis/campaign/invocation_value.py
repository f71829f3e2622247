"""One cell in one invocation, read: its value, which part of it was steady, and its shape.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from suite.analysis.documents.kept import Kept
from suite.analysis.result.cells import Outliers, SteadyClass
from suite.analysis.statistics.estimate import reduce_invocation
from suite.analysis.statistics.outliers import classify_outliers, is_bimodal
from suite.analysis.statistics.warmup import find_steady_each
from suite.flags import Flag, raise_flag
from suite.model import CellResult

MANY_OUTLIERS = 0.05
"""With a larger share of its samples far out a cell says so."""

_CODE_BY_CLASS: Mapping[SteadyClass, str] = {
    "too few": "few-samples",
    "unsteady": "unsteady",
    "slowdown": "slowed-down",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One invocation's value of a cell in seconds per call: the mean of its steady samples.

    ``steady`` is the class of the series, ``start`` the index of the first steady sample.  ``value``
    leaves stalls aside; ``outliers`` and ``bimodal`` are about all steady samples.
    """

    value: float
    steady: SteadyClass
    start: int
    outliers: Outliers
    bimodal: bool


Readings = Mapping[tuple[str, int, str], Reading]
"""By arm, block and cell."""


def read(result: CellResult) -> Reading:
    """The reading of a measured cell.

    Raises:
        ValueError: it has no samples.
    """
    return read_each([result])[0]


def read_each(results: Sequence[CellResult]) -> list[Reading]:
    """The readings of measured cells, in their order.

    Raises:
        ValueError: one has no samples.
    """
    return _READINGS.take(results)


def _read_anew(results: Sequence[CellResult]) -> list[Reading]:
    steady = find_steady_each((result.warmup_s, result.samples_s) for result in results)
    return [
        Reading(
            value=reduce_invocation(counted, result.calls_per_sample or 1),
            steady=name,
            start=start,
            outliers=classify_outliers(counted),
            bimodal=is_bimodal(counted),
        )
        for result, (name, start) in zip(results, steady, strict=True)
        for counted in [result.samples_s[start:]]
    ]


_READINGS = Kept(_read_anew)


def add_outliers(readings: Iterable[Reading]) -> Outliers:
    """Those of all these readings."""
    every = [reading.outliers for reading in readings]
    return Outliers(
        n=sum(reading.n for reading in every),
        mild=sum(reading.mild for reading in every),
        far=sum(reading.far for reading in every),
    )


def flag_readings(
    where: Mapping[str, str], readings: Mapping[int, Reading], *, one_shot: bool
) -> list[Flag]:
    """What has to stand beside a number, from its readings by block.

    A one-shot cell has one sample an invocation by definition, and is not blamed for it.
    """
    every = tuple(readings)
    blocks_by_code = {
        code: [block for block, reading in readings.items() if reading.steady == steady_class]
        for steady_class, code in _CODE_BY_CLASS.items()
        if not (steady_class == "too few" and one_shot)
    }
    modes = [block for block, reading in readings.items() if reading.bimodal]
    blocks_by_code["bimodal"] = modes if 2 * len(modes) > len(every) else []
    if is_bimodal([reading.value for reading in readings.values()]):
        blocks_by_code["bimodal-blocks"] = list(every)
    flags = [
        raise_flag(code, {**where, "blocks": tuple(blocks)}, of=len(every))
        for code, blocks in blocks_by_code.items()
        if blocks
    ]
    outliers = add_outliers(readings.values())
    if outliers.far > MANY_OUTLIERS * outliers.n:
        share, here = outliers.far / outliers.n, {**where, "blocks": every}
        flags.append(raise_flag("outliers", here, of=len(every), far=share, over=MANY_OUTLIERS))
    return flags
