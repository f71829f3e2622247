"""RESUME takes numbers and closed words from a folder, and nothing that says what runs."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from suite.cli import engines
from suite.host.campaign.store import only_campaign
from tests.cli.shell import Shell, complaint
from tests.fakes.engine import FakeEngine
from tests.plants import PLANTS, Plant

PINNED = "vendor/tf:1@sha256:" + "d" * 64
OTHER = "vendor/tf:1@sha256:" + "e" * 64


@pytest.fixture(autouse=True)
def _docker_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """``ENGINE=auto`` means the same on every machine of the tests."""
    monkeypatch.setattr(engines, "docker_endpoint", object)


@pytest.fixture
def begun(shell: Shell) -> Path:
    """The folder of a campaign with settings of its own."""
    return shell.bench_once()


def change_plan(folder: Path, **fields: Any) -> None:
    plan = json.loads((folder / "campaign.json").read_text(encoding="utf-8"))
    (folder / "campaign.json").write_text(json.dumps(plan | fields), encoding="utf-8")


def resume(shell: Shell, *words: str, custom: str | None = None) -> Any:
    return shell.resume("--blocks", "2", *words, engine=FakeEngine(custom=custom))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("local_python", "/opt/evil", "is not a valid value"),
        ("results", "/etc", "is not a campaign setting"),
        ("engine", "/bin/sh", "'/bin/sh' is none of docker, local"),
        ("telemetry", "loud", "'loud' is none of"),
        ("cpus", "0-4000000000", "is not a list of CPUs: 4000000000 is more than 8191"),
        ("gpu", "$(id)", "does not name one GPU"),
        ("sustain", "1s", "1.0 is less than 20 seconds"),
        ("type", "$(id)", "is not the name of a machine type"),
        ("base_image", "$(shell id)", "is not a valid value"),
        ("cuda_image", "--privileged", "is not a valid value"),
        ("cuda_image", "x" * 301, "is not a valid value"),
    ],
)
def test_a_setting_that_is_none_is_refused_by_its_field(
    name: str, value: str, said: str, shell: Shell, begun: Path
) -> None:
    change_plan(begun, settings={name: value})
    told = complaint(resume(shell), 5)
    assert told.startswith(f"campaign.json: $.settings.{name}: ")
    assert said in told
    assert shell.opened == []


@pytest.mark.parametrize(
    ("settings", "words", "what", "remedy"),
    [
        ({"base_image": "x/y"}, (), "began with x/y, and this command has none", "add BASE_"),
        ({"cuda_image": PINNED}, (), f"began with {PINNED}, and this", f"CUDA_IMAGE={PINNED}"),
        ({"cuda_image": PINNED}, ("--cuda-image", OTHER), f"this command has {OTHER}", PINNED),
        ({}, ("--cuda-image", PINNED), f"none, and this command has {PINNED}", "leave CUDA_"),
        ({"engine": "local"}, (), "began with local, and this command has docker", "ENGINE=local"),
        ({"local_python": "sha256:" + "0" * 16}, (), "began with sha256:0", "add LOCAL_PYTHON=<"),
    ],
)
def test_what_runs_has_to_stand_on_the_command_line(
    settings: dict[str, str],
    words: tuple[str, ...],
    what: str,
    remedy: str,
    shell: Shell,
    *,
    begun: Path,
) -> None:
    change_plan(begun, settings=settings)
    heard = resume(shell, *words)
    assert what in complaint(heard, 5)
    assert remedy in heard.err.partition("what to do: ")[2]
    assert shell.opened == []


@pytest.mark.parametrize(
    ("typed", "meant", "status"),
    [
        ("vendor/tf:1", PINNED, 0),
        ("vendor/tf:1", OTHER, 5),
    ],
)
def test_the_cuda_image_is_the_one_that_the_campaign_began_in(
    typed: str, meant: str, status: int, shell: Shell
) -> None:
    words = ("--arms", "cpu cuda-hidden", "--cuda-image", "vendor/tf:1")
    shell.bench_once(*words, engine=FakeEngine(custom=PINNED))
    heard = resume(shell, "--cuda-image", typed, custom=meant)
    assert heard.status == status, heard.err
    if status:
        assert f"this command has {meant}" in heard.err
        assert f"add CUDA_IMAGE={PINNED}" in heard.err


def test_a_campaign_of_a_given_interpreter_is_gone_on_with_by_naming_it(shell: Shell) -> None:
    shell.bench_short("--local-python", "/opt/private/python")
    plan = (shell.folder() / "campaign.json").read_text(encoding="utf-8")
    assert "private" not in plan
    said = complaint(resume(shell), 5)
    assert said.startswith(
        "campaign.json: $.settings.local_python: the campaign began with sha256:"
    )
    assert complaint(resume(shell, "--local-python", "/opt/other"), 5)
    assert resume(shell, "--local-python", "/opt/private/python").status == 0


def test_a_base_for_each_python_is_gone_on_with_by_naming_it(shell: Shell) -> None:
    words = ("--base-image", "mirror/python:{python}-slim")
    shell.bench_short(*words)
    assert "BASE_IMAGE='mirror/python:{python}-slim'" in shell.plan().command
    assert "add BASE_IMAGE=mirror/python:{python}-slim" in resume(shell).err
    assert resume(shell, *words).status == 0


CPU = {"name": "cpu", "image": "cpu", "gpu": False}
HIDDEN = {"name": "cuda-hidden", "image": "cuda", "gpu": False, "control": "hidden", "of": "cuda"}


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        ([CPU | {"image": "evil"}], "[0]: 'cpu' differs from docker/images.toml"),
        ([CPU, HIDDEN], "[1].image: no arm that is compared runs in 'cuda'"),
    ],
)
def test_what_an_arm_runs_in_is_not_taken_from_a_folder(
    arms: list[dict[str, Any]], said: str, shell: Shell, begun: Path
) -> None:
    change_plan(begun, every_arm=arms)
    engine = FakeEngine()
    told = complaint(shell.resume("--blocks", "2", engine=engine), 5)
    assert f"$.every_arm{said}" in told
    assert engine.jobs == []


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
@pytest.mark.parametrize("place", ["logs", "summary.json", "campaign.json"])
def test_a_folder_made_to_attack_is_refused_and_nothing_outside_is_touched(
    place: str, plant: Plant, shell: Shell, begun: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("matmul.svg", "cpu-01.log", "cpu-02.log"):
        (outside / name).write_text("mine")
    if (begun / place).is_dir():
        shutil.rmtree(begun / place)
    (begun / place).unlink(missing_ok=True)
    plant(begun / place, outside)
    for heard in (resume(shell), shell.run("report", str(begun))):
        assert f"{place}: is a" in complaint(heard, 5)
    assert {path.read_text() for path in outside.iterdir()} == {"mine"}
    assert len(list(outside.iterdir())) == 3


def test_a_lock_beside_a_folder_is_not_followed(shell: Shell, begun: Path, tmp_path: Path) -> None:
    (begun.parent / ".lock").unlink()
    (begun.parent / ".lock").symlink_to(tmp_path / "outside")
    assert ".lock: is a link" in complaint(resume(shell), 5)
    assert not (tmp_path / "outside").exists()
    (begun.parent / ".lock").unlink()
    with only_campaign(begun.parent):
        complaint(resume(shell), 6)


@pytest.mark.parametrize("written", [0, 1, 5, 14])
def test_a_disk_that_is_full_at_any_write_leaves_a_folder_to_go_on_with(
    written: int, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0

    def fill(_: int) -> None:
        nonlocal count
        count += 1
        if count > written:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fill)
        said = complaint(shell.bench_short("--seed", "5"), 1)
    assert said.startswith("can't write ")
    assert said.endswith("No space left on device")
    assert not list(shell.folder().rglob(".*"))
    if written:
        assert resume(shell).status == 0
    else:
        assert "campaign.json: No such file" in complaint(resume(shell), 5)
