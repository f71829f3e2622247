"""What comes in of a person's: the script's folder as an archive, its data as a mount, its lock by its hash.

Reads files of the person's; writes none.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from suite.errors import UsageError
from suite.host.campaign.options import Options
from suite.host.engine import Engine, Volume
from suite.host.provision.images import lock_identity
from suite.input_limits import LONGEST_TEXT
from suite.model import PLAN
from suite.model.why import Script

MOST_BYTES = 256 * 2**20
"""Of a script's folder: each run gets a copy of its own, in memory."""

MOST_FILES = 20_000
"""A folder with more holds something that no script of a person's reads from beside it."""

SMALL_BYTES = 2**20
"""What lies beside a script in a folder for everything comes in up to this size."""

_LEFT_OUT = ("__pycache__", "node_modules")
"""Folders that no training reads, beside hidden ones, environments and campaigns."""

_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta", PLAN)
"""A folder that holds one of these is an environment's, or a campaign's."""

_OWN_PLACES = re.compile(
    r"/|/(bin|boot|dev|etc|home|lib\w*|opt|root|run|sbin|sys|tmp|usr|var)|/(dev|proc|sys|opt/crossover)(/.*)?"
)
"""What a container has of its own, and must not be hidden from it."""

_GIVEN = ("numpy", "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly")
"""Packages that an arm is about."""


@dataclass(frozen=True, kw_only=True)
class Brought:
    """A script as a value, its folder as a tar archive, the folder of its data, and what to say to people."""

    script: Script
    archive: bytes
    data: Path | None
    note: str = ""


def bring(options: Options) -> Brought:
    """What comes in of the script that was asked about.

    Raises:
        UsageError: a file or a folder is missing, unfit or too large.
    """
    asked, data, lock = options.script, options.data, options.requirements
    if asked is None or not asked.is_file():
        raise UsageError(
            f"SCRIPT={asked}: there is no such file", "name a Python file or a notebook"
        )
    if data is not None and not data.is_dir():
        raise UsageError(f"DATA={data}: there is no such folder", "name a folder")
    asked, data = _name_whole(asked), data and _name_whole(data)
    path = asked.resolve()
    content = path.read_bytes()
    if path.suffix == ".ipynb":
        path, content = path.with_name(f"{path.name}.py"), _join_cells(content, asked)
    if options.include_script and len(content) > LONGEST_TEXT:
        raise UsageError(
            f"INCLUDE_SCRIPT: {asked} has {len(content)} bytes; {LONGEST_TEXT} is the most",
            "leave INCLUDE_SCRIPT out: its hash is kept in any case",
        )
    archive = _pack(path, content, data and _find_beside(asked, data), data)
    script = Script(
        name=path.name,
        arguments=list(options.args),
        content=hashlib.sha256(content).hexdigest(),
        folder=hashlib.sha256(archive).hexdigest(),
        requirements=None if lock is None else _judge_lock(lock),
        data=data is not None,
        text=content.decode(errors="replace") if options.include_script else None,
    )
    note = (
        f"{asked.name} lies in a folder for everything: only what lies right beside it came in, up to "
        f"{SMALL_BYTES >> 20} MB a file; a folder of its own comes in whole"
    )
    note = note if _is_crowded(path.parent) else ""
    return Brought(script=script, archive=archive, data=data, note=note)


def _join_cells(content: bytes, asked: Path) -> bytes:
    """The code of a notebook as a script."""
    try:
        cells = [cell for cell in json.loads(content)["cells"] if cell["cell_type"] == "code"]
        texts = [f"# cell {n}\n{''.join(cell['source'])}\n" for n, cell in enumerate(cells, 1)]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"SCRIPT={asked} is not a valid notebook: {error!r}", "save it anew, as version 4"
        ) from error
    return "\n".join(texts).encode()


def _judge_lock(lock: Path) -> str:
    """What a lock is called in the record.

    Raises:
        UsageError: it is missing, has no hashes, or brings another TensorFlow.
    """
    if not lock.is_file():
        raise UsageError(f"REQUIREMENTS={lock}: there is no such file", "name a hash lock")
    text = lock.read_text(encoding="utf-8", errors="replace")
    if "--hash=" not in text:
        raise UsageError(
            f"REQUIREMENTS={lock} has no hashes",
            f"`uv pip compile --generate-hashes {lock.name} -o lock.txt`, then REQUIREMENTS=lock.txt",
        )
    names = map(canonicalize_name, re.findall(r"^(\w[\w.-]*)", text, re.MULTILINE))
    if given := sorted({*names} & {*_GIVEN}):
        raise UsageError(
            f"REQUIREMENTS={lock} brings {' and '.join(given)}, which the arm itself has",
            "remove these from the lock; CUDA_IMAGE or LOCAL_PYTHON take another TensorFlow",
        )
    return lock_identity(lock)


def mount_data(data: Path, engine: Engine) -> Volume:
    """The folder of the data as a volume that can only be read, at its own place.

    Raises:
        UsageError: the engine is, or may be, elsewhere; or a container can't have or read the folder.
    """
    if engine.isolation == "container":
        if engine.is_here is not True:
            raise UsageError(
                f"DATA={data}: this engine is not proven to be on this machine, whose folders it then can't "
                "mount",
                "put the data into the script's folder, or run this on the engine's machine",
            )
        if _OWN_PLACES.fullmatch(str(data)):
            raise UsageError(
                f"DATA={data} would hide a container's own folder", "name a folder in it"
            )
        if data.stat().st_mode & 0o005 != 0o005:
            raise UsageError(
                f"DATA={data} can't be read by everybody, and a script runs as nobody in particular",
                f"`chmod -R o+rX {data}`",
            )
    return Volume(
        name="data",
        target=str(data),
        variable="DATA",
        purpose="data",
        read_only=True,
        folder=data.resolve(),
    )


def _is_crowded(folder: Path) -> bool:
    """Whether a folder holds everything there is, and not a script with what belongs to it."""
    places = [Path.home().resolve(), Path(tempfile.gettempdir()).resolve()]
    return any(folder == place or folder in place.parents for place in places)


def _name_whole(path: Path) -> Path:
    """A path from the root, by the names that it was given; links are not followed."""
    return Path(os.path.normpath(path.absolute()))


def _find_beside(script: Path, data: Path) -> Path | None:
    """Where the data are in the script's folder, by the name or by what it stands for; None: elsewhere."""
    for place, file in ((data, script), (data.resolve(), script.resolve())):
        if file.parent in place.parents:
            return script.resolve().parent / place.relative_to(file.parent)
    return None


def _pack(script: Path, content: bytes, beside: Path | None, data: Path | None) -> bytes:
    """The script's folder as an uncompressed tar, with fixed times and owners: the script has this content,
    and what is ``beside`` it is a link to the data.

    Raises:
        UsageError: it is too large, or a file can't be read.
    """
    folder, buffer = script.parent, io.BytesIO()
    files = {*_list_files(folder, beside), script}
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for number, file in enumerate(sorted(files)):
            inside = file.relative_to(folder).as_posix()
            entry = tarfile.TarInfo(inside)
            entry.size = len(content) if file == script else file.stat().st_size
            entry.mode = 0o755 if os.access(file, os.X_OK) else 0o644
            if number >= MOST_FILES or buffer.tell() + entry.size > MOST_BYTES:
                raise UsageError(
                    f"the script's folder {folder} holds more than {MOST_BYTES >> 20} MB or {MOST_FILES} "
                    f"files; the last one looked at was {inside}",
                    "name the folder of the data: DATA=…, which is read where it is; or move the script",
                )
            try:
                with io.BytesIO(content) if file == script else file.open("rb") as stream:
                    tar.addfile(entry, stream)
            except OSError as error:
                what = f"{file} in the script's folder can't be read: {error.strerror or error}"
                raise UsageError(what, "allow it, or move it away") from error
        if beside is not None:
            entry = tarfile.TarInfo(beside.relative_to(folder).as_posix())
            entry.type, entry.linkname = tarfile.SYMTYPE, str(data)
            tar.addfile(entry)
    return buffer.getvalue()


def _list_files(folder: Path, beside: Path | None) -> Iterator[Path]:
    """The regular files that come in, links to such among them; of a folder for everything, what lies right
    in it, is small, and can be read."""
    crowded = _is_crowded(folder)
    for place, folders, names in os.walk(folder):
        inner = [Path(place, name) for name in folders if not crowded]
        folders[:] = [f.name for f in inner if f != beside and _comes_in(f)]
        for file in (Path(place, name) for name in names):
            if file.is_file() and not (crowded and _is_strange(file)):
                yield file


def _comes_in(folder: Path) -> bool:
    left_out = folder.name.startswith(".") or folder.name in _LEFT_OUT
    return not left_out and not any((folder / name).exists() for name in _ENVIRONMENTS)


def _is_strange(file: Path) -> bool:
    """Whether a file in a folder for everything need not have to do with the script."""
    large = file.suffix != ".py" and file.stat().st_size > SMALL_BYTES
    return large or not os.access(file, os.R_OK)
