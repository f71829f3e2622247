"""The published figures of processors, GPUs and types of machines, and the price of a machine."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Band = Literal["in", "below", "above", "far below"]


PRODUCT: Literal["product"] = "product"
"""The kind of work that figures are published of, as cells call it, too."""


Quantity = Literal["product", "memory", "copy", "copy-back", "launch", "spread", "operands"]


ANY = "any"
"""Stands for the precision of a figure that has none."""


FigureKind = Literal["peak", "measured", "context"]


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A processor or GPU: what we call it, and every name under which it shows itself."""

    name: str
    device: Literal["cpu", "gpu"]
    names: tuple[str, ...]


class MachineType(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A type of machine that a cloud lets: what we call it, the patterns of the names that clouds give it,
    its GPU, and the PCIe link that the driver tells there under load."""

    name: str
    types: tuple[str, ...]
    part: str
    generation: int
    lanes: int


class Figure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One published figure of some parts: ``low`` and ``high`` are the same where it is one value.

    ``precision`` is ``any`` where the quantity has none; ``n`` is the size of a product, None where
    it was not given.  ``parts`` is empty where the figure is about all; of some ``types`` it is about their
    parts there alone.  ``variants`` are the beginnings of the PCI numbers (device:subsystem) that it was
    measured on; none: not said, or the part has no variants.
    """

    parts: tuple[str, ...]
    types: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    quantity: Quantity
    kind: FigureKind
    precision: str
    low: float
    high: float
    unit: str
    n: float | None = None
    source: str
    date: str
    caveat: str


class Price(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the machine costs an hour; all arms of a campaign share the machine."""

    hourly: float
    currency: str
