"""The same done with many folders, by as many processes as there are CPUs."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

from suite.errors import CrossoverError
from suite.host.machine.output import MORE_PROCESSES

Made = TypeVar("Made")


def in_processes(make: Callable[[Path], Made], folders: Sequence[Path]) -> Iterator[Made]:
    """As ``map``: what ``make`` makes of each folder, in their order.

    A process takes about as long to start as a campaign to be analysed, so that each has two at least.

    Raises:
        CrossoverError: the machine has no memory, or no process, for so many at once.
    """
    at_once = min(len(folders) // 2, len(os.sched_getaffinity(0)))
    if at_once <= 1:
        yield from map(make, folders)
        return
    spawn = multiprocessing.get_context("spawn")
    # Ctrl-C reaches all of a terminal's group: the others then go without a word.
    ends = (signal.SIGINT, signal.SIG_DFL)
    pool = ProcessPoolExecutor(at_once, spawn, initializer=signal.signal, initargs=ends)
    try:
        yield from pool.map(make, folders)
    except (BrokenProcessPool, BlockingIOError, RuntimeError) as error:
        raise CrossoverError(
            f"a process that read a campaign ended: {error}",
            f"name fewer campaigns at once, or `taskset -c 0` for one process; {MORE_PROCESSES}",
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
