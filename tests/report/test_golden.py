"""The derived files of made-up campaigns: byte for byte, but for a last digit of a raw number.

``UPDATE_GOLDEN=1 pytest tests/report/test_golden.py`` writes what is derived anew.  Read the difference.
"""

from __future__ import annotations

import os
import re

import pytest

from suite.report.produce import build_report
from tests.golden_campaigns import GOLDEN, NAMES, SHOWS, SUMMARISED, analyse_golden, read_golden


@pytest.mark.parametrize("name", NAMES)
def test_derived_files_are_the_committed_ones(name: str) -> None:
    files = build_report(analyse_golden(name)).files
    assert tuple(files) == ("summary.json", "brief.md", "report.md", "cells.csv")
    if name not in SUMMARISED:
        del files["summary.json"]
    if os.environ.get("UPDATE_GOLDEN"):
        for file, text in files.items():
            (GOLDEN / name / file).write_text(text, encoding="utf-8")
    for file, text in files.items():
        committed = read_golden(name, file)
        assert shape(text) == shape(committed), f"{name}/{file}"
        assert numbers(text) == pytest.approx(numbers(committed), rel=1e-9), f"{name}/{file}"


LONG = re.compile(r"-?\d+\.\d{9,}(?:e-?\d+)?")
"""A number that was not rounded for people: NumPy releases differ in its last digits."""


def shape(text: str) -> str:
    return LONG.sub("#", text)


def numbers(text: str) -> list[float]:
    return [float(number) for number in LONG.findall(text)]


@pytest.mark.parametrize("name", NAMES)
def test_every_golden_campaign_says_that_it_is_made_up(name: str) -> None:
    report = read_golden(name)
    assert report.splitlines()[0].count("SIMULATED") == 1
    assert report.count("**SIMULATED") >= report.count("Table: ")


def test_each_golden_campaign_shows_what_no_other_does() -> None:
    reports = {name: read_golden(name) for name in NAMES}
    assert set(SHOWS) == set(NAMES)
    for name, phrases in SHOWS.items():
        for phrase in phrases:
            assert [shown for shown, text in reports.items() if phrase in text] == [name], phrase
