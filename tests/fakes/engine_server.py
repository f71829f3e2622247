"""A made-up docker engine behind a socket: answers what it is told to, and runs nothing."""

from __future__ import annotations

import json
import os
import re
import socketserver
import tempfile
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from suite.procfs import memory_total

Answer = tuple[int, Any]
"""A status of HTTP, and a body: text as it is, a function's of what was sent, anything else as JSON; the
status 0 hangs up."""

VERSION = {"Version": "29.0.1", "ApiVersion": "1.44", "MinAPIVersion": "1.24", "Arch": "amd64"}


def info_here() -> dict[str, Any]:
    """What an engine on this machine says of itself."""
    return {
        "ServerVersion": "29.0.1",
        "Name": os.uname().nodename,
        "KernelVersion": os.uname().release,
        "NCPU": os.cpu_count(),
        "MemTotal": memory_total(),
        "Architecture": "x86_64",
        "Driver": "overlay2",
        "DockerRootDir": "/",
    }


def missing(what: str) -> Answer:
    """The answer for what is not there."""
    return 404, {"message": f"No such {what}"}


WELL: Mapping[str, Answer] = {
    "GET /version": (200, VERSION),
    "GET /info": (200, info_here()),
    "GET /containers/json": (200, []),
    "GET /images/json": (200, []),
    "GET /images/.+/json": missing("image"),
    "GET /volumes": (200, {"Volumes": None}),
    "POST /volumes/create": (201, lambda sent: sent),
}
"""An engine that is well and has nothing, by the beginnings of requests as patterns."""


class EngineServer:
    """An engine of these answers, from its making until `close`."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        # Not pytest's folder: a socket's path has at most 107 characters.
        self._folder = tempfile.TemporaryDirectory(prefix="crossover-")
        path = Path(self._folder.name, "docker.sock")
        self.url = f"unix://{path}"
        self._server = socketserver.ThreadingUnixStreamServer(str(path), _make_handler(answers))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()


def _make_handler(answers: Mapping[str, Answer]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = f"{self.command} {re.sub(r'^/v[0-9.]+', '', self.path)}"
            found = (answers[one] for one in answers if re.match(rf"{one}(\?|$)", asked))
            status, body = next(found, missing("page"))
            self.close_connection = True
            if not status:
                return
            body = body(json.loads(sent)) if callable(body) else body
            content = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            kind = "text/html" if isinstance(body, str) else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    for method in ("GET", "POST", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.answer)
    return Handler
