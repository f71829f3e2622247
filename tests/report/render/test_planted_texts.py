"""No text of a document or of an analysis becomes markup, whatever it holds and wherever it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it.token import Token

from suite.analysis.analyse import analyse
from suite.analysis.documents.read import read_summary
from suite.analysis.result.campaign import Analysis
from suite.report.exports.summary import render_json
from suite.report.pages.brief import compose_screen
from suite.report.pages.campaign import compose
from suite.report.render.html import render_html_page
from suite.report.render.markdown import render_page
from suite.report.render.terminal import render_lines
from tests.golden_campaigns import analyse_golden, load_golden
from tests.report.planting import plant
from tests.report.reading import MARKDOWN, fake_pictures, parse

SPECIAL = "*_`~^[](){}<>|\\!#&$+-=.:;/@'\"% \t\n\r\v\f\x00\x02\x1b\x85\u2028\u202e\ufeff\ue000aw1"
"""Whatever means something to Markdown, HTML, a terminal, or the suite's own pages."""

WORST = "**a** __b__ ~~c~~ `d` <b>e</b> [f](http://g.example) ![h](i) [1] &lt; $j$ | www.k.example \x1b[1m"

TEXTS = st.text(alphabet=SPECIAL, min_size=1, max_size=12)


@cache
def read_analysis(name: str) -> Analysis:
    """As a file, so that it holds nothing that no summary can."""
    return read_summary(render_json(analyse_golden(name)))


def plant_summary(name: str, text: str) -> Analysis:
    return plant(read_analysis(name), lambda old: f"{text}{old}x{text}")


def plant_documents(name: str, text: str) -> Analysis:
    # Behind each text, so that a device's or a fact's name still begins as one.
    return analyse(plant(load_golden(name), lambda old: f"{old}{text}"))


SOURCES = {"summary": plant_summary, "documents": plant_documents}


def walk(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from walk(token.children or [])


def count_markdown(text: str) -> Counter[str]:
    """How often each kind of markup stands in it."""
    kinds = Counter(token.type for token in walk(MARKDOWN.parse(text)))
    return Counter({kind: n for kind, n in kinds.items() if not kind.startswith("text")})


def count_html(html: str) -> Counter[str]:
    """How often each element stands in it, with the names of its attributes; but for what says where a line
    of a text may end."""
    elements = (e for e in parse(html).iter() if e.tag != "wbr" and e.get("class") != "range")
    return Counter(f"{element.tag} {' '.join(sorted(element.attrib))}" for element in elements)


def count_rendered(analysis: Analysis) -> tuple[Counter[str], Counter[str]]:
    page = compose(analysis)
    markdown, lines = render_page(page), render_lines(compose_screen(analysis))
    assert markdown.replace("\n", "").isprintable()
    assert lines.replace("\n", "").isprintable()
    return count_markdown(markdown), count_html(render_html_page(page, fake_pictures(analysis)))


@cache
def count_plain(source: str, name: str) -> tuple[Counter[str], Counter[str]]:
    return count_rendered(SOURCES[source](name, "x"))


def check(source: str, name: str, text: str) -> None:
    assert count_rendered(SOURCES[source](name, text)) == count_plain(source, name)


@pytest.mark.parametrize(("source", "name"), [("summary", "troubled"), ("documents", "two-arms")])
def test_the_worst_text_changes_nothing_that_is_markup(source: str, name: str) -> None:
    check(source, name, WORST)


@pytest.mark.method
@pytest.mark.parametrize("name", ["troubled", "two-arms"])
@pytest.mark.parametrize("source", SOURCES)
@settings(max_examples=25, deadline=None)
@given(text=TEXTS)
def test_nor_does_any_other(source: str, name: str, text: str) -> None:
    check(source, name, text)


def test_the_texts_are_shown_as_they_are() -> None:
    analysis = plant_summary("troubled", "<b>")
    page = compose(analysis)
    assert render_page(page).count(r"\<b>") > 300
    assert render_html_page(page, fake_pictures(analysis)).count("&lt;b&gt;") > 300
