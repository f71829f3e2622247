"""The pictures of the sweeps that a report opens with: time, or throughput, against size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from suite.analysis.result.campaign import Analysis, SweepAnalysis
from suite.analysis.result.cells import ArmResult
from suite.analysis.result.numbers import Crossover
from suite.cells.families import FAMILIES
from suite.cells.traits import Headline
from suite.report.pictures.captions import mark_rate, mark_time, title_picture
from suite.report.pictures.picture import Mark, Panel, Picture, Span, Sweeps
from suite.report.text.crossovers import tell_apart, word_best, word_crossover
from suite.report.text.names import list_values, name_fixed
from suite.report.text.texts import TEXTS
from suite.report.text.units import name_rate, show_size


def depict_sweeps(analysis: Analysis, headline: Headline) -> Picture | None:
    """The sweeps that the report opens with, as times (of the longest) or as rates (a panel for each kind of
    work); None where there is nothing to draw."""
    sweeps = [sweep for sweep in analysis.main_sweeps if sweep.headline == headline]
    family = FAMILIES.get(sweeps[0].scenario) if sweeps else None
    if family is None:
        return None
    timed = headline == "time"
    unit = "s" if timed else name_rate(sweeps[0].unit)
    made = [(sweep, _make_panel(analysis, sweep)) for sweep in (sweeps[:1] if timed else sweeps)]
    drawn = [(sweep, panel) for sweep, panel in made if panel.drawn]
    if not drawn:
        return None
    shown, panels = zip(*drawn, strict=True)
    return title_picture(
        analysis,
        family.name,
        f"{family.subject}: {'; '.join(_state(analysis, sweep, shown) for sweep in shown)}",
        Sweeps(unit=unit, label=family.drawn.format(unit=unit), panels=panels),
        caption=[
            family.reading.format(Unit=unit.capitalize()),
            *([TEXTS["pictures"]["sweeps"]] if any(panel.spans for panel in panels) else []),
        ],
        missing=[text for sweep, panel in drawn for text in _list_missing(sweep, panel)],
        tables=[family.name],
    )


def _make_panel(analysis: Analysis, sweep: SweepAnalysis) -> Panel[float]:
    by_id = {cell.id: cell for cell in analysis.cells}
    cells = [by_id[name] for name in sweep.cells]
    mark: Callable[[ArmResult], Mark | None] = mark_time if sweep.headline == "time" else mark_rate
    crossed = {other: sweep.crossovers[other] for other in analysis.leading}
    return Panel(
        title=name_fixed(f"{sweep.scenario}.{sweep.case}", sweep.fixed),
        places=tuple(float(cell.params[sweep.axis]) for cell in cells),
        marks={arm: tuple(mark(cell.arms[arm]) for cell in cells) for arm in analysis.arms},
        axis=sweep.axis,
        spans=tuple(
            _make_span(crossover, other if crossover.rising else analysis.base)
            for other, crossover in crossed.items()
            if crossover.answer == "crosses"
        ),
    )


def _make_span(crossover: Crossover, winner: str) -> Span:
    low, high = (show_size(size or 0.0) for size in (crossover.low, crossover.high))
    label = f"{winner} wins from {low}–{high} on"
    return Span(low=crossover.low, high=crossover.high, label=label)


def _state(analysis: Analysis, sweep: SweepAnalysis, among: Sequence[SweepAnalysis]) -> str:
    """What the sweep shows, in half a sentence: who wins from where, or how far one arm comes."""
    telling = list_values(tell_apart(sweep, among))
    crossed = [(sweep.crossovers[other], other) for other in analysis.leading]
    answered = [pair for pair in crossed if pair[0].wins or pair[0].loses] or crossed[:1]
    words = [
        word_crossover(crossover, sweep.axis, other, analysis.base) for crossover, other in answered
    ] or [
        f"{arm} reaches {word_best(sweep.reaches[arm])}"
        for arm in analysis.arms
        if arm in sweep.reaches
    ]
    which = f"{telling}: " if telling else ""
    return which + ("; ".join(words) or "too few numbers to say anything")


def _list_missing(sweep: SweepAnalysis, panel: Panel[float]) -> Iterator[str]:
    where = f" (net {sweep.fixed['net']})" if "net" in sweep.fixed else ""
    for arm, marks in panel.marks.items():
        sizes = zip(panel.places, marks, strict=True)
        if lost := ", ".join(show_size(size) for size, mark in sizes if mark is None):
            yield f"{arm} at {panel.axis} = {lost}{where}"
