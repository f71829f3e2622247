"""The page about cells that were measured again: then beside now, and whether they reproduce."""

from __future__ import annotations

import statistics

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import FEWEST, LEVEL, Ratio
from suite.analysis.result.several import Rechecked
from suite.flags import raise_flag
from suite.report.pages import frame
from suite.report.pages.comparison import write_differences
from suite.report.sections.environment import SOMEWHERE, show_facts
from suite.report.sections.opening import name_machine
from suite.report.sections.tables.cells import show_comparison, show_time
from suite.report.text.page import Page
from suite.report.text.units import end_sentence, show_share, show_things
from suite.report.text.wording import tell

_SEED_SHOWN = 12
"""So many characters of a hash tell it from any other."""


def compose_recheck(found: Rechecked, before: Analysis, now: Analysis) -> Page:
    """The whole page, in no format yet."""
    flags = [*before.flags, *now.flags]
    names = list(dict.fromkeys(one.cell for one in found.cells))
    title = f"{show_things(len(names), 'cell')} of {found.before} measured again"
    page = frame.begin_page(title, flags, [tell_recheck(found), *_explain(found)])
    _write_campaigns(page, before, now)
    page.heading("The cells")
    page.table(
        "Table: time per call then and now, each with its 95 % CI.",
        [
            {
                "cell": one.cell,
                "arm": one.arm,
                "then": show_time(one.before),
                "now": show_time(one.now),
                "now against then": show_comparison(
                    one.ratio,
                    other="now",
                    base="then",
                    invalid=[one.before.invalid, one.now.invalid],
                ),
                "reproduces": "yes" if one.reproduces else "NO",
            }
            for one in found.cells
        ],
    )
    facts = {
        f"{name}, {arm}": show_facts(analysis.arms[arm])
        for arm in now.arms
        for name, analysis in (("then", before), ("now", now))
    }
    write_differences(page, facts)
    folders = " ".join(f"{SOMEWHERE}/{one.campaign.folder}" for one in (before, now))
    frame.end_page(
        page, {"Both campaigns in full, side by side:": f'make compare RUNS="{folders}"'}
    )
    return page


def tell_recheck(found: Rechecked) -> str:
    """Whether the cells reproduce, in a sentence."""
    names = list(dict.fromkeys(one.cell for one in found.cells))
    failed = list(dict.fromkeys(one.cell for one in found.cells if not one.reproduces))
    of = f"{len(names) - len(failed)} of {show_things(len(names), 'cell')}"
    if not failed:
        return f"Reproduced: {of} within what noise explains."
    return f"NOT REPRODUCED: {of} within what noise explains, and not {', '.join(failed)}."


def _explain(found: Rechecked) -> list[str]:
    unknown = " (not every campaign knows its own)" if None in found.floors else ""
    widths = [
        one.ratio.high / one.ratio.value - 1
        for one in found.cells
        if isinstance(one.ratio, Ratio) and one.ratio.high is not None
    ]
    seen = f"{100 * max(found.margin, statistics.median(widths)):.0f} %" if widths else "any size"
    few = any(side.n < FEWEST for one in found.cells for side in (one.before, one.now))
    drawn = f"A hash over all samples of the campaign ({found.seed[:_SEED_SHOWN]})"
    rule = "A cell differs where Welch's t test, adjusted by Holm for all cells and arms, gives p under"
    beyond = (
        f"{show_share(found.margin)}, the larger of 2 % and the campaigns' noise floors{unknown}"
    )
    return [
        f"{drawn} drew the cells, so that nobody chose them.",
        f"{rule} {LEVEL} and the times differ by over {beyond}.",
        *(["A campaign has under three invocations, so both are taken to have one spread."] * few),
        f"In the median cell, a difference under {seen} would not have been seen.",
        *map(end_sentence, tell([raise_flag("not-interleaved")])),
    ]


def _write_campaigns(page: Page, before: Analysis, now: Analysis) -> None:
    both = {"Then": before, "Now": now}
    rows = [
        {
            "": name.lower(),
            "campaign": one.campaign.id,
            "machine": name_machine(one.machine),
            **frame.tell_run(one),
        }
        for name, one in both.items()
    ]
    frame.write_campaigns(page, "Table: the campaigns.", rows, both)
