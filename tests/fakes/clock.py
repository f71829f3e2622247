"""Clocks that the test moves: by reading them, or by waiting."""

from __future__ import annotations


class Clock:
    """A clock of so many nanoseconds a reading, with one gap on the way."""

    def __init__(self, gap_ns: int = 0, step_ns: int = 10_000) -> None:
        self.now_ns = 0
        self.readings = 0
        self.gap_ns = gap_ns
        self.step_ns = step_ns

    def __call__(self) -> int:
        self.readings += 1
        self.now_ns += self.step_ns + (self.gap_ns if self.readings == 100 else 0)
        return self.now_ns


class Time:
    """A clock that only waiting moves; ``told`` are the lines that come before the first of ``looks`` waits
    is over."""

    def __init__(self, *told: str, looks: int = 8) -> None:
        self.now_s = 1000.0
        self.told = list(told)
        self.looks = looks

    def __call__(self) -> float:
        return self.now_s

    def next_line(self, timeout_s: float) -> str | None:
        if self.told:
            return self.told.pop(0)
        self.now_s += timeout_s
        self.looks -= 1
        if self.looks >= 0:
            raise TimeoutError
        return None
