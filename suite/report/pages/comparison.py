"""The report over several campaigns: what differs first, then the tables; and the same for programs.

No clock, no network, no facts of this machine: the same campaigns give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from suite.analysis.numbers.verdict import LEVEL, Verdict
from suite.analysis.several.comparison import Column, Pair, Versus, find_invalid
from suite.cells.cell import Cell
from suite.flags import Flag
from suite.report.sections.environment import SOMEWHERE, gather_facts
from suite.report.sections.family_tables import Columns, write_family_tables
from suite.report.sections.machine import name_machine
from suite.report.sections.tables import (
    Entry,
    show_comparison,
    show_time,
    show_verdict,
    write_marks,
)
from suite.report.text.markup import escape
from suite.report.text.page import NO_NUMBER, Page
from suite.report.text.wording import (
    NO_VERDICTS,
    count_verdicts,
    name_banners,
    tell,
    word,
    word_invalid,
)

_NOT_PLANNED = "the cell is not in the plan of this campaign"
_INSTANCES = (
    "This compares the machines at the hours at which they were measured. A statement about types "
    "of machines takes at least three instances of each."
)


def compose_versus(versus: Versus) -> Page:
    """The report over several campaigns, in no format yet."""
    page = Page(name_banners(versus.flags))
    page.title(f"Crossover: {len(versus.summaries)} campaigns side by side")
    page.paragraph(" ".join([*(_word_pair(one) for one in versus.pairs), _INSTANCES]))
    _write_campaigns(page, versus)
    _write_differences(page, versus)
    page.heading("Tables")
    page.paragraph(
        "A column is an arm of a campaign, by its number in the table above. A time is the "
        "geometric mean over invocations of the median seconds a call, ± half of its 95 % interval. "
        "Ratios between campaigns are Welch's, on logarithms."
    )
    for pair in versus.pairs:
        page.paragraph(_explain(pair))
    write_family_tables(
        page,
        versus.cells,
        caption="Table: {}. Time a call and its 95 % interval.".format,
        columns=lambda cells: _list_columns(versus, cells),
    )
    page.heading("How to repeat it")
    page.paragraph("From the campaigns' documents alone, byte for byte, by:")
    folders = " ".join(f"{SOMEWHERE}/{one.loaded.folder}" for one in versus.summaries)
    pairs = " ".join(f"{one.other.name}/{one.base.name}" for one in versus.pairs)
    page.code(f'make compare RUNS="{folders}" PAIRS="{pairs}"')
    write_marks(page)
    return page


def _word_pair(pair: Pair) -> str:
    """One comparison in a sentence or three."""
    against = f"{escape(pair.other.name)} against {escape(pair.base.name)}"
    counted, number = count_verdicts(pair.verdicts.values())
    words = f"of {number} cells {counted}" if number else NO_VERDICTS
    sentence = f"{against}: {words}."
    distances = pair.distances
    if distances is not None:
        sentence += (
            f" Over {len(pair.sound)} cells |ratio − 1| is {100 * distances[0]:.1f} % in the "
            f"median and {100 * distances[1]:.1f} % at the 95th percentile."
        )
    return " ".join([sentence, *map(_sentence, tell(pair.flags))])


def _explain(pair: Pair) -> str:
    """What the verdicts of one comparison rest on."""
    name = f"{escape(pair.other.name)} against {escape(pair.base.name)}"
    verdicts = [one for one in pair.verdicts.values() if isinstance(one, Verdict)]
    if not verdicts:
        missing = [one for one in pair.verdicts.values() if isinstance(one, Flag)]
        reasons = dict.fromkeys(map(word, missing))
        return f"No verdicts of {name}: {'; '.join(map(escape, reasons)) or 'there is no cell'}."
    tested = sum(one.p is not None for one in verdicts)
    test = "paired t test" if pair.interleaved else "Welch's t test"
    floor = (
        ""
        if pair.floor_known
        else f" Not every campaign knows its noise floor, so the margin may be too small at "
        f"{100 * pair.margin:.1f} %."
    )
    way = "".join(f" {_sentence(one)}" for one in tell(pair.flags))
    width = (
        "what the campaign's twins show beyond their own intervals"
        if pair.interleaved
        else "the campaigns' noise floors"
    )
    return (
        f"Verdicts of {name}: faster or slower where {test}, adjusted by Holm for all {tested} "
        f"cells of this comparison, gives p under {LEVEL} and the estimate lies beyond "
        f"{100 * pair.margin:.1f} %, the larger of 2 % and {width}.{floor}{way}"
    )


def _write_campaigns(page: Page, versus: Versus) -> None:
    rows = []
    for number, one in enumerate(versus.summaries, start=1):
        campaign, floor = one.campaign, one.conclusions.floor
        blocks = ", ".join(
            f"{escape(arm)}: {sum(block >= 1 for block in found)}"
            for arm, found in one.counted.items()
        )
        rows.append(
            [
                str(number),
                " — ".join(
                    filter(None, [escape(campaign.id), " · ".join(name_banners(one.flags))])
                ),
                name_machine(one, escape),
                escape(campaign.profile),
                blocks,
                campaign.created.isoformat(),
                "unknown" if floor is None else f"{100 * floor:.1f} %",
            ]
        )
    page.table(
        "Table: the campaigns.",
        ["number", "campaign", "machine", "profile", "blocks", "begun", "noise floor"],
        rows,
    )
    for number, one in enumerate(versus.summaries, start=1):
        if one.invalid:
            why = escape(word_invalid(one.invalid))
            page.paragraph(f"**Campaign {number} is INVALID**: {why}.")


def _write_differences(page: Page, versus: Versus) -> None:
    """The facts that are not the same in all columns: whatever differs may be the cause."""
    page.heading("What differs")
    facts = {
        column.name: gather_facts(
            [one for one in column.summary.loaded.documents if one.invocation.arm == column.arm]
        )
        for column in versus.columns
    }
    names = sorted({name for found in facts.values() for name in found})
    differing = [
        name for name in names if len({found.get(name, NO_NUMBER) for found in facts.values()}) > 1
    ]
    if not differing:
        page.paragraph("No fact that the documents hold.")
        return
    page.table(
        f"Table: facts that differ; {len(names) - len(differing)} others are the same in all.",
        ["fact", *map(escape, facts)],
        [
            [escape(name), *(found.get(name, NO_NUMBER) for found in facts.values())]
            for name in differing
        ],
    )


def _list_columns(versus: Versus, cells: Sequence[Cell]) -> Columns:
    for column in versus.columns:
        yield f"{escape(column.name)}, time a call", [_show_cell(column, one.id) for one in cells]
    for pair in versus.pairs:
        against = f"{escape(pair.other.name)} against {escape(pair.base.name)}"
        yield against, [_show_pair(pair, one.id) for one in cells]
        if any(isinstance(one, Verdict) for one in pair.verdicts.values()):
            marks = [show_verdict(pair.verdicts[one.id]) for one in cells]
            yield f"{escape(pair.other.name)} is", marks


def _show_cell(column: Column, identity: str) -> Entry:
    found = column.find(identity)
    return show_time(found) if found else (NO_NUMBER, (_NOT_PLANNED,))


def _show_pair(pair: Pair, identity: str) -> Entry:
    invalid = find_invalid(pair, identity)
    text, notes = show_comparison(
        pair.ratios[identity],
        other=pair.other.name,
        base=pair.base.name,
        invalid=[invalid] if invalid else [],
    )
    return text, (*notes, *(tell(pair.beside[identity]) if text != NO_NUMBER else ()))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
