"""What an arm's GPU is and how it is set, beside what a card of its kind can be: told of every campaign.

Which of it makes a machine unsound is said in ``soundness``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from suite.analysis.ablation.cell_index import CellIndex
from suite.analysis.ablation.limits import BELOW
from suite.analysis.campaign.plausibility import Place
from suite.analysis.campaign.summarise import CellSummary, Summary
from suite.analysis.campaign.telemetry import sum_up
from suite.analysis.result.arms import WatchedGpu
from suite.analysis.result.numbers import derive_rate
from suite.cells.traits import OverheadName
from suite.flags import Flag, Severity, raise_flag
from suite.slices import read_virtual_gpu

LANE: Mapping[float, float] = {
    1: 0.25e9,
    2: 0.5e9,
    **{generation: 2 ** (generation - 3) * 8e9 * 128 / 130 / 8 for generation in (3, 4, 5)},
    6: 7.563e9,
}
"""Bytes a second that a lane of a PCIe generation carries in one direction: its transfers less its encoding
(8b/10b, then 128b/130b, then flits of 256 bytes), by the PCI-SIG's base specifications."""

HALF = 0.5
"""Under this share of what the link carries no pinned copy is by itself: on 80 types of rented machines
with whole GPUs the better direction has 69 to 91 % (SpareCores, 2026); where the driver tells another
link than there is, 42 %."""

LEAST_COPY = 2**20
"""Bytes of a copy that shows a link's rate, and not what it takes to begin a copy."""

Where = Mapping[str, str]


def find_hardware(summary: Summary, index: CellIndex) -> Iterator[Flag]:
    """What there is to say of the GPU of every arm that has one, by its counted documents."""
    for arm, by_block in summary.counted.items():
        place = summary.places[arm]
        if not place.is_gpu:
            continue
        where, gpu = {"arm": arm}, sum_up(list(by_block.values())).gpu
        yield from _find_slice(where, place, gpu)
        if gpu is not None:
            yield from _find_faults(where, gpu)
            yield from _find_settings(where, gpu)
            yield from _find_link(where, gpu, index)


def _find_slice(where: Where, place: Place, gpu: WatchedGpu | None) -> Iterator[Flag]:
    """A slice by the driver's mode, or where that is not known by its name."""
    named, mode = read_virtual_gpu(place.device), gpu.virtualization if gpu else None
    if mode != "vgpu" and (mode is not None or named is None):
        return
    shared = "parts" if named and named.is_part else "time"
    yield raise_flag("sliced", where, device=place.device or "the GPU", shared=shared)
    if gpu is not None and gpu.licensed is False:
        yield raise_flag("unlicensed", where)


def _find_faults(where: Where, gpu: WatchedGpu) -> Iterator[Flag]:
    if gpu.memory_errors or gpu.remapping_failed:
        errors, failed = gpu.memory_errors or 0.0, bool(gpu.remapping_failed)
        yield raise_flag("memory-errors", where, errors=errors, failed=failed)
    if gpu.silent and gpu.count:
        yield raise_flag("gpus-silent", where, silent=gpu.silent, gpus=gpu.count)


def _find_settings(where: Where, gpu: WatchedGpu) -> Iterator[Flag]:
    """A power limit, or a clock, that is lower than it need be."""
    limit, usual, most = gpu.power_limit_w, gpu.power_default_w, gpu.power_most_w
    # Some cards are let with more than their default; whoever sets less than that has set something.
    is_set = limit != usual and is_under(limit, most, 1 - BELOW)
    if is_set or is_under(limit, usual, 1 - BELOW):
        # Over its default it is faster than such a card is sold as: worth knowing, and no fault.
        severity: Severity | None = "info" if is_under(usual, limit) else None
        others = _drop(usual=usual, most=most)
        yield raise_flag("power-limited", where, severity=severity, limit=limit, **others)
    # The highest in any cell: large products run at less, and small ones at all that a free clock gives.
    clock, best = gpu.clock_mhz.high if gpu.clock_mhz else None, gpu.most_clock_mhz
    if clock is not None and best is not None and 0 <= clock < (1 - BELOW) * best:
        usual_clock = _drop(usual=gpu.default_clock_mhz)
        share = clock / best
        yield raise_flag("clock-low", where, clock=clock, share=share, most=best, **usual_clock)


def _find_link(where: Where, gpu: WatchedGpu, index: CellIndex) -> Iterator[Flag]:
    """A link that is less than card and host can do, or carries less than one as the driver tells it."""
    generation, lanes = gpu.pcie_generation, gpu.pcie_lanes
    if generation is None or lanes is None:
        return
    link: dict[str, Any] = {"generation": generation, "lanes": lanes}
    carries = LANE.get(generation, math.inf) * lanes
    copied = _find_copied(index, where["arm"])
    if copied is not None and copied < HALF * carries < math.inf:
        share = copied / carries
        yield raise_flag("link-slow", where, rate=copied, share=share, carries=carries, **link)
    most, most_lanes = gpu.most_pcie_generation, gpu.most_pcie_lanes
    narrow = is_under(generation, most) or is_under(lanes, most_lanes)
    # A link that carries more than the driver says is another one: NVLink, or one that a host hides.
    if narrow and (copied is None or copied <= carries):
        yield raise_flag("link-narrow", where, **link, most=most, most_lanes=most_lanes)


def _find_copied(index: CellIndex, arm: str) -> float | None:
    """The best rate of a large copy over the link, in bytes a second; None: it is not known.

    TensorFlow copies within the CPU's memory first, to where the GPU can fetch it.  A trace has the copy over
    the link alone; without one a call tells of the link only where it is faster than the CPU's own copy.
    """
    rates = []
    for summary, size, copying in list_copies(index, arm, "copy-in", "copy-out"):
        called, own = index.seconds(summary, arm), index.seconds(summary, index.cpu)
        seconds = (called or 0.0) if copying <= 0 and is_under(called, own) else copying
        if seconds > 0:
            rates.append(derive_rate(size, seconds))
    return max(filter(None, rates), default=None)


def list_copies(
    index: CellIndex, arm: str, *ways: OverheadName
) -> Iterator[tuple[CellSummary, float, float]]:
    """Every large copy, its bytes, and the seconds over the link alone by its trace; 0: it has none."""
    for way in ways:
        for summary in index.prices(way):
            size, trace = summary.cell.work.bytes or 0.0, index.trace(summary, arm) or {}
            if size >= LEAST_COPY:
                yield summary, size, trace.get("copy_share", 0.0) * trace.get("call_s", 0.0)


def is_under(value: float | None, whole: float | None, share: float = 1.0) -> bool:
    """Whether a value is less than a share of a whole; what is not known is not."""
    return value is not None and whole is not None and value < share * whole


def _drop(**values: float | None) -> dict[str, Any]:
    """The values that are known."""
    return {name: value for name, value in values.items() if value is not None}
