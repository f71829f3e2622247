"""Why the GPU is slow where it is: causes for every cell that it loses, or wastes most of itself on.

Pure.  What the GPU loses is taken apart by the ablations of the cell; each part that takes longer on the GPU
than on the CPU is a cause's, the one that takes most is named first, and what no part explains is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from suite.analysis.ablation.cell_index import CellIndex, Values
from suite.analysis.ablation.overheads import ROUNDING
from suite.analysis.ablation.speedups import (
    best_speedup,
    find_speedup,
    find_utilization,
    find_winner,
)
from suite.analysis.ablation.waterfall import find_break_even
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.ablate import ablate
from suite.analysis.causes.parts import Part, mean_of, subtract
from suite.analysis.causes.rules import RULES, Arms, Candidate, cross_check, find_off_device_ops
from suite.analysis.result.findings import Cause, RuleName, Standing
from suite.analysis.result.numbers import Evidence, cite
from suite.analysis.statistics.estimate import estimate_difference
from suite.cells.traits import OverheadName

NAMED = 0.10
"""A cause that explains less of what a cell loses is not named."""

WEIGHTY = 0.25
"""A cause that is not shown to explain more is never confirmed: it is not why a cell loses."""

WASTED = 0.10
"""Under this share of its own best rate a device is worth a question even where it wins."""

_IS_COPY: tuple[RuleName, Evidence] = ("transfer", cite("is-copy"))
_IS_CALL: tuple[RuleName, Evidence] = ("overhead", cite("is-price"))
IS: dict[OverheadName, tuple[RuleName, Evidence]] = {
    **dict.fromkeys(("copy-in", "copy-out"), _IS_COPY),
    **dict.fromkeys(("fence", "eager", "graph", "xla", "operation"), _IS_CALL),
    "start-up": ("start-up", cite("is-start")),
}
"""What is nothing but one cause, and how that is told."""


Case = tuple[Standing, tuple[Cause, ...]]
"""How the GPU stands in a cell that needs an explanation, and the causes, the heaviest first."""


def explain(index: CellIndex) -> dict[str, Case]:
    """The cases of a campaign by their cells; none where it has not both arms."""
    gpu, cpu = index.gpu, index.cpu
    if gpu is None or cpu is None:
        return {}
    cases = {name: _explain(index, summary, cpu, gpu) for name, summary in index.cells.items()}
    return {name: case for name, case in cases.items() if case is not None}


def _explain(index: CellIndex, one: CellSummary, cpu: str, gpu: str) -> Case | None:
    ratio = index.ratio(one)
    if ratio is None:
        return None
    wins, used = index.wins(one), find_utilization(index, one, gpu)
    use = used[0] if used else None
    wasted = use is not None and use < WASTED - ROUNDING
    if wins is not False and not wasted:
        return None
    loses = wins is False
    own = index.values(one, gpu)
    lost = (
        subtract(own, index.values(one, cpu))
        if loses
        else {block: (1 - (use or 0.0)) * s for block, s in own.items()}
    )
    winner = find_winner(index, one)
    # A price is no work for which one could choose a device.
    chosen = one.cell.price is None and not one.cell.on_cpu
    standing = Standing(
        ratio=ratio,
        lost=estimate_difference(list(lost.values())),
        loses=loses,
        provisional=index.is_provisional(one),
        use=use,
        winner=winner.cell.id if winner else None,
        hopeless=loses and winner is None and chosen,
    )
    return standing, tuple(_find_causes(index, one, (cpu, gpu) if loses else (gpu,), lost))


def _find_causes(index: CellIndex, one: CellSummary, arms: Arms, lost: Values) -> Iterator[Cause]:
    """The causes of what a cell loses, the one that explains most first; their shares add up to 1.

    A share is of what is lost; where the GPU makes up for a part of it elsewhere, of what it loses
    before that.
    """
    provisional = index.is_provisional(one)
    if one.cell.price in IS:
        rule, evidence = IS[one.cell.price]
        yield Cause(
            rule=rule,
            confirmed=True,
            provisional=provisional,
            evidence=(evidence,),
            seconds=estimate_difference(list(lost.values())),
            share=1.0,
        )
        return
    found = [] if one.cell.on_cpu else _find_candidates(index, one, arms)
    counted = [s for s in found if s.seconds is not None]
    whole = max(mean_of(lost), math.fsum(max(0.0, s.seconds.value) for s in counted if s.seconds))
    named, rest, doubts = [], 1.0, []
    for candidate in found:
        share = candidate.seconds.value / whole if candidate.seconds and whole > 0 else None
        least = candidate.seconds.least if candidate.seconds else 0.0
        if share is not None and (share < NAMED or least <= 0):
            continue
        confirmed, refuted, checked = cross_check(index, candidate, arms)
        if refuted:
            doubts.append(cite("refuted", rule=candidate.rule))
            doubts += checked
            continue
        rest -= share or 0.0
        named.append(
            Cause(
                rule=candidate.rule,
                confirmed=confirmed and least > WEIGHTY * whole,
                provisional=provisional,
                evidence=(*candidate.evidence, *checked),
                gain=candidate.gain,
                seconds=candidate.seconds,
                share=share,
            )
        )
    if rest >= NAMED or not named:
        named.append(_tell_unknown(one, rest, doubts, provisional=provisional))
    yield from sorted(named, key=_rank)


def _find_candidates(index: CellIndex, one: CellSummary, arms: Arms) -> list[Candidate]:
    """Every cause with what it takes, in seconds a call; the parts of its ablations by their rules."""
    parts = ablate(index, one, arms)
    found = []
    for rule in RULES:
        own = tuple(part for part in parts if part.rule == rule)
        # What takes nothing on the GPU is no reason of its loss, however little the CPU saves by it.
        if math.fsum(mean_of(part.seconds[arms[-1]]) for part in own) > 0:
            found.append(_gather(index, rule, own, arms, one))
    off_device = find_off_device_ops(index, one, arms[-1])
    if off_device and "fallback" not in {s.rule for s in found}:
        seen = cite("fallen-unmeasured", operations=off_device)
        found.append(Candidate(rule="fallback", parts=(), seconds=None, evidence=(seen,)))
    return found


def _gather(
    index: CellIndex, rule: RuleName, parts: tuple[Part, ...], arms: Arms, one: CellSummary
) -> Candidate:
    total: dict[int, float] = {}
    for part in parts:
        own = part.seconds[arms[-1]]
        excess = subtract(own, part.seconds[arms[0]]) if len(arms) > 1 else own
        total = {b: total.get(b, 0.0) + s for b, s in excess.items()}
    taking = (part for part in parts if mean_of(part.seconds[arms[-1]]) > 0)
    evidence = tuple(told for part in taking for told in part.evidence)
    if rule == "start-up" and (after := find_break_even(index, one, arms[-1])):
        evidence = (*evidence, after)
    # From the cell itself, not from the ablation at which the part was found.
    gains = [
        find_speedup(index, one, index.cells[part.gain.at], arms[-1], part.gain.evidence[0])
        for part in parts
        if part.gain is not None
    ]
    return Candidate(
        rule=rule,
        parts=parts,
        seconds=estimate_difference(list(total.values())),
        evidence=evidence,
        gain=best_speedup(*gains),
    )


UNKNOWN_SHARE = 0.5
"""How a cause whose cost nobody measured is ranked: after those that explain half of the loss."""


def _rank(cause: Cause) -> tuple[int, bool, int]:
    share = UNKNOWN_SHARE if cause.share is None else cause.share
    return -round(100 * share), not cause.confirmed, list(RULES).index(cause.rule)


def _tell_unknown(
    one: CellSummary, rest: float, doubts: list[Evidence], *, provisional: bool
) -> Cause:
    evidence = cite("on-cpu-on-both") if one.cell.on_cpu else cite("rest", share=rest)
    return Cause(
        rule="unknown",
        confirmed=False,
        provisional=provisional,
        evidence=(evidence, *doubts),
        share=max(0.0, rest),
    )
