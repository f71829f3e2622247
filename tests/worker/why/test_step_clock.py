"""The clock of training steps, with clocks of our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from suite.worker.why.clock import FIT, TICKS, Clock, Instant, Window

SECOND = 1_000_000_000


class Script:
    """A made-up script whose time we move: what takes a step, and what comes besides."""

    def __init__(self, step_s: float = 0.1, **how: Any) -> None:
        self.now = self.used = 0
        self.step_s = step_s
        self.fences: list[int] = []
        self.over = False
        self.clock = Clock(
            lambda: self.now,
            lambda: self.used,
            **{"seconds": 3.0, "window": None} | how,
            stop=self.stop,
            fence=lambda: self.fences.append(self.clock.steps),
        )

    def stop(self) -> None:
        self.over = True

    def spend(self, seconds: float, cpu: float = 1.0) -> None:
        self.now += round(seconds * SECOND)
        self.used += round(seconds * cpu * SECOND)

    def step(self, seconds: float | None = None) -> None:
        if self.over:
            return
        self.clock.begin()
        self.spend(self.step_s if seconds is None else seconds)
        self.clock.tick()

    def until_over(self, part: Callable[[], object]) -> None:
        for _ in range(10_000):
            if self.over:
                return
            part()
        raise AssertionError("it never has enough")


def choose(script: Script) -> tuple[Window, Instant, Instant]:
    chosen = script.clock.choose()
    assert chosen is not None
    return chosen


def seconds_per_step(script: Script) -> float:
    _, begin, end = choose(script)
    return (end.wall - begin.wall) / SECOND / (end.steps - begin.steps)


def test_a_flat_loop_is_timed_behind_its_warm_up() -> None:
    script = Script()
    script.spend(2.0)
    script.step(5.0)
    script.until_over(script.step)
    chosen = choose(script)
    assert chosen[0].series == TICKS
    assert chosen[0].begin >= 4
    assert seconds_per_step(script) == pytest.approx(0.1)
    assert (chosen[2].wall - chosen[1].wall) / SECOND == pytest.approx(3.0, abs=0.2)


@pytest.mark.parametrize("epoch_steps", [2, 7, 30])
def test_whole_epochs_hold_validation_in_its_share(epoch_steps: int) -> None:
    script = Script()

    def epoch() -> None:
        if not script.over:
            script.clock.turn(FIT)
        for _ in range(epoch_steps):
            script.step()
        script.spend(1.0)

    script.until_over(epoch)
    chosen = choose(script)
    assert chosen[0].series == FIT
    assert (chosen[0].end - chosen[0].begin) % epoch_steps == 0
    assert seconds_per_step(script) == pytest.approx(0.1 + 1.0 / epoch_steps)


def test_a_loop_of_new_models_is_timed_by_whole_turns() -> None:
    script = Script()

    def fold() -> None:
        script.clock.turn(12)
        script.spend(1.5)
        for _ in range(3):
            if script.over:
                return
            script.clock.turn(FIT)
            for _ in range(5):
                script.step()
        script.clock.leave(FIT)

    script.until_over(fold)
    chosen = choose(script)
    assert chosen[0].series == 12
    assert seconds_per_step(script) == pytest.approx(0.1 + 1.5 / 15)


def test_a_turn_that_takes_hours_is_not_waited_for() -> None:
    script = Script()
    script.clock.turn(3)
    script.until_over(script.step)
    assert script.now < 15 * SECOND
    chosen = choose(script)
    assert chosen[0].series == TICKS
    assert (chosen[2].wall - chosen[1].wall) / SECOND == pytest.approx(3.0, abs=0.2)


def test_a_validation_that_takes_longer_than_patience_is_in_the_window() -> None:
    script = Script()

    def epoch() -> None:
        script.clock.turn(FIT)
        for _ in range(20):
            script.step()
        script.spend(9.0)

    script.until_over(epoch)
    assert choose(script)[0] == Window(20, 40, FIT)
    assert seconds_per_step(script) == pytest.approx(0.1 + 9.0 / 20)


def test_a_fit_of_single_batches_is_no_epoch() -> None:
    script = Script()

    def fit() -> None:
        script.clock.turn(FIT)
        script.step()
        script.clock.leave(FIT)

    script.until_over(fit)
    chosen = choose(script)
    assert chosen[0].series == TICKS


def test_another_run_is_timed_over_the_same_steps() -> None:
    script = Script(window=Window(14, 21, FIT))

    def epoch() -> None:
        if not script.over:
            script.clock.turn(FIT)
        for _ in range(7):
            script.step()
        script.spend(0.7)

    script.until_over(epoch)
    chosen = choose(script)
    assert chosen[0] == Window(14, 21, FIT)
    assert seconds_per_step(script) == pytest.approx(0.2)


def test_a_larger_batch_does_the_same_work_in_fewer_steps() -> None:
    script = Script(window=Window(16, 48, TICKS), scale=8.0, seconds=0.0)
    script.until_over(script.step)
    chosen = choose(script)
    assert (chosen[1].steps, chosen[2].steps) == (2, 6)


def test_what_is_fast_does_more_of_the_same() -> None:
    script = Script(step_s=0.01, window=Window(10, 20, TICKS))
    script.until_over(script.step)
    _, begin, end = choose(script)
    assert (begin.steps, (end.wall - begin.wall) / SECOND) == (10, pytest.approx(1.0))
    assert script.fences == [10, 110]


def test_marks_that_a_change_has_taken_away_are_replaced_by_steps() -> None:
    script = Script(window=Window(14, 21, FIT), seconds=0.0)
    script.until_over(script.step)
    assert script.clock.steps == 21
    choose(script)


def test_what_is_ours_is_no_time_of_the_script() -> None:
    script = Script(window=Window(3, 20, TICKS))

    def look(steps: int) -> None:
        if steps == 10:
            with script.clock.pause():
                script.spend(30.0)

    script.clock.on_step(look)
    script.until_over(script.step)
    assert seconds_per_step(script) == pytest.approx(0.1)
    assert script.clock.own_s == pytest.approx(30.0)


def test_work_that_is_only_handed_over_is_waited_for_at_both_ends() -> None:
    script = Script(window=Window(5, 9, TICKS))
    script.until_over(script.step)
    assert script.fences == [5, 15]


def test_slow_steps_are_waited_for() -> None:
    script = Script(step_s=4.0)
    script.until_over(script.step)
    assert script.clock.steps == 6
    assert seconds_per_step(script) == pytest.approx(4.0)


@pytest.mark.parametrize("steps", [0, 1])
def test_too_few_steps_are_no_window(steps: int) -> None:
    script = Script()
    for _ in range(steps):
        script.step()
    assert script.clock.choose() is None


def test_a_run_that_ends_far_before_its_window_is_none() -> None:
    script = Script(window=Window(10, 100, TICKS))
    for _ in range(40):
        script.step()
    assert script.clock.choose() is None
