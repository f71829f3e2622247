"""Volumes: who gets one, what it is called, and that none is left."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from suite.cells.cell import Cell, Work
from suite.errors import EngineError
from suite.host.docker import leftovers
from suite.host.docker.connection import Daemon
from suite.host.docker.leftovers import LASTING, discard_volume, volume_labels
from suite.host.docker.run import container_limits
from suite.host.engine import LABEL, GpuRequest, Volume
from suite.host.local import leftovers as local_leftovers
from suite.host.local.leftovers import LocalVolumes
from suite.host.provision.images import identify_packages
from suite.host.provision.resources import (
    CACHE_TARGET,
    CACHE_VARIABLE,
    SCRATCH_TARGET,
    SCRATCH_VARIABLE,
    campaign_volumes,
    choose_volumes,
    compile_cache,
)
from suite.worker.proof import compile_cache as worker_cache
from suite.worker.scenario import scratch
from tests import synthetic
from tests.fakes.docker_api import HERE, IMAGE, FakeApi, api_error, make_job, start

VOLUME = Volume(name="crossover-1-scratch", target="/scratch", variable="WHERE", purpose="scratch")
GPU = GpuRequest(driver="nvidia", devices=("0",), kernel_driver="580.65.06")
NOW_S = datetime(2026, 11, 21, 12, tzinfo=timezone.utc).timestamp()
"""Four hours after the fake engine has made its volumes."""


def cell(name: str, **fields: Any) -> Cell:
    made = synthetic.make_cell("made", name, {}, Work(amount=1.0, unit="call"))
    return replace(made, **fields)


def test_only_cells_that_read_files_bring_a_volume() -> None:
    campaign = synthetic.make_campaign()
    plain, reading = cell("plain"), cell("reading", reads_files=True)
    assert choose_volumes(campaign, [plain], image=IMAGE, gpu=None) == ()
    assert choose_volumes(campaign, [], image=IMAGE, gpu=None) == ()
    # And a GPU its compile cache.
    assert choose_volumes(campaign, [], image=IMAGE, gpu=GPU) == (compile_cache(IMAGE, GPU),)
    (volume,) = choose_volumes(campaign, [plain, reading], image=IMAGE, gpu=None)
    assert campaign_volumes(campaign, [plain, reading]) == (volume,)
    assert (volume.target, volume.purpose) == (SCRATCH_TARGET, "scratch")


def test_a_volume_is_called_what_every_engine_takes_and_no_other_campaign_has() -> None:
    campaign = synthetic.make_campaign()
    names = {
        campaign_volumes(replace(campaign, id=identity), [cell("reading", reads_files=True)])[
            0
        ].name
        for identity in ("20261121-größe-full", "20261121-größe-quick", "a" * 90)
    }
    assert len(names) == 3
    # As docker has it.
    assert all(re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{1,60}", name) for name in names)


def test_host_and_worker_mean_the_same_place() -> None:
    assert (scratch.VARIABLE, worker_cache.VARIABLE) == (SCRATCH_VARIABLE, CACHE_VARIABLE)


@pytest.mark.parametrize(
    ("volume", "labels", "variables"),
    [
        (
            VOLUME,
            {LABEL: "volume", f"{LABEL}.owner": "me", f"{LABEL}.purpose": "scratch"},
            {"WHERE": "/scratch"},
        ),
        (
            compile_cache(IMAGE, GPU),
            {
                LABEL: LASTING,
                f"{LABEL}.purpose": "compile-cache",
                f"{LABEL}.for": IMAGE.id,
                f"{LABEL}.packages": identify_packages(IMAGE.base, IMAGE.lock),
                f"{LABEL}.driver": "580.65.06",
            },
            {CACHE_VARIABLE: CACHE_TARGET},
        ),
    ],
)
def test_a_run_gets_its_volumes_made_mounted_and_named(
    volume: Volume, labels: dict[str, str], variables: dict[str, str]
) -> None:
    assert "mounts" not in container_limits(make_job(), memlock=False)
    api = FakeApi()
    # Refused at the last moment, so that nothing has to be listened to.
    api.failures["start"] = api_error(500, "nobody has seen this")
    with pytest.raises(EngineError):
        start(api, make_job(volumes=(volume,), environment={"A": "1"}))
    assert api.asked == ["volume", "create", "start", "remove"]
    assert api.kept[volume.name]["Labels"] == labels
    assert api.created["environment"] == {"A": "1", **variables}
    (mount,) = api.created["host_config"]["mounts"]
    assert (mount["Type"], mount["Source"]) == ("volume", volume.name)
    assert (mount["Target"], mount["ReadOnly"]) == (*variables.values(), False)


def test_a_refused_volume_is_an_error_and_leaves_no_container() -> None:
    api = FakeApi()
    api.failures["volume"] = api_error(500, "write: no space left on device")
    with pytest.raises(EngineError, match="disk is full"):
        start(api, make_job(volumes=(VOLUME,)))
    assert api.asked == ["volume", "remove"]


def test_removing_is_harmless_whatever_the_engine_says() -> None:
    api = FakeApi()
    assert not discard_volume(Daemon(api, HERE), VOLUME.name)
    api.create_volume(VOLUME.name, labels={})
    api.failures[f"remove volume {VOLUME.name}"] = api_error(409, "volume is in use")
    assert not discard_volume(Daemon(api, HERE), VOLUME.name)
    del api.failures[f"remove volume {VOLUME.name}"]
    assert discard_volume(Daemon(api, HERE), VOLUME.name)
    assert api.kept == {}


@pytest.mark.parametrize(
    ("alive", "made", "swept"),
    [
        (True, "2020-01-01T00:00:00Z", False),
        (False, "2026-11-21T08:00:00Z", True),
        (None, "2026-11-21T08:00:00Z", False),
        (None, "2026-11-18T08:00:00+01:00", True),
        (None, "2026-11-18T08:00:00.123456789Z", True),
        (None, "a while ago", False),
    ],
)
def test_volumes_of_the_dead_and_old_ones_of_strangers_are_swept(
    alive: bool | None, made: str, swept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = FakeApi()
    api.create_volume(VOLUME.name, labels=volume_labels(VOLUME, "someone"))
    api.create_volume("not-ours", labels={"some": "label"})
    api.kept[VOLUME.name]["CreatedAt"] = made
    monkeypatch.setattr(leftovers, "is_alive", lambda _: alive)
    assert leftovers.sweep(Daemon(api, HERE), NOW_S) == int(swept)
    assert set(api.kept) == {"not-ours"} | (set() if swept else {VOLUME.name})


def test_no_room_for_a_folder_is_an_engine_error(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local_leftovers.tempfile, "mkdtemp", refuse)
    with pytest.raises(EngineError, match="No space left") as caught:
        LocalVolumes(place).variables(make_job(volumes=(VOLUME,)))
    assert str(place) in caught.value.remedy
    assert not list(place.iterdir())


def test_a_plain_process_finds_a_folder_that_the_next_one_finds_again(place: Path) -> None:
    volumes, other = LocalVolumes(place), replace(VOLUME, name="other")
    assert volumes.variables(make_job()) == {}
    (folder,) = volumes.variables(make_job(volumes=(VOLUME,))).values()
    (Path(folder) / "file").write_text("kept")
    assert volumes.variables(make_job(volumes=(VOLUME,))) == {"WHERE": folder}
    assert Path(folder).is_relative_to(place)
    assert volumes.variables(make_job(volumes=(other,)))["WHERE"] != folder
    for volume in (VOLUME, VOLUME, other):
        volumes.remove(volume)
    assert not list(place.iterdir())
