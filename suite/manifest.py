"""The manifest of a folder: the hash of every file in it, as ``sha256sum -c`` reads them.

It shows what has changed since it was written.  Whoever can write the folder can write it, too: only a
signature says whose it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from suite.errors import DocumentError

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
        DocumentError: a line is none, or names a file for the second time.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None or match["name"] in found:
            what = "names a file twice" if match else "is no hash and name"
            raise DocumentError(
                f"{MANIFEST}: line {number} {what}", "put back the manifest that was there"
            )
        found[match["name"]] = match["digest"]
    return found
