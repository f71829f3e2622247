"""What is said to people: a campaign's progress on standard error, and what becomes of streams that can't
be written."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from typing import IO, Any, cast

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from suite.model import Document
from suite.report.render.plain import show_plainly


class _Unread:
    """A stream that nobody need read: a full disk or a closed pipe behind it ends no campaign."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes what can be written."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes what can be flushed."""
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_closed_streams() -> None:
    """Puts something in the place of standard streams that were closed before we began.

    Else the next file that is opened would get their number, and what others print there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Read-only: who writes there is told, as with every other stream that can't be written.
            handle = os.open(os.devnull, os.O_RDONLY)
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8"))


def tell(write: Callable[[IO[str]], object]) -> None:
    """Lets something be written for a person: on standard error, or where that fails on the other."""
    for stream in (sys.stderr, sys.stdout):
        with contextlib.suppress(OSError):
            write(stream)
            stream.flush()
            return


def complain(what: str, remedy: str = "") -> None:
    """Tells what went wrong, and what to do next.

    Both may quote a document or an engine: on a terminal that is shown, and never obeyed.
    """
    lines = "crossover: " + _show(what) + (f"\n  what to do: {_show(remedy)}" if remedy else "")
    tell(lambda stream: click.echo(lines, file=stream))


def _show(text: str) -> str:
    return "\n".join(show_plainly(line, limit=4000) for line in text.splitlines())


def hush() -> None:
    """Gives up the streams that can't be written, so that what is left in them is no error at the end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # noqa: PERF203  there are two
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def answer_kept(text: str, where: str) -> None:
    """Writes on standard output what lies in a folder as well: not to be read here is not a failure."""
    try:
        click.echo(text)
    except OSError as error:
        hush()
        if not isinstance(error, BrokenPipeError):
            complain(
                f"standard output can't be written: {error.strerror}; everything is in {where}"
            )


class Terminal:
    """Shows a campaign's progress on standard error: a bar on a terminal, plain lines elsewhere.

    Never more often than once a second, and only between cells: it must not disturb a measurement.
    """

    def __init__(self) -> None:
        self.console = Console(file=cast("IO[str]", _Unread(sys.stderr)), highlight=False)
        self.shown = 0.0
        self.heard: Callable[[float | None], object] = lambda _: None
        """Told how many seconds are left; None: not known yet."""
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

    def show(
        self, document: Document, in_flight: str | None, blocks: int, left_s: float | None
    ) -> None:
        """Where the campaign stands, as `Listener.show` has it."""
        self.heard(left_s)
        now = time.monotonic()
        if now - self.shown < (1.0 if self.bar is not None else 15.0):
            return
        self.shown = now
        of, total = document.invocation, len(document.cells)
        done = sum(cell.outcome != "pending" for cell in document.cells)
        what = f"{of.arm} " + (f"block {of.block}/{blocks}" if of.block else "before block 1")
        left = "" if left_s is None else "{}:{:02d} left".format(*divmod(round(left_s), 60))
        rest = " · ".join(filter(None, (left, in_flight)))
        if self.bar is None:
            self.say("  " + " · ".join(filter(None, (what, f"{done}/{total} cells", rest))))
            return
        self.bar.update(
            self.task,
            description=what,
            completed=done,
            total=total,
            rest=rest,
            refresh=True,
        )
