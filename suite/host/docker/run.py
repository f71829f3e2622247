"""One worker in one container: created, started, listened to, and removed whatever happens."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime, timezone
from typing import Any

from suite.errors import EngineError, GpuError
from suite.host.docker.connect import Daemon, connect
from suite.host.docker.errors import Refused, Silence
from suite.host.docker.limits import USER, container_limits, job_labels
from suite.host.docker.volumes import make_volumes, name_volumes
from suite.host.engine import Ending, Job
from suite.host.gpu.commands import FIND_HANG, EngineKind, reword
from suite.host.gpu.remedies import explain_refusal
from suite.host.gpu.request import choose_variables
from suite.host.machine.ending import DIARY_BYTES, GRACE_S, KILLED_S, UNREAD_GRACE_S, phrase_ending
from suite.host.machine.lines import LineQueue

_HUNG_S = 5.0
"""For the removal of a container whose start hangs: the engine can't until that ends."""


def start_run(
    daemon: Daemon,
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
        with daemon.calls("starting a container"):
            make_volumes(daemon, job, owner)
            created = daemon.api.create_container(
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
                host_config=daemon.api.create_host_config(**container_limits(job, memlock=memlock)),
            )
            starting = True
            daemon.api.start(created["Id"])
            starting = False
            stream = daemon.api.logs(
                created["Id"], stdout=True, stderr=False, stream=True, follow=True
            )
    except BaseException as error:
        # By name: a container can exist although its creation raised.
        if isinstance(error, Refused):
            discard_container(daemon, name)
            raise _refusal(error, job, daemon, kind, memlock=memlock) from error
        _discard_hung(daemon, name)
        if isinstance(error, Silence) and starting and job.gpu is not None:
            raise GpuError(
                f"the engine at {daemon.endpoint.where} did not start a container with the GPU within "
                f"{daemon.api.timeout:.0f} s: what gives it the GPU, or the driver behind that, hangs",
                reword(FIND_HANG, kind),
            ) from TimeoutError(error.what)
        raise
    return DockerRun(daemon, created["Id"], stream, started=started, memory_bytes=job.memory_bytes)


def _refusal(
    refused: Refused, job: Job, daemon: Daemon, kind: EngineKind, *, memlock: bool
) -> Exception:
    if refused.missing and "image" in refused.text.lower():
        return EngineError(
            f"docker at {daemon.endpoint.where} has no image {job.image.id}",
            "`make images` builds it",
        )
    if job.gpu is not None:
        if memlock and ("rlimit" in refused.text or "ulimit" in refused.text):
            return refused
        return explain_refusal(refused.text, daemon.endpoint.where, kind)
    return daemon.error("starting a container", refused.text)


def discard_container(daemon: Daemon, container: str) -> None:
    """Removes a container and its anonymous volumes where the engine still answers."""
    # It may never have existed, be removed already, or nobody is there to ask.
    with suppress(Refused, EngineError), daemon.calls("removing a container"):
        daemon.api.remove_container(container, v=True, force=True)


def _discard_hung(daemon: Daemon, container: str) -> None:
    """As `discard_container`, where the engine or a person breaks off: what can't be removed at once is
    left for the next campaign to sweep."""
    with suppress(EngineError), closing(connect(daemon.endpoint, _HUNG_S)) as another:
        discard_container(another, container)


class DockerRun:
    """A container under way (see ``engine.Running``)."""

    process_id = None
    """The container's id is in the control groups of its processes."""

    def __init__(
        self,
        daemon: Daemon,
        container: str,
        stream: Any,
        *,
        started: datetime,
        memory_bytes: int | None,
    ) -> None:
        self._daemon = daemon
        self.id = container
        self.started = started
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
        if not self._wait(GRACE_S):
            return b""
        # Where the engine is gone, next_line finds that out.
        with suppress(Refused, EngineError), self._daemon.calls("reading a container's log"):
            return bytes(self._daemon.api.logs(self.id, stdout=True, stderr=False))[count:]
        return b""

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
        # It may have ended already; or close() will find that the engine has gone.
        with suppress(Refused, EngineError), self._daemon.calls("killing a container"):
            self._daemon.api.kill(self.id)

    def close(self) -> Ending:
        """See ``engine.Running``."""
        if self._ending is None:
            try:
                self._ending = self._end()
            finally:
                discard_container(self._daemon, self.id)
                self._let_go()
        return self._ending

    def _end(self) -> Ending:
        grace_s = GRACE_S if self._lines.ended else UNREAD_GRACE_S
        if not self._wait(grace_s):
            self.stop()
            self._wait(KILLED_S)
        ended = self._lines.ended or datetime.now(timezone.utc)
        state = self._inspect()
        if state is None:
            removed = "its container was removed by someone else"
            return Ending(code=None, diary="", phrase=removed, ended=ended)
        # While it still runs (it can't be killed: a hung driver) its exit code says 0.
        code = None if state.get("Running") else int(state["ExitCode"])
        out_of_memory = bool(state.get("OOMKilled") and code)
        phrase = phrase_ending(code, out_of_memory=out_of_memory, memory_bytes=self._memory_bytes)
        return Ending(code=code, diary=self._diary(), phrase=phrase, ended=ended)

    def _wait(self, seconds: float) -> bool:
        """Whether it has ended; False also where the engine did not answer in time."""
        try:
            with self._daemon.calls("waiting for a container"):
                self._daemon.api.wait(self.id, timeout=seconds)
        except Refused as refused:
            return refused.missing
        except EngineError:
            return False
        return True

    def _inspect(self) -> dict[str, Any] | None:
        with suppress(Refused), self._daemon.errors("asking after a container", missing_ok=True):
            state: dict[str, Any] = self._daemon.api.inspect_container(self.id)["State"]
            return state
        return None

    def _diary(self) -> str:
        with self._daemon.errors("reading a container's log"):
            # The engine counts the lines of both streams, so ask for more than is kept.
            text = self._daemon.api.logs(self.id, stdout=False, stderr=True, tail=2000)
        return bytes(text)[-DIARY_BYTES:].decode(errors="replace")

    def _let_go(self) -> None:
        if self._lines.join(5.0):
            return
        # Over ssh a stream can't be cancelled; its thread ends with the process.
        with suppress(Refused, EngineError), self._daemon.calls("closing a container's log"):
            self._stream.close()
            self._lines.join(5.0)
