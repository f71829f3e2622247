"""The shape of the code, as numbers: they may shrink, and none may grow."""

from __future__ import annotations

from collections import Counter

from suite.content import SUITE

LONGEST = 391
"""Lines of the longest file; the goal is 300."""

MOST_IN_A_FOLDER = 13
"""Modules of the fullest folder, its `__init__` aside; the goal is 12."""

FILES = sorted(SUITE.rglob("*.py"))


def test_no_file_is_longer_than_a_head_holds() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    longest = max(lengths, key=lambda path: lengths[path])
    assert lengths[longest] <= LONGEST, longest


def test_no_folder_is_a_heap() -> None:
    folders = Counter(path.parent for path in FILES if path.name != "__init__.py")
    fullest, number = folders.most_common(1)[0]
    assert number <= MOST_IN_A_FOLDER, fullest


def test_every_room_says_what_it_is_for() -> None:
    for path in FILES:
        if path.name == "__init__.py":
            assert path.read_text(encoding="utf-8").startswith('"""'), path


def test_no_import_points_up() -> None:
    text = (SUITE.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert "[[tool.importlinter.contracts]]" in text
    assert "ignore_imports" not in text, "a contract with an exception"
