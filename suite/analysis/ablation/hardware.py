"""What an arm's GPU is and how it is set, beside what a card of its kind can be: told of every campaign.

Which of it makes a machine unsound is said in ``soundness``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from suite.analysis.ablation.cell_index import CellIndex, Values, divide, mean
from suite.analysis.ablation.limits import BELOW
from suite.analysis.campaign.plausibility import Place
from suite.analysis.campaign.summarise import CellSummary, Summary
from suite.analysis.campaign.telemetry import sum_up
from suite.analysis.documents.published import read_figures
from suite.analysis.result.arms import Count, Health, WatchedGpu
from suite.analysis.result.limits import MachineType
from suite.analysis.result.numbers import derive_rate
from suite.cells.traits import OverheadName
from suite.flags import Flag, Severity, raise_flag
from suite.slices import is_piece, read_virtual_gpu

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

HOUR_S, MINUTE_S = 3600.0, 60.0

NOTHING = Count(first=0.0, last=0.0)

BIT_ERRORS = 1e-12
"""The largest share of a link's bits that may be wrong by the PCI-SIG's base specifications, each of which
has its packet repeated; NVIDIA's DCGM (4.6) has its limit from there, too.  Generation 3 with 16 lanes may
so repeat 7.6 packets in a minute in which it is busy."""

ASSUMED_LINK = (3, 16)
"""The link of a card that does not tell it: DCGM's limit was that of this one for all, 8 a minute."""

CARDS = frozenset({46, 48, 54, 62, 64, 74, 79, 94, 95, 140, 143, 156, 158, 171, 172})
"""XIDs that say that the card, its memory, its power or its links failed: errors of memory that could not be
corrected or repaired (48, 64, 94, 95, 140, 156, 171, 172), a microcontroller or a whole GPU that stopped (46,
62, 143, 158), no auxiliary power (54), NVLink (74) and PCIe (79).  For these NVIDIA's Xid catalog (2025) asks
for a reset, a reboot, or a look at the card, but for 94, an error of memory that hit one application."""

WATCHED = frozenset({63, 92, 93, 110, 119, 120, 121, 136, 157})
"""XIDs that tell of wear (63, 92, 93, 157), or of a fault that may as well be the driver's (110, 119, 120) or
a link's (121, 136).  The most frequent ones, 13, 31, 43 and 45, are applications', and what is in neither
list is named and no more."""

Where = Mapping[str, str]


def find_hardware(summary: Summary, index: CellIndex) -> Iterator[Flag]:
    """What there is to say of the GPU of every arm that has one, by its counted documents."""
    yield from find_faults(summary.campaign.arms, summary.health)
    for arm, by_block in summary.counted.items():
        place = summary.places[arm]
        if not place.is_gpu:
            continue
        where, gpu = {"arm": arm}, sum_up(list(by_block.values())).gpu
        yield from _find_type(where, place)
        yield from _find_slice(where, place, gpu)
        if gpu is not None:
            if gpu.silent and gpu.count:
                yield raise_flag("gpus-silent", where, silent=gpu.silent, gpus=gpu.count)
            yield from _find_settings(where, gpu)
            yield from _find_link(where, gpu, index, place)


def pick_type(place: Place) -> MachineType | None:
    """What is known of the type of the machine; None: nothing, or the GPU is not such a machine's."""
    kind, part = place.type, place.part
    return kind if kind is not None and part is not None and part.name == kind.part else None


def _find_type(where: Where, place: Place) -> Iterator[Flag]:
    """Another GPU than the type of the machine has."""
    kind, device = place.type, place.device
    if kind is None or device is None or pick_type(place) is not None:
        return
    if is_piece(device):
        return
    yield raise_flag(
        "type-differs", where, type=place.type_name, known=kind.name, part=kind.part, device=device
    )


def find_faults(arms: Iterable[str], health: Mapping[str, Health]) -> Iterator[Flag]:
    """What befell the GPUs of these arms and their memory over all of a campaign, by their drivers' counters
    and messages; of one that several arms have, once."""
    told: list[Health] = []
    for arm in arms:
        if arm in health and not any(health[arm] is other for other in told):
            told.append(health[arm])
            yield from _find_faults({"arm": arm}, health[arm])


def _find_slice(where: Where, place: Place, gpu: WatchedGpu | None) -> Iterator[Flag]:
    """A slice by the driver's mode, or where that is not known by its name."""
    named, mode = read_virtual_gpu(place.device), gpu.virtualization if gpu else None
    if mode != "vgpu" and (mode is not None or named is None):
        return
    shared = "parts" if named and named.is_part else "time"
    yield raise_flag("sliced", where, device=place.device or "the GPU", shared=shared)
    if gpu is not None and gpu.licensed is False:
        yield raise_flag("unlicensed", where)


def _find_faults(where: Where, health: Health) -> Iterator[Flag]:
    errors, corrected, rows, pages, replays = (
        health.counts.get(name, NOTHING)
        for name in (
            *("memory_errors", "corrected_errors", "rows_remapped", "pages_retired"),
            "pcie_replays",
        )
    )
    failed, worn = (health.states.get(name, False) for name in ("remapping_failed", "sram_worn"))
    if (many := max(0.0, errors.first, errors.last, errors.grown)) or failed or worn:
        more: dict[str, Any] = {"worn": worn} if worn else {}
        more |= _tell_growth(errors) if errors.grown else {}
        yield raise_flag("memory-errors", where, errors=many, failed=failed, **more)
    pending = [
        name for name in ("remapping_pending", "retirement_pending") if health.states.get(name)
    ]
    if pending:
        yield raise_flag("memory-pending", where, pending=pending)
    if corrected.grown:
        hours = health.watched_s / HOUR_S
        growth = _tell_growth(corrected) | _drop(rate=corrected.grown / hours if hours else None)
        yield raise_flag("errors-corrected", where, **growth)
    for replaced in (rows, pages):
        if replaced.grown:
            yield raise_flag("memory-replaced", where, **_tell_growth(replaced))
    generation, lanes = health.link or ASSUMED_LINK
    most = LANE.get(generation, math.inf) * 8 * lanes * BIT_ERRORS * MINUTE_S
    if health.replays is not None and health.replays > most + 1:
        rate = health.replays
        yield raise_flag("link-replays", where, rate=rate, most=most, **_tell_growth(replays))
    if heard := _pick_xids(health, CARDS):
        yield raise_flag("xid-card", where, xids=heard)
    if heard := _pick_xids(health, WATCHED):
        yield raise_flag("xid", where, xids=heard)


def _pick_xids(health: Health, numbers: frozenset[int]) -> list[list[Any]]:
    """Those of the driver's messages that have one of these numbers, with their blocks."""
    return [[n, list(blocks)] for n, blocks in (health.xids or {}).items() if n in numbers]


def _tell_growth(count: Count) -> dict[str, Any]:
    return {"grown": count.grown, "when": [list(count.within), list(count.before)]}


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


def _find_link(where: Where, gpu: WatchedGpu, index: CellIndex, place: Place) -> Iterator[Flag]:
    """A link that is less than card and host can do, or carries less than one as the driver tells it."""
    generation, lanes = gpu.pcie_generation, gpu.pcie_lanes
    if generation is None or lanes is None:
        return
    link: dict[str, Any] = {"generation": generation, "lanes": lanes}
    carries = LANE.get(generation, math.inf) * lanes
    ways: tuple[OverheadName, ...] = ("copy-in", "copy-out")
    copies = [copy.rate for way in ways if (copy := find_copied(index, where["arm"], way))]
    copied, kind = max(copies, default=None), pick_type(place)
    # A type whose own copies show that the driver tells another link is as it should be.
    usual = [
        figure.high
        for figure in read_figures().figures
        if kind is not None and kind.name in figure.types
    ]
    if (
        copied is not None
        and copied < HALF * carries < math.inf
        and max(usual, default=carries) >= HALF * carries
    ):
        share = copied / carries
        yield raise_flag("link-slow", where, rate=copied, share=share, carries=carries, **link)
    most, most_lanes = gpu.most_pcie_generation, gpu.most_pcie_lanes
    narrow = is_under(generation, most) or is_under(lanes, most_lanes)
    if kind is not None:
        narrow = is_under(generation, kind.generation) or is_under(lanes, kind.lanes)
    # A link that carries more than the driver says is another one: NVLink, or one that a host hides.
    if narrow and (copied is None or copied <= carries):
        if kind is None:
            yield raise_flag("link-narrow", where, **link, most=most, most_lanes=most_lanes)
        else:
            link |= {"most": kind.generation, "most_lanes": kind.lanes}
            yield raise_flag("link-below-type", where, **link, type=kind.name)


@dataclass(frozen=True, kw_only=True)
class Copied:
    """A large copy over the link: its ``rate`` in bytes a second, the seconds by block, and whether a trace
    tells them apart from the rest of the call."""

    summary: CellSummary
    rate: float
    seconds: Values
    traced: bool


def find_copied(index: CellIndex, arm: str, price: OverheadName) -> Copied | None:
    """The copy with the best rate over the link in one direction; None: it is not known.

    TensorFlow copies within the CPU's memory first, to where the GPU can fetch it.  A trace has the copy over
    the link alone; without one a call tells of the link only where it is faster than the CPU's own copy.
    """
    found = []
    for summary, size, copying in list_copies(index, arm, price):
        values = index.values(summary, arm)
        called, traced = mean(values), copying > 0
        taken = copying
        if not traced and is_under(called, index.seconds(summary, index.cpu)):
            taken = called or 0.0
        if taken > 0 and (rate := derive_rate(size, taken)):
            # A trace's calls have no spread of their own: they have that of the calls that were timed.
            seconds = divide(values, called / taken) if called else {}
            seconds = seconds or {0: taken}
            found.append(Copied(summary=summary, rate=rate, seconds=seconds, traced=traced))
    return max(found, key=lambda copied: copied.rate, default=None)


def list_copies(
    index: CellIndex, arm: str, way: OverheadName
) -> Iterator[tuple[CellSummary, float, float]]:
    """Every large copy, its bytes, and the seconds over the link alone by its trace; 0: it has none."""
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
