"""A profiler's trace of a few untimed calls: an independent measurement of what the GPU did meanwhile.

Only taken where K is found, after a cell's samples, since tracing slows what it watches.  At its end
TensorFlow detaches CUPTI from the process (``cuptiFinalize``).  The one file that knows the profiler and its
format.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

CALLS = 20
"""The most calls in a trace …"""

LONG_S = 0.1
"""… of which so many seconds are enough."""

TOO_LONG_S = 5.0
"""A call that takes longer is not traced: its trace would be larger than it is worth."""


class NoTrace(Exception):
    """There is no trace; the text says why."""


def trace(
    step: Callable[[], object], fence: Callable[[], object], call_s: float
) -> dict[str, float]:
    """Traces a few calls of a step and says what the GPU did in them.

    Args:
        step: one call.
        fence: waits for the device.
        call_s: about how long a call takes, in seconds.

    Returns:
        see `summarise`; ``calls`` beside it.

    Raises:
        NoTrace: the call takes too long, the profiler refused, or it saw no GPU.
    """
    import tensorflow as tf

    if call_s > TOO_LONG_S:
        raise NoTrace(f"a call takes over {TOO_LONG_S:g} s")
    calls = max(1, min(CALLS, int(LONG_S / call_s)))
    profiler = tf.profiler.experimental
    with tempfile.TemporaryDirectory(prefix="trace-", ignore_cleanup_errors=True) as folder:
        fence()
        # No Python and no host events: they cost most, and only the device's are read.
        options = profiler.ProfilerOptions(
            host_tracer_level=0, python_tracer_level=0, device_tracer_level=1
        )
        refusals = (tf.errors.OpError, RuntimeError, OSError)
        try:
            profiler.start(folder, options=options)
        except refusals as error:
            raise NoTrace(f"the profiler did not start: {error}") from error
        try:
            began = time.perf_counter_ns()
            for _ in range(calls):
                step()
            fence()
            wall_s = (time.perf_counter_ns() - began) / 1e9
        except BaseException:
            # The step's own trouble is the one to tell about.
            with suppress(*refusals):
                profiler.stop(save=False)
            raise
        try:
            profiler.stop()
        except refusals as error:
            raise NoTrace(f"the profiler did not stop: {error}") from error
        return summarise(_load(Path(folder)), wall_s, calls)


def _load(folder: Path) -> Any:
    """The newest trace under a folder, in the profiler's own words.

    Raises:
        NoTrace: there is none, or it can't be read.
    """
    try:
        from google.protobuf.message import DecodeError
        from tensorflow.tsl.profiler.protobuf import xplane_pb2
    except ImportError as error:
        raise NoTrace(f"this TensorFlow can't read its own traces: {error}") from error
    files = sorted(folder.rglob("*.xplane.pb"))
    if not files:
        raise NoTrace("the profiler wrote no trace")
    space = xplane_pb2.XSpace()
    try:
        space.ParseFromString(files[-1].read_bytes())
    except (OSError, DecodeError) as error:
        raise NoTrace(f"the trace can't be read: {error}") from error
    return space


def summarise(space: Any, wall_s: float, calls: int) -> dict[str, float]:
    """What the first GPU of a trace did.

    Args:
        space: an ``XSpace``: planes of lines of events, in nanoseconds and picoseconds.
        wall_s: how long the traced calls took, in seconds.
        calls: how many they were.

    Returns:
        ``calls``; ``call_s``, the traced seconds a call; ``busy_share`` of the time in which at
        least one stream of the GPU had work; ``copy_share`` of it in which one copied;
        ``kernels`` and ``copies`` a call; ``longest_gap_s``, the longest time without work between
        the first event and the last.

    Raises:
        NoTrace: no GPU's plane is in it, or nothing in that.
    """
    plane = next((each for each in space.planes if each.name.startswith("/device:GPU:")), None)
    if plane is None:
        raise NoTrace("the trace holds no GPU")
    work: list[tuple[int, int]] = []
    copied: list[tuple[int, int]] = []
    kernels = copies = 0
    for line in plane.lines:
        # Other lines of the plane (steps, modules, names) are derived from the streams'.
        if not line.name.startswith("Stream"):
            continue
        for event in line.events:
            begin = line.timestamp_ns * 1000 + event.offset_ps
            span = (begin, begin + event.duration_ps)
            work.append(span)
            if plane.event_metadata[event.metadata_id].name.lower().startswith("memcpy"):
                copies += 1
                copied.append(span)
            else:
                kernels += 1
    if not work:
        raise NoTrace("the trace holds no work of the GPU")
    merged = _merge(work)
    gaps = [after[0] - before[1] for before, after in pairwise(merged)]
    return {
        "calls": float(calls),
        "call_s": wall_s / calls,
        "busy_share": min(1.0, _length(merged) / 1e12 / wall_s),
        "copy_share": min(1.0, _length(_merge(copied)) / 1e12 / wall_s),
        "kernels": kernels / calls,
        "copies": copies / calls,
        "longest_gap_s": max(gaps, default=0) / 1e12,
    }


def _merge(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of spans, as spans that do not touch, ascending."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def _length(spans: Iterable[tuple[int, int]]) -> int:
    return sum(end - begin for begin, end in spans)
