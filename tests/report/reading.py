"""Reports as a parser of Markdown and one of HTML read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from markdown_it import MarkdownIt
from tinyhtml5.parser import HTMLParser

from suite.analysis.result.campaign import Analysis
from suite.report.pages.gallery import depict

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def parse(html: str) -> Element:
    """The document as HTML's own algorithm reads it; an error of it is an error of ours."""
    parser = HTMLParser(namespace_html_elements=False)
    document = parser.parse(html)
    assert parser.errors == []
    assert isinstance(document, Element)
    return document


def fake_pictures(analysis: Analysis) -> dict[str, str]:
    return {p.name: f"<svg><title>{p.name}</title></svg>" for p in depict(analysis)}


def find_boxes(page: Any, *kinds: str) -> Iterator[Any]:
    """The boxes of these kinds on a page that WeasyPrint has laid out."""
    return (box for box in page._page_box.descendants() if type(box).__name__ in kinds)
