"""Reaching a docker engine, and asking it who it is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from docker.api.client import APIClient
from docker.context.api import ContextAPI
from docker.utils.utils import kwargs_from_env

from suite.errors import EngineError
from suite.host.docker.describe import Description
from suite.host.docker.endpoint import Endpoint, knock
from suite.host.docker.errors import Away, Refused, engine_error, sdk_calls
from suite.host.machine.deadlines import AWAY_EVERY_S, AWAY_S, WORK_S, Patience
from suite.host.machine.surroundings import find_container

_Seen = TypeVar("_Seen")

_SSH_POOLS = 4


@dataclass(frozen=True)
class Daemon:
    """An engine that was reached: the SDK's client of it, its address, and how long it is waited for."""

    api: APIClient
    endpoint: Endpoint
    patience: Patience = field(default_factory=Patience)

    @contextmanager
    def calls(self, doing: str, within: float = WORK_S) -> Iterator[None]:
        """See `errors.sdk_calls`; each answer is waited for so many seconds (see `deadlines`)."""
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
            raise self.error(doing, refused.text) from refused

    def outlast(self, look: Callable[[], _Seen]) -> _Seen:
        """What a look gives, tried again while the engine is away: one that is restarted comes back.

        Raises:
            Away: it does not.
        """
        with self.calls("waiting for it to come back"):
            until = time.monotonic() + self.patience.allow(AWAY_S)
        while True:
            try:
                return look()
            except Away:
                if time.monotonic() > until:
                    # Who leaves now has waited, and what is left to do need not wait again.
                    self.patience.hurry()
                    raise
            time.sleep(AWAY_EVERY_S)

    def error(self, doing: str, text: str) -> EngineError:
        """See `errors.engine_error`."""
        return engine_error(doing, text, self.endpoint)


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
    settings: dict[str, Any] = dict(kwargs_from_env())
    if "base_url" not in settings:
        settings = {**ContextAPI.kwargs_from_context(), **settings}
    if endpoint.kind == "ssh":
        settings["num_pools"] = _SSH_POOLS
    return _Client(timeout=timeout_s, **settings)


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
        raise daemon.error("asking what it is", "what answers there is not an engine")
    return Description(endpoint=daemon.endpoint, info=info, version=version)
