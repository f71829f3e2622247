"""What an exit code means, in a phrase for people.  Pure; both engines use it."""

from __future__ import annotations

import signal

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


def _phrase_signal(number: int) -> str:
    """``killed by SIGSEGV (a crash in native code)``, or ``killed by signal 99`` where it has no name."""
    meaning = f" ({_MEANINGS[number]})" if number in _MEANINGS else ""
    known = number in set(signal.Signals)
    return f"killed by {signal.Signals(number).name if known else f'signal {number}'}{meaning}"


def phrase_ending(code: int | None, *, out_of_memory: bool, memory_bytes: int | None) -> str:
    """How a run ended, from its exit code as shells and engines give it (128 + n: signal n).

    ``memory_bytes`` is the limit that it ran under, to be named when memory was the cause.
    """
    if out_of_memory:
        limit = f" (limit {memory_bytes / 2**30:.2f} GiB)" if memory_bytes else ""
        return f"out of memory{limit}"
    if code is None:
        return "could not be killed"
    if code > 128:
        return _phrase_signal(code - 128)
    return _ENGINE_CODES.get(code, f"exit code {code}")
