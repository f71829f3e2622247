"""The one door to a folder of documents: whatever is read from it or written into it goes through here.

Such a folder may come from anybody.  It is opened once, and everything in it is reached from there: no
link is followed, only regular files are opened, nothing waits for a writer, and files appear whole.
Paths are relative, with ``/`` between their parts.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from suite.errors import CrossoverError, DocumentError

MOST_BYTES = 16 * 2**20
"""No file that is read here is larger; the largest document of a full campaign has half a million."""

MEND = "Put the original file back, or remove it and measure again what it held (RESUME=…)."

_ROOM = "make room there, and RESUME=… goes on with a campaign"
_FULL = {errno.ENOSPC: _ROOM, errno.EDQUOT: _ROOM}
_FILES = "allow it more open files, as by `ulimit -n 1024`"
_MANY = {errno.EMFILE: _FILES, errno.ENFILE: _FILES}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY

_TEMPORARY = re.compile(r"\.(?P<of>.+)\.[a-z0-9_]{8}", re.DOTALL)
"""What a file is called while it is written; random letters behind its name."""

_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFREG: "a regular file",
}


class Folder:
    """An open folder.

    What is wrong with something in it is a `DocumentError` that names it and says what it is.
    """

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle
        self.close = weakref.finalize(self, os.close, handle)

    @classmethod
    def open(cls, path: Path) -> Folder:
        """The folder of this path, whose last part is not a link.

        Raises:
            DocumentError: there is none, or it can't be opened.
        """
        try:
            return cls(path, os.open(path, _FOLDER))
        except (OSError, ValueError) as error:
            kind = _tell_kind(path)
            what = "no such folder" + (f": it is {kind}" if kind else "")
            if isinstance(error, OSError) and kind == "a folder":
                what = f"{error.strerror}"
            remedy = "Name a campaign's folder, such as results/<campaign>."
            raise _refuse(error, f"{path}: {what}", remedy) from error

    def __enter__(self) -> Folder:  # noqa: PYI034  Self is newer than Python 3.10
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def names(self) -> list[str]:
        """What is in it, sorted.

        Raises:
            DocumentError: it can't be listed.
        """
        try:
            return sorted(os.listdir(self._handle))  # noqa: PTH208  by its handle
        except OSError as error:
            raise _refuse(error, f"{self.path}: {error.strerror}") from error

    def make(self, name: str) -> Folder:
        """A new folder in it.

        Raises:
            OSError: it is there already, or can't be made.
        """
        os.mkdir(name, dir_fd=self._handle)
        return Folder(self.path / name, os.open(name, _FOLDER, dir_fd=self._handle))

    def read(self, path: str) -> bytes:
        """A file's content.

        Raises:
            DocumentError: there is none, it is not a regular file, or larger than `MOST_BYTES`.
        """
        try:
            with self._reach(path) as (at, name):
                handle = _open_regular(at, name, path, _FILE)
                with os.fdopen(handle, "rb") as file:
                    content = file.read(min(os.fstat(handle).st_size, MOST_BYTES) + 1)
        except OSError as error:
            raise _refuse(error, f"{path}: {error.strerror} ({self.path / path})") from error
        if len(content) > MOST_BYTES:
            raise DocumentError(
                f"{path}: is larger than {MOST_BYTES >> 20} MiB, the most that is read", MEND
            )
        return content

    def write(self, path: str, content: str | bytes) -> None:
        """Replaces a file so that a reader, or a crash, sees the old content or the new one, whole.

        Raises:
            CrossoverError: it can't be written: no room, or no right to.
            DocumentError: something that is not a regular file stands there.
        """
        try:
            with self._reach(path, make=True) as (at, name):
                _demand_regular(at, name, path)
                _replace(at, name, content.encode() if isinstance(content, str) else content)
        except OSError as error:
            otherwise = "change who may write there, or name another folder"
            remedy = {**_FULL, **_MANY}.get(error.errno or 0, otherwise)
            raise CrossoverError(
                f"can't write {self.path / path}: {error.strerror}", remedy
            ) from error

    def append(self, path: str, text: str) -> None:
        """Adds to a file, or begins it.

        Raises:
            CrossoverError, DocumentError: as `read` and `write`.
        """
        old = self.read(path) if self.holds(path) else b""
        self.write(path, old + text.encode(errors="replace"))

    def holds(self, path: str) -> bool:
        """Whether something of this name is in it, whatever it is.

        Raises:
            DocumentError: the way to it leads over something that is not a folder.
        """
        with contextlib.suppress(OSError), self._reach(path) as (at, name):
            os.stat(name, dir_fd=at, follow_symlinks=False)
            return True
        return False

    def remove(self, path: str) -> None:
        """Removes a file, if it is there.

        Raises:
            CrossoverError: it can't be removed.
            DocumentError: something that is not a regular file stands there.
        """
        try:
            with self._reach(path) as (at, name):
                _demand_regular(at, name, path)
                os.unlink(name, dir_fd=at)
        except FileNotFoundError:
            return
        except OSError as error:
            raise CrossoverError(f"can't remove {self.path / path}: {error.strerror}") from error

    def open_lock(self, name: str, *, make: bool) -> IO[bytes]:
        """A file that only serves as a lock, made where it is not there if ``make``: for every user.

        Raises:
            DocumentError: something that is not a regular file stands there.
            OSError: it can't be opened.
        """
        flags = _FILE | os.O_RDWR
        if make:
            # Not opened with O_CREAT where it is there: in /tmp the kernel refuses that for another's file.
            with contextlib.suppress(FileExistsError):
                new = os.open(name, flags | os.O_CREAT | os.O_EXCL, dir_fd=self._handle)
                os.fchmod(new, 0o666)
                os.close(new)
        return os.fdopen(_open_regular(self._handle, name, name, flags), "r+b", buffering=0)

    def sweep(self, own: re.Pattern[str]) -> None:
        """Removes what killed writers left of files with such names.

        Who is still writing holds a lock on the file.
        """
        for entry in self.names():
            temporary = _TEMPORARY.fullmatch(entry)
            if temporary is None or not own.fullmatch(temporary["of"]):
                continue
            with contextlib.suppress(OSError, DocumentError):
                handle = _open_regular(self._handle, entry, entry, _FILE)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry, dir_fd=self._handle)
                finally:
                    os.close(handle)

    def inside(self, name: str) -> Folder:
        """A folder in it.

        Raises:
            DocumentError: it is none.
            FileNotFoundError: there is nothing of this name.
        """
        return Folder(self.path / name, _open_folder(self._handle, name, name))

    @contextlib.contextmanager
    def _reach(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The open folder that a path's last part is in, and that part.

        Raises:
            DocumentError: the path leads elsewhere, or over something that is not a folder.
            OSError: there is no such folder and it is not to be made, or it can't be.
        """
        *folders, name = path.split("/")
        if {"", ".", ".."} & {*folders, name} or "\0" in path:
            raise DocumentError(f"{path!r}: is not a valid file name in {self.path}", MEND)
        with contextlib.ExitStack() as opened:
            at = self._handle
            for depth, folder in enumerate(folders, 1):
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=at)
                at = _open_folder(at, folder, "/".join(folders[:depth]))
                opened.callback(os.close, at)
            yield at, name


def _refuse(error: OSError | ValueError, what: str, remedy: str = MEND) -> CrossoverError:
    """What is wrong with a folder, unless it is this process that may open nothing more."""
    if isinstance(error, OSError) and error.errno in _MANY:
        return CrossoverError(what, _MANY[error.errno])
    return DocumentError(what, remedy)


def _open_folder(at: int, name: str, path: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=at)
    except OSError as error:
        kind = _tell_kind(name, at)
        if kind is None or kind == "a folder":
            raise
        raise DocumentError(f"{path}: is {kind}, not a folder", MEND) from error


def _open_regular(at: int, name: str, path: str, flags: int) -> int:
    """A handle of a regular file; nothing else stays open, and nothing waits."""
    try:
        handle = os.open(name, flags, 0o666, dir_fd=at)
    except OSError:
        _demand_regular(at, name, path)
        raise
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise DocumentError(f"{path}: is {_tell_kind(name, at)}, not a regular file", MEND)


def _demand_regular(at: int, name: str, path: str) -> None:
    """Refuses what stands there and is not a regular file; nothing there is well."""
    kind = _tell_kind(name, at)
    if kind not in {None, "a regular file"}:
        raise DocumentError(f"{path}: is {kind}, not a regular file", MEND)


def _tell_kind(name: str | Path, at: int | None = None) -> str | None:
    """What stands there, in words; None: nothing, or nothing that can be seen."""
    try:
        mode = os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
    except (OSError, ValueError):
        return None
    return _KINDS.get(stat.S_IFMT(mode), "a device")


def _replace(at: int, name: str, content: bytes) -> None:
    temporary = f".{name}.{secrets.token_hex(4)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    handle = os.open(temporary, flags, 0o666, dir_fd=at)
    try:
        with os.fdopen(handle, "wb") as file:
            with contextlib.suppress(OSError):  # some file systems have no locks, and are not swept
                fcntl.flock(handle, fcntl.LOCK_EX)
            file.write(content)
            file.flush()
            os.fsync(handle)
            os.replace(temporary, name, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=at)
        raise
