"""The page on paper: nothing cut, no head alone, pictures as vectors; and the same for Word."""

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from pypdf import PdfReader

from suite.errors import NotInstalledError
from suite.report.produce import Report, build_report, draw
from suite.report.render.paper import Sheet, lay_out, render_docx, render_pdf
from suite.report.text.page import Figure, Table
from tests.golden_campaigns import analyse_golden

weasyprint = pytest.importorskip(
    "weasyprint", reason="WeasyPrint, or Pango, is missing", exc_type=(ImportError, OSError)
)


@pytest.fixture(scope="module")
def report() -> Report:
    """A campaign's, and a table that is longer than a page and wider than a sheet."""
    built = build_report(analyse_golden("one-arm"))
    wide = {f"gpu-{column} against cpu": "gpu-1 2.15× slower (1.98–2.31)" for column in range(8)}
    rows = [{"row": f"matmul.square/n={number}"} | wide for number in range(40)]
    built.page.table("Table: a long one.", rows)
    return built


@pytest.fixture(scope="module")
def drawn(report: Report) -> dict[str, str | bytes]:
    return draw(report)


@pytest.fixture(scope="module")
def html(drawn: dict[str, str | bytes]) -> str:
    return str(drawn["report.html"])


@pytest.fixture(scope="module")
def laid(html: str) -> Any:
    """Laid out once, which takes seconds."""
    return lay_out(html)


@pytest.fixture(scope="module")
def pdf(laid: Any) -> PdfReader:
    return PdfReader(io.BytesIO(laid.write_pdf()))


@pytest.fixture(scope="module")
def pages(laid: Any) -> list[Any]:
    return list(laid.pages)


def boxes(page: Any, kind: str) -> Iterator[Any]:
    return (box for box in page._page_box.descendants() if type(box).__name__ == kind)


def test_nothing_goes_beyond_the_sheet(pages: list[Any]) -> None:
    for page in pages:
        for kind in ("TextBox", "InlineReplacedBox", "BlockReplacedBox"):
            for box in boxes(page, kind):
                assert box.position_x >= 0
                assert box.position_x + box.width <= page.width


def test_no_head_stands_alone_and_no_row_is_left_alone(pages: list[Any]) -> None:
    parts: dict[int, list[int]] = {}
    for page in pages:
        for table in boxes(page, "TableBox"):
            groups = list(table.children)
            assert groups[0].is_header, "every part of a table has its head"
            count = sum(len(group.children) for group in groups[1:])
            parts.setdefault(id(table.element), []).append(count)
    assert max(map(len, parts.values())) > 1, "some table goes over a page"
    for rows in parts.values():
        assert min(rows) >= min(3, sum(rows)), rows


def test_a_heading_has_something_under_it(pages: list[Any]) -> None:
    for page in pages:
        lines = [
            (box.position_y, box.element_tag)
            for box in boxes(page, "LineBox")
            if box.position_y < page.height - 70
        ]
        assert max(lines)[1].split("::")[0] not in {"h1", "h2", "h3", "caption"}


def test_the_pdf_has_everything_and_numbered_pages(
    pages: list[Any], pdf: PdfReader, report: Report
) -> None:
    texts = ["".join(box.text for box in boxes(page, "TextBox")) for page in pages]
    for number, text in enumerate(texts, 1):
        assert f"{number} / {len(texts)}" in text
        assert "SIMULATED" in text, "the banner is on every page"
    assert f"1 / {len(texts)}" in pdf.pages[0].extract_text()
    whole = re.sub(r"\s", "", "".join(texts))
    for block in report.page.blocks:
        if isinstance(block, Table):
            for row in block.rows:
                assert re.sub(r"\s", "", row[0].text) in whole
    assert pdf.outline, "headings are bookmarks"


def test_pictures_are_vectors_and_footnotes_are_links(pdf: PdfReader, html: str) -> None:
    assert "<figure>" in html
    assert not any(len(page.images) for page in pdf.pages)
    targets = {
        str(link.get_object().get("/Dest") or link.get_object()["/A"].get("/D"))
        for page in pdf.pages
        for link in page.get("/Annots", [])
    }
    assert {f"note-{mark}" for mark in re.findall(r'href="#note-(\d+)"', html)} <= targets


@pytest.mark.parametrize(("sheet", "points"), [("a4", (595, 842)), ("letter", (612, 792))])
def test_the_sheet_is_the_one_that_was_asked_for(sheet: Sheet, points: tuple[int, int]) -> None:
    box = PdfReader(io.BytesIO(render_pdf("<h1>one</h1>", sheet))).pages[0].mediabox
    assert (round(box.width), round(box.height)) == points


def test_nothing_is_fetched(caplog: pytest.LogCaptureFixture) -> None:
    page = '<h1>one</h1><img src="file:///etc/hostname"><img src="https://host.example/a.png">'
    assert len(PdfReader(io.BytesIO(render_pdf(page))).pages) == 1
    assert caplog.text.count("Failed to load image") == 2


@pytest.fixture(scope="module")
def document(report: Report, drawn: dict[str, str | bytes], html: str) -> zipfile.ZipFile:
    pytest.importorskip("pypandoc", reason="pandoc is missing: `make .venv/paper.stamp`")
    pictures = [
        drawn[f"plots/{block.name}.png"]
        for block in report.page.blocks
        if isinstance(block, Figure)
    ]
    docx = render_docx(html, [png for png in pictures if isinstance(png, bytes)])
    return zipfile.ZipFile(io.BytesIO(docx))


def test_words_tables_repeat_their_heads_and_cut_no_row(
    document: zipfile.ZipFile, report: Report
) -> None:
    text = document.read("word/document.xml").decode()
    tables = re.findall(r"(?s)<w:tbl>.*?</w:tbl>", text)
    expected = [block for block in report.page.blocks if isinstance(block, Table)]
    assert len(tables) == len(expected)
    for table, block in zip(tables, expected, strict=True):
        rows = re.findall(r"(?s)<w:tr>.*?</w:tr>", table)
        assert len(rows) == 1 + len(block.rows)
        assert all("<w:cantSplit />" in row for row in rows)
        assert ["w:tblHeader" in row for row in rows] == [True] + [False] * len(block.rows)
        assert "w:keepNext" in rows[0]
        widths = [int(width) for width in re.findall(r'gridCol w:w="(\d+)"', table)]
        assert len(widths) == len(block.headers)
        assert sum(widths) <= 11906 - 2 * 900


def test_words_pictures_are_png_and_its_links_lead_somewhere(document: zipfile.ZipFile) -> None:
    media = [name for name in document.namelist() if name.startswith("word/media/")]
    assert media
    assert all(document.read(name).startswith(b"\x89PNG") for name in media)
    text = document.read("word/document.xml").decode()
    names = set(re.findall(r'bookmarkStart [^>]*w:name="([^"]*)"', text))
    anchors = set(re.findall(r'w:anchor="([^"]*)"', text))
    assert any(name.startswith("note-") for name in anchors)
    assert anchors <= names
    assert '<w:pgSz w:w="11906" w:h="16838" />' in text


@pytest.mark.parametrize("name", ["weasyprint", "pypandoc"])
def test_what_is_missing_is_said_in_a_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(NotInstalledError, match="is not installed") as raised:
        render_pdf("<h1>one</h1>") if name == "weasyprint" else render_docx("<h1>one</h1>", [])
    assert raised.value.remedy == "`make .venv/paper.stamp`"
