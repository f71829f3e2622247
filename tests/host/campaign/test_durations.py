"""How long things may take, are guessed to take, and are said to take."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.errors import UsageError
from suite.host.campaign import durations
from suite.model import container_seconds
from suite.worker.session.cell import ASKED_ABOUT_BUDGETS
from tests.host.campaign.flow import NOW, calibrate, end, make_campaign, make_cells


def test_a_deadline_is_many_budgets_and_never_short() -> None:
    (one,) = make_cells("one")
    asked = replace(one, asked_about=True)
    short, long = make_campaign(budget_s=2.0), make_campaign(budget_s=60.0)
    assert durations.cell_deadline_s(short, one) == durations.CELL_DEADLINE_FLOOR_S
    assert durations.cell_deadline_s(long, one) == 240.0
    assert durations.cell_deadline_s(long, asked) == 960.0


def test_host_and_worker_agree_on_the_budget_of_what_people_asked_about() -> None:
    assert durations.ASKED_ABOUT_BUDGETS == ASKED_ABOUT_BUDGETS


def test_a_container_without_an_end_counts_until_its_last_cell() -> None:
    (a,) = make_cells("a")
    assert container_seconds(calibrate(make_campaign(), [], seconds=20.0)) == 20.0
    last = end(a, container="c", ended=NOW + timedelta(seconds=5))
    assert container_seconds(calibrate(make_campaign(), [last], seconds=20.0)) == 25.0


def test_the_guess_knows_what_is_not_timed_and_not_in_the_container() -> None:
    a, b, c, d = make_cells(*"abcd")
    made = make_campaign(
        cells=[a, replace(b, one_shot=True), replace(c, by_host=True), replace(d, arms=["gpu"])],
        warmup_s=1.0,
        measure_s=2.0,
    )
    assert durations.guess_invocation_s(made, "cpu") == pytest.approx(
        durations.START_GUESS_S + 3.0 + 2 * durations.CELL_GUESS_S
    )
    assert durations.guess_invocation_s(made, "cuda") == pytest.approx(
        durations.START_GUESS_S + 6.0 + 3 * durations.CELL_GUESS_S
    )


def test_the_prediction_swaps_the_calibrations_times_for_the_profiles() -> None:
    fast, slow, cold, skipped = make_cells("fast", "slow", "cold", "skipped")
    made = make_campaign(
        cells=[fast, slow, replace(cold, one_shot=True), skipped], warmup_s=0.3, measure_s=0.7
    )
    spent = {"prepare": 0.5, "calibrate": 0.2, "warmup": 0.15, "measure": 0.35, "check": 0.1}
    document = calibrate(
        made,
        [
            end(fast, spent_s=spent, samples_s=[0.002, 9.0, 0.002], calls_per_sample=5),
            end(slow, spent_s=spent, samples_s=[1.0], calls_per_sample=2),
            end(cold, spent_s={"prepare": 0.5, "first_call": 3.0}, calls_per_sample=1),
            end(skipped, outcome="skipped", spent_s={"prepare": 2.0, "calibrate": 1.0}),
        ],
        seconds=30.0,
    )
    # fast and slow lose 0.7 s each; slow is ruled by its samples of 2 s; skipped goes altogether.
    expected = 30.0 - 2 * 0.7 - 3.0 + (0.3 + 0.7) + (2.0 + 6.0)
    assert durations.predict_invocation_s(made, "cpu", document) == pytest.approx(expected)


def test_a_clock_that_was_set_back_foretells_no_negative_time() -> None:
    (one,) = make_cells("one")
    made = make_campaign(cells=[one], warmup_s=0.1, measure_s=0.1)
    document = calibrate(made, [end(one, spent_s={"calibrate": 100.0})], seconds=3.0)
    assert durations.predict_invocation_s(made, "cpu", document) == 0.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20m", 1200.0),
        ("1h30m", 5400.0),
        ("1h30m20s", 5420.0),
        ("90s", 90.0),
        ("90", 90.0),
        ("0.5s", 0.5),
        ("2h", 7200.0),
        (" 5m ", 300.0),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert durations.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "20 m", "1d", "-5m", "1.5h", "20m30m", "m", "0", "0s", "0h0m", "1e3", "inf"],
)
def test_what_is_no_duration_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        durations.parse_duration(text)
    assert repr(text) in caught.value.what
    assert "20m" in caught.value.remedy


@pytest.mark.parametrize("text", ["99999h", "9" * 400])
def test_a_budget_of_years_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is too long"):
        durations.parse_duration(text)


@given(st.integers(0, 99), st.integers(0, 99), st.integers(1, 99))
def test_durations_add_up(hours: int, minutes: int, seconds: int) -> None:
    assert durations.parse_duration(f"{hours}h{minutes}m{seconds}s") == (
        3600 * hours + 60 * minutes + seconds
    )
