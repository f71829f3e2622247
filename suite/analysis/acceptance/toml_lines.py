"""On which line of a TOML text what stands: the parsers of the standard library and of msgspec don't say.

For texts that one of those has taken already, so that nothing here is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

Path = tuple[str | int, ...]
"""The way to a value: names of tables and keys, and places in arrays."""

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_QUOTED = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\])*"|\'[^\']*\'', re.DOTALL
)
_KEY = re.compile(rf"[A-Za-z0-9_-]+|{_QUOTED.pattern}", re.DOTALL)
_BARE = re.compile(r"[^,\]}#\n]*")


def find_lines(text: str) -> Mapping[Path, int]:
    """The line, from 1 on, of every table, key and item of an array, by the way to it; of a table that
    several headers speak of, that of the first."""
    return _Reader(text).read()


class _Reader:
    """Goes through a text once, from its first character to its last."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines: dict[Path, int] = {}
        self.last: dict[Path, int] = {}

    def read(self) -> Mapping[Path, int]:
        table: Path = ()
        while self._skip():
            if self._take("[["):
                table = self._read_header(array=True)
            elif self._take("["):
                table = self._read_header(array=False)
            else:
                self._read_pair(table)
        return self.lines

    def _skip(self) -> bool:
        """Past blanks, ends of lines and comments; whether anything is left."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at < len(self.text)

    def _take(self, letters: str) -> bool:
        taken = self.text.startswith(letters, self.at)
        self.at += len(letters) if taken else 0
        return taken

    def _mark(self, path: Path) -> Path:
        self.lines.setdefault(path, self.text.count("\n", 0, self.at) + 1)
        return path

    def _read_names(self) -> list[str]:
        names: list[str] = []
        while True:
            self._skip()
            found = _KEY.match(self.text, self.at)
            if found is None:
                return names
            self.at = found.end()
            names.append(_unquote(found[0]))
            self._skip()
            if not self._take("."):
                return names

    def _read_header(self, *, array: bool) -> Path:
        here = self.at
        *way, name = self._read_names()
        behind, self.at = self.at, here
        path: Path = ()
        for part in way:
            path = self._mark((*path, part))
            path = (*path, self.last[path]) if path in self.last else path
        path = self._mark((*path, name))
        if array:
            self.last[path] = self.last.get(path, -1) + 1
            path = self._mark((*path, self.last[path]))
        elif path in self.last:
            path = (*path, self.last[path])
        self.at = behind
        self._take("]]" if array else "]")
        return path

    def _read_pair(self, table: Path) -> None:
        here = self.at
        names = self._read_names()
        behind, self.at = self.at, here
        path = table
        for name in names:
            path = self._mark((*path, name))
        self.at = max(behind, here + 1)
        self._take("=")
        self._read_value(path)

    def _read_value(self, path: Path) -> None:
        self._skip()
        if self._take("{"):
            while self._skip() and not self._take("}"):
                if not self._take(","):
                    self._read_pair(path)
        elif self._take("["):
            place = 0
            while self._skip() and not self._take("]"):
                if not self._take(","):
                    self._read_value(self._mark((*path, place)))
                    place += 1
        else:
            found = _QUOTED.match(self.text, self.at) or _BARE.match(self.text, self.at)
            self.at = max(found.end() if found else self.at, self.at)


def _unquote(name: str) -> str:
    """A key as it is meant."""
    return next(iter(msgspec.toml.decode(f"{name} = 0"))) if name[0] in "\"'" else name
