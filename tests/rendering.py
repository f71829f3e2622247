"""A campaign's analysis as one text, for tests that look at what the report says."""

from __future__ import annotations

from collections.abc import Mapping

from suite.analysis.campaign.summarise import Summary
from suite.report.pages.campaign import compose
from suite.report.render.html import render_html_page
from suite.report.render.markdown import render_page


def render_markdown(summary: Summary, undrawn: str | None = None) -> str:
    """The whole report as Markdown; ``undrawn`` is why there are no pictures."""
    return render_page(compose(summary, undrawn))


def render_html(summary: Summary, pictures: Mapping[str, str], undrawn: str | None = None) -> str:
    """The whole report as HTML, with its pictures as SVG by name."""
    return render_html_page(compose(summary, undrawn), pictures)
