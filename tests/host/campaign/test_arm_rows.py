"""The arms that the images give, and a campaign with one that nobody has thought of yet."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from suite.analysis.campaign.summarise import summarise
from suite.errors import UsageError
from suite.host.campaign import plan
from suite.host.campaign.arms import Known, check_arms, known_arms, list_arms, resolve_arms
from suite.host.campaign.options import Options
from suite.host.campaign.request import plan_campaign
from suite.host.provision.image_table import DOCKER, find_spec, read_specs
from suite.host.provision.images import build_context, follow
from suite.model import NOT_FROM_LOCK, Arm, control_of
from tests import synthetic
from tests.fakes.engine import FakeEngine, asked_arm, asked_cells, fake_image, is_on_gpu
from tests.host.campaign.stage import CELLS, REQUEST, Stage

ROW = f"""
["cuda@2.19"]
base = "python:3.13@sha256:{"0" * 64}"
python = "3.13"
lock = "cuda-2.19.txt"
gpu = true
free_gb = 20
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The table of images with another row, and its made-up lock."""
    docker = shutil.copytree(DOCKER, tmp_path / "docker")
    (docker / "cuda-2.19.txt").write_text("keras==3.12.0 \\\n\ntensorflow==2.19.1 \\\n    --hash\n")
    with (docker / "images.toml").open("a") as file:
        file.write(ROW)
    return docker / "images.toml"


@pytest.fixture
def known(table: Path, monkeypatch: pytest.MonkeyPatch) -> Known:
    """Its arms, which are those that can be asked for."""
    made = list_arms(read_specs(table))
    monkeypatch.setattr("suite.host.campaign.arms.known_arms", lambda: made)
    return made


def test_an_image_is_an_arm_and_one_with_a_gpu_another_without_it() -> None:
    known = known_arms()
    cpu, cuda, hidden = (known[name] for name in ("cpu", "cuda", "cuda-hidden"))
    assert (cpu.name, cpu.image, cpu.gpu, cpu.control) == ("cpu", "cpu", False, None)
    assert (cuda.name, cuda.image, cuda.gpu, cuda.control) == ("cuda", "cuda", True, None)
    assert hidden == replace(cuda, name="cuda-hidden", gpu=False, control="hidden", of="cuda")
    # The report refuses plans in which an arm is not what its name promises.
    assert all(arm.gpu or "cpu" in arm.name or arm.control for arm in known.values())


def test_an_arms_tensorflow_is_its_locks() -> None:
    for arm in known_arms().values():
        assert f"=={arm.tensorflow} " in find_spec(arm.image).lock.read_text()


def test_another_tensorflow_is_a_lock_and_a_row(known: Known, table: Path, stage: Stage) -> None:
    assert list(known) == [*known_arms(), "cuda@2.19", "cuda@2.19-hidden"]
    context = build_context(follow(read_specs(table)["cuda@2.19"]))
    assert b"docker/cuda-2.19.txt" in context
    arms = resolve_arms(FakeEngine(gpu=REQUEST), ("cpu", "cuda", "cuda@2.19"), "0")
    cells = [replace(one, control=True) for one in CELLS]
    cells[-1] = replace(cells[-1], arms=["gpu"])
    request = Options(profile="standard", seed=3, label="versions", blocks=2)
    campaign = plan_campaign(request, arms, cells)
    stage.run(campaign=campaign, arms=arms)

    loaded = stage.load()
    assert loaded.campaign.arms == ["cpu", "cuda", "cuda@2.19"]
    version = loaded.campaign.arm("cuda@2.19")
    assert version == Arm(name="cuda@2.19", image="cuda@2.19", gpu=True, tensorflow="2.19.1")
    assert loaded.campaign.arm("cuda@2.19-twin") == control_of(version, "twin")
    assert "cuda-2.19-01" in stage.documents()
    assert "cuda-2.19-twin-01" in stage.documents()
    of_version = [job for job in stage.engine.jobs if asked_arm(job) == "cuda@2.19"]
    assert [(job.image, job.gpu) for job in of_version] == [(fake_image("cuda@2.19"), REQUEST)] * 2
    assert all(map(is_on_gpu, of_version))
    for job in stage.engine.jobs:
        # A cell that means something beside a GPU alone is asked of no other arm.
        assert (cells[-1].id in dict(asked_cells(job))) is is_on_gpu(job)

    summary = summarise(loaded)
    cell = next(cell for cell in summary.cells if cell.cell.id == cells[1].id)
    assert summary.base == "cpu"
    assert list(cell.arms) == ["cpu", "cuda", "cuda@2.19"]
    assert list(cell.comparisons) == ["cuda", "cuda@2.19"]
    assert cell.arms["cuda@2.19"].estimate is not None
    assert summary.places["cuda@2.19"].is_gpu
    assert [twins.other for twins in summary.controls.twins] == [
        *("cpu-twin", "cuda-twin", "cuda@2.19-twin")
    ]


def test_an_unknown_arm_names_those_that_there_are(known: Known) -> None:
    with pytest.raises(UsageError, match=r"cuda@2\.19, cuda@2\.19-hidden at most once, or auto"):
        check_arms(("cuda-nightly",))


def test_who_chose_an_images_packages_is_asked_for_its_tensorflow(known: Known) -> None:
    arms = [known["cpu"], known["cuda"]]
    made = replace(synthetic.make_campaign(), every_arm=plan.add_controls(arms, ["a cell"]))
    images = {"cpu": fake_image("cpu"), "cuda": replace(fake_image("cuda"), lock=NOT_FROM_LOCK)}
    versions = {one.name: one.tensorflow for one in plan.forget_versions(made, images).every_arm}
    ours = known["cpu"].tensorflow
    assert versions == {
        "cpu": ours,
        "cpu-twin": ours,
        **dict.fromkeys(("cuda", "cuda-twin", "cuda-hidden")),
    }
