"""What the machine did while it measured, in words and one table: clocks, power, heat, throttling.

Tells what telemetry saw beside the counted blocks' cells; a counter that is missing is unknown.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence

from suite.analysis.campaign.summarise import CellSummary, Summary
from suite.analysis.documents.telemetry import IS_NAMED, find_window, pick
from suite.analysis.numbers.ratio import Ratio
from suite.model import Document, Scalar, Telemetry
from suite.report.text.markup import escape
from suite.report.text.names import name_cells
from suite.report.text.page import NO_NUMBER, Page
from suite.report.text.units import align, show_energy, show_rate, show_share

_LISTED = 12
"""No list of what is missing is longer; the rest is counted."""

_PCIE = ("gpu.pcie_generation", "gpu.pcie_width")


def write_telemetry(page: Page, summary: Summary) -> None:
    """What was seen of the machine on each arm, the energy of each cell, and what watching cost."""
    page.heading("The machine while it measured", level=3)
    page.bullets([*_word_arms(summary), *_word_cost(summary)])
    for arm in summary.campaign.arms:
        _write_energy(page, summary, arm)


def _word_arms(summary: Summary) -> Iterator[str]:
    for arm, documents in summary.counted.items():
        watched = [one for one in documents.values() if one.telemetry is not None]
        if not watched:
            reasons = dict.fromkeys(one.absent.get("telemetry", "") for one in documents.values())
            why = "; ".join(escape(reason) for reason in reasons if reason) or "no document yet"
            yield f"{escape(arm)}: clocks, power, heat and throttling unknown: {why}."
            continue
        blind = len(documents) - len(watched)
        less = f" ({blind} of {len(documents)} blocks unwatched)" if blind else ""
        parts = [*_word_gpu(watched), *_word_cpu(watched)]
        yield f"{escape(arm)}{less}: {'; '.join(parts)}."
        missing = _gather_missing(watched)
        if missing:
            more = len(missing) - _LISTED
            named = "; ".join(missing[:_LISTED]) + (f"; and {more} more" if more > 0 else "")
            yield f"{escape(arm)}: unknown here: {named}."


def _word_gpu(watched: Sequence[Document]) -> Iterator[str]:
    facts = {n: v for one in _telemetries(watched) for n, v in one.facts.items() if v is not None}
    if "gpu.name" not in facts:
        return
    clocks = _gather(watched, "gpu.clock_sm_mhz")
    if clocks:
        most = _number(facts.get("gpu.clock_sm_most_mhz"))
        of = "" if most is None else f", of at most {most:,.0f} MHz"
        yield f"GPU clock {_span(clocks, 'MHz')}{of}"
    power = _gather(watched, "gpu.power_w")
    if power:
        limit = _number(facts.get("gpu.power_limit_w"))
        of = "" if limit is None else f", limit {limit:,.0f} W"
        yield f"power {_span(power, 'W')}{of}"
    heat = _gather(watched, "gpu.temperature_c")
    if heat:
        yield f"at most {max(heat):.0f} °C"
    cells = [one for document in watched for one in document.cells if one.outcome == "measured"]
    for name, words in (
        ("gpu.capped_share", "held back by the power limit in"),
        ("gpu.slowdown_share", "slowed down by heat or hardware in"),
    ):
        shares = [share for one in cells if (share := one.evidence.get(name)) is not None]
        hit = sum(share > 0.01 for share in shares)
        count = f"{hit} of {len(shares)}" if shares else "an unknown number of"
        yield f"{words} {count} cells"
    links = [_gather(watched, name) for name in _PCIE]
    if all(links):
        yield f"PCIe generation {max(links[0]):.0f}, {max(links[1]):.0f} lanes under load"
    others = [
        value for one in cells if (value := one.evidence.get("gpu.other_processes")) is not None
    ]
    seen = sum(value > 0 for value in others)
    yield (
        f"another process on the GPU in {seen} of {len(others)} cells"
        if others
        else "other processes on the GPU unknown"
    )
    named = {one.facts.get(IS_NAMED) for one in _telemetries(watched)}
    if None in named and False not in named:
        yield "that the worker's GPU is the one looked at can't be told from outside"


def _word_cpu(watched: Sequence[Document]) -> Iterator[str]:
    clocks = _gather(watched, "cpu.clock_mhz")
    yield f"CPU clock {_span(clocks, 'MHz')}" if clocks else "CPU clock unknown"
    heat = _gather(watched, "cpu.temperature_c")
    if heat:
        yield f"CPU at most {max(heat):.0f} °C"
    events = [
        value
        for document in watched
        for cell in document.cells
        for name in ("cpu.throttle_events", "thermal_events")
        if (value := cell.evidence.get(name)) is not None
    ]
    hit = sum(value > 0 for value in events)
    yield (
        f"the CPU slowed itself down for heat in {hit} of {len(events)} cells"
        if events
        else "whether the CPU slowed itself down for heat is unknown"
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


def _gather_missing(watched: Sequence[Document]) -> list[str]:
    missing: dict[str, str] = {}
    for one in _telemetries(watched):
        missing.update(one.absent)
    return [f"{escape(name)} ({escape(reason)})" for name, reason in sorted(missing.items())]


def _telemetries(watched: Iterable[Document]) -> list[Telemetry]:
    return [one.telemetry for one in watched if one.telemetry is not None]


def _word_cost(summary: Summary) -> Iterator[str]:
    """What the sampler took, and what that did to the numbers where it was measured."""
    every = [*summary.loaded.documents, *summary.loaded.controls]
    used = [
        (cpu, wall)
        for one in _telemetries(every)
        if (cpu := _number(one.facts.get("sampler.cpu_s"))) is not None
        and (wall := _number(one.facts.get("sampler.wall_s"))) is not None
    ]
    if not used:
        return
    share = show_share(sum(cpu for cpu, _ in used), sum(wall for _, wall in used))
    effect = _word_effect(summary)
    yield f"Watching took {share} of one CPU's time; {effect}."


def _word_effect(summary: Summary) -> str:
    base = summary.base
    plan = summary.campaign
    other = next((one for one in summary.others if plan.arm(one).control == "again"), None)
    unwatched = (
        other is not None
        and any(one.telemetry for one in summary.counted[base].values())
        and not any(one.telemetry for one in summary.counted[other].values())
    )
    ratios = [
        ratio.value
        for one in summary.cells
        if unwatched and isinstance(ratio := one.ratios[str(other)], Ratio)
    ]
    if len(ratios) < 2:
        return "what that did to the numbers was not measured here (`make aa TELEMETRY=first` does)"
    low, middle, high = (
        math.exp(value) for value in statistics.quantiles(map(math.log, ratios), n=4)
    )
    unseen = "; no effect that this campaign could see" if low <= 1 <= high else ""
    return (
        f"measured against {escape(str(other))}, which nobody watched: that one takes {middle:.3f} times "
        f"as long, the middle half of {len(ratios)} cells {low:.3f} to {high:.3f}{unseen}"
    )


def _write_energy(page: Page, summary: Summary, arm: str) -> None:
    """Power, energy a call and work per energy of every cell whose energy was counted."""
    rows = []
    cells = [one.cell for one in summary.cells]
    names, _ = name_cells(cells, escape)
    for one in summary.cells:
        power = _mean_power(summary, one, arm)
        result = one.arms[arm]
        if power is None or result.estimate is None or result.invalid:
            continue
        energy = power * result.estimate.value
        rate = show_rate(result.work.amount, escape(result.work.unit), energy)
        rows.append(
            [
                names[one.cell.id],
                f"{power:.0f} W",
                show_energy(energy),
                NO_NUMBER if rate is None else rate.removesuffix("/s") + "/J",
            ]
        )
    if not rows:
        return
    columns = list(zip(*rows, strict=True))
    columns = [columns[0], *(tuple(align(column)) for column in columns[1:])]
    page.table(
        f"Table: energy on {escape(arm)}, of the GPU alone: its mean power while the cell warmed up "
        "and was sampled (energy counter over time), the energy of a call, and the work for it "
        "(per joule, which is the rate per watt).",
        ["cell", "mean power", "energy a call", "work for it"],
        [list(row) for row in zip(*columns, strict=True)],
        right=(1, 2, 3),
    )


def _mean_power(summary: Summary, one: CellSummary, arm: str) -> float | None:
    found = [
        power
        for block, document in summary.counted[arm].items()
        if block in one.arms[arm].readings
        for cell in document.cells
        if cell.id == one.cell.id
        and (power := cell.evidence.get("gpu.mean_power_w")) is not None
        and power > 0
    ]
    return statistics.fmean(found) if found else None


def _span(values: Sequence[float], unit: str) -> str:
    """``1,980 MHz (1,755 to 1,980)``: the median and the ends."""
    low, middle, high = min(values), statistics.median(values), max(values)
    ends = "" if f"{low:,.0f}" == f"{high:,.0f}" else f" ({low:,.0f} to {high:,.0f})"
    return f"{middle:,.0f} {unit}{ends}"


def _number(value: Scalar) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
