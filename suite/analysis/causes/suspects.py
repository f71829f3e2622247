"""The suspects for a slow GPU: for each a test of a cell against its witnesses.

Pure; a test gives what speaks for its cause in numbers, or None.  The thresholds are in `causes`;
`explain` decides which cells are tried and who is named first.
"""

from __future__ import annotations

from collections.abc import Callable

from suite.analysis.ablation.catalogue import Catalogue, mean
from suite.analysis.ablation.gains import best_gain, find_gain, find_larger, find_use
from suite.analysis.ablation.pipeline import find_input_limit
from suite.analysis.ablation.prices import (
    ROUNDING,
    find_flat,
    price_copies,
    price_copy,
    price_handover,
)
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.rules import RULES, Suspicion
from suite.analysis.result.findings import Gain
from suite.analysis.result.numbers import Evidence, cite
from suite.cells.traits import Price

Test = Callable[[Catalogue, CellSummary, str], Suspicion | None]
"""Tries one cell on the GPU's arm."""

BUSY = 0.9
"""With a larger share of a sample spent on handing over, the device waits for the host."""

AGREES = 2.0
"""A difference agrees with a price that is within this factor of it."""

TWICE = 2.0
"""A rate that grows by this factor along the sizes shows that the size is what it lacks."""

PRICES = frozenset({"fence", "eager", "graph", "xla", "operation"})
"""What has nothing to compute: its time is a price."""

FALLEN = ("PyFunc", "NumpyFunction", "MatMul", "Conv", "BiasAdd", "Relu", "Tanh", "ResourceApply")
"""Parts of the names of operations that are a step's work: seen on the CPU they have fallen there.
Constants, arguments and what carries values across belong there."""

COPIES: tuple[Price, ...] = ("copy-out", "copy-in")


def _is_bare(one: CellSummary) -> bool:
    """Whether the step alone is timed: no pipeline in front of it, and nothing of a script around it."""
    return one.cell.role in {"work", "control"} and one.cell.way is None


def suspect_fallback(catalogue: Catalogue, one: CellSummary, arm: str) -> Suspicion | None:
    """Work that is pinned to the CPU inside the step, or fell there."""
    if not _is_bare(one):
        return None
    strays = [name for name in catalogue.strays(one, arm) if any(op in name for op in FALLEN)]
    without, how = catalogue.link(one, "without")
    gain = find_gain(catalogue, one, without, arm, how)
    if without is None or gain is None:
        if not strays:
            return None
        seen = cite("fallen-unmeasured", operations=tuple(strays))
        return Suspicion(rule="fallback", share=None, confirmed=False, evidence=(seen,))
    share = _find_saving(gain)
    if share < RULES["fallback"] - ROUNDING:
        return None
    there = without.cell.params
    own = next((v for axis, v in one.cell.params.items() if there.get(axis) != v), "part")
    whole, less = (mean(catalogue.steps(cell, arm)) or 0.0 for cell in (one, without))
    if strays:
        found = cite("fallen", operations=tuple(strays), whole=whole, less=less, share=share)
    else:
        found = cite("on-cpu", part=own, whole=whole, less=less, share=share)
    evidence = [found]
    ways = [price_copy(catalogue, 4, arm, way) for way in COPIES]
    least = sum(price.seconds for price in ways if price)
    if all(ways):
        evidence.append(cite("round-trip", least=least))
    return Suspicion(
        rule="fallback", share=share, confirmed=is_sure(gain), evidence=tuple(evidence), gain=gain
    )


def suspect_input(catalogue: Catalogue, one: CellSummary, arm: str) -> Suspicion | None:
    """A pipeline that is slower than the model behind it."""
    limit = find_input_limit(catalogue, one, arm)
    if limit is None or not limit.limits:
        return None
    return Suspicion(
        rule="input",
        share=limit.share,
        confirmed=limit.confirmed,
        evidence=limit.evidence,
        gain=best_gain(find_gain(catalogue, one, limit.better, arm, limit.how)),
    )


def suspect_transfer(catalogue: Catalogue, one: CellSummary, arm: str) -> Suspicion | None:
    """Data that is copied to the device at every step."""
    if one.cell.price in COPIES:
        evidence = (cite("is-copy"),)
        return Suspicion(rule="transfer", share=1.0, confirmed=True, evidence=evidence)
    other, how = catalogue.link(one, "nearer")
    gain = find_gain(catalogue, one, other, arm, how)
    if gain is None or _find_saving(gain) < RULES["transfer"] - ROUNDING:
        return None
    share = _find_saving(gain)
    own, less = (catalogue.seconds(cell, arm) or 0.0 for cell in (one, other))
    nearer = cite("nearer", own=own, less=less, share=share, **how.values)
    agrees, copies = _compare_copies(catalogue, one, arm, own - less)
    return Suspicion(
        rule="transfer",
        share=share,
        confirmed=agrees and is_sure(gain),
        evidence=(nearer, copies),
        gain=gain,
    )


def suspect_overhead(catalogue: Catalogue, one: CellSummary, arm: str) -> Suspicion | None:
    """A price a call that does not depend on how much work the call has."""
    if one.cell.price in PRICES:
        evidence = (cite("is-price"),)
        return Suspicion(rule="overhead", share=1.0, confirmed=True, evidence=evidence)
    own = catalogue.seconds(one, arm)
    if own is None or one.cell.one_shot or one.cell.pinned:
        return None
    least = RULES["overhead"] - ROUNDING
    found: list[Evidence] = []
    share, rest = 0.0, None
    flat = find_flat(catalogue, one, arm)
    if flat is not None:
        rest = flat.share
        found.append(
            cite(
                "flat",
                axis=flat.axis,
                first=flat.first,
                last=flat.last,
                low=flat.low,
                high=flat.high,
                times=flat.last / flat.first,
                longer=flat.high / flat.low,
            )
        )
    enqueueing = catalogue.enqueueing(one, arm)
    if "dispatch-bound" in catalogue.labels(one, arm) or (enqueueing or 0.0) > BUSY:
        rest = max(rest or 0.0, enqueueing or BUSY)
        found.append(cite("dispatch-bound"))
    price = price_handover(catalogue, one, arm)
    if price is not None and price.seconds >= least * own:
        share = min(1.0, price.seconds / own)
        found.append(cite("handover", price=price.seconds, own=own, **price.values))
    fewer = find_fewer(catalogue, one, arm)
    if fewer is not None and _find_saving(fewer) >= least:
        share = max(share, _find_saving(fewer))
        found.append(cite("fewer", share=_find_saving(fewer), **fewer.how.values))
    if not found:
        return None
    return Suspicion(
        rule="overhead",
        share=share,
        rest=rest,
        confirmed=len(found) > 1,
        evidence=tuple(found),
        gain=best_gain(fewer, find_larger(catalogue, one, arm)),
    )


def suspect_smallness(catalogue: Catalogue, one: CellSummary, arm: str) -> Suspicion | None:
    """So little work that most of the device is idle."""
    if not _is_bare(one) or one.cell.one_shot:
        return None
    used = find_use(catalogue, one, arm)
    if used is None or used[0] >= RULES["too small"] + ROUNDING:
        return None
    share, best = used
    larger = find_larger(catalogue, one, arm)
    return Suspicion(
        rule="too small",
        share=1 - share,
        confirmed=larger is not None and larger.ratio.value >= TWICE,
        evidence=(cite("of-best", share=share, best=best.cell.id),),
        gain=larger,
    )


def find_fewer(catalogue: Catalogue, one: CellSummary, arm: str) -> Gain | None:
    """The variant of a cell with fewer handovers that helps most; None: none was measured to help."""
    fewer = catalogue.links(one, "fewer")
    return best_gain(*(find_gain(catalogue, one, other, arm, how) for other, how in fewer))


def _compare_copies(
    catalogue: Catalogue, one: CellSummary, arm: str, saved: float
) -> tuple[bool, Evidence]:
    """Whether what is saved without copying agrees with what the copies take, and that as evidence."""
    price = price_copies(catalogue, one, arm)
    if price is None:
        return False, cite("copies-unknown")
    seconds = price.seconds
    if saved > seconds * AGREES:
        return False, cite("copies-take-less", seconds=seconds, **price.values)
    if saved < seconds / AGREES:
        return False, cite("copies-take-more", seconds=seconds, **price.values)
    return True, cite("copies", seconds=seconds, **price.values)


def is_sure(gain: Gain | None) -> bool:
    """Whether the interval of what was measured to help excludes that it does not."""
    return gain is not None and gain.ratio.low is not None and gain.ratio.low > 1


def _find_saving(gain: Gain) -> float:
    """The share of the time that goes away."""
    return 1 - 1 / gain.ratio.value


TESTS: tuple[Test, ...] = (
    suspect_fallback,
    suspect_input,
    suspect_transfer,
    suspect_overhead,
    suspect_smallness,
)
"""Every test of a single cause; the way of an asked-about cell speaks for several (`naive`)."""
