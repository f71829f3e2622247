"""The worker's command ``why``: each run of the script in a process of its own, one after the other.

Without a GPU a run is a fork of this process, which has imported TensorFlow and run nothing; with one it is a
new process, since what CUDA's driver makes of a fork is not known.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from suite import codec
from suite.cells.cell import Work
from suite.clock import now
from suite.model import CellResult, Check, Scalar
from suite.model.why import SCENARIO, RunNotes
from suite.worker.why import failure, same
from suite.worker.why.run import Place, ScriptRun, Task

Send = Callable[..., None]

KEPT_BYTES = 256 * 1024
"""Of what a script prints, so much of its beginning is kept, and as much of its end."""

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""

_POLL_S = 0.2


class _Text:
    """The beginning and the end of what came through a pipe."""

    def __init__(self) -> None:
        self.head, self.tail = bytearray(), bytearray()

    def add(self, data: bytes) -> None:
        room = KEPT_BYTES - len(self.head)
        self.head += data[: max(0, room)]
        self.tail = (self.tail + data[max(0, room) :])[-KEPT_BYTES:]

    def __str__(self) -> str:
        return (self.head + self.tail).decode(errors="replace")


def serve(send: Send, place: Place, tasks: Sequence[Task], looked: Mapping[str, Scalar]) -> None:
    """Makes the runs in their order, and sends what came of each.

    ``looked`` are the facts of what had to be opened before TensorFlow starts.
    """
    # What a script leaves running becomes this process's own, and is ended with its run.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    began = time.perf_counter_ns()
    if not place.gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        import tensorflow as tf

        _ = tf.keras.Model
    facts = {**looked, **_ask_facts(place)}
    send("facts", facts=facts, seconds=(time.perf_counter_ns() - began) / 1e9)
    for task in tasks:
        send("cell_started", id=task.id)
        started, began = now(), time.perf_counter_ns()
        result, texts, end = _make_run(place, task)
        spent_s = (time.perf_counter_ns() - began) / 1e9
        notes = RunNotes(
            printed=same.find_numbers(str(texts["out"])),
            watched=result.get("watched"),
            error=result.get("error"),
            output=(str(texts["out"]) + str(texts["err"]))[-2000:] if result.get("reason") else "",
        )
        facts[f"notes.{task.id}"] = json.dumps(codec.plain(notes), ensure_ascii=True)
        send("facts", facts=facts, seconds=0.0)
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
    if result.get("reason") or "seconds" not in result:
        return cell
    evidence = result["evidence"]
    measured_s = result["seconds"] * result["steps"]
    setup_s, first_s = evidence["setup_s"], result["first_call_s"]
    return replace(
        cell,
        outcome="measured",
        reason=None,
        samples_s=[result["seconds"]],
        calls_per_sample=result["steps"],
        first_call_s=first_s,
        warmup_status="window",
        check=Check(what="norms of all trainable variables after 3, 10 and 20 steps"),
        evidence=evidence,
        spent_s={
            "setup": setup_s,
            "first_call": first_s,
            "measure": measured_s,
            "warmup": max(0.0, spent_s - setup_s - first_s - measured_s),
        },
        absent={
            "enqueue_fraction": "the script's own steps are not taken apart",
            "peak_memory_bytes": "not looked at",
        },
    )


# --- One process ---------------------------------------------------------------------------------------


def _make_run(place: Place, task: Task) -> tuple[dict[str, Any], dict[str, _Text], str]:
    """What a run sent, what it printed, and how its process ended."""
    with tempfile.TemporaryDirectory(prefix="why-", ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = folder
        return _listen(lambda fd: _execute(place, task, fd), place, task, task.limit_s)


def _ask_facts(place: Place) -> dict[str, Scalar]:
    """The facts of an arm, from a process of their own: asking for them starts TensorFlow's devices."""
    result, texts, end = _listen(_tell_facts, place, None, 120.0)
    if "refused" in result:
        from suite.worker.session.startup import Refused

        raise Refused(result["refused"])
    if "facts" not in result:
        raise RuntimeError(f"TensorFlow does not start: {end}: {str(texts['err'])[-500:]}")
    return dict(result["facts"])


def _tell_facts(fd: int) -> NoReturn:
    import tensorflow as tf

    from suite.worker.proof import facts
    from suite.worker.session import startup

    told: dict[str, Any] = {}
    if os.environ.get("CUDA_VISIBLE_DEVICES") != "-1":
        try:
            startup.demand_gpu(tf)
        except startup.Refused as refused:
            told["refused"] = str(refused)
    told["facts"] = {**facts.machine_facts(), **facts.tensorflow_facts()}
    _send(fd, told)
    os._exit(0)


def _execute(place: Place, task: Task, fd: int) -> NoReturn:
    ScriptRun(place, task, lambda result: _send(fd, result)).execute()
    os._exit(0)


def _send(fd: int, result: Mapping[str, Any]) -> None:
    data = json.dumps(codec.plain(dict(result))).encode()
    while data:
        data = data[os.write(fd, data) :]


def _listen(
    action: Callable[[int], NoReturn], place: Place, task: Task | None, limit_s: float
) -> tuple[dict[str, Any], dict[str, _Text], str]:
    """Runs an action in a process of its own, which writes its result to the descriptor that it is given."""
    pipes = {name: os.pipe() for name in ("result", "out", "err")}
    process = _start(action, place, task, {name: pipe[1] for name, pipe in pipes.items()})
    texts, deadline = {name: _Text() for name in pipes}, time.monotonic() + limit_s
    with selectors.DefaultSelector() as selector:
        for name, (read, write) in pipes.items():
            os.close(write)
            os.set_blocking(read, False)
            selector.register(read, selectors.EVENT_READ, name)
        status, end = None, ""
        while selector.get_map():
            ready = selector.select(_POLL_S)
            for key, _ in ready:
                with contextlib.suppress(BlockingIOError):
                    data = os.read(key.fd, 65536)
                    texts[key.data].add(data)
                    if not data:
                        selector.unregister(key.fd)
            if status is None:
                status = _look_at(process)
            if status is not None and not ready:
                break
            if status is None and time.monotonic() > deadline:
                end = f"it was ended after {limit_s:.0f} s"
                os.killpg(process, signal.SIGKILL)
        for read, _ in pipes.values():
            os.close(read)
    if status is None:
        status = os.waitpid(process, 0)[1]
    _end_left(process)
    result: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        result = json.loads(str(texts["result"]) or "{}")
    return result, texts, end or failure.describe_end(os.waitstatus_to_exitcode(status))


def _look_at(process: int) -> int | None:
    """The status of a process that has ended; None: it has not."""
    ended, status = os.waitpid(process, os.WNOHANG)
    return status if ended else None


def _start(
    action: Callable[[int], NoReturn], place: Place, task: Task | None, ends: Mapping[str, int]
) -> int:
    """The process, the first of its session."""
    if place.gpu:
        words = [
            json.dumps({**dataclasses.asdict(place), "folder": str(place.folder)}),
            json.dumps(task and dataclasses.asdict(task)),
        ]
        command = "import sys; from suite.worker.why.server import main; main(*sys.argv[1:])"
        return subprocess.Popen(
            [sys.executable, "-c", command, str(ends["result"]), *words],
            stdin=subprocess.DEVNULL,
            stdout=ends["out"],
            stderr=ends["err"],
            pass_fds=[ends["result"]],
            start_new_session=True,
        ).pid
    process = os.fork()
    if process:
        return process
    try:
        os.setsid()
        for number, fd in enumerate((os.open(os.devnull, os.O_RDONLY), ends["out"], ends["err"])):
            os.dup2(fd, number)
        # Not the worker's own way out, either.
        kept = ends["result"]
        os.closerange(3, kept)
        os.closerange(kept + 1, 4096)
        action(kept)
    except BaseException:  # noqa: BLE001  nothing of the parent's may go on here
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def main(fd: str, place: str, task: str) -> None:
    """The process of one run on an arm with a GPU, or of its facts."""
    from suite.worker.proof import libraries

    libraries.open_unfound()
    libraries.lead_with_compilers()
    where = json.loads(place)
    asked = json.loads(task)
    if asked is None:
        _tell_facts(int(fd))
    _execute(Place(**{**where, "folder": Path(where["folder"])}), Task(**asked), int(fd))


def _end_left(process: int) -> None:
    """Ends what a run has left: its session's processes, and all that became this process's children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    for _ in range(100):
        left = children.read_text().split() if children.exists() else []
        if not left:
            return
        for child in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(int(child), 0)
