"""Ratios and verdicts against scipy's own tests, closed forms and properties."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from suite.analysis.compare import adjust, is_beyond, judge
from suite.analysis.result.numbers import Ratio, Verdict
from suite.analysis.statistics.ratio import find_paired_ratio, find_pooled_ratio, find_welch_ratio
from suite.flags import raise_flag
from tests.flagging import codes

times = st.floats(min_value=1e-9, max_value=1e3)
ps = st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=30)


def draw(seed: int, n: int, spread: float = 0.01, mean: float = 0.0) -> list[float]:
    source = random.Random(seed)
    return [source.lognormvariate(mean, spread) for _ in range(n)]


def number(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values, 1))


def ratio(value: float, half: float = 0.01, p: float | None = None, n: int = 5) -> Ratio:
    """A ratio whose interval reaches so far to either side."""
    return Ratio(
        value=value,
        low=value - half,
        high=value + half,
        n=n,
        inner_low=value - 0.8 * half,
        inner_high=value + 0.8 * half,
        p=p,
    )


def judge_one(found: Ratio, margin: float = 0.02) -> Verdict:
    return judge({"a": found}, margin=margin, invalid={})["a"]


def test_the_paired_test_is_scipys() -> None:
    base, other = draw(1, 7), draw(2, 7, mean=0.02)
    found = find_paired_ratio(number(base), number(other))
    logs = [math.log(b) - math.log(a) for a, b in zip(base, other, strict=True)]
    test = stats.ttest_1samp(logs, 0)
    assert found is not None
    assert found.p == pytest.approx(test.pvalue, rel=1e-9)
    for confidence, ends in (
        (0.95, (found.low, found.high)),
        (0.90, (found.inner_low, found.inner_high)),
    ):
        interval = test.confidence_interval(confidence)
        assert ends == pytest.approx((math.exp(interval.low), math.exp(interval.high)), rel=1e-9)


def test_welch_is_scipys() -> None:
    base, other = draw(1, 5), draw(2, 9, spread=0.05, mean=0.1)
    found = find_welch_ratio(base, other)
    test = stats.ttest_ind(*([math.log(v) for v in one] for one in (other, base)), equal_var=False)
    interval = test.confidence_interval(0.95)
    assert found is not None
    assert found.p == pytest.approx(test.pvalue, rel=1e-9)
    assert (found.low, found.high) == pytest.approx(
        (math.exp(interval.low), math.exp(interval.high)), rel=1e-9
    )
    assert found.n == 5


def test_welch_needs_values_on_both_sides_and_takes_a_side_without_spread() -> None:
    assert find_welch_ratio([], [1.0]) is None
    two = find_welch_ratio([1.0, 1.1], draw(3, 9))
    assert two is not None
    assert (two.low, two.p, codes(two.flags)) == (None, None, ["few-blocks"])
    one_sided = find_welch_ratio([1.0] * 5, draw(3, 5))
    assert one_sided is not None
    assert one_sided.p == pytest.approx(
        stats.ttest_1samp([math.log(one) for one in draw(3, 5)], 0).pvalue
    )
    still = find_welch_ratio([1.0] * 5, [2.0] * 5)
    assert still is not None
    assert (still.value, still.p) == (pytest.approx(2.0), None)
    assert codes(still.flags) == ["no-spread"]


@given(ps)
def test_holms_p_values_keep_the_order_and_never_fall(found: list[float]) -> None:
    adjusted = adjust(found)
    assert all(p <= after <= 1 for p, after in zip(found, adjusted, strict=True))
    ordered = [after for _, after in sorted(zip(found, adjusted, strict=True))]
    assert all(first <= second for first, second in pairwise(ordered))
    assert min(adjusted) == min(1.0, len(found) * min(found))


def test_holm_by_hand() -> None:
    # Holm 1979: the smallest times 4, the next times 3, … and never less than one before.
    assert adjust([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust([]) == []


@pytest.mark.parametrize(
    ("found", "name", "code"),
    [
        (ratio(1.5, p=0.001), "SLOWER", "significant"),
        (ratio(0.5, p=0.001), "FASTER", "significant"),
        (ratio(1.03, p=0.001), "SLOWER", "significant"),
        (ratio(1.01, p=0.001), "EQUIVALENT", "within-margin"),
        (ratio(1.0, p=0.9), "EQUIVALENT", "within-margin"),
        (ratio(1.01, half=0.06, p=0.04), "INCONCLUSIVE", "within-noise"),
        (ratio(1.2, half=0.3, p=0.2), "INCONCLUSIVE", "not-significant"),
        (ratio(2.0, half=0.0, p=None), "INCONCLUSIVE", "resolution"),
    ],
)
def test_a_verdict_and_its_code(found: Ratio, name: str, code: str) -> None:
    verdict = judge_one(found)
    assert (verdict.name, verdict.code) == (name, code)


def test_noise_widens_the_margin_and_not_equivalence() -> None:
    assert judge_one(ratio(1.08, p=0.001), margin=0.1).code == "within-noise"
    assert judge_one(ratio(1.03, p=0.001), margin=0.1).name == "EQUIVALENT"
    assert judge_one(ratio(1.0, half=0.09, p=0.9), margin=0.1).code == "not-significant"


def test_the_family_pays_for_its_size() -> None:
    family = {str(i): ratio(1.0, p=0.9) for i in range(59)} | {"x": ratio(1.1, p=0.0009)}
    assert judge(family, margin=0.02, invalid={})["x"].code == "not-significant"
    family["x"] = ratio(1.1, p=0.0008)
    verdict = judge(family, margin=0.02, invalid={})["x"]
    assert (verdict.name, verdict.p) == ("SLOWER", pytest.approx(0.048))


def test_invalid_cells_are_judged_by_nobody_and_cost_nobody() -> None:
    family = {"a": ratio(1.5, p=0.03), "b": ratio(1.5, p=0.00001)}
    verdicts = judge(family, margin=0.02, invalid={"b": (raise_flag("steal"),)})
    assert (verdicts["b"].name, verdicts["b"].code, verdicts["b"].p) == ("INVALID", "steal", None)
    assert verdicts["a"].name == "SLOWER"


def test_few_blocks_give_no_verdict() -> None:
    found = find_paired_ratio({1: 1.0, 2: 1.1}, {1: 2.0, 2: 2.3})
    assert found is not None
    assert judge({"a": found}, margin=0.02, invalid={}) == {}


@given(st.floats(min_value=0.01, max_value=100), st.floats(min_value=0.001, max_value=0.5))
def test_beyond_the_margin_whichever_way_round(value: float, margin: float) -> None:
    assert is_beyond(value, margin) == is_beyond(1 / value, margin) or math.isclose(
        min(abs(value - 1), abs(1 / value - 1)), margin
    )
    assert not is_beyond(value, margin) or abs(value - 1) > margin


@pytest.mark.parametrize(
    ("base", "other"),
    [([1.0, 1.1], [1.2, 1.3, 1.25, 1.4]), ([1.2, 1.3, 1.25, 1.4], [1.0]), ([1.0], [1.2, 1.3])],
)
def test_a_side_of_few_values_is_taken_to_have_the_others_spread(
    base: list[float], other: list[float]
) -> None:
    found = find_pooled_ratio(base, other)
    assert found is not None
    logs = [np.log(one) for one in (base, other)]
    freedom = len(base) + len(other) - 2
    # By hand, since scipy's own test wants two values on each side.
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in logs)
    error = math.sqrt(squares / freedom * (1 / len(base) + 1 / len(other)))
    distance = float(logs[1].mean() - logs[0].mean())
    if freedom < 2:
        assert (found.p, found.low) == (None, None)
        return
    assert found.p == pytest.approx(2 * stats.t.sf(abs(distance) / error, freedom))
    assert found.high == pytest.approx(
        math.exp(distance + float(stats.t.ppf(0.975, freedom)) * error)
    )


def test_sides_of_three_values_or_more_are_compared_as_campaigns_are() -> None:
    base, other = [1.0, 1.1, 1.05], [1.2, 1.3, 1.25, 1.4]
    assert find_pooled_ratio(base, other) == find_welch_ratio(base, other)
    nothing: list[float] = []
    assert find_pooled_ratio(nothing, [1.0]) is None
    assert find_pooled_ratio([1.0], [1.1]) == find_welch_ratio([1.0], [1.1])
