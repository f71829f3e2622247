"""The report over several campaigns: what differs first, then the tables; and the same for programs.

No clock, no network, no facts of this machine: the same campaigns give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis, tell_ratio
from suite.analysis.result.numbers import OTHER_LEVEL, WORK_LEVEL
from suite.analysis.result.several import Column, Pair, Versus
from suite.report.pages import frame
from suite.report.pages.instances import write_kinds
from suite.report.sections.environment import SOMEWHERE, compare_facts, show_facts, write_facts
from suite.report.sections.opening import name_machine
from suite.report.sections.tables.cells import show_comparison
from suite.report.sections.tables.families import Columns, write_family_tables
from suite.report.text.page import NO_NUMBER, Cell, Page
from suite.report.text.units import end_sentence, show_share
from suite.report.text.wording import NO_VERDICTS, count_verdicts, name_banners, tell

_INSTANCES = (
    "This compares the machines as they were when they were measured. A statement about types "
    "of machines needs at least three instances of each"
)


def compose_versus(versus: Versus, analyses: Sequence[Analysis]) -> Page:
    """The report over several campaigns, in no format yet."""
    told = ": below, under “Types of machines”." if versus.kinds else "."
    said = [*map(_word_pair, versus.pairs), _INSTANCES + told]
    flags = [flag for one in analyses for flag in one.flags]
    page = frame.begin_page(f"{len(analyses)} campaigns side by side", flags, said)
    columns = [
        Column(run=run, arm=arm) for run, one in enumerate(analyses, start=1) for arm in one.arms
    ]
    _write_campaigns(page, analyses)
    facts = {one.name: show_facts(analyses[one.run - 1].arms[one.arm]) for one in columns}
    write_differences(page, facts)
    write_kinds(page, versus, frame.list_cells(analyses))
    page.heading("Tables")
    page.paragraph(
        "A column is an arm of a campaign, by its number in the table above. "
        f"{frame.TIME.format('invocations')} Ratios between campaigns are Welch's, on logarithms."
    )
    for pair in versus.pairs:
        page.paragraph(_explain(pair))
    write_family_tables(
        page,
        frame.list_cells(analyses),
        caption="Table: {}. Time per call and its 95 % CI.".format,
        columns=partial(_list_columns, versus, analyses, columns),
    )
    folders = " ".join(f"{SOMEWHERE}/{one.campaign.folder}" for one in analyses)
    pairs = " ".join(f"{one.other.name}/{one.base.name}" for one in versus.pairs)
    command = f'make compare RUNS="{folders}" PAIRS="{pairs}"'
    frame.end_page(page, {"From the campaigns' documents alone, byte for byte, by:": command})
    return page


def _word_pair(pair: Pair) -> str:
    """One comparison in a sentence or three."""
    against = f"{pair.other.name} against {pair.base.name}"
    counted, number = count_verdicts(pair.verdicts.values())
    words = f"of {number} cells {counted}" if number else NO_VERDICTS
    sentence = f"{against}: {words}."
    if pair.distance_median is not None and pair.distance_p95 is not None:
        sentence += (
            f" Over {len(pair.sound)} cells |ratio − 1| is {show_share(pair.distance_median)} in the "
            f"median and {show_share(pair.distance_p95)} at the 95th percentile."
        )
    return " ".join([sentence, *map(end_sentence, tell(pair.flags))])


def _explain(pair: Pair) -> str:
    """What the verdicts of one comparison rest on."""
    name = f"{pair.other.name} against {pair.base.name}"
    if absence := frame.explain_absence(pair.verdicts.values(), f" of {name}"):
        return absence
    test = "paired t test" if pair.interleaved else "Welch's t test"
    floor = (
        ""
        if pair.floor_known
        else f" Not every campaign knows its noise floor, so the margin may be too small at "
        f"{show_share(pair.margin)}."
    )
    way = "".join(f" {end_sentence(one)}" for one in tell(pair.flags))
    width = (
        "what the campaign's twins show beyond their own intervals"
        if pair.interleaved
        else "the campaigns' noise floors"
    )
    return (
        f"Verdicts of {name}: faster or slower where {test}, adjusted by Holm for "
        f"cells of work and for all others apart, gives p under {WORK_LEVEL} or {OTHER_LEVEL} "
        f"and the estimate lies beyond {show_share(pair.margin)}, the larger of 2 % and {width}.{floor}{way}"
    )


def _write_campaigns(page: Page, analyses: Sequence[Analysis]) -> None:
    rows = [
        {
            "number": str(number),
            "campaign": " — ".join(
                filter(None, [one.campaign.id, " · ".join(name_banners(one.flags))])
            ),
            "machine": name_machine(one.machine),
            "profile": one.campaign.profile,
            **frame.tell_run(one),
        }
        for number, one in enumerate(analyses, start=1)
    ]
    named = {f"Campaign {number}": one for number, one in enumerate(analyses, start=1)}
    frame.write_campaigns(page, "Table: the campaigns.", rows, named)


def write_differences(page: Page, facts: Mapping[str, Mapping[str, str]]) -> None:
    """The facts that are not the same in all columns: whatever differs may be the cause."""
    page.heading("What differs")
    same, differing = compare_facts(facts)
    if not differing:
        page.paragraph("No recorded fact.")
        return
    caption = f"Table: facts that differ; {len(same)} others are the same in all."
    write_facts(page, caption, differing, facts)


def _list_columns(
    versus: Versus,
    analyses: Sequence[Analysis],
    columns: Sequence[Column],
    cells: Sequence[CellAnalysis],
) -> Columns:
    for column in columns:
        found = analyses[column.run - 1].results(column.arm)
        yield from frame.list_times(column.name, [found.get(one.id) for one in cells])
    for pair in versus.pairs:
        against = f"{pair.other.name} against {pair.base.name}"
        yield against, [_show_pair(pair, one.id) for one in cells]
        yield from frame.list_verdicts(pair.other.name, pair.verdicts, cells)


def _show_pair(pair: Pair, identity: str) -> Cell:
    found = pair.cells[identity]
    other, base = pair.other.name, pair.base.name
    cell = show_comparison(tell_ratio(found), other=other, base=base, invalid=[found.invalid])
    beside = tell(found.beside) if cell.text != NO_NUMBER else ()
    return replace(cell, notes=(*cell.notes, *beside))
