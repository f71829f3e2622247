"""Published figures of processors and GPUs: the only file that reads ``figures.toml``.

Matches a part by its exact name and nothing else; what is not in the file is unknown.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from suite.analysis.result.limits import ANY, Figure, FigureKind, Part, Quantity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FIGURES = Path(__file__).with_name("figures.toml")


@dataclass(frozen=True, kw_only=True)
class Figures:
    """All parts and all figures."""

    parts: tuple[Part, ...]
    figures: tuple[Figure, ...]

    def find_part(self, name: str | None) -> Part | None:
        """The part that shows itself under exactly this name."""
        return next((part for part in self.parts if name is not None and name in part.names), None)

    def select(
        self, part: Part | None, quantity: Quantity, kind: FigureKind, precision: str = ANY
    ) -> list[Figure]:
        """The figures of a part; none where there is no part."""
        return [
            one
            for one in self.figures
            if part is not None
            and part.name in one.parts
            and (one.quantity, one.kind, one.precision) == (quantity, kind, precision)
        ]


@lru_cache(maxsize=4)
def read_figures(path: Path = FIGURES) -> Figures:
    """The figures of a file.

    Raises:
        KeyError, ValueError: the file is not what it should be, which a test would have told.
    """
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    parts = tuple(
        Part(name=row["name"], device=row["device"], names=tuple(row["names"]))
        for row in table["part"]
    )
    return Figures(
        parts=parts,
        figures=tuple(figure for row in table["figure"] for figure in _read_row(row)),
    )


def _read_row(row: Mapping[str, Any]) -> list[Figure]:
    """A row of the file holds the values of several precisions."""
    found = []
    for precision, value in row["values"].items():
        low, high = value if isinstance(value, list) else (value, value)
        found.append(
            Figure(
                parts=tuple(row["parts"]),
                quantity=row["quantity"],
                kind=row["kind"],
                precision=precision,
                low=float(low),
                high=float(high),
                unit=row["unit"],
                n=float(row["n"]) if "n" in row else None,
                source=row["source"],
                date=row["date"],
                caveat=row.get("caveat", ""),
            )
        )
    return found
