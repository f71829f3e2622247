"""Lists of CPUs, as people and the kernel write them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.errors import UsageError
from suite.host.machine.machine import parse_cpus
from suite.kernel import write_cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0", (0,)), ("0-3", (0, 1, 2, 3)), ("8,0-1", (0, 1, 8)), ("2,2,1-2", (1, 2)), ("5-5", (5,))],
)
def test_lists_of_cpus_are_read(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["", ",", "a", "3-1", "-1", "0-", "0..3", "0-1-2", "1,,2", "½"])
def test_what_is_no_list_of_cpus_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a list of CPUs"):
        parse_cpus(text)


@pytest.mark.parametrize("text", ["0-4000000000", "8192", "0,8191-8192", "9" * 99, "1" * 5000])
def test_cpus_that_no_machine_has_are_refused_without_a_list_of_them(text: str) -> None:
    with pytest.raises(UsageError, match="is not a list of CPUs"):
        parse_cpus(text)
    assert parse_cpus("8191") == (8191,)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_cpus_written_are_read_again(cpus: set[int]) -> None:
    text = write_cpus(list(cpus))
    assert parse_cpus(text) == tuple(sorted(cpus))
    # As short as it can be: no part continues the one before it.
    parts = [part.split("-") for part in text.split(",")]
    assert all(int(after[0]) > int(before[-1]) + 1 for before, after in itertools.pairwise(parts))


def test_cpus_are_written_as_the_kernel_does() -> None:
    assert write_cpus([8, 2, 0, 1, 3, 9]) == "0-3,8-9"
