"""The page as a PDF, with pictures as vectors and links, and as a Word document."""

from __future__ import annotations

import io
import re
import sys
import zipfile
from typing import Any

import pytest
from pypdf import PdfReader

from suite.errors import NotInstalledError
from suite.report.produce import Report, build_report, draw
from suite.report.render.paper import Sheet, lay_out, render_docx, render_pdf
from suite.report.text.page import Figure, Table
from tests.golden_campaigns import analyse_golden
from tests.report.reading import find_boxes

weasyprint = pytest.importorskip(
    "weasyprint", reason="WeasyPrint, or Pango, is missing", exc_type=(ImportError, OSError)
)


@pytest.fixture(scope="module")
def report() -> Report:
    """A campaign's, and a table of a column an arm."""
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


def test_the_pdf_has_everything_and_numbered_pages(
    pages: list[Any], pdf: PdfReader, report: Report
) -> None:
    texts = ["".join(box.text for box in find_boxes(page, "TextBox")) for page in pages]
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
    room = 11906 - 2 * 907
    for table, block in zip(tables, expected, strict=True):
        rows = re.findall(r"(?s)<w:tr>.*?</w:tr>", table)
        assert len(rows) == 1 + len(block.rows)
        assert all("<w:cantSplit />" in row for row in rows)
        assert ["w:tblHeader" in row for row in rows] == [True] + [False] * len(block.rows)
        assert "w:keepNext" in rows[0]
        widths = [int(width) for width in re.findall(r'gridCol w:w="(\d+)"', table)]
        assert len(widths) == len(block.headers)
        (whole,) = map(int, re.findall(r'<w:tblW w:w="(\d+)" w:type="dxa" />', table))
        cells = [int(width) for width in re.findall(r'<w:tcW w:w="(\d+)"', table)]
        assert cells == widths * len(rows)
        assert whole == sum(widths)
        assert 0.59 * room <= whole <= room
    # A caption is as wide as its table.
    indents = re.findall(r'"TableCaption" /><w:ind w:right="(\d+)" />', text)
    wholes = re.findall(r'<w:tblW w:w="(\d+)"', text)
    assert [room - int(indent) for indent in indents] == list(map(int, wholes))


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
