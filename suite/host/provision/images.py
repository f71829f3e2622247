"""What an image is made from, as values: locks, Dockerfile and suite to a build plan, by content; or an image
that already holds Python and a GPU TensorFlow (CUDA_IMAGE), on which the suite is laid.

Pure apart from reading those files; knows no engine.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from suite import __version__, codec
from suite.errors import ARM_BUILD, VENDOR_IMAGE, EngineError, UsageError
from suite.fingerprint import SUITE, hash_lines, suite_content, worker_files
from suite.host.engine import LABEL
from suite.host.provision.debian_base import RELEASES, STAND_IN, name_stand_in
from suite.model import NOT_FROM_LOCK, Image, family_of, name_files

DOCKER = SUITE.parent / "docker"

OLDEST = (3, 11)
"""The oldest Python that the worker runs on; a lock has wheels for it and later ones, up to its row's."""

OLDEST_TENSORFLOW = (2, 15)
"""The oldest TensorFlow that the worker was tried with."""

PYTHON = "{python}"
"""What BASE_IMAGE may hold in the place of a Python's version, such as ``mirror/python:{python}-slim``."""

_INGREDIENTS = ("dockerfile", "lock", "base", "settings", "suite")

_LAST = {"settings", "suite"}
"""Those that come after the layer of packages."""


@dataclass(frozen=True, kw_only=True)
class ImageSpec:
    """What an image is to be made from: a row of images.toml, on another base where one was asked for.

    ``python`` is the version that the base has to have (empty: any), which the lock holds wheels for;
    ``tensorflow`` the version that the lock pins (None: the lock is not there), with wheels for these
    ``processors``, as the kernel names them.  ``unfit`` says why the lock can't be this row's (empty: nothing
    speaks against it).  ``onednn``: whether TensorFlow computes by oneDNN.
    ``free_bytes`` is the disk that a build needs at its peak, ``origin`` where the image comes from, for the
    record.  ``laid``: the packages are those that the base brings, and not the lock's (see `overlay_on`); the
    disk that it needs is then what the base takes.
    """

    name: str
    base: str
    lock: Path
    tensorflow: str | None
    gpu: bool
    free_bytes: int
    origin: str
    python: str = ""
    processors: tuple[str, ...] = ()
    unfit: str = ""
    onednn: bool = True
    dockerfile: Path = DOCKER / "Dockerfile"
    laid: bool = False


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


ARM = ("aarch64", "arm64")
"""What the kernel, and engines, call an ARM processor of 64 bits."""


_KERNELS = {"amd64": "x86_64", "arm64": "aarch64"}
"""Other names of processors, and what the kernel calls them."""

PROCESSORS = ("x86_64", "aarch64")
"""Those that some TensorFlow has wheels for; with CUDA the first alone."""


def no_cuda(architecture: str) -> str:
    """That the locked TensorFlow can't use a GPU on an ARM processor, for people."""
    return f"{architecture}: the locked TensorFlow is built without CUDA for this processor"


def name_processor(architecture: str) -> str:
    """What the kernel calls a processor, of how an engine or a kernel names it."""
    return _KERNELS.get(architecture, architecture)


def has_wheels(spec: ImageSpec, architecture: str) -> bool:
    """Whether the lock holds wheels for that processor, as an engine or a kernel names it."""
    return name_processor(architecture) in spec.processors


def no_wheels(spec: ImageSpec, architecture: str) -> tuple[str, str]:
    """That it does not, for people, and what to do next."""
    what = f"TensorFlow {spec.tensorflow}, which the arm {spec.name} runs, has no wheel for it"
    remedy = f"a machine with {' or '.join(spec.processors)}, or arms of other versions"
    return f"{architecture}: {what}", remedy


def demand_wheels(spec: ImageSpec, architecture: str) -> None:
    """Demands that an image can be made from the lock for that processor, and can use the GPU that it is for.

    Raises:
        EngineError: its TensorFlow has no wheel for that processor, or one without CUDA.
    """
    if spec.gpu and architecture in ARM:
        raise EngineError(no_cuda(architecture), ARM_BUILD)
    if not has_wheels(spec, architecture):
        raise EngineError(*no_wheels(spec, architecture))


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    base: str
    python: str
    lock: str
    gpu: bool
    free_gb: int
    processors: tuple[str, ...] | None = None
    onednn: bool = True


_NAME = re.compile(r"[a-z0-9]+(?:[.@-][a-z0-9]+)*")
"""A row's name is part of an image's, which has no capital letters."""

_LONGEST = 60
"""Characters of a row's name and of its lock's: those of documents and files have more behind it, and 200 are
the most there."""

_LOCK = re.compile(r"[A-Za-z0-9][\w.-]*\.txt", re.ASCII)
"""A lock is a file beside the table, from where a build takes it."""

_BASE = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")

_PYTHON = re.compile(r"3\.\d+", re.ASCII)

_DOCUMENT = re.compile(r"[@-](?:twin|again|hidden|\d{2}|r\d+)$")
"""What is added to an arm's name in the names of its controls and documents: ``cpu-twin-01-r1``."""

_OFFICIAL = re.compile(r"\bpython:(\d+\.\d+)")
"""The Python of an official image, by its name."""


def read_specs(path: Path = DOCKER / "images.toml") -> dict[str, ImageSpec]:
    """The images that there are, by name.

    Raises:
        EngineError: the table is not there or has a row that can't be understood.
    """
    try:
        table = msgspec.toml.decode(path.read_bytes(), type=dict[str, _Row])
        _judge_rows(table)
        return {
            name: _read_lock(
                ImageSpec(
                    name=name,
                    base=row.base,
                    lock=path.parent / row.lock,
                    tensorflow=None,
                    gpu=row.gpu,
                    free_bytes=row.free_gb * 10**9,
                    origin=f"built from docker/{row.lock}",
                    python=row.python,
                    processors=row.processors or PROCESSORS[: 1 if row.gpu else None],
                    onednn=row.onednn,
                )
            )
            for name, row in table.items()
        }
    except (OSError, ValueError, RecursionError) as error:
        raise EngineError(
            f"{path} does not say which images there are: {error!r}",
            "a clean checkout has it (`git status` shows what differs)",
        ) from error


def _judge_rows(table: Mapping[str, _Row]) -> None:
    """Raises ValueError of a row that can't work, or contradicts itself or another."""
    files: dict[str, str] = {}
    for name, row in table.items():
        if why := _find_fault(name, row, table):
            raise ValueError(f"{name[:99]!r}: {why}")
        if (other := files.setdefault(name_files(name), name)) != name:
            raise ValueError(f"the images of {name!r} and of {other!r} would have one name")


def _find_fault(name: str, row: _Row, table: Mapping[str, _Row]) -> str:
    """Why a row can't work; empty: it may."""
    family = family_of(name)
    plain = table.get(family)
    official = _OFFICIAL.search(row.base)
    python = _PYTHON.fullmatch(row.python) and count_version(row.python) >= OLDEST
    some = row.processors is None or (row.processors and {*row.processors} <= {*PROCESSORS})
    faults = (
        (not _NAME.fullmatch(name), "its name can't be part of an image's"),
        (len(name) > _LONGEST, f"its name has {len(name)} characters; {_LONGEST} are the most"),
        (
            _DOCUMENT.search(name),
            "its name ends as the documents of another arm's controls and blocks do",
        ),
        (not plain, f"there is no row {family!r}, of which it would be another version"),
        (not row.gpu and "cpu" not in name, "the name of a row without a GPU says cpu"),
        (plain and plain.gpu != row.gpu, f"it and {family!r} differ in having a GPU"),
        (
            not _BASE.fullmatch(row.base),
            f"its base {row.base[:99]!r} is not pinned by digest (…@sha256:…), as BASE_IMAGE need not be",
        ),
        (
            not _LOCK.fullmatch(row.lock) or len(row.lock) > _LONGEST + len(".txt"),
            f"its lock {row.lock[:99]!r} is not the name of a .txt file in docker",
        ),
        (
            not python,
            f"its python {row.python[:99]!r} is not a version such as 3.13, from {_name(OLDEST)} on",
        ),
        (
            official and official[1] != row.python,
            f"it is on {row.base} and says Python {row.python}",
        ),
        (row.free_gb <= 0, "free_gb is above 0"),
        (not some, f"processors are some of {', '.join(PROCESSORS)}"),
    )
    return next((fault for found, fault in faults if found), "")


def _name(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


def count_version(version: str) -> tuple[int, ...]:
    """The first two numbers of a version: 2 and 21 of ``2.21.0rc1``."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


_HEAD = "# Has wheels for Python "
"""How the line of a lock begins that `make lock` writes in front of what uv does."""

_PLACES = re.compile(rf"^{_HEAD}(.+)$", re.MULTILINE)


def write_places(places: Iterable[tuple[str, str]]) -> str:
    """The line of a lock that says for which Pythons and processors it has wheels, as `make lock` found them:
    ``# Has wheels for Python 3.13, 3.12 on x86_64; 3.13 on aarch64``."""
    pythons: dict[str, list[str]] = {}
    for python, processor in places:
        pythons.setdefault(processor, []).append(python)
    parts = (f"{', '.join(found)} on {processor}" for processor, found in pythons.items())
    return f"{_HEAD}{'; '.join(parts)}\n"


def _read_places(text: str) -> set[tuple[str, str]] | None:
    """The Pythons and processors of that line; None: a lock that somebody made by hand has none."""
    found = _PLACES.search(text)
    if found is None:
        return None
    parts = (part.partition(" on ") for part in found[1].split(";"))
    return {
        (python.strip(), processor.strip())
        for pythons, _, processor in parts
        for python in pythons.split(",")
    }


def _read_lock(spec: ImageSpec) -> ImageSpec:
    """The row with what its lock says, where that is there."""
    if not spec.lock.exists():
        return spec
    text = spec.lock.read_text(encoding="utf-8")
    version = _read_tensorflow(text)
    if version is None:
        raise ValueError(f"{spec.lock.name} pins no TensorFlow")
    return replace(spec, tensorflow=version, unfit=judge_lock(spec, text))


def read_pin(text: str, package: str) -> str | None:
    """The version of a package (a regular expression) that a lock pins; None: it pins none."""
    found = re.search(rf"^{package}==(\S+)", text, re.MULTILINE)
    return found[1] if found else None


def _read_tensorflow(text: str) -> str | None:
    return read_pin(text, r"tensorflow(?:-cpu|-gpu|-cpu-aws|-rocm)?")


def judge_lock(spec: ImageSpec, text: str) -> str:
    """Why a lock with that text can't be a row's; empty: nothing in it speaks against that.

    What it has wheels for is known where `make lock` wrote it there.
    """
    version = _read_tensorflow(text) or ""
    _, variable, wanted = read_name(spec.name) or ("", "", "")
    pinned = version if variable == "TENSORFLOW" else read_pin(text, "keras")
    places = _read_places(text)
    missing = [
        f"Python {spec.python} on {processor}"
        for processor in spec.processors
        if places is not None and (spec.python, processor) not in places
    ]
    faults = (
        (
            count_version(version) < OLDEST_TENSORFLOW,
            f"pins TensorFlow {version}; the oldest that can be measured is {_name(OLDEST_TENSORFLOW)}",
        ),
        (
            wanted and not f"{pinned}.".startswith(f"{wanted}."),
            f"pins {variable.lower()} {pinned}, and its name says {wanted}",
        ),
        (
            spec.gpu and read_pin(text, "tensorflow-cpu"),
            "pins a TensorFlow that is built without CUDA, and its row has a GPU",
        ),
        (missing, f"has no wheels for {' and '.join(missing)}, which its row is for"),
    )
    return next((fault for found, fault in faults if found), "")


def find_spec(name: str) -> ImageSpec:
    """The row of that name.

    Raises:
        UsageError: there is none, or its lock is not there or can't be its.
    """
    specs = read_specs()
    if name not in specs:
        raise UsageError(f"no image is called {name!r}", f"known are: {', '.join(specs)}")
    spec = specs[name]
    if spec.tensorflow is None:
        raise UsageError(
            f"the lock of the arm {name} is not there: docker/{spec.lock.name}",
            f"`{name_lock_command(name) or 'make lock'}` makes it anew",
        )
    if spec.unfit:
        raise UsageError(
            f"the lock of the arm {name} can't be its: docker/{spec.lock.name} {spec.unfit}",
            f"`{name_lock_command(name) or 'make lock'}` makes it anew; or mend its row in "
            "docker/images.toml",
        )
    return spec


_VERSION = r"\d+\.\d+(?:\.\d+)?"
_MADE = re.compile(rf"(?P<family>\w+)@(?P<keras>keras-)?(?P<version>{_VERSION})")
"""The name of an arm of which `make lock` makes the lock and the row."""


def read_name(name: str) -> tuple[str, str, str] | None:
    """Family, variable of ``make lock`` and its value of such a name: ``cpu``, ``KERAS`` and ``3.12`` of
    ``cpu@keras-3.12``; None: it is another."""
    found = _MADE.fullmatch(name)
    if found is None:
        return None
    return found["family"], "KERAS" if found["keras"] else "TENSORFLOW", found["version"]


def name_lock_command(name: str) -> str | None:
    """The command that makes the lock of an arm of that name; None: it would make none."""
    family, variable, version = read_name(name.removesuffix("-hidden")) or ("", "", "")
    old = variable == "TENSORFLOW" and count_version(version) < OLDEST_TENSORFLOW
    if not version or old or family not in read_specs():
        return None
    return f"make lock {variable}={version}"


def is_version(spec: ImageSpec) -> bool:
    """Whether the image's packages are others than those of its family's plain one."""
    plain = read_specs().get(family_of(spec.name), spec)
    return spec.lock.name != plain.lock.name


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


CUSTOM = "cuda"
"""The row of images.toml whose place such an image takes."""

WAYS_OUT = (
    f"name another image, such as CUDA_IMAGE={VENDOR_IMAGE} (what it takes: Python 3.11 or newer with "
    "TensorFlow 2.15 or newer, built with CUDA, all of it readable by any user); or leave CUDA_IMAGE "
    "out for the locked TensorFlow"
)

OTHER_TENSORFLOW = (
    f"name one with what is missing, such as CUDA_IMAGE={VENDOR_IMAGE} or another LOCAL_PYTHON; or leave "
    "both out for the locked TensorFlow"
)
"""What to do about a TensorFlow from elsewhere that the worker can't work with."""

_LACKS = {
    r"(?i)python3: (command )?(not found|permission denied)": (
        "it has no python3 on its PATH that any user may run"
    ),
    r"/bin/sh\W*: (stat|no such file)": (
        "it has no shell (/bin/sh), with which the suite's folders are made"
    ),
}
"""What it means where not even the worker's own check could run."""


def overlay_on(spec: ImageSpec, reference: str) -> ImageSpec:
    """That of a row of the table with CUDA_IMAGE: the suite on that image, and no lock."""
    return replace(
        spec,
        name=f"{spec.name}-laid",
        base=reference,
        dockerfile=DOCKER / "laid.Dockerfile",
        origin=f"the suite laid on {reference} (CUDA_IMAGE): not from the lock",
        python="",
        laid=True,
    )


def add_digest(reference: str, digests: Iterable[str]) -> str:
    """A reference with the digest by which its own registry knows what is here, so that it names
    the same image elsewhere and later.

    ``digests`` are the engine's, such as ``nvcr.io/nvidia/tensorflow@sha256:…``.  The reference as
    it is where none is of its repository: an image that was built here, or an image's id.
    """
    ours = (digest for digest in digests if _repository(digest) == _repository(reference))
    digest = None if is_pinned(reference) else next(ours, None)
    return f"{reference}@{digest.partition('@')[2]}" if digest else reference


def _repository(reference: str) -> str:
    # A colon in front of a slash is that of a port.
    name = re.sub(r"(@.*|:[^/]*)$", "", reference)
    return name.removeprefix("docker.io/").removeprefix("library/")


def refuse_custom(reference: str, where: str, text: str) -> EngineError:
    """The error for an image that is not here and not available; names the ways out."""
    registry, slash, _ = reference.partition("/")
    named = slash and ("." in registry or ":" in registry)
    login = f"`docker login {registry}`" if named else "`docker login`"
    return EngineError(
        f"the image {reference} (CUDA_IMAGE) is not in the engine ({where}) and can't be pulled: "
        f"{text}",
        f"`docker images` shows what is here, and `docker load` brings one from a file; {login} if "
        "the registry limits or wants it; or leave CUDA_IMAGE out for the locked TensorFlow",
    )


def explain_unfit(reference: str, text: str) -> EngineError | None:
    """The error for an image that can't carry the suite, from what its build said, or None.

    ``text`` is the end of the build's output, in which the worker's own check has left a record
    of what it found (see ``suite.worker.session.preflight``).
    """
    checked = [
        record for record in map(_read, text.splitlines()) if record.get("record") == "unfit"
    ]
    reasons = [str(record.get("reason")) for record in checked]
    reasons += [lack for pattern, lack in _LACKS.items() if re.search(pattern, text)]
    if not reasons:
        return None
    what = f"the suite can't be laid on {reference} (CUDA_IMAGE): {reasons[0]}"
    return EngineError(what, WAYS_OUT)


_OTHER_PYTHON = re.compile(r"this base has Python (\d+\.\d+)")


def explain_python(spec: ImageSpec, text: str) -> EngineError | None:
    """The error for a base with another Python, from what the build's first step said, or None."""
    found = _OTHER_PYTHON.search(text)
    return refuse_python(spec, found[1]) if found else None


def describe_check(line: str) -> str | None:
    """What a line of the build's output means to people: the record of a check that went well."""
    record = _read(line)
    if record.get("record") != "fit":
        return None
    return f"it holds {record.get('found')}, and the worker's first steps ran"


def _read(line: str) -> dict[str, Any]:
    try:
        return codec.parse_record(line)
    except ValueError:
        return {}
