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
    """A clock that only waiting moves; ``told`` are the lines that come at each waiting."""

    def __init__(self, *told: list[str], looks: int = 8) -> None:
        self.now_s = 1000.0
        self.told = [*told, *([[]] * (looks - len(told)))]

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> list[str] | None:
        self.now_s += seconds
        return self.told.pop(0) if self.told else None
