"""What is said of a type of machines holds what its instances differ by, in both commands that say it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from msgspec import structs

from suite.analysis.analyse import analyse
from suite.analysis.numbers.estimate import estimate
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.several import Kind, Versus
from suite.analysis.result.shortlist import Claim
from suite.analysis.several.comparison import set_side_by_side
from suite.analysis.several.shortlist import rank_machines
from suite.report.pages.comparison import compose_versus
from suite.report.render.markdown import render_page
from tests import twelve
from tests.bench.rates import contains, count
from tests.twelve import LARGE, MIDDLE, TODAY, Values

SECONDS = {"cpu": 1e-3, "cuda": 2e-4}
"""The true time of every cell on a type, by arm."""

BETWEEN, WITHIN = 0.06, 0.01
"""Standard deviations of the logarithms: of instances of a type, and of the invocations on one."""


@pytest.fixture(scope="module")
def base() -> Analysis:
    return analyse(twelve.make("tie-1", twelve.MACHINES["tie-1"], 7))


def measure(
    base: Analysis,
    draw: np.random.Generator,
    name: str,
    *,
    kind: str = "a",
    slower: float = 1.0,
    machine: str | None = None,
) -> Analysis:
    """A campaign of an instance, which is off its type's true times by what instances differ by."""

    def draw_times(arm: str, values: Values) -> Values:
        level = slower * SECONDS[arm] * np.exp(draw.normal(0, BETWEEN))
        times = level * np.exp(draw.normal(0, WITHIN, len(values)))
        return dict(zip(values, times.tolist(), strict=True))

    return twelve.pretend(base, name, draw_times, machine=machine or name, kind=kind)


def only_kind(analyses: Sequence[Analysis]) -> Kind:
    (kind,) = set_side_by_side(analyses).kinds
    return kind


def draw_sets(base: Analysis, sets: int, instances: int) -> Iterator[list[Analysis]]:
    draw = np.random.default_rng(instances)
    for n in range(sets):
        yield [measure(base, draw, f"{n}-{k}") for k in range(instances)]


def hit(claim: Claim) -> list[bool]:
    """Whether each interval of a claim holds the truth."""
    assert claim.ratio is not None
    cpu, gpu = SECONDS["cpu"], SECONDS["cuda"]
    truths = ((claim.seconds["cpu"], cpu), (claim.seconds["gpu"], gpu), (claim.ratio, gpu / cpu))
    return [contains(found, truth) for found, truth in truths]


@pytest.mark.method
@pytest.mark.parametrize("instances", [3, 6])
def test_an_interval_over_instances_covers_the_types_truth(base: Analysis, instances: int) -> None:
    hits = []
    for made in draw_sets(base, 400, instances):
        hits += [one for claim in only_kind(made).cells.values() for one in hit(claim)]
    assert count(hits).lies_within(0.93, 0.97), str(count(hits))


def test_it_does_so_where_one_over_invocations_does_not(base: Analysis) -> None:
    hits, pooled = [], []
    for made in draw_sets(base, 40, 3):
        for cell, claim in only_kind(made).cells.items():
            hits += hit(claim)
            results = [c.arms["cpu"] for one in made for c in one.cells if c.id == cell]
            every = [value for one in results for value in one.values.values()]
            pooled.append(contains(estimate(every), SECONDS["cpu"]))
    assert 0.92 < count(hits).value < 0.98
    assert count(pooled).value < 0.8


def test_a_comparison_and_a_shortlist_say_the_same_of_a_type(base: Analysis) -> None:
    (made,) = draw_sets(base, 1, 4)
    claim = only_kind(made).cells[MIDDLE]
    found = rank_machines(made, asked=TODAY, workload=MIDDLE)
    (entry,) = found.rankings[0].entries
    assert entry.ratio is not None
    assert claim.ratio is not None
    for name in ("value", "low", "high", "n", "p"):
        assert getattr(entry.ratio, name) == pytest.approx(getattr(claim.ratio, name))
    assert entry.needed == claim.needed
    assert set(claim.needed) == {"cpu", "gpu", "gpu/cpu"}
    for device, one in claim.seconds.items():
        assert entry.seconds[device].value == pytest.approx(one.value / 512)
        assert one.n == 4


def render(versus: Versus, analyses: Sequence[Analysis]) -> str:
    return render_page(compose_versus(versus, analyses))


def test_types_stand_against_the_first_with_what_instances_differ_by(base: Analysis) -> None:
    draw = np.random.default_rng(5)
    made = [measure(base, draw, f"a{n}") for n in range(3)]
    made += [measure(base, draw, f"b{n}", kind="b", slower=2.0) for n in range(4)]
    made.append(measure(base, draw, "again", kind="b", slower=2.0, machine="b0"))
    made.append(measure(base, draw, "c0", kind="c"))
    versus = set_side_by_side(made)
    first, second = versus.kinds
    assert (first.type, second.type) == ("a", "b")
    assert set(second.instances) == {("b0", "again"), ("b1",), ("b2",), ("b3",)}
    assert first.against == {}
    for ratios in second.against.values():
        for ratio in ratios.values():
            assert ratio.low is not None
            assert ratio.high is not None
            assert 1.2 < ratio.low < ratio.value < ratio.high < 3.4
    page = render(versus, made)
    assert "**A a**: 3 instances; " in page
    assert "b0 + again" in page
    assert "B against A, GPU" in page
    assert "A against" not in page
    needed = {n for one in first.cells.values() for n in one.needed.values()}
    assert f"±5 % needs {min(needed)} to {max(needed)} instances, by cell" in page


def test_a_copy_counts_for_no_type_and_two_instances_are_none(base: Analysis) -> None:
    made = next(draw_sets(base, 1, 3))
    renamed = structs.replace(made[0].campaign, id="copy")
    copy = twelve.tell(made[0], {"engine.machine.id": "another"})
    copy = structs.replace(copy, campaign=renamed)
    versus = set_side_by_side([*made[:2], copy])
    assert versus.kinds == ()
    assert [(one.run, one.flag.code) for one in versus.excluded] == [(3, "copied")]
    assert "Number 3, copy, counts for no type: " in render(versus, [*made[:2], copy])
    assert "## Types of machines" not in render(set_side_by_side(made[:2]), made[:2])


def test_a_type_of_which_a_control_failed_says_so(base: Analysis) -> None:
    made = next(draw_sets(base, 1, 3))
    bad = analyse(twelve.make("control", twelve.MACHINES["control"], 5))
    made[0] = structs.replace(made[0], controls=bad.controls)
    versus = set_side_by_side(made)
    assert versus.kinds[0].failed == ("twins",)
    assert "**Its numbers are not sound: an arm differs from its twin.**" in render(versus, made)


def test_a_cell_that_fewer_than_three_instances_have_has_no_interval(base: Analysis) -> None:
    made = next(draw_sets(base, 1, 3))
    made[2] = structs.replace(made[2], cells=tuple(one for one in made[2].cells if one.id != LARGE))
    versus = set_side_by_side(made)
    claim = versus.kinds[0].cells[LARGE]
    assert claim.seconds["cpu"].low is None
    assert claim.needed == {}
    assert "fewer than 3 of its instances have a number" in render(versus, made)
