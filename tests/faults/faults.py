"""What can happen to a campaign from outside, and what its command may end with.

A fault happens at a random moment after the plan is written, or is there from the start.
"""

from __future__ import annotations

import signal
from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path

from tests.fakes.paced_worker import PacedWorker
from tests.faults import acts, engine_acts
from tests.faults.acts import Act
from tests.faults.places import Docker
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


@dataclass(frozen=True)
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
    during: Act | None = None
    statuses: Collection[int] = DONE
    _: KW_ONLY
    before: Act | None = None
    after: Act | None = None
    resumed: Collection[int] = DONE
    cells: int = 1
    engines: Collection[str] = BOTH
    leaves: bool = False
    needs: str | None = None


# Something happens to the command.
_command = partial(Fault, statuses=ENDED)
# A disk that has room at first.
_disk = partial(
    Fault, statuses=FAILED, before=acts.mount_small, after=acts.make_room, needs="mount"
)
# The C library does otherwise.
_interposed = partial(Fault, before=acts.interpose, needs="gcc")
# Something becomes of the finished campaign's folder.
_document = partial(Fault, resumed=(0, 5))
# Something happens to the worker or its container, or it does something.
_worker = partial(Fault, statuses=FAILED, resumed=FAILED)
_container = partial(_worker, engines=DOCKER)
# Something happens to the engine or on the way to it; with the second one a cell can fail of it.
_engine = partial(Fault, engines=DOCKER)
_broken = partial(_engine, statuses=FAILED, resumed=FAILED)


def _undo(trial: Trial) -> None:
    """Ends what the fault began."""
    trial.undo.close()


_KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)

FAULTS = (
    _command("SIGINT", acts.send(signal.SIGINT)),
    _command("SIGINT, twice", acts.send_twice),
    _command("Ctrl-C in a terminal: all of its group get it", acts.send_all),
    _command("SIGTERM", acts.send(signal.SIGTERM)),
    _command("SIGHUP", acts.send(signal.SIGHUP)),
    Fault("SIGKILL", acts.send(signal.SIGKILL), KILLED, leaves=True),
    Fault("stopped and continued", acts.pause(lambda trial: [trial.pid])),
    Fault("SIGHUP under nohup", acts.send(signal.SIGHUP), before=acts.begin_with("trap '' HUP")),
    Fault("power lost: all killed", acts.kill_all, KILLED, engines=("local",), leaves=True),
    _engine(
        "power lost: all killed, the engine too",
        engine_acts.end_engine(signal.SIGKILL, lose_all=True),
        KILLED,
        leaves=True,
    ),
    # Stopped, and continued an hour later by the clock.
    _interposed(
        "machine suspended for an hour",
        acts.pause(engine_acts.list_all, 0.5, 3, meanwhile=acts.write_fault("3600 0")),
    ),
    *(_worker(f"worker: {number.name}", acts.send_worker(number)) for number in _KILLS),
    _worker("worker: a fork bomb", acts.make_worker(PacedWorker.fork)),
    _worker("worker: floods standard output", acts.make_worker(PacedWorker.flood)),
    _worker("worker: floods standard output with lines", acts.make_worker(PacedWorker.flood_lines)),
    Fault("worker: floods standard error", acts.make_worker(PacedWorker.complain)),
    Fault("worker: records split at every byte", acts.make_worker(PacedWorker.split)),
    Fault("worker: stopped and continued", acts.pause(Trial.await_workers)),
    _disk("disk full", acts.fill),
    _disk("no inode left", acts.use_up_inodes),
    # A signal comes with it, which is ignored, as a shell can; 39 blocks of 512 bytes.
    Fault("no file over 20 KB", None, (1, 2), before=acts.begin_with("trap '' XFSZ; ulimit -f 39")),
    *(
        # In the end nothing can be kept or removed any more, while a container goes on.
        Fault(
            "24 open files",
            statuses=GONE,
            before=acts.begin_with("ulimit -n 24"),
            engines=(engine,),
            cells=cells,
            leaves=engine == "docker",
        )
        for engine, cells in (("local", 1), ("docker", 15))
    ),
    Fault("standard output full", before=acts.open_full("stdout")),
    Fault("standard error full", before=acts.open_full("stderr")),
    Fault("both streams full", before=acts.open_full("stdout", "stderr")),
    Fault("standard output closed", before=acts.begin_with("exec >&-")),
    Fault("all streams closed", before=acts.begin_with("exec <&- >&- 2>&-")),
    Fault("nobody reads what it says", before=acts.leave_unread),
    Fault("another time zone and language", before=acts.move_elsewhere),
    _interposed("clock an hour forward", acts.write_fault("3600")),
    _interposed("clock a year back", acts.write_fault("-31536000")),
    _interposed("one rename fails", acts.write_fault("0 1"), FAILED),
    _interposed("one process or thread can't be started", acts.write_fault("0 0 1"), GONE),
    _interposed("no process or thread can be started", acts.write_fault("0 0 1000000"), GONE),
    _document("a document of 0 bytes", after=acts.damage(lambda path: path.write_bytes(b""))),
    _document(
        "a document cut in two",
        after=acts.damage(lambda path: path.write_bytes(path.read_bytes()[:200])),
    ),
    _document("a document with a flipped byte", after=acts.damage(acts.flip)),
    _document("a document of 200 MB, sparse", after=acts.damage(acts.stretch)),
    _document("a document that is gone", after=acts.damage(Path.unlink)),
    _document("a document that is a link out", after=acts.damage(acts.link_out)),
    _container(
        "container: docker rm -f",
        engine_acts.each_container(
            lambda engine, one: engine.api.remove_container(one, force=True)
        ),
    ),
    _container(
        "container: docker kill",
        engine_acts.each_container(lambda engine, one: engine.api.kill(one)),
    ),
    _container(
        "container: docker stop",
        engine_acts.each_container(lambda engine, one: engine.api.stop(one, timeout=2)),
    ),
    _engine(
        "container: docker pause and unpause",
        engine_acts.each_container(engine_acts.pause_container),
    ),
    _container("container: out of memory", engine_acts.starve),
    _broken("engine: ended and started again", engine_acts.end_engine(signal.SIGTERM)),
    _broken("engine: killed and started again", engine_acts.end_engine(signal.SIGKILL)),
    _engine("engine: hangs for seconds", acts.pause(engine_acts.list_engine, 1, 8)),
    _broken(
        "engine: hangs for half a minute",
        acts.pause(engine_acts.list_engine, 15, 30),
        statuses=GONE,
    ),
    _engine(
        "engine: hangs, and then Ctrl-C",
        engine_acts.leave_stopped,
        ENDED,
        after=_undo,
        leaves=True,
    ),
    # A container that has just been started is heard by nobody then, and goes on.
    _engine("engine: its socket vanishes and comes back", engine_acts.hide_for_a_while, cells=15),
    _broken(
        "engine: its socket vanishes",
        engine_acts.hide_socket,
        statuses=GONE,
        after=_undo,
        leaves=True,
        cells=15,
    ),
    _broken(
        "engine: its connections are cut",
        engine_acts.cut,
        before=engine_acts.through(engine_acts.hand_on),
    ),
    _engine("engine: answers late, in any order", before=engine_acts.through(engine_acts.delay)),
    _engine("engine: answers byte by byte", before=engine_acts.through(engine_acts.split)),
    *(
        _engine(
            f"engine: speaks version {version} of its interface",
            statuses=(3,),
            before=engine_acts.through(engine_acts.claim_version(version)),
        )
        for version in ("1.20", "1.99")
    ),
    _broken(
        "engine: the image is removed",
        engine_acts.insist(lambda engine: engine.api.remove_image(engine.image, force=True)),
        statuses=GONE,
        after=engine_acts.restore_image,
    ),
    _engine("engine: the volumes are removed", engine_acts.insist(Docker.remove_volumes)),
)
"""Everything that is tried."""
