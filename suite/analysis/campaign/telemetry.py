"""What telemetry saw beside the counted blocks' cells, summed up; a counter that is missing is unknown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from suite.analysis.campaign.health import FACTS
from suite.analysis.campaign.summarise import Summary
from suite.analysis.documents.telemetry import IS_NAMED, find_window, pick, read_number
from suite.analysis.result.arms import Share, Span, Watched, WatchedGpu, WatchEffect, Watching
from suite.model import CellResult, Document, Telemetry

HELD = 0.01
"""A cell that was held back for a smaller share of its time was not."""


def sum_up(documents: Sequence[Document]) -> Watched:
    """What was seen of the machine in an arm's counted blocks."""
    watched = [document for document in documents if document.telemetry is not None]
    if not watched:
        reasons = dict.fromkeys(document.absent.get("telemetry", "") for document in documents)
        return Watched(blocks=0, reasons=tuple(filter(None, reasons)))
    missing: dict[str, str] = {}
    for telemetry in _telemetries(watched):
        # What its health is known by stands there.
        missing.update({name: why for name, why in telemetry.absent.items() if name not in FACTS})
    return Watched(
        blocks=len(watched),
        gpu=_sum_up_gpu(watched),
        cpu_clock_mhz=_find_span(_gather(watched, "cpu.clock_mhz")),
        cpu_temperature_c=max(_gather(watched, "cpu.temperature_c"), default=None),
        cpu_slowed=_count(_list_cells(watched), "cpu.throttle_events", "thermal_events"),
        absent=dict(sorted(missing.items())),
    )


def find_cost(summary: Summary) -> Watching | None:
    """What watching took, and what that did to the numbers; None: nobody watched."""
    used = [
        (cpu, wall)
        for telemetry in _telemetries(summary.loaded.every_document)
        if (cpu := read_number(telemetry.facts.get("sampler.cpu_s"))) is not None
        and (wall := read_number(telemetry.facts.get("sampler.wall_s"))) is not None
    ]
    if not used:
        return None
    return Watching(
        cpu_s=math.fsum(cpu for cpu, _ in used),
        wall_s=math.fsum(wall for _, wall in used),
        effect=_find_effect(summary),
    )


def _find_effect(summary: Summary) -> WatchEffect | None:
    campaign, counted = summary.campaign, summary.counted
    base, *others = campaign.arms
    other = next((arm for arm in others if campaign.arm(arm).control == "again"), None)
    watched = {arm: bool(_telemetries(by_block.values())) for arm, by_block in counted.items()}
    if other is None or not watched[base] or watched[other]:
        return None
    logs = [
        math.log(ratio.value) for cell in summary.cells if (ratio := cell.comparisons[other].ratio)
    ]
    if len(logs) < 2:
        return None
    low, middle, high = map(math.exp, statistics.quantiles(logs, n=4))
    quartiles = Span(low=low, middle=middle, high=high)
    return WatchEffect(arm=other, quartiles=quartiles, cells=len(logs))


def _sum_up_gpu(watched: Sequence[Document]) -> WatchedGpu | None:
    every = [telemetry.facts for telemetry in _telemetries(watched)]
    facts = {name: value for of in every for name, value in of.items() if value is not None}
    if "gpu.name" not in facts:
        return None
    mode = facts.get("gpu.virtualization")
    licences = {of.get("gpu.licensed") for of in every}
    named = {of.get(IS_NAMED) for of in every}
    links = [_gather(watched, name) for name in ("gpu.pcie_generation", "gpu.pcie_width")]
    measured = [cell for cell in _list_cells(watched) if cell.outcome == "measured"]
    generation, lanes = map(max, links) if all(links) else (None, None)
    most = [read_number(facts.get(f"gpu.pcie_{name}_most")) for name in ("generation", "width")]
    most_generation, most_lanes = most if None not in most else (None, None)
    count, silent, on_bus = (
        read_number(facts.get(f"gpu.{n}")) for n in ("count", "silent", "on_bus")
    )
    # The driver does not count a GPU that it could not start.
    unlisted = 0.0 if on_bus is None or count is None else max(0.0, on_bus - count)
    return WatchedGpu(
        clock_mhz=_find_span(_gather(watched, "gpu.clock_sm_mhz")),
        most_clock_mhz=read_number(facts.get("gpu.clock_sm_most_mhz")),
        default_clock_mhz=read_number(facts.get("gpu.clock_default_mhz")),
        power_w=_find_span(_gather(watched, "gpu.power_w")),
        power_limit_w=read_number(facts.get("gpu.power_limit_w")),
        power_default_w=read_number(facts.get("gpu.power_limit_default_w")),
        power_most_w=read_number(facts.get("gpu.power_limit_most_w")),
        temperature_c=max(_gather(watched, "gpu.temperature_c"), default=None),
        capped=_count(measured, "gpu.capped_share", over=HELD),
        slowed=_count(measured, "gpu.slowdown_share", over=HELD),
        pcie_generation=generation,
        pcie_lanes=lanes,
        most_pcie_generation=most_generation,
        most_pcie_lanes=most_lanes,
        memory_bytes=read_number(facts.get("gpu.memory_bytes")),
        shared=_count(measured, "gpu.other_processes"),
        named=not (None in named and False not in named),
        virtualization=None if mode is None else str(mode),
        # A licence can be had at any time, and lost.
        licensed=False if False in licences else (True if True in licences else None),
        count=None if count is None else count + unlisted,
        silent=silent + unlisted if silent is not None else unlisted or None,
    )


def _gather(watched: Sequence[Document], name: str) -> list[float]:
    """The values of a series while a cell warmed up and was sampled."""
    return [
        value
        for document in watched
        for cell in document.cells
        if document.telemetry is not None
        and (window := find_window(cell, document.telemetry)) is not None
        for value in pick(document.telemetry, name, window)
    ]


def _count(cells: Iterable[CellResult], *names: str, over: float = 0.0) -> Share:
    """Of what is known of these cells by these names, how much is over a value."""
    values = [
        value for cell in cells for name in names if (value := cell.evidence.get(name)) is not None
    ]
    return Share(seen=sum(value > over for value in values), of=len(values))


def _find_span(values: Sequence[float]) -> Span | None:
    if not values:
        return None
    return Span(low=min(values), middle=statistics.median(values), high=max(values))


def _list_cells(documents: Iterable[Document]) -> list[CellResult]:
    return [cell for document in documents for cell in document.cells]


def _telemetries(documents: Iterable[Document]) -> list[Telemetry]:
    return [document.telemetry for document in documents if document.telemetry is not None]
