"""The images' hash locks: those of every row of docker/images.toml anew, or those of one more TensorFlow or
Keras, which gets its rows there.

Runs uv and pip of this environment; the only file that writes docker/images.toml.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.version import Version

from suite.errors import CrossoverError, NotInstalledError, UsageError
from suite.host.engine import Say
from suite.host.provision.image_table import (
    DOCKER,
    OLDEST,
    OLDEST_TENSORFLOW,
    PROCESSORS,
    ImageSpec,
    count_version,
    judge_lock,
    name_lock_command,
    read_name,
    read_pin,
    read_specs,
    write_places,
)
from suite.host.provision.sbom import list_packages
from suite.model import family_of, name_files
from suite.safe_folder import Folder

FAMILIES = ("cpu", "cuda")
"""Whose arms a version gets."""

_COMPILE = (
    *("uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-emit-index-url"),
    *(
        "--no-emit-find-links",
        "--only-binary",
        ":all:",
        "--python-version",
        "{}.{}".format(*OLDEST),
    ),
)

_FIT = ("uv", "pip", "compile", "--quiet", "--no-deps", "--only-binary", ":all:", "-")

_LIBC = "manylinux_2_36"
"""The oldest libc of a base, that of the stand-in from Debian bookworm, as uv names a platform."""

_WHEELS = ("manylinux2014", "manylinux_2_17", "manylinux_2_27", "manylinux_2_28")
"""What TensorFlow's wheels have been built for, for pip, which knows no later one from an earlier."""


_UNREACHED = re.compile(r"^\s*Could not fetch URL (.*?)(?: - skipping)?$", re.MULTILINE)
"""What pip says of an index that gave it no page of a package."""

_ABSENT = re.compile(r": 404 Client Error")
"""An answer: this one has no such package."""

Places = list[tuple[str, str]]
"""Pythons and processors."""


def renew_locks(say: Say) -> None:
    """Resolves the lock of every row anew, and says which became others.

    Raises:
        CrossoverError: one can't be resolved, or does not fit its row any more; those before it are renewed.
    """
    done = set()
    for name, spec in read_specs().items():
        if spec.lock not in done:
            _write({spec.lock: _make_lock(name, spec, {}, say)[1]})
            done.add(spec.lock)


def add_version(variable: str, version: str, say: Say) -> None:
    """Makes the locks of a version, and their rows where there are none: all of them, or nothing;
    ``variable`` is TENSORFLOW or KERAS.

    Raises:
        UsageError: it is no version, or there is no such one, or the worker can't run on it.
        CrossoverError: it can't be resolved, or has no wheels for a Python that there is a base for.
    """
    kind = "keras-" if variable == "KERAS" else ""
    if read_name(f"cpu@{kind}{version}") is None:
        raise UsageError(f"{variable}={version!r} is not a version", f"such as {variable}=2.18")
    _demand_release(variable, version)
    rows, made = read_specs(), dict[str, str]()
    specs = []
    for family in FAMILIES:
        name = f"{family}@{kind}{version}"
        spec, text = _make_lock(name, rows.get(name), made, say)
        specs.append(spec)
        made[spec.lock.name] = text
    table = DOCKER / "images.toml"
    added = "".join(f"\n{write_row(spec)}" for spec in specs if spec.name not in rows)
    before = table.read_text(encoding="utf-8").rstrip("\n")
    # The table is the last: a lock without its row is nobody's arm.
    _write({DOCKER / name: text for name, text in made.items()})
    if added:
        _write({table: f"{before}\n{added}"})


def _write(files: Mapping[Path, str]) -> None:
    """Writes files, each whole or not at all."""
    with Folder.open(DOCKER) as folder:
        for path, text in files.items():
            folder.write(path.name, text)


def _demand_release(variable: str, version: str) -> None:
    """Demands that a version was released, for a Python that there is a base for, and is none too old.

    Raises:
        UsageError: it was not, or is.
        CrossoverError: the package index does not answer.
    """
    pythons = _list_pythons()
    releases, unreached = list_versions(
        "keras" if variable == "KERAS" else "tensorflow-cpu", pythons
    )
    oldest = OLDEST_TENSORFLOW if variable == "TENSORFLOW" else ()
    usable = [release for release in releases if count_version(release) >= oldest]
    numbers = version.count(".") + 1
    short = dict.fromkeys(".".join(release.split(".")[:numbers]) for release in usable)
    remedy = f"there are {', '.join(short)}"
    if count_version(version) < oldest:
        raise UsageError(
            f"{variable}={version}: the oldest TensorFlow that can be measured is "
            f"{'.'.join(map(str, OLDEST_TENSORFLOW))}",
            remedy,
        )
    if any(f"{release}.".startswith(f"{version}.") for release in usable):
        return
    if unreached:
        raise CrossoverError(
            f"{variable}={version} is not among what could be asked ({', '.join(short) or 'nothing'}), and "
            f"a package index does not answer: {unreached}",
            ASK_PIP,
        )
    raise UsageError(
        f"{variable}={version}: no such version has wheels for Python {' or '.join(pythons)}",
        remedy,
    )


ASK_PIP = "`.venv/bin/python -m pip config list` shows which one is asked"


def list_versions(package: str, pythons: Sequence[str]) -> tuple[list[str], str]:
    """The released versions of a package that have wheels for one of these Pythons, the oldest first; and
    what pip said of an index that did not answer, where another place did (empty: all did).

    Raises:
        CrossoverError: no package index answers.
    """
    found: set[str] = set()
    unreached = ""
    for python in pythons:
        platforms = (f"--platform={libc}_x86_64" for libc in _WHEELS)
        asked = _run(
            (
                # Why it got no page of an index it says only when it says all.
                *("pip", "--disable-pip-version-check", "-vv", "--retries=1"),
                *("index", "versions", package),
                *("--only-binary=:all:", f"--python-version={python}", *platforms),
            )
        )
        listed = re.search(r"^Available versions: (.*)$", asked.stdout, re.MULTILINE)
        found.update(listed[1].split(", ") if listed else ())
        told = (why for why in _UNREACHED.findall(asked.stdout) if not _ABSENT.search(why))
        unreached = next(told, unreached)
    if not found:
        raise CrossoverError(
            f"the package index does not answer for {package}: {unreached or _tell(asked)}", ASK_PIP
        )
    return sorted(found, key=Version), unreached


def _list_pythons() -> list[str]:
    """The Pythons that there are bases for, the newest first."""
    return sorted({spec.python for spec in read_specs().values()}, key=Version, reverse=True)


def _make_lock(
    name: str, row: ImageSpec | None, made: Mapping[str, str], say: Say
) -> tuple[ImageSpec, str]:
    """A row, the one that there is or a new one, and its lock, resolved anew and held against it; ``made``
    are those of the same version."""
    if row is not None and read_name(name) is None:
        spec, text = row, _resolve_group(row)
        places = _find_places(spec, text)
    else:
        spec, text, places = _fit_version(name, row, made)
    pins = {
        pin["name"].removesuffix("-cpu"): pin["version"]
        for pin in list_packages(text, spec.python, PROCESSORS[0])
    }
    versions = ", ".join(f"{name} {pins[name]}" for name in ("tensorflow", "keras", "numpy"))
    text = write_places(places) + text
    before = spec.lock.read_text(encoding="utf-8") if spec.lock.exists() else None
    change = "new" if before is None else _tell_change(before, text)
    processors = " and ".join(spec.processors)
    say(f"docker/{spec.lock.name}: {versions}; for Python {spec.python} on {processors}; {change}")
    return spec, text


def _tell_change(before: str, after: str) -> str:
    """What a lock pins otherwise than before, for people."""
    was, now = (
        set(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)) for text in (before, after)
    )
    changes = []
    for name in sorted({name for name, _ in was ^ now}):
        versions = (
            ", ".join(sorted(version for package, version in pins if package == name)) or "none"
            for pins in (was - now, now - was)
        )
        changes.append(f"{name} {' → '.join(versions)}")
    same = "as before" if before == after else "the same versions, the file changed"
    return ", ".join(changes) or same


def _fit_version(
    name: str, row: ImageSpec | None, made: Mapping[str, str]
) -> tuple[ImageSpec, str, Places]:
    """A version's row and lock, and where that fits: of a new one the newest Python that it fits and that
    there is a base of, on all processors if it may be.

    Raises:
        CrossoverError: it fits none.
    """
    specs = read_specs()
    plain = specs[family_of(name)]
    bases = {spec.python: spec.base for spec in reversed(specs.values())}
    lock = DOCKER / f"{name_files(name)}.txt"
    candidates = [
        replace(plain, name=name, lock=lock, python=python, base=bases[python], processors=fewer)
        for python in _list_pythons()
        for fewer in dict.fromkeys((plain.processors, plain.processors[:1]))
    ]
    trouble = None
    for spec in candidates if row is None else [row]:
        text, places, trouble = _try_version(spec, plain, made)
        if trouble is None:
            return spec, text, places
    raise trouble or CrossoverError(f"there is no base for {name}")


def _try_version(
    spec: ImageSpec, plain: ImageSpec, made: Mapping[str, str]
) -> tuple[str, Places, CrossoverError | None]:
    """The lock of a row, where that fits, and why it does not fit the row; None: it does."""
    try:
        text = _resolve_version(spec, plain, made)
        return text, _find_places(spec, text), None
    except CrossoverError as error:
        return "", [], error


def _resolve_group(spec: ImageSpec) -> str:
    """The lock of a row that is no version's, from the group worker-NAME in pyproject.toml; with the versions
    of the CPU's where that one has them."""
    alike = () if spec.lock.name == "cpu.txt" else ("--constraint", "docker/cpu.txt")
    group = (
        "--group",
        f"worker-{spec.name}",
        "--upgrade",
        "--custom-compile-command",
        "nox -s lock",
    )
    return _compile(spec, (*group, *alike), DOCKER.parent)


def _resolve_version(spec: ImageSpec, plain: ImageSpec, made: Mapping[str, str]) -> str:
    """The lock of a version's row: with the packages of its family's ``plain`` one where it may, so that
    nothing else differs; what is for a GPU with those of the CPU's lock of this version, which is among
    ``made`` or there."""
    family, variable, version = read_name(spec.name) or ("", "", "")
    exactly = f"=={version}" if version.count(".") == 2 else f"=={version}.*"
    of_tensorflow = exactly if variable == "TENSORFLOW" else ""
    words = ["-", "--custom-compile-command", str(name_lock_command(spec.name))]
    # For other systems it may ask for packages that are not there any more.
    newer = f"3.{int(spec.python.partition('.')[2]) + 1}"
    alone = f" and platform_machine == '{spec.processors[0]}'" if len(spec.processors) == 1 else ""
    kind = "platform_python_implementation == 'CPython' and sys_platform == 'linux'"
    within = f"python_full_version < '{newer}'{alone} and {kind}"
    with tempfile.TemporaryDirectory(prefix="crossover-") as place:
        here = Path(place)
        (here / "docker").mkdir()
        (here / "pyproject.toml").write_text(f'[tool.uv]\nenvironments = ["{within}"]\n')
        cpu = DOCKER / spec.lock.name.replace(family, "cpu", 1)
        if cpu != spec.lock and (cpu.name in made or cpu.exists()):
            pinned = made.get(cpu.name) or cpu.read_text(encoding="utf-8")
            (here / "docker" / cpu.name).write_text(pinned, encoding="utf-8")
            words += ["--constraint", f"docker/{cpu.name}"]
            of_tensorflow = f"=={read_pin(pinned, 'tensorflow-cpu')}"
        wanted = [package.format(of_tensorflow) for package in _list_packages(spec)]
        wanted += [f"keras{exactly}"] if variable == "KERAS" else []
        text = _compile(spec, words, here, "\n".join(wanted), plain.lock)
    return text.replace(f" ; {within}", "")


def _list_packages(spec: ImageSpec) -> Sequence[str]:
    """What an index calls a row's TensorFlow, with a place for the version: the smaller package has no wheels
    for ARM, where the other is as small."""
    if spec.gpu:
        return ("tensorflow[and-cuda]{}",)
    if PROCESSORS[1] not in spec.processors:
        return ("tensorflow-cpu{}",)
    arm = f"platform_machine == '{PROCESSORS[1]}'"
    return (f"tensorflow-cpu{{}} ; {arm.replace('==', '!=')}", f"tensorflow{{}} ; {arm}")


def _compile(
    spec: ImageSpec, words: Sequence[str], here: Path, wanted: str = "", like: Path | None = None
) -> str:
    """What uv makes of these words and requirements in a folder: a lock as ``like`` another one as it may be.

    Raises:
        CrossoverError: there is none.
    """
    with tempfile.TemporaryDirectory(prefix="crossover-") as place:
        made = Path(place) / "lock.txt"
        if like is not None:
            made.write_bytes(like.read_bytes())
        ran = _run((*_COMPILE, *words, "--output-file", str(made)), wanted, here)
        if ran.returncode:
            raise CrossoverError(
                f"no lock of {spec.name} for Python {spec.python} can be made: {_tell(ran)}",
                "name another version; or see what pyproject.toml asks for",
            )
        return made.read_text(encoding="utf-8")


def _find_places(spec: ImageSpec, text: str) -> Places:
    """The Pythons, up to its row's, and processors of its row that all that a lock pins has wheels for.

    On the usual processor the older Pythons will do where there is no container.

    Raises:
        CrossoverError: it has none for the row's own Python on one of them, or for an older one on the usual
            one; or it can't be this row's at all.
    """
    if spec.gpu and not re.search("^nvidia-", text, re.MULTILINE):
        raise CrossoverError(
            f"{spec.name}: this TensorFlow does not bring CUDA as packages", "name one from 2.15 on"
        )
    if why := judge_lock(spec, text):
        raise CrossoverError(f"{spec.name}: the lock {why}", "name another version")
    newest = int(spec.python.partition(".")[2])
    places = []
    for minor in range(newest, OLDEST[1] - 1, -1):
        for processor in spec.processors:
            trouble = _find_trouble(text, python := f"3.{minor}", processor)
            if trouble and (minor == newest or processor == PROCESSORS[0]):
                raise CrossoverError(
                    f"{spec.name}: on Python {python} and {processor}, {trouble}",
                    f"`python` and `processors` of the row {spec.name} in docker/images.toml have to be "
                    "those that all its packages have wheels for",
                )
            places += [] if trouble else [(python, processor)]
    return places


def _find_trouble(text: str, python: str, processor: str) -> str:
    """Why what a lock pins can't be installed there; empty: it can."""
    platform = ("--python-version", python, "--python-platform", f"{processor}-{_LIBC}")
    ran = _run((*_FIT, *platform), text)
    return _tell(ran) if ran.returncode else ""


def write_row(spec: ImageSpec) -> str:
    """A row of the table as a person would write it."""
    lines = [
        f'["{spec.name}"]',
        f'base = "{spec.base}"',
        f'python = "{spec.python}"',
        f'lock = "{spec.lock.name}"',
        f"gpu = {str(spec.gpu).lower()}",
        f"free_gb = {spec.free_bytes // 10**9}",
    ]
    if not spec.gpu and spec.processors != PROCESSORS:
        lines.append(f"processors = {json.dumps(spec.processors)}")
    return "\n".join(lines) + "\n"


def _run(
    words: Sequence[str], text: str = "", here: Path = DOCKER
) -> subprocess.CompletedProcess[str]:
    """A module of this environment, run in a folder.

    Raises:
        NotInstalledError: it is not there.
    """
    ran = subprocess.run(
        [sys.executable, "-m", *words],
        input=text,
        capture_output=True,
        text=True,
        cwd=here,
        check=False,
    )
    if "No module named uv" in ran.stderr:
        raise NotInstalledError("uv", "dev")
    return ran


def _tell(ran: subprocess.CompletedProcess[str]) -> str:
    """What a program said of its trouble, on one line."""
    return " ".join(re.sub(r"[×╰─▶│]", " ", ran.stderr).split()) or f"exit code {ran.returncode}"
