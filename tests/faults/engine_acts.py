"""What is done to a docker engine, to what stands in it, and to the way to it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from docker.errors import APIError

from tests.fakes.paced_worker import PacedWorker
from tests.fakes.proxy import Proxy
from tests.faults.acts import Act, kill, make_worker
from tests.faults.places import Docker
from tests.faults.trials import Trial

CELL_BYTES = 64 * 10**6
"""What a container may use that is to run out of memory."""

PATIENCE_S = 5.0
"""For so long something is tried that a container may stand against."""


def engine_of(trial: Trial) -> Docker:
    """The engine of a trial in containers."""
    assert isinstance(trial.place, Docker)
    return trial.place


def each_container(what: Callable[[Docker, str], object]) -> Act:
    """Something done to the container that runs, by somebody else's hand."""

    def act(trial: Trial) -> None:
        trial.await_workers()
        engine = engine_of(trial)
        for one in engine.containers():
            with suppress(APIError):  # it has ended by itself
                what(engine, one["Id"])

    return act


def pause_container(engine: Docker, container: str) -> None:
    """Freezes it for a moment."""
    engine.api.pause(container)
    time.sleep(1.5)
    engine.api.unpause(container)


def starve(trial: Trial) -> None:
    """The worker wants more memory than its container may have."""
    each_container(
        lambda engine, one: engine.api.update_container(
            one, mem_limit=CELL_BYTES, memswap_limit=CELL_BYTES
        )
    )(trial)
    make_worker(PacedWorker.eat)(trial)


def end_engine(number: int, *, lose_all: bool = False) -> Act:
    """Ends the engine by a signal, and starts it again; ``lose_all``: with the command and all else."""

    def act(trial: Trial) -> None:
        engine = engine_of(trial)
        also = [trial.pid, *engine.processes()] if lose_all else []
        for pid in (engine.daemon.pid, *also):
            kill(pid, number)
        engine.daemon.wait()
        time.sleep(trial.draw.uniform(0, 5))
        engine.start()

    return act


def leave_stopped(trial: Trial) -> None:
    """Ctrl-C while the engine takes what is sent and does nothing, until it is continued."""
    engine = engine_of(trial)
    kill(engine.daemon.pid, signal.SIGSTOP)
    trial.undo.callback(engine.resume_all)
    time.sleep(trial.draw.uniform(0, 3))
    kill(trial.pid, signal.SIGINT)


def list_engine(trial: Trial) -> list[int]:
    """The engine's own process."""
    return [engine_of(trial).daemon.pid]


def list_all(trial: Trial) -> list[int]:
    """The command's process, and all that there is beside it."""
    others = trial.place.processes() if isinstance(trial.place, Docker) else trial.workers()
    return [trial.pid, *others]


def hide_socket(trial: Trial) -> None:
    """The engine's socket is not where it was."""
    path = Path(engine_of(trial).daemon.url.removeprefix("unix://"))
    hidden = path.with_name("hidden")
    path.rename(hidden)
    trial.undo.callback(lambda: hidden.exists() and hidden.rename(path))


def hide_for_a_while(trial: Trial) -> None:
    """The engine's socket goes and comes back."""
    hide_socket(trial)
    time.sleep(trial.draw.uniform(1, 20))
    trial.undo.close()


Alter = Callable[[Trial, bytes], Iterable[bytes]]
"""What becomes of a piece of an answer in a trial: pieces, between which time may pass."""


def through(alter: Alter) -> Act:
    """A proxy in front of the engine, which alters its answers."""

    def act(trial: Trial) -> None:
        path = trial.folder / "proxy"
        proxy = Proxy(
            path, engine_of(trial).daemon.url.removeprefix("unix://"), partial(alter, trial)
        )
        trial.undo.callback(proxy.vanish)
        trial.variables = {"DOCKER_HOST": f"unix://{path}"}
        trial.proxy = proxy

    return act


def delay(trial: Trial, data: bytes) -> Iterator[bytes]:
    """Each answer comes late, and so those to several connections in any order."""
    time.sleep(trial.draw.uniform(0, 1.5))
    yield data


def split(_trial: Trial, data: bytes) -> Iterator[bytes]:
    """Each answer comes byte by byte."""
    return (data[at : at + 1] for at in range(len(data)))


def claim_version(version: str) -> Alter:
    """The engine says that it speaks another version of the interface."""
    said = f'"ApiVersion":"{version}"'.encode()
    return lambda _trial, data: [data.replace(b'"ApiVersion":"1.41"', said)]


def hand_on(_trial: Trial, data: bytes) -> list[bytes]:
    """Nothing is altered."""
    return [data]


def cut(trial: Trial) -> None:
    """All connections to the engine end."""
    assert trial.proxy is not None
    trial.proxy.cut()


def insist(remove: Callable[[Docker], object]) -> Act:
    """Something of the engine's goes, as soon as no container holds it."""

    def act(trial: Trial) -> None:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and not trial.has_ended():
            with suppress(APIError):  # something holds it
                remove(engine_of(trial))
                return
            time.sleep(0.02)

    return act


def restore_image(trial: Trial) -> None:
    """Ends what `remove_image` began."""
    engine_of(trial).restore_image()
