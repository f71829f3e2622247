"""The pictures of what was worked out elsewhere: a step in its parts, and the asked waterfalls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import PARTS, Step, Waterfall
from suite.cells import families
from suite.report.pictures.captions import title_picture
from suite.report.pictures.picture import STEPS, Bar, Dots, Mark, Panel, Picture
from suite.report.text.names import name_cells, name_fixed
from suite.report.text.texts import TEXTS
from suite.report.text.units import show_times

WANTED = "compute"
"""The part that a step is made for: the picture tells of what else takes most."""

SMALLEST = 0.01
"""A part with a smaller share can't be seen."""

MOST_BARS, MOST_ROWS = 9, 14
"""More would not fit on half a page; the rest stands in the tables alone, and the caption says so."""


def depict_decomposition(analysis: Analysis) -> Picture | None:
    """Where the time of a training step goes; None where no bar has two parts that tell.

    Of many bars those in which most goes elsewhere than where it should.
    """
    there = [
        bar
        for bar in _list_bars(analysis)
        if sum(share > SMALLEST for share in bar.shares.values()) > 1
    ]
    first = sorted(there, key=lambda bar: bar.shares[WANTED])[:MOST_BARS]
    kept = [bar for bar in there if bar in first]
    if not kept:
        return None
    wastes = [(bar, name) for bar in kept for name in bar.parts if name != WANTED]
    worst, name = max(wastes, key=lambda waste: waste[0].shares[waste[1]])
    negative = any(seconds < 0 for bar in kept for seconds in bar.parts.values())
    return title_picture(
        analysis,
        STEPS,
        f"Where a training step goes: {name} takes {100 * worst.shares[name]:.0f} % of {worst.label}",
        tuple(kept),
        caption=[
            TEXTS["pictures"]["steps"],
            *(["A part that came out under 0 is left out."] if negative else []),
            *_describe_rest(len(there) - len(kept), "step"),
        ],
        tables=[families.STEPS.name],
    )


def _list_bars(analysis: Analysis) -> list[Bar]:
    """The steps that could be taken apart, in the plan's order, as bars of all parts and the rest.

    A part that could not be told apart is in another one, and has no length.
    """
    steps = analysis.find("step")
    parts: dict[tuple[str, str], dict[str, float]] = {}
    for part in analysis.find("part"):
        seconds = part.value.value if part.value else 0.0
        parts.setdefault((part.cell, part.arm), {})[part.of] = seconds
    several = len({step.arm for step in steps}) > 1
    names = name_cells(analysis.cells)
    return [
        Bar(
            label=names[step.cell] + (f", {step.arm}" if several else ""),
            parts={of: parts[step.cell, step.arm].get(of, 0.0) for of in (*PARTS, "rest")},
        )
        for step in steps
    ]


def depict_waterfalls(analysis: Analysis) -> Picture | None:
    """From what people time to the fair numbers and on; None where there is no step.

    Work that is pinned to a CPU beside a GPU stands in the tables.  Of many those whose way is longest,
    every script having its turn.
    """
    there: dict[str, list[Waterfall]] = {}
    for waterfall in analysis.waterfalls:
        if waterfall.steps and not waterfall.spot.pinned:
            unit = "call" if waterfall.by_call else waterfall.unit
            there.setdefault(
                f"{name_fixed(waterfall.name, waterfall.fixed)}, time per {unit}", []
            ).append(waterfall)
    kept = _choose(there)
    if not kept:
        return None
    panels = tuple(_make_panel(title, falls) for title, falls in kept.items())
    state = "from what they time to the fair number, and on"
    offs = [
        (waterfall.off.value, waterfall)
        for falls in kept.values()
        for waterfall in falls
        if waterfall.off is not None and waterfall.off.value > 1
    ]
    if offs:
        off, worst = max(offs, key=lambda pair: pair[0])
        name = name_fixed(worst.name, worst.fixed)
        state = f"the timing of {name} is off by {show_times(off)}× on {worst.spot.arm}"
    return title_picture(
        analysis,
        families.WAYS.name,
        f"What people ask about: {state}",
        Dots(label="time", panels=panels, linked=True),
        caption=[
            TEXTS["pictures"]["waterfalls"],
            *_describe_rest(len(there) - len(kept), "case"),
        ],
        tables=[families.WAYS.name],
    )


def _make_panel(title: str, falls: Sequence[Waterfall]) -> Panel[str]:
    """The waterfalls of one title as rows: what was changed last, how much else since the row above, and of
    which kinds that is."""
    rows: list[str] = []
    last: dict[str, Step] = {}
    marks: dict[tuple[str, str], Mark] = {}
    for waterfall in falls:
        after = 0
        for index, step in enumerate(waterfall.steps):
            row = step.changes[-1] if index else "as asked"
            if row not in rows:
                rows.insert(after, row)
            after = rows.index(row) + 1
            last[row] = min(last.get(row, step), step, key=lambda step: len(step.changes))
            time = step.value
            marks[waterfall.spot.arm, row] = Mark(value=time.value, low=time.low, high=time.high)
    arms = dict.fromkeys(waterfall.spot.arm for waterfall in falls)
    return Panel(
        title=title,
        places=(rows[0], *(_name_row(last[row]) for row in rows[1:])),
        marks={arm: tuple(marks.get((arm, row)) for row in rows) for arm in arms},
    )


def _name_row(step: Step) -> str:
    """In little room: ``timing+script: float32 inputs instead of float64 (+1)``."""
    others = len(step.changes) - 1
    change = f"{step.changes[-1]} (+{others})" if others else step.changes[-1]
    return ": ".join(filter(None, ["+".join(step.effects), change]))


def _choose(there: Mapping[str, list[Waterfall]]) -> dict[str, list[Waterfall]]:
    """Those by title that fit on a page: of every script that with most steps, and of these the longest way;
    then the next of each that is more than its two ends."""
    scripts: dict[str, list[str]] = {}
    steps = {
        title: max(len(waterfall.steps) for waterfall in falls) for title, falls in there.items()
    }
    ways = {
        title: max(waterfall.factor.value for waterfall in falls) for title, falls in there.items()
    }
    for title in sorted(there, key=lambda title: (-steps[title], -ways[title])):
        script = scripts.setdefault(there[title][0].name, [])
        if not script or steps[title] > 2:
            script.append(title)
    chosen: set[str] = set()
    room = MOST_ROWS
    for title in filter(None, chain(*zip_longest(*scripts.values()))):
        if steps[title] <= room or not chosen:
            chosen.add(title)
            room -= steps[title]
    return {title: falls for title, falls in there.items() if title in chosen}


def _describe_rest(count: int, noun: str) -> list[str]:
    """What had no room."""
    if count <= 0:
        return []
    return [f"{count} more {noun}{' stands' if count == 1 else 's stand'} in the table alone."]
