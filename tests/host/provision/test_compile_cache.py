"""CUDA's compile cache on the host: who gets one, which, how long it stays, and what is recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from suite.errors import EngineError
from suite.host.campaign.arms import Arms, against_itself, known_arms
from suite.host.docker import leftovers
from suite.host.docker.connection import Daemon
from suite.host.docker.leftovers import volume_labels
from suite.host.engine import LABEL, GpuRequest, Job, Volume
from suite.host.local import engine as local_engine
from suite.host.local.engine import LocalEngine
from suite.host.local.leftovers import LocalVolumes, sweep_lasting
from suite.host.provision.images import (
    follow,
    identify_packages,
    name_base,
    overlay_on,
    plan_build,
    read_specs,
)
from suite.host.provision.resources import CACHE_VARIABLE, compile_cache
from suite.model import Image
from tests.fakes.docker_api import HERE, IMAGE, FakeApi, api_error, make_job
from tests.fakes.engine import Life, asked_arm, fake_image
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
    stage.run(arms=Arms(run=run, gpu=GPU), blocks=2)
    for job in stage.engine.jobs:
        arm = asked_arm(job)
        assert job.volumes == ((MINE,) if arm == "cuda" else ())
        assert (job.environment.get("CUDA_CACHE_DISABLE") == "0") is (arm == "cuda")
        assert (job.environment.get("CUDA_CACHE_MAXSIZE") == "4294967296") is (arm == "cuda")
    assert len([job for job in stage.engine.jobs if job.gpu]) == 3
    assert stage.engine.removed_volumes == []
    for document in stage.load().documents:
        said = document.invocation.engine["gpu.compile_cache"]
        assert said == (MINE.name if document.invocation.arm == "cuda" else "none")


def test_an_arm_against_itself_has_one_cache_and_a_dead_container_keeps_it(stage: Stage) -> None:
    alone = Arms(run=(ARMS["cuda"],), gpu=GPU)
    stage.run(lambda _: Life(words=[], code=139), arms=against_itself(alone))
    assert [job.volumes for job in stage.engine.jobs] == [(MINE,)] * 4


def engine_with(labels: Mapping[str, str], image: str | None, volume: Volume) -> FakeApi:
    """An engine that has the volume, and an image of that id with these labels."""
    present = {"name": {"Id": image, "Labels": {LABEL: "image", **labels}}} if image else {}
    api = FakeApi(present=present)
    api.create_volume(volume.name, labels=volume_labels(volume, "me"))
    api.create_volume("not-ours", labels={"some": "label"})
    # However old.
    api.kept[volume.name]["CreatedAt"] = "2020-01-01T00:00:00Z"
    return api


PACKAGES = {f"{LABEL}.packages": identify_packages(IMAGE.base, IMAGE.lock)}


@pytest.mark.parametrize(
    ("volume", "labels", "image", "driver", "swept"),
    [
        # As it was made for.
        (cache(), {}, IMAGE.id, DRIVER, False),
        (cache(), {}, IMAGE.id, None, False),
        # The suite was edited and its image built anew, and the old one removed.
        (cache(), PACKAGES, "sha256:2", DRIVER, False),
        (cache(), PACKAGES, "sha256:2", None, False),
        # Other packages, or no image at all.
        (cache(), {f"{LABEL}.packages": "x"}, "sha256:2", DRIVER, True),
        (cache(), {}, "sha256:2", None, True),
        (cache(), {}, None, None, True),
        # The driver was changed.
        (cache(), PACKAGES, IMAGE.id, "570.1", True),
        # One of an unknown driver stays with its image.
        (UNKNOWN, {}, IMAGE.id, DRIVER, False),
        (UNKNOWN, {}, None, DRIVER, True),
    ],
)
def test_the_sweep_leaves_it_while_somebody_can_ask_for_it_again(
    volume: Volume, labels: Mapping[str, str], image: str | None, driver: str | None, swept: bool
) -> None:
    api = engine_with(labels, image, volume)
    count = leftovers.sweep(Daemon(api, HERE), 1.8e9, driver)
    assert count == int(swept)
    assert set(api.kept) == {"not-ours"} | (set() if swept else {volume.name})


def test_a_cache_that_a_container_holds_is_left_alone() -> None:
    api = engine_with({}, None, cache())
    api.failures[f"remove volume {cache().name}"] = api_error(409, "volume is in use")
    assert leftovers.sweep(Daemon(api, HERE), 1.8e9) == 0
    assert cache().name in api.kept


def test_cleaning_removes_it_and_nothing_of_others() -> None:
    api = engine_with({}, IMAGE.id, cache())
    assert leftovers.remove_everything(Daemon(api, HERE))["volumes"] == 1
    assert set(api.kept) == {"not-ours"}


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


def test_no_room_for_it_is_an_engine_error(tmp_path: Path) -> None:
    home = tmp_path / "arms"
    home.write_text("a file")
    with pytest.raises(EngineError, match="compile-cache could be made") as caught:
        LocalVolumes(home).variables(job(cache()))
    assert str(home) in caught.value.remedy


def test_the_local_engine_sweeps_by_this_machines_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LocalVolumes(tmp_path).variables(job(cache()))
    monkeypatch.setattr(local_engine, "sweep", lambda: 0)
    monkeypatch.setattr(local_engine, "read_version", lambda: DRIVER)
    assert LocalEngine(home=tmp_path).sweep_leftovers() == 0
    monkeypatch.setattr(local_engine, "read_version", lambda: "570.1")
    assert LocalEngine(home=tmp_path).sweep_leftovers() == 1


def test_the_callers_own_cache_is_left_alone_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    engine = LocalEngine(home=tmp_path)
    assert CACHE_VARIABLE not in engine.describe()
    theirs = tmp_path / "theirs"
    monkeypatch.setenv(CACHE_VARIABLE, str(theirs))
    monkeypatch.setenv("CUDA_CACHE_DISABLE", "1")
    assert engine.describe()[CACHE_VARIABLE] == "not the caller's"
    environment = engine._environment(job(cache()))
    assert environment[CACHE_VARIABLE] == str(tmp_path / cache().name)
    assert "CUDA_CACHE_DISABLE" not in environment
    assert CACHE_VARIABLE not in engine._environment(make_job(gpu=GPU))
