"""What a campaign tells of false verdicts, and what is refused because something differs in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.record import Trial
from suite.analysis.several.record import add_up, rate, read_trial
from suite.errors import UsageError
from suite.model import Arm, Campaign
from tests import aa_campaigns, synthetic
from tests.aa_campaigns import CPU, REBUILT, of_image, plan, second_build, slower
from tests.changes import Change, swap_image
from tests.rendering import study


def measure(campaign: Campaign, *change: Change, **how: Any) -> Analysis:
    documents = aa_campaigns.measure(campaign, *change, **how)
    return study(campaign, documents)


def test_an_image_against_itself_is_a_trial() -> None:
    trial = read_trial(measure(plan()))
    assert (trial.place.sameness, trial.place.arm, trial.place.gpus) == ("itself", "cpu", ())
    assert (trial.place.cpu, trial.place.cpus) == ("Made-Up Processor 9000", "4")
    assert trial.judged == len(synthetic.make_cells())
    assert trial.false == ()


def test_a_second_build_of_the_same_source_is_one_too() -> None:
    assert read_trial(measure(plan(REBUILT), second_build)).place.sameness == "second build"


def test_a_false_verdict_is_counted_with_its_cell() -> None:
    trial = read_trial(measure(plan(), truth=slower))
    assert trial.false == ("matmul.square/n=100/precision=fp32/operands=device/xla=off",)


forget = swap_image(content=None)
"""Nobody computed the content of the image."""


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: measure(plan(simulated=True)), "made up"),
        (lambda: measure(plan(), done=4), "not finished"),
        (lambda: measure(plan(stopped="at BUDGET=1m")), "not finished"),
        (lambda: measure(plan(blocks=1, profile="smoke"), done=1), "judges nothing"),
        (lambda: measure(replace(plan(), arms=["cpu"], every_arm=[CPU])), "two arms"),
        (lambda: measure(plan(REBUILT), of_image(content="f" * 64)), "differ in content"),
        (lambda: measure(plan(), of_image(lock="cpu.txt@sha256:f")), "differ in lock"),
        (
            lambda: measure(
                plan(), lambda one: second_build(one) if one.invocation.block == 3 else one
            ),
            "differ in id",
        ),
        (
            lambda: measure(
                plan(REBUILT), lambda one: of_image(content=None)(second_build(forget(one)))
            ),
            "nobody knows",
        ),
        (lambda: measure(plan(Arm(name="cuda", image="cpu", gpu=True))), "differ in"),
    ],
)
def test_where_something_can_differ_it_is_refused(make: Callable[[], Analysis], why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        read_trial(make())
    assert "make aa" in caught.value.remedy


@pytest.mark.parametrize(
    ("seen", "of", "low", "high"),
    [
        # (α/2)^(1/n) and its mirror, which have a closed form.
        (0, 300, 0.0, 1 - 0.025 ** (1 / 300)),
        (300, 300, 0.025 ** (1 / 300), 1.0),
        # Of tables of exact limits.
        (1, 10, 0.00253, 0.44502),
        (5, 100, 0.01643, 0.11284),
    ],
)
def test_the_interval_is_the_exact_one(seen: int, of: int, low: float, high: float) -> None:
    found = rate(seen, of)
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-6)


def test_equal_places_are_added_up_and_others_stand_apart() -> None:
    first = read_trial(measure(plan()))
    false = read_trial(measure(plan(), truth=slower))
    other = read_trial(measure(plan(REBUILT), second_build))
    record = add_up({"a.json": first, "b.json": false, "c.json": other})
    cells = first.judged
    assert [(one.cells.seen, one.cells.of, one.tables.of) for one in record.places.values()] == [
        (1, 2 * cells, 2),
        (0, cells, 1),
    ]
    assert record.together
    assert (record.together.cells.seen, record.together.cells.of) == (1, 3 * cells)
    assert (record.together.tables.seen, record.together.tables.of) == (1, 3)
    assert record.false == {"b.json": false.false}


def test_no_trial_is_no_record() -> None:
    nothing: dict[str, Trial] = {}
    assert add_up(nothing).together is None
