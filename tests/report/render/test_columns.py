"""How wide columns are: as what stands in them asks, and never wider than a sheet together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from suite.report.render.columns import ROOM, Fit, fit_columns

NAME = "mlp.train/net=A/batch=128/data=device/execution=graph"
WORDS = "give each call more work: a larger batch, several steps a call, one compiled graph"
HASH = "9f" * 32


def fit(*columns: Sequence[str], numbers: Sequence[int] = ()) -> Fit:
    """The first text of a column is its head; a number's point is its first."""
    texts = [
        [tuple(cell.partition(".")[::2]) if place in numbers else (cell, "") for cell in cells]
        for place, (_, *cells) in enumerate(columns)
    ]
    return fit_columns([head for head, *_ in columns], texts, numbers)


def points(made: Fit) -> list[float]:
    return [width / 10 * made.size / 2 for width in made.widths]


def test_what_has_room_takes_no_more_than_it_needs_and_a_caption_has_some() -> None:
    small = fit(["arm", "cpu", "cuda"], ["cells", "65", "7"])
    assert (small.size, small.tight) == (15, False)
    assert sum(points(small)) == pytest.approx(0.6 * ROOM, rel=0.02)
    wider = fit(["cell", NAME], ["cells", "65"], ["verdict", "equivalent"])
    assert 0.6 * ROOM < sum(points(wider)) < ROOM
    assert points(wider)[0] > 4 * points(wider)[1]


def test_long_texts_get_the_room() -> None:
    made = fit(["arm", "cpu"], ["a ratio", "3.1 (2.9–3.4)"], ["why", WORDS * 3], numbers=[1])
    assert sum(points(made)) == pytest.approx(ROOM, rel=0.02)
    assert points(made)[2] > 0.6 * ROOM


@pytest.mark.parametrize("count", [2, 5, 8, 11, 16])
def test_no_table_is_wider_than_a_sheet(count: int) -> None:
    cells = [NAME, WORDS, "12.3 ± 0.4 ms", HASH]
    columns = [["a head of words", *cells[place % 4 :], NAME] for place in range(count)]
    length = min(map(len, columns))
    made = fit(*(column[:length] for column in columns))
    assert len(made.widths) == count
    assert sum(points(made)) <= ROOM
    assert min(made.widths) > 0


def test_numbers_stand_on_one_line_as_long_as_they_can() -> None:
    number = ["time per call", "499.4 ± 4.9 µs", "3.997 ± 0.031 ms"]
    names = ["cell", NAME, NAME]
    few = fit(names, number, number, numbers=[1, 2])
    assert not few.tight
    # A digit is 0.62 em; the points stand below each other.
    assert few.widths[1] > 10 * 0.5 * len("3.997 ± 0.031 ms")
    assert fit(names, *[number] * 9, numbers=range(1, 10)).tight


def test_a_hash_may_be_cut_and_a_word_may_not() -> None:
    made = fit(["image", "built on"], ["cpu", HASH], ["cuda", HASH], ["both", HASH])
    assert (made.size, sum(points(made)) <= ROOM) == (15, True)
    words = fit(["head", "retracing"], *[["why", WORDS * 4]] * 4)
    assert words.widths[0] > 10 * 0.5 * len("retracing")


def test_only_a_number_is_moved_below_the_others_points() -> None:
    """A footnote's mark stands behind a text as a number's decimals do."""
    marked = [(WORDS, ""), ("no", " [12]")]
    heads, short = ["why", "n"], [("1", ""), ("2", "")]
    assert fit_columns(heads, [marked, short], [1]) == fit_columns(
        heads, [[(WORDS, ""), ("no [12]", "")], short], [1]
    )
    digits = [("1234", ".5"), ("1", ".25 ± 0.75 ms")]
    alone, below = (fit_columns(heads, [short, digits], numbers) for numbers in ([], [1]))
    assert below.widths[1] / below.widths[0] > alone.widths[1] / alone.widths[0]
