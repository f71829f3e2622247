"""What a machine of this type, with this part, should give, beside what it gave.

Products and memory by the part, copies by the type of the machine.  Nothing is held against a machine that
is not known to give more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from suite.analysis.ablation.cell_index import CellIndex
from suite.analysis.ablation.hardware import find_copied, pick_type
from suite.analysis.ablation.limits import ABOVE, BELOW, FAR, LARGE, is_similar
from suite.analysis.campaign.plausibility import Place
from suite.analysis.documents.published import COPIED, combine, read_figures
from suite.analysis.result.findings import Finding, Meaning
from suite.analysis.result.limits import ANY, PRODUCT, Figure, Quantity
from suite.analysis.result.numbers import Estimate, Evidence, Value, cite, derive_rate
from suite.analysis.statistics.estimate import estimate
from suite.cells.traits import OverheadName
from suite.flags import Flag, raise_flag

THIRD = 1 / 3
"""The least share of a pinned copy's rate that a copy of TensorFlow's has, where its memory is not pinned: a
bound of ours."""

COPIES: Mapping[OverheadName, Quantity] = {"copy-in": "copy", "copy-out": "copy-back"}
"""By price the quantity that is published."""

OF_ALL_TYPES = cite("of-all-types")
"""Why a copy is held against nothing: of the machine's type nothing is known."""


def find_expected(
    index: CellIndex, places: Mapping[str, Place], limits: Sequence[Finding]
) -> Iterator[Finding]:
    """For each best rate of an arm's (``limits``), and each copy of a GPU's, what is expected there."""
    for arm in index.arms:
        place = places[arm]
        for best in limits:
            if (best.tag, best.arm) == ("best", arm):
                yield _expect_own(index, place, best)
        if place.is_gpu:
            for price in COPIES:
                yield from _expect_copy(index, place, arm, price)


def flag_expected(expected: Sequence[Finding], places: Mapping[str, Place]) -> Iterator[Flag]:
    """Every rate below what such a machine should give."""
    for row in expected:
        if row.verdict not in {"below", "far below"}:
            continue
        place, named = places[row.arm], row.evidence[0].values
        kind = pick_type(place) if row.of in COPIED.values() else None
        part = place.part.name if place.part else ""
        yield raise_flag(
            "below-expected",
            {"arm": row.arm},
            what=row.of,
            rate=row.number.value,
            share=row.share,
            low=named["low"],
            unit="FLOP" if row.unit == "FLOP/s" else "byte",
            here=kind.name if kind else part,
            source=named["source"],
        )


def _expect_own(index: CellIndex, place: Place, best: Finding) -> Finding:
    """Of a product or the memory, by the part."""
    memory, precision = best.of == "memory", best.of.partition(" ")[0]
    figures = read_figures().select(
        place.part,
        "memory" if memory else PRODUCT,
        "measured",
        ANY if memory else precision,
        place.variant,
    )
    size = index.cells[best.cell].cell.params.get("n")
    n = float(size) if isinstance(size, int | float) else 0.0
    near = [each for each in figures if memory or _is_of_size(each, n)]
    # Of a processor's cores a machine may have a few.
    share_of_it = place.part is not None and place.part.device == "cpu"
    size_differs = None if near else cite("of-another-size")
    why = cite("of-all-cores") if share_of_it else size_differs
    return _judge(best, near or figures, best.number, least=1 - BELOW, why=why)


def _is_of_size(figure: Figure, n: float) -> bool:
    return n >= LARGE if figure.n is None else is_similar(figure.n, n)


def _expect_copy(
    index: CellIndex, place: Place, arm: str, price: OverheadName
) -> Iterator[Finding]:
    """Of a copy between CPU and GPU, by the type of the machine.

    TensorFlow brings what goes to the GPU into pinned memory first, and a trace has the copy from there
    alone: on an H200 it reached 88 % of what such machines do with pinned memory.  Without a trace, and on
    the way back, the memory need not be pinned.
    """
    copied = find_copied(index, arm, price)
    if copied is None:
        return
    quantity, kind = COPIES[price], pick_type(place)
    every = [
        figure
        for which in ("measured", "context")
        for figure in read_figures().select(place.part, quantity, which)
    ]
    own = [figure for figure in every if kind and kind.name in figure.types]
    size = copied.summary.cell.work.bytes or 0.0
    rates = list(filter(None, (derive_rate(size, each) for each in copied.seconds.values())))
    cell = copied.summary.cell.id
    row = Finding(tag="expected", arm=arm, cell=cell, of=COPIED[quantity], unit="B/s")
    least = FAR if copied.traced and price == "copy-in" else THIRD
    if rates:
        rate = estimate(rates)
        yield _judge(row, own or every, rate, least=least, why=None if own else OF_ALL_TYPES)


def _judge(
    best: Finding, figures: Sequence[Figure], rate: Estimate, *, least: float, why: Evidence | None
) -> Finding:
    """The rate beside the lowest and the highest of the figures.

    In band from the share ``least`` of the low end on, and under it only where the whole interval is.
    ``why`` says what keeps the figures from being held against it (None: nothing); figures of other sizes,
    or of more cores, can be reached all the same.
    """
    row = structs.replace(best, tag="expected", value=rate, share=None, verdict="", evidence=())
    if not figures:
        return row
    figure = combine(figures)
    low, high = figure.low, figure.high
    floor, top = least * low, rate.value if rate.high is None else rate.high
    band: Meaning = ""
    if why != OF_ALL_TYPES and floor <= rate.value <= (1 + ABOVE) * high:
        band, why = "in", None
    elif why is None and rate.value > high:
        band = "above"
    elif why is None and top < floor:
        band = "far below" if rate.value < FAR * low < floor else "below"
    elif why is None:
        why = cite("reaches-band")
    # The other end of a range is told, too; of one figure both are the same.
    more: dict[str, Value] = {"high": high, "unit": best.unit.removesuffix("/s")}
    more |= {"to": high} if high != low else {}
    named = cite("expected", low=low, source=figure.source, date=figure.date, **more)
    evidence = (named, *((why,) if why else ()))
    return structs.replace(row, share=rate.value / low, verdict=band, evidence=evidence)
