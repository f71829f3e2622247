"""The worker's command ``why``: each run of the script in a process of its own, one after the other.

A run is a fork of this process, which has imported TensorFlow and started no device: with a GPU, too, each
run starts the driver by itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import selectors
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from suite import codec
from suite.cells.cell import Work
from suite.clock import now
from suite.model import CellResult, Check, Scalar
from suite.model.why import SCENARIO, RunNotes
from suite.worker.proof import facts
from suite.worker.session import startup
from suite.worker.session.preflight import Unfit
from suite.worker.why import failure, names, same
from suite.worker.why.run import Place, ScriptRun, Task

Send = Callable[..., None]

KEPT_BYTES = 256 * 1024
"""Of what a script prints, so much of its beginning is kept, and as much of its end."""

MEASURED = ("samples_s", "calls_per_sample", "first_call_s", "evidence")
"""Fields of a cell that the run itself tells."""

FACTS_S = 120.0
"""So long TensorFlow may take to start its devices."""

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""

_POLL_S = 0.05

REST_S = 2.0
"""So long what an ended process has written is read, whoever goes on writing."""


def serve(send: Send, place: Place, tasks: Sequence[Task], looked: Mapping[str, Scalar]) -> None:
    """Makes the runs in their order, and sends what came of each.

    ``looked`` are the facts of what had to be opened before TensorFlow starts.

    Raises:
        Refused: this container can't be the arm.
        Unfit: its Keras has not what runs are watched and changed through.
    """
    # What a script leaves running becomes this process's own, and is ended with its run.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    began = time.perf_counter_ns()
    if not place.gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    import tensorflow as tf

    _ = tf.keras.Model
    if not names.is_known("fit"):
        raise Unfit(
            f"scripts are asked about in Keras 3, and this is Keras {facts.keras_version()}, whose training "
            "is otherwise inside"
        )
    told = {**looked, **_ask_facts(place)}
    send("facts", facts=told, seconds=(time.perf_counter_ns() - began) / 1e9)
    for task in tasks:
        send("cell_started", id=task.id)
        started, began = now(), time.perf_counter_ns()
        with tempfile.TemporaryDirectory(prefix="why-", ignore_cleanup_errors=True) as folder:
            execute = partial(_execute, place, task, Path(folder))
            result, out, err, end = _listen(execute, task.limit_s)
        spent_s = (time.perf_counter_ns() - began) / 1e9
        notes = RunNotes(
            printed=same.find_numbers(out),
            watched=result.get("watched"),
            error=result.get("error"),
            output="" if "seconds" in result else (out + err)[-2000:],
        )
        told[f"notes.{task.id}"] = json.dumps(codec.plain(notes), ensure_ascii=True)
        send("facts", facts=told, seconds=0.0)
        cell = _describe(task, result, end, spent_s)
        send("cell", cell=replace(cell, started=started, ended=now()))


def _describe(task: Task, result: Mapping[str, Any], end: str, spent_s: float) -> CellResult:
    """What came of a run, as its cell's outcome."""
    case, _, number = task.id.removeprefix(f"{SCENARIO}.").partition("/run=")
    cell = CellResult(
        id=task.id,
        scenario=SCENARIO,
        case=case,
        params={"run": int(number)},
        outcome="failed",
        reason=result.get("reason") or end,
        work=Work(amount=1, unit="step"),
    )
    if result.get("reason") or "evidence" not in result:
        return cell
    spent = {
        "setup": result["evidence"]["setup_s"],
        "first_call": result["first_call_s"],
        "measure": result["samples_s"][0] * result["calls_per_sample"],
    }
    return replace(
        cell,
        outcome="measured",
        reason=None,
        warmup_status="window",
        check=Check(what="norms of all trainable variables after 3, 10 and 20 steps"),
        spent_s={**spent, "warmup": max(0.0, spent_s - math.fsum(spent.values()))},
        absent={
            "enqueue_fraction": "the script's own steps are not taken apart",
            "peak_memory_bytes": "not looked at",
        },
        **{name: result[name] for name in MEASURED},
    )


def _execute(place: Place, task: Task, folder: Path, tell: Tell) -> NoReturn:
    ScriptRun(place, task, folder, tell).execute()


def _ask_facts(place: Place) -> dict[str, Scalar]:
    """The facts of an arm, from a process of their own: asking for them starts TensorFlow's devices."""

    def tell_facts(tell: Tell) -> None:
        import tensorflow as tf

        if place.gpu:
            try:
                startup.demand_gpu(tf)
            except startup.Refused as refused:
                return tell({"refused": str(refused)})
        return tell({"facts": {**facts.machine_facts(), **facts.tensorflow_facts()}})

    result, _, err, end = _listen(tell_facts, FACTS_S)
    if "refused" in result:
        raise startup.Refused(result["refused"])
    if "facts" not in result:
        raise RuntimeError(f"TensorFlow does not start: {end}: {err[-500:]}")
    return dict(result["facts"])


# --- One process ---------------------------------------------------------------------------------------

Tell = Callable[[Mapping[str, Any]], None]
"""Sends what a process came to."""


def _listen(
    action: Callable[[Tell], object], limit_s: float
) -> tuple[dict[str, Any], str, str, str]:
    """Runs an action in a process of its own.

    Returns:
        what it told, what it printed on both ways out, and how its process ended.
    """
    pipes = [os.pipe() for _ in range(3)]
    others = _list_children()
    process = os.fork()
    if not process:
        _act(action, [write for _, write in pipes])
    texts, status, end, is_open = [bytearray() for _ in pipes], None, "", True
    deadline = time.monotonic() + limit_s
    with selectors.DefaultSelector() as selector:
        for text, (read, write) in zip(texts, pipes, strict=True):
            os.close(write)
            selector.register(read, selectors.EVENT_READ, text)
        while status is None or (is_open and selector.get_map() and time.monotonic() < deadline):
            ready = selector.select(_POLL_S)
            is_open = bool(ready)
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                key.data.extend(data)
                del key.data[KEPT_BYTES:-KEPT_BYTES]
                if not data:
                    selector.unregister(key.fd)
            if status is None:
                ended, code = os.waitpid(process, os.WNOHANG)
                if ended:
                    # What it wrote last is still to be read.
                    status, is_open = code, True
                    deadline = time.monotonic() + REST_S
                    _end_left(process, others)
                elif time.monotonic() > deadline:
                    end = f"it was ended after {limit_s:.0f} s"
                    os.killpg(process, signal.SIGKILL)
    for read, _ in pipes:
        os.close(read)
    out, err, told = (text.decode(errors="replace") for text in texts)
    result: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        result = json.loads(told)
    return result, out, err, end or failure.describe_end(os.waitstatus_to_exitcode(status))


def _act(action: Callable[[Tell], object], ends: Sequence[int]) -> NoReturn:
    """What a forked process does: the first of its session, with nothing of its parent's open."""
    try:
        os.setsid()
        for number, fd in enumerate((os.open(os.devnull, os.O_RDONLY), *ends)):
            os.dup2(fd, number, inheritable=number < 3)
        # Not the worker's own way out, either.
        os.closerange(4, 4096)

        def tell(result: Mapping[str, Any]) -> None:
            with open(3, "wb", closefd=False) as file:
                file.write(json.dumps(codec.plain(dict(result))).encode())

        action(tell)
        os._exit(0)
    except BaseException:  # noqa: BLE001  nothing of the parent's may go on here
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def _end_left(process: int, others: set[int]) -> None:
    """Ends what a run has left: its session's processes, and all that became this process's children, but
    for the ``others`` that it had before."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)
    for _ in range(100):
        left = _list_children() - others
        for child in left:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        if not left:
            return


def _list_children() -> set[int]:
    """This process's children, as far as the kernel lists them."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(map(int, children.read_text().split())) if children.exists() else set()
