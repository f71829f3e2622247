"""A list of versions: between which two of them a cell or a part changed, and what stays open."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from suite.analysis.campaign.verdicts import count_pairs
from suite.analysis.result.versions import VersionSteps
from suite.model import Document
from suite.report.sections.versions import tell_versions
from tests.analysis.versions.test_parts import PRODUCT, analyse
from tests.bench.versions import PLANTS, Version, make_plan, scale

ARMS = ("cpu", "cpu@2.20", "cpu@2.18", "cpu@2.16")
PLAIN = Version()


def follow(*versions: Version, blocks: int = 8) -> VersionSteps:
    analysis = analyse(arms=dict(zip(ARMS, versions, strict=False)), blocks=blocks)
    (steps,) = analysis.version_steps
    assert steps.arms == ARMS[: len(versions)]
    assert list(steps.software) == list(ARMS[1 : len(versions)])
    # Whatever its neighbours are, each is compared with the first one as well.
    assert [change.other for change in analysis.versions] == list(ARMS[1 : len(versions)])
    return steps


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_change_is_found_at_its_step(at: int) -> None:
    steps = follow(*(PLANTS["kernels"] if place >= at else PLAIN for place in range(4)))
    for course in (steps.parts["kernels"], steps.cells[PRODUCT]):
        assert course.answer == "changed"
        (change,) = course.changes
        assert (change.base, change.other) == (ARMS[at - 1], ARMS[at])
        assert change.ratio
        assert change.ratio.value == pytest.approx(1.15, rel=0.03)
        assert [(step.base, step.other) for step in course.steps] == list(itertools.pairwise(ARMS))
        assert course.whole.verdict
        assert (course.whole.base, course.whole.other) == (ARMS[0], ARMS[-1])
        assert course.whole.verdict.name == "SLOWER"
    assert steps.parts["tf.data"].answer == steps.parts["dispatch"].answer == "equal"


def test_what_came_and_went_has_two_steps() -> None:
    course = follow(PLAIN, PLANTS["tracing"], PLAIN).parts["tracing"]
    names = [step.verdict.name for step in course.changes if step.verdict]
    assert (course.answer, names) == ("changed", ["SLOWER", "FASTER"])
    assert course.whole.verdict
    assert course.whole.verdict.name == "EQUIVALENT"


def test_a_drift_of_small_steps_stays_open() -> None:
    course = follow(*(scale(rate=1.012**place) for place in range(4))).parts["kernels"]
    assert (course.answer, course.changes) == ("open", [])
    assert course.whole.verdict
    assert course.whole.verdict.name == "SLOWER"


def test_two_versions_have_no_steps() -> None:
    assert analyse(PLANTS["kernels"]).version_steps == ()


def test_parts_of_all_versions_are_one_family_with_one_verdict_each() -> None:
    """A longer list asks more of each p-value, and two neighbours have one verdict wherever they are told."""
    arms = dict(zip(ARMS, (PLAIN, PLANTS["kernels"], PLAIN, PLAIN), strict=True))
    two, four = (analyse(arms=dict([*arms.items()][:count])) for count in (2, 4))
    (steps,), first = four.version_steps, four.versions[0]
    alone, among = (
        next(part.verdict for part in analysis.versions[0].parts if part.name == "kernels")
        for analysis in (two, four)
    )
    assert alone
    assert among
    assert among.name == alone.name == "SLOWER"
    assert (among.p or 0.0) > (alone.p or 0.0)
    for part in first.parts:
        assert steps.parts[part.name].steps[0].verdict == part.verdict


@pytest.mark.parametrize(
    "order", [ARMS, tuple(reversed(ARMS))], ids=["oldest last", "oldest first"]
)
def test_cells_of_every_two_of_a_list_have_their_chance_together(order: tuple[str, ...]) -> None:
    """Six pairs of four versions: six times the p-value of the same two alone, wherever they are told."""
    versions = dict(zip(order, (PLAIN, PLANTS["kernels"], PLAIN, PLAIN), strict=True))
    (alone,) = analyse(arms=dict([*versions.items()][:2])).versions
    among = analyse(arms=versions)
    (steps,), changes = among.version_steps, among.versions
    for cell in among.cells:
        first, rest = (change.cells[cell.id].verdict for change in (changes[0], alone))
        assert steps.cells[cell.id].steps[0].verdict == first
        assert cell.comparisons[order[1]].verdict == first
        if first and rest and first.p is not None:
            assert first.p == pytest.approx(min(1.0, 6 * (rest.p or 0.0)))
    verdict = changes[0].cells[PRODUCT].verdict
    assert verdict
    assert verdict.name == "SLOWER"


def test_two_versions_and_rivals_have_a_chance_of_their_own() -> None:
    campaign = make_plan((*ARMS[:2], "amd-cpu", "amd-cpu@2.20", "amd-cpu@2.18"), blocks=3, seed=1)
    assert count_pairs(campaign, *ARMS[:2]) == 1
    assert count_pairs(campaign, ARMS[0], "amd-cpu") == 1
    assert count_pairs(campaign, ARMS[0], "amd-cpu@2.20") == 1
    assert count_pairs(campaign, "amd-cpu@2.20", "amd-cpu@2.18") == 3


def test_a_middle_version_without_prices_has_its_dispatch_in_its_kernels() -> None:
    """Its ends have prices; of a step from or to it nobody can tell the two apart."""

    def lose(one: Document) -> Document:
        cells = [cell for cell in one.cells if not cell.id.startswith("overhead.")]
        return replace(one, cells=cells)

    arms = dict.fromkeys(ARMS[:3], PLAIN)
    analysis = analyse(arms=arms, change=lose, on=ARMS[1])
    (steps,) = analysis.version_steps
    assert steps.parts["kernels"].contains == ("dispatch",)
    ends = analysis.versions[-1]
    assert next(part for part in ends.parts if part.name == "kernels").contains == ()
    assert "kernels with dispatch" in " ".join(map(" ".join, tell_versions(analysis)))
    (whole,) = analyse(arms=arms).version_steps
    assert whole.parts["kernels"].contains == ()
