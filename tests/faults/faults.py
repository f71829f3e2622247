"""What can happen to a campaign from outside, and what its command may end with.

A fault happens at a random moment after the plan is written, or is there from the start.
"""

from __future__ import annotations

import signal
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.paced_worker import PacedWorker
from tests.faults import acts, engine_acts
from tests.faults.acts import Act
from tests.faults.trials import Trial

DONE = frozenset({0})
ENDED = frozenset({0, 130})
"""Interrupted, unless it came when all was done."""
KILLED = frozenset({0, -9})
FAILED = frozenset({0, 1})
"""The cell in flight has failed, and an invocation that is complete is kept."""
GONE = frozenset({0, 1, 3})
"""Or what the campaign needs did not come back."""

BOTH = ("local", "docker")
DOCKER = ("docker",)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """``before`` is done to the command before it starts, ``during`` at a random moment, ``after``
    between its end and `RESUME`.

    ``statuses`` are what the command may end with, ``resumed`` what `RESUME` may; where nothing but 0
    may be, the campaign comes to all that it comes to undisturbed.  ``cells`` are as many as may be lost:
    those that the worker told of, and no document has.  ``engines`` are those that it is tried on.
    ``leaves``: what runs can't be removed, and `RESUME` does.  ``needs`` is a program without which it
    can't be tried.
    """

    name: str
    statuses: Collection[int]
    before: Act | None = None
    during: Act | None = None
    after: Act | None = None
    resumed: Collection[int] = DONE
    cells: int = 1
    engines: Collection[str] = BOTH
    leaves: bool = False
    needs: str | None = None


def _command(name: str, during: Act, statuses: Collection[int] = ENDED) -> Fault:
    """Something happens to the command."""
    return Fault(name=name, statuses=statuses, during=during, leaves=-signal.SIGKILL in statuses)


def _surroundings(name: str, before: Act, statuses: Collection[int] = DONE) -> Fault:
    """Something is wrong from the start."""
    return Fault(name=name, statuses=statuses, before=before)


def _disk(name: str, during: Act) -> Fault:
    """A disk that has room at first."""
    return Fault(
        name=name,
        statuses=FAILED,
        before=acts.mount_small,
        during=during,
        after=acts.make_room,
        needs="mount",
    )


def _interposed(name: str, during: Act, statuses: Collection[int] = DONE) -> Fault:
    """The C library does otherwise."""
    return Fault(name=name, statuses=statuses, before=acts.interpose, during=during, needs="gcc")


def _document(what: str, how: Act) -> Fault:
    """Something becomes of the finished campaign's folder."""
    return Fault(name=f"a document {what}", statuses=DONE, after=how, resumed=(0, 5))


def _worker(name: str, during: Act, engines: Collection[str] = BOTH) -> Fault:
    """Something happens to the worker, or it does something."""
    return Fault(
        name=f"worker: {name}", statuses=FAILED, during=during, resumed=FAILED, engines=engines
    )


def _container(name: str, during: Act, statuses: Collection[int] = FAILED) -> Fault:
    """Something happens to the container."""
    return Fault(
        name=f"container: {name}",
        statuses=statuses,
        during=during,
        resumed=statuses,
        engines=DOCKER,
    )


def _engine(
    name: str,
    during: Act | None = None,
    statuses: Collection[int] = DONE,
    *,
    before: Act | None = None,
    after: Act | None = None,
    leaves: bool = False,
    cells: int = 1,
) -> Fault:
    """Something happens to the engine, or on the way to it."""
    return Fault(
        name=f"engine: {name}",
        statuses=statuses,
        before=before,
        during=during,
        after=after,
        resumed=FAILED if 1 in statuses else DONE,
        engines=DOCKER,
        leaves=leaves,
        cells=cells,
    )


_KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)

FAULTS = (
    _command("SIGINT", acts.send(signal.SIGINT)),
    _command("SIGINT, twice", acts.send_twice),
    _command("Ctrl-C in a terminal: all of its group get it", acts.send_all),
    _command("SIGTERM", acts.send(signal.SIGTERM)),
    _command("SIGHUP", acts.send(signal.SIGHUP)),
    _command("SIGKILL", acts.send(signal.SIGKILL), KILLED),
    _command("stopped and continued", acts.pause(lambda trial: [trial.pid]), DONE),
    Fault(
        name="SIGHUP under nohup",
        statuses=DONE,
        before=acts.begin_with("trap '' HUP"),
        during=acts.send(signal.SIGHUP),
    ),
    Fault(
        name="power lost: all killed",
        statuses=KILLED,
        during=acts.kill_all,
        engines=("local",),
        leaves=True,
    ),
    Fault(
        name="power lost: all killed, the engine too",
        statuses=KILLED,
        during=engine_acts.end_engine(signal.SIGKILL, lose_all=True),
        engines=DOCKER,
        leaves=True,
    ),
    _interposed("machine suspended for an hour", engine_acts.suspend),
    *(_worker(number.name, acts.send_worker(number)) for number in _KILLS),
    _worker("a fork bomb", acts.make_worker(PacedWorker.fork)),
    _worker("floods standard output", acts.make_worker(PacedWorker.flood)),
    _worker("floods standard output with lines", acts.make_worker(PacedWorker.flood_lines)),
    Fault(
        name="worker: floods standard error",
        statuses=DONE,
        during=acts.make_worker(PacedWorker.complain),
    ),
    Fault(
        name="worker: records split at every byte",
        statuses=DONE,
        during=acts.make_worker(PacedWorker.split),
    ),
    Fault(
        name="worker: stopped and continued",
        statuses=DONE,
        during=acts.pause(Trial.await_workers),
    ),
    _disk("disk full", acts.fill),
    _disk("no inode left", acts.use_up_inodes),
    # A signal comes with it, which is ignored, as a shell can; 39 blocks of 512 bytes.
    _surroundings("no file over 20 KB", acts.begin_with("trap '' XFSZ; ulimit -f 39"), (1, 2)),
    *(
        # In the end nothing can be kept or removed any more, while a container goes on.
        Fault(
            name="24 open files",
            statuses=GONE,
            before=acts.begin_with("ulimit -n 24"),
            engines=(engine,),
            cells=cells,
            leaves=engine == "docker",
        )
        for engine, cells in (("local", 1), ("docker", 15))
    ),
    _surroundings("standard output full", acts.open_full("stdout")),
    _surroundings("standard error full", acts.open_full("stderr")),
    _surroundings("both streams full", acts.open_full("stdout", "stderr")),
    _surroundings("standard output closed", acts.begin_with("exec >&-")),
    _surroundings("all streams closed", acts.begin_with("exec <&- >&- 2>&-")),
    _surroundings("nobody reads what it says", acts.leave_unread),
    _surroundings("another time zone and language", acts.move_elsewhere),
    _interposed("clock an hour forward", acts.write_fault("3600")),
    _interposed("clock a year back", acts.write_fault("-31536000")),
    _interposed("one rename fails", acts.write_fault("0 1"), FAILED),
    _interposed("one process or thread can't be started", acts.write_fault("0 0 1"), GONE),
    _interposed("no process or thread can be started", acts.write_fault("0 0 1000000"), GONE),
    _document("of 0 bytes", acts.damage(lambda path: path.write_bytes(b""))),
    _document("cut in two", acts.damage(lambda path: path.write_bytes(path.read_bytes()[:200]))),
    _document("with a flipped byte", acts.damage(acts.flip)),
    _document("of 200 MB, sparse", acts.damage(acts.stretch)),
    _document("that is gone", acts.damage(Path.unlink)),
    _document("that is a link out", acts.damage(acts.link_out)),
    _container(
        "docker rm -f",
        engine_acts.each_container(
            lambda engine, one: engine.api.remove_container(one, force=True)
        ),
    ),
    _container("docker kill", engine_acts.each_container(lambda engine, one: engine.api.kill(one))),
    _container(
        "docker stop",
        engine_acts.each_container(lambda engine, one: engine.api.stop(one, timeout=2)),
    ),
    _container(
        "docker pause and unpause", engine_acts.each_container(engine_acts.pause_container), DONE
    ),
    _container("out of memory", engine_acts.starve),
    _engine("ended and started again", engine_acts.end_engine(signal.SIGTERM), FAILED),
    _engine("killed and started again", engine_acts.end_engine(signal.SIGKILL), FAILED),
    _engine("hangs for seconds", acts.pause(engine_acts.list_engine, 1, 8)),
    _engine("hangs for half a minute", acts.pause(engine_acts.list_engine, 15, 30), GONE),
    _engine(
        "hangs, and then Ctrl-C",
        engine_acts.leave_stopped,
        ENDED,
        after=engine_acts.continue_engine,
        leaves=True,
    ),
    # A container that has just been started is heard by nobody then, and goes on.
    _engine("its socket vanishes and comes back", engine_acts.hide_for_a_while, cells=15),
    _engine(
        "its socket vanishes",
        engine_acts.hide_socket,
        GONE,
        after=engine_acts.show_socket,
        leaves=True,
        cells=15,
    ),
    _engine(
        "its connections are cut",
        engine_acts.cut,
        FAILED,
        before=engine_acts.through(engine_acts.hand_on),
    ),
    _engine("answers late, in any order", before=engine_acts.through(engine_acts.delay)),
    _engine("answers byte by byte", before=engine_acts.through(engine_acts.split)),
    *(
        _engine(
            f"speaks version {version} of its interface",
            statuses=(3,),
            before=engine_acts.through(engine_acts.claim_version(version)),
        )
        for version in ("1.20", "1.99")
    ),
    _engine(
        "the image is removed",
        engine_acts.remove_image,
        GONE,
        after=engine_acts.restore_image,
    ),
    _engine("the volumes are removed", engine_acts.remove_volumes),
)
"""Everything that is tried."""
