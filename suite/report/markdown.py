"""``report.md``: the sections in the order in which a reader needs them.

No clock, no network, no facts of this machine: the same analysis gives the same bytes.
"""

from __future__ import annotations

from suite.report.environment import write_environment, write_repeating
from suite.report.markup import escape
from suite.report.narrative import list_by_family, name_machine, narrate
from suite.report.page import NO_NUMBER, Page
from suite.report.summary import Summary
from suite.report.tables import write_tables
from suite.report.trust import write_trust


def render_markdown(summary: Summary) -> str:
    """The whole report as GitHub-flavoured Markdown with a final newline."""
    page = Page(summary.banners)
    others = ", ".join(map(escape, summary.others))
    base = escape(summary.base)
    page.title(f"Crossover: {others} against {base}" if others else f"Crossover: {base} alone")
    page.paragraph(f"Machine: {name_machine(summary, escape)}.")
    page.paragraph(" ".join(narrate(summary, escape)))
    _explain_banners(page, summary)
    headers, rows = list_by_family(summary, escape)
    page.table("Table: what was measured, by family.", headers, rows)
    page.heading("Tables")
    page.paragraph(
        "A time is the geometric mean over invocations of the median seconds a call, ± half of its "
        "95 % interval (Student's t on logarithms); a very wide interval is given by its ends, and "
        "those of a ratio always are. A rate is the declared work divided by that time, and as "
        "uncertain. Ratios are paired by block."
    )
    write_tables(page, summary)
    page.heading("Is it to be trusted?")
    write_trust(page, summary)
    page.heading("Environment")
    write_environment(page, summary)
    page.heading("How to repeat it")
    write_repeating(page, summary)
    page.heading("Footnotes")
    page.paragraph(
        f"`{NO_NUMBER}` no number; the mark beside it says why. `~` equivalent, `?` inconclusive, "
        "`✗` invalid: marks of verdicts, which this version does not give."
    )
    page.footnotes()
    return page.render()


def _explain_banners(page: Page, summary: Summary) -> None:
    explanations = {
        "NOT CONTAINERIZED": "The worker ran as a plain process of this machine, not in a "
        "container: its libraries and limits are not those of an image.",
        "SIMULATED": "The numbers were made up to test or to show the report. No machine was "
        "measured.",
    }
    for banner in summary.banners:
        page.paragraph(f"**{banner}.** {explanations[banner]}")
