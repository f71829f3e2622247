"""The pictures of the two sweeps: time against size of a product, throughput against batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from suite.analysis.ablation.reach import find_reach
from suite.analysis.campaign.summarise import ArmResult, Summary
from suite.analysis.numbers.crossover import Crossover, Sweep, find_sweeps, pick_main
from suite.report.pictures.captions import explain_marks, mark_rate, mark_time, tell_missing
from suite.report.pictures.picture import Line, Mark, Panel, Picture, PictureName, Span, Sweeps
from suite.report.text.crossovers import OPEN, show_end, tell_apart, word_best, word_crossover
from suite.report.text.markup import show_plainly
from suite.report.text.units import name_rate, show_rate, show_seconds, show_size
from suite.report.text.wording import name_banners

Take = Callable[[ArmResult], Mark | None]
Word = Callable[[float], str]


def depict_products(summary: Summary) -> Picture | None:
    """Time a product against its size; None where there is nothing to draw."""
    sweeps = _choose(summary, "matmul", "square")[:1]
    return _depict(
        summary,
        sweeps,
        name="matmul",
        subject="Square products",
        caption=(
            "Time of one product of n × n matrices against n, both on logarithmic scales. Where a "
            "line is flat the call costs, not the arithmetic; where it climbs it is the arithmetic."
        ),
        unit="s",
        y_label="time of one product",
        take=mark_time,
        word=show_seconds,
    )


def depict_training(summary: Summary) -> Picture | None:
    """Throughput of a training step against its batch, a panel a network; None as above."""
    sweeps = _choose(summary, "mlp", "train")
    unit = name_rate(sweeps[0].cells[0].work.unit) if sweeps else ""
    return _depict(
        summary,
        sweeps,
        name="mlp",
        subject="Training small networks",
        caption=(
            f"{show_plainly(unit).capitalize()} of a training step against its batch, both on "
            "logarithmic scales. Where a line climbs a larger batch costs little more; where "
            "it is flat the device is busy."
        ),
        unit=unit,
        y_label=show_plainly(unit),
        take=mark_rate,
        word=lambda rate: show_rate(rate, sweeps[0].cells[0].work.unit, 1.0) or "",
    )


def _choose(summary: Summary, scenario: str, case: str) -> list[Sweep]:
    """The longest sweep of a case; of several networks the longest of each."""
    longest = pick_main(find_sweeps(summary.campaign.cells))
    return [one for one in longest if (one.scenario, one.case) == (scenario, case)]


def _depict(
    summary: Summary,
    sweeps: list[Sweep],
    *,
    name: PictureName,
    subject: str,
    caption: str,
    unit: str,
    y_label: str,
    take: Take,
    word: Word,
) -> Picture | None:
    drawn = [(sweep, _make_panel(summary, sweep, take)) for sweep in sweeps]
    drawn = [(sweep, panel) for sweep, panel in drawn if any(map(_find_ends, panel.lines))]
    if not drawn:
        return None
    panels = tuple(panel for _, panel in drawn)
    shown = [sweep for sweep, _ in drawn]
    title = f"{subject}: {'; '.join(_state(summary, sweep, shown) for sweep in shown)}"
    marks = [mark for panel in panels for line in panel.lines for _, mark in line.marks]
    spans = [span for panel in panels for span in panel.spans]
    missing = [text for sweep, panel in drawn for text in _list_missing(sweep, panel)]
    aids = [*explain_marks(marks), *tell_missing(missing)]
    if spans:
        aids.insert(0, "The shaded range is where the lines cross, with its 95 % uncertainty.")
    told = [text for panel in panels for text in _describe(panel, word)]
    return Picture(
        name=name,
        title=title,
        caption=" ".join([caption, *aids]),
        alt=" ".join([f"{title}.", *told, *tell_missing(missing)]),
        tables=(name,),
        arms=tuple(summary.campaign.arms),
        banner=" · ".join(name_banners(summary.flags)),
        content=Sweeps(unit=unit, y_label=y_label, panels=panels),
    )


def _make_panel(summary: Summary, sweep: Sweep, take: Take) -> Panel:
    by_id = {one.cell.id: one for one in summary.cells}
    sizes = [float(cell.params[sweep.axis]) for cell in sweep.cells]
    lines = []
    for arm in summary.campaign.arms:
        marks = [take(by_id[cell.id].arms[arm]) for cell in sweep.cells]
        lines.append(Line(arm=arm, marks=tuple(zip(sizes, marks, strict=True))))
    spans = [
        Span(low=found.low, high=found.high, label=_label_span(summary, other, found))
        for other in summary.others
        for found in _find_crossovers(summary, other, sweep)
        if found.answer == "crosses"
    ]
    return Panel(
        title=_name(sweep),
        x_label=show_plainly(sweep.axis),
        lines=tuple(lines),
        spans=tuple(spans),
    )


def _name(sweep: Sweep) -> str:
    fixed = ", ".join(f"{name}={value}" for name, value in sweep.fixed.items())
    return show_plainly(f"{sweep.scenario}.{sweep.case}" + (f" ({fixed})" if fixed else ""))


def _find_crossovers(summary: Summary, other: str, sweep: Sweep) -> Iterable[Crossover]:
    found = summary.conclusions.crossovers.get(other, ())
    return [crossover for one, crossover in found if one.cells == sweep.cells]


def _label_span(summary: Summary, other: str, found: Crossover) -> str:
    winner = other if found.rising else summary.base
    low, high = map(show_end, (found.low, found.high))
    if low is None:
        span = f"under {high}"
    elif high is None:
        span = f"over {low}"
    else:
        span = f"{low}" if low == high else f"{low}–{high}"
    return f"{show_plainly(winner)} wins from {span} on"


def _state(summary: Summary, sweep: Sweep, among: list[Sweep]) -> str:
    """What the sweep shows, in half a sentence: who wins from where, or how far one arm comes."""
    telling = ", ".join(f"{name}={value}" for name, value in tell_apart(sweep, among).items())
    which = f"{show_plainly(telling)}: " if telling else ""
    found = [
        (one, other) for other in summary.others for one in _find_crossovers(summary, other, sweep)
    ]
    answered = [pair for pair in found if pair[0].answer not in OPEN] or found[:1]
    if answered:
        return which + "; ".join(
            word_crossover(one, sweep.axis, other, summary.base, show_plainly)
            for one, other in answered
        )
    reaches = [
        f"{show_plainly(arm)} reaches {word_best(reach)}"
        for arm in summary.campaign.arms
        if (reach := find_reach(sweep, summary.cells, arm))
    ]
    return which + (show_plainly("; ".join(reaches)) or "too few numbers to say anything")


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
        yield f"{panel.title}, {show_plainly(line.arm)}: {', '.join(told)}."


def _list_missing(sweep: Sweep, panel: Panel) -> Iterable[str]:
    net = sweep.fixed.get("net")
    where = f" (net {show_plainly(str(net))})" if net is not None else ""
    for line in panel.lines:
        sizes = [show_size(size) for size, mark in line.marks if mark is None]
        if sizes:
            yield f"{show_plainly(line.arm)} at {panel.x_label} = {', '.join(sizes)}{where}"
