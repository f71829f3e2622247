"""What is run next: pure and deterministic, so that the same documents lead to the same rounds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import chain

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.numbers import FEWEST
from suite.analysis.why.gains import Key
from suite.analysis.why.levels import MOST_ASKED, Course, Judged, Level, follow
from suite.model import container_seconds
from suite.model.why import BASE, Round

GROUP = 3
"""So many tries are looked at between two runs without them."""

START_S = 10.0
"""What a container takes besides its runs, where nobody knows yet."""

Case = tuple[str, ...]


def next_round(loaded: LoadedCampaign, left_s: float) -> Round | None:
    """The runs of the next round by arm, of which the first of an arm is to be watched; None: it is over.

    What does not fit into ``left_s`` seconds is cut off at the end of each arm's runs.
    """
    courses = follow(loaded)
    asked = {arm: _ask(course, several=len(courses) > 1) for arm, course in courses.items()}
    wanted = {arm: cases for arm, cases in asked.items() if cases}
    starts_s = math.fsum(_find_start(courses[arm], loaded) for arm in wanted)
    runs_s = math.fsum(_find_run(courses[arm]) * len(cases) for arm, cases in wanted.items())
    share = min(1.0, (left_s - starts_s) / runs_s) if runs_s else float(left_s > starts_s)
    runs = {
        arm: ["+".join(case) or BASE for case in cases[: max(0, int(share * len(cases)))]]
        for arm, cases in wanted.items()
    }
    # One run alone is beside no other; but the first, which is watched.
    runs = {arm: of for arm, of in runs.items() if len(of) > 1 or (of and len(wanted[arm]) == 1)}
    return Round(runs=runs) if runs else None


def _find_start(course: Course, loaded: LoadedCampaign) -> float:
    """The seconds of a container on an arm besides its runs, at the most."""
    starts = (
        container_seconds(document)
        - math.fsum(run.spent_s for run in course.runs if run.block == document.invocation.block)
        for document in loaded.documents
        if document.invocation.arm == course.arm
    )
    return max(starts, default=START_S)


def _find_run(course: Course) -> float:
    return statistics.fmean([run.spent_s for run in course.runs] or [START_S])


def _ask(course: Course, *, several: bool) -> list[Case]:
    """The cases that an arm is to run next, in their order; empty: nothing."""
    if not course.watched:
        return [()] * (not course.count_asked())
    level = course.levels[-1]
    on, of = level.on, level.open
    gain = course.gains.get(Key(course.arm, (), on))
    pairs = gain.wall.n if gain else 0
    if len(on) > 1 and pairs < FEWEST and course.count_asked(*on) < MOST_ASKED:
        return [(), on] * (FEWEST - pairs)
    if level.missing:
        return _screen(level)
    if of:
        return _confirm(on, of)
    # A step has its interval, and so has a larger batch where another arm runs it as well.
    larger = [(change.name,) for change in course.tries if change.scale > 1 and several]
    for case in [(), *larger]:
        sound = sum(run.seconds is not None for run in course.select(*case))
        if (sound or not case) and course.count_asked(*case) <= FEWEST > sound:
            return [case] * (FEWEST - sound)
    return []


def _screen(level: Level) -> list[Case]:
    """One run of each try that has had none, between runs without; what takes long comes last."""
    tries = [tried.key.tries for tried in sorted(level.missing, key=lambda t: t.change.late)]
    groups = [tries[first : first + GROUP] for first in range(0, len(tries), GROUP)]
    return [*chain.from_iterable([level.on, *group] for group in groups), level.on]


def _confirm(on: Case, tries: Sequence[Judged]) -> list[Case]:
    """Alternated pairs of what is to be decided."""
    cases: list[Case] = []
    for turn in range(max(tried.needed - tried.pairs for tried in tries)):
        cases += [on, *(t.key.tries for t in tries if t.needed - t.pairs > turn)]
    return [*cases, on] if len(tries) > 1 else cases
