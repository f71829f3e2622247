"""What is run next: pure and deterministic, so that the same documents lead to the same rounds."""

from __future__ import annotations

import math
import statistics
from bisect import bisect
from itertools import accumulate

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.numbers import FEWEST
from suite.analysis.why.gains import Case
from suite.analysis.why.levels import MOST_ASKED, Course, Level, follow
from suite.model import container_seconds
from suite.model.why import BASE, Round

GROUP = 4
"""So many tries are looked at between two runs without them: none is further than two runs from one."""


def next_round(loaded: LoadedCampaign, left_s: float) -> Round | None:
    """The runs of the next round by arm; None: it is over.

    What does not fit into an arm's part of ``left_s`` seconds is cut off at the end of its runs.
    """
    courses = follow(loaded)
    asked = {arm: _ask(course, several=len(courses) > 1) for arm, course in courses.items()}
    wanted = {arm: cases for arm, cases in asked.items() if cases}
    runs = {}
    for arm, cases in wanted.items():
        spare_s = left_s / len(wanted) - _find_start(courses[arm], loaded)
        fit = bisect(list(accumulate(_find_run(courses[arm], case) for case in cases)), spare_s)
        # One run alone is beside no other.
        if fit > 1 or fit == len(cases):
            runs[arm] = ["+".join(case) or BASE for case in cases[:fit]]
    return Round(runs=runs) if runs else None


def _find_start(course: Course, loaded: LoadedCampaign) -> float:
    """The seconds of a container on an arm besides its runs, at the most."""
    return max(
        container_seconds(document)
        - math.fsum(run.spent_s for run in course.runs if run.block == document.invocation.block)
        for document in loaded.documents
        if document.invocation.arm == course.arm
    )


def _find_run(course: Course, case: Case) -> float:
    """The seconds of a run: as those of its case, or else of any."""
    own = [run.spent_s for run in course.runs if run.tries == case]
    return statistics.fmean(own or [run.spent_s for run in course.runs])


def _ask(course: Course, *, several: bool) -> list[Case]:
    """The cases that an arm is to run next, in their order; empty: nothing."""
    if not course.watched:
        return []
    level = course.levels[-1]
    pairs = course.together.wall.n if course.together else 0
    if len(level.on) > 1 and pairs < FEWEST and course.count_asked(*level.on) < MOST_ASKED:
        return [(), level.on] * (FEWEST - pairs)
    if cases := _alternate(level):
        return cases
    # A step has its interval, and so has a larger batch where another arm runs it as well.
    larger = [(change.name,) for change in course.tries if change.scale > 1 and several]
    for case in [(), *larger]:
        sound = len(course.select(*case))
        if (sound or not case) and course.count_asked(*case) <= FEWEST > sound:
            return [case] * (FEWEST - sound)
    return []


def _alternate(level: Level) -> list[Case]:
    """Turns, each of which begins with a run without changes: what has had no run is in one, by groups, what
    takes long last; what is to be decided is in as many as it needs."""
    missing = [tried.case for tried in sorted(level.missing, key=lambda tried: tried.change.late)]
    turns = [missing[first : first + GROUP] for first in range(0, len(missing), GROUP)]
    if not turns:
        needed = {tried.case: tried.needed - tried.pairs for tried in level.open}
        most = max(needed.values(), default=0)
        turns = [[case for case, n in needed.items() if n > turn] for turn in range(most)]
    cases = [case for turn in turns for case in (level.on, *turn)]
    return [*cases, level.on] if turns and (missing or len(level.open) > 1) else cases
