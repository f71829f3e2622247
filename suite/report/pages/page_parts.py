"""What the reports over several campaigns have in common: how they begin and end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from suite.analysis.result.numbers import Verdict
from suite.analysis.result.several import Versus
from suite.flags import Flag
from suite.report.sections.tables.cells import write_marks
from suite.report.text.page import Page, Strong
from suite.report.text.texts import TEXTS
from suite.report.text.wording import name_banners, word

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
    for code, what in TEXTS["copied"].items():
        texts = [f"{name}: {word(f)}" for name, f in versus.copied.items() if f.code == code]
        if texts:
            page.paragraph(Strong(what), f": {'; '.join(texts)}.")
    if opening := " ".join(sentences):
        page.paragraph(opening)
    return page


def explain_absence(verdicts: Iterable[Verdict | Flag], of: str = "") -> str:
    """Why there is no verdict at all; empty where there is one."""
    found = list(verdicts)
    if any(isinstance(verdict, Verdict) for verdict in found):
        return ""
    reasons = dict.fromkeys(word(verdict) for verdict in found if isinstance(verdict, Flag))
    return f"No verdicts{of}: {'; '.join(reasons) or 'there is no cell'}."


def end_page(page: Page, commands: Mapping[str, str]) -> None:
    """The commands that repeat it, by what they are for, and the footnotes."""
    page.heading("How to reproduce it")
    for what, command in commands.items():
        page.paragraph(what)
        page.code(command)
    write_marks(page)
