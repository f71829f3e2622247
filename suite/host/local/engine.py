"""Runs the worker as plain processes of this machine: no container, and said so; or within a container or a
job that was started outside the suite (a pod, Apptainer, pyxis, a batch job), where nothing is known of the
engine around it.

The same locks in a private environment, or an interpreter that LOCAL_PYTHON names; the same
worker, the same records.  Knows no docker.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from suite.errors import EngineError, UsageError
from suite.fingerprint import SUITE, hash_lines
from suite.host.engine import Card, EngineKind, GpuRequest, GpuSupport, Job, Say, Stock, Volume
from suite.host.gpu.choice import keep_visible, read_visible
from suite.host.gpu.request import choose_variables, find_local_gpu
from suite.host.gpu.visible_devices import machine_cards
from suite.host.local.environment import (
    Interpreter,
    find_interpreter,
    given_interpreter,
    is_whole,
    look_at,
    make_environment,
    make_packages,
    place_environment,
    try_to_make,
)
from suite.host.local.run import LocalRun, LocalVolumes, list_caches, sweep, sweep_lasting
from suite.host.machine.machine import cpus_allowed
from suite.host.machine.surroundings import find_marks
from suite.host.provision.image_table import demand_wheels, find_spec, is_version
from suite.host.provision.images import lock_identity
from suite.host.provision.resources import CACHE_VARIABLE
from suite.model import Image, Isolation, Scalar, name_files
from suite.procfs import groups, memory_total, read_text, read_version

HOME = SUITE.parent / ".venv" / "arms"
"""Where the environments lie: inside the checkout, and gone with ``make clean``."""


@dataclass(frozen=True)
class Environment:
    """What stands in for an image: as the record has it, the interpreter beneath, and its own python.

    ``given`` says whose it is where it need not be made.
    """

    image: Image
    interpreter: Interpreter
    python: Path
    given: str = ""


def record_environment(
    identity: str, interpreter: Interpreter, lock: Path | None, origin: str
) -> Image:
    """An environment for the record; without ``lock`` its packages are from elsewhere."""
    base = f"{interpreter.title} on {platform.machine()}"
    pinned = lock_identity(lock)
    return Image(id=identity, content=None, base=base, digests=[], lock=pinned, origin=origin)


class LocalEngine:
    """This machine itself (see ``engine.Engine``).

    ``python`` is LOCAL_PYTHON: an interpreter that already has TensorFlow, for all arms; None:
    the environment's LOCAL_PYTHON where it is set, else environments of our own under ``home``.
    """

    name = "local"
    kind: EngineKind = "local"
    isolation: Isolation = "none"
    is_here: bool | None = True

    def __init__(self, python: str | None = None, home: Path = HOME) -> None:
        if "SLURM_JOB_ID" in os.environ:
            self.kind = "inside"  # a job's machine, too, is administered by somebody else
        python = python or os.environ.get("LOCAL_PYTHON") or None
        # Not resolved: the python of an environment is a link, and says by its place which.
        self._given = Path(python).absolute() if python else None
        self._home = home
        self.data_root: str | None = str(home)
        self._interpreters: dict[str, Interpreter] = {}
        self._pythons: dict[str, Path] = {}
        self._settings: dict[str, dict[str, str]] = {}
        self._packages: dict[str, Path] = {}
        self._volumes = LocalVolumes(home)

    def describe(self) -> dict[str, Scalar]:
        """See ``engine.Engine``."""
        return {
            "product": "none",
            "version": None,
            "endpoint.kind": "process",
            "endpoint.here": True,
            "kernel": platform.release(),
            "architecture": platform.machine(),
            "cpus": os.cpu_count(),
            "memory_bytes": memory_total(),
            # A limit on address space would stop TensorFlow, which maps far more than it uses.
            "memory_limit": "not enforced",
            "python": "LOCAL_PYTHON" if self._given else "from the lock",
            **(_describe_paths() if self._given else {}),
            **({CACHE_VARIABLE: "not the caller's"} if CACHE_VARIABLE in os.environ else {}),
        }

    def cpus(self) -> tuple[int, ...]:
        """See ``engine.Engine``."""
        return cpus_allowed()

    def memory_bytes(self) -> int | None:
        """See ``engine.Engine``."""
        return memory_total()

    def provide(self, name: str, progress: Say, *, packages: Path | None = None) -> Image:
        """See ``engine.Engine``.

        Raises:
            UsageError: there is no image of that name.
        """
        made = self._look_up(name)
        if made.given:
            progress(f"environment {name}: {made.interpreter.title} {made.given}")
        else:
            lock = find_spec(name).lock
            make_environment(lock.stem, lock, made.interpreter, self._home, progress)
        if packages is None:
            return made.image
        folder = make_packages(packages, made.interpreter, made.python, self._home, progress)
        image = replace(
            made.image,
            id=f"{made.image.id}+{folder.name}",
            origin=f"{made.image.origin}, with the packages of {lock_identity(packages)}",
        )
        self._pythons[image.id], self._packages[image.id] = made.python, folder
        self._settings[image.id] = self._settings[made.image.id]
        return image

    def demand(self, names: Iterable[str], progress: Say) -> None:  # noqa: ARG002  as the others
        """See ``engine.Engine``; the disk is the doctor's to look at.

        Raises:
            UsageError: there is no image of one of these names, or LOCAL_PYTHON would stand in for it under
                a name that it has not.
        """
        for name in names:
            if not self._look_up(name).given:
                demand_wheels(find_spec(name), platform.machine())

    def _find_interpreter(self, name: str) -> Interpreter:
        """What makes an image's environment, or stands in for all of them."""
        if name not in self._interpreters:
            newest = find_spec(name).python
            found = (
                given_interpreter(self._given) if self._given else find_interpreter(name, newest)
            )
            self._interpreters[name] = found
        return self._interpreters[name]

    def _look_up(self, name: str) -> Environment:
        """The environment that stands in for an image, whether made already or not."""
        environment = self._describe_environment(name)
        self._pythons[environment.image.id] = environment.python
        onednn = {"TF_ENABLE_ONEDNN_OPTS": str(int(find_spec(name).onednn))}
        self._settings[environment.image.id] = onednn
        return environment

    def _describe_environment(self, name: str) -> Environment:
        spec, plain = find_spec(name), name_files(name)
        if self._given is not None and is_version(spec):
            raise UsageError(
                f"LOCAL_PYTHON is one TensorFlow for all arms, and {name} is to be that of "
                f"docker/{spec.lock.name}",
                "leave LOCAL_PYTHON out, or name arms without a version",
            )
        interpreter = self._find_interpreter(name)
        if self._given is not None:
            origin = "LOCAL_PYTHON, not from the lock"
            image = record_environment(f"{plain}-local-python", interpreter, None, origin)
            return Environment(image, interpreter, self._given, "as given by LOCAL_PYTHON")
        folder = place_environment(spec.lock.stem, spec.lock, interpreter, self._home)
        origin = f"private environment made from docker/{spec.lock.name}, no container"
        # Arms of one lock share what is made of it, and are told apart.
        identity = folder.name.replace(spec.lock.stem, plain, 1)
        image = record_environment(identity, interpreter, spec.lock, origin)
        return Environment(image, interpreter, folder / "bin" / "python")

    def settle_custom(self, progress: Say) -> str | None:  # noqa: ARG002  as the others
        """See ``engine.Engine``: there is no image here; LOCAL_PYTHON is its like."""
        return None

    def take_stock(self, name: str) -> Stock:
        """See ``engine.Engine``; the environment stands in for the image."""
        environment = self._look_up(name)
        image = environment.image
        made = bool(environment.given) or is_whole(environment.python.parent.parent)
        return Stock(
            name=name,
            image=image.id if made else None,
            base=environment.interpreter.title,
            base_here=True,
            room_bytes=0 if made else find_spec(name).free_bytes,
            from_lock=self._given is None,
            recorded=(image.base, image.lock),
            caches=list_caches(self._home),
        )

    def reach_base(self, reference: str) -> bool | None:  # noqa: ARG002  as the others
        """See ``engine.Engine``: its base is the interpreter, which is here, and its registry
        the package index."""
        return try_to_make(find_spec("cpu").lock, self._find_interpreter("cpu"))

    def look_at_leftovers(self) -> None:
        """See ``engine.Engine``: they are folders of this user's."""

    def has_probe_image(self) -> bool:
        """See ``engine.Engine``: nothing is needed to look."""
        return True

    def gpu_support(self) -> GpuSupport:
        """See ``engine.Engine``: there are no containers to give a GPU to."""
        return GpuSupport(devices=(), cdi_folders=(), runtimes=())

    def find_gpu(self, wanted: str | None) -> GpuRequest:
        """See ``engine.Engine``; the worker itself proves whether TensorFlow can use it.

        Raises:
            GpuError: this machine shows no such GPU.
            NoGpuError: it shows none, or the caller's CUDA_VISIBLE_DEVICES hides them all.
        """
        return find_local_gpu(wanted, machine_cards())

    def list_gpus(self) -> tuple[Card, ...]:
        """See ``engine.Engine``.

        Raises:
            GpuError: the caller's CUDA_VISIBLE_DEVICES names one that is not there.
        """
        return keep_visible(machine_cards(), read_visible(os.environ))

    def start(self, job: Job) -> LocalRun:
        """See ``engine.Engine``; memory limits are not enforced."""
        python = str(self._pythons[job.image.id])
        pinned = ["taskset", "-c", ",".join(map(str, job.cpus))] if job.cpus else []
        return LocalRun(
            [*pinned, python, "-m", "suite.worker", *job.arguments], self._environment(job)
        )

    def _environment(self, job: Job) -> dict[str, str]:
        """Nothing of the caller's but what is named here, so that two shells measure the same.

        Not its CUDA_CACHE_PATH either: what other programs fill and clear would make each block's
        cold figures another thing.
        """
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(SUITE.parent),
        }
        if self._given is not None:
            # Its packages can lie anywhere, also under the home folder.
            for name in ("HOME", "LD_LIBRARY_PATH"):
                if value := os.environ.get(name):
                    environment[name] = value
            if value := os.environ.get("PYTHONPATH"):
                environment["PYTHONPATH"] += os.pathsep + value
        if packages := self._packages.get(job.image.id):
            environment["PYTHONPATH"] += os.pathsep + str(packages)
        if job.gpu is not None:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(job.gpu.devices)
        return (
            environment
            | self._settings.get(job.image.id, {})
            | choose_variables(job.gpu)
            | dict(job.environment)
            | self._volumes.variables(job)
        )

    def fill(self, volume: Volume, archive: bytes, image: Image) -> None:  # noqa: ARG002  as the others
        """See ``engine.Engine``."""
        self._volumes.fill(volume, archive)

    def remove_volume(self, volume: Volume) -> None:
        """See ``engine.Engine``."""
        self._volumes.remove(volume)

    def claim(self) -> str | None:
        """See ``engine.Engine``: who uses it holds this machine's lock, and needs no other."""
        return None

    def release(self) -> None:
        """See ``engine.Engine``."""

    def sweep_leftovers(self) -> int:
        """See ``engine.Engine``: folders of workers and of their volumes, here."""
        return sweep() + sweep_lasting(self._home, read_version())


def _describe_paths() -> dict[str, Scalar]:
    """The search paths that pass through to LOCAL_PYTHON: how many folders, and a hash of their names, which
    are a person's own; None: not set."""
    facts: dict[str, Scalar] = {}
    for key, name in {"python_path": "PYTHONPATH", "library_path": "LD_LIBRARY_PATH"}.items():
        folders = os.environ.get(name, "").split(os.pathsep)
        count = f"{len(folders)} folder{'s' if len(folders) > 1 else ''}"
        facts[key] = f"{count}, sha256:{hash_lines(folders)[:16]}" if any(folders) else None
    return facts


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

    def provide(self, name: str, progress: Say, *, packages: Path | None = None) -> Image:
        """See ``engine.Engine``.

        Raises:
            UsageError: there is no image of that name.
        """
        image = super().provide(name, progress, packages=packages)
        return replace(image, digests=[self._digest] if self._digest else [])

    def _describe_environment(self, name: str) -> Environment:
        laid = None if self._given else self._find_laid(name)
        if laid is None:
            return super()._describe_environment(name)
        python = laid / "venv" / "bin" / "python"
        interpreter = look_at(python)
        if interpreter is None:
            raise EngineError(
                f"{python} does not run", "take an image that `make images` has built, whole"
            )
        origin = "the image that it was started in; its digest is as given, not as observed"
        lock = find_spec(name).lock
        image = record_environment(f"{name_files(name)}-inside", interpreter, lock, origin)
        return Environment(image, interpreter, python, "of the image that this runs in")

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
        UsageError: it is not a digest.
    """
    text = environment.get(DIGEST)
    digest = _DIGEST.fullmatch(text) if text else None
    if text and digest is None:
        raise UsageError(
            f"{DIGEST}={text[:99]!r} is not a digest", "give sha256:… or NAME@sha256:…"
        )
    return digest[1] if digest else None


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
