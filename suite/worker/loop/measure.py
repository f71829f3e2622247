"""The measuring loop: fences, calls in a sample, warm-up, samples.

Pure: it takes a clock and a fence and knows no TensorFlow, so that a fake device can prove it.
"""

from __future__ import annotations

import gc
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from suite.cells.traits import CALLS_CAP, LEAST_SAMPLES, count_calls, is_slow
from suite.model import FIRST_CALL
from suite.worker.loop.disturbed import find_disturbed

Step = Callable[[], object]
Clock = Callable[[], int]
Fence = Callable[[], object]

SAMPLE_FLOOR_S = 0.010
"""A sample takes at least this long, so that the clock's grain and one interrupt stay small in it."""

SAMPLE_FLOOR_FENCES = 200
"""… and at least as long as this many empty fences, so that timing costs at most 0.5 % of it."""

INTERRUPTION_S = 0.25
"""A sample of the climb that took less than this can owe its length to an interruption (another
process's slice, a late trace), so it is timed again and the faster one counts: K is frozen for the
whole campaign.  A longer one is not worth repeating."""

WINDOW = 5
"""Warm-up has settled when the medians of the last two windows of so many samples agree …"""

AGREEMENT = 0.01
"""… within this share."""

WARMUP_CAP = 3.0
"""The cap on warm-up, in multiples of the profile's warm-up time."""

AGAIN = 0.5
"""What measuring disturbed samples again may take more, as a share of the measuring time."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One timed run: seconds per call, the process's CPU seconds per call, and the share of the time spent
    handing work over."""

    seconds: float
    cpu_s: float
    enqueue_fraction: float


@dataclass(frozen=True, kw_only=True)
class Timing:
    """What the loop found: seconds per call of every warm-up sample and every sample, in order.

    Each of the samples has so many ``calls``; ``cpu_s`` are their CPU seconds.  ``replaced_s``, with
    ``replaced_cpu_s``, are the disturbed ones, for which others were measured, the last of the samples;
    ``disturbed`` is the share that is so still.
    ``warmup_status`` is ``settled``, ``time`` (the samples were too slow to tell), ``cap``, or `FIRST_CALL`.
    ``last`` is the result of the last call.  ``warmup_wall_s`` and ``measure_wall_s`` say where
    the time went.  By default nothing was warmed up.
    """

    warmup_s: list[float] = field(default_factory=list)
    calls: int = 1
    samples_s: list[float]
    cpu_s: list[float] = field(default_factory=list)
    replaced_s: list[float] = field(default_factory=list)
    replaced_cpu_s: list[float] = field(default_factory=list)
    disturbed: float = 0.0
    enqueue_fraction: float = 1.0
    warmup_status: str
    last: object
    warmup_wall_s: float = 0.0
    measure_wall_s: float = 0.0


@dataclass(kw_only=True)
class Loop:
    """The instruments of one process: its clock and that of its CPU time, in nanoseconds, and its fence.

    ``least_s`` is what a sample has to take besides `SAMPLE_FLOOR_S`.  ``fence_s`` is the cost of an empty
    fence here, in seconds, the median of 101 runs.
    """

    clock: Clock
    cpu_clock: Clock
    fence: Fence
    least_s: float = 0.0
    fence_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.fence()
        runs = [self.sample(lambda: None, 1)[0].seconds for _ in range(101)]
        self.fence_s = statistics.median(runs)

    @property
    def floor_s(self) -> float:
        """The least time that a sample has to take."""
        return max(SAMPLE_FLOOR_S, self.least_s, SAMPLE_FLOOR_FENCES * self.fence_s)

    def sample(self, step: Step, calls: int) -> tuple[Sample, Any]:
        """Times ``calls`` consecutive calls between two fences; also returns the last result.

        The results before the last are dropped at once, as a user's loop would, so that buffers
        are reused in the same way.  The clock of CPU time is read outside of what is timed.
        """
        self.fence()
        computed = self.cpu_clock()
        start = self.clock()
        for _ in range(calls - 1):
            step()
        last = step()
        dispatched = self.clock()
        self.fence()
        end = self.clock()
        computed = self.cpu_clock() - computed
        took = end - start
        return Sample(
            seconds=took / calls / 1e9,
            cpu_s=computed / calls / 1e9,
            enqueue_fraction=(dispatched - start) / took if took > 0 else 1.0,
        ), last

    def calibrate(self, step: Step) -> tuple[int, Sample, Any]:
        """K, the calls that make a sample long enough; the sample that showed it, and the last result.

        Climbs from one call, aiming a little past the floor each time; never beyond `CALLS_CAP`.
        """
        calls, last = 1, None
        while True:
            last = None
            sample, last = self.sample(step, calls)
            if self.floor_s <= sample.seconds * calls < INTERRUPTION_S:
                last = None
                again, last = self.sample(step, calls)
                sample = min(sample, again, key=lambda one: one.seconds)
            seconds = sample.seconds
            if seconds * calls >= self.floor_s:
                # The climb's last step may have overshot: what the floor needs, with its margin.
                return count_calls(self.floor_s, seconds), sample, last
            if calls >= CALLS_CAP:
                return CALLS_CAP, sample, last
            aim = math.ceil(1.1 * self.floor_s / seconds) if seconds > 0 else CALLS_CAP
            # At most tenfold at a time: the very first calls can be misleadingly fast or slow.
            calls = min(max(aim, 2 * calls), 10 * calls, CALLS_CAP)

    def measure(
        self,
        step: Step,
        calls: int,
        *,
        warmup_s: float,
        measure_s: float,
        usual_s: float = 0.0,
        traces: Callable[[], int] = lambda: 0,
        computes: bool = False,
        finds: bool = False,
    ) -> Timing:
        """Warms up, then samples, with garbage collection off; see the constants for the rules.

        Args:
            step: one call.
            calls: K, the calls in a sample.
            warmup_s: the least warm-up time; its cap is `WARMUP_CAP` times that.  At 0 one sample is all.
            measure_s: the measuring time.
            usual_s: what a call took where K was found.  Of one that takes longer than the warm-up time the
                first call, which is over, was the warm-up; beyond the measuring time one sample is all.
                The sample itself never decides, or the slower ones would be those that count.
            traces: how many traces the step's functions have seen so far.
            computes: the work is the CPU's, so that samples that waited are disturbed, and measured again at
                once, within `AGAIN`.
            finds: K was only just found, by calls that something else can have held up: it grows where a
                sample falls short of the floor, and the warm-up begins anew, since all that a cell keeps is
                of one K.
        """
        gc.disable()
        try:
            while True:
                samples = _Samples(self, step, calls, finds=finds)
                try:
                    began = self.clock()
                    status, warmup = FIRST_CALL, list[float]()
                    if not is_slow(usual_s, warmup_s):
                        status, warmup = samples.warm_up(warmup_s, traces)
                    warmed = self.clock()
                    samples.measure(measure_s, usual_s)
                    if computes:
                        samples.replace_disturbed(self.clock() + AGAIN * (self.clock() - warmed))
                    break
                except _ShortSample as short:
                    # What took so long was something else, so that the call is not slow.
                    calls, usual_s = short.calls, 0.0
            ended = self.clock()
        finally:
            gc.enable()
        kept, replaced = samples.kept, samples.replaced
        return Timing(
            warmup_s=warmup,
            calls=calls,
            samples_s=[sample.seconds for sample in kept],
            cpu_s=[sample.cpu_s for sample in kept],
            replaced_s=[sample.seconds for sample in replaced],
            replaced_cpu_s=[sample.cpu_s for sample in replaced],
            disturbed=len(_find_odd(kept)) / len(kept) if computes else 0.0,
            enqueue_fraction=statistics.median(sample.enqueue_fraction for sample in kept),
            warmup_status=status,
            last=samples.last,
            warmup_wall_s=(warmed - began) / 1e9,
            measure_wall_s=(ended - warmed) / 1e9,
        )


class _ShortSample(Exception):
    """A sample fell short of the floor while K is being found; a sample should have so many ``calls``."""

    def __init__(self, calls: int) -> None:
        super().__init__(calls)
        self.calls = calls


class _Samples:
    """Samples of one K: those that are ``kept``, those that were ``replaced``, and the ``last`` result.

    ``finds``: K was only just found, so that a sample that falls short of the floor raises `_ShortSample`.
    """

    def __init__(self, loop: Loop, step: Step, calls: int, *, finds: bool) -> None:
        self._loop, self._step, self._calls, self._finds = loop, step, calls, finds
        self.kept: list[Sample] = []
        self.replaced: list[Sample] = []
        self.last: Any = None

    def _take(self) -> Sample:
        self.last = None
        sample, self.last = self._loop.sample(self._step, self._calls)
        floor_s, calls = self._loop.floor_s, self._calls
        if self._finds and sample.seconds * calls < floor_s:
            # Tenfold at most, as in the climb: one sample alone can be misleadingly fast.
            larger = min(count_calls(floor_s, sample.seconds), 10 * calls)
            if larger > calls:
                raise _ShortSample(larger)
        return sample

    def warm_up(self, warmup_s: float, traces: Callable[[], int]) -> tuple[str, list[float]]:
        """How the warm-up ended, and the seconds of a call of each of its samples."""
        began, seconds = self._loop.clock(), list[float]()
        while True:
            traced = traces()
            seconds.append(self._take().seconds)
            elapsed = (self._loop.clock() - began) / 1e9
            again = traces() > traced
            if status := _warmup_status(seconds, elapsed, warmup_s, self._calls, again):
                return status, seconds

    def measure(self, measure_s: float, usual_s: float) -> None:
        """Samples for so long; one of a call that usually takes longer."""
        began = self._loop.clock()
        while True:
            self.kept.append(self._take())
            if usual_s > measure_s:
                return
            elapsed = (self._loop.clock() - began) / 1e9
            if len(self.kept) >= LEAST_SAMPLES and elapsed >= measure_s:
                return

    def replace_disturbed(self, until: float) -> None:
        """Measures disturbed samples again, up to a reading of the clock."""
        while odd := _find_odd(self.kept):
            # The latest first, so that the places of the others stay what they are.
            for index in reversed(odd):
                if self._loop.clock() >= until:
                    return
                self.replaced.append(self.kept.pop(index))
                self.kept.append(self._take())


def _find_odd(samples: Sequence[Sample]) -> list[int]:
    return find_disturbed(
        [sample.seconds for sample in samples], [sample.cpu_s for sample in samples]
    )


def _warmup_status(
    warmup: list[float], elapsed: float, warmup_s: float, calls: int, traced: bool
) -> str | None:
    """How the warm-up ended, or None while it goes on."""
    if elapsed < warmup_s:
        return None
    if elapsed >= WARMUP_CAP * warmup_s:
        tellable = 2 * WINDOW * statistics.median(warmup) * calls <= WARMUP_CAP * warmup_s
        return "cap" if traced or tellable else "time"
    if traced:
        return None
    if 2 * WINDOW * statistics.median(warmup) * calls > WARMUP_CAP * warmup_s:
        return "time"
    if len(warmup) < 2 * WINDOW:
        return None
    before = statistics.median(warmup[-2 * WINDOW : -WINDOW])
    after = statistics.median(warmup[-WINDOW:])
    return "settled" if abs(after - before) <= AGREEMENT * before else None
