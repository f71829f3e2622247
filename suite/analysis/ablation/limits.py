"""How near an arm comes to what its device can do: its own best, its memory, and published figures.

Above the theoretical peak, or under the bound of a price, something is wrong with the number; far
below what others measured something is wrong with the machine, or its settings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from suite.analysis.ablation.cell_index import CellIndex, Values, divide
from suite.analysis.ablation.speedups import find_utilization
from suite.analysis.campaign.plausibility import Place
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.documents.published import read_figures
from suite.analysis.result.findings import Finding
from suite.analysis.result.limits import ANY, PRODUCT, Band, Figure
from suite.analysis.result.numbers import Value, cite
from suite.analysis.statistics.estimate import estimate
from suite.flags import IMPLAUSIBLE, Flag, raise_flag

BELOW, ABOVE = 0.15, 0.10
"""In band: from 15 % under to 10 % over a published figure of the same precision and a similar size."""

FAR = 0.60
"""Under this share of a published figure the machine asks for a cause."""

SIMILAR = 2.0
"""Sizes within this factor of each other are similar."""

LARGE = 4000.0
"""A figure without a size is of a large product: this large at least."""

KINDEST: tuple[Band, ...] = ("in", "above", "below", "far below")
"""The bands, the kindest first: one published figure that is met is enough."""


def find_limits(index: CellIndex, places: Mapping[str, Place]) -> list[Finding]:
    """The best that every arm reached, what is published beside it, and how much of it each cell uses;
    ``places`` are by arm what its numbers were made on."""
    best = [row for arm in index.arms for row in _find_best(index, arm, places[arm])]
    uses = [row for arm in index.arms for row in _find_uses(index, arm, places[arm], best)]
    return [*best, *uses]


def flag_limits(
    index: CellIndex, places: Mapping[str, Place], limits: Sequence[Finding]
) -> Iterator[Flag]:
    """Every number that the hardware can't have made, and every GPU far below all published figures."""
    for summary in index.cells.values():
        for result in summary.arms.values():
            yield from (flag for flag in result.invalid if flag.code in IMPLAUSIBLE)
    for best in limits:
        part = places[best.arm].part
        if (best.tag, best.verdict) != ("best", "far below") or not part or part.device == "cpu":
            continue
        published = [row for row in limits if row.tag == "published"]
        beside = [row for row in published if (row.arm, row.of) == (best.arm, best.of)]
        near = max(beside, key=lambda row: row.share or 0.0)
        figure, memory = near.evidence[0].values, best.of == "memory"
        yield raise_flag(
            *("far-below-published", {"arm": best.arm}),
            precision=ANY if memory else best.of.partition(" ")[0],
            share=near.share,
            part=part.name,
            published=figure["low"],
            unit="byte" if memory else "FLOP",
            source=figure["source"],
        )


def _find_best(index: CellIndex, arm: str, place: Place) -> Iterator[Finding]:
    """The best product of each precision, and the memory's bandwidth, each before its published figures."""
    figures = read_figures()
    by_precision: dict[str, list[CellSummary]] = {}
    for summary in index.cells.values():
        cell = summary.cell
        plain = (cell.role, cell.kind, cell.data, cell.way) == ("work", PRODUCT, "device", None)
        if plain and cell.work.unit == "FLOP" and index.per_work(summary, arm):
            by_precision.setdefault(cell.precision, []).append(summary)
    for precision, cells in by_precision.items():
        best = max(cells, key=lambda summary: index.rate(summary, arm) or 0.0)
        of = f"{precision} products"
        published = [
            _set_beside(figure, arm, of, at.cell.id, rate)
            for figure in figures.select(place.part, PRODUCT, "measured", precision, place.variant)
            if (at := _find_similar(cells, best, figure)) and (rate := index.rate(at, arm))
        ]
        find = partial(Finding, tag="best", arm=arm, cell=best.cell.id, of=of, unit="FLOP/s")
        seconds = index.per_work(best, arm)
        yield find(**_rate(seconds, place, place.products.get(precision), published))
        yield from published
    for summary in index.prices("memory"):
        name = summary.cell.id
        if seconds := divide(index.values(summary, arm), summary.cell.work.bytes or 0.0):
            measured = estimate([1 / each for each in seconds.values()]).value
            published = [
                _set_beside(figure, arm, "memory", name, measured)
                for figure in figures.select(place.part, "memory", "measured", ANY, place.variant)
            ]
            find = partial(Finding, tag="best", arm=arm, cell=name, of="memory", unit="B/s")
            yield find(**_rate(seconds, place, place.memory, published))
            yield from published
            return


def _rate(
    seconds: Values, place: Place, peak: Figure | None, published: Sequence[Finding]
) -> dict[str, Any]:
    """A best rate, its share of the peak and the kindest of the published bands."""
    rate = estimate([1 / each for each in seconds.values()])
    bands = {row.verdict for row in published}
    if "above" in bands and len(bands) > 1:
        bands.add("in")  # between two figures
    names: dict[str, Value] = {"device": place.device} if place.device else {}
    names |= {"part": place.part.name} if place.part else {}
    return {
        "value": rate,
        "share": rate.value / peak.high if peak else None,
        "verdict": next((band for band in KINDEST if band in bands), ""),
        "evidence": (cite("device", **names),),
    }


def _find_similar(
    cells: Sequence[CellSummary], best: CellSummary, figure: Figure
) -> CellSummary | None:
    """The product of the size most similar to a figure's; None: there is none."""
    sizes = [
        (float(n), summary)
        for summary in cells
        if isinstance(n := summary.cell.params.get("n"), int | float) and n > 0
    ]
    if figure.n is None:
        return best if any(n >= LARGE for n, summary in sizes if summary is best) else None
    apart = [
        (abs(math.log(n / figure.n)), summary) for n, summary in sizes if is_similar(figure.n, n)
    ]
    return min(apart, key=lambda pair: pair[0], default=(0.0, None))[1]


def is_similar(first: float, second: float) -> bool:
    """Whether two sizes are within the factor of each other."""
    return second > 0 and abs(math.log(first / second)) <= math.log(SIMILAR) + 1e-9


def _set_beside(figure: Figure, arm: str, of: str, cell: str, rate: float) -> Finding:
    if rate < FAR * figure.low:
        band: Band = "far below"
    elif rate < (1 - BELOW) * figure.low:
        band = "below"
    else:
        band = "in" if rate <= (1 + ABOVE) * figure.high else "above"
    more: dict[str, Value] = {"high": figure.high} if figure.high != figure.low else {}
    more |= {"caveat": figure.caveat} if figure.caveat else {}
    named = cite(
        "product-figure" if figure.quantity == PRODUCT else "memory-figure",
        low=figure.low,
        source=figure.source,
        date=figure.date,
        **more,
    )
    return Finding(
        tag="published",
        arm=arm,
        cell=cell,
        of=of,
        share=rate / min(max(rate, figure.low), figure.high),
        verdict=band,
        evidence=(named,),
    )


def _find_uses(
    index: CellIndex, arm: str, place: Place, best: Sequence[Finding]
) -> Iterator[Finding]:
    top = {row.of: row.number.value for row in best if (row.tag, row.arm) == ("best", arm)}
    for summary in index.cells.values():
        used = find_utilization(index, summary, arm)
        if used is None:
            continue
        cell, rate = summary.cell, index.rate(summary, arm) or 0.0
        find = partial(Finding, arm=arm, cell=cell.id)
        yield find(tag="use", at=used[1].cell.id, share=used[0])
        own = top.get(f"{cell.precision} products")
        peak = place.products.get(cell.precision)
        if own and peak and cell.work.unit == "FLOP":
            yield find(tag="of-peak", share=rate / peak.high)
        if own and "memory" in top and cell.work.bytes_in and cell.work.bytes_out:
            moved = cell.work.bytes_in + cell.work.bytes_out
            if roofline := min(own, top["memory"] * cell.work.amount / moved):
                yield find(tag="of-roofline", share=rate / roofline)
