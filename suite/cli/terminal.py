"""A campaign's progress on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from suite.host.campaign import listener


class _QuietConsole(Console):
    """Goes on without a reader: who closes our standard error does not end a campaign."""

    def on_broken_pipe(self) -> None:
        """Says nothing from now on."""
        self.quiet = True


class Terminal:
    """Shows a campaign's progress on standard error: a bar on a terminal, plain lines elsewhere.

    Never more often than once a second, and only between cells: it must not disturb a measurement.
    """

    def __init__(self) -> None:
        self.console = _QuietConsole(stderr=True, highlight=False)
        self.plain_every_s = 15.0
        self.shown = 0.0
        self.bar: Progress | None = None
        self.task: Any = None
        if self.console.is_terminal:
            # No refreshing thread: it would wake up in the middle of a sample.
            self.bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TaskProgressColumn(),
                TextColumn("{task.fields[rest]}"),
                console=self.console,
                auto_refresh=False,
                transient=True,
            )
            self.task = self.bar.add_task("", total=None, rest="")

    def __enter__(self) -> Terminal:  # noqa: PYI034  Self is newer than Python 3.10
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def say(self, line: str) -> None:
        """One line worth keeping."""
        self.console.print(line, markup=False, soft_wrap=True)

    def show(self, progress: listener.Progress) -> None:
        """Where the campaign stands."""
        now = time.monotonic()
        if now - self.shown < (1.0 if self.bar is not None else self.plain_every_s):
            return
        self.shown = now
        turn = "calibration" if progress.block == 0 else f"block {progress.block}/{progress.blocks}"
        left = "" if progress.left_s is None else f"{_clock(progress.left_s)} left"
        cell = progress.in_flight or ""
        if self.bar is None:
            parts = [
                f"{progress.arm} {turn}",
                f"{progress.done}/{progress.cells} cells",
                left,
                cell,
            ]
            self.say("  " + " · ".join(part for part in parts if part))
            return
        self.bar.update(
            self.task,
            description=f"{progress.arm} {turn}",
            completed=progress.done,
            total=progress.cells,
            rest=" · ".join(part for part in (left, cell) if part),
        )
        self.bar.refresh()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
