"""The rows of docker/images.toml, with what their locks say: which images there are, and which can't be.

Knows no engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from suite.errors import ARM_BUILD, EngineError, UsageError
from suite.fingerprint import SUITE
from suite.model import family_of, name_files

DOCKER = SUITE.parent / "docker"

OLDEST = (3, 11)
"""The oldest Python that the worker runs on; a lock has wheels for it and later ones, up to its row's."""

OLDEST_TENSORFLOW = (2, 15)
"""The oldest TensorFlow that the worker was tried with."""


@dataclass(frozen=True, kw_only=True)
class ImageSpec:
    """What an image is to be made from: a row of images.toml, on another base where one was asked for.

    ``python`` is the version that the base has to have (empty: any), which the lock holds wheels for;
    ``tensorflow`` and ``keras`` the versions that the lock pins (None: none, or the lock is not there), with
    wheels for these ``processors``, as the kernel names them.  ``unfit`` says why the lock can't be this
    row's (empty: nothing speaks against it).  ``onednn``: whether TensorFlow computes by oneDNN.
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
    keras: str | None = None
    python: str = ""
    processors: tuple[str, ...] = ()
    unfit: str = ""
    onednn: bool = True
    dockerfile: Path = DOCKER / "Dockerfile"
    laid: bool = False


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
    try:
        text = spec.lock.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return replace(spec, unfit=f"can't be read: {error}")
    version, keras = _read_tensorflow(text), read_pin(text, "keras")
    return replace(spec, tensorflow=version, keras=keras, unfit=judge_lock(spec, text))


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
        (not version, "pins no TensorFlow"),
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
    if spec.unfit:
        raise UsageError(
            f"the lock of the arm {name} can't be its: docker/{spec.lock.name} {spec.unfit}",
            f"`{name_lock_command(name) or 'make lock'}` makes it anew; or mend its row in "
            "docker/images.toml",
        )
    if spec.tensorflow is None:
        raise UsageError(
            f"the lock of the arm {name} is not there: docker/{spec.lock.name}",
            f"`{name_lock_command(name) or 'make lock'}` makes it anew",
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
