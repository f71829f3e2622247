"""What a naive script's own time consists of: the causes along the way to the fair number.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from suite.analysis.ablation.catalogue import Catalogue, mean
from suite.analysis.ablation.prices import ROUNDING
from suite.analysis.ablation.waterfall import Leg, find_way
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.rules import RULES, Suspicion
from suite.analysis.numbers.ratio import compare
from suite.analysis.result.findings import Gain, RuleName
from suite.analysis.result.numbers import Evidence, cite

LEAP = 0.5
"""Changes that were not measured apart must take away so much of a time to be blamed for it."""


SEEN = 0.01
"""A change that takes away less is not worth a word."""


def suspect_way(catalogue: Catalogue, one: CellSummary, arm: str) -> list[Suspicion]:
    """The causes of an asked-about cell's time: what each change on the way takes away of it.

    Changes that were measured together and have several causes name none of them; then start-up is
    suspected of a cold cell, and overhead of a warm one, where they take half of the time.
    """
    if one.cell.price == "start-up":
        evidence = (cite("is-start"),)
        return [Suspicion(rule="start-up", share=1.0, confirmed=True, evidence=evidence)]
    way = find_way(catalogue, one, arm)
    if not way:
        return _suspect_first_step(catalogue, one, arm)
    own = mean(way[0].values) or 0.0
    shares: dict[RuleName, float] = {}
    gone: dict[RuleName, list[Evidence]] = {}
    leaps: list[tuple[float, Leg]] = []
    for before, leg in pairwise(way):
        part = ((mean(before.values) or 0.0) - (mean(leg.values) or 0.0)) / own
        if len(leg.rules) > 1:
            leaps.append((part, leg))
            continue
        for rule in leg.rules:
            shares[rule] = shares.get(rule, 0.0) + part
            if part >= SEEN:
                told = gone.setdefault(rule, [])
                told.append(cite("gone-too" if told else "gone", share=part, changes=leg.changes))
    ratio = compare(way[-1].values, way[0].values)
    gain = Gain(how=cite("fair"), at=way[-1].cell, ratio=ratio) if ratio else None
    found = [
        Suspicion(
            rule=rule,
            share=share,
            confirmed=ratio is not None and ratio.low is not None and ratio.low > 1,
            evidence=tuple(gone[rule]),
            gain=gain,
        )
        for rule, share in shares.items()
        if share >= RULES[rule] - ROUNDING
    ]
    found += _suspect_leaps(catalogue, one, arm, leaps, gain)
    after = _find_repayment(catalogue, one, arm, way)
    return [
        replace(s, evidence=(*s.evidence, after)) if s.rule == "start-up" and after else s
        for s in found
    ]


def _suspect_leaps(
    catalogue: Catalogue,
    one: CellSummary,
    arm: str,
    leaps: list[tuple[float, Leg]],
    gain: Gain | None,
) -> list[Suspicion]:
    share = sum(part for part, _ in leaps)
    if share < LEAP:
        return []
    changes = tuple(change for _, leg in leaps for change in leg.changes)
    evidence = [cite("gone-together", share=share, changes=changes)]
    if not one.cell.one_shot:
        leap = Suspicion(
            rule="overhead", share=share, confirmed=False, evidence=tuple(evidence), gain=gain
        )
        return [leap]
    own = catalogue.seconds(one, arm) or 0.0
    first = catalogue.seconds(catalogue.link(one, "start")[0], arm)
    confirmed = first is not None and first >= RULES["start-up"] * own
    if first is not None:
        evidence.append(cite("first-step", seconds=first))
    leap = Suspicion(
        rule="start-up", share=share, confirmed=confirmed, evidence=tuple(evidence), gain=gain
    )
    return [leap]


def _find_repayment(
    catalogue: Catalogue, one: CellSummary, arm: str, way: Sequence[Leg]
) -> Evidence | None:
    """After how much of the fair work the GPU has repaid what it took to start, against the CPU."""
    cpu = catalogue.cpu
    rival = find_way(catalogue, one, cpu) if cpu and cpu != arm else []
    own, fair = (mean(leg.values) or 0.0 for leg in (way[0], way[-1]))
    call = catalogue.seconds(one, arm)
    if not rival or rival[-1].cell != way[-1].cell or not (own and call):
        return None
    start, saving = (own - fair) / own * call, (mean(rival[-1].values) or 0.0) - fair
    ratio = compare(way[-1].values, rival[-1].values)
    if ratio is None:
        return None
    if (ratio.value if ratio.high is None else ratio.high) <= 1:
        return cite("never-repaid")
    # Only a saving that the interval bears out is one.
    if saving <= 0 or (ratio.value if ratio.low is None else ratio.low) <= 1:
        return cite("repayment-unknown")
    return cite("repaid", units=start / saving, unit=way[0].unit)


def _suspect_first_step(catalogue: Catalogue, one: CellSummary, arm: str) -> list[Suspicion]:
    """Start-up, by the price of a process's first step alone: nothing later on the way was measured."""
    first = catalogue.seconds(catalogue.link(one, "start")[0], arm)
    own = catalogue.seconds(one, arm)
    if not (first and own):
        return []
    share = min(1.0, first / own)
    if share < RULES["start-up"] - ROUNDING:
        return []
    evidence = (cite("first-step", seconds=first, own=own),)
    return [Suspicion(rule="start-up", share=share, confirmed=False, evidence=evidence)]
