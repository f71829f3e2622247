"""A page as Markdown; and what a document says stays text there, on a terminal and in a spreadsheet."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suite.analysis.result.arms import hash_identity
from suite.report.exports.cells import guard_formula
from suite.report.render.html import render_html_page
from suite.report.render.markdown import WIDEST, escape, render_page, write_image
from suite.report.render.plain import LONGEST, show_plainly, show_privately
from suite.report.text.page import NO_NUMBER, Cell, Code, Page, Strong, say_none
from suite.report.text.units import show_ratio, show_seconds
from tests.report.reading import MARKDOWN

HOSTILE = [
    "<script>alert(1)</script>",
    "a | b | c",
    "`code` ``more``",
    "**bold** _em_ ~~gone~~",
    "[link](http://example.org) ![picture](x)",
    "<http://example.org>",
    "http://example.org www.example.org mail@example.org mailto:a@b.c",
    "# heading",
    "- list",
    "1. list",
    "> quote",
    "===",
    "---",
    "&lt;b&gt; &amp; &#60;",
    "back\\slash \\| \\",
    "[1]: http://example.org",
    "[^1]",
    "$x$ $$y$$",
    "line\nbreak\r\n\n# heading",
    "\x1b[31mred\x00\x07",
    "\u202eright to left \u200b \ufeff",
    "half \ud800",
    "| --- |",
    "__init__ numpy_function _x_",
    "+ a",
]


def render(page: Page) -> list[str]:
    return render_page(page).splitlines()


def test_points_stand_below_each_other_and_marks_count_as_they_are_read() -> None:
    page = Page()
    shown = [show_seconds(seconds) for seconds in (1.5e-3, 12e-6, 200.25)]
    ratio = show_ratio(0.5, other="gpu-1.5", base="cpu")
    columns = [
        ("row", ["a", "b", "c"]),
        (
            Cell("time", ("who said so",)),
            [Cell(shown[0], ("why (not)", "how")), Cell(shown[1], struck=True), shown[2]],
        ),
        ("word", ["word", say_none("how"), ""]),
        ("ratio", [ratio, say_none("why (not)"), NO_NUMBER]),
    ]
    page.columns("Table.", columns)
    page.footnotes()
    assert render(page) == [
        "Table.",
        "",
        "| row |           time [^1] | word   |                ratio |",
        "|-----|--------------------:|--------|---------------------:|",
        "| a   |    1.50 ms [^2][^3] | word   | gpu-1.5 2.00× faster |",
        "| b   | ~~12.0 µs~~         | — [^3] |         — [^2]       |",
        "| c   |  200 s              |        |         —            |",
        "",
        "[^1]: who said so",
        "",
        "[^2]: why (not) ·",
        "",
        "[^3]: how ·",
    ]


def test_a_table_wider_than_a_terminal_is_not_padded() -> None:
    page = Page()
    page.table("Table.", [{"a": "b", "c": "d" * WIDEST}])
    assert render(page)[2:] == ["| a | c |", "|---|---|", f"| b | {'d' * WIDEST} |"]


def write_appendix() -> Page:
    page = Page()
    page.title("Title")
    page.table("First.", [{"a": Cell("b", ("known from before",))}])
    page.footnotes()
    page.appendix("page.html", "The rest stands in x.json.")
    page.heading("Rare things", level=3)
    page.table("Second.", [{"c": Cell("d", ("known from before", "only known here"))}])
    page.heading("Rarer things", level=3)
    page.paragraph("seldom read")
    page.footnotes()
    return page


def test_of_an_appendix_the_markdown_names_the_parts() -> None:
    lines = render(write_appendix())
    assert lines[-3:] == [
        "[^1]: known from before",
        "",
        "In page.html there is more: Rare things; Rarer things. The rest stands in x.json.",
    ]
    assert "seldom read" not in "".join(lines)


def test_the_html_has_the_appendix_and_its_own_footnotes() -> None:
    html = render_html_page(write_appendix())
    assert "there is more" not in html
    places = [html.index(f'<li id="note-{number}">') for number in (1, 2)]
    assert places[0] < html.index("Appendix</h2>") < html.index("seldom read") < places[1]


def test_what_is_markup_is_said_so() -> None:
    page = Page()
    page.paragraph("a * ", Strong("b*"), ", ", Code("c"), " ", Code("d`e"))
    page.code("f *g*")
    page.bullets(["- x", ("# ", Code("y"))])
    assert render(page) == [
        r"a \* **b\***, `c` `` d`e ``",
        "",
        "    f *g*",
        "",
        r"- \- x",
        r"- \# `y`",
    ]


def kinds_and_text(markdown: str) -> tuple[set[str], str]:
    """The kinds of inline tokens of a paragraph, and what a reader would see."""
    tokens = MARKDOWN.parse(markdown)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    return {child.type for child in children}, "".join(child.content for child in children)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_renders_as_itself(text: str) -> None:
    kinds, words = kinds_and_text(escape(text))
    assert kinds <= {"text", "text_special"}
    assert words == " ".join(show_privately(text).split())
    assert words.isprintable()


@pytest.mark.parametrize("text", [*HOSTILE, "a [b", "a] b", "\\[a](b)", "[a] (b)"])
def test_any_text_can_stand_for_a_picture(text: str) -> None:
    (_, inline, _) = MARKDOWN.parse(write_image(text, "plots/a.svg"))
    (image,) = inline.children or []
    assert (image.type, image.attrs["src"]) == ("image", "plots/a.svg")
    assert {child.type for child in image.children or []} <= {"text", "text_special"}
    assert image.content or not text.strip()


def test_what_is_hidden_is_what_every_unicode_calls_so() -> None:
    every = map(chr, (*range(0x18000), *range(0x1B000, 0x20000), *range(0xE0000, 0xE0200)))
    for char in (char for char in every if unicodedata.category(char) != "Cn"):
        assert (show_plainly(char) == char) == char.isprintable(), hex(ord(char))


@settings(max_examples=30)
@given(st.text(max_size=60) | st.text(alphabet="ab_*`<>[]()!|\\~-+=#1.) \n:/@wh&;$", max_size=40))
def test_any_text_renders_as_itself(text: str) -> None:
    shown = escape(text)
    # What this Python's Unicode has no name for yet may be a letter.
    assert all(char.isprintable() or unicodedata.category(char) == "Cn" for char in shown)
    if shown:
        kinds, words = kinds_and_text(shown)
        assert kinds <= {"text", "text_special"}
        assert words == " ".join(show_privately(text).split())


def test_what_needs_no_escape_gets_none() -> None:
    for text in (
        *("2.21.0", "0-3", "numpy_function", "docker/cpu.txt", "n=1000/xla=off", "95 %", "~"),
        *("always [madvise] never", "/dev/nvidia[0-9]", "[1] first", "a! #5be3 (b)", "[a][b] {c}"),
    ):
        assert escape(text) == text


@pytest.mark.parametrize("note", ["alone", "here (in most blocks)", 'here "a title"', "(a) 'b'"])
def test_where_footnotes_are_unknown_none_becomes_a_link(note: str) -> None:
    page = Page()
    page.table("Table.", [{"a": Cell("b", (note,))}])
    page.footnotes()
    tokens = MARKDOWN.parse(render_page(page))
    texts = [token.content for token in tokens if token.type == "inline"]
    assert texts[-1] == f"[^1]: {note} ·"
    assert not any(c.type == "link_open" for t in tokens for c in t.children or [])


def test_long_text_is_cut() -> None:
    assert len(show_plainly("x" * 30_000)) == LONGEST
    assert show_plainly("x" * 30_000).endswith("…")


def test_a_gpu_is_not_named() -> None:
    uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef"
    assert uuid not in show_plainly(f"device {uuid} is gone")
    assert hash_identity(uuid) in show_plainly(f"device {uuid} is gone")
    assert hash_identity("a") != hash_identity("b")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1"])
def test_no_formula_reaches_a_spreadsheet(text: str) -> None:
    assert guard_formula(text).startswith("'")
    assert guard_formula("matmul.square/n=1000") == "matmul.square/n=1000"
