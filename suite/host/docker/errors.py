"""What docker's refusals mean: every exception of the SDK becomes an `EngineError` with a remedy.

Only this folder imports docker, and no file of it lets an exception of the SDK, of its
HTTP library or of its ssh library out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import urllib3.exceptions
from docker.errors import APIError, DockerException

# paramiko carries no types of its own; the SDK's door to it is untyped anyway.
from docker.transport.sshconn import paramiko
from requests.exceptions import ReadTimeout

from suite.errors import MORE_DISK, EngineError, RightsError
from suite.host.docker.endpoint import Endpoint
from suite.host.machine.refusal import Refusal, find_row

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"no space left on device",
        cause="the engine's disk is full",
        remedy=MORE_DISK,
    ),
    Refusal(
        pattern=r"toomanyrequests|429 Too Many Requests",
        cause="the registry limits how often it is asked",
        remedy="`docker login`, wait, name a mirror with BASE_IMAGE=…, "
        "or `make base` and BASE_IMAGE=crossover/base:stand-in",
    ),
    Refusal(
        pattern=r"init binary",
        cause="this engine has no init program for containers",
        remedy="`sudo apt-get install catatonit` (podman) or tini (docker)",
    ),
    Refusal(
        pattern=r"setrlimit",
        cause="the engine sets higher limits for its containers than it is allowed to",
        remedy="lower ones for podman in /etc/containers/containers.conf, such as [containers] "
        'default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]',
    ),
    Refusal(
        pattern=r"cgroups in hybrid mode not supported",
        cause="crun can't work with this machine's hybrid cgroups (v1 and v2 mixed)",
        remedy='[engine] runtime = "runc" in /etc/containers/containers.conf '
        "(`sudo apt-get install runc`), or a kernel started with systemd.unified_cgroup_hierarchy=1",
    ),
    Refusal(
        pattern=r"Requested CPUs are not available",
        cause="the engine may not use these CPUs",
        remedy="name others with CPUS=…",
    ),
)
"""What an engine that answers says; a text without a row is shown whole."""

_NO_RIGHTS = Refusal(
    pattern=r"permission denied",
    cause="this user may not talk to the engine",
    remedy="`sudo usermod -aG docker $USER` and log in again, or ENGINE=local (a snap's docker has no such "
    "group yet: `sudo addgroup --system docker` before it, `sudo snap restart docker` after it)",
)

NO_ANSWER: tuple[Refusal, ...] = (
    _NO_RIGHTS,
    Refusal(
        pattern=r"No such file or directory|Connection refused|FileNotFoundError",
        cause="no engine is running there",
        remedy="start it (`sudo systemctl start docker`; a snap's: `sudo snap start docker`); where "
        "DOCKER_HOST or a context names another than you meant, unset it; or ENGINE=local",
    ),
    Refusal(
        pattern=r"Authentication failed|No authentication methods|not found in known_hosts"
        r"|Host key|banner",
        cause="ssh could not log in there",
        remedy="`ssh HOST docker version` must work without prompting",
    ),
    Refusal(
        pattern=r"Name or service not known|Temporary failure in name resolution"
        r"|No route to host|timed out|NewConnectionError",
        cause="the engine's machine does not answer",
        remedy="check DOCKER_HOST or the docker context, and the network between",
    ),
)
"""What is said where no engine answers; one that does says the same words of its own troubles (`No such
file or directory`)."""


_GONE = re.compile(
    r"marked for removal|is dead|removal of container \S+ is already in progress", re.IGNORECASE
)


def say(error: BaseException) -> str:
    """What the engine itself said, without the SDK's wrapping."""
    if isinstance(error, APIError) and error.explanation:
        return str(error.explanation).strip()
    return f"{error}".strip() or type(error).__name__


def engine_error(
    doing: str, text: str, endpoint: Endpoint, *, answered: bool = True
) -> EngineError:
    """The error for people: what was tried, where, what the engine said, and what to do next.

    ``answered``: the text is the engine's own, and not that of a connection that failed.
    """
    row = find_row(text, REFUSALS if answered else (*NO_ANSWER, *REFUSALS))
    told = f"{row.cause}: {text}" if row else text
    remedy = row.remedy if row else "`docker version` and the engine's own log say more"
    return EngineError(f"docker at {endpoint.where}: {doing} failed: {told}", remedy)


class Refused(Exception):
    """The engine answered, and the answer was no: ``status`` of HTTP and its own ``text``.

    Stays within this folder; whoever catches it knows what the refusal means there.
    """

    def __init__(self, status: int | None, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text

    @property
    def missing(self) -> bool:
        """Whether the thing asked for is not there."""
        return self.status == 404

    @property
    def gone(self) -> bool:
        """Whether somebody has removed it, or is about to: by then an engine refuses all else."""
        missing = self.missing and "image" not in self.text.lower()
        return missing or _GONE.search(self.text) is not None


class Away(EngineError):
    """The engine is not there, or not any more.

    Stays within this folder as such; whoever catches it knows whether it may come back.
    """


class Barred(Away, RightsError):
    """The engine lets nobody in but those whom it knows, and this user is not one of them."""


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
        Away: it does not answer (any more); `Barred`, not to this user.
    """
    try:
        yield
    except APIError as error:
        raise Refused(error.status_code, say(error)) from error
    # The exceptions of requests are OSErrors.
    except (DockerException, urllib3.exceptions.HTTPError, paramiko.SSHException, OSError) as error:
        text = say(error)
        told = engine_error(doing, text, endpoint, answered=False)
        kind: type[EngineError] = Away
        if isinstance(error, ReadTimeout | TimeoutError):
            kind = Silence
        elif find_row(text, NO_ANSWER) is _NO_RIGHTS:
            kind = Barred
        raise kind(told.what, told.remedy) from error
