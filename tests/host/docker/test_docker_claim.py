"""Who has an engine: a volume that only one can make, and that stays its while its owner lives."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from suite.errors import BusyError, EngineError
from suite.host.docker import leftovers
from suite.host.docker.connection import Daemon
from suite.host.docker.leftovers import claim, look, name_claim, release, sweep
from suite.host.engine import LABEL
from suite.host.machine.lock import PLACE, name_self
from tests.fakes.docker_api import HERE, FakeApi, api_error

NOW = datetime(2026, 11, 21, 8, 30, tzinfo=timezone.utc).timestamp()
"""Half an hour after the fake engine makes its volumes."""


@pytest.fixture
def daemon() -> Daemon:
    """An engine that has nothing."""
    return Daemon(FakeApi(), HERE)


Let = Callable[[bool | None], None]


@pytest.fixture
def let(monkeypatch: pytest.MonkeyPatch) -> Let:
    """Says whether owners live; None: nobody can see them."""
    return lambda alive: monkeypatch.setattr(leftovers, "is_alive", lambda _owner: alive)


def test_the_first_has_it_until_it_lets_go(daemon: Daemon, let: Let) -> None:
    let(True)
    assert claim(daemon, "ann", NOW) is None
    assert claim(daemon, "ann", NOW) is None
    let(None)
    said = str(claim(daemon, "bob", NOW))
    assert said.startswith(f"of {name_self()}, since 2026-11-21 08:30 UTC; ")
    assert f"`docker volume rm {name_claim()}`" in said
    release(daemon, "bob")
    assert list(daemon.api.kept) == [name_claim()]
    release(daemon, "ann")
    assert daemon.api.kept == {}
    assert claim(daemon, "bob", NOW) is None


def test_who_lets_go_leaves_no_volume_that_an_interrupt_left(daemon: Daemon) -> None:
    assert claim(daemon, "ann", NOW) is None
    for owner in ("ann", "bob"):
        labels = {LABEL: "volume", f"{LABEL}.owner": owner}
        daemon.api.create_volume(f"crossover-{owner}-scratch", labels=labels)
    daemon.api.create_volume("crossover-cache", labels={LABEL: "lasting-volume"})
    release(daemon, "ann")
    assert sorted(daemon.api.kept) == ["crossover-bob-scratch", "crossover-cache"]


@pytest.mark.parametrize(("alive", "age"), [(False, 0.0), (None, 49 * 3600.0)])
def test_what_a_killed_campaign_left_holds_nobody_up(
    daemon: Daemon, alive: bool | None, age: float, let: Let
) -> None:
    claim(daemon, "ann", NOW)
    let(alive)
    assert claim(daemon, "bob", NOW + age) is None
    assert daemon.api.kept[name_claim()]["Labels"][f"{LABEL}.owner"] == "bob"
    let(False)
    assert sweep(daemon, NOW + age) == 1
    assert daemon.api.kept == {}


def test_who_only_looks_takes_nothing_and_is_told_the_same(daemon: Daemon, let: Let) -> None:
    look(daemon, NOW)
    claim(daemon, "ann", NOW)
    let(None)
    with pytest.raises(BusyError, match="another campaign is running on this engine: of "):
        look(daemon, NOW)
    let(False)
    look(daemon, NOW)
    assert len(daemon.api.kept) == 1


def test_an_engine_that_refuses_the_mark_refuses_the_campaign(daemon: Daemon) -> None:
    daemon.api.failures["volume"] = api_error(500, "no space left on device")
    with pytest.raises(EngineError, match="marking it as taken failed: the engine's disk is full"):
        claim(daemon, "ann", NOW)
    release(daemon, "ann")


def test_tests_and_campaigns_have_marks_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLACE, "/a")
    first = name_claim()
    monkeypatch.setenv(PLACE, "/b")
    assert name_claim() != first
    monkeypatch.delenv(PLACE)
    assert name_claim() == "crossover-campaign"
