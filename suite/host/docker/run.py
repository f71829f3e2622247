"""One worker in one container: limited, created, started, listened to, and removed whatever happens."""

from __future__ import annotations

import itertools
import struct
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import docker.types

from suite.errors import EngineError, GpuError, tell_left
from suite.host.docker.connection import Daemon, Refused, Silence
from suite.host.docker.leftovers import discard_container, remove_container, volume_labels
from suite.host.engine import LABEL, Ending, EngineKind, Job, Volume
from suite.host.gpu.refusals import FIND_HANG, reword
from suite.host.gpu.remedies import explain_refusal
from suite.host.gpu.request import CAPABILITIES, choose_variables
from suite.host.machine.deadlines import (
    ASK_S,
    GRACE_S,
    HUNG_S,
    KILLED_S,
    READER_S,
    SILENT_S,
    UNREAD_GRACE_S,
    WORK_S,
)
from suite.host.machine.output import DIARY_BYTES, LineQueue, describe_ending
from suite.model import Image

USER = "10001:10001"
"""Who the worker is inside: nobody that any host knows."""

_TMP_BYTES = 2**30
_HOME_BYTES = 256 * 2**20
_LOG_BYTES = 512 * 2**20
"""Of each of two files.  Both streams share them, and where standard error fills them faster than the engine
reads them out, records are lost with the file that is turned over (seen at 64 MiB with 200 MiB of errors).
A runaway still can't fill the disk."""


def container_limits(job: Job, *, memlock: bool) -> dict[str, Any]:
    """What the container may use, in the SDK's words; ``memlock``: ask for unlimited pinned memory.

    CPUs are a set and never a quota, since TensorFlow sizes its thread pools by affinity; memory
    includes swap, so that a cell fails instead of crawling.
    """
    devices, ulimits = None, None
    if job.gpu is not None:
        # The devices are named, so that no other is taken.
        how = {"driver": "cdi"} if job.gpu.driver == "cdi" else {"capabilities": [CAPABILITIES]}
        devices = [docker.types.DeviceRequest(device_ids=list(job.gpu.devices), **how)]
        ulimits = [docker.types.Ulimit(name="memlock", soft=-1, hard=-1)] if memlock else None
    return {
        "init": True,
        "network_mode": "none",
        "read_only": True,
        "tmpfs": {
            "/tmp": f"rw,nosuid,nodev,size={_TMP_BYTES},mode=1777",  # noqa: S108 - inside
            "/home/crossover": f"rw,nosuid,nodev,size={_HOME_BYTES},mode=1777",
        },
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        # TensorFlow starts several threads a CPU; this stops a runaway, never a large machine.
        "pids_limit": max(4096, 64 * len(job.cpus)),
        "shm_size": 2**30,
        "log_config": docker.types.LogConfig(
            type="json-file", config={"max-size": str(_LOG_BYTES), "max-file": "2"}
        ),
        # A fresh one takes its owner from the image's folder.
        "mounts": [
            docker.types.Mount(
                target=volume.target,
                source=str(volume.folder or volume.name),
                type="bind" if volume.folder else "volume",
                read_only=volume.read_only,
            )
            for volume in job.volumes
        ],
        "cpuset_cpus": ",".join(map(str, job.cpus)) or None,
        "mem_limit": job.memory_bytes,
        "memswap_limit": job.memory_bytes,
        "device_requests": devices,
        "ulimits": ulimits,
    }


_LEFT = (
    "the container {0} was left behind: `docker rm -f {0}` removes it when the engine answers again, and "
    "so does the next campaign"
)


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

    ``kind`` is what the engine is, for the remedy where it refuses the GPU.  One that is restarted just
    then is waited for.

    ``docker.containers.run`` would pull a missing image and leak the container on a failed start.

    Raises:
        EngineError: the engine refused or has gone.
        GpuError: it refused the GPU.
        Refused: it refused to lift the limit on pinned memory; only with ``memlock``.
    """
    # By a name of ours: a container can exist although its creation raised.
    name = f"crossover-{uuid.uuid4().hex[:16]}"
    tries = itertools.count()
    settings = {
        "command": list(job.arguments),
        "entrypoint": list(entrypoint) or None,
        "user": USER,
        "labels": {**job.labels, LABEL: "run", f"{LABEL}.owner": owner},
        "environment": {
            **choose_variables(job.gpu),
            **job.environment,
            **{volume.variable: volume.target for volume in job.volumes},
        },
        # Else what docker's client is configured with would be in it, such as a proxy's password.
        "use_config_proxy": False,
    }

    def start() -> DockerRun:
        if next(tries):
            remove_container(daemon, name)
        with daemon.calls("starting a container"):
            # Not left to the mount, which would make them without our label; those that are there stay.
            for volume in job.volumes:
                if volume.folder is None:
                    daemon.api.create_volume(volume.name, labels=volume_labels(volume, owner))
            limits = daemon.api.create_host_config(**container_limits(job, memlock=memlock))
            created = daemon.api.create_container(
                job.image.id, name=name, host_config=limits, **settings
            )["Id"]
        stream: Any = iter(())
        try:
            _begin(daemon, created, job, kind)
            with daemon.calls("reading a container's log", ASK_S):
                stream = daemon.api.logs(
                    created, stdout=True, stderr=False, stream=True, follow=True
                )
        except Refused as refused:
            # Somebody has removed it: it says nothing, and its end tells why.
            if not refused.gone:
                raise
        return DockerRun(daemon, created, stream, memory_bytes=job.memory_bytes)

    try:
        return daemon.outlast(start)
    except BaseException as error:
        if not isinstance(error, Exception):
            daemon.patience.hurry()
        # What hangs can't be removed at once.
        within = WORK_S if isinstance(error, Refused) else HUNG_S
        left = "" if discard_container(daemon, name, within) else _LEFT.format(name)
        if isinstance(error, Refused):
            raise tell_left(_explain(error, job, daemon, kind, memlock=memlock), left) from error
        raise tell_left(error, left) from error.__cause__


def fill_volume(
    daemon: Daemon, volume: Volume, archive: bytes, image: Image, *, owner: str
) -> None:
    """Makes a volume and unpacks an archive in it, through a container that is never started.

    Raises:
        EngineError: the engine refused or has gone.
    """
    name = f"crossover-{uuid.uuid4().hex[:16]}"
    mount = docker.types.Mount(target=volume.target, source=volume.name, type="volume")
    try:
        with daemon.errors(f"filling the volume {volume.purpose}", SILENT_S):
            daemon.api.create_volume(volume.name, labels=volume_labels(volume, owner))
            daemon.api.create_container(
                image.id,
                name=name,
                labels={LABEL: "run", f"{LABEL}.owner": owner},
                host_config=daemon.api.create_host_config(mounts=[mount], network_mode="none"),
                use_config_proxy=False,
            )
            daemon.api.put_archive(name, volume.target, archive)
    finally:
        discard_container(daemon, name)


def _begin(daemon: Daemon, container: str, job: Job, kind: EngineKind) -> None:
    try:
        with daemon.calls("starting a container"):
            daemon.api.start(container)
    except Silence as error:
        if job.gpu is None:
            raise
        raise GpuError(
            f"the engine at {daemon.endpoint.where} did not start a container with the GPU within "
            f"{WORK_S:.0f} s: what gives it the GPU, or the driver behind that, hangs",
            reword(FIND_HANG, kind),
        ) from TimeoutError(error.what)


def _explain(
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
    return daemon.endpoint.error("starting a container", refused.text)


class DockerRun:
    """A container under way (see ``engine.Running``)."""

    process_id = None
    """The container's id is in the control groups of its processes."""

    def __init__(
        self, daemon: Daemon, container: str, stream: Any, *, memory_bytes: int | None
    ) -> None:
        self._daemon = daemon
        self.id = container
        self._memory_bytes = memory_bytes
        self._stream = stream
        self._ending: Ending | None = None
        # Followed logs, not an attached socket: over TLS the SDK polls a socket whose data may
        # already have been decrypted, and waits for ever.  The log begins with the first line
        # even when the container was faster than we are.
        self._lines = LineQueue(self._chunks())

    def _chunks(self) -> Iterator[bytes]:
        count = 0
        with suppress(struct.error, ValueError):  # cut off within a frame's header
            for chunk in self._stream:
                count += len(chunk)
                yield chunk
        # The engine stops following when the container ends, at times before its last words are in the log
        # (seen in most runs whose last line had no newline).  Once it says that the container has stopped,
        # the log is complete.  Where the engine is gone, next_line finds that out.
        with suppress(EngineError):
            if self._wait(GRACE_S):
                yield self._read_log(stdout=True, stderr=False)[count:]

    def next_line(self, timeout_s: float) -> str | None:
        """See ``engine.Running``."""
        line = self._lines.next_line(timeout_s)
        if line is None:
            # The SDK reports a connection that was cut as the end of the stream.
            self._inspect()
        return line

    def stop(self) -> None:
        """See ``engine.Running``."""
        # It may have ended already; or close() will find that the engine has gone.
        try:
            with suppress(Refused), self._daemon.calls("killing a container", ASK_S):
                self._daemon.api.kill(self.id)
        except EngineError:
            # Nor does it end the stream any more; who waits for a line need not wait for that.
            self._lines.end()

    def abandon(self) -> Ending:
        """See ``engine.Running``."""
        self._daemon.patience.hurry()
        if self._ending is None:
            diary = ""
            with suppress(EngineError):
                diary = self._diary()
            gone = discard_container(self._daemon, self.id)
            self._let_go(READER_S if gone else 0.0)
            self._ending = Ending(
                code=None,
                diary=diary,
                phrase="stopped by the host",
                ended=time.monotonic(),
                left="" if gone else _LEFT.format(self.id[:12]),
            )
        return self._ending

    def close(self) -> Ending:
        """See ``engine.Running``."""
        if self._ending is None:
            self._ending = self._end()
            with suppress(Refused, EngineError):
                self._daemon.outlast(lambda: remove_container(self._daemon, self.id))
            self._let_go(READER_S)
        return self._ending

    def _end(self) -> Ending:
        grace_s = GRACE_S if self._lines.ended else UNREAD_GRACE_S
        if not self._wait(grace_s):
            self.stop()
            self._wait(KILLED_S)
        ended = self._lines.ended or time.monotonic()
        state = self._inspect()
        if state is None:
            removed = "its container was removed by someone else"
            return Ending(code=None, diary="", phrase=removed, ended=ended)
        # While it still runs (it can't be killed: a hung driver) its exit code says 0.
        code = None if state.get("Running") else int(state["ExitCode"])
        out_of_memory = bool(state.get("OOMKilled") and code)
        phrase = describe_ending(code, out_of_memory=out_of_memory, memory_bytes=self._memory_bytes)
        diary = self._daemon.outlast(self._diary)
        return Ending(code=code, diary=diary, phrase=phrase, ended=ended)

    def _wait(self, seconds: float) -> bool:
        """Whether it has ended; False also where the engine did not answer in time."""
        try:
            with self._daemon.calls("waiting for a container"):
                self._daemon.api.wait(self.id, timeout=self._daemon.patience.allow(seconds))
        except Refused as refused:
            return refused.gone
        except EngineError:
            return False
        return True

    def _inspect(self) -> dict[str, Any] | None:
        def look() -> dict[str, Any]:
            with self._daemon.errors("asking after a container", missing_ok=True):
                state: dict[str, Any] = self._daemon.api.inspect_container(self.id)["State"]
                return state

        with suppress(Refused):
            return self._daemon.outlast(look)
        return None

    def _read_log(self, **which: Any) -> bytes:
        """What the container has written; nothing where it is being removed."""
        with suppress(Refused), self._daemon.calls("reading a container's log", ASK_S):
            return bytes(self._daemon.api.logs(self.id, **which))
        return b""

    def _diary(self) -> str:
        # The engine counts the lines of both streams, so ask for more than is kept.
        text = self._read_log(stdout=False, stderr=True, tail=2000)
        return text[-DIARY_BYTES:].decode(errors="replace")

    def _let_go(self, seconds: float) -> None:
        if self._lines.join(seconds):
            return
        # Over ssh a stream can't be cancelled; its thread ends with the process.
        with suppress(Refused, EngineError), self._daemon.calls("closing a container's log"):
            self._stream.close()
            self._lines.join(seconds)
