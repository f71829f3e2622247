"""What is said of a type of machines holds what its instances differ by."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from suite.analysis.analyse import analyse
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.several import Entry
from suite.analysis.several.machines import compare_machines
from suite.analysis.statistics.estimate import estimate
from suite.report.produce import build_comparison
from tests import twelve
from tests.bench.rates import contains, count
from tests.twelve import MIDDLE, TODAY, Values

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


def only_row(analyses: list[Analysis], workload: str = MIDDLE) -> Entry:
    (entry,) = compare_machines(analyses, asked=TODAY, workload=workload).rankings[0].entries
    return entry


def draw_sets(base: Analysis, sets: int, instances: int) -> Iterator[list[Analysis]]:
    draw = np.random.default_rng(instances)
    for n in range(sets):
        yield [measure(base, draw, f"{n}-{k}") for k in range(instances)]


def hit(entry: Entry, amount: float) -> list[bool]:
    """Whether each interval of a row holds the truth."""
    assert entry.ratio is not None
    cpu, gpu = SECONDS["cpu"] / amount, SECONDS["cuda"] / amount
    truths = ((entry.seconds["cpu"], cpu), (entry.seconds["gpu"], gpu), (entry.ratio, gpu / cpu))
    return [contains(found, truth) for found, truth in truths]


@pytest.mark.method
@pytest.mark.parametrize("instances", [3, 6])
def test_an_interval_over_instances_covers_the_types_truth(base: Analysis, instances: int) -> None:
    hits = [one for made in draw_sets(base, 1200, instances) for one in hit(only_row(made), 512)]
    assert count(hits).lies_within(0.92, 0.98), str(count(hits))


@pytest.mark.method
def test_it_does_so_where_one_over_invocations_does_not(base: Analysis) -> None:
    hits, pooled = [], []
    for made in draw_sets(base, 60, 3):
        hits += hit(only_row(made), 512)
        results = [c.arms["cpu"] for one in made for c in one.cells if c.id == MIDDLE]
        every = [value for one in results for value in one.values.values()]
        pooled.append(contains(estimate(every), SECONDS["cpu"]))
    assert 0.88 < count(hits).value <= 1
    assert count(pooled).value < 0.8


def test_a_row_says_how_many_instances_it_needs_and_a_machine_is_a_row_of_its_own(
    base: Analysis,
) -> None:
    (made,) = draw_sets(base, 1, 4)
    entry = only_row(made)
    assert set(entry.needed) == {"cpu", "gpu", "gpu/cpu"}
    assert {one.n for one in entry.seconds.values()} == {4}
    alone = compare_machines(made, asked=TODAY, workload=MIDDLE, rows="machine")
    assert [len(one.instances) for one in alone.choices] == [1] * 4
    assert not any(one.needed for one in alone.rankings[0].entries)


def test_without_any_price_the_fastest_is_first(base: Analysis) -> None:
    draw = np.random.default_rng(5)
    made = [measure(base, draw, f"b{n}", kind="b", slower=2.0) for n in range(4)]
    made += [measure(base, draw, f"a{n}") for n in range(3)]
    versus = compare_machines(made, asked=TODAY, workload=MIDDLE)
    first, second = versus.rankings[0].entries
    assert [versus.choices[one.choice - 1].types for one in (first, second)] == [("a",), ("b",)]
    assert (first.rank, second.rank, second.best) == (1, 2, False)
    page = str(build_comparison(versus, made)["compare.md"])
    assert "(3 instances) is fastest" in page
