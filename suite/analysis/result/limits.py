"""How near an arm comes to what its device can do, and what its time costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from suite.analysis.result.numbers import Estimate, Ratio
from suite.flags import Flag

Band = Literal["in", "below", "above", "far below"]


PRODUCT: Literal["product"] = "product"
"""The kind of work that figures are published of, as cells call it, too."""


Quantity = Literal["product", "memory", "copy", "launch", "spread", "operands"]


ANY = "any"
"""Stands for the precision of a figure that has none."""


FigureKind = Literal["peak", "measured", "context"]


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A processor or GPU: what we call it, and every name under which it shows itself."""

    name: str
    device: Literal["cpu", "gpu"]
    names: tuple[str, ...]


class Figure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One published figure of some parts: ``low`` and ``high`` are the same where it is one value.

    ``precision`` is ``any`` where the quantity has none; ``n`` is the size of a product, None where
    it was not given.  ``parts`` is empty where the figure is about all.
    """

    parts: tuple[str, ...]
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


class Published(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A measured rate beside a published one: the share of it, and what that means."""

    figure: Figure
    cell: str
    share: float
    band: Band


class Limit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The best that an arm reached in something: ``rate`` in ``unit`` at ``cell``.

    ``device`` is the name that the documents give it, ``part`` the one of the published figures
    (None: it has none).  ``peak`` is the theoretical one, ``comparisons`` what others measured.
    """

    arm: str
    device: str | None = None
    part: Part | None = None
    what: Literal["products", "memory"]
    precision: str
    cell: str
    rate: Estimate
    unit: str
    peak: Figure | None = None
    comparisons: tuple[Published, ...]

    @property
    def share_of_peak(self) -> float | None:
        """The share of the theoretical peak."""
        return self.rate.value / self.peak.high if self.peak else None

    @property
    def band(self) -> Band | None:
        """The kindest of the comparisons: one published figure that is met is enough."""
        order: tuple[Band, ...] = ("in", "above", "below", "far below")
        found = {one.band for one in self.comparisons}
        return next((band for band in order if band in found), None)


class Utilization(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much of a device one cell uses: its rate as shares of the arm's own best at its precision
    (at ``best``), of the published peak, and of the roofline that memory leaves it.

    The roofline of a product is the smaller of the best rate and the memory's bandwidth times its
    operations a byte (Williams, Waterman and Patterson 2009); None: not measured or not known.
    """

    cell: str
    arm: str
    share: float
    best: str
    share_of_peak: float | None = None
    share_of_roof: float | None = None


class Limits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything about limits: per arm and precision, per cell, and what is wrong.

    ``flags`` are those of rates above a theoretical peak, of prices under their bounds, and of rates far
    below what others measured; ``unknown`` are the devices that have no published figures (None: one
    without a name).
    """

    limits: tuple[Limit, ...]
    uses: tuple[Utilization, ...]
    flags: tuple[Flag, ...]
    unknown: tuple[str | None, ...]


class Price(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the machine costs an hour; all arms of a campaign share the machine."""

    hourly: float
    currency: str


class Cost(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a million steps and a million examples of a cell cost, by arm, in the price's currency.

    ``turns`` is the ratio of prices
    at which the answer turns: a machine with this GPU is the cheaper one as long as it costs less
    than so many times one with this CPU alone; None where one of the two arms has no number.
    """

    cell: str
    steps: Mapping[str, Estimate]
    examples: Mapping[str, Estimate]
    turns: Ratio | None = None
