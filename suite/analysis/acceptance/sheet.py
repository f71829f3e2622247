"""A sheet of requirements: TOML that a person wrote, and on which line what stands.

Whatever makes no sense is refused with its line: an unknown key, a unit that does not fit, a requirement
that can't fail.  Whether a campaign has what it names, `judge` sees.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from suite.analysis.acceptance.quantities import (
    QuantityError,
    Wanted,
    read_amount,
    read_money,
    read_size_along,
    read_wanted,
)
from suite.analysis.acceptance.toml_lines import find_lines
from suite.analysis.result.acceptance import Side, What
from suite.analysis.result.versions import VERSION_PARTS
from suite.errors import CrossoverError, UsageError
from suite.input_limits import LONGEST_NAME, RANGES
from suite.manifest import hash_content
from suite.safe_folder import Folder

WHATS: tuple[What, ...] = get_args(What)

_OF_CELLS = frozenset(
    {"rate", "time", "first_call", "price", "spread", "as_fast_as", "slower_than", "faster_from"}
)
"""What is asked of cells."""

_QUANTITIES = frozenset(
    {
        *("rate", "time", "first_call", "price", "spread", "expected", "noise_floor"),
        *("at_least", "at_most", "by"),
    }
)
"""Keys whose text has a unit."""

_EXPECTED = re.compile(r"\w+ products|memory|copy (?:to|from) the device")
"""Of what a figure is published."""

_SHARES = ("expected", "noise_floor", "spread")

_OF_ARMS = _OF_CELLS | {"expected", "fact"}

_MOST: Mapping[What, float] = {
    "time": RANGES["call"].most,
    "first_call": RANGES["seconds"].most,
    "noise_floor": 1.0,
    "spread": 10.0,
}
"""What nothing is over."""

MOST_LINES = 200
"""Requirements of a sheet."""


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One ``[[require]]``: what is wanted, of which cells and arm, and the lines of its keys.

    ``cell`` means one cell, ``every`` all that match, and ``part`` a part of what two versions take.
    ``bound`` is in the units of the analysis, ``base`` another campaign, ``than`` the arm that the ratio is
    to.  ``of`` is the name of a fact, a rate's unit of work, an axis, or a quantity of which a figure is
    published.
    """

    what: What
    wanted: str
    side: Side
    strict: bool = False
    bound: float | None = None
    scale: float = 1.0
    unit: str = ""
    of: str = ""
    clause: str = ""
    cell: str = ""
    every: str = ""
    arm: str = ""
    base: str = ""
    than: str = ""
    part: str = ""
    rest: Wanted | None = None
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_gate(self) -> bool:
        """Whether it asks of all that another campaign or arm has, and names no cell."""
        return self.what == "slower_than" and not (self.cell or self.every or self.part)

    def find_line(self, *keys: str) -> int:
        """The line of the first of these keys that is there, or that it begins on."""
        return next((self.lines[key] for key in keys if key in self.lines), self.lines[""])


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The requirements of a file, which is called ``name`` and has this SHA-256."""

    name: str
    digest: str
    title: str
    signed_by: tuple[str, ...]
    requirements: tuple[Requirement, ...]


class SheetError(UsageError):
    """A line of a sheet that is refused."""

    def __init__(self, name: str, line: int, what: str, remedy: str = "") -> None:
        super().__init__(f"{name}, line {line}: {what}", remedy)


def read_sheet(path: Path) -> Sheet:
    """The requirements of a file.

    Raises:
        SheetError: something in it is refused.
        UsageError: it can't be read.
    """
    try:
        with Folder.open(path.parent) as folder:
            content = folder.read(path.name)
    except CrossoverError as error:
        raise UsageError(
            f"REQUIRE={path.name}: {error.what}", "name a sheet, such as docs/sheets/buyer.toml"
        ) from error
    return parse_sheet(path.name, content)


def parse_sheet(name: str, content: bytes) -> Sheet:
    """The requirements of a text, which is called ``name``; raises what `read_sheet` does."""
    try:
        text = content.decode("utf-8-sig")
        table = msgspec.toml.decode(text)
    except (ValueError, RecursionError) as error:
        found = re.search(r"line (\d+)", str(error))
        # Without a line it is that of a byte, or the end of the text.
        start = getattr(error, "start", len(content.rstrip()))
        line = int(found[1]) if found else content[:start].count(b"\n") + 1
        raise SheetError(
            name,
            line,
            f"this is not TOML: {error}",
            "save it as plain text in UTF-8"
            if isinstance(error, UnicodeDecodeError)
            else "each key stands once; a line [[require]] begins another requirement"
            if "overwrite" in str(error)
            else 'a text stands in straight quotation marks, as in arm = "cuda"; docs/accept.md has a '
            "sheet to begin with",
        ) from error
    lines = find_lines(text)
    _refuse_unknown(name, lines, (), table, ("title", "signed_by", "require"))
    rows = table.get("require")
    if not rows:
        raise SheetError(
            name,
            lines.get(("require",), 1),
            "the sheet is empty: it requires nothing",
            "add a [[require]]",
        )
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise SheetError(
            name,
            lines[("require",)],
            "require is not a list of tables",
            "begin each with a line [[require]]",
        )
    if len(rows) > MOST_LINES:
        raise SheetError(
            name,
            lines["require", MOST_LINES],
            f"there are {len(rows)} requirements, and {MOST_LINES} are the most",
            "split the sheet: each requirement widens the intervals of all others",
        )
    signed = table.get("signed_by", [])
    if not isinstance(signed, list) or len(signed) > 10:
        raise SheetError(
            name,
            lines[("signed_by",)],
            "signed_by is not a list of names",
            'such as ["Buyer", "Vendor"]',
        )
    return Sheet(
        name=name,
        digest=hash_content(content),
        title=_read_text(name, lines, ("title",), table.get("title", "")),
        signed_by=tuple(
            _read_text(name, lines, ("signed_by", i), who) for i, who in enumerate(signed)
        ),
        requirements=tuple(
            _Row(name, lines, number, row).read() for number, row in enumerate(rows)
        ),
    )


def _refuse_unknown(
    name: str,
    lines: Mapping[Any, int],
    path: tuple[str | int, ...],
    table: Mapping[str, Any],
    known: Iterable[str],
) -> None:
    listed = list(known)
    for key in table:
        if key not in listed:
            raise SheetError(
                name,
                _find_line(lines, *path, key),
                f"unknown key {key!r}",
                f"known here are: {', '.join(listed)}",
            )


def _find_line(lines: Mapping[Any, int], *path: str | int) -> int:
    return lines[path]


def _read_text(
    name: str, lines: Mapping[Any, int], path: tuple[str | int, ...], value: object
) -> str:
    if isinstance(value, str) and len(value) <= LONGEST_NAME and value.isprintable():
        return value
    key = next(part for part in reversed(path) if isinstance(part, str))
    if isinstance(value, str):
        raise SheetError(
            name, lines[path], f"{key}: one line of at most {LONGEST_NAME} characters is wanted"
        )
    shown = str(value).lower()[:99]
    raise SheetError(
        name,
        lines[path],
        f"{key}: {shown} is not a text",
        "one text in quotation marks is wanted"
        if isinstance(value, list | dict)
        else 'write quotation marks around it, and the unit inside: "at least 12 TFLOP/s"'
        if key in _QUANTITIES
        else f'write quotation marks around it: {key} = "{shown}"',
    )


class _Row:
    """One ``[[require]]`` while it is read."""

    def __init__(
        self, name: str, lines: Mapping[Any, int], number: int, row: Mapping[str, Any]
    ) -> None:
        self.name, self.all_lines, self.row = name, lines, row
        self.path: tuple[str | int, ...] = ("require", number)
        self.lines = {"": lines[self.path]}
        self.lines |= {key: _find_line(lines, *self.path, key) for key in row}

    def read(self) -> Requirement:
        whats = [what for what in WHATS if what in self.row]
        known = ("clause", "cell", "every", "arm", *WHATS)
        known += ("is",) * ("fact" in whats) + ("of",) * ("expected" in whats)
        known += ("part",) * ("slower_than" in whats)
        _refuse_unknown(self.name, self.all_lines, self.path, self.row, known)
        if len(whats) != 1:
            line = self.lines[whats[1]] if whats else self.lines[""]
            raise SheetError(
                self.name,
                line,
                f"{' and '.join(whats)} are two requirements"
                if whats
                else "it does not say what is required",
                "begin another [[require]] for the second"
                if whats
                else f"one of: {', '.join(WHATS)}",
            )
        (what,) = whats
        for key, kinds in (("cell", _OF_CELLS), ("every", _OF_CELLS), ("arm", _OF_ARMS)):
            if key in self.row and what not in kinds:
                raise SheetError(
                    self.name,
                    self.lines[key],
                    f"{key} says nothing about {what}",
                    f"leave {key} out",
                )
        if "cell" in self.row and "every" in self.row:
            raise SheetError(
                self.name,
                max(self.lines["cell"], self.lines["every"]),
                "cell means one cell, and every all that match: both were given",
                "leave one of them out",
            )
        if what in _OF_CELLS - {"slower_than"} and not {"cell", "every"} & {*self.row}:
            raise SheetError(
                self.name,
                self.lines[what],
                f"{what}: of which cell?",
                'add cell = "…" (`make list` shows their ids), or every = "…" for all that match',
            )
        try:
            fields = self._read_what(what)
        except QuantityError as error:
            raise SheetError(
                self.name, self.lines[what], f"{what}: {error.what}", error.remedy
            ) from error
        keys = ("clause", "cell", "every", "arm", "part")
        texts = {key: self._text(key) for key in keys if key in self.row}
        for key, text in texts.items():
            if not text.strip():
                raise SheetError(self.name, self.lines[key], f"{key} is empty", f"leave {key} out")
        if "part" in texts:
            self._demand_part(texts, fields)
        return Requirement(**{"what": what, "lines": self.lines, **texts, **fields})

    def _demand_part(self, texts: Mapping[str, str], fields: Mapping[str, Any]) -> None:
        """Refuses a part that is none, or is not asked of two arms of one campaign alone."""
        line = self.lines["part"]
        if texts["part"] not in VERSION_PARTS:
            raise SheetError(
                self.name,
                line,
                f"part: {texts['part']!r} is none",
                f"one of: {', '.join(VERSION_PARTS)}",
            )
        if both := {"cell", "every"} & {*texts}:
            raise SheetError(
                self.name,
                line,
                f"part and {' and '.join(sorted(both))} say two things",
                "leave one of them out",
            )
        if fields["base"] or not fields["than"]:
            raise SheetError(
                self.name,
                line,
                "part: parts are told of two versions in one campaign",
                'such as slower_than = { arm = "cpu@2.20", by = "5 %" }',
            )

    def _text(self, key: str, *inner: str) -> str:
        path: tuple[str | int, ...] = (*self.path, key, *inner)
        value = self.row[key]
        for part in inner:
            value = value[part]
        return _read_text(self.name, self.all_lines, path, value)

    def _read_what(self, what: What) -> dict[str, Any]:
        if what in {"as_fast_as", "slower_than"}:
            return self._read_ratio(what)
        text = self._text(what)
        if what == "fact":
            return self._read_fact(text)
        if what == "faster_from":
            axis, size = read_size_along(text)
            return {"wanted": text, "side": "at least", "of": axis, "bound": size}
        if what in {"controls", "machine"}:
            word = {"controls": "held", "machine": "sound"}[what]
            if text != word:
                raise QuantityError(
                    f"{text!r} is not what can be wanted of it", f'write {what} = "{word}"'
                )
            return {"wanted": text, "side": "exactly"}
        wanted = read_wanted(text)
        if wanted.side == "exactly":
            raise QuantityError(
                f"{text!r}: nothing that is measured is exactly a number", "say at least or at most"
            )
        fields: dict[str, Any] = {"wanted": text, "side": wanted.side, "strict": wanted.strict}
        if what == "price":
            amount, currency = read_money(wanted.rest)
        else:
            measures = {"rate": "rate"} | dict.fromkeys(_SHARES, "share")
            amount, currency = read_amount(wanted.rest, measures.get(what, "time")), ""
        _refuse_unfailing(what, wanted, amount.value)
        of = self._text("of") if what == "expected" and "of" in self.row else amount.of
        if what == "expected" and of and not _EXPECTED.fullmatch(of):
            raise SheetError(
                self.name,
                self.lines["of"],
                f"of: nothing is expected of {of!r}",
                'such as "fp32 products", "memory", "copy to the device" or "copy from the device"',
            )
        unit = currency or amount.unit
        return {**fields, "bound": amount.value, "scale": amount.scale, "unit": unit, "of": of}

    def _read_fact(self, text: str) -> dict[str, Any]:
        if "is" not in self.row:
            raise QuantityError(f"{text!r}: it does not say what that has to be", 'add is = "…"')
        wish = self._text("is")
        if not wish.strip():
            raise QuantityError(f"{text!r}: is = {wish!r} is empty", 'such as is = "at least 555"')
        wanted = read_wanted(wish, bare=True)
        return {
            "wanted": wish,
            "side": wanted.side,
            "strict": wanted.strict,
            "of": text,
            "rest": wanted,
        }

    def _read_ratio(self, what: What) -> dict[str, Any]:
        table = self.row[what]
        path = (*self.path, what)
        example = (
            '{ arm = "cpu", at_least = "5 times" }'
            if what == "as_fast_as"
            else '{ base = "results/Y", by = "5 %" }'
        )
        if not isinstance(table, dict):
            raise QuantityError(f"{table!r} is not a table", f"such as {what} = {example}")
        sides = (
            {"at_least": "at least", "at_most": "at most"}
            if what == "as_fast_as"
            else {"by": "at most"}
        )
        known = ("arm", "base", *sides)
        _refuse_unknown(self.name, self.all_lines, path, table, known)
        self.lines |= {key: _find_line(self.all_lines, *path, key) for key in table if key != "arm"}
        given = [key for key in sides if key in table]
        if len(given) != 1 or not {"arm", "base"} & {*table}:
            raise QuantityError(
                "the table is not complete, or says two things", f"such as {what} = {example}"
            )
        (key,) = given
        wish = self._text(what, key)
        try:
            amount = read_amount(wish, "factor" if what == "as_fast_as" else "share")
            _refuse_unfailing(
                what, Wanted(side=cast(Side, sides[key]), strict=False, rest=wish), amount.value
            )
        except QuantityError as error:
            raise SheetError(
                self.name, self.lines[key], f"{key}: {error.what}", error.remedy
            ) from error
        return {
            "wanted": f"{sides[key]} {wish}",
            "side": sides[key],
            "bound": amount.value,
            "scale": amount.scale,
            "unit": amount.unit,
            "than": self._text(what, "arm") if "arm" in table else "",
            "base": self._text(what, "base") if "base" in table else "",
        }


def _refuse_unfailing(what: What, wanted: Wanted, value: float) -> None:
    """Refuses what holds of everything.

    Raises:
        QuantityError: it does.
    """
    free = wanted.side == "at least"
    if value < 0 or (value == 0 and what != "slower_than"):
        raise QuantityError(
            f"{wanted.rest!r}: {'everything' if free else 'nothing'} is {wanted.side} that, so that this "
            f"requirement can't {'fail' if free else 'hold'}",
            "name a number over 0",
        )
    if wanted.side == "at most" and value >= _MOST.get(what, math.inf):
        raise QuantityError(
            f"{wanted.rest!r}: nothing is over that, so that this requirement can't fail",
            "name a smaller number",
        )
    if what == "slower_than" and value > 10:
        raise QuantityError(
            f"{wanted.rest!r}: no bound over 1000 % is one, so that this requirement can't fail",
            "name a smaller number",
        )
    if wanted.side == ("at most" if what == "expected" else "at least") and what in _SHARES:
        raise QuantityError(
            f"{wanted.side} {wanted.rest}: this requirement can't fail as it is meant",
            "say at least" if what == "expected" else "say at most",
        )
