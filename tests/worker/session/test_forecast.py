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


def once(n: int) -> Cell:
    return cell(n, one_shot=True)


def batch(size: int) -> Cell:
    return replace(cell(size), work=Work(amount=float(size), unit="example"))


TEN = (cell(10), 0.5, 0.25)
# A library is loaded in the first call of all; scaled by work it would make n = 100 a week.
ONE, HUNDRED, THOUSAND = (once(1), 0.5, 0.25), (once(100), 0.25, 0.125), (once(1000), 0.5, 0.25)


@pytest.mark.parametrize(
    ("seen", "asked", "predicted"),
    [
        ([], cell(10), None),
        # Call and check are scaled by work.
        ([TEN], cell(20), (4.0, 2.0)),
        # Neither another sweep, nor none, nor a size that is no larger.
        ([TEN], cell(20, sweep=None), None),
        ([TEN], cell(20, precision="tf32"), None),
        ([TEN], cell(10), None),
        ([TEN], cell(5), None),
        # Nor what overhead rules.
        ([(cell(10), 0.99 * TRUSTED_S, 0.25)], cell(20), None),
        # What a first time costs at any size is not scaled.
        ([ONE], once(100), (0.5, 0.25)),
        ([ONE, HUNDRED], once(1000), (0.25, 0.125)),
        ([ONE, HUNDRED], once(50), None),
        ([ONE, HUNDRED, THOUSAND], once(2000), (0.5 + 7 * 0.25, 0.25 + 7 * 0.125)),
        # Two sizes tell the overhead from the work: a tenth of a second a call, and as much again for
        # every 2,000 of work; the check twice that.
        ([(cell(10), 0.2, 0.4), (cell(20), 0.9, 1.8)], cell(30), pytest.approx((2.8, 5.6))),
        # One that took less than the one before foretells no less than itself.
        ([(cell(10), 0.5, 0.3), (cell(20), 0.2, 0.4)], cell(40), pytest.approx((0.2, 1.2))),
        # One size counted in examples foretells nothing, and two do.
        ([(batch(1), 0.3, 0.1)], batch(32), None),
        (
            [(batch(1), 0.3, 0.1), (batch(32), 0.31, 0.1)],
            batch(512),
            pytest.approx((0.31 + 0.01 * 480 / 31, 0.1)),
        ),
    ],
)
def test_a_size_is_foretold_from_those_that_were_seen(
    seen: list[tuple[Cell, float, float]], asked: Cell, predicted: Any
) -> None:
    forecast = Forecast()
    for size in seen:
        forecast.remember(*size)
    assert forecast.predict(asked) == predicted


def test_what_has_no_sweep_is_not_remembered() -> None:
    forecast = Forecast()
    forecast.remember(cell(10, sweep=None), 0.5, 0.25)
    assert forecast.sizes == {}


def test_sizes_that_come_in_another_order_spoil_no_line() -> None:
    forecast = Forecast()
    for n in (40, 10, 20, 20):
        forecast.remember(cell(n), 0.1 * n, 0.1)
    assert [size[0] for size in forecast.before(cell(30))] == [2000.0, 16000.0]
    assert forecast.predict(cell(30)) == pytest.approx((2.0 + 38 / 14, 0.1))
