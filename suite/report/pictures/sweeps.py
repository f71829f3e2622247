"""The pictures of the sweeps that a report opens with: time, or throughput, against size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from suite.analysis.result.campaign import Analysis, SweepAnalysis
from suite.analysis.result.cells import ArmResult
from suite.analysis.result.numbers import Crossover
from suite.cells.families import FAMILIES
from suite.cells.traits import Headline
from suite.report.pictures.captions import mark_rate, mark_time, title_picture, word_mark
from suite.report.pictures.picture import Mark, Panel, Picture, Span, Sweeps
from suite.report.text.crossovers import tell_apart, word_best, word_crossover
from suite.report.text.names import list_values, name_fixed
from suite.report.text.units import name_rate, show_rate, show_seconds, show_size


def depict_sweeps(analysis: Analysis, headline: Headline) -> Picture | None:
    """The sweeps that the report opens with, as times (of the longest) or as rates (a panel for each kind of
    work); None where there is nothing to draw."""
    sweeps = [one for one in analysis.main_sweeps if one.headline == headline]
    family = FAMILIES.get(sweeps[0].scenario) if sweeps else None
    if family is None:
        return None
    timed, counted = headline == "time", sweeps[0].unit
    unit = "s" if timed else name_rate(counted)

    def word(value: float) -> str:
        return show_seconds(value) if timed else show_rate(value, counted, 1.0) or ""

    made = [(one, _make_panel(analysis, one)) for one in (sweeps[:1] if timed else sweeps)]
    drawn = [(sweep, panel) for sweep, panel in made if any(panel.found.values())]
    if not drawn:
        return None
    shown, panels = zip(*drawn, strict=True)
    shaded = "The winner changes within the shaded range, whose ends are measured sizes."
    return title_picture(
        analysis,
        family.name,
        f"{family.subject}: {'; '.join(_state(analysis, sweep, shown) for sweep in shown)}",
        Sweeps(unit=unit, label=family.drawn.format(unit=unit), panels=panels),
        caption=[
            family.reading.format(Unit=unit.capitalize()),
            *([shaded] if any(panel.spans for panel in panels) else []),
        ],
        told=[text for panel in panels for text in _describe_ends(panel, word)],
        missing=[text for sweep, panel in drawn for text in _list_missing(sweep, panel)],
        tables=[family.name],
    )


def _make_panel(analysis: Analysis, sweep: SweepAnalysis) -> Panel[float]:
    by_id = {one.id: one for one in analysis.cells}
    cells = [by_id[name] for name in sweep.cells]
    mark: Callable[[ArmResult], Mark | None] = mark_time if sweep.headline == "time" else mark_rate
    crossed = {other: sweep.crossovers[other] for other in analysis.leading}
    return Panel(
        title=name_fixed(f"{sweep.scenario}.{sweep.case}", sweep.fixed),
        places=tuple(float(one.params[sweep.axis]) for one in cells),
        marks={arm: tuple(mark(one.arms[arm]) for one in cells) for arm in analysis.arms},
        axis=sweep.axis,
        spans=tuple(
            _make_span(found, other if found.rising else analysis.base)
            for other, found in crossed.items()
            if found.answer == "crosses"
        ),
    )


def _make_span(found: Crossover, winner: str) -> Span:
    low, high = (show_size(one or 0.0) for one in (found.low, found.high))
    return Span(low=found.low, high=found.high, label=f"{winner} wins from {low}–{high} on")


def _state(analysis: Analysis, sweep: SweepAnalysis, among: Sequence[SweepAnalysis]) -> str:
    """What the sweep shows, in half a sentence: who wins from where, or how far one arm comes."""
    telling = list_values(tell_apart(sweep, among))
    found = [(sweep.crossovers[other], other) for other in analysis.leading]
    answered = [pair for pair in found if pair[0].wins or pair[0].loses] or found[:1]
    said = [word_crossover(one, sweep.axis, other, analysis.base) for one, other in answered] or [
        f"{arm} reaches {word_best(sweep.reaches[arm])}"
        for arm in analysis.arms
        if arm in sweep.reaches
    ]
    which = f"{telling}: " if telling else ""
    return which + ("; ".join(said) or "too few numbers to say anything")


def _describe_ends(panel: Panel[float], word: Callable[[float], str]) -> Iterator[str]:
    """By arm the numbers of the first and the last size that have one."""
    for arm, found in panel.found.items():
        told = [
            f"{word_mark(mark, word)} at {panel.axis} = {show_size(size)}" for size, mark in found
        ]
        if told:
            yield f"{panel.title}, {arm}: {', '.join(dict.fromkeys((told[0], told[-1])))}."


def _list_missing(sweep: SweepAnalysis, panel: Panel[float]) -> Iterator[str]:
    where = f" (net {sweep.fixed['net']})" if "net" in sweep.fixed else ""
    for arm, marks in panel.marks.items():
        sizes = zip(panel.places, marks, strict=True)
        if lost := ", ".join(show_size(size) for size, mark in sizes if mark is None):
            yield f"{arm} at {panel.axis} = {lost}{where}"
