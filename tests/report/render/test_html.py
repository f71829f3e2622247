"""``report.html`` as a browser, a reader of the Markdown, and somebody hostile see it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from xml.etree.ElementTree import Element

import pytest
from markdown_it.token import Token

from suite.analysis.analyse import analyse
from suite.analysis.result.campaign import Analysis
from suite.report.pages.gallery import NOT_INSTALLED
from tests.golden_campaigns import NAMES, analyse_golden, load_golden
from tests.rendering import render_html, render_whole
from tests.report.reading import MARKDOWN, fake_pictures, parse

SPOKEN = {"h1", "h2", "h3", "p", "li", "caption", "th", "td", "pre", "figcaption"}
"""Elements whose text is one piece of what the report says."""


def render(summary: Analysis) -> str:
    return render_html(summary, fake_pictures(summary))


@cache
def parse_golden(name: str) -> Element:
    return parse(render(analyse_golden(name)))


def squeeze(text: str) -> str:
    return " ".join(text.split())


def pieces_of_html(document: Element) -> Iterator[str]:
    """What the page says, piece by piece, navigation left out."""
    body = document.find("body")
    assert body is not None
    for part in body:
        if part.tag == "nav":
            continue
        for element in part.iter():
            if element.tag in SPOKEN:
                yield squeeze("".join(element.itertext()))
            elif element.tag == "img":
                yield squeeze(element.get("alt", ""))


def pieces_of_markdown(text: str) -> Iterator[str]:
    for token in MARKDOWN.parse(text):
        if token.type == "inline":
            text = squeeze("".join(map(show, token.children or [])))
            # A footnote has other signs, and a picture its file before its caption.
            text = re.sub(r"^(\[\d+\]):|^plots/\w+\.svg: | ·$", r"\1", text.replace("[^", "["))
            yield text
        elif token.type == "code_block":
            yield squeeze(token.content)


def show(token: Token) -> str:
    if token.type == "image":
        return "".join(map(show, token.children or []))
    return token.content if token.type != "softbreak" else " "


@pytest.mark.parametrize("name", NAMES)
def test_both_formats_say_the_same(name: str) -> None:
    summary = analyse_golden(name)
    markdown = list(pieces_of_markdown(render_whole(summary)))
    html = list(pieces_of_html(parse(render(summary))))
    assert html == markdown
    assert sum(bool(re.search(r"\d", piece)) for piece in html) > 50


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_asked_of_anybody(name: str) -> None:
    html, document = render(analyse_golden(name)), parse_golden(name)
    for element in document.iter():
        for attribute, value in element.attrib.items():
            assert attribute not in {"srcset", "action", "style", "background", "ping"}
            assert not attribute.startswith("on")
            if attribute == "href":
                assert value.startswith("#")
            if attribute == "src":
                assert value.startswith("data:image/svg+xml;base64,")
    tags = {element.tag for element in document.iter()}
    assert not tags & {"link", "iframe", "object", "embed", "base", "form", "video", "audio"}
    assert "http:" not in html
    assert "https:" not in html
    assert "url(" not in html
    assert "@import" not in html


@pytest.mark.parametrize("name", NAMES)
def test_the_policy_allows_this_style_and_this_script_alone(name: str) -> None:
    document = parse_golden(name)
    (policy,) = [
        meta.get("content", "")
        for meta in document.iter("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        (element,) = document.iter(tag)
        digest = hashlib.sha256((element.text or "").encode()).digest()
        assert f"{tag}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert "unsafe" not in policy


def test_links_lead_somewhere_and_names_are_unique() -> None:
    document = parse_golden("troubled")
    names = [element.get("id") for element in document.iter() if element.get("id")]
    assert len(names) == len(set(names))
    links = [element.get("href", "") for element in document.iter("a")]
    assert {link.removeprefix("#") for link in links} <= set(names)
    assert any(link.startswith("#note-") for link in links)
    assert any(link.startswith("#mark-") for link in links)


def test_the_page_has_its_landmarks_and_names() -> None:
    document = parse_golden("two-arms")
    assert document.get("lang") == "en"
    title = document.find("head/title")
    heading = document.find("body/header/h1")
    assert title is not None
    assert heading is not None
    assert title.text == "".join(heading.itertext()) == "Crossover: cuda against cpu — SIMULATED"
    assert [part.tag for part in document.find("body") or []] == ["header", "nav", "main", "script"]
    for table in document.iter("table"):
        caption = table.find("caption")
        assert caption is not None
        assert "SIMULATED" in "".join(caption.itertext())
        assert all(cell.get("scope") == "col" for cell in table.findall("thead/tr/th"))
        rows = table.findall("tbody/tr")
        assert all([cell.tag for cell in row].count("th") == 1 for row in rows)
        widths = {len(row) for row in [*rows, *table.findall("thead/tr")]}
        assert len(widths) == 1
    assert all(img.get("alt") for img in document.iter("img"))


def test_decimal_points_stand_below_each_other() -> None:
    """What stands before the point has a width of its own, the same in the whole column."""
    document = parse_golden("two-arms")
    (style,) = document.iter("style")
    columns = 0
    for table in document.iter("table"):
        rows = table.findall("tbody/tr")
        for column in zip(*rows, strict=True):
            numbers = [cell for cell in column if cell.get("class") == "n"]
            if not numbers:
                continue
            assert len(numbers) == len(column)
            spans = [
                span
                for cell in numbers
                for span in cell.iter("span")
                if "range" not in span.attrib["class"]
            ]
            assert len(spans) == len(column)
            (name,) = {span.get("class", "") for span in spans}
            assert f".{name} {{ min-width: {name[1:]}ch; }}" in (style.text or "")
            assert all(len("".join(span.itertext())) <= int(name[1:]) for span in spans)
            columns += 1
    assert columns > 10
    # A column is sorted by what its numbers mean.
    keys = [float(key) for cell in document.iter("td") if (key := cell.get("data-value"))]
    assert min(keys) < 1e-4
    assert max(keys) > 1e12


def test_invalid_numbers_are_struck_and_their_marks_are_not() -> None:
    document = parse_golden("troubled")
    struck = ["".join(element.itertext()) for element in document.iter("s")]
    assert any("GFLOP/s" in text for text in struck)
    assert not any("[" in text for text in struck)
    assert not list(parse_golden("two-arms").iter("s"))


def test_without_a_library_that_draws_both_say_so() -> None:
    summary = analyse_golden("two-arms")
    html = render_html(summary, {}, NOT_INSTALLED)
    assert "matplotlib is not installed here" in html
    assert "<img" not in html
    markdown = render_whole(summary, NOT_INSTALLED)
    assert "matplotlib is not installed here" in markdown
    assert "![" not in markdown
    assert list(pieces_of_html(parse(html))) == list(pieces_of_markdown(markdown))


def test_hostile_pictures_stay_pictures() -> None:
    """A picture is an image in its own right, where no script runs, whatever it holds."""
    summary = analyse_golden("two-arms")
    html = render_html(summary, dict.fromkeys(fake_pictures(summary), "<script>alert(1)</script>"))
    assert "<script>alert" not in html


def test_a_campaign_without_documents_has_a_page() -> None:
    loaded = load_golden("two-arms")
    parse(render(analyse(replace(loaded, documents=[], controls=[]))))
