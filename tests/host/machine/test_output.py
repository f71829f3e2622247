"""Lines out of pieces of bytes, waited for without spinning; and how a process ended, in words."""

from __future__ import annotations

import itertools
import threading

import pytest

from suite.errors import EngineError
from suite.host.machine.output import LONGEST_BYTES, LineQueue, describe_ending, split_lines


def test_lines_come_whole_from_pieces_of_any_size() -> None:
    assert list(split_lines([b"a", b"b\nc\n\n", b"\xffd"])) == ["ab", "c", "", "�d"]
    assert list(split_lines([])) == []


def test_a_line_without_end_comes_in_pieces() -> None:
    endless = itertools.repeat(bytes(2**20))
    first = next(split_lines(endless))
    assert LONGEST_BYTES < len(first) <= LONGEST_BYTES + 2**20
    assert list(split_lines([b"x" * (LONGEST_BYTES + 1), b"y\nz"]))[1:] == ["y", "z"]


def test_waiting_for_a_line_ends_in_time_and_the_end_stays_the_end() -> None:
    lines = LineQueue([b"one\ntw", b"o"])
    assert [lines.next_line(5) for _ in range(4)] == ["one", "two", None, None]
    assert lines.join(5)
    assert lines.ended is not None


def test_a_thread_that_cannot_be_started_is_an_engines_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(EngineError, match="can't start new thread"):
        LineQueue([])


@pytest.mark.parametrize(
    ("code", "oom", "phrase"),
    [
        (0, False, "exit code 0"),
        (3, False, "exit code 3"),
        (125, False, "exit code 125: the engine could not run it"),
        (132, False, "killed by SIGILL (an instruction that this CPU lacks"),
        (137, False, "killed by SIGKILL"),
        (137, True, "out of memory (limit 2.00 GiB)"),
        (139, False, "killed by SIGSEGV (a crash in native code)"),
        (227, False, "killed by signal 99"),
        (None, False, "could not be killed"),
    ],
)
def test_an_ending_is_put_into_words(code: int | None, oom: bool, phrase: str) -> None:
    said = describe_ending(code, out_of_memory=oom, memory_bytes=2 * 2**30)
    assert said.startswith(phrase)
