"""The pictures of what was worked out elsewhere: a step in its parts, and the asked waterfalls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.findings import PARTS
from suite.analysis.result.findings import Waterfall as Way
from suite.cells import families
from suite.report.pictures.captions import explain_marks, title_picture
from suite.report.pictures.picture import (
    STEPS,
    Bar,
    Dots,
    Mark,
    Part,
    Picture,
    Row,
    Rows,
    Stacks,
    Waterfall,
)
from suite.report.text.units import show_part, show_seconds

REST = "rest"

PER = ", time per"
"""Between the title of a case and its unit."""


def list_bars(analysis: Analysis) -> list[Bar]:
    """The steps that could be taken apart, in the plan's order, as bars of all parts and the rest.

    A part that could not be told apart is in another one, and has no length.
    """
    several = len({one.arm for one in analysis.steps}) > 1
    cells = {one.id: one for one in analysis.cells}
    return [
        Bar(
            label=_shorten(cells[one.cell]) + (f", {one.arm}" if several else ""),
            parts=(
                *(Part(name=name, seconds=one.parts[name] or 0.0) for name in PARTS),
                Part(name=REST, seconds=one.rest),
            ),
        )
        for one in analysis.steps
    ]


def list_waterfalls(analysis: Analysis) -> list[Waterfall]:
    """The asked cases on the arms; work that is pinned to a CPU beside a GPU stands in the tables."""
    return [
        Waterfall(
            title=_title(one),
            subject=one.name,
            arm=one.spot.arm,
            steps=tuple(
                (
                    "as asked" if step is one.steps[0] else _name_step(step.changes),
                    Mark(value=step.value.value, low=step.value.low, high=step.value.high),
                )
                for step in one.steps
            ),
        )
        for one in analysis.waterfalls
        if not one.spot.pinned
    ]


def _title(one: Way) -> str:
    fixed = ", ".join(f"{axis}={value}" for axis, value in one.fixed.items())
    unit = "call" if one.by_call else one.unit
    return f"{one.name}{f' ({fixed})' if fixed else ''}{PER} {unit}"


def _name_step(changes: Sequence[str]) -> str:
    """What has changed, where it is one thing; the tables list many."""
    return changes[0] if len(changes) == 1 else f"with {len(changes)} changes made"


def _shorten(cell: CellAnalysis) -> str:
    """A cell without what most have in common, such as ``A batch=32 host``.

    Words stand for themselves; a number needs its axis.  What is the same of all steps that are taken apart
    needs no word.
    """
    kept = [] if cell.role == "work" else [cell.case]
    for axis, value in cell.params.items():
        if value not in {cell.precision, cell.dispatch}:
            number = str(value).replace(".", "", 1).isdigit()
            kept.append(f"{axis}={value}" if number else str(value) or axis)
    return " ".join(kept)


WANTED = "compute"
"""The part that a step is made for: the picture tells of what else takes most."""

SMALLEST = 0.01
"""A part with a smaller share can't be seen."""

MOST_BARS, MOST_MARKS = 12, 42
"""More would not fit on a page; the rest stands in the tables alone, and the caption says so."""


def depict_decomposition(analysis: Analysis, bars: Sequence[Bar]) -> Picture | None:
    """Where the time of a training step goes; None where no bar has two parts that tell.

    Of many bars those in which most goes elsewhere than where it should.
    """
    there = [bar for bar in bars if _is_taken_apart(bar)]
    first = sorted(there, key=lambda bar: -_measure_waste(bar))[:MOST_BARS]
    kept = [bar for bar in there if bar in first]
    if not kept:
        return None
    name, share, label = max(
        (
            (part.name, max(part.seconds, 0.0) / measure(bar), bar.label)
            for bar in kept
            for part in bar.parts
            if part.name != WANTED
        ),
        key=lambda one: one[1],
    )
    negative = any(part.seconds < 0 for bar in kept for part in bar.parts)
    told = [
        f"{bar.label}, {show_seconds(measure(bar))}: "
        + ", ".join(
            f"{part.name} {show_part(max(part.seconds, 0.0), measure(bar))}" for part in bar.parts
        )
        + "."
        for bar in kept
    ]
    return title_picture(
        analysis,
        STEPS,
        f"Where a training step goes: {name} takes {100 * share:.0f} % of {label}",
        Stacks(x_label="share of the step", bars=tuple(kept)),
        caption=[
            "Each bar is one training step, divided by what its parts take; its whole time stands beside it.",
            *(["A part that came out under 0 is left out."] if negative else []),
            *_tell_rest(len(there) - len(kept), "step"),
        ],
        told=told,
        tables=[families.STEPS.name],
    )


def depict_waterfalls(analysis: Analysis, waterfalls: Sequence[Waterfall]) -> Picture | None:
    """From what people time to the fair numbers; None where there is no step.

    Of many those whose way is longest, every subject having its turn.
    """
    there = [one for one in waterfalls if one.steps]
    if not there:
        return None
    chosen = _choose(there)
    kept = [one for one in there if one.title in chosen]
    groups = [_group(title, kept) for title in dict.fromkeys(one.title for one in kept)]
    worst = max(kept, key=_measure_way)
    state = (
        f"{worst.title.partition(PER)[0]} takes {_measure_way(worst):.3g}× its fair time "
        f"on {worst.arm}"
        if _measure_way(worst) > 1
        else "from what they time to the fair number"
    )
    told = [
        f"{one.title}, {one.arm}: "
        + ", ".join(f"{label} {show_seconds(mark.value)}" for label, mark in one.steps)
        + "."
        for one in kept
    ]
    return title_picture(
        analysis,
        families.WAYS.name,
        f"What people ask about: {state}",
        Dots(unit="s", x_label="time", groups=tuple(groups)),
        caption=[
            "On a logarithmic scale, each row after one more change to the script:",
            "the first is as asked, the last is fair.",
            *explain_marks(mark for one in kept for _, mark in one.steps),
            *_tell_rest(len({one.title for one in there}) - len(chosen), "case"),
        ],
        told=told,
        tables=[families.WAYS.name],
    )


def measure(bar: Bar) -> float:
    """The length of a bar in seconds: what its parts add up to, those under 0 left out."""
    return sum(max(part.seconds, 0.0) for part in bar.parts)


def _is_taken_apart(bar: Bar) -> bool:
    """Whether at least two of its parts can be seen."""
    return sum(part.seconds > SMALLEST * measure(bar) for part in bar.parts) > 1


def _measure_waste(bar: Bar) -> float:
    """The share of a bar that is not what the step is made for."""
    wanted = sum(max(part.seconds, 0.0) for part in bar.parts if part.name == WANTED)
    return 1 - wanted / measure(bar)


def _choose(waterfalls: Sequence[Waterfall]) -> set[str]:
    """The titles that fit on a page: of every subject the longest way, then the next of each."""
    ways: dict[tuple[str, str], float] = {}
    marks: Counter[str] = Counter()
    for one in waterfalls:
        key = one.subject, one.title
        ways[key] = max(ways.get(key, 0.0), _measure_way(one))
        marks[one.title] += len(one.steps)
    turns: dict[str, int] = {}
    queue = []
    for subject, title in sorted(ways, key=lambda key: -ways[key]):
        turns[subject] = turns.get(subject, 0) + 1
        queue.append((turns[subject], -ways[subject, title], title))
    chosen: set[str] = set()
    room = MOST_MARKS
    for _, _, title in sorted(queue):
        if marks[title] <= room or not chosen:
            chosen.add(title)
            room -= marks[title]
    return chosen


def _measure_way(one: Waterfall) -> float:
    """How many times the first step is of the last; 0 where one of them is not to be believed."""
    first, last = one.steps[0][1], one.steps[-1][1]
    return 0.0 if first.struck or last.struck else first.value / last.value


def _tell_rest(count: int, noun: str) -> list[str]:
    """What had no room."""
    if count <= 0:
        return []
    return [f"{count} more {noun}{' stands' if count == 1 else 's stand'} in the table alone."]


def _group(title: str, waterfalls: Sequence[Waterfall]) -> Rows:
    """The waterfalls of one title as rows, each with a mark of every arm that has the step."""
    rows: dict[str, dict[str, Mark]] = {}
    for one in waterfalls:
        for label, mark in one.steps if one.title == title else ():
            rows.setdefault(label, {})[one.arm] = mark
    return Rows(
        title=title,
        rows=tuple(Row(label=label, marks=tuple(marks.items())) for label, marks in rows.items()),
        linked=True,
    )
