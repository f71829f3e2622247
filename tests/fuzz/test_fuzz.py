"""Whatever comes from outside is accepted or refused with its reason; `nox -s fuzz` tries more of it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from suite.codec import Malformed, parse_json, parse_record
from suite.errors import CrossoverError
from suite.host.machine.output import split_lines
from tests.fakes.engine import Worker
from tests.fuzz.doors import DOORS, Door
from tests.fuzz.mutations import mutate

INPUTS = 8
"""Of each door; `nox -s fuzz` tries a thousand."""


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_what_comes_from_outside_is_accepted_or_refused(
    door: Door, tmp_path: Path, own_signals: None
) -> None:
    refused: list[CrossoverError] = []
    for number in range(INPUTS):
        at = tmp_path / f"{number}"
        at.mkdir()
        try:
            door.attempt(at, Random(f"{door.name} {number}"))
        except CrossoverError as error:
            refused.append(error)
    assert all(error.what and error.exit_status in door.statuses for error in refused)


def test_records_are_the_same_wherever_they_are_cut() -> None:
    lines = Worker().greeting()
    stream = "".join(f"{line}\n" for line in lines).encode()
    for at in range(len(stream) + 1):
        assert list(split_lines([stream[:at], stream[at:]])) == lines
        cut = list(split_lines([stream[:at]]))
        assert cut[:-1] == lines[: max(len(cut) - 1, 0)]
        if cut and cut[-1] not in lines:
            with pytest.raises(ValueError, match="not JSON"):
                parse_record(cut[-1])


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.randoms(use_true_random=False),
)
def test_json_is_what_it_says_or_malformed(value: object, draw: Random) -> None:
    try:
        read = parse_json(mutate(json.dumps(value).encode(), draw))
    except Malformed:
        return
    # Whatever gets in can be written, and is the same when it comes back.
    assert parse_json(json.dumps(read, allow_nan=False, ensure_ascii=False).encode()) == read
