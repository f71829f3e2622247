"""Progress as a clock: how many training steps are done, when, and by how many CPU seconds.

Pure: knows no TensorFlow; both clocks are handed in.  A *mark* is the end of a turn of something that
holds several steps: an epoch of ``fit``, or a turn of a `for` of the script.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

TICKS, FIT = -1, 0
"""Series of a window that is of steps alone, and of one that is of epochs of ``fit``; any other is the line
of a `for`."""

WARM_STEPS, WARM_S = 3, 1.0
"""A window of steps alone begins after so many, and so many seconds behind the first."""

PAIR = 2
"""A turn of a loop in which so many updates are made is a step of two networks, and no epoch."""

SHORTEST_S = 0.3
"""Whole turns that take less in all are no better than steps alone."""

PATIENCE_S = 10.0
"""So long, behind the first step, whole turns of what holds the training are waited for: validation,
callbacks and new models are then in the window in their true share."""


class Window(NamedTuple):
    """From after step ``begin`` to after step ``end``, both at a mark of the ``series``."""

    begin: int
    end: int
    series: int


class Instant(NamedTuple):
    """So many steps were done at this wall and CPU time, in nanoseconds, of which ours is taken out."""

    steps: int
    wall: int
    cpu: int


@dataclass(eq=False)
class Clock:
    """Counts the steps of one run, and says when it has seen enough.

    ``window``: None: it finds one of at least ``seconds``; else that one.  ``stop`` is called once the
    window is over.  ``fence`` waits for work that was only handed over: at a window's ends, and at marks.
    ``scale``: a step does the work of so many of the window's.
    """

    wall: Callable[[], int]
    cpu: Callable[[], int]
    seconds: float
    window: Window | None
    stop: Callable[[], object]
    fence: Callable[[], object]
    scale: float = 1.0

    def __post_init__(self) -> None:
        self.steps = 0
        self.began = self.first_began = self.wall()
        """When the script began, and when its first step did."""
        self._ticks: list[Instant] = []
        self._marks: defaultdict[int, list[Instant]] = defaultdict(list)
        self._turns: dict[int, int] = {}
        """By series that is under way, the outermost first: the steps that were done when its turn began."""
        self._flat: set[int] = set()
        """Series whose turns are single steps."""
        self._own = [0, 0]
        self._listeners: list[Callable[[int], object]] = []
        self._begin: int | None = None
        """The tick at which a window of steps alone begins."""
        self._fenced = False

    # --- What happens -------------------------------------------------------------------------------

    def on_step(self, listener: Callable[[int], object]) -> None:
        """Calls the listener after every step, with how many are done."""
        self._listeners.append(listener)

    def begin(self) -> None:
        """Something that may be a training step begins."""
        if not self.steps:
            self.first_began = self._now().wall

    def tick(self, steps: int = 1) -> None:
        """So many more training steps are done."""
        self.steps += steps
        instant = self._now()
        begins = self._begin is None and self._may_begin(instant)
        ends = not self._fenced and self._may_end(instant)
        if begins or ends:
            self.fence()
            instant = self._now()
            self._fenced = ends
        if begins:
            self._begin = len(self._ticks)
        self._ticks.append(instant)
        for listener in self._listeners:
            listener(self.steps)
        self._look(TICKS, instant)

    def turn(self, series: int) -> None:
        """A turn of something that may hold several steps begins; the one before it, if any, is over."""
        before = self._turns.get(series)
        self._turns[series] = self.steps
        if before is not None and not self._mark(series, before) and self.steps:
            self._flat.add(series)

    def leave(self, series: int) -> None:
        """What had turns is over."""
        self._mark(series, self._turns.pop(series, self.steps))

    @contextmanager
    def pause(self) -> Iterator[None]:
        """What happens inside is ours, and no time of the script's."""
        before = self.wall(), self.cpu()
        try:
            yield
        finally:
            self._own[0] += self.wall() - before[0]
            self._own[1] += self.cpu() - before[1]

    def _mark(self, series: int, before: int) -> bool:
        """Whether a turn that ends held several steps; then its end is a mark."""
        if self.steps - before <= (1 if series == FIT else PAIR):
            return False
        if series not in self._flat:
            self.fence()
            instant = self._now()
            self._marks[series].append(instant)
            self._look(series, instant)
        return True

    def _now(self) -> Instant:
        return Instant(self.steps, self.wall() - self._own[0], self.cpu() - self._own[1])

    # --- When it is enough --------------------------------------------------------------------------

    def _may_begin(self, instant: Instant) -> bool:
        if self.window is not None:
            return self.steps * self.scale >= self.window.begin
        first = next(iter(self._ticks), instant)
        return self.steps >= WARM_STEPS and instant.wall - first.wall >= WARM_S * 1e9

    def _may_end(self, instant: Instant) -> bool:
        """Whether a window of steps alone is over.

        What is fast does more of the same: a given one, too, is timed for a third of the seconds.
        """
        if self._begin is None:
            return False
        lasted_s = (instant.wall - self._ticks[self._begin].wall) / 1e9
        if self.window is None:
            return lasted_s >= self.seconds
        return self.steps * self.scale >= self.window.end and lasted_s >= self.seconds / 3

    def _look(self, series: int, instant: Instant) -> None:
        window = self.window
        if window is None:
            enough = self._is_enough(series, instant)
        else:
            # A change can take the marks away: then steps alone must do.
            alone = series == TICKS and window.series not in self._marks
            enough = (alone or series == window.series) and self._may_end(instant)
        if enough:
            self.stop()

    def _is_enough(self, series: int, instant: Instant) -> bool:
        since_s = (instant.wall - self._ticks[0].wall) / 1e9
        is_late = since_s >= 3 * PATIENCE_S
        if self.steps < (1 if is_late else 2) * WARM_STEPS or since_s < self.seconds:
            return False
        under_way = [each for each in self._turns if each not in self._flat]
        marks = self._marks.get(series, [instant])
        whole = len(marks) > 1 and (instant.wall - marks[0].wall) / 1e9 >= self.seconds
        if whole and under_way[:1] in ([], [series]):
            return True
        if since_s >= PATIENCE_S:
            # A turn that has come to its end once will do so again.
            return is_late or all(len(self._marks.get(each, "")) != 1 for each in under_way)
        return not under_way and self._may_end(instant)

    # --- What it saw --------------------------------------------------------------------------------

    def choose(self) -> tuple[Window, Instant, Instant] | None:
        """The window that was asked for, or the best that was seen, and its two ends; None: too few steps."""
        if self.window is not None:
            return self._cut(self.window)
        least_ns = min(SHORTEST_S, self.seconds) * 1e9
        long = [
            (marks, series)
            for series, marks in self._marks.items()
            if marks[-1].wall - marks[0].wall > least_ns
        ]
        warm = self._begin or 0
        if not 0 < warm < len(self._ticks) - 1:
            warm = min(WARM_STEPS, len(self._ticks) // 3)
        # The outermost has the fewest.
        marks, series = min(
            long,
            key=lambda item: (len(item[0]), -item[0][0].steps),
            default=(self._ticks[warm:], TICKS),
        )
        if len(marks) < 2:
            return None
        begin, *ends = marks
        end = next(
            (each for each in ends if each.wall - begin.wall >= self.seconds * 1e9), ends[-1]
        )
        return Window(begin.steps, end.steps, series), begin, end

    def _cut(self, window: Window) -> tuple[Window, Instant, Instant] | None:
        """A window that was fixed elsewhere, as near as this run's marks or steps come to it."""
        marks = self._marks.get(window.series, [])
        instants = marks if len(marks) > 1 else self._ticks
        begin = next((each for each in instants if each.steps * self.scale >= window.begin), None)
        done = 0 if begin is None else (instants[-1].steps - begin.steps) * self.scale
        if begin is None or done < (window.end - window.begin) / 2:
            return None
        return Window(begin.steps, instants[-1].steps, window.series), begin, instants[-1]

    def count_turns(self, window: Window) -> int:
        """The whole turns in a window; 0: it is of steps alone."""
        marks = self._marks.get(window.series, [])
        return sum(window.begin < mark.steps <= window.end for mark in marks)

    @property
    def first_step_s(self) -> float:
        """Seconds of the first step."""
        return max(1, self._ticks[0].wall - self.first_began) / 1e9

    @property
    def own_s(self) -> float:
        """Seconds of ours that were taken out of the wall time."""
        return self._own[0] / 1e9
