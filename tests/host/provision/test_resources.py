"""Volumes and CUDA's compile cache: who gets one, what it is called, how long it stays, and none is left."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from suite.cells.cell import Cell, Work
from suite.errors import EngineError
from suite.host.campaign.arms import Arms, known_arms
from suite.host.docker import leftovers
from suite.host.docker.connection import Daemon
from suite.host.docker.leftovers import LASTING, discard_volume, volume_labels
from suite.host.docker.run import container_limits
from suite.host.engine import LABEL, GpuRequest, Job, Volume
from suite.host.local import run as local_run
from suite.host.local.engine import LocalEngine
from suite.host.local.run import LocalVolumes, sweep_lasting
from suite.host.provision.custom_image import overlay_on
from suite.host.provision.image_table import read_specs
from suite.host.provision.images import follow, identify_packages, name_base, plan_build
from suite.host.provision.resources import (
    CACHE_TARGET,
    CACHE_VARIABLE,
    SCRATCH_TARGET,
    SCRATCH_VARIABLE,
    campaign_volumes,
    choose_lasting,
    compile_cache,
)
from suite.model import Image
from suite.worker.proof import libraries
from suite.worker.scenario import scratch
from tests import synthetic
from tests.fakes.docker_api import HERE, IMAGE, FakeApi, api_error, make_job, start
from tests.fakes.engine import asked_arm, fake_image
from tests.host.campaign.stage import Stage

ARMS = known_arms()

DRIVER = "580.65.06"
GPU = GpuRequest(driver="nvidia", devices=("0",), kernel_driver=DRIVER)


def cache(image: Image = IMAGE, gpu: GpuRequest = GPU) -> Volume:
    return compile_cache(image, gpu)


UNKNOWN = cache(gpu=replace(GPU, kernel_driver=None))


def job(volume: Volume) -> Job:
    return make_job(volumes=(volume,))


def test_one_cache_for_the_packages_of_an_image_and_a_driver() -> None:
    rebuilt = replace(IMAGE, id="sha256:2")
    assert cache(rebuilt).name == cache().name
    others = [
        cache(replace(IMAGE, lock="other")),
        cache(replace(IMAGE, base="other")),
        cache(gpu=replace(GPU, kernel_driver="570.1")),
        UNKNOWN,
    ]
    assert len({one.name for one in [cache(), *others]}) == 5
    assert UNKNOWN.name.endswith("-unknown")
    # Another GPU of the machine asks for the same one: CUDA tells them apart itself.
    assert cache(gpu=replace(GPU, devices=("1",))) == cache()
    assert re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{1,80}", cache().name)


MINE = compile_cache(fake_image("cuda"), GPU)


def test_a_campaign_gives_one_cache_to_every_invocation_with_a_gpu_and_leaves_it(
    stage: Stage,
) -> None:
    run = (ARMS["cpu"], ARMS["cuda"], ARMS["cuda-hidden"])
    stage.run(arms=Arms(run=run, gpus={None: GPU}), blocks=2)
    for job in stage.engine.jobs:
        arm = asked_arm(job)
        assert job.volumes == ((MINE,) if arm == "cuda" else ())
        assert (job.environment.get("CUDA_CACHE_DISABLE") == "0") is (arm == "cuda")
        assert (job.environment.get("CUDA_CACHE_MAXSIZE") == "4294967296") is (arm == "cuda")
    assert len([job for job in stage.engine.jobs if job.gpu]) == 2
    assert stage.engine.removed_volumes == []
    for document in stage.load().documents:
        said = document.invocation.engine["gpu.compile_cache"]
        assert said == (MINE.name if document.invocation.arm == "cuda" else "none")


PACKAGES = identify_packages(IMAGE.base, IMAGE.lock)


def engine_with(volume: Volume, packages: str | None) -> FakeApi:
    """An engine that has the volume, and an image of these packages."""
    labels = {LABEL: "image", f"{LABEL}.packages": packages}
    api = FakeApi(present={"name": {"Id": "sha256:2", "Labels": labels}} if packages else {})
    api.create_volume(volume.name, labels=volume_labels(volume, "me"))
    api.create_volume("not-ours", labels={"some": "label"})
    # However old.
    api.kept[volume.name]["CreatedAt"] = "2020-01-01T00:00:00Z"
    return api


@pytest.mark.parametrize(
    ("volume", "packages", "driver", "swept"),
    [
        # The suite was edited and its image built anew, and the old one removed.
        (cache(), PACKAGES, DRIVER, False),
        (cache(), PACKAGES, None, False),
        # Other packages, or no image at all.
        (cache(), "x", DRIVER, True),
        (cache(), None, None, True),
        # The driver was changed.
        (cache(), PACKAGES, "570.1", True),
        # One of an unknown driver stays with its image.
        (UNKNOWN, PACKAGES, DRIVER, False),
        (UNKNOWN, None, DRIVER, True),
    ],
)
def test_the_sweep_leaves_it_while_somebody_can_ask_for_it_again(
    volume: Volume, packages: str | None, driver: str | None, swept: bool
) -> None:
    api = engine_with(volume, packages)
    assert leftovers.sweep(Daemon(api, HERE), 1.8e9, driver) == int(swept)
    assert set(api.kept) == {"not-ours"} | (set() if swept else {volume.name})


def test_a_cache_that_a_container_holds_is_left_alone() -> None:
    api = engine_with(cache(), None)
    api.failures[f"remove volume {cache().name}"] = api_error(409, "volume is in use")
    assert leftovers.sweep(Daemon(api, HERE), 1.8e9) == 0
    assert cache().name in api.kept


@pytest.mark.parametrize("base", ["python@sha256:0", "a-name:latest"])
@pytest.mark.parametrize("laid", [False, True])
def test_an_image_carries_the_hash_that_its_cache_is_called_by(base: str, *, laid: bool) -> None:
    identity = base if "@" in base else "sha256:7"
    spec = read_specs()["cuda"]
    recipe = overlay_on(spec, base) if laid else follow(spec, base)
    # An image that the suite is laid on is known by its digest alone, in whichever place it lies.
    identity = identity.rpartition("@")[2] if laid else identity
    plan = plan_build(recipe, base_identity=identity, architecture="amd64")
    image = replace(IMAGE, base=name_base(base, identity), lock=plan.lock)
    assert plan.labels[f"{LABEL}.packages"] == cache(image).labels["packages"]


def test_a_plain_process_has_a_folder_that_lasts_with_the_environments(tmp_path: Path) -> None:
    home = tmp_path / "arms"
    variables = LocalVolumes(home).variables(job(cache()))
    folder = Path(variables[CACHE_VARIABLE])
    assert folder.parent == home
    (folder / "kernel").write_text("compiled")
    again = LocalVolumes(home)
    assert again.variables(job(cache())) == variables
    again.remove(cache())
    assert (folder / "kernel").exists()
    assert sweep_lasting(home, None) == sweep_lasting(home, DRIVER) == 0
    again.variables(job(UNKNOWN))
    (home / "cuda-0123").mkdir()
    assert sweep_lasting(home, "570.1") == 1
    assert {one.name for one in home.iterdir()} == {"cuda-0123", UNKNOWN.name}


def test_the_callers_own_cache_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "theirs"))
    monkeypatch.setenv("CUDA_CACHE_DISABLE", "1")
    engine = LocalEngine(home=tmp_path)
    environment = engine._environment(job(cache()))
    assert environment[CACHE_VARIABLE] == str(tmp_path / cache().name)
    assert "CUDA_CACHE_DISABLE" not in environment
    assert CACHE_VARIABLE not in engine._environment(make_job(gpu=GPU))


VOLUME = Volume(name="crossover-1-scratch", target="/scratch", variable="WHERE", purpose="scratch")
NOW_S = datetime(2026, 11, 21, 12, tzinfo=timezone.utc).timestamp()
"""Four hours after the fake engine has made its volumes."""


def cell(name: str, **fields: Any) -> Cell:
    made = synthetic.make_cell("made", name, {}, Work(amount=1.0, unit="call"))
    return replace(made, **fields)


def test_only_cells_that_read_files_bring_a_volume() -> None:
    campaign = synthetic.make_campaign()
    plain, reading = cell("plain"), cell("reading", reads_files=True)
    assert campaign_volumes(campaign, [plain]) == campaign_volumes(campaign, []) == ()
    assert choose_lasting(image=IMAGE, gpu=None) == ()
    # And a GPU its compile cache.
    assert choose_lasting(image=IMAGE, gpu=GPU) == (compile_cache(IMAGE, GPU),)
    (volume,) = campaign_volumes(campaign, [plain, reading])
    assert (volume.target, volume.purpose) == (SCRATCH_TARGET, "scratch")


def test_a_volume_is_called_what_every_engine_takes_and_no_other_campaign_has() -> None:
    names = set()
    for identity in ("20261121-größe-full", "20261121-größe-verdict", "a" * 90):
        campaign = replace(synthetic.make_campaign(), id=identity)
        (volume,) = campaign_volumes(campaign, [cell("reading", reads_files=True)])
        names.add(volume.name)
    assert len(names) == 3
    # As docker has it.
    assert all(re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{1,60}", name) for name in names)


def test_host_and_worker_mean_the_same_place() -> None:
    assert (scratch.VARIABLE, libraries.CACHE_VARIABLE) == (SCRATCH_VARIABLE, CACHE_VARIABLE)


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
                f"{LABEL}.packages": PACKAGES,
                f"{LABEL}.driver": "580.65.06",
            },
            {CACHE_VARIABLE: CACHE_TARGET},
        ),
    ],
)
def test_a_run_gets_its_volumes_made_mounted_and_named(
    volume: Volume, labels: dict[str, str], variables: dict[str, str]
) -> None:
    assert container_limits(make_job(), memlock=False)["mounts"] == []
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


def test_removing_is_harmless_whatever_the_engine_says() -> None:
    api = FakeApi()
    assert not discard_volume(Daemon(api, HERE), VOLUME.name)
    api.create_volume(VOLUME.name, labels={})
    assert discard_volume(Daemon(api, HERE), VOLUME.name)
    assert api.kept == {}


@pytest.mark.parametrize(
    ("alive", "state", "age_s", "swept"),
    [
        (True, "exited", 1e6, False),
        (False, "running", 0.0, True),
        (None, "exited", 10.0, False),
        (None, "exited", 1e6, True),
        (None, "created", 1e6, True),
        (None, "running", 1e6, False),
    ],
)
def test_only_containers_that_are_nobodys_are_swept(
    alive: bool | None, state: str, age_s: float, swept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = FakeApi()
    api.listed = [{"Id": "c1", "State": state, "Created": NOW_S - age_s}]
    monkeypatch.setattr(leftovers, "is_alive", lambda _: alive)
    assert leftovers.sweep(Daemon(api, HERE), NOW_S) == int(swept)
    assert api.asked == ["remove"] * swept


@pytest.mark.parametrize(
    ("made", "swept"),
    [
        ("2026-11-21T08:00:00Z", False),
        ("2026-11-18T08:00:00+01:00", True),
        ("2026-11-18T08:00:00.123456789Z", True),
        ("a while ago", False),
    ],
)
def test_old_volumes_of_strangers_are_swept(
    made: str, swept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = FakeApi()
    api.create_volume(VOLUME.name, labels=volume_labels(VOLUME, "someone"))
    api.create_volume("not-ours", labels={"some": "label"})
    api.kept[VOLUME.name]["CreatedAt"] = made
    monkeypatch.setattr(leftovers, "is_alive", lambda _: None)
    assert leftovers.sweep(Daemon(api, HERE), NOW_S) == int(swept)
    assert set(api.kept) == {"not-ours"} | (set() if swept else {VOLUME.name})


def test_no_room_for_a_folder_is_an_engine_error(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local_run.tempfile, "mkdtemp", refuse)
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
