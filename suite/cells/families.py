"""The families of cells, in the order of the reports."""

from __future__ import annotations

from dataclasses import dataclass

from suite.cells.tables import read_table


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family: what it is about, and in a picture of its main sweep the subject, and what is drawn.

    ``reading`` says how to read that picture; ``{unit}`` in it is filled in.
    """

    name: str
    title: str
    subject: str = ""
    drawn: str = ""
    reading: str = ""


FAMILIES = {
    name: Family(name=name, **declared)
    for name, declared in read_table(__file__, "families").items()
}

STEPS, WAYS = FAMILIES["mlp"], FAMILIES["asked"]
"""Whose tables hold the numbers of the pictures of a step in its parts, and of the waterfalls."""


def name_title(family: str) -> str | None:
    """What a family is about; None: it is not one of the suite's."""
    return FAMILIES[family].title if family in FAMILIES else None
