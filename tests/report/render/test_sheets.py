"""A standard campaign on sheets: nothing cut, no head alone, no page of white, no column too narrow."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from suite.analysis.analyse import analyse
from suite.report.plots import render_svg
from suite.report.produce import build_report
from suite.report.render.html import render_html_page
from suite.report.render.paper import lay_out
from tests.bench.truth import campaigns, devices, tally
from tests.report.reading import find_boxes

weasyprint = pytest.importorskip(
    "weasyprint", reason="WeasyPrint, or Pango, is missing", exc_type=(ImportError, OSError)
)

SHOWN = ("TextBox", "InlineReplacedBox", "BlockReplacedBox")


@pytest.fixture(scope="module")
def pages() -> list[Any]:
    """One in which the GPU loses by whatever it can lose by, and a table of a column an arm; laid out once,
    which takes seconds."""
    gpu = replace(
        devices.GPU, eager=1e-4, graph=5e-4, kernel=5e-6, latency=30e-6, bandwidth=1e9, first=2.0
    )
    campaign = campaigns.make_plan()
    documents = campaigns.make_documents(campaign, devices.plant(devices.CPU, gpu))
    report = build_report(analyse(tally.load(campaign, documents)))
    wide = {f"gpu-{column} against cpu": "gpu-1 2.15× slower (1.98–2.31)" for column in range(8)}
    rows = [{"row": f"matmul.square/n={number}"} | wide for number in range(40)]
    report.page.table("Table: a long one.", rows)
    pictures = {picture.name: render_svg(picture) for picture in report.pictures}
    return list(lay_out(render_html_page(report.page, pictures)).pages)


def test_nothing_goes_beyond_the_margins(pages: list[Any]) -> None:
    for page in pages:
        sheet = page._page_box
        left, right = sheet.content_box_x(), sheet.content_box_x() + sheet.width
        for box in find_boxes(page, *SHOWN, "TableBox"):
            assert box.position_x >= left - 0.01
            assert box.position_x + box.width <= right + 0.01


def test_no_page_but_the_last_is_over_a_third_white(pages: list[Any]) -> None:
    assert sum(1 for page in pages for _ in find_boxes(page, *SHOWN[1:])) >= 5, "pictures"
    for number, page in enumerate(pages[:-1], 1):
        sheet = page._page_box
        foot = sheet.content_box_y() + sheet.height
        ends = (box.position_y + box.height for box in find_boxes(page, *SHOWN))
        assert foot - max(end for end in ends if end <= foot) <= sheet.height / 3, number


def test_cells_have_few_lines_and_words_are_whole(pages: list[Any]) -> None:
    counts = []
    for page in pages:
        for cell in find_boxes(page, "TableCellBox"):
            lines = [
                "".join(part.text for part in line.descendants() if hasattr(part, "text"))
                for line in cell.descendants()
                if type(line).__name__ == "LineBox"
            ]
            counts.append(len(lines))
            text = "".join(cell.element.itertext()) if len(lines) > 1 else ""
            for before, after in pairwise(lines):
                broken = f"{before}{after}" in text and before[-1].isalnum() and after[0].isalnum()
                word = before.split()[-1] + after.split()[0]
                assert not broken or len(word) > 40, lines
    assert max(counts) <= 4
    assert sum(count > 1 for count in counts) > 100


def test_no_head_stands_alone_and_no_row_is_left_alone(pages: list[Any]) -> None:
    parts: dict[int, list[int]] = {}
    for page in pages:
        for table in find_boxes(page, "TableBox"):
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
            for box in find_boxes(page, "LineBox")
            if box.position_y < page.height - 70
        ]
        assert max(lines)[1].split("::")[0] not in {"h1", "h2", "h3", "caption"}


PICTURE = (
    '<figure><img src="data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 '
    'width=%22600%22 height=%22400%22/%3E"></figure>'
)


@pytest.mark.parametrize(
    ("filled", "expected"), [(500, 1), (700, 2)], ids=["nearly half a page", "a sixth of it"]
)
def test_a_picture_fits_where_it_would_leave_a_page_white(filled: int, expected: int) -> None:
    """A sheet has 973 pixels between the margins, of which the picture would leave so much white."""
    rest = "<p>the rest</p>" * 10 if expected > 1 else ""
    filler = f'<div style="height: {filled}px"></div>'
    laid = lay_out(f"<h1>one</h1>{filler}<p>end</p>{PICTURE}{rest}")
    assert len(laid.pages) == expected
    (image,) = (box for page in laid.pages for box in find_boxes(page, *SHOWN[1:]))
    assert (image.height < 400) is (expected == 1)


@pytest.mark.parametrize(("count", "expected"), [(52, 1), (100, 2)])
def test_a_last_page_of_a_few_lines_is_saved(count: int, expected: int) -> None:
    style = "<style>body { font: 15px/20px serif } ul { margin: 0 }</style>"
    items = "".join(f"<li>{number}</li>" for number in range(count))
    assert len(lay_out(f'{style}<ul class="notes">{items}</ul>').pages) == expected
