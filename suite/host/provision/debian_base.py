"""A stand-in for the base image, from Debian packages alone, where no image registry is reachable.

Needs root and debootstrap, and works outside the engine; only the finished file system goes in.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from suite.errors import EngineError
from suite.host.engine import Say
from suite.host.provision.build_steps import run_step
from suite.procfs import read_text

STAND_IN = "crossover/base:stand-in"
"""The tag that ``make base`` gives its stand-in; never used without being asked for."""

RELEASES: Mapping[str, str] = {"3.13": "trixie", "3.11": "bookworm"}
"""The releases of Debian by the Python that they have; the first one's stand-in has the plain tag."""

_PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_BUNDLE = Path("etc/ssl/certs/ca-certificates.crt")
_MIRROR = re.compile(r"^\s*(?:deb\s|URIs:)(?:.*?[ \t])?(https?://\S+/debian/?)(?!\S)", re.MULTILINE)
_LEFT_OUT = ("./var/cache/apt/*", "./var/lib/apt/lists/*", "./var/log/*", "./usr/share/doc/*")


def name_stand_in(python: str) -> str:
    """The tag of the stand-in that has that Python."""
    return STAND_IN if python == next(iter(RELEASES)) else f"{STAND_IN}-{python}"


def find_release(python: str) -> str:
    """The release of Debian that has that Python.

    Raises:
        EngineError: none has it.
    """
    if python not in RELEASES:
        raise EngineError(
            f"no stand-in can be made with Python {python}: Debian's releases have {' and '.join(RELEASES)}",
            "BASE_IMAGE=… names an image that has it",
        )
    return RELEASES[python]


def find_mirror() -> str | None:
    """The Debian mirror that this machine's own apt uses; None: debootstrap's own choice."""
    apt = Path("/etc/apt")
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    texts = [read_text(file) for file in files if file.suffix in (".list", ".sources")]
    return next((found[1] for text in texts if (found := _MIRROR.search(text))), None)


@contextmanager
def make_files(name: str, release: str, progress: Say) -> Iterator[IO[bytes]]:
    """The file system of a stand-in of that name and release, as a tar stream.

    Raises:
        EngineError: it can't be made here: no root, no debootstrap, no mirror.
    """
    _check_tools()
    with _folder() as root:
        mirror = find_mirror()
        progress(f"base {name}: Debian {release} from apt's own mirror")
        run_step(
            [
                *("debootstrap", "--variant=minbase", f"--include={_PACKAGES}"),
                *(f"--keyring={_KEYRING}", release, str(root), *([mirror] if mirror else [])),
            ],
            f"base {name}",
            progress,
            "check that apt's mirror answers (`apt-get update`)",
        )
        # Where packages come through a certificate authority of the house, only its own bundle
        # knows it; pip inside would find "no matching distribution".
        bundle = Path("/") / _BUNDLE
        if bundle.exists():
            shutil.copyfile(bundle, root / _BUNDLE)
        archive = root.with_suffix(".tar")
        run_step(
            [
                *("tar", "-C", str(root), "--sort=name", "--numeric-owner"),
                *(f"--exclude={pattern}" for pattern in _LEFT_OUT),
                *("-cf", str(archive), "."),
            ],
            f"base {name}",
            progress,
            "look at the disk under /var/tmp",
        )
        with archive.open("rb") as file:
            yield file


def _check_tools() -> None:
    if not shutil.which("debootstrap"):
        raise EngineError(
            "debootstrap is not installed, and a stand-in base is made with it",
            "`sudo apt-get install debootstrap debian-archive-keyring`",
        )
    if not _KEYRING.exists():
        raise EngineError(
            f"Debian's signatures can't be checked: {_KEYRING} is missing",
            "`sudo apt-get install debian-archive-keyring`",
        )
    if os.geteuid() != 0:
        raise EngineError(
            "debootstrap needs root to make a file system", "`sudo .venv/bin/python -m suite base`"
        )


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="crossover-base-", dir="/var/tmp"))
    root = folder / "root"
    try:
        yield root
    finally:
        # An interrupted debootstrap can leave the machine's /proc mounted in there.
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
        if str(folder) not in mounts:
            shutil.rmtree(folder, ignore_errors=True)
