"""What was made of a value is found again, and ends with the value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from suite.analysis.documents.kept import Kept


@dataclass(frozen=True)
class Value:
    """Without a hash, as whatever holds a list."""

    numbers: list[int]


def make_counting() -> tuple[Kept[Value, int], list[int]]:
    """Sums, and how many were made at once."""
    asked: list[int] = []

    def add(values: Sequence[Value]) -> list[int]:
        asked.append(len(values))
        return [sum(value.numbers) for value in values]

    return Kept(add), asked


def test_what_was_made_of_a_value_is_not_made_again() -> None:
    kept, asked = make_counting()
    values = [Value([1]), Value([2]), Value([3])]
    assert kept.take(values[:2]) == [1, 2]
    assert kept.take([values[2], *values, values[2]]) == [3, 1, 2, 3, 3]
    assert kept.take(values) == [1, 2, 3]
    assert asked == [2, 1]


def test_an_equal_value_is_another() -> None:
    kept, asked = make_counting()
    value = Value([1])
    again = replace(value)
    assert kept.take([value, again]) == [1, 1]
    assert kept.take([again]) == [1]
    assert asked == [2]


def test_nothing_outlives_its_value_or_is_found_in_its_place() -> None:
    kept, asked = make_counting()
    for number in range(1000):
        assert kept.take([Value([number])]) == [number]
    assert asked == [1] * 1000
    assert not kept._made
