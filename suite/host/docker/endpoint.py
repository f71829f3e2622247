"""Which docker engine is meant: DOCKER_HOST, a context, or the socket of this machine.

Imports no docker.  The SDK follows the same rules, except that it takes an
unknown context for the local socket, which would measure another machine than the one named.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from suite.errors import EngineError
from suite.host.machine.deadlines import KNOCK_S
from suite.wire import parse_json

DEFAULT_SOCKET = Path("/var/run/docker.sock")


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One engine's address: ``kind`` (unix, tcp, ssh, …), ``url``, and ``source``, the setting that
    named it.  The address is for messages to its owner; documents hold only the kind."""

    kind: str
    url: str
    source: str

    @property
    def where(self) -> str:
        """The address and who named it, for messages to its owner."""
        return f"{self.url} ({self.source})"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = parse_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EngineError(
            f"docker's own configuration can't be read: {path}: {error}",
            "repair or remove that file, or name the engine with DOCKER_HOST",
        ) from error
    return value if isinstance(value, dict) else {}


def _endpoint(url: str, source: str) -> Endpoint:
    scheme = url.partition("://")[0] if "://" in url else "tcp"
    try:
        _ = urlsplit(url if "://" in url else f"tcp://{url}").port
    except ValueError as error:
        raise EngineError(
            f"{url} ({source}) is not a valid engine address: {error}",
            "such as unix:///var/run/docker.sock or tcp://host:2376; unset it for the local engine",
        ) from error
    kind = {"http": "tcp", "https": "tcp", "http+unix": "unix"}.get(scheme, scheme)
    return Endpoint(kind=kind, url=url, source=source)


def find_endpoint(
    environment: Mapping[str, str], default_socket: Path = DEFAULT_SOCKET
) -> Endpoint | None:
    """The engine that docker's own settings name; None where nothing names one and the default
    socket does not exist either.

    As the docker client does it: DOCKER_HOST, else DOCKER_CONTEXT, else the current context of
    docker's configuration, else the default socket.

    Raises:
        EngineError: the context is unknown, has no address or one that is none, or docker's
            configuration is broken.
    """
    if host := environment.get("DOCKER_HOST"):
        return _endpoint(host, "DOCKER_HOST")
    usual = Path(environment.get("HOME") or "/") / ".docker"
    folder = Path(environment.get("DOCKER_CONFIG") or usual)
    name = environment.get("DOCKER_CONTEXT")
    source = "DOCKER_CONTEXT"
    if not name:
        name = str(_read_json(folder / "config.json").get("currentContext") or "default")
        source = "docker's current context"
    if name == "default":
        if not default_socket.exists():
            return None
        return _endpoint(f"unix://{default_socket}", "the default socket")
    meta = folder / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
    described = _read_json(meta)
    if not described:
        raise EngineError(
            f"there is no docker context {name!r} ({source}); looked in {folder / 'contexts'}",
            "`docker context ls` lists them; unset DOCKER_CONTEXT for the local engine",
        )
    url = described.get("Endpoints", {}).get("docker", {}).get("Host")
    if not url:
        raise EngineError(
            f"the docker context {name!r} ({source}) names no address",
            f"`docker context inspect {name}` shows it; name another one",
        )
    return _endpoint(str(url), f"{source} {name!r}")


def knock(endpoint: Endpoint) -> None:
    """Opens and closes a connection, so that an engine that isn't there is told at once and in the
    system's own words: the SDK wraps them three deep, leaks its socket, and waits a minute.

    Knows local sockets and TCP; for any other kind it does nothing.

    Raises:
        OSError: nobody answers there, or this user may not connect.
    """
    if endpoint.url.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as plug:
            plug.settimeout(KNOCK_S)
            plug.connect(urlsplit(endpoint.url).path)
    elif endpoint.kind == "tcp":
        url = endpoint.url if "://" in endpoint.url else f"tcp://{endpoint.url}"
        parts = urlsplit(url)
        if parts.hostname and parts.port:
            socket.create_connection((parts.hostname, parts.port), timeout=KNOCK_S).close()
