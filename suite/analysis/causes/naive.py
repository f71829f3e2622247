"""What a naive script's own time consists of: the causes along the way to the fair number.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from suite.analysis.ablation.catalogue import Catalogue, mean
from suite.analysis.ablation.gains import Gain
from suite.analysis.ablation.prices import ROUNDING
from suite.analysis.ablation.waterfall import Leg, find_way
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.rules import RULES, RuleName, Suspicion
from suite.analysis.numbers.ratio import compare
from suite.report.text.units import show_count, show_seconds, show_share

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
        evidence = "the cell is a start, paid once a process"
        return [Suspicion(rule="start-up", share=1.0, confirmed=True, evidence=evidence)]
    way = find_way(catalogue, one, arm)
    if not way:
        return _suspect_first_step(catalogue, one, arm)
    own = mean(way[0].values) or 0.0
    shares: dict[RuleName, float] = {}
    words: dict[RuleName, list[str]] = {}
    leaps: list[tuple[float, Leg]] = []
    for before, leg in pairwise(way):
        part = ((mean(before.values) or 0.0) - (mean(leg.values) or 0.0)) / own
        if len(leg.rules) > 1:
            leaps.append((part, leg))
            continue
        for rule in leg.rules:
            shares[rule] = shares.get(rule, 0.0) + part
            if part >= SEEN:
                words.setdefault(rule, []).append(f"{_share(part)} ({', '.join(leg.changes)})")
    ratio = compare(way[-1].values, way[0].values)
    gain = Gain(words="at the fair number", at=way[-1].cell, ratio=ratio) if ratio else None
    found = [
        Suspicion(
            rule=rule,
            share=share,
            confirmed=ratio is not None and ratio.low is not None and ratio.low > 1,
            evidence=f"of its time go away: {'; '.join(words[rule])}",
            gain=gain,
        )
        for rule, share in shares.items()
        if share >= RULES[rule].threshold - ROUNDING
    ]
    found += _suspect_leaps(catalogue, one, arm, leaps, gain)
    after = _word_repayment(catalogue, one, arm, way)
    return [
        replace(s, evidence=s.evidence + after) if s.rule == "start-up" and after else s
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
    changes = ", ".join(change for _, leg in leaps for change in leg.changes)
    evidence = f"{_share(share)} of it go away with all of: {changes}"
    if not one.cell.one_shot:
        return [
            Suspicion(rule="overhead", share=share, confirmed=False, evidence=evidence, gain=gain)
        ]
    own = catalogue.seconds(one, arm) or 0.0
    first = catalogue.seconds(catalogue.link(one, "start")[0], arm)
    confirmed = first is not None and first >= RULES["start-up"].threshold * own
    if first is not None:
        evidence += f"; a process's first step takes {show_seconds(first)} by itself"
    return [
        Suspicion(rule="start-up", share=share, confirmed=confirmed, evidence=evidence, gain=gain)
    ]


def _word_repayment(catalogue: Catalogue, one: CellSummary, arm: str, way: Sequence[Leg]) -> str:
    """After how much of the fair work the GPU has repaid what it took to start, against the CPU."""
    cpu = catalogue.cpu
    rival = find_way(catalogue, one, cpu) if cpu and cpu != arm else []
    own, fair = (mean(leg.values) or 0.0 for leg in (way[0], way[-1]))
    call = catalogue.seconds(one, arm)
    if not rival or rival[-1].cell != way[-1].cell or not (own and call):
        return ""
    start, saving = (own - fair) / own * call, (mean(rival[-1].values) or 0.0) - fair
    ratio = compare(way[-1].values, rival[-1].values)
    if ratio is None:
        return ""
    if (ratio.value if ratio.high is None else ratio.high) <= 1:
        return "; never repaid, because the fair number saves nothing"
    # Only a saving that the interval bears out is one.
    if saving <= 0 or (ratio.value if ratio.low is None else ratio.low) <= 1:
        return "; whether it is ever repaid is not shown"
    units = show_count(start / saving, None, None)
    return f"; repaid after {units} {way[0].unit}s at the fair number"


def _suspect_first_step(catalogue: Catalogue, one: CellSummary, arm: str) -> list[Suspicion]:
    """Start-up, by the price of a process's first step alone: nothing later on the way was measured."""
    first = catalogue.seconds(catalogue.link(one, "start")[0], arm)
    own = catalogue.seconds(one, arm)
    if not (first and own):
        return []
    share = min(1.0, first / own)
    if share < RULES["start-up"].threshold - ROUNDING:
        return []
    evidence = (
        f"a process's first step takes {show_seconds(first)} by itself, of {show_seconds(own)}"
    )
    return [Suspicion(rule="start-up", share=share, confirmed=False, evidence=evidence)]


def _share(share: float) -> str:
    return show_share(share, 1.0)
