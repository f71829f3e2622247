"""What a family tells of each ratio's spread: against its source's formulas, and where nothing is told."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from suite.analysis.compare import judge
from suite.analysis.result.numbers import Ratio
from suite.analysis.statistics.estimate import find_spread
from suite.analysis.statistics.moderated_variance import widen_by_family
from suite.analysis.statistics.ratio import find_paired_ratio
from tests.bench.rates import Rate
from tests.fakes.hosts import HOSTS, draw_levels


def make(logs: list[float]) -> Ratio:
    found = find_paired_ratio(
        dict.fromkeys(range(len(logs)), 1.0), dict(enumerate(map(math.exp, logs)))
    )
    assert found is not None
    return found


def draw_family(deviations: list[float], blocks: int = 5, seed: int = 1) -> dict[str, Ratio]:
    draw = np.random.default_rng(seed)
    rows = draw.normal(0.0, np.array(deviations)[:, np.newaxis], (len(deviations), blocks))
    return {str(place): make(row) for place, row in enumerate(rows.tolist())}


def test_the_intervals_and_the_p_value_are_by_the_wider_spread() -> None:
    family = draw_family([0.02] * 60)
    name, one = next((n, r) for n, r in widen_by_family(family).items() if r != family[n])
    own = family[name]
    spread, mean = find_spread(one), math.log(own.value)
    assert spread is not None
    for level, low, high in (
        (0.95, one.low, one.high),
        (0.90, one.inner_low, one.inner_high),
    ):
        ends = stats.t.interval(level, own.n - 1, loc=mean, scale=spread / math.sqrt(own.n))
        assert [low, high] == pytest.approx(np.exp(ends))
    assert (one.value, one.n) == (own.value, own.n)
    assert own.p is not None
    assert one.p is not None
    assert one.p >= own.p


def test_blocks_that_agree_by_chance_decide_nothing() -> None:
    lucky = make([0.032, 0.036, 0.04, 0.044, 0.048])
    family = draw_family([0.035] * 60) | {"lucky": lucky}
    assert judge(family, margin=0.02, invalid={})["lucky"].name == "INCONCLUSIVE"
    # Of campaigns that are not paired nothing is shared.
    assert judge(family, margin=0.02, invalid={}, paired=False)["lucky"].name == "SLOWER"


def test_one_cell_without_a_spread_does_not_speak_for_all() -> None:
    lucky = make([0.032, 0.036, 0.04, 0.044, 0.048])
    still = make([0.0, 1e-6, -1e-6, 1e-6, -1e-6])
    family = draw_family([0.035] * 24) | {"lucky": lucky, "still": still}
    assert judge(family, margin=0.02, invalid={})["lucky"].name == "INCONCLUSIVE"


def test_blocks_that_agree_by_chance_are_no_equivalence_either() -> None:
    lucky = make([0.0, 0.01, -0.01, 0.025, -0.025])
    family = draw_family([0.08] * 60) | {"lucky": lucky}
    assert judge({"lucky": lucky}, margin=0.02, invalid={})["lucky"].name == "EQUIVALENT"
    verdict = judge(family, margin=0.02, invalid={})["lucky"]
    assert verdict.name == "INCONCLUSIVE"
    assert verdict.blocks is not None
    assert verdict.blocks > 5


def test_too_few_ratios_and_those_without_a_spread_stay_as_they_are() -> None:
    pair = draw_family([0.02, 0.02])
    assert widen_by_family(pair) == pair
    more = {"still": make([0.1, 0.1, 0.1]), "short": make([0.1, 0.2]), **draw_family([0.02] * 3)}
    found = widen_by_family(more)
    assert (found["still"], found["short"]) == (more["still"], more["short"])
    assert list(found) == list(more)


@pytest.mark.method
@pytest.mark.parametrize("host", ["bimodal", "typical", "never steady"])
def test_a_table_without_a_difference_has_a_false_verdict_in_under_a_twentieth(host: str) -> None:
    draw, tables, hits = np.random.default_rng(3), 300, 0
    for _ in range(tables):
        levels = [draw_levels(HOSTS[host], draw, cells=60, blocks=5) for _ in range(2)]
        # A jump lasts for 8 of 70 samples.
        levels = [one + draw.normal(0.0, HOSTS[host].restless / 3, one.shape) for one in levels]
        family = {str(n): make(row) for n, row in enumerate((levels[1] - levels[0]).tolist())}
        names = {one.name for one in judge(family, margin=0.02, invalid={}).values()}
        hits += bool(names & {"FASTER", "SLOWER"})
    assert Rate(hits=hits, tries=tables).is_at_most(0.05)


def test_what_a_family_lends_a_ratio_is_as_much_as_it_has_and_no_narrower_spread() -> None:
    family = draw_family([0.02] * 40, blocks=3)
    fixed, lent = widen_by_family(family), widen_by_family(family, lends=True)
    for name, own in family.items():
        # The intervals are those of a fixed level.
        assert (lent[name].low, lent[name].high) == (fixed[name].low, fixed[name].high)
        spread = find_spread(fixed[name])
        assert spread is not None
        p = 2 * stats.t.sf(abs(math.log(own.value)) / (spread / math.sqrt(3)), 4)
        assert lent[name].p == pytest.approx(p)
    clear = {**family, "clear": make([0.28, 0.31, 0.29])}
    assert judge(clear, margin=0.02, invalid={}, level=0.01)["clear"].name == "INCONCLUSIVE"
    assert judge(clear, margin=0.02, invalid={}, level=0.01, share=1.0)["clear"].name == "SLOWER"
    # Three that agree by chance are judged by what is usual all the same.
    lucky = {**draw_family([0.1] * 40, blocks=3), "lucky": make([0.149, 0.15, 0.151])}
    assert judge(lucky, margin=0.02, invalid={}, share=1.0)["lucky"].name == "INCONCLUSIVE"


def test_a_look_spends_its_part_of_every_level() -> None:
    near = {f"{n}": make([0.001 * n, 0.004, -0.004, 0.002]) for n in range(5)}
    names = {
        share: {v.name for v in judge(near, margin=0.02, invalid={}, share=share).values()}
        for share in (1.0, 1e-6)
    }
    assert names == {1.0: {"EQUIVALENT"}, 1e-6: {"INCONCLUSIVE"}}
