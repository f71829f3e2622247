"""What the machine did while it measured, in words and one table: clocks, power, heat, throttling.

Tells what telemetry saw beside the counted blocks' cells; a counter that is missing is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from suite.analysis.result.arms import (
    Health,
    Share,
    Span,
    Watched,
    WatchedGpu,
    WatchEffect,
    Watching,
)
from suite.analysis.result.campaign import Analysis
from suite.report.text.names import name_cells
from suite.report.text.page import NO_NUMBER, Code, Page, Row, Runs
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    join_first,
    show_bytes,
    show_energy,
    show_part,
    show_power,
    show_rate,
    show_things,
)
from suite.report.text.wording import describe_growth, name_xid

_LISTED = 12
"""No list of what is missing is longer; the rest is counted."""


def write_telemetry(page: Page, analysis: Analysis) -> None:
    """What was seen of the machine on each arm, and what watching cost."""
    page.heading("The machine during the measurement", level=3)
    page.bullets([*describe_arms(analysis), *_describe_cost(analysis.watching)])


def describe_arms(analysis: Analysis) -> Iterator[str]:
    """What was seen of the machine on each arm, and what was not; what is so on several arms once."""
    arms: dict[str, list[str]] = {}
    for arm in analysis.arms:
        for sentence in _describe_arm(analysis, arm):
            arms.setdefault(sentence, []).append(arm)
    for sentence, names in arms.items():
        yield f"{', '.join(names)}{sentence}"


def _describe_arm(analysis: Analysis, arm: str) -> Iterator[str]:
    """The sentences on an arm, without its name."""
    details = analysis.arms[arm]
    watched, blocks = details.watched, len(details.blocks)
    if not watched.blocks:
        why = "; ".join(watched.reasons) or "no document yet"
        yield f": clocks, power, heat and throttling unknown: {why}."
        return
    if blind := blocks - watched.blocks:
        yield f": {blind} of {blocks} blocks unwatched."
    if watched.gpu:
        yield f": {'; '.join(_describe_gpu(watched.gpu))}."
    if details.health:
        yield f": memory health: {describe_health(details.health)}."
    yield f": {'; '.join(_describe_cpu(watched))}."
    absent, card = watched.absent, list[str]()
    if any(flag.code == "sliced" and flag.where["arm"] == arm for flag in analysis.hardware):
        absent = {name: why for name, why in absent.items() if not name.startswith("gpu.")}
        card = [f"{len(watched.absent) - len(absent)} readings of the card, as on any slice"]
    # By their reason, which several have in common.
    whys: dict[str, list[str]] = {}
    for name, why in absent.items():
        whys.setdefault(why, []).append(name)
    texts = [*card, *(f"{join_first(_LISTED, names)} ({why})" for why, names in whys.items())]
    if texts:
        yield f": unknown here: {join_first(_LISTED, texts)}."


def _describe_gpu(gpu: WatchedGpu) -> Iterator[str]:
    if gpu.count is not None:
        yield f"{show_things(round(gpu.count), 'GPU')} in the machine"
    if gpu.memory_bytes is not None and gpu.memory_bytes > 0:
        yield f"{show_bytes(gpu.memory_bytes)} of memory"
    if gpu.clock_mhz:
        most = gpu.most_clock_mhz
        of = "" if most is None else f", of at most {most:,.0f} MHz"
        yield f"GPU clock {_format_span(gpu.clock_mhz, 'MHz')}{of}"
    if gpu.power_w:
        limit, usual = gpu.power_limit_w, gpu.power_default_w
        of = "" if limit is None else f", limit {limit:,.0f} W"
        of += f" (by default {usual:,.0f} W)" if limit and usual else ""
        yield f"power {_format_span(gpu.power_w, 'W')}{of}"
    if gpu.temperature_c is not None:
        yield f"at most {gpu.temperature_c:.0f} °C"
    unknown = "an unknown number of cells"
    yield f"held back by the power limit in {_count(gpu.capped) or unknown}"
    yield f"slowed down by heat or hardware in {_count(gpu.slowed) or unknown}"
    if gpu.pcie_generation is not None and gpu.pcie_lanes is not None:
        most, lanes = gpu.most_pcie_generation, gpu.most_pcie_lanes
        of = f" (of at most {most:.0f}, {lanes:.0f} lanes)" if most and lanes else ""
        yield f"PCIe generation {gpu.pcie_generation:.0f}, {gpu.pcie_lanes:.0f} lanes under load{of}"
    shared = _count(gpu.shared)
    other = f"another process on the GPU in {shared}"
    yield other if shared else "other processes on the GPU unknown"
    if not gpu.named:
        yield "whether this is the worker's GPU can't be verified from outside"


def describe_health(health: Health) -> str:
    """What the driver counted of the GPU's memory and link, and what it does not tell."""
    known: list[str] = []
    unknown: list[str] = []
    for what, names in _COUNTED.items():
        count = next((health.counts[name] for name in names if name in health.counts), None)
        if count is None:
            unknown.append(what)
            continue
        ever = health.counts.get(f"{names[0]}_ever")
        of = f" ({ever.last:,.0f} ever)" if ever and ever.last > count.last else ""
        new = f", grown by {count.grown:,.0f} {describe_growth(count.within, count.before)}"
        known.append(f"{what}: {count.last:,.0f}{of}{new if count.grown else ''}")
    if health.xids is None:
        unknown.append("XIDs")
    else:
        heard = [name_xid(number, blocks) for number, blocks in health.xids.items()]
        known.append(", ".join(heard) or "no XID")
    waits = [name for name, is_so in health.states.items() if is_so and name.endswith("pending")]
    known += [TEXTS["faults"][name] for name in waits]
    if not known:
        return "unknown, as the driver tells nothing of it"
    return "; ".join([*known, *([f"unknown: {', '.join(unknown)}"] if unknown else [])])


_COUNTED = {
    "errors that ECC could not correct": ("memory_errors",),
    "errors that ECC corrected": ("corrected_errors",),
    "bad rows or pages replaced": ("rows_remapped", "pages_retired"),
    "packets repeated on the PCIe link": ("pcie_replays",),
}
"""What is said of a GPU's counters, and those that tell it, of which a card has one."""


def _describe_cpu(watched: Watched) -> Iterator[str]:
    clock = watched.cpu_clock_mhz
    yield f"CPU clock {_format_span(clock, 'MHz')}" if clock else "CPU clock unknown"
    if watched.cpu_temperature_c is not None:
        yield f"CPU at most {watched.cpu_temperature_c:.0f} °C"
    slowed = _count(watched.cpu_slowed) if watched.cpu_slowed else None
    throttled = f"the CPU throttled due to heat in {slowed}"
    yield throttled if slowed else "CPU throttling due to heat is unknown"


def _describe_cost(watching: Watching | None) -> Iterator[Runs]:
    """What the sampler took, and what that did to the numbers where it was measured."""
    if watching is None:
        return
    share = show_part(watching.cpu_s, watching.wall_s)
    yield (f"Telemetry took {share} of one CPU's time; ", *_describe_effect(watching.effect), ".")


def _describe_effect(effect: WatchEffect | None) -> Runs:
    if effect is None:
        unknown = "its effect on the numbers was not measured here ("
        return unknown, Code("make bench ARMS='cpu cpu' TELEMETRY=first"), " does)"
    low, middle, high = effect.quartiles.low, effect.quartiles.middle, effect.quartiles.high
    unseen = "; no effect that this campaign could see" if low <= 1 <= high else ""
    how = f"{middle:.3f} times as long, the middle half of {effect.cells} cells {low:.3f} to {high:.3f}"
    return (f"measured against {effect.arm}, which ran without it and takes {how}{unseen}",)


def write_energy(page: Page, analysis: Analysis) -> None:
    """The appendix's part on power, energy a call and work per energy; absent where no energy was counted."""
    tables = {arm: _list_energy(analysis, arm) for arm in analysis.arms}
    if any(tables.values()):
        page.heading("Power and energy", level=3)
    for arm, rows in tables.items():
        page.table(TEXTS["captions"]["energy"].format(arm=arm), rows)


def _list_energy(analysis: Analysis, arm: str) -> list[Row]:
    rows: list[Row] = []
    names = name_cells(analysis.cells)
    for cell in analysis.cells:
        result = cell.arms[arm]
        power = result.mean_power_w
        if power is None or result.value is None or result.invalid:
            continue
        energy = power * result.value
        rate = show_rate(result.work.amount, result.work.unit, energy, per="J")
        rows.append(
            {
                "cell": names[cell.id],
                "mean power": show_power(power),
                "energy per call": show_energy(energy),
                "work per joule": rate or NO_NUMBER,
            }
        )
    return rows


def _format_span(span: Span, unit: str) -> str:
    """``1,980 MHz (1,755 to 1,980)``: the median and the ends."""
    low, high = f"{span.low:,.0f}", f"{span.high:,.0f}"
    return f"{span.middle:,.0f} {unit}" + ("" if low == high else f" ({low} to {high})")


def _count(share: Share) -> str | None:
    """``3 of 12 cells``; None: it is known of none."""
    return f"{share.seen} of {share.of} cells" if share.of else None
