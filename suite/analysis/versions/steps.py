"""A list of versions: between which two neighbours a cell or a part changed.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import structs

from suite.analysis.result.numbers import Ratio, Verdict
from suite.analysis.result.versions import (
    VERSION_PARTS,
    Course,
    VersionChange,
    VersionCourse,
    VersionPart,
    VersionStep,
    VersionSteps,
)
from suite.analysis.versions.amounts import Told
from suite.analysis.versions.change import Versions, compare_arms

NOTHING = Told(ratio=None, least=None, verdict=None, rows={})
"""What is told of a part that was not measured on two neighbours."""

FEWEST_ARMS = 3
"""Of two versions there is one step, which their comparison tells."""


def find_steps(versions: Versions, changes: Iterable[VersionChange]) -> Iterator[VersionSteps]:
    """Every family of three arms or more, whose ends are compared in ``changes`` already."""
    by_arms = {(change.base, change.other): change for change in changes}
    for arms in versions.groups:
        if len(arms) < FEWEST_ARMS:
            continue
        whole = by_arms[arms[0], arms[-1]]
        neighbours = list(pairwise(arms))
        yield VersionSteps(
            arms=arms,
            software={other: versions.tell_software(base, other) for base, other in neighbours},
            cells=_follow_cells(versions, neighbours, whole),
            parts=_follow_parts(versions, neighbours, whole),
        )


def _follow_cells(
    versions: Versions, neighbours: Sequence[tuple[str, str]], whole: VersionChange
) -> dict[str, VersionCourse]:
    compared = {pair: compare_arms(versions.summary, *pair) for pair in neighbours}
    courses = {}
    for cell, ends in whole.cells.items():
        rows = [(pair, of[cell]) for pair, of in compared.items()]
        steps = [_make_step(pair, row.ratio, row.verdict) for pair, row in rows]
        if ends.ratio or any(step.ratio for step in steps):
            courses[cell] = _conclude(steps, whole, ends.ratio, ends.verdict)
    return courses


def _follow_parts(
    versions: Versions, neighbours: Sequence[tuple[str, str]], whole: VersionChange
) -> dict[VersionPart, VersionCourse]:
    ends = {part.name: part for part in whole.parts}
    courses: dict[VersionPart, VersionCourse] = {}
    for part in VERSION_PARTS:
        rows = [(pair, versions.parts.get((part, *pair), NOTHING)) for pair in neighbours]
        if all(row is NOTHING for _, row in rows):
            continue
        steps = [_make_step(pair, row.ratio, row.verdict) for pair, row in rows]
        ratio, verdict = (end.ratio, end.verdict) if (end := ends.get(part)) else (None, None)
        contained = (versions.find_parts(*pair).contains(part, pair) for pair in neighbours)
        courses[part] = structs.replace(
            _conclude(steps, whole, ratio, verdict),
            contains=tuple(dict.fromkeys(name for names in contained for name in names)),
        )
    return courses


def _make_step(pair: tuple[str, str], ratio: Ratio | None, verdict: Verdict | None) -> VersionStep:
    return VersionStep(base=pair[0], other=pair[1], ratio=ratio, verdict=verdict)


def _conclude(
    steps: Sequence[VersionStep],
    whole: VersionChange,
    ratio: Ratio | None,
    verdict: Verdict | None,
) -> VersionCourse:
    """What neighbours and ends tell; a drift that no two neighbours show stays open."""
    names = {step.verdict.name if step.verdict else "" for step in steps}
    answer: Course = "open"
    if names & {"FASTER", "SLOWER"}:
        answer = "changed"
    elif names == {"EQUIVALENT"} and verdict and verdict.name == "EQUIVALENT":
        answer = "equal"
    return VersionCourse(
        answer=answer,
        steps=tuple(steps),
        whole=_make_step((whole.base, whole.other), ratio, verdict),
    )
