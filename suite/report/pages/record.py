"""The page ``docs/record.md``: how often a verdict was false where nothing differs."""

from __future__ import annotations

from suite.analysis.result.numbers import LEVEL
from suite.analysis.result.record import Place, Rate, Record, Tally
from suite.report.text.page import Code, Link, Page, Row, Strong
from suite.report.text.units import show_things

_AGAINST = {"itself": "itself", "second build": "a second build of the same source"}


def compose_record(record: Record) -> Page:
    """The page, in no format yet."""
    page = Page()
    page.title("How often a verdict is false")
    page.paragraph(
        "Made by ",
        Code("make generate"),
        " from the summaries in ",
        Code("results/record"),
        "; a test holds it to them.",
    )
    page.paragraph(
        "Where an image is measured against itself (",
        Code("make aa"),
        "), or against a second build of the same source (",
        Code("nox -s second-build"),
        "), nothing differs, so that every verdict FASTER or SLOWER is false. A comparison is a cell with "
        "a verdict; INVALID is none. A table is all "
        f"comparisons of a campaign, of which {100 * LEVEL:.0f} % may have a false verdict (",
        Link("how", "method.md#what-it-means"),
        "). Intervals are exact 95 % CIs (Clopper and Pearson 1934). They treat comparisons as "
        "independent; those of one campaign share its hours, so that the tables tell more.",
    )
    if record.together is None:
        page.paragraph(
            Strong("No such campaign has been committed yet."),
            " What simulation gives stands in ",
            Link("the method", "method.md#how-often-it-is-wrong"),
            ".",
        )
    else:
        page.paragraph(
            Strong(
                f"Of {show_things(record.together.cells.of, 'comparison')} "
                f"{_word_share(record.together.cells)} had a false verdict; of "
                f"{show_things(record.together.tables.of, 'table')} "
                f"{_word_share(record.together.tables)} had one or more."
            )
        )
        page.table(
            "Table: false verdicts by machine and engine.",
            [_list_place(place, tally) for place, tally in record.places.items()],
        )
        page.bullets(f"{name}: {', '.join(cells)}" for name, cells in record.false.items())
    page.paragraph(
        Code("nox -s record -- results/X"),
        " adds a finished campaign: its ",
        Code("summary.json"),
        ", made anew from its documents, and nothing else of it. The file's name tells nothing of whose it "
        "is; the campaign's label stands inside. Whoever adds one adds all that they ran, whatever came "
        "out: a record of chosen campaigns says nothing.",
    )
    return page


def _list_place(place: Place, tally: Tally) -> Row:
    machine = f"{place.cpu}, {place.cpus} logical CPUs used"
    return {
        "machine": ", ".join([machine, *place.gpus]),
        "engine": "no container" if place.engine == "none" else place.engine,
        "arm": place.arm,
        "against": _AGAINST[place.sameness],
        "comparisons, false": f"{tally.cells.of:,}, {_word_share(tally.cells)}",
        "tables with one": f"{_word_share(tally.tables)} of {tally.tables.of:,}",
    }


def _word_share(rate: Rate) -> str:
    """``3 (0.31 to 4.4 %)``: how many, and the interval of the share."""
    return f"{rate.seen} ({100 * rate.low:.2g} to {100 * rate.high:.2g} %)"
