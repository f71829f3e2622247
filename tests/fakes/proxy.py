"""A socket in front of an engine's own, that can hang, vanish, and alter what the engine answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

Alter = Callable[[bytes], Iterable[bytes]]
"""What becomes of a piece of an answer: pieces, between which time may pass."""


class Proxy:
    """Listens at ``path`` for the engine whose socket is ``target``."""

    def __init__(self, path: Path, target: str, alter: Alter = lambda data: [data]) -> None:
        self._target = target
        self._alter = alter
        self._hangs = False
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    def _begin(self, what: object, *arguments: object) -> None:
        thread = threading.Thread(target=what, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.socket(socket.AF_UNIX)
                try:
                    far.connect(self._target)
                except OSError:  # the engine is not there just now
                    near.close()
                    continue
                self._sockets += [near, far]
                self._begin(self._pump, near, far, lambda data: [data])
                self._begin(self._pump, far, near, self._alter)

    def _pump(self, source: socket.socket, sink: socket.socket, alter: Alter) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                for piece in alter(data):
                    if not self._hangs:
                        sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)

    def hang(self) -> None:
        """Takes what is sent, and hands nothing on any more."""
        self._hangs = True

    def cut(self) -> None:
        """Ends every connection that there is; new ones are taken."""
        sockets, self._sockets = self._sockets, []
        for each in sockets:
            _close(each)

    def vanish(self) -> None:
        """Ends every connection, and takes no more."""
        _close(self._server)
        self.cut()
        for thread in self._threads:
            thread.join(10)


def _close(plug: socket.socket) -> None:
    with contextlib.suppress(OSError):
        plug.shutdown(socket.SHUT_RDWR)
    plug.close()
