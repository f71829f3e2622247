"""What happens to the machine while an invocation runs, seen from outside its container.

Starts the sampler's process, tells it which containers are the worker's, and turns its lines into
words.  No trouble of the sampler's is trouble of the campaign's: it becomes a reason.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import IO, Literal, get_args

import msgspec

from suite.clock import Span
from suite.codec import parse_json
from suite.fingerprint import SUITE
from suite.host.engine import Engine, GpuRequest, Running
from suite.model import Arm, Scalar, Telemetry
from suite.model.rules import judge_telemetry
from suite.procfs import write_cpus

GPU_EVERY_S, HOST_EVERY_S = 0.25, 0.5
"""Seconds between two samples: with a GPU, whose clocks move within a cell; and without."""

_BEGIN_S = 5.0
_LOOK_S = 0.02
_END_S = 5.0

Mode = Literal["on", "off", "first"]
"""``first``: the arm that is compared with itself is watched, its other self is not, so that the
difference is what watching costs."""

MODES: tuple[Mode, ...] = get_args(Mode)

UNWATCHED = "left without telemetry, to measure what telemetry costs"


Observe = Callable[[Arm, "GpuRequest | None", tuple[int, ...]], "Sampled | str"]
"""Begins to observe an arm's invocation with this GPU on these CPUs; a text: why not."""


def make_observer(engine: Engine, mode: Mode) -> Observe:
    """How the invocations of this engine are observed."""

    def observe(arm: Arm, gpu: GpuRequest | None, cpus: tuple[int, ...]) -> Sampled | str:
        if mode == "off":
            return "telemetry was switched off (TELEMETRY=off)"
        if mode == "first" and arm.control == "again":
            return UNWATCHED
        if engine.is_here is not True:
            return (
                "the engine is not proven to be on this machine, so that nothing here tells of it"
            )
        return Sampled.begin(gpu, cpus)

    return observe


class Sampled:
    """One invocation under observation by the sampler's process.  Never raises."""

    def __init__(
        self, process: subprocess.Popen[bytes], samples: IO[bytes], trouble: IO[bytes]
    ) -> None:
        assert process.stdin is not None  # noqa: S101 - asked for in begin
        self._process, self._pipe = process, process.stdin
        self._samples, self._trouble = samples, trouble

    @classmethod
    def begin(cls, gpu: GpuRequest | None, cpus: tuple[int, ...]) -> Sampled | str:
        """Starts the process; a text: why it could not be started."""
        with contextlib.ExitStack() as stack:
            try:
                # Without a name, so that nothing is left behind however either process ends.
                samples = stack.enter_context(tempfile.TemporaryFile())
                trouble = stack.enter_context(tempfile.TemporaryFile())
                process = subprocess.Popen(
                    [
                        *(sys.executable, "-m", "suite.host.telemetry.sampler"),
                        *("--every", str(HOST_EVERY_S if gpu is None else GPU_EVERY_S)),
                        *(("--cpus", write_cpus(cpus)) if cpus else ()),
                        *(() if gpu is None else ("--gpu", gpu.visible or gpu.devices[0])),
                    ],
                    stdin=subprocess.PIPE,
                    stdout=samples,
                    stderr=trouble,
                    cwd=SUITE.parent,
                    # Ctrl-C is the campaign's business; this one ends with its pipe.
                    start_new_session=True,
                )
            except OSError as error:
                return f"the sampler could not be started: {error}"
            stack.pop_all()
        begun = cls(process, samples, trouble)
        # Its own start must not be a part of what is measured cold.
        deadline = time.monotonic() + _BEGIN_S
        while time.monotonic() < deadline and process.poll() is None:
            if os.pread(samples.fileno(), 1 << 16, 0).count(b"\n") >= 2:
                break
            time.sleep(_LOOK_S)
        return begun

    def follow(self, running: Running) -> None:
        """This container is the worker's, too."""
        own = running.process_id
        line = f"container {running.id}" if own is None else f"process {own}"
        with contextlib.suppress(OSError):  # it has died, and end() will say so
            self._pipe.write(f"{line}\n".encode())
            self._pipe.flush()

    def end(self, span: Span) -> Telemetry | str:
        """What was seen, by the clock of the invocation, or why there is nothing."""
        with contextlib.suppress(OSError):  # a line that it never read
            self._pipe.close()
        try:
            code: int | None = self._process.wait(timeout=_END_S)
        except subprocess.TimeoutExpired:
            # A driver that hangs; its process can be past killing, so it is not waited for.
            self._process.kill()
            code = None
        telemetry = read_lines(_read(self._samples), span)
        last = next((line for line in reversed(_read(self._trouble)) if line), code)
        if telemetry is not None and code == 0:
            return telemetry
        why = "the sampler hung" if code is None else f"the sampler ended early: {last}"
        if telemetry is None:
            return why
        return replace(telemetry, absent={**telemetry.absent, "sampler": why})


def _read(file: IO[bytes]) -> list[str]:
    """All lines of a file, which is then gone."""
    with file:
        file.seek(0)
        return file.read().decode(errors="replace").split("\n")


class _Line(msgspec.Struct):
    """What the sampler writes: when it began, of ``time.monotonic``, and what it found; then the values of an
    instant."""

    began_s: float | None = None
    facts: dict[str, Scalar] = msgspec.field(default_factory=dict)
    absent: dict[str, str] = msgspec.field(default_factory=dict)
    at_s: float = 0.0
    values: dict[str, float | None] | None = None


def read_lines(lines: Iterable[str], span: Span) -> Telemetry | None:
    """The sampler's lines as words, columns without one value left out; None: not even one sample,
    or none that can be."""
    started: datetime | None = None
    facts: dict[str, Scalar] = {}
    absent: dict[str, str] = {}
    at_s: list[float] = []
    rows: list[dict[str, float | None]] = []
    for text in lines:
        try:
            line = msgspec.convert(parse_json(text), _Line)
            if line.began_s is not None:
                started = span.at(line.began_s)
        except (ValueError, OverflowError):
            continue  # cut off in the middle, or no line of the sampler's
        facts |= line.facts
        absent |= line.absent
        if line.values is not None:
            at_s.append(line.at_s)
            rows.append(line.values)
    if started is None or not rows:
        return None
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    series = {name: values for name, values in columns.items() if set(values) != {None}}
    for name in names:
        if name not in series:
            absent.setdefault(name, "never told")
    telemetry = Telemetry(started=started, facts=facts, at_s=at_s, series=series, absent=absent)
    return None if any(judge_telemetry("$.telemetry", telemetry)) else telemetry
