"""How near an arm comes to what its device can do: its own best, its memory, and published figures.

Above the theoretical peak, or under the bound of a price, something is wrong with the number; far
below what others measured something is wrong with the machine, or its settings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from suite.analysis.ablation.catalogue import Catalogue, Values, divide
from suite.analysis.ablation.speedups import find_utilization
from suite.analysis.campaign.bounds import Place
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.documents.published import read_figures
from suite.analysis.numbers.estimate import estimate
from suite.analysis.result.limits import (
    ANY,
    PRODUCT,
    Band,
    Figure,
    Limit,
    Limits,
    Published,
    Utilization,
)
from suite.analysis.result.numbers import Estimate
from suite.flags import IMPLAUSIBLE, Flag, raise_flag

BELOW, ABOVE = 0.15, 0.10
"""In band: from 15 % under to 10 % over a published figure of the same precision and a similar size."""

FAR = 0.60
"""Under this share of a published figure the machine asks for a cause."""

SIMILAR = 2.0
"""Sizes within this factor of each other are similar."""

LARGE = 4000.0
"""A figure without a size is of a large product: this large at least."""


def find_limits(catalogue: Catalogue, places: Mapping[str, Place]) -> Limits:
    """The limits of every arm; ``places`` are by arm what its numbers were made on."""
    limits = [one for arm in catalogue.arms for one in _find_limits(catalogue, arm, places[arm])]
    return Limits(
        limits=tuple(limits),
        uses=tuple(_find_utilizations(catalogue, limits)),
        flags=(*_find_impossible(catalogue), *_flag_slow(limits)),
        unknown=tuple(dict.fromkeys(one.device or None for one in limits if not one.part)),
    )


def _find_limits(catalogue: Catalogue, arm: str, place: Place) -> Iterator[Limit]:
    """The best product of each precision, and the memory's bandwidth."""
    limit = partial(Limit, arm=arm, device=place.device, part=place.part)
    select = partial(read_figures().select, place.part)
    by_precision: dict[str, list[CellSummary]] = {}
    for one in catalogue.cells.values():
        cell = one.cell
        plain = (cell.role, cell.kind, cell.data, cell.way) == ("work", PRODUCT, "device", None)
        if plain and cell.work.unit == "FLOP" and catalogue.per_work(one, arm):
            by_precision.setdefault(cell.precision, []).append(one)
    for precision, cells in by_precision.items():
        best = max(cells, key=lambda one: catalogue.rate(one, arm) or 0.0)
        published = select(PRODUCT, "measured", precision)
        compared = (_compare(catalogue, arm, cells, best, figure) for figure in published)
        yield limit(
            what="products",
            precision=precision,
            cell=best.cell.id,
            rate=_find_rate(catalogue.per_work(best, arm)),
            unit="FLOP",
            peak=place.products.get(precision),
            comparisons=tuple(one for one in compared if one),
        )
    for one in catalogue.prices("memory"):
        if values := divide(catalogue.values(one, arm), one.cell.work.bytes or 0.0):
            rate, name = _find_rate(values), one.cell.id
            yield limit(
                what="memory",
                precision=ANY,
                cell=name,
                rate=rate,
                unit="byte",
                peak=place.memory,
                comparisons=tuple(
                    _judge(one, name, rate.value) for one in select("memory", "measured")
                ),
            )
            return


def _compare(
    catalogue: Catalogue, arm: str, cells: list[CellSummary], best: CellSummary, figure: Figure
) -> Published | None:
    """A figure beside the product of the most similar size; None where there is none."""
    sizes = {
        one.cell.id: float(n)
        for one in cells
        if isinstance(n := one.cell.params.get("n"), int | float) and n > 0
    }
    if figure.n is None:
        at = best if sizes.get(best.cell.id, 0.0) >= LARGE else None
    else:
        apart = {name: abs(math.log(size / figure.n)) for name, size in sizes.items()}
        near = min(apart, key=apart.__getitem__, default="")
        similar = near in apart and apart[near] <= math.log(SIMILAR) + 1e-9
        at = catalogue.cells[near] if similar else None
    rate = catalogue.rate(at, arm)
    return _judge(figure, at.cell.id, rate) if at and rate else None


def _judge(figure: Figure, cell: str, rate: float) -> Published:
    if rate < FAR * figure.low:
        band: Band = "far below"
    elif rate < (1 - BELOW) * figure.low:
        band = "below"
    else:
        band = "in" if rate <= (1 + ABOVE) * figure.high else "above"
    nearest = figure.low if rate < figure.low else min(rate, figure.high)
    return Published(figure=figure, cell=cell, share=rate / nearest, band=band)


def _find_utilizations(catalogue: Catalogue, limits: list[Limit]) -> Iterable[Utilization]:
    for arm in catalogue.arms:
        own = {(limit.what, limit.precision): limit for limit in limits if limit.arm == arm}
        memory = own.get(("memory", ANY))
        for one in catalogue.cells.values():
            used = find_utilization(catalogue, one, arm)
            if used is None:
                continue
            rate, work = catalogue.rate(one, arm) or 0.0, one.cell.work
            top = own.get(("products", one.cell.precision))
            peak = top.peak if top and work.unit == "FLOP" else None
            roofline = None
            if memory and top and work.bytes_in and work.bytes_out:
                moved = work.bytes_in + work.bytes_out
                roofline = min(top.rate.value, memory.rate.value * work.amount / moved)
            yield Utilization(
                cell=one.cell.id,
                arm=arm,
                share=used[0],
                best=used[1].cell.id,
                share_of_peak=rate / peak.high if peak else None,
                share_of_roof=rate / roofline if roofline else None,
            )


def _find_impossible(catalogue: Catalogue) -> Iterable[Flag]:
    """Every number that the hardware can't have made."""
    results = (result for one in catalogue.cells.values() for result in one.arms.values())
    return (flag for one in results for flag in one.invalid if flag.code in IMPLAUSIBLE)


def _flag_slow(limits: list[Limit]) -> Iterable[Flag]:
    for limit in limits:
        if limit.band != "far below" or limit.part is None or limit.part.device == "cpu":
            continue
        near = max(limit.comparisons, key=lambda one: one.share)
        yield raise_flag(
            *("far-below-published", {"arm": limit.arm}),
            precision=limit.precision,
            share=near.share,
            part=limit.part.name,
            published=near.figure.low,
            unit=limit.unit,
            source=near.figure.source,
        )


def _find_rate(per_work: Values) -> Estimate:
    return estimate([1 / seconds for seconds in per_work.values()])
