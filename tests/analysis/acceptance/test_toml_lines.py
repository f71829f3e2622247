"""Where a TOML text says what: every key and table, whatever is around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from suite.analysis.acceptance.toml_lines import Path, find_lines
from suite.fingerprint import SUITE

HARD = '''# a comment, [[require]] = 1
title = "a # is no comment here"  # but here
"quoted key".'and "this"' = 3
text = """
[[require]]
a = "quote: \\""""
words = [ # of two
  "one",

  { name = "two", of = [1, 2] },
]

[[require]]
cell = "a" # [x]
as_fast_as = { arm = "cpu", at_least = "5 times" }

[[ require ]]
slower_than.base = "x"
slower_than . by = 'C:\\'
[[require]]
[require.slower_than]
base = "y"
  by   =   "5 %"
[table.inner]
when = 2026-01-01 10:00:00
'''


def walk(value: Any, path: Path = ()) -> Iterator[Path]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from walk(inner, (*path, key))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("quoted key", 'and "this"'), 3),
        (("text",), 4),
        (("words",), 7),
        (("words", 0), 8),
        (("words", 1), 10),
        (("words", 1, "of", 1), 10),
        (("require", 0), 13),
        (("require", 0, "cell"), 14),
        (("require", 0, "as_fast_as", "at_least"), 15),
        (("require", 1), 17),
        (("require", 1, "slower_than"), 18),
        (("require", 1, "slower_than", "base"), 18),
        (("require", 1, "slower_than", "by"), 19),
        (("require", 2), 20),
        (("require", 2, "slower_than"), 21),
        (("require", 2, "slower_than", "by"), 23),
        (("table", "inner", "when"), 25),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_key_is_on_its_line(path: Path, line: int, ends: str) -> None:
    text = HARD.replace("\n", ends)
    assert find_lines(text)[path] == line
    assert path in set(walk(msgspec.toml.decode(text)))


@pytest.mark.parametrize(
    "text",
    [
        HARD,
        "",
        "a = 1",
        "a = ''''x'''' \nb = \"\"\"\"y\"\"\"\"\nc = '''\n'''",
        "a = [[1, 2], [\n3]]\nb = {}\nc = []",
        "[a]\n[a.b]\n[[a.c]]\n[a.c.d]\n[[a.c]]\nx.y.z = 1",
        *(path.read_text(encoding="utf-8") for path in sorted(SUITE.rglob("*.toml"))),
        *(
            path.read_text(encoding="utf-8")
            for path in sorted((SUITE.parent / "docs").rglob("*.toml"))
        ),
        (SUITE.parent / "pyproject.toml").read_text(encoding="utf-8"),
    ],
)
def test_every_key_of_a_text_has_a_line_and_no_other(text: str) -> None:
    lines = find_lines(text)
    assert set(lines) == set(walk(msgspec.toml.decode(text)))
    rows = text.split("\n")
    for path, line in lines.items():
        if isinstance(path[-1], str) and path[-1].isidentifier():
            assert path[-1] in rows[line - 1], path
