"""Reaching a docker engine, and asking it who it is."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from docker.api.client import APIClient
from docker.context.api import ContextAPI
from docker.utils.utils import kwargs_from_env

from suite.errors import EngineError
from suite.host.docker.describe import Description
from suite.host.docker.endpoint import Endpoint, knock
from suite.host.docker.errors import engine_error, engine_errors, sdk_calls

_TIMEOUT_S = 60.0
"""A single answer of the engine; removing a container with much data in it can take a while."""

_SSH_POOLS = 4


@dataclass(frozen=True)
class Daemon:
    """An engine that was reached: the SDK's client of it, and its address."""

    api: APIClient
    endpoint: Endpoint

    def calls(self, doing: str) -> AbstractContextManager[None]:
        """See `errors.sdk_calls`."""
        return sdk_calls(doing, self.endpoint)

    def errors(self, doing: str, *, missing_ok: bool = False) -> AbstractContextManager[None]:
        """See `errors.engine_errors`."""
        return engine_errors(doing, self.endpoint, missing_ok=missing_ok)

    def error(self, doing: str, text: str) -> EngineError:
        """See `errors.engine_error`."""
        return engine_error(doing, text, self.endpoint)

    def close(self) -> None:
        """Lets go of the connections."""
        self.api.close()


def demand_endpoint(endpoint: Endpoint | None) -> Endpoint:
    """The endpoint, where there is one.

    Raises:
        EngineError: there is none.
    """
    if endpoint is None:
        raise EngineError(
            "no docker engine: there is no /var/run/docker.sock, DOCKER_HOST is not set and "
            "no docker context is chosen",
            "install one (`sudo apt-get install docker.io`) and start it, or ENGINE=local",
        )
    return endpoint


def connect(endpoint: Endpoint, patience_s: float | None) -> Daemon:
    """A connection, each of whose answers is waited for so long; None: as long as a campaign should.

    Raises:
        EngineError: it does not answer, or this user may not talk to it.
    """
    with engine_errors("connecting", endpoint):
        knock(endpoint)
        return Daemon(_connect(endpoint, patience_s or _TIMEOUT_S), endpoint)


def _connect(endpoint: Endpoint, timeout_s: float) -> APIClient:
    """As the SDK's ``from_env``, with fewer pools over ssh.

    It keeps a connection for each of the last 9 addresses that it asked, and each is a session;
    sshd allows 10 (MaxSessions), so that one followed log more and a call fail (tried).
    """
    settings: dict[str, Any] = dict(kwargs_from_env())
    if "base_url" not in settings:
        settings = {**ContextAPI.kwargs_from_context(), **settings}
    if endpoint.kind == "ssh":
        settings["num_pools"] = _SSH_POOLS
    return APIClient(timeout=timeout_s, **settings)


def ask_who(daemon: Daemon) -> Description:
    """What the engine says of itself.

    Raises:
        EngineError: it does not answer, or is no engine.
    """
    with daemon.errors("asking what it is"):
        info, version = daemon.api.info(), daemon.api.version()
    if not isinstance(info, dict) or not isinstance(version, dict):
        raise daemon.error("asking what it is", "what answers there is no engine")
    return Description(endpoint=daemon.endpoint, info=info, version=version)
