"""1,000 machines with a fault and 1,000 sound ones: what is told of the first five minutes, and accused."""

from __future__ import annotations

import pytest

from tests.bench.machines import FAULTS, HIDDEN, draw_faulty, draw_sound, read_first
from tests.bench.method import seed

MANY = 1000

SIZES = [pytest.param(13), pytest.param(MANY, marks=pytest.mark.method)]


@pytest.mark.simulated
@pytest.mark.parametrize("count", SIZES)
def test_faults_are_told(count: int) -> None:
    """In the words that name them; 95 of 100 are what was asked for."""
    untold = []
    for position in range(count):
        name = list(FAULTS)[position % len(FAULTS)]
        machine, words = draw_faulty(seed("faulty", position), name)
        text, _, _ = read_first(machine)
        if words not in text:
            untold.append((position, name, words, machine))
    assert len(untold) <= 0.05 * count, untold[:3]


@pytest.mark.simulated
@pytest.mark.parametrize("count", SIZES)
def test_no_sound_machine_is_called_unsound(count: int) -> None:
    accused = []
    for position in range(count):
        machine = draw_sound(seed("sound", position))
        text, unsound, against = read_first(machine)
        # Half of the copies that its driver promises is told of a sound one, too: it is true.
        against -= {"link-slow"} if machine.reach == HIDDEN else set()
        if unsound or against or "Nothing was found that makes it unsound." not in text:
            accused.append((position, unsound, against, machine))
    assert not accused, accused[:3]
