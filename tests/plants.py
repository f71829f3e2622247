"""What somebody can put in a file's or a folder's place, to be followed, to block or to break."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

Plant = Callable[[Path, Path], None]
"""Puts something at a path; a link leads to the second one."""


def link(path: Path, outside: Path) -> None:
    """A link that leads out."""
    path.symlink_to(outside)


def fifo(path: Path, _: Path) -> None:
    """What blocks whoever opens it."""
    os.mkfifo(path)


def bound_socket(path: Path, _: Path) -> None:
    """What can't be opened."""
    at = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            # Sockets' names are short, and pytest's folders are not.
            bound.bind(f"/proc/self/fd/{at}/{path.name}")
    finally:
        os.close(at)


PLANTS: tuple[Plant, ...] = (link, fifo, bound_socket)
