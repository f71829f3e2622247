"""The sentences and the small table that a report opens with, for Markdown and for a terminal.

Says what was measured and what was not, who wins how many cells, and where sweeps cross over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from suite.model import Scalar
from suite.report.accounting import find_deaths
from suite.report.cells import Show, list_families, name_cells
from suite.report.compare import Ratio
from suite.report.crossover import Crossover
from suite.report.statistics import FEWEST
from suite.report.summary import CellSummary, Summary
from suite.report.units import show_bytes, show_duration, show_ratio
from suite.report.verdicts import Verdict, VerdictName

_PROVISIONAL = frozenset({"smoke", "quick"})
"""Profiles whose intervals are marked provisional."""

_VERDICTS: Mapping[VerdictName, str] = {
    "FASTER": "faster",
    "SLOWER": "slower",
    "EQUIVALENT": "equivalent",
    "INCONCLUSIVE": "inconclusive",
    "INVALID": "invalid",
}


def name_machine(summary: Summary, show: Show) -> str:
    """The machine in one line, from the facts of the first document that has each."""
    found: dict[str, Scalar] = {}
    for document in summary.loaded.documents:
        for name, value in document.facts.items():
            if value is not None:
                found.setdefault(name, value)
    parts = [show(str(found.get("cpu.model", "unknown processor")))]
    if "cpu.usable" in found:
        usable, count = found["cpu.usable"], found.get("cpu.count")
        of = f" of {show(str(count))}" if count is not None and count != usable else ""
        parts.append(f"{show(str(usable))}{of} logical CPUs used")
    memory = found.get("memory.bytes")
    if isinstance(memory, int | float) and memory > 0:
        parts.append(f"{show_bytes(memory)} of memory")
    gpus = [show(str(v)) for k, v in found.items() if k.startswith("gpu.") and k.endswith(".name")]
    parts.append(", ".join(gpus) if gpus else "no GPU seen")
    return "; ".join(parts)


def narrate(summary: Summary, show: Show) -> list[str]:
    """The opening sentences: arms, what became of the cells, who wins, where sweeps cross over."""
    campaign = summary.campaign
    arms = ", ".join(map(show, campaign.arms))
    cells = _count(len(campaign.cells), "cell")
    on = f"{_count(len(campaign.arms), 'arm')}: {arms}"
    sentences = [f"A campaign of {cells} (profile {campaign.profile}) on {on}."]
    for arm in campaign.arms:
        done = len(summary.counted[arm])
        sentences.append(
            f"{show(arm)}: {_count(done, 'block')} of {campaign.blocks} done, "
            f"{count_outcomes(summary.cells, arm)}."
        )
    for arm, reason in campaign.not_run.items():
        sentences.append(f"{show(arm)} was not run: {show(reason)}.".replace("..", "."))
    if campaign.stopped:
        sentences.append(f"The campaign ended early: {show(campaign.stopped)}.".replace("..", "."))
    deaths = len(find_deaths([*summary.loaded.documents, *summary.loaded.controls]))
    if deaths:
        sentences.append(f"{_count(deaths, 'container')} died on the way (below).")
    if campaign.prediction.actual_s > 0:
        took = show_duration(campaign.prediction.actual_s)
        sentences.append(f"It took {took} of container time.")
    fewest = min(len(blocks) for blocks in summary.counted.values())
    if fewest < FEWEST:
        sentences.append(f"Under {FEWEST} blocks there are values but no intervals.")
    elif campaign.profile in _PROVISIONAL:
        sentences.append(f"The intervals of the profile {campaign.profile} are provisional.")
    return [*sentences, *tell_conclusions(summary, show)]


def tell_conclusions(summary: Summary, show: Show) -> list[str]:
    """Who wins how many cells, and where, or why nobody can say so."""
    sentences = []
    for other in summary.others:
        sentences += [count_verdicts(summary, other, show), *tell_crossovers(summary, other, show)]
    if summary.fault:
        sentences.append(f"THE CAMPAIGN IS INVALID: {show(summary.fault[1])}.")
    return sentences or [
        "With one arm there is nothing to compare: times and rates only, no verdicts."
    ]


def count_verdicts(summary: Summary, other: str, show: Show) -> str:
    """One comparison in one sentence: ``cuda against cpu: faster in 31 of 60 cells, …``."""
    names = [
        found.name for one in summary.cells if isinstance(found := one.verdicts[other], Verdict)
    ]
    against = f"{show(other)} against {show(summary.base)}"
    if not names:
        return (
            f"{against}: no verdicts; a ratio whose interval excludes 1 is a hint, not a finding."
        )
    counts = Counter(names)
    parts = [f"{_VERDICTS[name]} in {counts[name]}" for name in _VERDICTS if counts[name]]
    return f"{against}: of {_count(len(names), 'cell')} {', '.join(parts)}."


def tell_crossovers(summary: Summary, other: str, show: Show) -> list[str]:
    """Where each sweep crosses over, a sentence each; sweeps without an answer are left out."""
    sentences = []
    for sweep, found in summary.conclusions.crossovers.get(other, ()):
        where = show(f"{sweep.scenario}.{sweep.case}")
        values = ", ".join(f"{name}={value}" for name, value in sweep.fixed.items())
        where += f" ({show(values)})" if values else ""
        if found.answer in {"always", "never"}:
            winner = other if found.answer == "always" else summary.base
            sentences.append(f"{where}: {show(winner)} always, at every {show(sweep.axis)}.")
        elif found.answer == "not monotone":
            sentences.append(f"{where}: not monotone, the winner changes more than once.")
        elif found.answer == "crosses":
            winner = other if found.rising else summary.base
            span = _show_span(found)
            sentences.append(f"{where}: {show(winner)} wins from {show(sweep.axis)} {span} on.")
    return sentences


def _show_span(found: Crossover) -> str:
    if found.low is None:
        return f"under {_show_size(found.high)}, if not always,"
    if found.high is None:
        return f"over {_show_size(found.low)}, if at all,"
    return f"between {_show_size(found.low)} and {_show_size(found.high)}"


def _show_size(size: float | None) -> str:
    return "?" if size is None else f"{size:.3g}" if size < 1000 else f"{size:,.0f}"


def count_outcomes(cells: Sequence[CellSummary], arm: str) -> str:
    """What became of these cells on an arm: ``58 of 60 cells measured, 2 skipped``."""
    results = [one.arms[arm] for one in cells]
    counts = Counter(result.outcome for result in results if result.outcome != "measured")
    numbers = sum(result.estimate is not None for result in results)
    parts = [f"{numbers} of {len(results)} measured"]
    parts += [f"{counts[name]} {name}" for name in ("skipped", "failed", "pending") if counts[name]]
    refused = len(results) - numbers - counts.total()
    if refused:
        parts.append(f"{refused} without a number")
    return ", ".join(parts)


def list_by_family(
    summary: Summary, show: Show, *, named: bool = True
) -> tuple[list[str], list[list[str]]]:
    """Headers and rows of the small table: by family what was measured, and the ratios' ends.

    ``named``: with the names of the cells at those ends.
    """
    headers = ["family", *(f"{show(arm)}, cells" for arm in summary.campaign.arms)]
    for other in summary.others:
        against = f"{show(other)} against {show(summary.base)}"
        headers += [f"{against}, at worst", f"{against}, at best"]
    names = name_cells([one.cell for one in summary.cells], show)[0] if named else {}
    rows = []
    for family in list_families(one.cell for one in summary.cells):
        cells = [one for one in summary.cells if one.cell.scenario == family]
        row = [show(family), *(count_outcomes(cells, arm) for arm in summary.campaign.arms)]
        for other in summary.others:
            valid = [one for one in cells if not is_invalid(one, summary.base, other)]
            row += _show_ends(valid, names, show(other), show(summary.base), other)
        rows.append(row)
    return headers, rows


def is_invalid(one: CellSummary, base: str, other: str) -> bool:
    """Whether a comparison of these arms must not be believed."""
    return any(one.arms[arm].fault for arm in (base, other))


def _show_ends(
    cells: Sequence[CellSummary], names: Mapping[str, str], shown: str, base: str, other: str
) -> tuple[str, str]:
    found = [
        (r.value, one.cell.id, r) for one in cells if isinstance(r := one.ratios[other], Ratio)
    ]
    if not found:
        return "no valid pair", "no valid pair"
    ends = []
    for _, name, ratio in (max(found, key=lambda f: f[:2]), min(found, key=lambda f: f[:2])):
        words = show_ratio(ratio.value, ratio.low, ratio.high, other=shown, base=base)
        ends.append(f"{words}: {names[name]}" if name in names else words)
    return ends[0], ends[1]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
