"""A page as a PDF and as a Word document, of its HTML; the libraries for it are not always installed."""

from __future__ import annotations

import base64
import io
import re
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from suite.errors import NotInstalledError, UsageError

Sheet = Literal["a4", "letter"]

_TWIPS: Mapping[Sheet, tuple[int, int]] = {"a4": (11906, 16838), "letter": (12240, 15840)}
"""Width and height of a sheet as Word counts, in twentieths of a point."""

_LOCK = "paper"

_NAVIGATION = re.compile(r"<nav .*?</nav>", re.DOTALL)
_BACK = re.compile(r'<a href="#mark-\d+">([^<]*)</a>')
"""A footnote's link back: pandoc drops the place that it leads to."""

_PICTURE = re.compile(r'src="data:image/svg\+xml;base64,[^"]*"')

_FORM = re.compile(r'<table class="s(\d+) .*?<colgroup>(.*?)</colgroup>', re.DOTALL)
_COLUMN = re.compile(r'<col class="e(\d+)">')
"""A table's letters in half points, and its columns' widths in tenths of an em: both multiplied are twips."""
_FIGURE = re.compile(r"<figure>")

_WHITEST, _EMPTY = 1 / 3, 0.8
"""The share of a page that may be white before a picture, and from which on the last page is nearly empty."""

_HEAD, _SPARE = 70.0, 32.0
"""Pixels: where a picture begins that has only a heading above it on its page, and what margins may take
elsewhere that they do not on top of a page."""

_TIGHTER = "body { line-height: 1.32 !important } table, .notes { line-height: 1.22 !important }"
"""What may save the last page."""

_CAPTION = '<w:pStyle w:val="TableCaption" />'
_TABLE = re.compile(rf"{_CAPTION}.*?</w:tbl>", re.DOTALL)
_ROW = re.compile(r"<w:tr>(?:<w:trPr>(?P<kept>.*?)</w:trPr>)?(?P<cells>.*?)</w:tr>", re.DOTALL)
_SECTION = re.compile(r"<w:sectPr>.*?</w:sectPr>", re.DOTALL)
_WIDTH = re.compile(r"<w:tblW [^>]*/>")
_GRID = re.compile(r"<w:tblGrid>.*?</w:tblGrid>", re.DOTALL)
_COMPACT, _BARE = '<w:pStyle w:val="Compact" />', "<w:tcPr />"
"""A paragraph in a cell, and a cell of no width, as pandoc writes them."""

_STYLE = (
    '<w:style w:type="paragraph" w:customStyle="1" w:styleId="{name}"><w:name w:val="{name}" />'
    '<w:basedOn w:val="Normal" /><w:pPr><w:spacing w:before="20" w:after="20" /></w:pPr>'
    '<w:rPr>{bold}<w:sz w:val="{size}" /><w:szCs w:val="{size}" /></w:rPr></w:style>'
)
"""Beside pandoc's own, for tables, of letters in half points."""

_RULES = (
    '<w:tblBorders><w:top w:val="single" w:sz="6" /><w:bottom w:val="single" w:sz="6" />'
    '<w:insideH w:val="single" w:sz="2" w:color="999999" /></w:tblBorders><w:tblLayout w:type="fixed" />'
    '<w:tblCellMar><w:left w:w="0" w:type="dxa" /><w:right w:w="120" w:type="dxa" /></w:tblCellMar>'
)
Form = tuple[int, Sequence[int]]
"""Half points of a table's letters, and twips of its columns."""

_MARGIN = 907
"""Of a sheet, in twips: 16 mm, as in ``page.css``."""


def render_pdf(html: str, sheet: Sheet = "a4") -> bytes:
    """The page as a PDF, on sheets as `lay_out` has them; raises what that does."""
    content: bytes = lay_out(html, sheet).write_pdf()
    return content


def lay_out(html: str, sheet: Sheet = "a4") -> Any:
    """The page on sheets (a document of WeasyPrint's), as ``page.css`` sets it; nothing is fetched from
    anywhere.

    Raises:
        NotInstalledError: WeasyPrint is not installed.
        UsageError: a library that it needs of the system is missing.
    """
    try:
        import weasyprint  # noqa: PLC0415  in a lock of its own
        from weasyprint.urls import URLFetcher  # noqa: PLC0415
    except ImportError as error:
        raise NotInstalledError("WeasyPrint, which makes the PDF,", _LOCK) from error
    except OSError as error:
        raise UsageError(
            f"WeasyPrint finds no Pango: {error}",
            "sudo apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0",
        ) from error
    numbers = count(1)
    text = _FIGURE.sub(lambda _: f'<figure id="figure-{next(numbers)}">', html)
    # It ends lines behind a slash as it is; for these it sets a letter, which a copied name would have.
    text = text.replace("<wbr>", "")
    source = weasyprint.HTML(string=text, url_fetcher=URLFetcher(allowed_protocols=["data"]))
    rules = [f"@page {{ size: {sheet} !important }}"]
    while True:
        document = source.render(stylesheets=[weasyprint.CSS(string="\n".join(rules))])
        # WeasyPrint shows in no other way what stands where.
        rule = _find_remedy([page._page_box for page in document.pages], rules)  # noqa: SLF001
        if rule is None:
            return document
        rules.append(rule)


def _find_remedy(pages: Sequence[Any], rules: Sequence[str]) -> str | None:
    """The next rule of style, beside these, with which no page but the last is over a third white before a
    picture, nor the last nearly so; None where nothing is left to try."""
    if len(pages) > 1 and _find_white(pages[-1]) > _EMPTY and _TIGHTER not in rules:
        return _TIGHTER
    for before, page in pairwise(pages):
        white = _find_white(before)
        figure = next((box for box in page.descendants() if box.element_tag == "figure"), None)
        if white <= _WHITEST or figure is None or figure.position_y > page.content_box_y() + _HEAD:
            continue
        name = f"#{figure.element.get('id')} img"
        image = next(box for box in figure.descendants() if box.element_tag == "img")
        end = figure.position_y + figure.margin_height() - page.content_box_y() + _SPARE
        height = image.height - (end - white * page.height)
        if not any(rule.startswith(name) for rule in rules):
            return f"{name} {{ max-height: {height:.0f}px !important }}"
    return None


def _find_white(page: Any) -> float:
    """The share of a page's height, between its margins, under the last that stands on it."""
    ends = (
        part.position_y + part.height
        for part in page.children[0].descendants()
        if part.element_tag == "img" or hasattr(part, "text")
    )
    top = page.content_box_y()
    return float((top + page.height - max(ends, default=top)) / page.height)


def render_docx(html: str, pictures: Sequence[bytes], sheet: Sheet = "a4") -> bytes:
    """The page as a Word document, its ``pictures`` as PNG: older Word shows no SVG.

    Raises:
        NotInstalledError: pandoc is not installed.
    """
    try:
        import pypandoc  # noqa: PLC0415  in a lock of its own
    except ImportError as error:
        raise NotInstalledError("pandoc, which makes the Word document,", _LOCK) from error
    waiting = (base64.b64encode(picture).decode() for picture in pictures)
    text = _PICTURE.sub(lambda _: f'src="data:image/png;base64,{next(waiting)}"', html)
    text = _BACK.sub(r"\1", _NAVIGATION.sub("", text))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.docx"
        pypandoc.convert_text(
            text, "docx", format="html", outputfile=str(path), extra_args=["--sandbox"]
        )
        forms = [
            (int(size), [int(size) * int(width) for width in _COLUMN.findall(columns)])
            for size, columns in _FORM.findall(html)
        ]
        return _set_pages(path.read_bytes(), sheet, forms)


def _set_pages(docx: bytes, sheet: Sheet, forms: Sequence[Form]) -> bytes:
    """The document on this sheet, its tables as they fit, their rows whole, and no head alone."""
    width, height = _TWIPS[sheet]
    waiting, room = iter(forms), width - 2 * _MARGIN
    margins = "".join(f' w:{side}="{_MARGIN}"' for side in ("top", "right", "bottom", "left"))
    section = (
        f'<w:sectPr><w:pgSz w:w="{width}" w:h="{height}" />'
        f'<w:pgMar{margins} w:header="450" w:footer="450" w:gutter="0" /></w:sectPr>'
    )
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(docx)) as old, zipfile.ZipFile(out, "w") as new:
        for part in old.infolist():
            content = old.read(part)
            if part.filename == "word/document.xml":
                text = _TABLE.sub(
                    lambda table: _set_table(table[0], *next(waiting), room), content.decode()
                )
                content = _SECTION.sub(section, text).encode()
            elif part.filename == "word/styles.xml":
                # Half points: 10 in the text.
                text = re.sub(
                    r'<w:(szC?s?) w:val="24" />', r'<w:\1 w:val="20" />', content.decode()
                )
                styles = "".join(map(_make_styles, sorted({size for size, _ in forms})))
                content = text.replace("</w:styles>", f"{styles}</w:styles>").encode()
            new.writestr(part, content, compress_type=zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _make_styles(size: int) -> str:
    """Of a table's cells and heads, in letters of so many half points."""
    cell = _STYLE.format(name=f"TableText{size}", bold="", size=size)
    return cell + _STYLE.format(name=f"TableHead{size}", bold="<w:b />", size=size)


def _set_table(table: str, size: int, widths: Sequence[int], room: int) -> str:
    """A table and its caption, which is as wide, of ``room`` twips."""
    last = len(_ROW.findall(table)) - 1
    place = count()

    def set_row(row: re.Match[str]) -> str:
        # The head and the rows behind it stay with what follows, and so do the last ones.
        number = next(place)
        ends = number < 4 or number > last - 4
        keep = "<w:keepNext />" if ends and number < last else ""
        style = f"{'TableText' if number else 'TableHead'}{size}"
        cells = row["cells"].replace(_COMPACT, f'<w:pStyle w:val="{style}" />{keep}')
        for width in widths:
            cells = cells.replace(
                _BARE, f'<w:tcPr><w:tcW w:w="{width}" w:type="dxa" /></w:tcPr>', 1
            )
        return f"<w:tr><w:trPr><w:cantSplit />{row['kept'] or ''}</w:trPr>{cells}</w:tr>"

    indent = f'{_CAPTION}<w:ind w:right="{max(0, room - sum(widths))}" />'
    whole = f'<w:tblW w:w="{sum(widths)}" w:type="dxa" />'
    grid = "".join(f'<w:gridCol w:w="{width}" />' for width in widths)
    table = _WIDTH.sub(whole, table.replace(_CAPTION, indent, 1), count=1)
    table = _GRID.sub(f"<w:tblGrid>{grid}</w:tblGrid>", table)
    return _ROW.sub(set_row, table.replace("<w:tblLook ", f"{_RULES}<w:tblLook ", 1))


SHEETS: Sequence[Sheet] = get_args(Sheet)
"""The sheets that there are."""
