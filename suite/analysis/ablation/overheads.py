"""What a call costs before it computes anything: dispatch and transfer.

Pure; measured costs only, and a cost that no cell gives is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from suite.analysis.ablation.cell_index import CellIndex, count_steps, mean
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.observations import LARGEST
from suite.analysis.result.findings import Finding
from suite.analysis.result.numbers import Value, cite
from suite.analysis.statistics.estimate import estimate
from suite.analysis.statistics.ratio import find_paired_ratio
from suite.cells.traits import OverheadName

BUSY = 0.9
"""With a larger share of a sample spent on dispatch, the device waits for the host."""

MOST = 0.5
"""What takes a larger share of something beyond doubt is most of it."""

ROUNDING = 1e-9
"""What a threshold may be missed by: a quotient of measured numbers is rounded somewhere."""


@dataclass(frozen=True, kw_only=True)
class Overhead:
    """Seconds of calls or copies that other cells have measured; ``values`` say how many and which."""

    seconds: float
    values: Mapping[str, Value] = field(default_factory=dict)


def dispatch_cost(index: CellIndex, summary: CellSummary, arm: str) -> Overhead | None:
    """What dispatching a call's steps takes on an arm: calls, and the operations inside them.

    The operations are the nodes that were seen on the device; many of them are fused or cost
    nothing, so that this is an upper bound where the cost of an operation was measured.
    """
    dispatch, launches = summary.cell.dispatch, summary.cell.work.launches
    if dispatch is None or (dispatch == "eager" and launches is None):
        return None
    steps = count_steps(summary.cell)
    calls = steps if launches is None else launches
    call = next(iter(index.prices("graph" if dispatch == "keras" else dispatch)), None)
    seconds = index.seconds(call, arm)
    if call is None or seconds is None:
        return None
    price = Overhead(seconds=calls * seconds, values={"calls": calls, "call": call.cell.name})
    operation = next(iter(index.prices("operation")), None)
    each, nodes = mean(index.per_work(operation, arm)), index.nodes(summary, arm)
    if dispatch in {"eager", "xla"} or operation is None or each is None or nodes is None:
        return price
    return Overhead(
        seconds=price.seconds + steps * nodes * each,
        values={**price.values, "nodes": nodes, "operation": operation.cell.name},
    )


def find_wakes(index: CellIndex) -> Iterator[Finding]:
    """Every arm on which most of a function's call is handing over to another thread and back, which a call
    does once at least (docs/decisions/0066).

    What takes longer than a whole call is no part of it: TensorFlow's thread is then woken in another way
    than the one that was measured.
    """
    call, bare = (next(iter(index.prices(price)), None) for price in ("graph", "handover"))
    if call is None or bare is None:
        return
    for arm in index.arms:
        seconds = index.values(bare, arm)
        share = find_paired_ratio(index.values(call, arm), seconds)
        if share and share.low is not None and MOST < share.low <= 1:
            value, most = estimate(list(seconds.values())), min(1.0, share.value)
            evidence = cite("wakes", seconds=value.value, share=most, call=call.cell.id)
            yield Finding(
                tag="wakes",
                arm=arm,
                cell=call.cell.id,
                at=bare.cell.id,
                value=value,
                unit="s",
                share=most,
                evidence=(evidence,),
            )


def transfer_cost(index: CellIndex, summary: CellSummary, arm: str) -> Overhead | None:
    """What copying a call's data to the device, and its result back, takes by the copy cells."""
    work = summary.cell.work
    there = copy_cost(index, work.bytes_in, arm, "copy-in") if work.bytes_in else None
    back = copy_cost(index, work.bytes_out, arm, "copy-out") if work.bytes_out else None
    if (there is None) != (work.bytes_in is None) or (back is None) != (work.bytes_out is None):
        return None
    if there is None or back is None:
        return there or back
    back_values = {f"{name}_back": value for name, value in back.values.items()}
    return Overhead(seconds=there.seconds + back.seconds, values={**there.values, **back_values})


def start_cost(index: CellIndex, summary: CellSummary, arm: str) -> Overhead | None:
    """What the start takes that a cold cell contains."""
    seconds = index.seconds(index.link(summary, "start")[0], arm)
    return None if seconds is None else Overhead(seconds=seconds)


def trace_cost(index: CellIndex, summary: CellSummary, arm: str) -> Overhead | None:
    """What the first call of the plain step behind a traced one takes longer than its later ones: one trace
    of its function, mostly."""
    traced, _ = index.link(summary, "traced")
    plain = index.link(traced, "plain")[0] if traced else None
    seconds = index.seconds(plain, arm)
    first = plain.arms[arm].first_call if plain else None
    if seconds is None or first is None or first.value <= seconds:
        return None
    return Overhead(seconds=first.value - seconds)


def copy_cost(index: CellIndex, size: float, arm: str, copy: OverheadName) -> Overhead | None:
    """What one copy of so many bytes takes: between two measured sizes on a line in logarithms.

    Beyond the largest size its bandwidth holds, below the smallest its time.  None: no copy was
    measured in this direction.
    """
    copies = index.prices(copy)
    points = sorted(
        (bytes_, seconds)
        for summary in copies
        if (bytes_ := summary.cell.work.bytes) is not None and 0 < bytes_ < LARGEST
        if (seconds := index.seconds(summary, arm)) is not None
    )
    if not points or not 0 < size < LARGEST:
        return None
    cell = copies[0].cell
    return Overhead(
        seconds=_interpolate(points, size),
        values={"size": size, "way": cell.work_key.partition("/")[2], "copy": cell.name},
    )


def _interpolate(points: Sequence[tuple[float, float]], size: float) -> float:
    below = [point for point in points if point[0] <= size]
    above = [point for point in points if point[0] >= size]
    if not below:
        return above[0][1]
    small, first = below[-1]
    if not above:
        return first * size / small
    large, second = above[0]
    share = math.log(size / small) / math.log(large / small) if large > small else 0.0
    seconds: float = first * (second / first) ** share
    return seconds
