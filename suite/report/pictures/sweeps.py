"""The pictures of the sweeps that a report opens with: time, or throughput, against size."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from suite.analysis.result.campaign import Analysis, SweepAnalysis
from suite.analysis.result.cells import ArmResult
from suite.analysis.result.numbers import Crossover
from suite.cells.families import FAMILIES, Family
from suite.cells.traits import Headline
from suite.report.pictures.captions import (
    explain_marks,
    mark_rate,
    mark_time,
    tell_missing,
    title_picture,
)
from suite.report.pictures.picture import Line, Mark, Panel, Picture, Span, Sweeps
from suite.report.text.crossovers import tell_apart, word_best, word_crossover
from suite.report.text.units import name_rate, show_rate, show_seconds, show_size

Take = Callable[[ArmResult], Mark | None]
Word = Callable[[float], str]


def depict_sweeps(analysis: Analysis, headline: Headline) -> Picture | None:
    """The sweeps that the report opens with, as times (of the longest) or as rates (a panel each kin);
    None where there is nothing to draw."""
    sweeps = [one for one in analysis.main_sweeps if one.headline == headline]
    family = FAMILIES.get(sweeps[0].scenario) if sweeps else None
    if family is None:
        return None
    if headline == "time":
        return _depict(analysis, sweeps[:1], family, unit="s", take=mark_time, word=show_seconds)
    counted = sweeps[0].unit
    unit = name_rate(counted)
    return _depict(
        analysis,
        sweeps,
        family,
        unit=unit,
        take=mark_rate,
        word=lambda rate: show_rate(rate, counted, 1.0) or "",
    )


def _depict(
    analysis: Analysis,
    sweeps: list[SweepAnalysis],
    family: Family,
    *,
    unit: str,
    take: Take,
    word: Word,
) -> Picture | None:
    drawn = [(sweep, _make_panel(analysis, sweep, take)) for sweep in sweeps]
    drawn = [(sweep, panel) for sweep, panel in drawn if any(map(_find_ends, panel.lines))]
    if not drawn:
        return None
    panels = tuple(panel for _, panel in drawn)
    shown = [sweep for sweep, _ in drawn]
    title = f"{family.subject}: {'; '.join(_state(analysis, sweep, shown) for sweep in shown)}"
    marks = [mark for panel in panels for line in panel.lines for _, mark in line.marks]
    spans = [span for panel in panels for span in panel.spans]
    missing = [text for sweep, panel in drawn for text in _list_missing(sweep, panel)]
    aids = [*explain_marks(marks), *tell_missing(missing)]
    if spans:
        aids.insert(0, "The winner changes within the shaded range, whose ends are measured sizes.")
    told = [text for panel in panels for text in _describe(panel, word)]
    return title_picture(
        analysis,
        family.name,
        title,
        Sweeps(unit=unit, y_label=family.drawn.format(unit=unit), panels=panels),
        caption=[family.reading.format(Unit=unit.capitalize()), *aids],
        told=[*told, *tell_missing(missing)],
        tables=[family.name],
    )


def _make_panel(analysis: Analysis, sweep: SweepAnalysis, take: Take) -> Panel:
    by_id = {one.id: one for one in analysis.cells}
    sizes = [float(by_id[name].params[sweep.axis]) for name in sweep.cells]
    lines = []
    for arm in analysis.arms:
        marks = [take(by_id[name].arms[arm]) for name in sweep.cells]
        lines.append(Line(arm=arm, marks=tuple(zip(sizes, marks, strict=True))))
    spans = [
        Span(low=found.low, high=found.high, label=_label_span(analysis, other, found))
        for other in analysis.others
        if (found := sweep.crossovers[other]).answer == "crosses"
    ]
    return Panel(
        title=_name(sweep),
        x_label=sweep.axis,
        lines=tuple(lines),
        spans=tuple(spans),
    )


def _name(sweep: SweepAnalysis) -> str:
    fixed = ", ".join(f"{name}={value}" for name, value in sweep.fixed.items())
    return f"{sweep.scenario}.{sweep.case}" + (f" ({fixed})" if fixed else "")


def _label_span(analysis: Analysis, other: str, found: Crossover) -> str:
    winner = other if found.rising else analysis.base
    low, high = (show_size(one or 0.0) for one in (found.low, found.high))
    return f"{winner} wins from {low}–{high} on"


def _state(analysis: Analysis, sweep: SweepAnalysis, among: list[SweepAnalysis]) -> str:
    """What the sweep shows, in half a sentence: who wins from where, or how far one arm comes."""
    telling = ", ".join(f"{name}={value}" for name, value in tell_apart(sweep, among).items())
    which = f"{telling}: " if telling else ""
    found = [(sweep.crossovers[other], other) for other in analysis.others]
    answered = [pair for pair in found if pair[0].wins or pair[0].loses] or found[:1]
    if answered:
        return which + "; ".join(
            word_crossover(one, sweep.axis, other, analysis.base) for one, other in answered
        )
    reaches = [
        f"{arm} reaches {word_best(reach)}"
        for arm in analysis.arms
        if (reach := sweep.reaches.get(arm))
    ]
    return which + ("; ".join(reaches) or "too few numbers to say anything")


def _find_ends(line: Line) -> tuple[tuple[float, Mark], tuple[float, Mark]] | None:
    """The first and the last size of a line that have a mark."""
    there = [(size, mark) for size, mark in line.marks if mark is not None]
    return (there[0], there[-1]) if there else None


def _describe(panel: Panel, word: Word) -> Iterable[str]:
    for line in panel.lines:
        ends = _find_ends(line)
        if ends is None:
            continue
        told = [
            f"{word(mark.value)}{' (invalid)' if mark.struck else ''} at {panel.x_label} = "
            f"{show_size(size)}"
            for size, mark in dict(ends).items()
        ]
        yield f"{panel.title}, {line.arm}: {', '.join(told)}."


def _list_missing(sweep: SweepAnalysis, panel: Panel) -> Iterable[str]:
    net = sweep.fixed.get("net")
    where = f" (net {net!s})" if net is not None else ""
    for line in panel.lines:
        sizes = [show_size(size) for size, mark in line.marks if mark is None]
        if sizes:
            yield f"{line.arm} at {panel.x_label} = {', '.join(sizes)}{where}"
