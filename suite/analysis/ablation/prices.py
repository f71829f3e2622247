"""What a call costs before it computes anything: handing over, copying, and what does not grow.

Pure; measured prices only, and a price that no cell gives is None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from suite.analysis.ablation.catalogue import (
    LARGEST,
    Catalogue,
    count_steps,
    mean,
    name_case,
    name_unit,
)
from suite.analysis.campaign.summarise import CellSummary

FLAT = 0.10
"""Times that differ by less than this, over a factor of `SPAN` in size, do not grow with size."""

SPAN = 8.0
"""The factor in size over which a time that stays the same is called flat."""

ROUNDING = 1e-9
"""What a threshold may be missed by: a quotient of measured numbers is rounded somewhere."""

AXES = ("batch", "width", "n")
"""The axes along which a call gets more work; a time that stays flat along one is a fixed price."""

NOT_SWEPT = frozenset({"overhead", "tfdata"})
"""Families in which a flat time is no news: prices are fixed, and pipelines have no device."""

VALUE_BYTES, LABEL_BYTES = 4, 8
"""float32, which every operand is that the suite copies; and int64."""

INPUTS = {"A": 128, "B": 100}
"""The float32 inputs of an example of each network; its label is one int64 more."""


@dataclass(frozen=True, kw_only=True)
class Flat:
    """A stretch of sizes, ``first`` to ``last`` along ``axis``, in which the time hardly differs.

    ``low`` and ``high`` are its seconds a step at the fastest and the slowest size, ``share`` the
    part of the cell's own time that the smallest size takes as well.
    """

    axis: str
    first: float
    last: float
    low: float
    high: float
    share: float


@dataclass(frozen=True, kw_only=True)
class Price:
    """Seconds of a call or a copy that other cells have measured, and which, in words."""

    seconds: float
    words: str


def find_flat(catalogue: Catalogue, one: CellSummary, arm: str) -> Flat | None:
    """The widest stretch around this cell, a factor of 8 at least, that is flat within 10 %.

    None: its time grows, or too few sizes of it were measured to tell.
    """
    if one.cell.scenario in NOT_SWEPT:
        return None
    best: Flat | None = None
    for axis in AXES:
        points = [
            (size, seconds)
            for size, other in catalogue.line(one, axis, arm)
            if (seconds := mean(catalogue.steps(other, arm))) is not None
        ]
        here = one.cell.params.get(axis)
        own = mean(catalogue.steps(one, arm))
        if not isinstance(here, int | float) or own is None:
            continue
        for stretch in _find_stretches(points, float(here)):
            first, last = stretch[0][0], stretch[-1][0]
            if best is None or last / first > best.last / best.first:
                times = [seconds for _, seconds in stretch]
                best = Flat(
                    axis=axis,
                    first=first,
                    last=last,
                    low=min(times),
                    high=max(times),
                    share=min(1.0, stretch[0][1] / own),
                )
    return best


def price_handover(catalogue: Catalogue, one: CellSummary, arm: str) -> Price | None:
    """What handing over a call's steps takes on an arm: calls, and the operations inside them.

    The operations are the nodes that were seen on the device; many of them are fused or cost
    nothing, so that this is an upper bound where the price of an operation was measured.
    """
    params = one.cell.params
    by_xla = params.get("xla") == "on" or params.get("execution") == "xla"
    if params.get("execution") == "eager" or params.get("call") == "direct":
        return None
    if one.cell.scenario == "matmul":
        name = "overhead.xla_call" if by_xla else "overhead.eager_op"
        return _price_calls(catalogue, name, arm, 1.0)
    # A trivial model behind a pipeline is handed over as the full one is.
    trivial = params.get("part") == "trivial"
    if one.cell.scenario != "mlp" and name_unit(one.cell) != "example" and not trivial:
        return None
    steps = count_steps(one.cell)
    together = params.get("steps_per_execution", 1)
    several = isinstance(together, int | float) and together > 0
    calls = max(1.0, steps / float(together)) if several else steps
    price = _price_calls(
        catalogue, "overhead.xla_call" if by_xla else "overhead.function_call", arm, calls
    )
    operation = catalogue.find("overhead.graph_op")
    seconds = mean(catalogue.per_work(operation, arm)) if operation else None
    nodes = None if by_xla else catalogue.nodes(one, arm)
    if price is None or seconds is None or nodes is None:
        return price
    return Price(
        seconds=price.seconds + steps * nodes * seconds,
        words=f"{price.words} and {nodes} operations a step (overhead.graph_op)",
    )


def price_copies(catalogue: Catalogue, one: CellSummary, arm: str) -> Price | None:
    """What copying a call's data to the device, and its result back, takes by the copy cells."""
    params = one.cell.params
    n, batch = params.get("n"), params.get("batch")
    if name_case(one.cell) == "matmul.square" and isinstance(n, int | float):
        size = float(n) * n * VALUE_BYTES
        there = price_copy(catalogue, 2 * size, arm, "to-device")
        back = price_copy(catalogue, size, arm, "from-device")
        if there is None or back is None:
            return None
        return Price(seconds=there.seconds + back.seconds, words=f"{there.words}, {back.words}")
    inputs = INPUTS.get(str(params.get("net", "A")))
    if one.cell.work.bytes:
        size = one.cell.work.bytes
    elif inputs and isinstance(batch, int | float) and name_unit(one.cell) == "example":
        size = float(batch) * (inputs * VALUE_BYTES + LABEL_BYTES) * count_steps(one.cell)
    else:
        return None
    return price_copy(catalogue, size, arm, "to-device")


def price_copy(catalogue: Catalogue, size: float, arm: str, direction: str) -> Price | None:
    """What one copy of so many bytes takes: between two measured sizes on a line in logarithms.

    Beyond the largest size its bandwidth holds, below the smallest its time.  None: no copy was
    measured in this direction.
    """
    cells = catalogue.select("overhead.copy", direction=direction)
    points = sorted(
        (float(size_of), seconds)
        for one in cells
        if isinstance(size_of := one.cell.params.get("bytes"), int | float)
        and 0 < size_of < LARGEST
        if (seconds := catalogue.seconds(one, arm)) is not None
    )
    if not points or not 0 < size < LARGEST:
        return None
    words = f"{size:,.0f} B {direction} (overhead.copy)"
    below = [point for point in points if point[0] <= size]
    above = [point for point in points if point[0] >= size]
    if not below:
        return Price(seconds=above[0][1], words=words)
    if not above:
        largest, seconds = below[-1]
        return Price(seconds=seconds * size / largest, words=words)
    (small, first), (large, second) = below[-1], above[0]
    if small == large:
        return Price(seconds=first, words=words)
    share = math.log(size / small) / math.log(large / small)
    return Price(seconds=first * (second / first) ** share, words=words)


def _find_stretches(
    points: Sequence[tuple[float, float]], here: float
) -> list[Sequence[tuple[float, float]]]:
    """Every stretch of (size, seconds) that contains a size, is long enough and flat."""
    found = []
    for first, (smallest, _) in enumerate(points):
        for last in range(first + 1, len(points)):
            stretch = points[first : last + 1]
            if not smallest <= here <= stretch[-1][0] or smallest <= 0:
                continue
            times = [seconds for _, seconds in stretch]
            grown = max(times) / min(times) - 1
            if stretch[-1][0] / smallest >= SPAN and grown <= FLAT + ROUNDING:
                found.append(stretch)
    return found


def _price_calls(catalogue: Catalogue, name: str, arm: str, calls: float) -> Price | None:
    seconds = catalogue.seconds(catalogue.find(name), arm)
    if seconds is None:
        return None
    count = "a call" if calls == 1 else f"{calls:,.0f} calls"
    return Price(seconds=calls * seconds, words=f"{count} ({name})")
