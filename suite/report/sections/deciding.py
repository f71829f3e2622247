"""The tables of the brief: the few cells that decide, and what is typical of a family of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from suite.analysis.result.campaign import Analysis, FamilyMean
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import EQUIVALENCE, WORK_LEVEL, Ratio, Verdict, VerdictName
from suite.cells.families import name_title
from suite.flags import Flag
from suite.report.sections.tables.cells import show_arm_ratio, show_time
from suite.report.text.crossovers import describe_fixed, describe_work, name_size, read_size
from suite.report.text.names import name_cells, name_fixed, sort_cells
from suite.report.text.page import NO_NUMBER, Cell, Page, Row, point_to_rows
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    end_sentence,
    show_bytes,
    show_energy,
    show_inner,
    show_level,
    show_margin,
    show_p,
    show_ratio,
    show_share,
)
from suite.report.text.wording import word

MOST_ARMS = 2
"""Arms beside the first that a table of the brief has room for."""


MOST_CELLS = 10
"""The cells that decide, of a campaign that has many."""


def write_deciding(page: Page, analysis: Analysis, most: int = MOST_CELLS) -> None:
    """At most so many of the cells that decide, with their numbers and how sure these are; and how many more
    the report has."""
    chosen = _choose_cells(analysis)
    cells = chosen[:most]
    names = name_cells(analysis.cells) | name_sizes(analysis)
    names |= {
        cell: f"as posted: {script}, wrong winner" for cell, script in _find_misleading(analysis)
    }
    rows = [{"cell": names[cell.id], **_show_cell(analysis, cell)} for cell in sort_cells(cells)]
    if gpu := analysis.gpu:
        used = [_show_use(cell, gpu) for cell in sort_cells(cells)]
        for what in ("peak memory", "energy a call"):
            if any(use[what] for use in used):
                rows = [
                    {**row, f"{gpu}: {what}": use[what] or NO_NUMBER}
                    for row, use in zip(rows, used, strict=True)
                ]
    caption = TEXTS["captions"]["deciding" if analysis.leading else "ends"]
    page.table(caption.format(rule=_describe_rule(analysis)), rows)
    absent = (
        end_sentence(word(verdict))
        for cell in cells
        for verdict in (cell.verdicts[other] for other in analysis.leading[:MOST_ARMS])
        if isinstance(verdict, Flag)
    )
    for sentence in dict.fromkeys(absent):
        page.paragraph(sentence)
    if len(chosen) > most:
        page.blocks.append(point_to_rows(len(chosen) - most))


def name_sizes(analysis: Analysis) -> dict[str, str]:
    """The cells of the main sweeps in plain words: ``training steps, network A, batch 512``."""
    names = {}
    for sweep in analysis.main_sweeps:
        fixed = describe_fixed(sweep, analysis.main_sweeps)
        for cell in analysis.cells:
            if (number := read_size(sweep, cell)) is not None:
                size = name_size(sweep.axis, number)
                names[cell.id] = ", ".join(filter(None, [describe_work(sweep), fixed, size]))
    return names


def _describe_rule(analysis: Analysis) -> str:
    """What a verdict takes, where any cell of work has one."""
    verdicts = [v for cell in analysis.work for v in cell.verdicts.values()]
    if not any(isinstance(verdict, Verdict) and verdict.p is not None for verdict in verdicts):
        return ""
    return TEXTS["about"]["deciding"].format(
        cells=len(analysis.work),
        level=show_level(WORK_LEVEL, analysis.share),
        margin=show_margin(analysis.margin, analysis.share),
        confidence=show_inner(analysis.share),
        equal=show_share(EQUIVALENCE),
    )


def _show_cell(analysis: Analysis, cell: CellAnalysis) -> Row:
    others = analysis.leading[:MOST_ARMS]
    row: dict[str, str | Cell] = {
        arm: _strip(show_time(cell.arms[arm])) for arm in (analysis.base, *others)
    }
    for other in others:
        about = f" {other}" if len(others) > 1 else ""
        row[f"{other} against {analysis.base}"] = _strip(show_arm_ratio(cell, other, analysis.base))
        row[f"p, n{about}"] = _show_p(cell, other)
        row[f"verdict{about}"] = _name_verdict(cell.verdicts[other], analysis.base, other)
    return row


def _strip(cell: Cell) -> Cell:
    """The cell without its footnotes, which the brief has no room for."""
    return replace(cell, notes=())


def _show_p(cell: CellAnalysis, other: str) -> str:
    """``p=0.002 n=5``, as benchstat has it; without a p-value the pairs alone."""
    ratio, verdict = cell.ratios[other], cell.verdicts[other]
    if not isinstance(ratio, Ratio):
        return NO_NUMBER
    p = verdict.p if isinstance(verdict, Verdict) else None
    if p is None:
        return f"n={ratio.n}"
    return f"{'p<0.001' if p < 0.001 else f'p={show_p(p)}'} n={ratio.n}"


def _name_verdict(verdict: object, base: str, other: str) -> str:
    if not isinstance(verdict, Verdict):
        return "no verdict"
    words: Mapping[VerdictName, str] = {
        "FASTER": f"{other} wins",
        "SLOWER": f"{base} wins",
        "EQUIVALENT": "equivalent",
        "INCONCLUSIVE": "undecided",
        "INVALID": "INVALID",
    }
    return words[verdict.name]


def _show_use(cell: CellAnalysis, gpu: str) -> dict[str, str]:
    """The GPU's memory and energy; empty where they were not measured."""
    result = cell.arms[gpu]
    power, memory = result.mean_power_w, result.peak_memory_bytes
    energy = power * result.value if power and result.value and not result.invalid else None
    return {
        "peak memory": show_bytes(memory) if memory else "",
        "energy a call": show_energy(energy) if energy else "",
    }


def _find_misleading(analysis: Analysis) -> list[tuple[str, str]]:
    """Of each script that names the wrong winner as posted the last size, by its first step's cell, and what
    it is called."""
    wrong = {gap.cell for gap in analysis.find("gap", verdict="wrong-winner")}
    last = {
        waterfall.name: (waterfall.steps[0].cell, name_fixed(waterfall.name, waterfall.fixed))
        for waterfall in analysis.waterfalls
        if waterfall.posted and waterfall.steps[0].cell in wrong
    }
    return list(last.values())


def _choose_cells(analysis: Analysis) -> list[CellAnalysis]:
    """Both ends of each crossover, training first; the largest win and loss; scripts that mislead; the
    largest size at which either arm wins; and the largest and the smallest sizes."""
    by_id = {cell.id: cell for cell in analysis.cells}
    ids = [
        *_list_ends(analysis),
        *_list_extremes(analysis),
        *(cell for cell, _ in _find_misleading(analysis)),
        *_list_last(analysis),
        *(sweep.cells[end] for end in (-1, 0) for sweep in analysis.main_sweeps),
    ]
    chosen = ids or [cell.id for cell in analysis.work or analysis.cells]
    return [by_id[name] for name in list(dict.fromkeys(chosen))[:MOST_CELLS]]


def _list_ends(analysis: Analysis) -> Iterator[str]:
    for sweep in sorted(analysis.main_sweeps, key=lambda sweep: sweep.headline == "time"):
        for other in analysis.leading:
            crossover = sweep.crossovers[other]
            for cell in analysis.cells:
                size = read_size(sweep, cell)
                if size is not None and size in {crossover.low, crossover.high}:
                    yield cell.id


def _list_last(analysis: Analysis) -> Iterator[str]:
    """Of each main sweep the cells of the largest sizes that either arm wins."""
    for sweep in analysis.main_sweeps:
        for other in analysis.leading:
            last: dict[str, tuple[float, str]] = {}
            for cell in analysis.cells:
                size, verdict = read_size(sweep, cell), cell.verdicts[other]
                if size is not None and isinstance(verdict, Verdict) and verdict.names_winner:
                    last[verdict.name] = max(
                        last.get(verdict.name, (size, cell.id)), (size, cell.id)
                    )
            yield from (name for _, name in last.values())


def _list_extremes(analysis: Analysis) -> Iterator[str]:
    """The cells of the largest win and loss of an arm by verdicts; steps of scripts stand apart."""
    for other in analysis.leading:
        called: dict[str, list[tuple[float, str]]] = {"FASTER": [], "SLOWER": []}
        for cell in analysis.work:
            verdict, ratio = cell.verdicts[other], cell.ratios[other]
            if not cell.staged and isinstance(verdict, Verdict) and isinstance(ratio, Ratio):
                called.get(verdict.name, []).append((ratio.value, cell.id))
        if called["FASTER"]:
            yield min(called["FASTER"])[1]
        if called["SLOWER"]:
            yield max(called["SLOWER"])[1]


def write_means(page: Page, analysis: Analysis, most: int) -> None:
    """A row a family and arm: the geometric mean of its ratios, and how often who wins."""
    base = analysis.base
    arms = analysis.leading[:MOST_ARMS]
    shown = [mean for mean in analysis.means if mean.arm in arms][:most]
    several = len(arms) > 1
    rows: list[Row] = [
        {
            "family": _name_family(mean),
            **({"arm": mean.arm} if several else {}),
            "cells in the mean": f"{mean.counted} of {mean.cells}",
            f"geometric mean, against {base}": NO_NUMBER
            if mean.ratio is None
            else show_ratio(mean.ratio, other=mean.arm, base=base),
            f"{'the arm' if several else mean.arm} wins, {base} wins, equal, undecided": _count(
                mean
            ),
        }
        for mean in shown
    ]
    page.table(TEXTS["captions"]["means"], rows)


def _name_family(mean: FamilyMean) -> str:
    name, title = mean.family + ", step by step" * mean.staged, name_title(mean.family)
    return f"{name}: {title}" if title else name


def _count(mean: FamilyMean) -> str:
    counts = (mean.wins, mean.loses, mean.equal, mean.undecided)
    return ", ".join(map(str, counts)) if any(counts) else "no verdicts"
