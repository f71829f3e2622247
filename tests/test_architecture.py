"""docs/architecture.md names folders, files and names that are there, and the linter's layers."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from suite.fingerprint import SUITE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = SUITE.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS: list[dict[str, Any]] = PROJECT["tool"]["importlinter"]["contracts"]
LAYERS = {
    contract["containers"][0]: contract["layers"]
    for contract in CONTRACTS
    if contract["type"] == "layers"
}


def folders(where: Path) -> set[str]:
    return {path.name for path in where.iterdir() if (path / "__init__.py").is_file()}


def test_the_order_of_the_rooms_is_the_linters() -> None:
    assert f"\n`{' > '.join(LAYERS['suite'])}`\n" in PAGE


@pytest.mark.parametrize("room", sorted(folders(SUITE)))
def test_the_order_inside_a_room_is_the_linters(room: str) -> None:
    (row,) = re.findall(rf"^\| `suite/{room}` \|.*$", PAGE, re.MULTILINE)
    last = row.replace("\\|", "¦").split("|")[3].strip().strip("`").replace("¦", "|")
    layers = LAYERS.get(f"suite.{room}", [])
    assert last == " > ".join(layers)
    if layers:
        named = set(re.findall(r"[a-z_]+", last))
        assert folders(SUITE / room) <= named


def test_every_path_that_it_names_is_there() -> None:
    named = set(re.findall(r"`((?:suite|tests|docker|Makefile|noxfile|pyproject)[\w/.]*)`", PAGE))
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_name_that_it_gives_stands_in_its_file() -> None:
    table = PAGE.split("## Where a new thing goes")[1]
    pairs = re.findall(r"`([A-Za-z_]+)` of `([^`]+)`", table)
    assert len(pairs) >= 20
    for name, path in pairs:
        assert re.search(rf"\b{name}\b", (ROOT / path).read_text(encoding="utf-8")), (name, path)
    code = "".join(path.read_text(encoding="utf-8") for path in SUITE.rglob("*.py"))
    section = PAGE.split("## What flows")[1].split("\n## ")[0]
    for name in re.findall(r"`([A-Z]\w+)`", section):
        assert re.search(rf"^class {name}\b", code, re.MULTILINE), name
