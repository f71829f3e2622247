"""Why the GPU is slow where it is: causes for every cell that it loses, or wastes most of itself on.

Pure.  Every suspect is tried; the one that explains most of a cell's time is named first, and where
none fires that is said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from suite.analysis.ablation.catalogue import Catalogue
from suite.analysis.ablation.gains import find_use, find_winner
from suite.analysis.ablation.prices import ROUNDING
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.naive import suspect_way
from suite.analysis.causes.rules import RULES, Suspicion
from suite.analysis.causes.suspects import TESTS
from suite.analysis.causes.witness import attest
from suite.analysis.result.findings import Cause, RuleName
from suite.analysis.result.numbers import Ratio, cite

WASTED = 0.10
"""Under this share of its own best rate a device is worth a question even where it wins."""

UNKNOWN_SHARE = 0.5
"""How a cause whose cost nobody measured is ranked: after those that explain half of the time."""

SYMPTOM: RuleName = "too small"
"""Says that a device is idle and not what keeps it waiting: named after every cause that does."""

TRACE = 0.10
"""What is left to a cause after the others have named theirs is a trace, and not said, under this."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A cell that needs an explanation, and its causes, the heaviest first.

    ``loses``: the GPU is the slower one; else it wins or nobody can tell, but reaches only ``use``
    of its own best rate (None: there is no rate to compare).  ``winner`` is the variant of the same
    work at which the GPU wins by most.  ``hopeless``: it loses at every variant that was measured, so
    that the CPU is the right device.
    """

    cell: CellSummary
    ratio: Ratio
    loses: bool
    provisional: bool
    use: float | None
    winner: CellSummary | None
    hopeless: bool
    causes: tuple[Cause, ...]


def explain(catalogue: Catalogue) -> list[Case]:
    """The cases of a campaign in its plan's order; none where it has not both arms."""
    gpu = catalogue.gpu
    if gpu is None or catalogue.cpu is None:
        return []
    found = (_explain(catalogue, one, gpu) for one in catalogue.cells.values())
    return [case for case in found if case is not None]


def find_causes(catalogue: Catalogue, one: CellSummary, arm: str) -> list[Suspicion]:
    """The causes of a cell's time on an arm, whether it loses or not; the heaviest first.

    A share that contains others (`Suspicion.rest`) is what those leave of it.  Equal weights, in
    whole per cent: confirmed before suspected, then the order of `RULES`.
    """
    found = suspect_way(catalogue, one, arm)
    known = {suspicion.rule for suspicion in found}
    for test in TESTS:
        suspicion = test(catalogue, one, arm)
        if suspicion is not None and suspicion.rule not in known:
            found.append(suspicion)
    named = sum(s.share or 0.0 for s in found if s.rest is None and s.rule != SYMPTOM)
    weighed = [
        replace(s, share=max(s.share or 0.0, min(s.rest, 1 - named))) if s.rest is not None else s
        for s in found
    ]
    kept = [s for s in weighed if s.rest is None or (s.share or 0.0) >= TRACE]
    return sorted(kept, key=_rank)


def _explain(catalogue: Catalogue, one: CellSummary, gpu: str) -> Case | None:
    ratio = catalogue.ratio(one)
    if ratio is None:
        return None
    wins, used = catalogue.wins(one), find_use(catalogue, one, gpu)
    use = used[0] if used else None
    wasted = use is not None and use < WASTED - ROUNDING
    if wins is not False and not wasted:
        return None
    provisional = catalogue.is_provisional(one)
    winner = find_winner(catalogue, one)
    trace = catalogue.trace(one, gpu)
    suspicions = [
        attest(suspicion, trace)
        for suspicion in find_causes(catalogue, one, gpu) or [_tell_unknown(one)]
    ]
    hopeless = (
        wins is False
        and winner is None
        # A price is no work for which one could choose a device.
        and one.cell.price is None
        and not one.cell.pinned
    )
    causes = tuple(
        Cause(
            rule=suspicion.rule,
            confirmed=suspicion.confirmed,
            provisional=provisional,
            evidence=suspicion.evidence,
            gain=suspicion.gain,
            share=suspicion.share,
        )
        for suspicion in suspicions
    )
    return Case(
        cell=one,
        ratio=ratio,
        loses=wins is False,
        provisional=provisional,
        use=use,
        winner=winner,
        hopeless=hopeless,
        causes=causes,
    )


def _rank(suspicion: Suspicion) -> tuple[bool, int, bool, int]:
    share = UNKNOWN_SHARE if suspicion.share is None else suspicion.share
    return (
        suspicion.rule == SYMPTOM,
        -round(100 * share),
        not suspicion.confirmed,
        list(RULES).index(suspicion.rule),
    )


def _tell_unknown(one: CellSummary) -> Suspicion:
    evidence = cite("none-fires", rules=tuple(name for name in RULES if name != "unknown"))
    if one.cell.pinned:
        evidence = cite("on-cpu-on-both")
    return Suspicion(rule="unknown", share=None, confirmed=False, evidence=(evidence,))
