"""How a process ended, in words."""

from __future__ import annotations

import pytest

from suite.host.machine.output import phrase_ending


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
    said = phrase_ending(code, out_of_memory=oom, memory_bytes=2 * 2**30)
    assert said.startswith(phrase)
