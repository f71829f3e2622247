"""A folder as one zip file and back.  What comes back may be anybody's: it is data, and nothing else."""

from __future__ import annotations

import contextlib
import io
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from suite.errors import DocumentError
from suite.safe_folder import MOST_BYTES, Folder

MOST_FILES, MOST_IN_ALL = 5_000, 512 * 2**20
"""A full campaign has some 200 files, and 40 MB."""

_BEGAN = (1980, 1, 1, 0, 0, 0)
"""The earliest time that the format knows, for every file: the same files, the same bytes."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

_ENCRYPTED = 0x1

_REMEDY = "Ask for the bundle once more, as `make bundle` writes it."


def pack(name: str, files: Mapping[str, bytes]) -> bytes:
    """The files in a folder of this name; no owner, no time, no order but that of their names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(files):
            entry = zipfile.ZipInfo(f"{name}/{path}", _BEGAN)
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[path], compresslevel=9)
    return buffer.getvalue()


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The folder that is meant: itself, or for as long as it is needed what a bundle holds.

    Raises:
        DocumentError: it is neither, or the bundle holds something else than files in one folder.
    """
    if not path.is_file():
        yield path
        return
    if path.stat().st_size > MOST_IN_ALL:
        _refuse(path.name, f"is larger than {MOST_IN_ALL >> 20} MiB, the most that is read")
    with tempfile.TemporaryDirectory(prefix="crossover-") as place:
        try:
            with zipfile.ZipFile(path) as archive:
                folder = Path(place) / _read_entries(path.name, archive, place)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise DocumentError(f"{path}: not a bundle: {error}", _REMEDY) from error
        yield folder


def _read_entries(bundle: str, archive: zipfile.ZipFile, place: str) -> str:
    """Writes every entry below a folder; the name of the one that all are in."""
    entries = archive.infolist()
    if not entries or len(entries) > MOST_FILES:
        _refuse(bundle, f"holds {len(entries)} files; 1 to {MOST_FILES} are read")
    room, names = MOST_IN_ALL, set[str]()
    with Folder.open(Path(place)) as folder:
        for entry in entries:
            _judge(bundle, entry)
            if entry.filename in names:
                _refuse(bundle, f"{entry.filename!r} stands in it twice")
            names.add(entry.filename)
            most = min(room, MOST_BYTES)
            with archive.open(entry) as file:
                # What an entry says of its size may be anything.
                content = file.read(most + 1)
            if len(content) > most:
                _refuse(bundle, f"{entry.filename!r} is larger than what is read of a bundle")
            room -= len(content)
            folder.write(entry.filename, content)
    tops = {name.partition("/")[0] for name in names}
    if len(tops) != 1:
        _refuse(bundle, "its files are not in one folder")
    return tops.pop()


def _judge(bundle: str, entry: zipfile.ZipInfo) -> None:
    """Refuses what is not a plain file below a folder."""
    name, kind = entry.filename, stat.S_IFMT(entry.external_attr >> 16)
    parts = name.split("/")
    if name != entry.orig_filename or not name.isprintable() or "\\" in name or ":" in name:
        _refuse(bundle, f"{entry.orig_filename!r} is not a valid file name")
    if len(parts) < 2 or {"", ".", ".."} & set(parts):
        _refuse(bundle, f"{name!r} leads outside its folder")
    if kind not in {0, stat.S_IFREG}:
        _refuse(bundle, f"{name!r} is a link, a folder or a device, not a file")
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
        _refuse(bundle, f"{name!r} is encrypted, or packed in a way that is not read")


def _refuse(bundle: str, complaint: str) -> None:
    raise DocumentError(f"{bundle}: {complaint}", _REMEDY)
