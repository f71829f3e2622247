"""Published figures of processors, GPUs and types of machines: the only file that reads ``figures.toml``.

Matches a part by its exact name and a type by its patterns; what is not in the file is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from suite.analysis.result.limits import Figure, FigureKind, MachineType, Part, Quantity
from suite.errors import DocumentError

FIGURES = Path(__file__).with_name("figures.toml")

VENDOR = "NVIDIA "

COPIED: Mapping[Quantity, str] = {"copy": "copy to the device", "copy-back": "copy from the device"}
"""What findings call these quantities."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """All parts, all types of machines and all figures."""

    parts: tuple[Part, ...]
    types: tuple[MachineType, ...]
    figures: tuple[Figure, ...]

    def find_part(self, name: str | None) -> Part | None:
        """The part that shows itself under exactly this name; old drivers leave the vendor's out."""
        names = {name, f"{VENDOR}{name}"}
        return next((part for part in self.parts if names & {*part.names}), None)

    def find_type(self, name: str | None) -> MachineType | None:
        """The type of the machine that a cloud, or a person, calls so."""
        wanted = (name or "").lower()
        return next(
            (
                kind
                for kind in self.types
                if any(fnmatchcase(wanted, pattern.lower()) for pattern in kind.types)
            ),
            None,
        )

    def select(
        self,
        part: Part | None,
        quantity: Quantity,
        kind: FigureKind,
        precision: str | None = None,
        variant: str | None = None,
    ) -> list[Figure]:
        """The figures of a part, of one precision or of all; none where there is no part.

        Those of other variants only where the ``variant`` is not known, or has none of its own: then the
        kindest of them can be its.
        """
        found = [
            figure
            for figure in self.figures
            if part is not None
            and part.name in figure.parts
            and (figure.quantity, figure.kind) == (quantity, kind)
            and precision in {None, figure.precision}
        ]
        own = [each for each in found if variant and variant.startswith(each.variants or "-")]
        return [each for each in found if each in own or not each.variants] if own else found


def combine(figures: Sequence[Figure]) -> Figure:
    """Several figures as one: from the lowest to the highest, with all of their sources and dates."""
    named = {
        name: "; ".join(dict.fromkeys(getattr(each, name) for each in figures))
        for name in ("source", "date")
    }
    low, high = min(each.low for each in figures), max(each.high for each in figures)
    return structs.replace(figures[0], low=low, high=high, caveat="", **named)


@lru_cache(maxsize=4)
def read_figures(path: Path = FIGURES) -> Figures:
    """The figures of a file.

    Raises:
        DocumentError: the file is not what it should be.
    """
    try:
        table = msgspec.toml.decode(path.read_bytes())
        types = msgspec.convert(table["type"], tuple[MachineType, ...])
        part_of = {kind.name: kind.part for kind in types}
        figures = tuple(figure for row in table["figure"] for figure in _read_row(row, part_of))
        parts = msgspec.convert(table["part"], tuple[Part, ...])
        return Figures(parts=parts, types=types, figures=figures)
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DocumentError(
            f"{path} does not say what was published: {error}",
            "a clean checkout has it (`git status` shows what differs)",
        ) from error


def _read_row(row: dict[str, Any], part_of: Mapping[str, str]) -> list[Figure]:
    """A row of the file holds the values of several precisions, each a figure or the ends of a range;
    ``part_of`` are the parts by types of machines."""
    figures = []
    parts = [part_of[kind] for kind in row.get("types", ())]
    common = {"caveat": "", "parts": parts, **row}
    for precision, value in msgspec.convert(common.pop("values"), dict[str, Any]).items():
        low, high = value if isinstance(value, list) else (value, value)
        figure = msgspec.convert(
            {**common, "precision": precision, "low": low, "high": high}, Figure
        )
        if not 0 <= figure.low <= figure.high < math.inf:
            raise ValueError(f"{low} to {high} {figure.unit} is not a range of figures")
        figures.append(figure)
    return figures
