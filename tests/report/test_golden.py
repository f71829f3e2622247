"""The derived files of made-up campaigns: byte for byte, but for a last digit of a raw number.

``UPDATE_GOLDEN=1 pytest tests/report/test_golden.py`` writes what is derived anew.  Read the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.golden_campaigns import GOLDEN, NAMES, write_golden
from tests.rendering import collate

DERIVED = ("summary.json", "report.md", "cells.csv")


@pytest.mark.parametrize("name", NAMES)
def test_derived_files_are_the_committed_ones(name: str, tmp_path: Path) -> None:
    folder = GOLDEN / name
    files = collate(write_golden(name, tmp_path)).files
    assert tuple(files) == DERIVED
    if os.environ.get("UPDATE_GOLDEN"):
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
    for file, text in files.items():
        committed = (folder / file).read_text(encoding="utf-8")
        assert shape(text) == shape(committed), f"{name}/{file}"
        assert numbers(text) == pytest.approx(numbers(committed), rel=1e-9), f"{name}/{file}"


LONG = re.compile(r"-?\d+\.\d{9,}(?:e-?\d+)?")
"""A number that was not rounded for people: NumPy releases differ in its last digits."""


def shape(text: str) -> str:
    return LONG.sub("#", text)


def numbers(text: str) -> list[float]:
    return [float(found) for found in LONG.findall(text)]


@pytest.mark.parametrize("name", NAMES)
def test_every_golden_campaign_says_that_it_is_made_up(name: str) -> None:
    report = (GOLDEN / name / "report.md").read_text(encoding="utf-8")
    assert report.splitlines()[0].count("SIMULATED") == 1
    assert report.count("**SIMULATED") >= report.count("Table: ")
