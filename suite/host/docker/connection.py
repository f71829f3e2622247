"""A docker engine: which one is meant, how it is reached, who it says it is, and what its refusals mean.

Only this folder imports docker, and no file of it lets an exception of the SDK, of its HTTP library or of its
ssh library out.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
import urllib3.exceptions
from docker.api.client import APIClient
from docker.context.api import ContextAPI
from docker.errors import APIError, DockerException

# paramiko carries no types of its own; the SDK's door to it is untyped anyway.
from docker.transport.sshconn import paramiko
from docker.utils.utils import kwargs_from_env
from requests.exceptions import ReadTimeout

from suite.codec import parse_json
from suite.errors import DELEGATE, MORE_DISK, EngineError, RightsError
from suite.host.engine import EngineKind, GpuSupport, Refusal, find_row
from suite.host.gpu.request import CDI_KIND, list_names
from suite.host.machine.deadlines import AWAY_EVERY_S, AWAY_S, KNOCK_S, WORK_S, Patience
from suite.host.machine.machine import is_this_machine
from suite.host.machine.surroundings import find_container
from suite.model import Scalar

DEFAULT_SOCKET = Path("/var/run/docker.sock")


_ROWS = msgspec.toml.decode(
    Path(__file__).with_name("refusals.toml").read_bytes(), type=dict[str, tuple[Refusal, ...]]
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(pattern="no space left on device", cause="the engine's disk is full", remedy=MORE_DISK),
    *_ROWS["answered"],
)
"""What an engine that answers says; a text without a row is shown whole."""

_NO_RIGHTS = _ROWS["no_rights"]

NO_ANSWER: tuple[Refusal, ...] = (*_NO_RIGHTS, *_ROWS["no_answer"])
"""What is said where no engine answers; one that does says the same words of its own troubles (`No such
file or directory`)."""


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

    def error(self, doing: str, text: str, rows: tuple[Refusal, ...] = REFUSALS) -> EngineError:
        """The error for people: what was tried, where, what was said, and what to do next.

        ``rows`` say what the text means: by default as the engine's own.
        """
        row = find_row(text, rows)
        message = f"{row.cause}: {text}" if row else text
        remedy = row.remedy if row else "`docker version` and the engine's own log say more"
        return EngineError(f"docker at {self.where}: {doing} failed: {message}", remedy)


def docker_endpoint() -> Endpoint | None:
    """The engine that docker's own settings name; None where nothing names one and the default
    socket does not exist either.

    As the docker client does it: DOCKER_HOST, else DOCKER_CONTEXT, else the current context of
    docker's configuration, else the default socket.

    Raises:
        EngineError: the context is unknown, has no address or one that is not valid, or docker's
            configuration can't be read.
    """
    if host := os.environ.get("DOCKER_HOST"):
        return _parse_endpoint(host, "DOCKER_HOST")
    usual = Path(os.environ.get("HOME") or "/") / ".docker"
    folder = Path(os.environ.get("DOCKER_CONFIG") or usual)
    chosen = os.environ.get("DOCKER_CONTEXT")
    name = str(chosen or _read_json(folder / "config.json").get("currentContext") or "default")
    if name == "default":
        local = _parse_endpoint(f"unix://{DEFAULT_SOCKET}", "the default socket")
        return local if DEFAULT_SOCKET.exists() else None
    source = f"{'DOCKER_CONTEXT' if chosen else 'the current docker context'} {name!r}"
    remedy = "`docker context ls` lists them; name another, or the engine itself with DOCKER_HOST"
    meta = folder / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
    context = _read_json(meta)
    if not context:
        raise EngineError(f"there is no such docker context: {source}; looked for {meta}", remedy)
    try:
        address = str(context["Endpoints"]["docker"]["Host"] or "")
    except (KeyError, TypeError):
        address = ""
    if not address:
        raise EngineError(f"{source} names no address: {meta}", remedy)
    return _parse_endpoint(address, source)


def _read_json(path: Path) -> dict[str, Any]:
    """A file of docker's own configuration; empty where it is not there.

    Raises:
        EngineError: it can't be read.
    """
    try:
        return msgspec.convert(parse_json(path.read_bytes()), dict[str, Any])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EngineError(
            f"docker's own configuration can't be read: {path}: {error}",
            "repair or remove that file, or name the engine with DOCKER_HOST",
        ) from error


def _parse_endpoint(address: str, source: str) -> Endpoint:
    url = address if "://" in address else f"tcp://{address}"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise EngineError(
            f"{address} ({source}) is not a valid engine address: {error}",
            "such as unix:///var/run/docker.sock or tcp://host:2376; unset it for the local engine",
        ) from error
    kind = {"http": "tcp", "https": "tcp", "http+unix": "unix"}.get(parts.scheme, parts.scheme)
    return Endpoint(kind=kind, url=url, source=source)


def knock(endpoint: Endpoint) -> None:
    """Opens and closes a connection, so that an engine that isn't there is told at once and in the
    system's own words: the SDK wraps them three deep, leaks its socket, and waits a minute.

    Knows local sockets and TCP; for any other kind it does nothing.

    Raises:
        OSError: nobody answers there, or this user may not connect.
    """
    parts = urlsplit(endpoint.url)
    if parts.scheme == "unix":
        with socket.socket(socket.AF_UNIX) as plug:
            plug.settimeout(KNOCK_S)
            plug.connect(parts.path)
    elif endpoint.kind == "tcp" and parts.hostname and parts.port:
        socket.create_connection((parts.hostname, parts.port), timeout=KNOCK_S).close()


_GONE = re.compile(
    r"marked for removal|is dead|removal of container \S+ is already in progress", re.IGNORECASE
)


class Refused(Exception):
    """The engine answered, and the answer was no: ``status`` of HTTP and its own ``text``.

    Stays within this folder; whoever catches it knows what the refusal means there.
    """

    def __init__(self, status: int | None, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.missing = status == 404
        """Whether the thing asked for is not there."""

    @property
    def gone(self) -> bool:
        """Whether somebody has removed it, or is about to: by then an engine refuses all else."""
        missing = self.missing and "image" not in self.text.lower()
        return missing or _GONE.search(self.text) is not None


class Away(EngineError):
    """The engine is not there, or not any more.

    Stays within this folder as such; whoever catches it knows whether it may come back.
    """


class Silence(EngineError):
    """The engine took a request and did not answer it in time.

    Stays within this folder as such; whoever catches it knows what hangs there.
    """


@contextmanager
def sdk_calls(doing: str, endpoint: Endpoint) -> Iterator[None]:
    """Around calls of the SDK: answers of "no" become `Refused`, silence an `EngineError`.

    Raises:
        Refused: the engine said no.
        Silence: it is there, and has not answered in time.
        RightsError: it lets nobody in but those whom it knows, and this user is not one of them.
        Away: it does not answer (any more).
    """
    try:
        yield
    except APIError as error:
        # What the engine itself said, without the SDK's wrapping.
        raise Refused(error.status_code, str(error.explanation or error).strip()) from error
    # The exceptions of requests are OSErrors.
    except (DockerException, urllib3.exceptions.HTTPError, paramiko.SSHException, OSError) as error:
        text = str(error).strip() or type(error).__name__
        explained = endpoint.error(doing, text, (*NO_ANSWER, *REFUSALS))
        kind: type[EngineError] = RightsError if find_row(text, _NO_RIGHTS) else Away
        if isinstance(error, ReadTimeout | TimeoutError):
            kind = Silence
        raise kind(explained.what, explained.remedy) from error


CONTAINERD_STORE = "/var/lib/containerd"
"""Where a containerd of the system's has its images, which engines of 29 and later use by default."""

SNAPS_FOLDER = "/var/snap/docker/"
"""Where a docker that was installed as a snap keeps everything."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """An engine by its own words."""

    endpoint: Endpoint
    info: Mapping[str, Any]
    version: Mapping[str, Any]

    @property
    def is_here(self) -> bool | None:
        """See ``engine.Engine``; for how it is proven see ``machine.machine.is_this_machine``."""
        return is_this_machine(self.info) if self.endpoint.kind == "unix" else False

    @property
    def podman(self) -> tuple[int, ...] | None:
        """Podman's version, where it answers in docker's place."""
        for part in self.version.get("Components") or []:
            if "podman" in str(part.get("Name", "")).lower():
                numbers = str(part.get("Version", "")).split("-")[0].split(".")
                return tuple(int(n) for n in numbers if n.isdigit())
        return None

    @property
    def kind(self) -> EngineKind:
        """Which kind of engine it is: each is set up by commands of its own."""
        if self.podman is not None:
            return "podman"
        if self._rootless:
            return "rootless"
        if str(self.info.get("DockerRootDir") or "").startswith(SNAPS_FOLDER):
            return "snap"
        return "desktop" if self.info.get("OperatingSystem") == "Docker Desktop" else "docker"

    @property
    def _rootless(self) -> bool:
        return any("rootless" in str(option) for option in self.info.get("SecurityOptions") or [])

    @property
    def _store_type(self) -> str | None:
        status = self.info.get("DriverStatus") or []
        return dict(entry for entry in status if len(entry) == 2).get("driver-type")

    @property
    def store(self) -> str | None:
        """The folder in which it keeps its images; None: unknown.

        With containerd's image store that is containerd's folder, which lies in the engine's own only
        where the engine starts a containerd for itself, as without root.
        """
        root = str(self.info.get("DockerRootDir") or "") or None
        if not str(self._store_type).startswith("io.containerd.snapshotter"):
            return root
        address = str((self.info.get("Containerd") or {}).get("Address") or "")
        own = self._rootless or "/docker/containerd/" in address
        return f"{root}/containerd/daemon" if own and root else CONTAINERD_STORE

    @property
    def gpu_support(self) -> GpuSupport:
        """What it says about giving GPUs to containers."""
        return GpuSupport(
            devices=tuple(f"{CDI_KIND}{name}" for name in list_names(self.info)),
            cdi_folders=tuple(map(str, self.info.get("CDISpecDirs") or [])),
            runtimes=tuple(sorted(self.info.get("Runtimes") or {})),
        )

    def list_facts(self) -> dict[str, Scalar]:
        """Dotted facts for the document; never an address, host or user name."""
        info = self.info
        security = [str(option) for option in info.get("SecurityOptions") or []]
        return {
            "product": "docker" if self.podman is None else "podman",
            "version": info.get("ServerVersion") or None,
            "api": self.version.get("ApiVersion") or None,
            "endpoint.kind": self.endpoint.kind,
            "endpoint.here": self.is_here,
            "storage.driver": info.get("Driver"),
            "storage.type": self._store_type,
            "cgroup.version": info.get("CgroupVersion"),
            "cgroup.driver": info.get("CgroupDriver"),
            "os": info.get("OperatingSystem"),
            "kernel": info.get("KernelVersion"),
            "architecture": info.get("Architecture"),
            "cpus": info.get("NCPU"),
            "memory_bytes": info.get("MemTotal"),
            "runtime": info.get("DefaultRuntime"),
            "rootless": self._rootless,
            "binds.cpus": info.get("CPUSet"),
            "binds.memory": info.get("MemoryLimit"),
            "security": " ".join(sorted(security)) or None,
        }

    @property
    def cpus(self) -> tuple[int, ...]:
        """Its CPUs, of which it says only how many there are."""
        return tuple(range(int(self.info.get("NCPU") or 1)))

    def refuse_unbound(self, cpus: tuple[int, ...]) -> None:
        """Raises EngineError where the engine would take a set of CPUs and drop it in silence, as without a
        cpuset control group."""
        if self.info.get("CPUSet") is False and cpus and set(self.cpus) - set(cpus):
            raise EngineError(
                f"docker at {self.endpoint.where} can't bind a container to CPUs (no cpuset control "
                "group, as in rootless mode), so that CPUS= would not hold",
                f"leave `CPUS=` out; or {DELEGATE}",
            )


_T = TypeVar("_T")

_SSH_POOLS = 4


@dataclass(frozen=True)
class Daemon:
    """An engine that was reached: the SDK's client of it, its address, and how long it is waited for."""

    api: APIClient
    endpoint: Endpoint
    patience: Patience = field(default_factory=Patience)

    @contextmanager
    def calls(self, doing: str, within: float = WORK_S) -> Iterator[None]:
        """See `sdk_calls`; each answer is waited for so many seconds (see `deadlines`)."""
        with sdk_calls(doing, self.endpoint):
            self.api.timeout = self.patience.allow(within)
            yield

    @contextmanager
    def errors(
        self, doing: str, within: float = WORK_S, *, missing_ok: bool = False
    ) -> Iterator[None]:
        """As `calls`, for where a "no" has no meaning of its own: that becomes an error too.

        Raises:
            EngineError: the engine refused or does not answer.
            Refused: what is asked for is not there, with ``missing_ok``.
        """
        try:
            with self.calls(doing, within):
                yield
        except Refused as refused:
            if missing_ok and refused.missing:
                raise
            raise self.endpoint.error(doing, refused.text) from refused

    def outlast(self, look: Callable[[], _T]) -> _T:
        """What a look gives, tried again while the engine is away: one that is restarted comes back.

        Raises:
            Away: it does not.
            RightsError: it does, and no longer lets this user in.
        """
        with self.calls("waiting for it to come back"):
            until = time.monotonic() + self.patience.allow(AWAY_S)
        while True:
            try:
                return look()
            # One that starts makes its socket before it gives that to its group.
            except (Away, RightsError):
                if time.monotonic() > until:
                    # Who leaves now has waited, and what is left to do need not wait again.
                    self.patience.hurry()
                    raise
            time.sleep(AWAY_EVERY_S)


def connect(endpoint: Endpoint | None, patience_s: float | None) -> Daemon:
    """A connection, each of whose answers is waited for so long; None: as long as a campaign should.

    Raises:
        EngineError: there is no engine, it does not answer, or this user may not talk to it.
    """
    if endpoint is None:
        container = find_container(os.environ)
        raise EngineError(
            "no docker engine: there is no /var/run/docker.sock, DOCKER_HOST is not set and "
            "no docker context is chosen",
            "install one (`sudo apt-get install docker.io`) and start it, or ENGINE=local"
            if container is None
            else f"this is a container itself ({container}), in which none can be started: leave ENGINE out, "
            "or ENGINE=inside",
        )
    patience = Patience(patience_s)
    with sdk_calls("connecting", endpoint):
        knock(endpoint)
        return Daemon(_connect(endpoint, patience.allow(WORK_S)), endpoint, patience)


def _connect(endpoint: Endpoint, timeout_s: float) -> APIClient:
    """As the SDK's ``from_env``, with fewer pools over ssh.

    It keeps a connection for each of the last 9 addresses that it asked, and each is a session;
    sshd allows 10 (MaxSessions), so that one followed log more and a call fail (tried).
    """
    settings: dict[str, Any] = {"base_url": endpoint.url}
    if endpoint.kind == "tcp" and not os.environ.get("DOCKER_HOST"):
        try:
            settings = ContextAPI.kwargs_from_context() | settings
        except Exception as error:  # the SDK raises whatever a strange file leads it to
            raise EngineError(
                f"the certificates of {endpoint.source} can't be read: {error!r}",
                "`docker context inspect` shows them; or name the engine itself with DOCKER_HOST",
            ) from error
    pools = {"num_pools": _SSH_POOLS} if endpoint.kind == "ssh" else {}
    return _Client(timeout=timeout_s, **settings | kwargs_from_env() | pools)


class _Client(APIClient):  # type: ignore[misc]  # the SDK has no types
    """The SDK's client, every request of which has a deadline: its own has none for builds and pulls."""

    def _set_request_timeout(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {**kwargs, "timeout": kwargs.get("timeout") or self.timeout}


def ask_who(daemon: Daemon) -> Description:
    """What the engine says of itself.

    Raises:
        EngineError: it does not answer, or is not an engine.
    """
    with daemon.errors("asking what it is"):
        info, version = daemon.api.info(), daemon.api.version()
    if not isinstance(info, dict) or not isinstance(version, dict):
        raise daemon.endpoint.error("asking what it is", "what answers there is not an engine")
    return Description(endpoint=daemon.endpoint, info=info, version=version)
