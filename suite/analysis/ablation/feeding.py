"""How many CPUs feed a step: the same step and its pipeline on fewer and more of them.  Pure.

A step is input-bound on some CPUs where it takes longer behind its pipeline than on a batch at hand, on the
same CPUs: because it waits, or because the pipeline takes the CPUs from it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from suite.analysis.ablation.cell_index import CellIndex, Values
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.result.findings import NEAR, Fed, Finding, Meaning
from suite.analysis.result.numbers import FEWEST, Estimate, Evidence, Value, cite
from suite.analysis.statistics.estimate import CONFIDENCE, estimate, exponentiate, find_moments
from suite.analysis.statistics.ratio import pair_logs

PARTS = ("input alone", "step alone", "together")
"""What is measured on the same CPUs: a pipeline, a step on a batch at hand, and that behind the pipeline."""


@dataclass(frozen=True, kw_only=True)
class Rung:
    """What was measured on so many CPUs on an arm: seconds a step of each of `PARTS`, by block.

    ``ratio`` is that of both together to the step alone, whose interval holds with those of all rungs;
    None: no block has both.
    """

    cpus: int
    cell: str
    parts: dict[str, Values]
    ratio: Estimate | None

    @property
    def bound(self) -> bool | None:
        """Whether the step is input-bound there; None: nobody can tell."""
        if self.ratio is None or self.ratio.low is None or self.ratio.high is None:
            return None
        if self.ratio.high <= 1 + NEAR:
            return False
        return True if self.ratio.low > 1 + NEAR else None


def find_feeding(index: CellIndex, gpus: Collection[str], cpus: int) -> Iterator[Finding]:
    """On every arm what was measured on each number of CPUs, and from how many on they feed the step.

    ``gpus`` are the arms with a GPU; ``cpus`` is how many the campaign had.
    """
    for arm in index.arms:
        rungs = _climb(index, arm)
        if any(any(rung.parts.values()) for rung in rungs):
            for rung in rungs:
                yield from _describe(rung, arm)
            yield find_fewest(rungs, arm, gpu=arm in gpus, cpus=cpus)


def _climb(index: CellIndex, arm: str) -> list[Rung]:
    """The rungs of an arm, the fewest CPUs first; none where no step behind a pipeline was planned."""
    by_cpus: dict[int, dict[str, CellSummary]] = {}
    for summary in index.cells.values():
        if summary.cell.cpus:
            by_cpus.setdefault(summary.cell.cpus, {})[_name_part(summary)] = summary
    ladder = {cpus: of for cpus, of in sorted(by_cpus.items()) if PARTS[-1] in of}
    rungs = []
    for cpus, of in ladder.items():
        parts = {part: index.steps(of.get(part), arm) for part in PARTS}
        ratio = find_ratio(parts["step alone"], parts["together"], len(ladder))
        rungs.append(Rung(cpus=cpus, cell=of["together"].cell.id, parts=parts, ratio=ratio))
    return rungs


def find_ratio(alone: Values, together: Values, rungs: int) -> Estimate | None:
    """The ratio together over alone, paired by block, with an interval that holds with those of so many
    rungs (Bonferroni); None: no block has both."""
    logs = pair_logs(alone, together)
    level = 1 - (1 - CONFIDENCE) / rungs
    return exponentiate(find_moments(logs), len(logs), level) if logs else None


def _name_part(summary: CellSummary) -> str:
    if summary.cell.on_cpu:
        return "input alone"
    return "step alone" if summary.cell.data == "host" else "together"


def _describe(rung: Rung, arm: str) -> Iterator[Finding]:
    verdicts: dict[bool | None, Meaning] = {True: "input", False: "compute", None: ""}
    find = partial(Finding, tag="fed", arm=arm, cell=rung.cell, beside=_count(rung.cpus))
    yield find(
        of="ratio",
        value=rung.ratio,
        share=None if rung.ratio is None else max(0.0, 1 - 1 / rung.ratio.value),
        verdict=verdicts[rung.bound],
        evidence=() if rung.ratio else (cite("feed-unmeasured"),),
    )
    for part, seconds in rung.parts.items():
        if seconds:
            yield find(of=part, value=estimate(list(seconds.values())), unit="s")


def _count(cpus: int) -> Estimate:
    return Estimate(value=cpus, low=None, high=None, n=1)


def find_fewest(rungs: Sequence[Rung], arm: str, *, gpu: bool, cpus: int) -> Finding:
    """From how many CPUs on the step is not input-bound on any number of them that was measured.

    That more CPUs feed it better is not taken for granted: where it is not so, the evidence says it.
    """
    states = [rung.bound for rung in rungs]
    enough = next(
        (place for place in range(len(rungs)) if set(states[place:]) == {False}), len(rungs)
    )
    bound = max((place for place, state in enumerate(states) if state), default=-1)
    most = rungs[-1].cpus
    short: dict[str, Value] = {"short": rungs[bound].cpus} if bound >= 0 else {}
    between = tuple(str(rung.cpus) for rung in rungs[bound + 1 : enough])
    known: dict[str, Value] = {"between": between} if between else {}
    every = most == cpus
    low, value = 0.0, None
    verdict: Fed = "from"
    if enough < len(rungs):
        value = rungs[enough].cpus
        low = float(rungs[bound].cpus) if bound >= 0 else 0.0
        if short:
            said = cite("feed-between" if between else "feed-from", cpus=value, **short, **known)
        else:
            said = cite("feed-at-most" if between else "feed-fewest", cpus=value, **known)
    elif states[-1]:
        verdict = "not here"
        said = cite("feed-never" if every else "feed-not-yet", cpus=most)
    else:
        verdict = "undecided"
        said = cite("feed-undecided", cpus=most, **short)
    return Finding(
        tag="feeding",
        arm=arm,
        cell=rungs[min(enough, len(rungs) - 1)].cell,
        value=None if value is None else Estimate(value=value, low=low, high=value, n=len(rungs)),
        unit="CPU",
        verdict=verdict,
        evidence=(said, *_qualify(rungs, bound, gpu=gpu)),
    )


def _qualify(rungs: Sequence[Rung], bound: int, *, gpu: bool) -> Iterator[Evidence]:
    """What has to be said beside: why nothing can be decided, that fewer CPUs did better than more, and who
    computes on them."""
    if any(rung.ratio and rung.ratio.n < FEWEST for rung in rungs):
        yield cite("feed-few-blocks", fewest=FEWEST)
    better = tuple(str(rung.cpus) for rung in rungs[: max(0, bound)] if rung.bound is False)
    if better:
        yield cite("feed-fell-back", better=better, worse=rungs[bound].cpus)
    if not gpu:
        yield cite("feed-shared")
