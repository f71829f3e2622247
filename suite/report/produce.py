"""A campaign folder to every file that is derived from it.  Writes nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from tabulate import tabulate

from suite.analysis.campaign.summarise import Summary, summarise
from suite.analysis.causes.insight import Insight, find_insight
from suite.analysis.documents.read import load_campaign, load_survey
from suite.analysis.numbers.ratio import Ratio
from suite.analysis.numbers.stopping import Precision, assess
from suite.analysis.several.comparison import set_side_by_side
from suite.analysis.several.places import analyse, drop_lonely
from suite.report.exports.exchange import render_csv, render_json
from suite.report.exports.several import render_survey_json, render_versus_json
from suite.report.pages.campaign import compose
from suite.report.pages.comparison import compose_versus
from suite.report.pages.gallery import LATER, NOT_INSTALLED, depict
from suite.report.pages.places import compose_survey, render_survey_terminal
from suite.report.pictures.picture import FOLDER
from suite.report.render.html import render_html_page
from suite.report.render.markdown import render_page
from suite.report.sections.machine import account, list_by_family, name_machine, narrate
from suite.report.text.markup import show_plainly
from suite.report.text.page import Page
from suite.report.text.wording import name_banners


@dataclass(frozen=True, kw_only=True)
class Collated:
    """The derived files by name, each as text, and a few plain lines for a terminal.

    ``summary``, ``insight`` and ``page`` are what `draw` makes the other files of, ``undrawn`` why they
    are to hold no pictures.  ``troubled`` is true where some cell failed, disagrees or is INVALID: the
    command then ends with exit status 1, the report still written.
    """

    summary: Summary
    insight: Insight
    page: Page = field(compare=False)
    undrawn: str | None
    files: dict[str, str]
    terminal: str
    troubled: bool


def collate(folder: Path, *, pictures: bool = True) -> Collated:
    """Everything that is derived from a campaign's documents; the same documents, the same bytes.

    ``pictures`` is false where there is no time for them now.

    Raises:
        DocumentError: the folder, its plan or one of its documents can't be read or is refused.
    """
    summary = summarise(load_campaign(folder))
    insight = find_insight(summary)
    undrawn = LATER if not pictures else None if can_draw() else NOT_INSTALLED
    page = compose(summary, undrawn, insight)
    return Collated(
        summary=summary,
        insight=insight,
        page=page,
        undrawn=undrawn,
        files={
            "summary.json": render_json(summary, insight),
            "report.md": render_page(page),
            "cells.csv": render_csv(summary),
        },
        terminal=_render_terminal(summary, undrawn),
        troubled=_find_trouble(summary),
    )


def collate_side_by_side(folders: Sequence[Path], pairs: Sequence[str] = ()) -> dict[str, str]:
    """The report over several campaigns: its files by name, each as text.

    ``pairs`` are comparisons such as ``2:cuda/1:cpu``; none: every arm against the same arm of
    the first campaign that has it.

    Raises:
        DocumentError: a campaign can't be read.
        UsageError: the campaigns can't be compared.
    """
    summaries = [summarise(load_campaign(folder)) for folder in folders]
    versus = set_side_by_side(summaries, pairs)
    page = compose_versus(versus)
    return {
        "compare.md": render_page(page),
        "compare.html": render_html_page(page),
        "compare.json": render_versus_json(versus),
    }


@dataclass(frozen=True, kw_only=True)
class CollatedSurvey:
    """As `Collated`, of a survey: its own files by name; those of its campaigns are not among them."""

    files: dict[str, str]
    terminal: str
    troubled: bool


def collate_survey(folder: Path) -> CollatedSurvey:
    """Everything that is derived from a survey, whose campaigns lie in folders beside its own.

    Raises:
        DocumentError: its plan, or a campaign that it names, can't be read.
    """
    survey = load_survey(folder)
    results = folder.resolve().parent
    loaded = {
        one.campaign: load_campaign(results / one.campaign)
        for one in survey.members
        if (results / one.campaign).is_dir()
    }
    kept, lonely = drop_lonely(survey, loaded)
    summaries = {name: summarise(one) for name, one in kept.items()}
    found = analyse(survey, summaries, lonely)
    page = compose_survey(found)
    return CollatedSurvey(
        files={
            "survey.md": render_page(page),
            "survey.html": render_html_page(page),
            "summary.json": render_survey_json(found),
        },
        terminal=render_survey_terminal(found),
        troubled=any(_find_trouble(one) for one in summaries.values()),
    )


def can_draw() -> bool:
    """Whether the library that draws is installed; does not load it."""
    return find_spec("matplotlib") is not None


def draw(collated: Collated) -> dict[str, str | bytes]:
    """The files that take seconds: ``report.html``, and the pictures by their path."""
    if collated.undrawn is not None:
        return {"report.html": render_html_page(collated.page)}
    # Here, so that what draws nothing (a list, a plan, a look) does not wait for it.
    from suite.report.plots import render_png, render_svg  # noqa: PLC0415

    pictures = depict(collated.summary, collated.insight)
    drawn: dict[str, str] = {picture.name: render_svg(picture) for picture in pictures}
    files: dict[str, str | bytes] = {"report.html": render_html_page(collated.page, drawn)}
    for picture in pictures:
        files[f"{FOLDER}/{picture.name}.svg"] = drawn[picture.name]
        files[f"{FOLDER}/{picture.name}.png"] = render_png(picture)
    return files


def look(folder: Path) -> Precision:
    """The precision of a campaign so far, for stopping: sees intervals and no verdict.

    Raises:
        DocumentError: as `collate`.
    """
    summary = summarise(load_campaign(folder))
    return assess(
        (
            [one.estimate for one in cell.arms.values() if one.estimate],
            [one for one in cell.ratios.values() if isinstance(one, Ratio)],
        )
        for cell in summary.cells
    )


def _render_terminal(summary: Summary, undrawn: str | None) -> str:
    headers, rows = list_by_family(summary, show_plainly, named=False)
    table = tabulate(rows, headers=headers, tablefmt="simple", disable_numparse=True)
    title = " — ".join(["Crossover", *name_banners(summary.flags)])
    lines = [title, name_machine(summary, show_plainly), "", *narrate(summary, show_plainly), ""]
    lines += [table, "", *account(summary, show_plainly), ""]
    return "\n".join([*lines, *([undrawn, ""] if undrawn else [])])


def _find_trouble(summary: Summary) -> bool:
    """Whether a cell failed in any counted block, its results disagree, or it is INVALID."""
    failed = any(
        cell.outcome == "failed"
        for documents in summary.counted.values()
        for document in documents.values()
        for cell in document.cells
    )
    return failed or any(
        result.outcome == "failed"
        or result.invalid
        or (result.outcome == "measured" and result.estimate is None)
        for one in summary.cells
        for result in one.arms.values()
    )
