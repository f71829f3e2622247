"""A page's blocks as Markdown."""

from __future__ import annotations

from suite.report.render.markdown import render_page
from suite.report.text.page import NO_NUMBER, Cell, Code, Link, Page, Strong, say_none
from suite.report.text.units import show_ratio, show_seconds


def render(page: Page) -> list[str]:
    return render_page(page).splitlines()


def test_points_stand_below_each_other_and_marks_count_as_they_are_read() -> None:
    page = Page()
    shown = [show_seconds(one) for one in (1.5e-3, 12e-6, 200.25)]
    ratio = show_ratio(0.5, other="gpu-1.5", base="cpu")
    columns = [
        ("row", ["a", "b", "c"]),
        (
            Cell("time", ("who",)),
            [Cell(shown[0], ("why", "how")), Cell(shown[1], struck=True), shown[2]],
        ),
        ("word", ["word", say_none("how"), ""]),
        ("ratio", [ratio, say_none("why"), NO_NUMBER]),
    ]
    page.columns("Table.", columns)
    page.footnotes()
    assert render(page) == [
        "Table.",
        "",
        "| row   |          time [1] | word   |                ratio |",
        "|:------|------------------:|:-------|---------------------:|",
        "| a     |    1.50 ms [2][3] | word   | gpu-1.5 2.00× faster |",
        "| b     | ~~12.0 µs~~       | — [3]  |         — [2]        |",
        "| c     |  200 s            |        |         —            |",
        "",
        "- [1] who",
        "- [2] why",
        "- [3] how",
    ]


def test_what_is_markup_is_said_so() -> None:
    page = Page()
    page.paragraph("a * ", Strong("b*"), ", ", Code("c"), " ", Code("d`e"), " ", Link("f]", "g.md"))
    page.bullets(["- x", ("# ", Code("y"))])
    assert render(page) == [
        r"a \* **b\***, `c` `` d`e `` [f\]](g.md)",
        "",
        r"- \- x",
        r"- \# `y`",
    ]
