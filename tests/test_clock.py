"""A worker's instants where the clock of the day is set while it measures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo

import pytest

from suite import clock
from suite.worker.loop import counters


@pytest.fixture(params=[timedelta(days=-400), timedelta(hours=1)], ids=["back", "forward"])
def step(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[timedelta]:
    """A clock of the day that is set at its first reading, as time synchronisation does after a boot."""
    by: timedelta = request.param

    class Day(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Day:
            return super().now(tz) + by

    clock.now()
    monkeypatch.setattr(clock, "datetime", Day)
    monkeypatch.setattr(time, "time", lambda: Day.now().timestamp())
    return by


def test_a_clock_that_is_set_moves_no_instant(step: timedelta) -> None:
    before = clock.datetime.now().astimezone() - step
    started = clock.now()
    first = counters.read()
    found = counters.compare(first, counters.read())
    ended = clock.now()
    assert abs(started - before) < timedelta(seconds=5)
    assert timedelta(0) <= ended - started < timedelta(minutes=5)
    assert found["from_s"] is not None
    assert found["to_s"] is not None
    assert started.timestamp() <= found["from_s"] <= found["to_s"] <= ended.timestamp()
