"""What the reports over several campaigns have in common: how they begin and end, and their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.analysis.result.numbers import Verdict
from suite.analysis.result.several import Versus
from suite.flags import Flag
from suite.report.sections.tables.cells import show_time, show_verdict, write_marks
from suite.report.sections.tables.families import Columns
from suite.report.text.page import Page, Row, Strong, say_none
from suite.report.text.wording import name_banners, word, word_invalid

_COPIED: Mapping[str, str] = {
    "contradicts": "The same values under two identities",
    "copied": "A copy",
    "copied-somewhere": "The same values in two campaigns",
}

TIME = (
    "A time is the geometric mean over {} of the mean time per call, ± half of its 95 % confidence "
    "interval (CI)."
)
"""What a time is, and over what."""


FAILED: Mapping[str, str] = {
    "twins": "an arm differs from its twin",
    "again": "an arm differs from itself",
    "hidden": "the image differs without its GPU",
    "extra-work": "known extra work was not seen",
    "input-only": "input-only cells differ",
    "invalid": "INVALID",
}
"""Why a campaign's numbers are not to be believed."""


def begin_page(
    title: str, versus: Versus, flags: Iterable[Flag], sentences: Iterable[str] = ()
) -> Page:
    """A page with its banners, its title, and what it says first: controls that failed, and values that two
    campaigns have."""
    page = Page(name_banners(flags))
    page.title(f"Crossover: {title}")
    for name, codes in versus.failed.items():
        failed = ", ".join(FAILED[code] for code in codes)
        page.paragraph(Strong(f"A control of {name} failed: {failed}."))
    for code, what in _COPIED.items():
        told = [f"{name}: {word(f)}" for name, f in versus.copied.items() if f.code == code]
        if told:
            page.paragraph(Strong(what), f": {'; '.join(told)}.")
    if opening := " ".join(sentences):
        page.paragraph(opening)
    return page


def write_campaigns(
    page: Page, caption: str, rows: Iterable[Row], analyses: Mapping[str, Analysis]
) -> None:
    """The table of the campaigns, and why one of them is INVALID; ``analyses`` by what they are called."""
    page.table(caption, rows)
    for name, one in analyses.items():
        if one.invalid:
            page.paragraph(Strong(f"{name} is INVALID"), f": {word_invalid(one.invalid)}.")


def tell_run(one: Analysis) -> dict[str, str]:
    """How far a campaign came, when it began, and its noise, for its row of the table."""
    return {
        "blocks": ", ".join(f"{arm}: {len(found.blocks)}" for arm, found in one.arms.items()),
        "begun": one.campaign.created.isoformat(),
        "noise floor": show_floor(one.noise_floor),
    }


def show_floor(floor: float | None) -> str:
    """A campaign's noise floor."""
    return "unknown" if floor is None else f"{100 * floor:.1f} %"


def explain_absence(verdicts: Iterable[Verdict | Flag], of: str = "") -> str:
    """Why there is no verdict at all; empty where there is one."""
    found = list(verdicts)
    if any(isinstance(one, Verdict) for one in found):
        return ""
    reasons = dict.fromkeys(word(one) for one in found if isinstance(one, Flag))
    return f"No verdicts{of}: {'; '.join(reasons) or 'there is no cell'}."


def list_cells(analyses: Iterable[Analysis]) -> list[CellAnalysis]:
    """The cells of all their plans."""
    return list({cell.id: cell for one in analyses for cell in one.cells}.values())


def list_times(name: str, results: Iterable[ArmResult | None]) -> Columns:
    """The column of a campaign's times; None: the cell is not in its plan."""
    unplanned = say_none("the cell is not in the plan of this campaign")
    yield f"{name}, time per call", [show_time(one) if one else unplanned for one in results]


def list_verdicts(
    name: str, verdicts: Mapping[str, Verdict | Flag], cells: Iterable[CellAnalysis]
) -> Columns:
    """The column of verdicts, where there is any among all cells."""
    if any(isinstance(one, Verdict) for one in verdicts.values()):
        yield f"{name} is", [show_verdict(verdicts[one.id]) for one in cells]


def end_page(page: Page, commands: Mapping[str, str]) -> None:
    """The commands that repeat it, by what they are for, and the footnotes."""
    page.heading("How to reproduce it")
    for what, command in commands.items():
        page.paragraph(what)
        page.code(command)
    write_marks(page)
