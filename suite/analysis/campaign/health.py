"""What became of a GPU's memory and link over a campaign, by its driver's counters and messages; pure.

The sampler reads the counters at both ends of each invocation, so what grew between two of them shows, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from msgspec import structs

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.documents.telemetry import read_number
from suite.analysis.result.arms import Count, Health
from suite.model import Scalar, Telemetry

EVER: Mapping[str, str] = {
    "memory_errors": "memory_errors_ever",
    "corrected_errors": "corrected_errors_ever",
}
"""Counters of since the driver was loaded, and the same of since the card was made."""

COUNTS = (*EVER, *EVER.values(), "rows_remapped", "pages_retired", "pcie_replays")
STATES = ("remapping_pending", "remapping_failed", "retirement_pending", "sram_worn")
XIDS = "xids"
"""The facts by the last part of their names: ``gpu.X`` at the first look, ``gpu.at_end.X`` at the last."""

FACTS = frozenset(f"gpu.{name}" for name in (*COUNTS, *STATES, XIDS))

MINUTE_S = 60.0

_XID = re.compile("[0-9]{1,4}")


@dataclass(frozen=True)
class _Watch:
    """One invocation's telemetry, and its block."""

    block: int
    telemetry: Telemetry

    @property
    def lasted_s(self) -> float:
        return max(self.telemetry.at_s, default=0.0)


@dataclass(frozen=True)
class _Look:
    """An invocation's counters at one of its ends."""

    watch: _Watch
    is_end: bool

    @property
    def at_s(self) -> float:
        began = self.watch.telemetry.started.timestamp()
        return began + (self.watch.lasted_s if self.is_end else 0.0)

    def read(self, name: str) -> Scalar:
        prefix = "gpu.at_end." if self.is_end else "gpu."
        return self.watch.telemetry.facts.get(prefix + name)


def find_health(loaded: LoadedCampaign) -> dict[str, Health]:
    """By arm the health of its GPU; arms on the same GPU have the same value."""
    arms: dict[tuple[Scalar, ...], dict[str, None]] = {}
    watches: dict[tuple[Scalar, ...], list[_Watch]] = {}
    for document in loaded.every_document:
        of, telemetry = document.invocation, document.telemetry
        if telemetry is not None and telemetry.facts.get("gpu.name") is not None:
            gpu = tuple(telemetry.facts.get(f"gpu.{name}") for name in ("uuid", "pci"))
            watches.setdefault(gpu, []).append(_Watch(of.block, telemetry))
            arms.setdefault(gpu, {})[of.arm] = None
    found: dict[str, Health] = {}
    for gpu, own in watches.items():
        found |= dict.fromkeys(
            arms[gpu], _sum_up(sorted(own, key=lambda watch: watch.telemetry.started))
        )
    return found


def _sum_up(watches: Sequence[_Watch]) -> Health:
    looks = [_Look(watch, is_end) for watch in watches for is_end in (False, True)]
    counts = {name: count for name in COUNTS if (count := _count(name, looks))}
    for name, ever in EVER.items():
        # Where the driver was loaded anew it has forgotten; the other may lag by what it had counted before.
        if name in counts and ever in counts:
            recent, all_time = counts[name], counts[ever]
            if all_time.grown > recent.first + recent.grown:
                counts[name] = structs.replace(all_time, first=recent.first, last=recent.last)
    answers = {name: {look.read(name) for look in looks} for name in STATES}
    heard = [(w.block, _read_xids(w.telemetry.facts.get(f"gpu.{XIDS}"))) for w in watches]
    xids: dict[int, tuple[int, ...]] = {}
    for block, numbers in heard:
        for number in numbers or ():
            xids[number] = tuple(dict.fromkeys((*xids.get(number, ()), block)))
    return Health(
        watched_s=looks[-1].at_s - looks[0].at_s,
        counts=counts,
        states={name: True in found for name, found in answers.items() if found & {True, False}},
        # That there was none is known only where every invocation tells.
        xids=xids if xids or all(numbers is not None for _, numbers in heard) else None,
        replays=max(map(_find_replays, watches), default=None, key=lambda rate: rate or 0.0),
        link=_find_link(watches),
    )


def _count(name: str, looks: Sequence[_Look]) -> Count | None:
    """None: it is known at no look."""
    values = ((look, read_number(look.read(name))) for look in looks)
    known = [(look, value) for look, value in values if value is not None]
    if not known:
        return None
    steps = [(look, value - before) for (_, before), (look, value) in pairwise(known)]
    steps = [(look, step) for look, step in steps if step > 0]
    return Count(
        first=known[0][1],
        last=known[-1][1],
        grown=math.fsum(step for _, step in steps),
        within=tuple(dict.fromkeys(look.watch.block for look, _ in steps if look.is_end)),
        before=tuple(dict.fromkeys(look.watch.block for look, _ in steps if not look.is_end)),
    )


def _find_replays(watch: _Watch) -> float | None:
    """Repeated packets a minute in an invocation that tells; of a short one as if it took a minute."""
    first, last = (
        read_number(_Look(watch, is_end).read("pcie_replays")) for is_end in (False, True)
    )
    if first is None or last is None:
        return None
    return max(0.0, last - first) / max(MINUTE_S, watch.lasted_s) * MINUTE_S


def _find_link(watches: Sequence[_Watch]) -> tuple[float, float] | None:
    columns = [
        [
            v
            for w in watches
            for v in w.telemetry.series.get(f"gpu.pcie_{name}", ())
            if v is not None
        ]
        for name in ("generation", "width")
    ]
    return (max(columns[0]), max(columns[1])) if all(columns) else None


def _read_xids(told: Scalar) -> Iterator[int] | None:
    """The numbers in ``48,79`` or ``none``; None: the driver does not tell."""
    if not isinstance(told, str):
        return None
    return (int(number) for number in told.split(",") if _XID.fullmatch(number))
