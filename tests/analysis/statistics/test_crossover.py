"""Where a sweep crosses over, and the answers that are no size; all from verdicts."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.analysis.result.numbers import Crossover, Verdict, VerdictName
from suite.analysis.statistics.crossover import find_crossover, find_sweeps
from suite.cells.cell import Work
from tests import synthetic

NAMES: dict[str, VerdictName] = {
    "F": "FASTER",
    "S": "SLOWER",
    "E": "EQUIVALENT",
    "?": "INCONCLUSIVE",
    "x": "INVALID",
}
"""A letter for each verdict; a dot stands for none."""

WORK = Work(amount=1.0, unit="call")


def find(letters: Iterable[str]) -> Crossover:
    """Along sizes 1, 2, 3, … with these verdicts."""
    told = list(letters)
    cells = [
        synthetic.make_cell("made", "sweep", {"n": n}, WORK, sweep="n")
        for n in range(1, len(told) + 1)
    ]
    (sweep,) = find_sweeps(cells)
    verdicts = {
        cell.id: Verdict(name=NAMES[letter])
        for cell, letter in zip(cells, told, strict=True)
        if letter in NAMES
    }
    return find_crossover(sweep, verdicts)


@pytest.mark.parametrize(
    ("letters", "answer", "ends"),
    [
        ("SSFF", "crosses", (2, 3)),
        ("S?EF", "crosses", (1, 4)),
        ("?SF.", "crosses", (2, 3)),
        ("FFxS", "crosses", (2, 4)),
        ("FFF", "always", None),
        ("SS", "never", None),
        ("EE", "equal", None),
        ("SFS", "not monotone", None),
        ("FF?", "undecided", None),
        ("SES", "undecided", None),
        ("..", "undecided", None),
        ("x?", "undecided", None),
    ],
)
def test_only_verdicts_name_a_winner(
    letters: str, answer: str, ends: tuple[int, int] | None
) -> None:
    found = find(letters)
    assert (found.answer, (found.low, found.high)) == (answer, ends or (None, None))
    if ends:
        assert found.rising == (letters.index("S") < letters.index("F"))


@given(st.lists(st.sampled_from("FSE?x."), min_size=2, max_size=8))
def test_every_size_is_in_one_place_and_the_arms_can_be_exchanged(letters: list[str]) -> None:
    found = find(letters)
    parts = [*found.wins, *found.loses, *found.equal, *found.undecided]
    assert sorted(parts) == list(range(1, len(letters) + 1))
    back = find({"F": "S", "S": "F"}.get(one, one) for one in letters)
    names = {"always": "never", "never": "always"}
    assert back.answer == names.get(found.answer, found.answer)
    assert (back.low, back.high) == (found.low, found.high)
    assert (back.wins, back.loses) == (found.loses, found.wins)


def test_sweeps_are_the_cells_that_differ_in_one_axis() -> None:
    cells = synthetic.make_cells()
    sweeps = find_sweeps(cells)
    assert [(one.case, one.axis, len(one.cells)) for one in sweeps] == [
        ("square", "n", 3),
        ("train", "batch", 2),
    ]
    assert [cell.params["n"] for cell in sweeps[0].cells] == [10, 100, 1000]
    assert sweeps[0].fixed["precision"] == "fp32"
    zero = synthetic.make_cell("matmul", "square", {"n": 0}, WORK, sweep="n")
    assert find_sweeps([zero, zero]) == []
