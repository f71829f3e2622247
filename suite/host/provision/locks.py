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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from packaging.version import Version

from suite.errors import CrossoverError, NotInstalledError, UsageError
from suite.host.engine import Say
from suite.host.provision.images import (
    DOCKER,
    OLDEST,
    PROCESSORS,
    ImageSpec,
    name_lock_command,
    read_name,
    read_specs,
)
from suite.host.provision.sbom import list_packages
from suite.model import family_of, name_files

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


def renew_locks(say: Say) -> None:
    """Resolves the lock of every row anew.

    Raises:
        CrossoverError: one can't be resolved, or does not fit its row any more.
    """
    done = set()
    for name, spec in read_specs().items():
        if spec.lock not in done:
            _make_lock(name, spec, say)
            done.add(spec.lock)


def add_version(variable: str, version: str, say: Say) -> None:
    """Makes the locks of a version, and their rows where there are none; ``variable`` is TENSORFLOW or KERAS.

    Raises:
        UsageError: it is no version, or there is no such one.
        CrossoverError: it can't be resolved, or has no wheels for a Python that there is a base for.
    """
    kind = "keras-" if variable == "KERAS" else ""
    if read_name(f"cpu@{kind}{version}") is None:
        raise UsageError(f"{variable}={version!r} is not a version", f"such as {variable}=2.18")
    pythons = _list_pythons()
    known = list_versions("keras" if kind else "tensorflow-cpu", pythons)
    if not any(f"{one}.".startswith(f"{version}.") for one in known):
        numbers = version.count(".") + 1
        short = dict.fromkeys(".".join(one.split(".")[:numbers]) for one in known)
        raise UsageError(
            f"{variable}={version}: no such version has wheels for Python {' or '.join(pythons)}",
            f"there are {', '.join(short)}",
        )
    for family in FAMILIES:
        name = f"{family}@{kind}{version}"
        _make_lock(name, read_specs().get(name), say)


def list_versions(package: str, pythons: Sequence[str]) -> list[str]:
    """The released versions of a package that have wheels for one of these Pythons, the oldest first.

    Raises:
        CrossoverError: the package index does not answer.
    """
    found: set[str] = set()
    for python in pythons:
        platforms = (f"--platform={libc}_x86_64" for libc in _WHEELS)
        asked = _run(
            (
                *(
                    "pip",
                    "--disable-pip-version-check",
                    "--retries=1",
                    "index",
                    "versions",
                    package,
                ),
                *("--only-binary=:all:", f"--python-version={python}", *platforms),
            )
        )
        listed = re.search(r"^Available versions: (.*)$", asked.stdout, re.MULTILINE)
        found.update(listed[1].split(", ") if listed else ())
    if not found:
        raise CrossoverError(
            f"the package index does not answer for {package}: {_tell(asked)}",
            "`.venv/bin/python -m pip config list` shows which one is asked",
        )
    return sorted(found, key=Version)


def _list_pythons() -> list[str]:
    """The Pythons that there are bases for, the newest first."""
    return sorted({spec.python for spec in read_specs().values()}, key=Version, reverse=True)


def _make_lock(name: str, row: ImageSpec | None, say: Say) -> None:
    """Resolves a lock, holds it against its row, and makes the row where there is none."""
    if row is not None and read_name(name) is None:
        spec, text = row, _resolve_group(row)
        _demand_fit(spec, text)
    else:
        spec, text = _fit_version(name, row)
    spec.lock.write_text(text, encoding="utf-8")
    if row is None:
        table = DOCKER / "images.toml"
        rows = table.read_text(encoding="utf-8").rstrip("\n")
        table.write_text(f"{rows}\n\n{write_row(spec)}", encoding="utf-8")
    pins = {
        pin["name"].removesuffix("-cpu"): pin["version"]
        for pin in list_packages(text, spec.python, PROCESSORS[0])
    }
    versions = ", ".join(f"{name} {pins[name]}" for name in ("tensorflow", "keras", "numpy"))
    processors = " and ".join(spec.processors)
    say(f"docker/{spec.lock.name}: {versions}; for Python {spec.python} on {processors}")


def _fit_version(name: str, row: ImageSpec | None) -> tuple[ImageSpec, str]:
    """A version's row and lock: of a new one the newest Python that it fits and that there is a base of, on
    all processors if it may be.

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
        text, trouble = _try_version(spec, plain)
        if trouble is None:
            return spec, text
    raise trouble or CrossoverError(f"there is no base for {name}")


def _try_version(spec: ImageSpec, plain: ImageSpec) -> tuple[str, CrossoverError | None]:
    """The lock of a row, and why it does not fit it; None: it does."""
    try:
        text = _resolve_version(spec, plain)
        _demand_fit(spec, text)
    except CrossoverError as error:
        return "", error
    return text, None


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


def _resolve_version(spec: ImageSpec, plain: ImageSpec) -> str:
    """The lock of a version's row: with the packages of its family's ``plain`` one where it may, so that
    nothing else differs; what is for a GPU with those of the CPU's lock of this version."""
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
        if cpu != spec.lock and cpu.exists():
            pinned = cpu.read_text(encoding="utf-8")
            (here / "docker" / cpu.name).write_text(pinned, encoding="utf-8")
            words += ["--constraint", f"docker/{cpu.name}"]
            of_tensorflow = f"=={_find_pin(pinned, 'tensorflow-cpu')}"
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


def _demand_fit(spec: ImageSpec, text: str) -> None:
    """Demands that all that a lock pins has wheels for its row, and on the usual processor for the older
    Pythons that will do where there is no container.

    Raises:
        CrossoverError: something has none.
    """
    if spec.gpu and not re.search("^nvidia-", text, re.MULTILINE):
        raise CrossoverError(
            f"{spec.name}: this TensorFlow does not bring CUDA as packages", "name one from 2.15 on"
        )
    newest = int(spec.python.partition(".")[2])
    fits = [(spec.python, processor) for processor in spec.processors]
    fits += [(f"3.{minor}", PROCESSORS[0]) for minor in range(OLDEST[1], newest)]
    for python, processor in fits:
        if trouble := _find_trouble(text, python, processor):
            raise CrossoverError(
                f"{spec.name}: on Python {python} and {processor}, {trouble}",
                f"`python` and `processors` of the row {spec.name} in docker/images.toml have to be those "
                "that all its packages have wheels for",
            )


def _find_trouble(text: str, python: str, processor: str) -> str:
    """Why what a lock pins can't be installed there; empty: it can."""
    platform = ("--python-version", python, "--python-platform", f"{processor}-{_LIBC}")
    ran = _run((*_FIT, *platform), text)
    return _tell(ran) if ran.returncode else ""


def _find_pin(text: str, package: str) -> str:
    """The version of a package that a lock pins."""
    found = re.search(rf"^{package}==(\S+)", text, re.MULTILINE)
    assert found is not None  # noqa: S101  it is what the lock was made for
    return found[1]


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
