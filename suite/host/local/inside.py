"""Runs the worker as plain processes within a container or a job that somebody else has started: a pod,
Apptainer, pyxis, a batch job.

Nothing is known of the engine around it.  What can be seen from within is recorded, and nothing more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from suite.errors import EngineError, UsageError
from suite.host.engine import Say
from suite.host.local.engine import HOME, Environment, LocalEngine, record_environment
from suite.host.local.environment import look_at
from suite.host.machine.refusal import EngineKind
from suite.host.machine.surroundings import find_marks
from suite.host.provision.images import find_spec
from suite.kernel import groups, read_text
from suite.model import Image, Isolation, Scalar

DIGEST = "CROSSOVER_IMAGE_DIGEST"
"""The variable by which whoever starts the container tells its image's digest, which can't be seen within."""

PLACES = "opt/crossover*"
"""Where the suite's images keep their worker: an environment, and the lock that it was made from."""

_DIGEST = re.compile(r"(?:[^\s@]+@)?(sha256:[0-9a-f]{64})")


class InsideEngine(LocalEngine):
    """This machine as far as it can be seen from within (see ``engine.Engine``).

    The worker is that of the image that this process was started in where it has one of the lock that
    is asked for; else as with `LocalEngine`.
    """

    name = "inside"
    kind: EngineKind = "inside"
    isolation: Isolation = "unseen"

    def __init__(
        self, python: str | None = None, home: Path = HOME, root: Path = Path("/")
    ) -> None:
        super().__init__(python, home)
        self._root = root
        self._digest = _read_digest(os.environ)

    def describe(self) -> dict[str, Scalar]:
        """See ``engine.Engine``."""
        return {
            **super().describe(),
            "product": "container, engine not seen",
            "memory_limit": "whatever its starter set",
            "image_digest": self._digest,
            **look_around(os.environ, self._root),
        }

    def provide(self, name: str, progress: Say) -> Image:
        """See ``engine.Engine``.

        Raises:
            UsageError: there is no image of that name.
        """
        image = super().provide(name, progress)
        return replace(image, digests=[self._digest] if self._digest else [])

    def _look_up(self, name: str) -> Environment:
        laid = None if self._given else self._find_laid(name)
        if laid is None:
            return super()._look_up(name)
        python = laid / "venv" / "bin" / "python"
        found = look_at(python)
        if found is None:
            raise EngineError(
                f"{python} does not run", "take an image that `make images` has built, whole"
            )
        origin = "the image that it was started in; its digest is as given, not as observed"
        image = record_environment(f"{name}-inside", found, find_spec(name).lock, origin)
        return Environment(image, found, python, "of the image that this runs in")

    def _find_laid(self, name: str) -> Path | None:
        """The folder of the image's own worker that was made from that lock; None: it has none."""
        wanted = find_spec(name).lock.read_bytes()
        for folder in sorted(self._root.glob(PLACES)):
            lock = folder / "lock.txt"
            if lock.is_file() and lock.read_bytes() == wanted:
                return folder
        return None


def _read_digest(environment: Mapping[str, str]) -> str | None:
    """The digest of the image, without its registry's name; None: unknown.

    Raises:
        UsageError: it is none.
    """
    text = environment.get(DIGEST)
    if not text:
        return None
    found = _DIGEST.fullmatch(text)
    if found is None:
        raise UsageError(f"{DIGEST}={text[:99]!r} is not a digest", "give sha256:… or NAME@sha256:…")
    return found[1]


def look_around(environment: Mapping[str, str], root: Path = Path("/")) -> dict[str, Scalar]:
    """What can be seen from within of who started this and what bounds it; None: not to be seen.

    ``seen.cpu_quota`` is in CPUs.
    """
    status = dict(
        line.partition(":\t")[::2] for line in read_text(root / "proc/self/status").splitlines()
    )
    quota = groups.find_quota(groups.list_groups("cpu", root))
    memory = groups.find_memory(groups.list_groups("memory", root))
    capabilities = status.get("CapEff")
    return {
        "seen.marks": ", ".join(find_marks(environment, root)) or None,
        "seen.cpu_quota": quota.value if quota else None,
        "seen.cpuset": groups.find_cpuset(groups.list_groups("cpuset", root)),
        "seen.memory_limit_bytes": int(memory.value) if memory else None,
        "seen.read_only_root": bool(os.statvfs(root).f_flag & os.ST_RDONLY),
        "seen.no_new_privileges": {"1": True, "0": False}.get(status.get("NoNewPrivs", "")),
        "seen.capabilities": None if capabilities is None else int(capabilities, 16) != 0,
    }
