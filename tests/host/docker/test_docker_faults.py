"""What becomes of a run whose container, engine or person goes at the wrong moment: without an engine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.exceptions import ReadTimeout

from suite.errors import EngineError, Interrupted
from suite.host.docker import connection
from suite.host.docker.build import provide_image
from suite.host.docker.connection import Away, Daemon
from suite.host.docker.leftovers import claim, discard_volume, release
from suite.host.machine import deadlines
from suite.host.machine.deadlines import LEAVE_S, SILENT_S, WORK_S, Patience
from suite.host.machine.machine import own_token
from suite.host.provision.image_table import read_specs
from tests.fakes.docker_api import HERE, FakeApi, api_error, start

GONE = "No such container: c1"
REMOVED = "its container was removed by someone else"
DEAD = "can not get logs from container which is dead or marked for removal"


def away() -> requests.exceptions.ConnectionError:
    return requests.exceptions.ConnectionError("Connection refused")


DENIED = requests.exceptions.ConnectionError(PermissionError(13, "Permission denied"))
"""By an engine that has made its socket and not given it to its group yet."""


class Restarted(FakeApi):
    """An engine that is away for the first so many answers of a kind."""

    def __init__(self, **away: int) -> None:
        super().__init__()
        self.away = away

    def _ask(self, what: str) -> None:
        super()._ask(what)
        if self.away.get(what, 0) > 0:
            self.away[what] -= 1
            raise DENIED if self.away[what] == 0 else away()

    def volumes(self, filters: Mapping[str, str]) -> dict[str, Any]:
        self._ask("volumes")
        return super().volumes(filters)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "AWAY_EVERY_S", 0.0)


@pytest.mark.parametrize(
    ("moment", "status", "text"),
    [
        ("start", 404, GONE),
        ("start", 409, "container is marked for removal and cannot be started"),
        ("follow", 404, GONE),
        ("follow", 409, DEAD),
    ],
)
def test_a_container_that_is_removed_while_it_starts_is_a_loss_and_no_refusal(
    moment: str, status: int, text: str
) -> None:
    api = FakeApi()
    api.failures = dict.fromkeys(("inspect", "wait", "logs", "remove"), api_error(404, GONE))
    api.failures[moment] = api_error(status, text)
    run = start(api)
    assert run.next_line(5) is None
    assert run.close().phrase == REMOVED


@pytest.mark.parametrize(
    ("status", "text"), [(409, DEAD), (404, GONE), (500, "dead or marked for removal")]
)
def test_a_container_that_is_being_removed_has_an_end_and_no_diary(status: int, text: str) -> None:
    api = FakeApi()
    api.state = {"Running": False, "Dead": True, "ExitCode": 137, "OOMKilled": False}
    run = start(api)
    api.failures = {
        "logs": api_error(status, text),
        "remove": api_error(409, "removal of container c1 is already in progress"),
    }
    assert run.next_line(5) == "a line"
    assert run.next_line(5) is None
    ending = run.close()
    assert (ending.phrase, ending.diary, ending.left) == ("killed by SIGKILL", "", "")


@pytest.mark.parametrize("moment", ["inspect", "logs"])
def test_an_engine_that_is_restarted_costs_the_run_and_no_more(moment: str) -> None:
    api = Restarted(**{moment: 3})
    api.state = {"Running": False, "ExitCode": 143, "OOMKilled": False}
    run = start(api)
    assert run.next_line(5) == "a line"
    assert run.next_line(5) is None
    assert run.close().phrase == "killed by SIGTERM"


@pytest.mark.parametrize("moment", ["create", "start", "follow"])
def test_an_engine_that_is_restarted_while_a_container_starts_is_waited_for(moment: str) -> None:
    api = Restarted(**{moment: 2})
    run = start(api)
    # What may have come of the tries before is gone.
    assert (api.asked.count("create"), api.asked.count("remove")) == (3, 2)
    assert run.next_line(5) == "a line"
    run.close()


def test_a_container_that_is_refused_and_can_not_be_removed_is_told() -> None:
    api = Restarted(remove=1)
    api.failures["start"] = api_error(500, "no")
    with pytest.raises(EngineError, match="no") as caught:
        start(api)
    assert "docker rm -f crossover-" in caught.value.remedy


def test_volumes_are_removed_when_the_engine_is_back() -> None:
    api = Restarted(**{"remove volume v": 2, "volumes": 2})
    daemon = Daemon(api, HERE)
    api.create_volume("v", labels={})
    assert discard_volume(daemon, "v")
    assert claim(daemon, own_token(), 0.0) is None
    release(daemon, own_token())
    assert api.kept == {}


def test_an_engine_that_stays_away_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "AWAY_S", 0.0)
    run = start(Restarted(inspect=99))
    assert run.next_line(5) == "a line"
    with pytest.raises(Away, match="no engine is running there"):
        run.next_line(5)
    assert run._daemon.patience.allow(60.0) <= LEAVE_S


class Hanging(FakeApi):
    """An engine that takes requests and answers none, from a moment on; the time that waiting takes is
    made up."""

    def __init__(self) -> None:
        super().__init__()
        self.hangs = False
        self.passed_s = 0.0

    def _ask(self, what: str) -> None:
        super()._ask(what)
        if self.hangs:
            self.passed_s += self.timeout
            raise ReadTimeout("Read timed out.")


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    api = Hanging()
    real = time.monotonic
    monkeypatch.setattr(deadlines.time, "monotonic", lambda: real() + api.passed_s)
    yield api
    monkeypatch.undo()


def test_who_leaves_a_hanging_engine_is_out_soon_and_told_what_is_left(hanging: Hanging) -> None:
    run = start(hanging)
    hanging.hangs = True
    ending = run.abandon()
    discard_volume(run._daemon, "a-volume")
    release(run._daemon, "me")
    assert hanging.passed_s <= LEAVE_S
    assert (ending.code, ending.diary, ending.phrase) == (None, "", "stopped by the host")
    assert "`docker rm -f c1` removes it" in ending.left
    assert run.close() == ending


def test_an_engine_that_hangs_is_let_go_of_soon_and_asked_again_by_the_next(
    hanging: Hanging,
) -> None:
    daemon = Daemon(hanging, HERE)
    assert claim(daemon, "me", 0.0) is None
    hanging.hangs = True
    release(daemon, "me")
    assert 0.0 < hanging.passed_s <= LEAVE_S
    assert daemon.patience.allow(WORK_S) == WORK_S


def test_an_interrupt_while_a_start_hangs_says_what_is_left(hanging: Hanging) -> None:
    def interrupt(_: str) -> None:
        hanging.hangs = True
        raise KeyboardInterrupt

    hanging.start = interrupt  # type: ignore[method-assign]
    with pytest.raises(Interrupted, match="interrupted") as caught:
        start(hanging)
    assert "`docker rm -f crossover-" in caught.value.remedy
    assert hanging.passed_s <= LEAVE_S


def test_a_kill_that_hangs_keeps_nobody_waiting_for_a_line(hanging: Hanging) -> None:
    run = start(hanging)
    hanging.hangs = True
    assert run.next_line(5) == "a line"
    run.stop()
    assert hanging.waited["kill"] == 10.0
    with pytest.raises(EngineError, match="asking after a container failed"):
        run.next_line(5)
    run.abandon()


def test_every_call_has_a_deadline(hanging: Hanging) -> None:
    with pytest.raises(EngineError):
        provide_image(Daemon(hanging, HERE), read_specs()["cpu"], str, data_root=None)
    assert hanging.waited["pull"] == SILENT_S
    client = connection._Client(base_url="unix:///nowhere", version="1.41", timeout=7)
    # The SDK itself asks for none while it pulls.
    assert client._set_request_timeout({"timeout": None}) == {"timeout": 7}
    assert client._set_request_timeout({"timeout": 3, "a": 1}) == {"timeout": 3, "a": 1}
    client.close()


def test_patience_ends_for_all_calls_together(hanging: Hanging) -> None:
    patience = Patience(8.0)
    assert [patience.allow(60.0), patience.allow(5.0)] == [8.0, 5.0]
    with patience.hurried():
        hanging.passed_s = 6.0
        assert 3.0 < patience.allow(60.0) <= 4.0
    # Whoever came back, for another campaign, has all of it again.
    hanging.passed_s = 0.0
    assert patience.allow(60.0) == 8.0
    patience.hurry()
    hanging.passed_s = 6.0
    patience.hurry()
    assert 3.0 < patience.allow(60.0) <= 4.0
    hanging.passed_s = 11.0
    with pytest.raises(TimeoutError, match="not asked any more"):
        patience.allow(60.0)


def test_nothing_of_the_clients_configuration_reaches_a_container_or_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxies = {"default": {"httpProxy": "http://ann:secret@proxy:3128", "noProxy": "secret"}}
    (tmp_path / "config.json").write_text(json.dumps({"proxies": proxies}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    sent: list[str] = []

    class Client(connection._Client):
        def _post(self, url: str, **asked: Any) -> None:
            sent.append(f"{url} {asked}")
            raise api_error(500, "that is enough")

        def remove_container(self, container: str, **_: Any) -> None:
            raise api_error(404, GONE)

        def images(self, **_: Any) -> list[dict[str, Any]]:
            return []

        def version(self, **_: Any) -> dict[str, str]:
            return {"Arch": "amd64"}

        def inspect_image(self, reference: str) -> dict[str, Any]:
            return {"Id": f"sha256:{reference}"}

    client = Client(base_url="unix:///nowhere", version="1.41")
    assert client._proxy_configs.http == proxies["default"]["httpProxy"]
    with pytest.raises(EngineError):
        start(client)
    with pytest.raises(EngineError):
        provide_image(Daemon(client, HERE), read_specs()["cpu"], str, data_root=None)
    client.close()
    assert [one.partition(" ")[0].rpartition("/")[2] for one in sent] == ["create", "build"]
    assert "secret" not in "".join(sent)
