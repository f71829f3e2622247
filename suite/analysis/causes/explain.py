"""Why the GPU is slow where it is: causes for every cell that it loses, or wastes most of itself on.

Pure.  What the GPU loses is taken apart by the ablations of the cell; each part that takes longer on the GPU
than on the CPU is a cause's, the one that takes most is named first, and what no part explains is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial, reduce

from suite.analysis.ablation.cell_index import CellIndex, Values
from suite.analysis.ablation.overheads import ROUNDING
from suite.analysis.ablation.speedups import (
    best_speedup,
    find_effects,
    find_helping,
    find_utilization,
    find_winner,
)
from suite.analysis.ablation.waterfall import find_break_even
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.ablate import ablate
from suite.analysis.causes.parts import Compared, Part, mean_of, subtract
from suite.analysis.causes.rules import RULES, cross_check, find_off_device_ops
from suite.analysis.result.findings import Cause, Finding, RuleName, Standing
from suite.analysis.result.numbers import LEVEL, Evidence, cite
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
    **dict.fromkeys(("fence", "handover", "eager", "graph", "xla", "operation"), _IS_CALL),
    "start-up": ("start-up", cite("is-start")),
}
"""What is nothing but one cause, and how that is told."""

UNKNOWN_SHARE = 0.5
"""How a cause whose cost nobody measured is ranked: after those that explain half of the loss."""

Case = tuple[Standing, tuple[Cause, ...]]
"""How the GPU stands in a cell that needs an explanation, and the causes, the heaviest first."""


def explain(index: CellIndex) -> dict[str, Case]:
    """The cases of a campaign by their cells; none where it has not both arms."""
    gpu, cpu = index.gpu, index.cpu
    if gpu is None or cpu is None:
        return {}
    cases = {name: _explain(index, summary, cpu, gpu) for name, summary in index.cells.items()}
    return {name: case for name, case in cases.items() if case is not None}


def _explain(index: CellIndex, summary: CellSummary, cpu: str, gpu: str) -> Case | None:
    ratio, won = index.ratio(summary), index.wins(summary)
    used = find_utilization(index, summary, gpu)
    use = used[0] if used else None
    loses, wasted = won is False, use is not None and use < WASTED - ROUNDING
    if ratio is None or not (loses or wasted):
        return None
    own = index.values(summary, gpu)
    lost = (
        subtract(own, index.values(summary, cpu))
        if loses
        else {block: (1 - (use or 0.0)) * s for block, s in own.items()}
    )
    here = Compared(index=index, summary=summary, arms=(cpu, gpu) if loses else (gpu,))
    causes = tuple(sorted(_find_causes(here, lost), key=_rank))
    is_open = index.share is not None and not _is_main(here, lost, causes[0], index.share)
    winner = find_winner(index, summary)
    # A price is no work for which one could choose a device.
    chosen = loses and winner is None and summary.cell.price is None and not summary.cell.on_cpu
    helping, untried = find_helping(index, summary, gpu) if chosen else ([], ())
    # Another size can be other work.
    same = [index.wins(o) for o in helping if o.cell.work_key == summary.cell.work_key]
    others = [other for other in helping if other.cell.work_key != summary.cell.work_key]
    winner = winner or next(filter(index.wins, others), None)
    wins = [*same, *map(index.wins, others)]
    standing = Standing(
        ratio=ratio,
        lost=estimate_difference(list(lost.values())),
        loses=loses,
        provisional=index.is_provisional(summary),
        use=use,
        winner=winner.cell.id if winner else None,
        winner_otherwise=winner is not None
        and "training" in find_effects(summary.cell, winner.cell),
        # Of what nobody knows the cause of, nobody knows what would help.
        hopeless=causes[0].rule != "unknown"
        and set(same) <= {False}
        and (True in wins or set(wins) == {False}),
        untried=untried,
        open=is_open,
    )
    return standing, causes


def _is_main(here: Compared, lost: Values, cause: Cause, share: float) -> bool:
    """Whether a cause takes more than each other one, and than what no cause explains, by one-sided paired t
    tests at the share of the level that this look may spend."""
    if here.cell.price in IS:
        return True
    if cause.rule == "unknown" or here.cell.on_cpu:
        return False
    # More sizes of a sweep give another time at no work, unless something else saw as much.
    if cause.rule in {"overhead", "too small"} and not cause.confirmed:
        return False
    every = {rule: _add_up(own) for rule, own in _find_parts(here).items()}
    # What the GPU makes up for explains no loss.
    taken = {rule: own for rule, own in every.items() if mean_of(own) > 0}
    rest = reduce(subtract, taken.values(), lost)
    rivals = [rest, *(own for rule, own in taken.items() if rule != cause.rule)]
    confidence = 1 - 2 * share * LEVEL
    return cause.rule in taken and all(
        (lead := estimate_difference(list(subtract(taken[cause.rule], other).values()), confidence))
        and lead.low is not None
        and lead.low > 0
        for other in rivals
    )


def _find_causes(here: Compared, lost: Values) -> Iterator[Cause]:
    """The causes of what a cell loses; their shares add up to 1.

    A share is of what is lost; where the GPU makes up for a part of it elsewhere, of what it loses
    before that.
    """
    make_cause = partial(Cause, provisional=here.index.is_provisional(here.summary))
    if here.cell.price in IS:
        rule, evidence = IS[here.cell.price]
        seconds = estimate_difference(list(lost.values()))
        yield make_cause(
            rule=rule, confirmed=True, evidence=(evidence,), seconds=seconds, share=1.0
        )
        return
    parts = {} if here.cell.on_cpu else _find_parts(here)
    blocks = {rule: _add_up(own) for rule, own in parts.items()}
    excess = {rule: estimate_difference(list(own.values())) for rule, own in blocks.items()}
    # Without an interval every block has to show it.
    least = {
        rule: min(blocks[rule].values()) if taken.low is None else taken.low
        for rule, taken in excess.items()
    }
    whole = max(mean_of(lost), math.fsum(max(0.0, taken.value) for taken in excess.values()))
    rest, doubts, unnamed = 1.0, list[Evidence](), True
    for rule, taken in excess.items():
        share = taken.value / whole if whole > 0 else None
        if share is not None and (share < NAMED or least[rule] <= 0):
            continue
        agrees, refuted, checked = cross_check(RULES[rule], parts[rule])
        if refuted:
            doubts += [cite("refuted", rule=rule), *checked]
            continue
        rest -= share or 0.0
        unnamed = False
        gain, otherwise = _find_gains(here, rule, parts[rule])
        yield make_cause(
            rule=rule,
            confirmed=agrees and least[rule] > WEIGHTY * whole,
            evidence=(*_cite_parts(here, rule, parts[rule]), *checked),
            gain=gain,
            otherwise=otherwise,
            seconds=taken,
            share=share,
        )
    fallen = () if here.cell.on_cpu or "fallback" in parts else find_off_device_ops(here)
    if fallen:
        evidence = cite("fallen-unmeasured", operations=fallen)
        yield make_cause(rule="fallback", confirmed=False, evidence=(evidence,))
    if rest >= NAMED or (unnamed and not fallen):
        evidence = cite("on-cpu-on-both") if here.cell.on_cpu else cite("rest", share=rest)
        yield make_cause(
            rule="unknown", confirmed=False, evidence=(evidence, *doubts), share=max(0.0, rest)
        )


def _find_parts(here: Compared) -> dict[RuleName, list[Part]]:
    """The parts of the ablations by their rules, in the order of these."""
    every = ablate(here)
    parts = {rule: [part for part in every if part.rule == rule] for rule in RULES}
    # What takes nothing on the GPU is no reason of its loss, however little the CPU saves by it.
    return {r: own for r, own in parts.items() if math.fsum(part.own_s for part in own) > 0}


def _add_up(parts: list[Part]) -> Values:
    """Seconds a call that a cause takes on the GPU beyond the CPU, by block."""
    total: dict[int, float] = {}
    for part in parts:
        excess = part.seconds[part.here.gpu]
        for arm in part.here.arms[:-1]:
            excess = subtract(excess, part.seconds[arm])
        total = {block: total.get(block, 0.0) + s for block, s in excess.items()}
    return total


def _cite_parts(here: Compared, rule: RuleName, parts: list[Part]) -> Iterator[Evidence]:
    for part in parts:
        yield from part.evidence if part.own_s > 0 else ()
    if rule == "start-up" and (after := find_break_even(here.index, here.summary, here.gpu)):
        yield after


def _find_gains(
    here: Compared, rule: RuleName, parts: list[Part]
) -> tuple[Finding | None, Finding | None]:
    """The largest gain of what keeps the results, and of what changes the training.

    From the cell itself, not from the ablation at which the part was found.  What changes the timing gains
    nothing, and a start is a matter of nothing else.
    """
    same, otherwise = list[Finding | None](), list[Finding | None]()
    for gain in [gain for part in parts for gain in part.gains if gain and rule != "start-up"]:
        other, how = here.index.cells[gain.at], gain.evidence[0]
        if steps := here.cell.way.list_steps(here.cell.id, gain.at) if here.cell.way else []:
            how = cite("changed", changes=tuple(step.change for step in steps))
        effects = find_effects(here.cell, other.cell)
        if "timing" not in effects:
            (otherwise if "training" in effects else same).append(here.find_gain(other, how))
    return best_speedup(*same), best_speedup(*otherwise)


def _rank(cause: Cause) -> tuple[int, bool, int]:
    share = UNKNOWN_SHARE if cause.share is None else cause.share
    return -round(100 * share), not cause.confirmed, list(RULES).index(cause.rule)
