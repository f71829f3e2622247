"""The manifest of a folder: the hash of every file in it, as ``sha256sum -c`` reads them.

It shows what has changed since it was written.  Whoever can write the folder can write it, too: only a
signature says whose it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Mapping

from suite.errors import DocumentError
from suite.safe_folder import Folder

MANIFEST = "manifest.sha256"
"""The file that holds it; it does not name itself."""

_LINE = re.compile(r"(?P<digest>[0-9a-f]{64}) [ *](?P<name>[^\\\n\r\0]+)")


def hash_content(content: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def write_lines(hashes: Mapping[str, str]) -> str:
    """The manifest of these hashes by path, sorted."""
    return "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes))


def read_lines(content: bytes) -> dict[str, str]:
    """The hashes of a manifest, by path.

    Raises:
        DocumentError: a line is not one of a manifest, or names a file for the second time.
    """
    hashes: dict[str, str] = {}
    for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None or match["name"] in hashes:
            what = "names a file twice" if match else "is not a hash and a name"
            raise DocumentError(
                f"{MANIFEST}: line {number} {what}", "put back the manifest that was there"
            )
        hashes[match["name"]] = match["digest"]
    return hashes


OWN = {
    ".": re.compile(
        r"(campaign|summary|why)\.json|[\w.-]+-\d{2,}(-r\d+)?\.json|brief\.md|(report|why)\.(md|html)"
        r"|cells\.csv|manifest\.sha256",
        re.ASCII,
    ),
    "evidence": re.compile(
        r"(given-)?(nvidia-smi|dcgmi|nvbandwidth)(-\d{1,2})?\.(xml|json|txt)", re.ASCII
    ),
    "logs": re.compile(r"[\w.-]+-\d{2,}\.log", re.ASCII),
    "plots": re.compile(r"[\w-]+\.(svg|png)", re.ASCII),
    "sbom": re.compile(r"[\w.-]+\.cdx\.json", re.ASCII),
}
"""The names that this program gives to files in a campaign's folder, by the folder in it."""


def list_own(door: Folder) -> list[str]:
    """The files of a campaign's folder that this program names, by their path in it; no manifest.

    Raises:
        DocumentError: what should be a folder in it is not one.
    """
    names = []
    for part, own in OWN.items():
        with contextlib.suppress(FileNotFoundError), door.inside(part) as inner:
            names += [f"{part}/{name}" for name in inner.names() if own.fullmatch(name)]
    return sorted({name.removeprefix("./") for name in names} - {MANIFEST})


class Pins:
    """The manifest of an open folder, as one who writes in it keeps it."""

    def __init__(self, door: Folder) -> None:
        self._door = door
        self._touched: set[str] = set()
        self._open: set[str] = set()

    def touch(self, name: str) -> None:
        """Something was written or removed."""
        self._touched.add(name)

    def open(self, name: str) -> None:
        """A file is going to change for a while: it has no hash, so that a crash leaves no wrong one."""
        if name not in self._open:
            self._open.add(name)
            self.write()

    def close(self, name: str) -> None:
        """It is as it stays."""
        self._open.discard(name)
        self.write()

    def write(self) -> None:
        """Brings the manifest up to date.

        The hash of a file that somebody else has changed stays as it was.  A folder without a manifest
        gets one of everything in it.
        """
        own = list_own(self._door)
        old = read_lines(self._door.read(MANIFEST)) if self._door.holds(MANIFEST) else None
        fresh = set(own) if old is None else self._touched & set(own)
        gone = (self._touched - set(own)) | self._open
        lines = {name: digest for name, digest in (old or {}).items() if name not in gone}
        for name in fresh - self._open:
            lines[name] = hash_content(self._door.read(name))
        if lines != old:
            self._door.write(MANIFEST, write_lines(lines))
        self._touched.clear()
