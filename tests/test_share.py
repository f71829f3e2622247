"""Days in a row run every test, and no day leaves a file out."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

import pytest

from tests.share import draw_share

TESTS = [
    (file, number) for file, count in {"a": 1, "b": 3, "c": 13}.items() for number in range(count)
]
YEAR_ENDS = date(2026, 12, 30)


def file_of(test: tuple[str, int]) -> str:
    return test[0]


@pytest.mark.parametrize("parts", [1, 3, 4])
def test_days_in_a_row_run_every_test_and_none_leaves_a_file_out(parts: int) -> None:
    days = [YEAR_ENDS + timedelta(days=number) for number in range(parts)]
    drawn = [draw_share(TESTS, parts, day, file_of) for day in days]
    for share in drawn:
        assert {file_of(test) for test in share} == {"a", "b", "c"}
        assert len(share) <= 1 + 3 + (13 + parts) // parts
    times = Counter(test for share in drawn for test in share)
    assert set(times) == set(TESTS)
    assert {times["c", number] for number in range(13)} == {1}
