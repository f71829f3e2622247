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
from suite.report.text.texts import TEXTS
from suite.report.text.wording import name_banners, word, word_invalid

TIME = (
    "A time is the geometric mean over {} of the mean time per call, ± half of its 95 % confidence "
    "interval (CI)."
)
"""What a time is, and over what."""

FAILED = TEXTS["failed"]
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
    excluded = {excluded.campaign: excluded.flag for excluded in versus.excluded}
    for code, what in TEXTS["copied"].items():
        copies = [
            f"{name}: {word(flag)}"
            for name, flag in {**versus.copied, **excluded}.items()
            if flag.code == code
        ]
        if copies:
            page.paragraph(Strong(what), f": {'; '.join(copies)}.")
    if opening := " ".join(sentences):
        page.paragraph(opening)
    return page


def write_campaigns(
    page: Page, caption: str, rows: Iterable[Row], analyses: Mapping[str, Analysis]
) -> None:
    """The table of the campaigns, and why one of them is INVALID; ``analyses`` by what they are called."""
    page.table(caption, rows)
    for name, analysis in analyses.items():
        if analysis.invalid:
            page.paragraph(Strong(f"{name} is INVALID"), f": {word_invalid(analysis.invalid)}.")


def tell_run(analysis: Analysis) -> dict[str, str]:
    """How far a campaign came, when it began, and its noise, for its row of the table."""
    blocks = (f"{arm}: {len(details.blocks)}" for arm, details in analysis.arms.items())
    return {
        "blocks": ", ".join(blocks),
        "begun": analysis.campaign.created.isoformat(),
        "noise floor": show_floor(analysis.noise_floor),
    }


def show_floor(floor: float | None) -> str:
    """A campaign's noise floor."""
    return "unknown" if floor is None else f"{100 * floor:.1f} %"


def explain_absence(verdicts: Iterable[Verdict | Flag], of: str = "") -> str:
    """Why there is no verdict at all; empty where there is one."""
    flags = list(verdicts)
    if any(isinstance(flag, Verdict) for flag in flags):
        return ""
    reasons = dict.fromkeys(word(flag) for flag in flags if isinstance(flag, Flag))
    return f"No verdicts{of}: {'; '.join(reasons) or 'there is no cell'}."


def list_cells(analyses: Iterable[Analysis]) -> list[CellAnalysis]:
    """The cells of all their plans."""
    return list({cell.id: cell for analysis in analyses for cell in analysis.cells}.values())


def list_times(name: str, results: Iterable[ArmResult | None]) -> Columns:
    """The column of a campaign's times; None: the cell is not in its plan."""
    unplanned = say_none("the cell is not in the plan of this campaign")
    yield (
        f"{name}, time per call",
        [show_time(result) if result else unplanned for result in results],
    )


def list_verdicts(
    name: str, verdicts: Mapping[str, Verdict | Flag], cells: Iterable[CellAnalysis]
) -> Columns:
    """The column of verdicts, where there is any among all cells."""
    if any(isinstance(verdict, Verdict) for verdict in verdicts.values()):
        yield f"{name} is", [show_verdict(verdicts[cell.id]) for cell in cells]


def end_page(page: Page, commands: Mapping[str, str]) -> None:
    """The commands that repeat it, by what they are for, and the footnotes."""
    page.heading("How to reproduce it")
    for what, command in commands.items():
        page.paragraph(what)
        page.code(command)
    write_marks(page)
