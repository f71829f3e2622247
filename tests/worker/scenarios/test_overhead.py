"""What one thread takes to wake another, by the thread itself: nothing of TensorFlow is in it."""

from __future__ import annotations

import os
import threading

import pytest

from suite.worker.scenario.scenario import Inapplicable, WrongResult
from suite.worker.scenarios.overhead import prepare_handover


def test_a_call_is_answered_by_another_thread_that_sleeps_and_goes() -> None:
    before, cpus = threading.active_count(), os.sched_getaffinity(0)
    prepared = prepare_handover(device="/CPU:0")
    answers = [prepared.step() for _ in range(200)]
    prepared.check(answers[-1])
    assert answers == [1] * 200
    # Where this thread may run is as it was; and so is what else there is, when the cell is over.
    assert os.sched_getaffinity(0) == cpus
    prepared.close()
    assert threading.active_count() == before


def test_answers_that_were_left_over_are_no_hand_over() -> None:
    prepared = prepare_handover(device="/CPU:0")
    with pytest.raises(WrongResult, match="2 answers"):
        prepared.check(2)
    prepared.close()


def test_without_the_kernels_counters_there_is_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "eventfd")
    with pytest.raises(Inapplicable, match="eventfd"):
        prepare_handover(device="/CPU:0")
