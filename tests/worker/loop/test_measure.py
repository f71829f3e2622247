"""The measuring loop against a device whose truth is known to the nanosecond."""

from __future__ import annotations

import contextlib
import gc
import math
import weakref
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suite.cells import traits
from suite.cells.traits import CALLS_CAP, CALLS_MARGIN, LEAST_SAMPLES
from suite.model import FIRST_CALL
from suite.worker.loop import measure
from suite.worker.loop.measure import (
    SAMPLE_FLOOR_S,
    WARMUP_CAP,
    WINDOW,
    Loop,
)
from tests.fakes.device import SECOND, FakeDevice


def loop_on(device: FakeDevice) -> Loop:
    return Loop(clock=device.clock, cpu_clock=device.cpu_clock, fence=device.fence)


def test_work_that_was_left_is_in_no_sample_nor_in_the_fences_price() -> None:
    device = FakeDevice(call_ns=2_000_000, left_ns=5 * SECOND, fence_ns=3_000)
    loop = loop_on(device)
    assert loop.fence_s == 3e-6
    device.leave_work(5 * SECOND)
    assert loop.sample(device.step, 4)[0].seconds == pytest.approx(0.002_000_75, rel=1e-12)
    assert loop.sample(device.step, 1)[0].seconds == pytest.approx(0.002_003, rel=1e-12)
    assert device.calls == 5


@given(
    calls=st.integers(1, 200),
    call_ns=st.integers(0, 10 * SECOND),
    enqueue_ns=st.integers(0, 10**6),
    fence_ns=st.integers(0, 10**6),
)
def test_seconds_per_call_are_the_span_between_the_fences_over_the_calls(
    calls: int, call_ns: int, enqueue_ns: int, fence_ns: int
) -> None:
    device = FakeDevice(call_ns=call_ns, enqueue_ns=enqueue_ns, fence_ns=fence_ns)
    sample, last = loop_on(device).sample(device.step, calls)
    span = calls * (call_ns + enqueue_ns) + fence_ns
    assert sample.seconds == pytest.approx(span / calls / 1e9, rel=1e-12, abs=0)
    assert last == calls
    expected = calls * enqueue_ns / span if span else 1.0
    assert sample.enqueue_fraction == pytest.approx(expected, rel=1e-12)
    assert 0 <= sample.enqueue_fraction <= 1


# Steps from nothing to ten seconds, as dense near a nanosecond as near a second.
durations = st.one_of(st.just(0), st.floats(0, 10).map(lambda digits: round(10**digits)))
interruptions = st.one_of(st.just(0), st.floats(0, 8.3).map(lambda digits: round(10**digits)))


@settings(max_examples=60, deadline=None)
@given(call_ns=durations, fence_ns=st.integers(0, 300_000), first_ns=interruptions)
def test_calibrated_samples_reach_the_floor_and_never_the_cap(
    call_ns: int, fence_ns: int, first_ns: int
) -> None:
    device = FakeDevice(call_ns=call_ns, fence_ns=fence_ns, first_ns=first_ns)
    loop = loop_on(device)
    cap = 2_000
    with pytest.MonkeyPatch.context() as patch:
        for module in (traits, measure):
            patch.setattr(module, "CALLS_CAP", cap)
        calls, sample, last = loop.calibrate(device.step)
    seconds = sample.seconds
    assert last == device.calls
    assert 1 <= calls <= cap
    assert device.calls <= 4 * cap
    # What the calibration said, asked of the device itself.
    sample_s = loop.sample(device.step, calls)[0].seconds * calls
    if calls < cap:
        assert sample_s >= SAMPLE_FLOOR_S
        assert sample_s >= measure.SAMPLE_FLOOR_FENCES * fence_ns / 1e9
        # One call more than the floor and its margin need would be waste.
        assert (calls - 1) * seconds <= CALLS_MARGIN * loop.floor_s * (1 + 1e-9)
    else:
        assert call_ns * cap / 1e9 <= CALLS_MARGIN * loop.floor_s


@pytest.mark.parametrize(
    ("call_ns", "calls"),
    [
        (10 * SECOND, 1),
        (13_000_000, 1),
        (1_000_000, 12),
        (10_000, 1_200),
        (110, CALLS_CAP),
        (0, CALLS_CAP),
    ],
)
def test_calls_in_a_sample_are_the_floor_and_a_fifth(call_ns: int, calls: int) -> None:
    device = FakeDevice(call_ns=call_ns)
    assert loop_on(device).calibrate(device.step)[0] == calls
    # A slow call is not paid for twice in the climb.
    assert device.calls == 1 or call_ns < SECOND


def test_a_misleadingly_fast_start_does_not_end_the_climb() -> None:
    durations = iter([10, *[2_000] * 10**6])
    device = FakeDevice()

    def step() -> None:
        device.leave_work(next(durations))

    calls, *_ = loop_on(device).calibrate(step)
    assert calls == math.ceil(CALLS_MARGIN * SAMPLE_FLOOR_S / 2e-6)


@pytest.mark.parametrize("interruption_ns", [9_000_000, 60_000_000, 200_000_000])
@pytest.mark.parametrize("at", [1, 5, 40])
def test_an_interruption_in_the_climb_is_not_taken_for_the_steps_own_time(
    interruption_ns: int, at: int
) -> None:
    device = FakeDevice(call_ns=100_000)

    def step() -> None:
        if device.step() == at:
            device.leave_work(interruption_ns)

    assert loop_on(device).calibrate(step)[0] == 120


@pytest.mark.parametrize(
    ("device", "calls", "status", "warming"),
    [
        # An even step settles when the warm-up time is over, and a noisy one before the cap.
        (FakeDevice(call_ns=1_000_000), 10, "settled", range(30, 31)),
        (FakeDevice(call_ns=1_000_000, jitter=0.02), 10, "settled", range(30, 90)),
        # Settling takes two windows even after the warm-up time: 20 samples of 30 ms.
        (FakeDevice(call_ns=10_000_000), 3, "settled", range(2 * WINDOW, 2 * WINDOW + 1)),
        # Samples too slow to tell end with the time.
        (FakeDevice(call_ns=100_000_000), 1, "time", range(3, 4)),
        (FakeDevice(call_ns=30 * SECOND), 1, "time", range(1, 2)),
        # A step that never settles is ended by the cap.
        (FakeDevice(call_ns=1_000_000, drift=0.002), 10, "cap", range(31, 90)),
    ],
)
def test_the_warm_up_ends_when_the_step_is_settled_or_by_time_or_by_the_cap(
    device: FakeDevice, calls: int, status: str, warming: range
) -> None:
    timing = loop_on(device).measure(device.step, calls, warmup_s=0.3, measure_s=0.7)
    assert (timing.warmup_status, len(timing.warmup_s) in warming) == (status, True)
    # Each sample counts the same number of calls; a hopelessly slow one gets the least of them.
    assert device.calls == timing.last == calls * len([*timing.warmup_s, *timing.samples_s])
    assert len(timing.samples_s) >= LEAST_SAMPLES
    assert (timing.warmup_wall_s >= 0.3 - 1e-9, timing.measure_wall_s >= 0.7 - 1e-9) == (True, True)
    if status == "cap":
        sample_s = max(timing.warmup_s) * calls
        assert WARMUP_CAP * 0.3 <= timing.warmup_wall_s <= WARMUP_CAP * 0.3 + sample_s


@pytest.mark.parametrize(
    ("call_ns", "calls", "most", "status", "warming"),
    [
        # A step that is traced for ever, and one whose last trace comes late.
        (1_000_000, 1, 10**9, "cap", 900),
        (100_000_000, 1, 10**9, "cap", 9),
        (1_000_000, 10, 500, "settled", 51),
    ],
)
def test_a_step_that_is_still_tracing_is_still_warming_up(
    call_ns: int, calls: int, most: int, status: str, warming: int
) -> None:
    device = FakeDevice(call_ns=call_ns)
    traces = lambda: min(device.calls, most)  # noqa: E731
    timing = loop_on(device).measure(device.step, calls, warmup_s=0.3, measure_s=0.1, traces=traces)
    assert (timing.warmup_status, len(timing.warmup_s)) == (status, warming)


@pytest.mark.parametrize("at", [None, 1, 15])
def test_no_garbage_is_collected_while_steps_run_and_is_again_afterwards(at: int | None) -> None:
    device = FakeDevice(call_ns=10_000_000)
    seen: set[bool] = set()

    def step() -> None:
        seen.add(gc.isenabled())
        if device.step() == at:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) if at else contextlib.nullcontext():
        loop_on(device).measure(step, 1, warmup_s=0.1, measure_s=0.1)
    assert seen == {False}
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("usual_s", "warming", "sampled"),
    [
        # What the calibration saw decides; not the call itself, whichever side it comes out on.
        (0.0, 1, 3),
        (0.3, 1, 3),
        (0.31, 0, 3),
        (0.7, 0, 3),
        (0.71, 0, 1),
    ],
)
@pytest.mark.parametrize("call_s", [0.301, 0.5, 0.699, 9.0])
def test_the_first_call_of_a_slow_cell_was_its_warm_up(
    usual_s: float, warming: int, sampled: int, call_s: float
) -> None:
    device = FakeDevice(call_ns=round(call_s * SECOND))
    loop = loop_on(device)
    timing = loop.measure(device.step, 1, warmup_s=0.3, measure_s=0.7, usual_s=usual_s)
    assert (len(timing.warmup_s), len(timing.samples_s)) == (warming, sampled)
    assert timing.warmup_status == ("time" if warming else FIRST_CALL)
    assert timing.warmup_wall_s == pytest.approx(call_s * warming)
    assert timing.measure_wall_s == pytest.approx(call_s * sampled)


def test_without_a_warm_up_time_no_call_is_slow() -> None:
    device = FakeDevice(call_ns=SECOND)
    timing = loop_on(device).measure(device.step, 1, warmup_s=0.0, measure_s=3.0, usual_s=1.0)
    assert (len(timing.warmup_s), len(timing.samples_s)) == (1, 3)


def test_a_warm_up_that_finds_k_believes_no_single_fast_sample() -> None:
    """A pipeline that has run ahead gives what it holds at once."""
    durations = iter([1_000, *[900_000] * 10**4])
    device = FakeDevice()

    def step() -> None:
        device.leave_work(next(durations))

    timing = loop_on(device).measure(step, 1, warmup_s=0.1, measure_s=0.1, finds=True)
    assert timing.calls == 14
    # What is kept is of this K alone.
    assert min(timing.warmup_s) * timing.calls > 0.01


@pytest.mark.parametrize("usual_s", [0.0, 0.2])
def test_a_call_that_was_held_up_in_the_search_is_warmed_up_like_any_other(usual_s: float) -> None:
    device = FakeDevice(call_ns=12_000)
    timing = loop_on(device).measure(
        device.step, 1, warmup_s=0.15, measure_s=0.3, usual_s=usual_s, finds=True
    )
    assert timing.calls == 1000
    assert timing.warmup_status == "settled"
    assert math.fsum(timing.warmup_s) * timing.calls >= 0.15


class Result:
    """Something that a step gives and that can be seen to be gone."""


def test_results_before_the_last_are_let_go_at_once() -> None:
    device = FakeDevice(call_ns=10_000_000)
    alive: list[weakref.ref[Result]] = []

    def step() -> Result:
        device.step()
        assert all(reference() is None for reference in alive), "a buffer was held on to"
        result = Result()
        alive[:] = [weakref.ref(result)]
        return result

    timing = loop_on(device).measure(step, 3, warmup_s=0.1, measure_s=0.1)
    assert timing.last is alive[0]()


def measure_waiting(
    waits: Callable[[int], int], *, computes: bool = True, jitter: float = 0.01
) -> measure.Timing:
    """Samples of ten calls of a millisecond, for a second."""
    device = FakeDevice(call_ns=1_000_000, jitter=jitter, waits=waits)
    return loop_on(device).measure(device.step, 10, warmup_s=0.3, measure_s=1.0, computes=computes)


def test_samples_that_waited_are_measured_again_and_kept() -> None:
    # Every 97th call waits for as long as two samples take.
    timing = measure_waiting(lambda call: 20_000_000 if call % 97 == 0 else 0)
    assert len(timing.replaced_s) >= 5
    assert min(timing.replaced_s) > 0.0028
    assert max(timing.samples_s) < 0.0011
    assert timing.disturbed == 0.0
    # The CPU's seconds are those of the work, whoever waited.
    for seconds, computed in (
        (timing.samples_s, timing.cpu_s),
        (timing.replaced_s, timing.replaced_cpu_s),
    ):
        assert len(seconds) == len(computed)
        assert computed == pytest.approx([1e-3] * len(computed), rel=0.05)
    assert timing.measure_wall_s < (1 + measure.AGAIN) * 1.1


@pytest.mark.parametrize(
    ("waits", "computes", "jitter"),
    [
        pytest.param(lambda _: 0, True, 0.2, id="uneven work"),
        pytest.param(lambda call: 20_000_000 if call % 97 == 0 else 0, False, 0.01, id="a GPU's"),
        pytest.param(lambda _: 20_000_000, True, 0.01, id="always"),
    ],
)
def test_other_samples_are_not_measured_again(
    waits: Callable[[int], int], jitter: float, *, computes: bool
) -> None:
    timing = measure_waiting(waits, computes=computes, jitter=jitter)
    assert timing.replaced_s == []
    assert timing.disturbed == 0.0
    assert len(timing.cpu_s) == len(timing.samples_s)


def test_what_goes_on_waiting_is_not_measured_for_ever() -> None:
    # Two samples of five, and all that are measured again, which come after some 770 calls.
    timing = measure_waiting(
        lambda call: 20_000_000 if call % 10 == 0 and (call > 770 or call % 50 < 20) else 0
    )
    assert timing.disturbed > 1 / 3
    assert 1.0 <= timing.measure_wall_s < (1 + measure.AGAIN) * 1.1


def test_the_fences_price_is_the_median_of_many() -> None:
    device = FakeDevice(fence_ns=2_000)
    fences = 0

    def fence() -> None:
        nonlocal fences
        fences += 1
        # One wait in twenty-five is interrupted for a whole second.
        device.now_ns += SECOND if fences % 25 == 0 else 0
        device.fence()

    assert Loop(clock=device.clock, cpu_clock=device.cpu_clock, fence=fence).fence_s == 2e-6
