"""Telemetry joined to the cells that it was taken beside: by cell what the machine did meanwhile.

Pure.  What comes out is added to each cell's evidence, so that one list of rules judges it all.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from suite.analysis.documents.kept import Kept
from suite.model import CellResult, Document, Scalar, Telemetry

POWER_CAP = 0x4
SLOWED = 0x8 | 0x20 | 0x40 | 0x80
SLOWED_UNCOUNTED = 0x8 | 0x80
"""Bits of NVML's clock event reasons: the power limit; hardware slowdown, heat by software, heat by
hardware, the power brake.  ``held_by_heat_s`` counts the two of heat."""

IS_NAMED = "gpu.is_named"

Window = tuple[float, float]
"""From and to, in seconds after the telemetry's start."""


def read_number(value: Scalar) -> float | None:
    """A fact as a number; None: it is none, or not known."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def join_document(document: Document) -> Document:
    """The document with what its telemetry says beside each cell, and of its GPU, if it has any; of the same
    document the same one."""
    return document if document.telemetry is None else _JOINED.take([document])[0]


def _join(document: Document) -> Document:
    telemetry = document.telemetry
    assert telemetry is not None  # noqa: S101  who has none is not asked for
    facts = dict(telemetry.facts)
    if facts.get("gpu.name") is not None:
        facts[IS_NAMED] = is_named(document, telemetry)
    return replace(
        document,
        telemetry=replace(telemetry, facts=facts),
        cells=[
            replace(cell, evidence={**cell.evidence, **measure_window(telemetry, window)})
            if (window := find_window(cell, telemetry))
            else cell
            for cell in document.cells
        ],
    )


_JOINED = Kept[Document, Document](lambda documents: map(_join, documents))


def find_window(cell: CellResult, telemetry: Telemetry) -> Window | None:
    """When a cell warmed up and was sampled; where it does not say, when it ran at all."""
    began = telemetry.started.timestamp()
    low, high = cell.evidence.get("from_s"), cell.evidence.get("to_s")
    if low is None or high is None:
        if cell.outcome != "measured" or cell.started is None or cell.ended is None:
            return None
        low, high = cell.started.timestamp(), cell.ended.timestamp()
    return (low - began, high - began) if high > low else None


def measure_window(telemetry: Telemetry, window: Window) -> dict[str, float | None]:
    """What the machine did in a window; only what is known.

    ``gpu.mean_power_w`` is energy over time; ``gpu.slowdown_share`` and ``gpu.capped_share`` are of
    the time, by counters where the GPU has them, else by samples; ``gpu.other_processes`` the most
    that were seen at once; ``cpu.throttle_events`` how often a CPU slowed down for heat;
    ``cpu.quota_share`` for how long a quota of a group above the worker held it back, and ``cpu.stolen`` for
    how long the hypervisor took its CPUs, both summed over CPUs.
    """
    measured = {
        "gpu.mean_power_w": _grow_by_second(telemetry, "gpu.energy_j", window),
        "gpu.slowdown_share": _slowdown_share(telemetry, window),
        "gpu.capped_share": _capped_share(telemetry, window),
        "gpu.other_processes": max(pick_others(telemetry, window), default=None),
        "gpu.clock_sm_mhz": _median(pick(telemetry, "gpu.clock_sm_mhz", window)),
        "gpu.temperature_c": max(pick(telemetry, "gpu.temperature_c", window), default=None),
        "cpu.throttle_events": _grow(telemetry, "cpu.throttle_events", window, whole=True),
        "cpu.quota_share": _grow_by_second(telemetry, "cpu.throttled_s", window),
        "cpu.stolen": _grow_by_second(telemetry, "cpu.steal_s", window),
    }
    return {name: value for name, value in measured.items() if value is not None}


def is_named(document: Document, telemetry: Telemetry) -> bool | None:
    """Whether the worker computed on the GPU that was named, and that the telemetry is of.

    By its processes there and on other GPUs, by the name and the PCI address that it saw, and of a
    MIG instance, which shares them with others, by the UUID's hash.  None: can't be told.
    """
    own = [value for value in telemetry.series.get("gpu.own_processes", []) if value is not None]
    away = telemetry.series.get("gpu.own_processes_elsewhere", [])
    if any(value for value in away) and not any(own):
        return False
    inside, outside = document.facts, telemetry.facts
    name = _agree(inside.get("gpu.0.name"), outside.get("gpu.name"), _whole_name)
    place = _agree(inside.get("gpu.0.pci"), outside.get("gpu.pci"), _short_address)
    identity = _agree(inside.get("gpu.0.uuid"), outside.get("gpu.uuid"), str)
    is_slice = bool(outside.get("gpu.mig"))
    if name is False or place is False or (is_slice and identity is False):
        return False
    return True if any(own) or identity or (place and not is_slice) else None


def _agree(inside: Scalar, outside: Scalar, read: Callable[[str], str]) -> bool | None:
    """Whether two looks at a thing saw the same; None: one of them saw nothing."""
    if inside is None or outside is None:
        return None
    return read(str(inside)) == read(str(outside))


def _whole_name(name: str) -> str:
    """The name without that of a MIG instance's size, which drivers write in different ways."""
    return name.partition(" MIG ")[0]


def _short_address(address: str) -> str:
    """A PCI address with four digits of its domain, to which CUDA may cut it."""
    return address[-len("0000:81:00.0") :]


def pick_others(telemetry: Telemetry, window: Window) -> list[float]:
    """How many other processes computed on the GPU; nothing where the worker's own was never
    recognised among them, since it might be the one that is taken for another's."""
    if not any(telemetry.series.get("gpu.own_processes", [])):
        return []
    return pick(telemetry, "gpu.other_processes", window)


def pick(telemetry: Telemetry, name: str, window: Window) -> list[float]:
    """The values of a series in a window; where no sample fell into it, those on both sides."""
    series = telemetry.series.get(name)
    if not series:
        return []
    low, high = bisect_left(telemetry.at_s, window[0]), bisect_right(telemetry.at_s, window[1])
    if low == high:
        if low == 0 or high == len(series):
            return []  # before the first sample, or after the last
        low, high = low - 1, high + 1
    return [value for value in series[low:high] if value is not None]


def _grow(telemetry: Telemetry, name: str, window: Window, *, whole: bool = False) -> float | None:
    """What a cumulative counter grew by in a window, between samples linearly; ``whole``: between the
    samples around it, for what is counted one by one.  None: not known at both ends."""
    series = telemetry.series.get(name)
    if not series:
        return None
    at_s = telemetry.at_s
    begin = _find_known(series, bisect_right(at_s, window[0]) - 1, -1)
    end = _find_known(series, bisect_left(at_s, window[1]), 1)
    if begin is None or end is None:
        return None
    (low, before), (high, after) = begin, end
    values = [value for value in series[low : high + 1] if value is not None]
    if any(later < earlier for earlier, later in pairwise(values)):
        return None  # begun anew, as after a reset of the GPU: what it had counted is lost
    if whole:
        return max(0.0, after - before)
    return max(0.0, _interpolate(at_s, series, window[1]) - _interpolate(at_s, series, window[0]))


def _find_known(
    series: Sequence[float | None], at: int, step: Literal[-1, 1]
) -> tuple[int, float] | None:
    """The first index from ``at`` on, in this direction, at which a series has a value, and that; None: it
    has no more."""
    while 0 <= at < len(series):
        if (value := series[at]) is not None:
            return at, value
        at += step
    return None


def _interpolate(at_s: Sequence[float], series: Sequence[float | None], at: float) -> float:
    """The value of a series, which has one, at an instant."""
    place = bisect_left(at_s, at)
    right = _find_known(series, place, 1) or _find_known(series, place - 1, -1)
    assert right is not None  # noqa: S101  it has a value
    left = _find_known(series, right[0] - 1, -1) or right
    (x0, y0), (x1, y1) = (at_s[left[0]], left[1]), (at_s[right[0]], right[1])
    return y1 if x1 == x0 else y0 + (y1 - y0) * (at - x0) / (x1 - x0)


def _grow_by_second(telemetry: Telemetry, name: str, window: Window) -> float | None:
    """A counter's growth for each second of a window: of energy the power, of seconds their share."""
    growth = _grow(telemetry, name, window)
    return None if growth is None else growth / (window[1] - window[0])


def _slowdown_share(telemetry: Telemetry, window: Window) -> float | None:
    counted = _grow_by_second(telemetry, "gpu.held_by_heat_s", window)
    bits = SLOWED if counted is None else SLOWED_UNCOUNTED
    shares = (counted, _share_of_samples(telemetry, window, bits))
    return max((share for share in shares if share is not None), default=None)


def _capped_share(telemetry: Telemetry, window: Window) -> float | None:
    counted = _grow_by_second(telemetry, "gpu.held_by_power_s", window)
    return _share_of_samples(telemetry, window, POWER_CAP) if counted is None else counted


def _share_of_samples(telemetry: Telemetry, window: Window, bits: int) -> float | None:
    reasons = pick(telemetry, "gpu.reasons_bits", window)
    return sum(bool(int(value) & bits) for value in reasons) / len(reasons) if reasons else None


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None
