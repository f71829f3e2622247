"""What an image is made from, as values: lock, Dockerfile and suite to a build plan, by content.

Pure apart from reading those files; knows no engine.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from suite import __version__
from suite.errors import EngineError
from suite.fingerprint import SUITE, hash_lines, suite_content, worker_files
from suite.host.engine import LABEL
from suite.host.provision.debian_base import RELEASES, STAND_IN, name_stand_in
from suite.host.provision.image_table import DOCKER, ImageSpec, read_specs
from suite.model import NOT_FROM_LOCK, Image, name_files

PYTHON = "{python}"
"""What BASE_IMAGE may hold in the place of a Python's version, such as ``mirror/python:{python}-slim``."""

_INGREDIENTS = ("dockerfile", "lock", "base", "settings", "suite")

_LAST = {"settings", "suite"}
"""Those that come after the layer of packages."""


@dataclass(frozen=True, kw_only=True)
class BuildPlan:
    """Everything that decides a build, and nothing that doesn't.

    ``base`` and ``lock`` are as the record has them.  ``tag`` has a hash of it all; ``labels`` carry the
    hashes that it is made of, on the image, so that a later run can say what has changed.
    """

    tag: str
    base: str
    lock: str
    labels: Mapping[str, str]
    arguments: Mapping[str, str]


def follow(spec: ImageSpec, base: str | None = None) -> ImageSpec:
    """That of a row of the table; ``base`` (BASE_IMAGE) takes the place of the pinned one: the plain stand-in
    means the one with the row's Python, and ``{python}`` that Python's version."""
    if not base:
        return spec
    base = name_stand_in(spec.python) if base == STAND_IN else base.replace(PYTHON, spec.python)
    origin = f"{spec.origin} on a base that was asked for (BASE_IMAGE)"
    return replace(spec, base=base, origin=origin)


def demand_python(spec: ImageSpec, labels: Mapping[str, str], environment: Iterable[str]) -> None:
    """Demands that a base has the row's Python, by what it says: our stand-in's label, or the variable of
    official images (``NAME=value``).  One that says nothing is looked at in the first step of the build.

    Raises:
        EngineError: it has another one.
    """
    releases = {release: python for python, release in RELEASES.items()}
    values = dict(entry.partition("=")[::2] for entry in environment)
    said = releases.get(labels.get(f"{LABEL}.release", "")) or values.get("PYTHON_VERSION", "")
    found = ".".join(said.split(".")[:2])
    if found and spec.python and found != spec.python:
        raise refuse_python(spec, found)


def refuse_python(spec: ImageSpec, found: str) -> EngineError:
    """The error for a base with that Python, which is not the row's; names the ways out."""
    return EngineError(
        f"the base {spec.base} has Python {found}, and the lock of the arm {spec.name} is for Python "
        f"{spec.python}",
        f"BASE_IMAGE=… with {PYTHON} in the place of the version, such as mirror/python:{PYTHON}-slim, or "
        f"BASE_IMAGE={STAND_IN} (`{name_base_command(spec.python)}` makes it): each arm then gets its own",
    )


def name_base_command(python: str) -> str:
    """The command that makes the stand-in with that Python."""
    if name_stand_in(python) == STAND_IN:
        return "make base"
    names = [name for name, spec in read_specs().items() if spec.python == python]
    return f'make base ARMS="{names[0]}"' if names else "make base"


KEPT = 1 / 3
"""The share of the disk which building an image takes that the image keeps: of the CPU's 5 GB 1.3, of CUDA's
20 GB 5.8."""


def count_room(rooms: Iterable[int]) -> int:
    """The free disk that building several images takes, the largest first, by what each takes alone; in
    bytes."""
    left, most = 0.0, 0.0
    for room in sorted(rooms, reverse=True):
        most = max(most, left + room)
        left += KEPT * room
    return round(most)


def add_packages(name: str, image: Image, lock: Path) -> ImageSpec:
    """That of an image of ours with the packages of somebody's hash lock besides."""
    return ImageSpec(
        name=f"{name}-packages",
        base=image.id,
        lock=lock,
        tensorflow=None,
        gpu=False,
        free_bytes=10**9,
        origin=f"{image.origin}, with the packages of {lock_identity(lock)}",
        dockerfile=DOCKER / "packages.Dockerfile",
    )


def is_pinned(reference: str) -> bool:
    """Whether a reference names content, so that nobody need look it up to know what it is."""
    return "@sha256:" in reference


def identify_base(spec: ImageSpec) -> str | None:
    """What the base is, where its reference says it; None: only an engine that has it knows."""
    if not is_pinned(spec.base):
        return None
    # Under whichever name an image of somebody else's is fetched, its digest says what it is.
    return spec.base.rpartition("@")[2] if spec.laid else spec.base


def lock_identity(lock: Path | None) -> str:
    """``cpu.txt@sha256:…``: a lock's name and content, for the record."""
    if lock is None:
        return NOT_FROM_LOCK
    return f"{lock.name}@sha256:{hashlib.sha256(lock.read_bytes()).hexdigest()}"


def name_base(base: str, identity: str) -> str:
    """A base for the record: as what it was asked for, and what that was where a name is not an identity."""
    return base if base.endswith(identity) else f"{base} ({identity})"


def identify_packages(base: str, lock: str) -> str:
    """The hash of all that an image holds beside the suite; both as the record has them."""
    return hash_lines([base, lock])


def plan_build(
    spec: ImageSpec, *, base_identity: str, architecture: str, suite: Path = SUITE
) -> BuildPlan:
    """How to build an image, and the hash that it is cached by.

    ``base_identity`` is what the base is, as opposed to what it is called: its digest, or the
    engine's id of it.  ``architecture`` is the engine's, since a digest can stand for several.
    """
    ingredients = {
        "dockerfile": hashlib.sha256(spec.dockerfile.read_bytes()).hexdigest(),
        "lock": hashlib.sha256(b"" if spec.laid else spec.lock.read_bytes()).hexdigest(),
        "base": hash_lines([base_identity, architecture]),
        "settings": f"onednn={int(spec.onednn)}",
        "suite": suite_content(suite),
    }
    whole = hash_lines(f"{name} {ingredients[name]}" for name in _INGREDIENTS)
    base, lock = (
        name_base(spec.base, base_identity),
        lock_identity(None if spec.laid else spec.lock),
    )
    return BuildPlan(
        tag=f"crossover/{name_files(spec.name)}:{whole[:12]}",
        base=base,
        lock=lock,
        labels={
            LABEL: "image",
            f"{LABEL}.image": spec.name,
            f"{LABEL}.inputs": whole,
            f"{LABEL}.packages": identify_packages(base, lock),
            **{f"{LABEL}.{name}": ingredients[name] for name in _INGREDIENTS},
            "org.opencontainers.image.version": __version__,
            "org.opencontainers.image.base.name": spec.base,
        },
        arguments={
            "BASE": spec.base,
            **({} if spec.laid else {"LOCK": spec.lock.name}),
            **({"PYTHON": spec.python, "ONEDNN": str(int(spec.onednn))} if spec.python else {}),
        },
    )


def find_changes(plan: BuildPlan, labels: Mapping[str, str]) -> list[str]:
    """Which ingredients are others than those of the image that has these labels."""
    return [n for n in _INGREDIENTS if labels.get(f"{LABEL}.{n}") != plan.labels[f"{LABEL}.{n}"]]


def has_layers(plan: BuildPlan, known: Iterable[Mapping[str, str]]) -> bool:
    """Whether one of the ``known`` images (their labels) has the layer of packages: the large one."""
    return any(set(find_changes(plan, labels)) <= _LAST for labels in known)


def explain_build(plan: BuildPlan, known: Iterable[Mapping[str, str]]) -> str:
    """Why nothing can be reused: which ingredients differ from the closest of the ``known`` images
    (the labels of those that this project built before)."""
    changes = [
        find_changes(plan, labels)
        for labels in known
        if labels.get(f"{LABEL}.image") == plan.labels[f"{LABEL}.image"]
    ]
    if not changes:
        return "none was built yet"
    nearest = min(changes, key=len)
    return f"changed since the last one: {', '.join(nearest)}" if nearest else "asked to"


def build_context(spec: ImageSpec, *, suite: Path = SUITE) -> bytes:
    """The build context as an uncompressed tar: sorted, with fixed times, owners and modes, so
    that the same files give the same bytes and the engine's cache holds."""
    files = {"Dockerfile": spec.dockerfile}
    if not spec.laid:
        files[f"docker/{spec.lock.name}"] = spec.lock
    for path in worker_files(suite):
        files[f"suite/{path.relative_to(suite).as_posix()}"] = path
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(files):
            content = files[name].read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o644
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


_OTHER_PYTHON = re.compile(r"this base has Python (\d+\.\d+)")


def explain_python(spec: ImageSpec, text: str) -> EngineError | None:
    """The error for a base with another Python, from what the build's first step said, or None."""
    found = _OTHER_PYTHON.search(text)
    return refuse_python(spec, found[1]) if found else None
