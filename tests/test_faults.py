"""The fault bench's own page: it is of the bench as it stands, and tells what was seen."""

from __future__ import annotations

import re

from tests.faults.faults import FAULTS
from tests.faults.page import HEADS, PAGE, Outcome, render

SEEN = Outcome(
    fault="SIGINT",
    engine="docker",
    status=130,
    lost=1,
    seconds=2.6,
    message="interrupted",
)


def read_rows(text: str) -> list[list[str]]:
    """The rows of its tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for row in cells if len(row) == len(HEADS) and row != list(HEADS)]


def test_the_page_has_every_fault_on_each_of_its_engines_and_no_other() -> None:
    rows = read_rows(PAGE.read_text(encoding="utf-8"))
    tried = {(fault.name, engine) for fault in FAULTS for engine in fault.engines}
    assert {(name, engine) for name, engine, *_ in rows} == tried, "`nox -s faults -- 250 --write`"


def test_a_row_tells_the_worst_of_all_times() -> None:
    place = "/tmp/crossover-faults-x1/7/results"  # noqa: S108  nothing is there
    other = f"can't write {place}/a|b: No space left on device"
    worse = Outcome(
        **{**vars(SEEN), "status": 1, "lost": 0, "left": 2, "seconds": 9.0, "message": other}
    )
    (row,) = read_rows(render([worse, SEEN]))
    assert row == ["SIGINT", "docker", "2", "1", "2", "9 s", "1, 130", "interrupted"]
    (row,) = read_rows(render([worse]))
    assert place not in row[-1]
    assert row[-1].endswith(r"a\|b: No space left on device")
