"""A campaign's analysis as texts, for tests that look at what the report says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from suite.analysis.analyse import analyse_folder, analyse_survey, compare_folders
from suite.analysis.result.campaign import Analysis
from suite.report.pages.campaign import compose
from suite.report.produce import Report, build_comparison, build_report, build_survey_report
from suite.report.render.html import render_html_page
from suite.report.render.markdown import render_page


def collate(folder: Path, *, pictures: bool = True) -> Report:
    """Everything that is derived from a campaign's folder."""
    return build_report(analyse_folder(folder), pictures=pictures)


def collate_side_by_side(folders: Sequence[Path], pairs: Sequence[str] = ()) -> dict[str, str]:
    """The files of a comparison."""
    return build_comparison(*compare_folders(folders, pairs))


def collate_survey(folder: Path) -> dict[str, str]:
    """The files of a survey."""
    return build_survey_report(*analyse_survey(folder))[0]


def render_markdown(analysis: Analysis, undrawn: str | None = None) -> str:
    """The whole report as Markdown; ``undrawn`` is why there are no pictures."""
    return render_page(compose(analysis, undrawn))


def render_html(analysis: Analysis, pictures: Mapping[str, str], undrawn: str | None = None) -> str:
    """The whole report as HTML, with its pictures as SVG by name."""
    return render_html_page(compose(analysis, undrawn), pictures)
