"""Published figures of processors and GPUs: the only file that reads ``figures.toml``.

Matches a part by its exact name and nothing else; what is not in the file is unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from suite.analysis.result.limits import Figure, FigureKind, Part, Quantity
from suite.errors import DocumentError

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
        self, part: Part | None, quantity: Quantity, kind: FigureKind, precision: str | None = None
    ) -> list[Figure]:
        """The figures of a part, of one precision or of all; none where there is no part."""
        return [
            figure
            for figure in self.figures
            if part is not None
            and part.name in figure.parts
            and (figure.quantity, figure.kind) == (quantity, kind)
            and precision in {None, figure.precision}
        ]


@lru_cache(maxsize=4)
def read_figures(path: Path = FIGURES) -> Figures:
    """The figures of a file.

    Raises:
        DocumentError: the file is not what it should be.
    """
    try:
        table = msgspec.toml.decode(path.read_bytes())
        figures = tuple(figure for row in table["figure"] for figure in _read_row(row))
        return Figures(parts=msgspec.convert(table["part"], tuple[Part, ...]), figures=figures)
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DocumentError(
            f"{path} does not say what was published: {error}",
            "a clean checkout has it (`git status` shows what differs)",
        ) from error


def _read_row(row: dict[str, Any]) -> list[Figure]:
    """A row of the file holds the values of several precisions, each a figure or the ends of a range."""
    figures = []
    common = {"caveat": "", **row}
    for precision, value in msgspec.convert(common.pop("values"), dict[str, Any]).items():
        low, high = value if isinstance(value, list) else (value, value)
        figure = msgspec.convert(
            {**common, "precision": precision, "low": low, "high": high}, Figure
        )
        if not 0 <= figure.low <= figure.high < math.inf:
            raise ValueError(f"{low} to {high} {figure.unit} is not a range of figures")
        figures.append(figure)
    return figures
