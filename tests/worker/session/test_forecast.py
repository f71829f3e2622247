"""What a size should take, from the sizes below it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from suite.cells.cell import Cell, Work
from suite.worker.session.forecast import TRUSTED_S, Forecast


def cell(n: int, *, sweep: str | None = "n", one_shot: bool = False, **params: Any) -> Cell:
    params = {"n": n, **params}
    return Cell(
        id=f"made.up/{params}",
        scenario="made",
        case="up",
        params=params,
        question="?",
        work=Work(amount=2.0 * n**3, unit="FLOP"),
        profiles=["full"],
        sweep=sweep,
        one_shot=one_shot,
    )


def test_call_and_check_are_scaled_by_work() -> None:
    forecast = Forecast()
    assert forecast.predict(cell(10)) is None
    forecast.remember(cell(10), 0.5, 0.25)
    assert forecast.predict(cell(20)) == (4.0, 2.0)
    # Neither another sweep, nor none, nor a size that is no larger.
    for other in (cell(20, sweep=None), cell(20, precision="tf32"), cell(10), cell(5)):
        assert forecast.predict(other) is None


def test_what_overhead_rules_and_what_has_no_sweep_foretells_nothing() -> None:
    forecast = Forecast()
    forecast.remember(cell(10, sweep=None), 0.5, 0.25)
    assert forecast.seen == {}
    forecast.remember(cell(10), 0.99 * TRUSTED_S, 0.25)
    assert forecast.predict(cell(20)) is None


def test_what_a_first_time_costs_at_any_size_is_not_scaled() -> None:
    def once(n: int) -> Cell:
        return cell(n, one_shot=True)

    forecast = Forecast()
    # A library is loaded in the first call of all; scaled by work it would make n = 100 a week.
    forecast.remember(once(1), 0.5, 0.25)
    assert forecast.predict(once(100)) == (0.5, 0.25)
    forecast.remember(once(100), 0.25, 0.125)
    assert forecast.predict(once(1000)) == (0.25, 0.125)
    assert forecast.predict(once(50)) is None
    forecast.remember(once(1000), 0.5, 0.25)
    assert forecast.predict(once(2000)) == (0.5 + 7 * 0.25, 0.25 + 7 * 0.125)


def test_two_sizes_tell_the_overhead_from_the_work() -> None:
    forecast = Forecast()
    # A tenth of a second a call, and as much again for every 2,000 of work; the check twice that.
    for n in (10, 20):
        call_s = 0.1 + 0.1 * cell(n).work.amount / 2000
        forecast.remember(cell(n), call_s, 2 * call_s)
    assert forecast.predict(cell(30)) == pytest.approx((2.8, 5.6))


def test_a_size_that_took_less_than_the_one_before_foretells_no_less_than_itself() -> None:
    forecast = Forecast()
    forecast.remember(cell(10), 0.5, 0.3)
    forecast.remember(cell(20), 0.2, 0.4)
    assert forecast.predict(cell(40)) == pytest.approx((0.2, 1.2))


def test_sizes_that_come_in_another_order_spoil_no_line() -> None:
    forecast = Forecast()
    for n in (40, 10, 20, 20):
        forecast.remember(cell(n), 0.1 * n, 0.1)
    assert [seen.amount for seen in forecast.before(cell(30))] == [2000.0, 16000.0]
    assert forecast.predict(cell(30)) == pytest.approx((2.0 + 38 / 14, 0.1))


def test_one_size_counted_in_examples_foretells_nothing_and_two_do() -> None:
    def batch(size: int) -> Cell:
        return replace(cell(size), work=Work(amount=float(size), unit="example"))

    forecast = Forecast()
    forecast.remember(batch(1), 0.3, 0.1)
    assert forecast.predict(batch(32)) is None
    forecast.remember(batch(32), 0.31, 0.1)
    assert forecast.predict(batch(512)) == pytest.approx((0.31 + 0.01 * 480 / 31, 0.1))
