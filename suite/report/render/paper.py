"""A page as a PDF and as a Word document, of its HTML; the libraries for it are not always installed."""

from __future__ import annotations

import base64
import io
import re
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
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

_TABLE = re.compile(r"<w:tbl>.*?</w:tbl>", re.DOTALL)
_ROW = re.compile(r"<w:tr>(?:<w:trPr>(?P<kept>.*?)</w:trPr>)?(?P<cells>.*?)</w:tr>", re.DOTALL)
_SECTION = re.compile(r"<w:sectPr>.*?</w:sectPr>", re.DOTALL)
_CELL = re.compile(r"<w:tc>.*?</w:tc>", re.DOTALL)
_TEXT = re.compile(r"<w:t[ >][^<]*")
_GRID = re.compile(r"<w:tblGrid>.*?</w:tblGrid>", re.DOTALL)
_COMPACT = '<w:pStyle w:val="Compact" />'

_STYLE = (
    '<w:style w:type="paragraph" w:customStyle="1" w:styleId="{name}"><w:name w:val="{name}" />'
    '<w:basedOn w:val="Normal" /><w:pPr><w:spacing w:before="20" w:after="20" /></w:pPr>'
    '<w:rPr>{bold}<w:sz w:val="15" /><w:szCs w:val="15" /></w:rPr></w:style>'
)
_STYLES = _STYLE.format(name="TableText", bold="") + _STYLE.format(name="TableHead", bold="<w:b />")
"""Beside pandoc's own, for tables, which are wide: 7.5 points."""

_RULES = (
    '<w:tblBorders><w:top w:val="single" w:sz="6" /><w:bottom w:val="single" w:sz="6" />'
    '<w:insideH w:val="single" w:sz="2" w:color="999999" /></w:tblBorders>'
)
_LETTER, _WIDEST, _MARGIN = 85, 36, 900
"""Twentieths of a point: a letter in a table, and the margins of a sheet.  A column is at most so many
letters wide, unless there is room."""


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
    document = weasyprint.HTML(string=html, url_fetcher=URLFetcher(allowed_protocols=["data"]))
    size = weasyprint.CSS(string=f"@page {{ size: {sheet} !important }}")
    return document.render(stylesheets=[size])


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
        return _set_pages(path.read_bytes(), sheet)


def _set_pages(docx: bytes, sheet: Sheet) -> bytes:
    """The document on this sheet, its tables small, their rows whole, and no head alone."""
    width, height = _TWIPS[sheet]
    room = width - 2 * _MARGIN
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
                text = _TABLE.sub(lambda table: _set_table(table[0], room), content.decode())
                content = _SECTION.sub(section, text).encode()
            elif part.filename == "word/styles.xml":
                # Half points: 10 in the text.
                text = re.sub(
                    r'<w:(szC?s?) w:val="24" />', r'<w:\1 w:val="20" />', content.decode()
                )
                content = text.replace("</w:styles>", f"{_STYLES}</w:styles>").encode()
            new.writestr(part, content, compress_type=zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _set_table(table: str, room: int) -> str:
    rows = [_CELL.findall(row["cells"]) for row in _ROW.finditer(table)]
    place = iter(range(len(rows)))

    def set_row(row: re.Match[str]) -> str:
        # The head and the rows behind it stay with what follows, and so do the last ones.
        number = next(place)
        ends = number < 4 or number > len(rows) - 5
        keep = "<w:keepNext />" if ends and number < len(rows) - 1 else ""
        style = "TableText" if number else "TableHead"
        cells = row["cells"].replace(_COMPACT, f'<w:pStyle w:val="{style}" />{keep}')
        return f"<w:tr><w:trPr><w:cantSplit />{row['kept'] or ''}</w:trPr>{cells}</w:tr>"

    grid = "".join(f'<w:gridCol w:w="{width}" />' for width in _share_room(rows, room))
    table = _GRID.sub(f"<w:tblGrid>{grid}</w:tblGrid>", table)
    return _ROW.sub(set_row, table.replace("<w:tblLook ", f"{_RULES}<w:tblLook ", 1))


def _share_room(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """The columns' widths: as wide as their texts where there is room, and less of the widest where not."""
    lengths = [
        max(sum(len(text.partition(">")[2]) for text in _TEXT.findall(cell)) for cell in column) + 5
        for column in zip(*rows, strict=True)
    ]
    if sum(lengths) * _LETTER > room:
        lengths = [min(length, _WIDEST) for length in lengths]
    scale = min(float(_LETTER), room / sum(lengths))
    return [int(length * scale) for length in lengths]


SHEETS: Sequence[Sheet] = get_args(Sheet)
"""The sheets that there are."""
