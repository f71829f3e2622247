"""One worker in one container: created, started, listened to, and removed whatever happens.

Like this whole folder, and nothing else, it imports docker.
"""

from __future__ import annotations

import contextlib
import struct
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from docker.api.client import APIClient

from suite.errors import EngineError, GpuError
from suite.host.docker.connect import connect
from suite.host.docker.endpoint import Endpoint
from suite.host.docker.errors import Refused, Silence, engine_error, engine_errors, sdk_calls
from suite.host.docker.limits import USER, container_limits, job_labels
from suite.host.docker.volumes import make_volumes, name_volumes
from suite.host.engine import Ending, Job
from suite.host.gpu.commands import FIND_HANG, EngineKind, reword
from suite.host.gpu.remedies import explain_refusal
from suite.host.gpu.request import choose_variables
from suite.host.machine.ending import DIARY_BYTES, phrase_ending
from suite.host.machine.lines import LineQueue

_GRACE_S = 10.0
"""From the end of the worker's output to the end of its process: releasing a GPU takes seconds."""
_UNREAD_GRACE_S = 2.0
_KILLED_S = 60.0
_HUNG_S = 5.0
"""For the removal of a container whose start hangs: the engine can't until that ends."""


def start_run(
    api: APIClient,
    endpoint: Endpoint,
    job: Job,
    *,
    owner: str,
    kind: EngineKind = "docker",
    memlock: bool = True,
    entrypoint: tuple[str, ...] = (),
) -> DockerRun:
    """Creates the container, starts it and listens to it; leaves nothing behind on failure.

    ``kind`` is what the engine is, for the remedy where it refuses the GPU.

    ``docker.containers.run`` would pull a missing image and leak the container on a failed start.

    Raises:
        EngineError: the engine refused or has gone.
        GpuError: it refused the GPU.
        Refused: it refused to lift the limit on pinned memory; only with ``memlock``.
    """
    name = f"crossover-{uuid.uuid4().hex[:16]}"
    started = datetime.now(timezone.utc)
    starting = False
    try:
        with sdk_calls("starting a container", endpoint):
            make_volumes(api, job, owner)
            created = api.create_container(
                job.image.id,
                command=list(job.arguments),
                entrypoint=list(entrypoint) or None,
                name=name,
                user=USER,
                labels=job_labels(job, owner),
                environment={
                    **choose_variables(job.gpu),
                    **job.environment,
                    **name_volumes(job),
                },
                host_config=api.create_host_config(**container_limits(job, memlock=memlock)),
            )
            starting = True
            api.start(created["Id"])
            starting = False
            stream = api.logs(created["Id"], stdout=True, stderr=False, stream=True, follow=True)
    except BaseException as error:
        # By name: a container can exist although its creation raised.
        if isinstance(error, Refused):
            discard_container(api, endpoint, name)
            raise _refusal(error, job, endpoint, kind, memlock=memlock) from error
        _discard_hung(endpoint, name)
        if isinstance(error, Silence) and starting and job.gpu is not None:
            raise GpuError(
                f"the engine at {endpoint.where} did not start a container with the GPU within "
                f"{api.timeout:.0f} s: what gives it the GPU, or the driver behind that, hangs",
                reword(FIND_HANG, kind),
            ) from TimeoutError(error.what)
        raise
    return DockerRun(
        api, endpoint, created["Id"], stream, started=started, memory_bytes=job.memory_bytes
    )


def _refusal(
    refused: Refused, job: Job, endpoint: Endpoint, kind: EngineKind, *, memlock: bool
) -> Exception:
    if refused.missing and "image" in refused.text.lower():
        return EngineError(
            f"docker at {endpoint.where} has no image {job.image.id}",
            "`make images` builds it",
        )
    if job.gpu is not None:
        if memlock and ("rlimit" in refused.text or "ulimit" in refused.text):
            return refused
        return explain_refusal(refused.text, endpoint.where, kind)
    return engine_error("starting a container", refused.text, endpoint)


def discard_container(api: APIClient, endpoint: Endpoint, container: str) -> None:
    """Removes a container and its anonymous volumes where the engine still answers."""
    try:
        with sdk_calls("removing a container", endpoint):
            api.remove_container(container, v=True, force=True)
    except (Refused, EngineError):
        return  # it never existed, is being removed already, or nobody is there to ask


def _discard_hung(endpoint: Endpoint, container: str) -> None:
    """As `discard_container`, where the engine or a person breaks off: what can't be removed at once is
    left for the next campaign to sweep."""
    with contextlib.suppress(EngineError), contextlib.closing(connect(endpoint, _HUNG_S)) as api:
        discard_container(api, endpoint, container)


class DockerRun:
    """A container under way (see ``engine.Running``)."""

    def __init__(
        self,
        api: APIClient,
        endpoint: Endpoint,
        container: str,
        stream: Any,
        *,
        started: datetime,
        memory_bytes: int | None,
    ) -> None:
        self._api = api
        self._endpoint = endpoint
        self._container = container
        self._started = started
        self._memory_bytes = memory_bytes
        self._stream = stream
        self._end_seen = False
        self._ending: Ending | None = None
        # Followed logs, not an attached socket: over TLS the SDK polls a socket whose data may
        # already have been decrypted, and waits for ever.  The log begins with the first line
        # even when the container was faster than we are.
        self._lines = LineQueue(self._chunks(), lambda: None)

    def _chunks(self) -> Iterator[bytes]:
        count = 0
        try:
            for chunk in self._stream:
                count += len(chunk)
                yield chunk
        except (struct.error, ValueError):
            pass  # cut off within a frame's header; what can still be had comes below
        yield self._rest(count)

    def _rest(self, count: int) -> bytes:
        """What the whole log has beyond the bytes that came.

        The engine stops following when the container ends, at times before its last words are in
        the log (seen in most runs whose last line had no newline).  Once it says that the
        container has stopped, the log is complete.
        """
        if not self._wait(_GRACE_S):
            return b""
        try:
            with sdk_calls("reading a container's log", self._endpoint):
                return bytes(self._api.logs(self._container, stdout=True, stderr=False))[count:]
        except (Refused, EngineError):
            return b""  # next_line finds out whether the engine is still there

    @property
    def id(self) -> str:
        """The container's id."""
        return self._container

    @property
    def process_id(self) -> int | None:
        """None: the container's id is in the control groups of its processes."""
        return None

    @property
    def started(self) -> datetime:
        """When the engine was asked to create and start it (UTC, this machine's clock)."""
        return self._started

    def next_line(self, timeout_s: float) -> str | None:
        """See ``engine.Running``."""
        line = self._lines.next_line(timeout_s)
        if line is None and not self._end_seen:
            # The SDK reports a connection that was cut as the end of the stream.
            self._inspect()
            self._end_seen = True
        return line

    def stop(self) -> None:
        """See ``engine.Running``."""
        try:
            with sdk_calls("killing a container", self._endpoint):
                self._api.kill(self._container)
        except (Refused, EngineError):
            return  # it has ended already, or close() will find that the engine has gone

    def close(self) -> Ending:
        """See ``engine.Running``."""
        if self._ending is None:
            try:
                self._ending = self._end()
            finally:
                discard_container(self._api, self._endpoint, self._container)
                self._let_go()
        return self._ending

    def _end(self) -> Ending:
        grace_s = _GRACE_S if self._lines.ended else _UNREAD_GRACE_S
        if not self._wait(grace_s):
            self.stop()
            self._wait(_KILLED_S)
        ended = self._lines.ended or datetime.now(timezone.utc)
        state = self._inspect()
        if state is None:
            return Ending(
                code=None,
                out_of_memory=False,
                diary="",
                phrase="its container was removed by someone else",
                ended=ended,
            )
        # While it still runs (it can't be killed: a hung driver) its exit code says 0.
        code = None if state.get("Running") else int(state["ExitCode"])
        out_of_memory = bool(state.get("OOMKilled")) and code != 0
        phrase = phrase_ending(code, out_of_memory=out_of_memory, memory_bytes=self._memory_bytes)
        return Ending(
            code=code,
            out_of_memory=out_of_memory,
            diary=self._diary(),
            phrase=phrase if code is not None else "could not be killed",
            ended=ended,
        )

    def _wait(self, seconds: float) -> bool:
        """Whether it has ended; False also where the engine did not answer in time."""
        try:
            with sdk_calls("waiting for a container", self._endpoint):
                self._api.wait(self._container, timeout=seconds)
        except Refused as refused:
            return refused.missing
        except EngineError:
            return False
        return True

    def _inspect(self) -> dict[str, Any] | None:
        try:
            with sdk_calls("asking after a container", self._endpoint):
                state: dict[str, Any] = self._api.inspect_container(self._container)["State"]
        except Refused as refused:
            if refused.missing:
                return None
            raise engine_error(
                "asking after a container", refused.text, self._endpoint
            ) from refused
        return state

    def _diary(self) -> str:
        with engine_errors("reading a container's log", self._endpoint):
            # The engine counts the lines of both streams, so ask for more than is kept.
            text = self._api.logs(self._container, stdout=False, stderr=True, tail=2000)
        return bytes(text)[-DIARY_BYTES:].decode(errors="replace")

    def _let_go(self) -> None:
        if self._lines.join(5.0):
            return
        try:
            with sdk_calls("closing a container's log", self._endpoint):
                self._stream.close()
        except (Refused, EngineError):
            return  # over ssh a stream can't be cancelled; its thread ends with the process
        self._lines.join(5.0)
