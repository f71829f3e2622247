"""A campaign's documents as the analysis gets them, its analysis, and that as texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path

from suite.analysis.analyse import analyse, analyse_folder, compare_folders
from suite.analysis.campaign.summarise import Summary, summarise
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.campaign import Analysis
from suite.model import Campaign, Document
from suite.report.pages.campaign import compose
from suite.report.produce import Report, build_comparison, build_report
from suite.report.render.html import render_html_page
from suite.report.render.markdown import render_page
from suite.report.text.page import Appendix, Bullets, Page, Paragraph


def load(
    campaign: Campaign, documents: Iterable[Document], controls: Iterable[Document] = ()
) -> LoadedCampaign:
    """The campaign as it were read from a folder."""
    found, apart = list(documents), list(controls)
    return LoadedCampaign(folder="made-up", campaign=campaign, documents=found, controls=apart)


def sum_up(campaign: Campaign, documents: Iterable[Document]) -> Summary:
    """What is known of every cell."""
    return summarise(load(campaign, documents))


def study(campaign: Campaign, documents: Iterable[Document]) -> Analysis:
    """All that a report is made of."""
    return analyse(load(campaign, documents))


def report_folder(folder: Path, *, pictures: bool = True) -> Report:
    """Everything that is derived from a campaign's folder."""
    return build_report(analyse_folder(folder), pictures=pictures)


def report_comparison(folders: Sequence[Path]) -> dict[str, str | bytes]:
    """The files of a comparison."""
    return build_comparison(*compare_folders(folders, asked=date(2026, 11, 23)))


def render_markdown(analysis: Analysis, undrawn: str | None = None) -> str:
    """``report.md``; ``undrawn`` is why there are no pictures."""
    return render_page(compose(analysis, undrawn))


def render_whole(analysis: Analysis, undrawn: str | None = None) -> str:
    """The whole report as Markdown, its appendix too, which stands in the HTML alone."""
    page = compose(analysis, undrawn)
    page.blocks = [block for block in page.blocks if not isinstance(block, Appendix)]
    return render_page(page)


def render_html(analysis: Analysis, pictures: Mapping[str, str], undrawn: str | None = None) -> str:
    """The whole report as HTML, with its pictures as SVG by name."""
    return render_html_page(compose(analysis, undrawn), pictures)


def read_words(page: Page) -> str:
    """What stands in the paragraphs and lists of a page, as it was written."""
    lines = (
        runs
        for block in page.blocks
        if isinstance(block, Paragraph | Bullets)
        for runs in (block.items if isinstance(block, Bullets) else [block.runs])
    )
    return "\n".join("".join(r if isinstance(r, str) else r.text for r in runs) for runs in lines)
