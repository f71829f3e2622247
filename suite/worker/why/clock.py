"""Progress as a clock: how many training steps are done, when, and by how many CPU seconds.

Pure: knows no TensorFlow; both clocks are handed in.  A *mark* is the end of a turn of something that
holds several steps: an epoch of ``fit``, or a turn of a `for` of the script.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Window:
    """From after step ``begin`` to after step ``end``, both at a mark of the ``series``."""

    begin: int
    end: int
    series: int


@dataclass(frozen=True)
class Instant:
    """So many steps were done at this wall and CPU time, in nanoseconds, of which ours is taken out."""

    steps: int
    wall: int
    cpu: int


class Clock:
    """Counts the steps of one run, and says when it has seen enough.

    ``window``: None: it finds one of at least ``seconds``; else that one.  ``stop`` is called once the
    window is over.  ``fence`` waits for work that was only handed over: at a window's ends, and at marks.
    ``scale``: a step does the work of so many of the window's.
    """

    def __init__(
        self,
        wall: Callable[[], int],
        cpu: Callable[[], int],
        *,
        seconds: float,
        window: Window | None,
        stop: Callable[[], object],
        fence: Callable[[], object] = lambda: None,
        scale: float = 1.0,
    ) -> None:
        self._wall, self._cpu, self._stop, self._fence = wall, cpu, stop, fence
        self.seconds, self.window, self.scale = seconds, window, scale
        self.steps = 0
        self.began = wall()
        self.first_began: int | None = None
        self._ticks = (array("q"), array("q"), array("q"))
        self._marks: dict[int, list[Instant]] = {}
        self._turns: dict[int, int] = {}
        """By series that is under way: the steps that were done when its turn began."""
        self._flat: set[int] = set()
        self._own = [0, 0]
        self._listeners: list[Callable[[int], object]] = []
        self._fenced = self._entered = 0
        self._least = seconds / 3 * 1e9
        """Nanoseconds for which a run is timed at the least: what is fast does more of the same."""
        self._over = False

    # --- What happens -------------------------------------------------------------------------------

    def on_step(self, listener: Callable[[int], object]) -> None:
        """Calls the listener after every step, with how many are done."""
        self._listeners.append(listener)

    def begin(self) -> None:
        """Something that may be a training step begins."""
        if not self.steps:
            self.first_began = self._wall()

    def tick(self, steps: int = 1) -> None:
        """So many more training steps are done."""
        self.steps += steps
        if self._fenced < 2 and self._is_end():
            self._fence()
            self._fenced += 1
        instant = self._now()
        for column, value in zip(
            self._ticks, (instant.steps, instant.wall, instant.cpu), strict=True
        ):
            column.append(value)
        for listener in self._listeners:
            listener(self.steps)
        self._look(TICKS, instant)

    def turn(self, series: int) -> None:
        """A turn of something that may hold several steps begins; the one before it, if any, is over."""
        before, self._turns[series] = self._turns.get(series), self.steps
        if before is None or series in self._flat:
            return
        if self.steps - before <= (1 if series == FIT else PAIR):
            if self.steps:
                self._flat.add(series)
            return
        self.mark(series)

    def mark(self, series: int) -> None:
        """A turn that holds several steps is over."""
        self._fence()
        instant = self._now()
        self._marks.setdefault(series, []).append(instant)
        self._look(series, instant)

    def leave(self, series: int) -> None:
        """What had turns is over."""
        most = 1 if series == FIT else PAIR
        if self.steps - self._turns.pop(series, self.steps) > most and series not in self._flat:
            self.mark(series)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """What happens inside is ours, and no time of the script's."""
        before = self._wall(), self._cpu()
        try:
            yield
        finally:
            self._own[0] += self._wall() - before[0]
            self._own[1] += self._cpu() - before[1]

    def _is_end(self) -> bool:
        """Whether a window of steps alone begins or ends here."""
        if self.window is not None:
            ends = (self.window.begin, self.window.end)
            lasted = self._wall() - self._own[0] - self._entered >= self._least
            return self.steps * self.scale >= ends[self._fenced] and (not self._fenced or lasted)
        if not self._fenced:
            return self._is_warm(self.steps, self._wall() - self._own[0])
        return (self._wall() - self._own[0] - self._ticks[1][0]) / 1e9 >= WARM_S + self.seconds

    def _is_warm(self, steps: int, wall: int) -> bool:
        return (
            steps >= WARM_STEPS
            and bool(self._ticks[1])
            and wall - self._ticks[1][0] >= WARM_S * 1e9
        )

    def _now(self) -> Instant:
        own = self._own
        return Instant(self.steps, self._wall() - own[0], self._cpu() - own[1])

    # --- When it is enough --------------------------------------------------------------------------

    def _look(self, series: int, instant: Instant) -> None:
        if self._over:
            return
        if self.window is not None:
            self._over = self._is_past(self.window, series, instant)
        elif self.steps >= WARM_STEPS:
            self._over = self._is_enough(series, instant)
        if self._over:
            self._stop()

    def _is_past(self, window: Window, series: int, instant: Instant) -> bool:
        if self.steps * self.scale < window.begin:
            return False
        self._entered = self._entered or instant.wall
        if self.steps * self.scale < window.end or instant.wall - self._entered < self._least:
            return False
        if series == window.series:
            return True
        # A change can take the marks away: then steps alone must do.
        return series == TICKS and window.series not in self._marks

    def _is_enough(self, series: int, instant: Instant) -> bool:
        first = self._ticks[1][0]
        since_s = (instant.wall - first) / 1e9
        few = self.steps < 2 * WARM_STEPS and since_s < 3 * PATIENCE_S
        if few or since_s < self.seconds:
            return False
        marks = self._marks.get(series, [])
        whole = len(marks) > 1 and (instant.wall - marks[0].wall) / 1e9 >= self.seconds
        if whole and self._is_outermost(series):
            return True
        if since_s >= PATIENCE_S:
            # A turn that has come to its end once will do so again.
            half = any(len(self._marks.get(each, ())) == 1 for each in self._turns)
            return not half or since_s >= 3 * PATIENCE_S
        waited_for = [each for each in self._turns if each not in self._flat]
        return not waited_for and since_s >= WARM_S + self.seconds

    def _is_outermost(self, series: int) -> bool:
        """Whether nothing that is under way, and may have longer turns, is around it."""
        under_way = [each for each in self._turns if each not in self._flat]
        return not under_way or under_way[0] == series

    # --- What it saw --------------------------------------------------------------------------------

    def choose(self) -> tuple[Window, Instant, Instant] | None:
        """The window that was asked for, or the best that was seen, and its two ends; None: too few steps."""
        if self.window is not None:
            return self._cut(self.window)
        long = [
            (series, marks)
            for series, marks in self._marks.items()
            if len(marks) > 1
            and (marks[-1].wall - marks[0].wall) / 1e9 >= min(SHORTEST_S, self.seconds)
        ]
        if long:
            # The outermost has the fewest.
            series, marks = min(long, key=lambda item: (len(item[1]), -item[1][0].steps))
            begin, end = marks[0], self._first_long(marks[0], marks)
            return Window(begin.steps, end.steps, series), begin, end
        steps, walls, _ = self._ticks
        few = min(WARM_STEPS, len(steps) // 3) if len(steps) > 1 else None
        warm = next((i for i in range(len(steps) - 1) if self._is_warm(steps[i], walls[i])), few)
        if warm is None:
            return None
        begin = self._tick(warm)
        end = self._first_long(begin, [self._tick(i) for i in range(warm + 1, len(steps))])
        return Window(begin.steps, end.steps, TICKS), begin, end

    def _first_long(self, begin: Instant, ends: Sequence[Instant]) -> Instant:
        """The first that makes the window long enough, or else the last."""
        return next((e for e in ends if e.wall - begin.wall >= self.seconds * 1e9), ends[-1])

    def _cut(self, window: Window) -> tuple[Window, Instant, Instant] | None:
        """A window that was fixed elsewhere, as near as this run's marks or steps come to it."""
        marks = self._marks.get(window.series, [])
        instants = marks if len(marks) > 1 else [self._tick(i) for i in range(len(self._ticks[0]))]

        def after(steps: int) -> Instant | None:
            return next((i for i in instants if i.steps * self.scale >= steps), None)

        begin = after(window.begin)
        if begin is None:
            return None
        end = instants[-1]
        least = math.ceil((window.end - window.begin) / 2)
        if (end.steps - begin.steps) * self.scale < least:
            return None
        return Window(begin.steps, end.steps, window.series), begin, end

    def count_turns(self, window: Window) -> int:
        """The whole turns in a window; 0: it is of steps alone."""
        marks = [mark.steps for mark in self._marks.get(window.series, [])]
        return sum(window.begin < steps <= window.end for steps in marks)

    def _tick(self, index: int) -> Instant:
        steps, wall, cpu = (column[index] for column in self._ticks)
        return Instant(steps, wall, cpu)

    @property
    def first_ended(self) -> int | None:
        """When the first step was done; None: none was."""
        return self._ticks[1][0] if self._ticks[1] else None

    @property
    def own_s(self) -> float:
        """Seconds of ours that were taken out of the wall time."""
        return self._own[0] / 1e9
