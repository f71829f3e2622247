"""What is run next: pure and deterministic, so that the same documents lead to the same rounds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import chain

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.numbers import FEWEST
from suite.analysis.why.gains import Key
from suite.analysis.why.levels import Judged, Level, Study
from suite.model import container_seconds
from suite.model.why import BASE, Round

GROUP = 3
"""So many tries are looked at between two runs without them."""

MOST_ASKED = 12
"""A case that was asked for so often is left alone, whatever came back."""

START_S = 10.0
"""What a container takes besides its runs, where nobody knows yet."""

Case = tuple[str, ...]


def next_round(loaded: LoadedCampaign, left_s: float) -> Round | None:
    """The runs of the next round by arm, of which the first of an arm is to be watched; None: it is over.

    What does not fit into ``left_s`` seconds is cut off at the end of each arm's runs.
    """
    study = Study(loaded)
    wanted = {arm: _ask(study, arm) for arm in loaded.campaign.arms}
    costs = {arm: _cost(study, loaded, arm) for arm, cases in wanted.items() if cases}
    if not costs:
        return None
    total_s = sum(start_s + run_s * len(wanted[arm]) for arm, (start_s, run_s) in costs.items())
    share = 1.0
    if total_s > left_s:
        runs_s = sum(run_s * len(wanted[arm]) for arm, (_, run_s) in costs.items())
        share = (left_s - total_s + runs_s) / runs_s
    runs = {
        arm: ["+".join(case) or BASE for case in cases[: int(share * len(cases))]]
        for arm, cases in wanted.items()
        if arm in costs
    }
    # One run alone is beside no other; but the first, which is watched.
    runs = {arm: of for arm, of in runs.items() if len(of) > 1 or (of and len(wanted[arm]) == 1)}
    return Round(runs=runs) if runs and share > 0 else None


def _cost(study: Study, loaded: LoadedCampaign, arm: str) -> tuple[float, float]:
    """The seconds of a container's start on an arm, and of a run there."""
    runs_s = [run.spent_s for run in study.runs if run.arm == arm]
    documents = [document for document in loaded.documents if document.invocation.arm == arm]
    starts_s = [
        container_seconds(document)
        - sum(r.spent_s for r in study.runs if (r.arm, r.block) == (arm, document.invocation.block))
        for document in documents
    ]
    return max(starts_s, default=START_S), statistics.fmean(runs_s) if runs_s else START_S


def _ask(study: Study, arm: str) -> list[Case]:
    """The cases that an arm is to run next, in their order; empty: nothing."""
    if not study.watched(arm):
        return [()] if not study.count_asked(arm, ()) else []
    level = study.levels(arm)[-1]
    on = level.on
    if len(on) > 1:
        gain = study.gains.get(Key(arm, (), on))
        pairs = gain.wall.n if gain else 0
        if pairs < FEWEST and study.count_asked(arm, on) < MOST_ASKED:
            return [(), on] * (FEWEST - pairs)
    if level.missing:
        return _screen(level)
    if open_tries := [
        tried for tried in level.open if study.count_asked(arm, tried.key.tries) < MOST_ASKED
    ]:
        return _confirm(on, open_tries)
    # A step has its interval, and so has a larger batch where another arm runs it as well.
    several = len(study.inquiry.arms) > 1
    larger = [c.name for c in study.inquiry.tries.get(arm, []) if c.scale > 1 and several]
    for case in [(), *((name,) for name in larger)]:
        sound = [run for run in study.select(arm, case) if run.seconds is not None]
        if (sound or not case) and study.count_asked(arm, case) <= FEWEST > len(sound):
            return [case] * (FEWEST - len(sound))
    return []


def _screen(level: Level) -> list[Case]:
    """One run of each try that has had none, between runs without; what takes long comes last."""
    tries = [tried.key.tries for tried in sorted(level.missing, key=lambda t: t.change.late)]
    groups = [tries[first : first + GROUP] for first in range(0, len(tries), GROUP)]
    return [*chain.from_iterable([level.on, *group] for group in groups), level.on]


def _confirm(on: Case, tries: Sequence[Judged]) -> list[Case]:
    """Alternated pairs of what is to be decided."""
    turns = max(tried.needed - tried.pairs for tried in tries)
    cases = [
        case
        for turn in range(turns)
        for case in [on, *(t.key.tries for t in tries if t.needed - t.pairs > turn)]
    ]
    return [*cases, on] if len(tries) > 1 else cases
