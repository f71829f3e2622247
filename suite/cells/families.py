"""The families of cells, in the order of the reports."""

from __future__ import annotations

from dataclasses import dataclass


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
    family.name: family
    for family in (
        Family(
            name="matmul",
            title="the raw arithmetic of matrix products",
            subject="Square products",
            drawn="time of one product",
            reading="Time of one product of n × n matrices against n, both on logarithmic scales. Where a "
            "line is flat, the call's overhead dominates; where it climbs, the arithmetic does.",
        ),
        Family(
            name="mlp",
            title="training small networks",
            subject="Training small networks",
            drawn="{unit}",
            reading="{Unit} of a training step against its batch, both on logarithmic scales. Where a line "
            "climbs, a larger batch costs little more; where it is flat, the device is busy.",
        ),
        Family(name="asked", title="what people ask about, as they time it"),
        Family(name="tfdata", title="the input pipeline"),
        Family(name="overhead", title="the fixed costs that explain the rest"),
    )
}

STEPS, WAYS = FAMILIES["mlp"], FAMILIES["asked"]
"""Whose tables hold the numbers of the pictures of a step in its parts, and of the waterfalls."""

SHOWN = (FAMILIES["matmul"], WAYS)
"""Of which the README shows the sample's tables; of the first the picture, too."""


def name_title(family: str) -> str | None:
    """What a family is about; None: it is not one of the suite's."""
    known = FAMILIES.get(family)
    return known.title if known else None
