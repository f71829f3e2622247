"""A worker's output, for both engines: a stream of bytes cut into whole lines by one thread, to be waited for
without spinning; and what its exit code means.
"""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from suite.errors import EngineError

MORE_PROCESSES = "raise the limit on processes and threads: `ulimit -u`, or pids.max of the cgroup"
"""What to do where none can be started."""

LONGEST_BYTES = 32 * 2**20
"""A line: more than the most values that a record may hold need.  One that is longer comes in pieces, which
are not records, so that who floods its output is found out before it has filled the memory."""


def split_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Whole lines, without their newline, of bytes that come in pieces of any size.

    A last line without newline counts.  Bytes that are not UTF-8 are replaced, never fatal: what
    reads the lines says what is wrong with them.
    """
    rest: list[bytes] = []
    size = 0
    for chunk in chunks:
        rest.append(chunk)
        size += len(chunk)
        if (
            b"\n" in chunk or size > LONGEST_BYTES
        ):  # put together once, in however small pieces it comes
            *whole, last = b"".join(rest).split(b"\n")
            if len(last) > LONGEST_BYTES:
                whole, last = [*whole, last], b""
            rest, size = [last], len(last)
            for line in whole:
                yield line.decode(errors="replace")
    if any(rest):
        yield b"".join(rest).decode(errors="replace")


def start_thread(name: str, work: Callable[[], None]) -> threading.Thread:
    """A daemon thread that does this work.

    Raises:
        EngineError: no thread can be started.
    """
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise EngineError(f"the worker's output can't be read: {error}", MORE_PROCESSES) from error
    return thread


class LineQueue:
    """Reads ``chunks`` in a daemon thread until they end and hands the lines over one by one.

    Raises:
        EngineError: no thread can be started.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.ended: float | None = None
        """When the stream ended, of ``time.monotonic``; None while it goes on."""
        self._thread = start_thread("worker output", self._read)

    def _read(self) -> None:
        try:
            for line in split_lines(self._chunks):
                self._lines.put(line)
        finally:
            self.ended = time.monotonic()
            self._lines.put(None)

    def end(self) -> None:
        """Ends it for whoever waits for a line, although the stream goes on."""
        self._lines.put(None)

    def next_line(self, timeout_s: float) -> str | None:
        """The next line, or None for ever once the stream has ended.

        Raises:
            TimeoutError: no line came within ``timeout_s`` seconds.
        """
        try:
            line = self._lines.get(timeout=max(timeout_s, 0.0))
        except queue.Empty:
            raise TimeoutError(f"no line within {timeout_s:g} s") from None
        if line is None:
            self._lines.put(None)
        return line

    def join(self, timeout_s: float) -> bool:
        """Whether the thread has ended, after at most ``timeout_s`` seconds."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()


DIARY_BYTES = 16 * 1024
"""How much of a run's standard error is kept: its end, which holds the reason."""

_MEANINGS: dict[int, str] = {
    signal.SIGILL: "an instruction that this CPU lacks; TensorFlow's wheels need AVX",
    signal.SIGSEGV: "a crash in native code",
    signal.SIGABRT: "a failed check in native code, or no memory left",
    signal.SIGBUS: "shared memory or a mapped file ran out",
}

_ENGINE_CODES: dict[int, str] = {
    125: "exit code 125: the engine could not run it",
    126: "exit code 126: the image's program can't be executed",
    127: "exit code 127: the image's program was not found",
}


def _describe_signal(number: int) -> str:
    """``killed by SIGSEGV (a crash in native code)``, or ``killed by signal 99`` where it has no name."""
    meaning = f" ({_MEANINGS[number]})" if number in _MEANINGS else ""
    known = number in set(signal.Signals)
    return f"killed by {signal.Signals(number).name if known else f'signal {number}'}{meaning}"


def describe_ending(code: int | None, *, out_of_memory: bool, memory_bytes: int | None) -> str:
    """How a run ended, from its exit code as shells and engines give it (128 + n: signal n).

    ``memory_bytes`` is the limit that it ran under, to be named when memory was the cause.
    """
    if out_of_memory:
        limit = f" (limit {memory_bytes / 2**30:.2f} GiB)" if memory_bytes else ""
        return f"out of memory{limit}"
    if code is None:
        return "could not be killed"
    if code > 128:
        return _describe_signal(code - 128)
    return _ENGINE_CODES.get(code, f"exit code {code}")
