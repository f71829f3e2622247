"""The rows of docker/images.toml, and their locks: which are refused, and why."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from suite.errors import EngineError, UsageError
from suite.host.campaign import arms
from suite.host.campaign.arms import known_arms
from suite.host.provision import image_table
from suite.host.provision.image_table import DOCKER
from suite.worker.session.preflight import OLDEST_TENSORFLOW


def test_every_arm_has_an_image() -> None:
    specs = image_table.read_specs()
    assert {arm.image for arm in known_arms().values()} == set(specs)
    assert specs["cuda"].gpu
    assert not specs["cpu"].gpu


def test_an_unknown_image_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="rocm") as caught:
        image_table.find_spec("rocm")
    assert "cpu, cuda" in caught.value.remedy


@pytest.mark.parametrize("text", ["[cpu]\nbase = 1", "nonsense", "cpu = 3"])
def test_a_broken_table_is_an_error_with_its_path(tmp_path: Path, text: str) -> None:
    path = tmp_path / "images.toml"
    path.write_text(text)
    with pytest.raises(EngineError, match=r"images\.toml"):
        image_table.read_specs(path)


@pytest.mark.parametrize("architecture", ["aarch64", "arm64"])
def test_no_image_is_made_whose_tensorflow_could_not_run_or_use_the_gpu(
    architecture: str,
) -> None:
    spec, gpu = (image_table.read_specs()[name] for name in ("cpu", "cuda"))
    image_table.demand_wheels(gpu, "x86_64")
    image_table.demand_wheels(spec, architecture)
    with pytest.raises(EngineError, match="built without CUDA for this processor") as caught:
        image_table.demand_wheels(gpu, architecture)
    assert "CUDA_IMAGE=" in caught.value.remedy
    older = replace(spec, name="cpu@2.13", tensorflow="2.13.1", processors=("x86_64",))
    image_table.demand_wheels(older, "amd64")
    with pytest.raises(EngineError, match=rf"{architecture}: TensorFlow 2\.13\.1") as caught:
        image_table.demand_wheels(older, architecture)
    assert "x86_64" in caught.value.remedy


LAST_ROW = f"""
["cpu@2.19"]
base = "python:3.11.9-slim@sha256:{"0" * 64}"
python = "3.11"
lock = "cpu-2.19.txt"
gpu = false
free_gb = 5
"""


def write_table(tmp_path: Path, row: str) -> Path:
    """The committed table with another row, beside its locks."""
    docker = shutil.copytree(DOCKER, tmp_path / "docker")
    with (docker / "images.toml").open("a") as file:
        file.write(row)
    return docker / "images.toml"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("free_gb = 5", "free_gb = 5\nonedn = false", "onedn"),
        ('python = "3.11"', 'python = "3.12"', "says Python 3.12"),
        ("cpu@2.19", "cpu@RC", "'cpu@RC': its name can't be part"),
        ("cpu@2.19", "cpu-2.20", "'cpu-2.20' and of 'cpu@2.20' would have one name"),
        ("cpu@2.19", "tpu@2.19", "there is no row 'tpu'"),
        ("cpu@2.19", "tpu", "a row without a GPU says cpu"),
        ("cpu@2.19", f"cpu@{'x' * 300}", "has 304 characters; 60 are the most"),
        (f"@sha256:{'0' * 64}", "", "not pinned by digest"),
        (f"@sha256:{'0' * 64}", "@sha256:0", "not pinned by digest"),
        (f"python:3.11.9-slim@sha256:{'0' * 64}", "", "its base '' is not pinned"),
        ("cpu-2.19.txt", "../cpu-2.19.txt", "is not the name of a .txt file in docker"),
        ("cpu-2.19.txt", "", "is not the name of a .txt file in docker"),
        ("cpu-2.19.txt", "/etc/hosts.txt", "is not the name of a .txt file in docker"),
        ("cpu-2.19.txt", f"{'x' * 300}.txt", "is not the name of a .txt file in docker"),
        ('python = "3.11"', 'python = "3.11.9"', "not a version such as 3.13"),
        ('python = "3.11"', 'python = "3.9"', "from 3.11 on"),
        ('python = "3.11"', 'python = ""', "not a version such as 3.13"),
        ('python = "3.11"\n', "", "python"),
        ("cpu@2.19", "cpu@twin", "'cpu@twin': its name ends as the documents"),
        ("cpu@2.19", "cpu@2.19-01", "ends as the documents"),
        ("gpu = false", "gpu = true", "differ in having a GPU"),
        ("free_gb = 5", "free_gb = -5", "free_gb is above 0"),
        ("free_gb = 5", 'free_gb = 5\nprocessors = ["vax"]', "processors are some of"),
        ("free_gb = 5", "free_gb = 5\nprocessors = []", "processors are some of"),
    ],
)
def test_a_row_that_contradicts_itself_is_an_error(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = write_table(tmp_path, LAST_ROW.replace(old, new))
    with pytest.raises(EngineError, match=said):
        image_table.read_specs(path)


def test_a_lock_that_is_not_there_is_missed_by_its_own_arm_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = image_table.read_specs(write_table(tmp_path, LAST_ROW))
    monkeypatch.setattr(image_table, "read_specs", lambda: specs)
    assert image_table.find_spec("cpu").tensorflow
    with pytest.raises(UsageError, match=r"docker/cpu-2\.19\.txt") as caught:
        image_table.find_spec("cpu@2.19")
    assert "`make lock TENSORFLOW=2.19`" in caught.value.remedy


X86, BOTH = (("3.11", "x86_64"),), (("3.11", "x86_64"), ("3.11", "aarch64"), ("3.12", "x86_64"))


@pytest.mark.parametrize(
    ("row", "head", "pin", "said"),
    [
        # As it was made by hand.
        (LAST_ROW, "", "tensorflow-cpu==2.19.1", None),
        (LAST_ROW, "# Has wheels for everybody\n", "tensorflow==2.19.0", None),
        (LAST_ROW, image_table.write_places(BOTH), "tensorflow-cpu==2.19.1", None),
        (
            f'{LAST_ROW}processors = ["x86_64"]\n',
            image_table.write_places(X86),
            "tensorflow==2.19.1",
            None,
        ),
        (
            LAST_ROW,
            image_table.write_places(X86),
            "tensorflow==2.19.1",
            "no wheels for Python 3.11 on aarch64",
        ),
        (
            LAST_ROW.replace("3.11", "3.12"),
            f"# somebody's\n{image_table.write_places(BOTH)}",
            "tensorflow==2.19.1",
            "no wheels for Python 3.12 on aarch64",
        ),
        (
            LAST_ROW.replace("3.11", "3.13"),
            image_table.write_places(BOTH),
            "tensorflow==2.19.1",
            "no wheels for Python 3.13 on x86_64 and Python 3.13 on aarch64",
        ),
        (LAST_ROW, "", "tensorflow-cpu==2.18.1", "pins tensorflow 2.18.1, and its name says 2.19"),
        (LAST_ROW, "", "tensorflow-cpu==2.191", "its name says 2.19"),
        (
            LAST_ROW.replace("cpu@2.19", "cpu@keras-3.5"),
            "",
            "tensorflow-cpu==2.19.1",
            "its name says 3.5",
        ),
        (LAST_ROW.replace("cpu@2.19", "cpu@2.14"), "", "tensorflow==2.14.1", "oldest .* is 2.15"),
        (LAST_ROW.replace("cpu@2.19", "cpu@old"), "", "tensorflow==1.15.5", "oldest .* is 2.15"),
        (
            LAST_ROW.replace("cpu@2.19", "cuda@2.19").replace("gpu = false", "gpu = true"),
            "",
            "tensorflow-cpu==2.19.1",
            "without CUDA",
        ),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_lock_that_cannot_be_its_rows_is_missed_by_its_own_arm_alone(
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    row: str,
    head: str,
    pin: str,
    said: str | None,
    ending: str,
) -> None:
    path = write_table(tmp_path, row)
    text = f"{head}{pin} \\\n    --hash=sha256:0\nkeras==3.12.0\n".replace("\n", ending)
    (path.parent / "cpu-2.19.txt").write_bytes(text.encode())
    specs = image_table.read_specs(path)
    monkeypatch.setattr(image_table, "read_specs", lambda: specs)
    name = list(specs)[-1]
    assert image_table.find_spec("cpu").tensorflow
    if said is None:
        assert image_table.find_spec(name).tensorflow == pin.partition("==")[2]
        return
    with pytest.raises(UsageError, match=said) as caught:
        image_table.find_spec(name)
    assert "docker/cpu-2.19.txt" in caught.value.what
    assert "make lock" in caught.value.remedy


def drain(lock: Path) -> None:
    lock.write_text("tensorflow-metadata==1.17.0 \\\n    --hash=sha256:0\nkeras==3.12.0\n")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (drain, "pins no TensorFlow"),
        (lambda lock: lock.write_text(""), "pins no TensorFlow"),
        (lambda lock: lock.write_bytes(b"tensorflow==2.19.1\n\xff\n"), "can't be read: .*utf-8"),
        (lambda lock: lock.mkdir(), "can't be read: "),
    ],
)
@pytest.mark.parametrize("spoilt", ["cpu", "cpu@2.19"])
def test_a_lock_without_a_tensorflow_is_missed_by_its_own_arm_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Path], object],
    said: str,
    spoilt: str,
) -> None:
    path = write_table(tmp_path, LAST_ROW)
    (path.parent / "cpu-2.19.txt").write_text("tensorflow-cpu==2.19.1\nkeras==3.12.0\n")
    lock = path.parent / f"{spoilt.replace('@', '-')}.txt"
    lock.unlink()
    spoil(lock)
    specs = image_table.read_specs(path)
    monkeypatch.setattr(image_table, "read_specs", lambda: specs)
    monkeypatch.setattr(arms, "read_specs", lambda: specs)
    monkeypatch.setattr(arms, "known_arms", lambda: arms.list_arms(specs))
    with pytest.raises(UsageError, match=said) as caught:
        image_table.find_spec(spoilt)
    assert f"the lock of the arm {spoilt} can't be its: docker/{lock.name}" in caught.value.what
    assert "make lock" in (caught.value.remedy or "")
    for name in [name for name, spec in specs.items() if spec.lock != lock]:
        assert image_table.find_spec(name).tensorflow
    # Its name is known, and lists of other arms are none of its.
    arms.check_arms(("cpu", "cpu@2.19"))
    arms.check_versions(("cpu@2.20", "cuda@2.20", spoilt), laid=False)
    with pytest.raises(UsageError, match=r"versions of cpu are \d"):
        arms.name_versions(("2.3", "2.20"), "cpu")


def test_the_oldest_tensorflow_is_the_workers() -> None:
    assert image_table.OLDEST_TENSORFLOW == OLDEST_TENSORFLOW


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("cpu@2.18", "make lock TENSORFLOW=2.18"),
        ("cpu@2.15", "make lock TENSORFLOW=2.15"),
        ("cpu@2.14", None),
        ("cpu@keras-2.14", "make lock KERAS=2.14"),
        ("cuda@2.18.1-hidden", "make lock TENSORFLOW=2.18.1"),
        ("cpu@keras-3.5", "make lock KERAS=3.5"),
        ("rocm@2.18", None),
        ("cpu@nightly", None),
        ("cpu@2", None),
        ("cpu@2.18; reboot", None),
    ],
)
def test_a_version_that_nobody_locked_names_the_command_that_does(
    name: str, command: str | None
) -> None:
    assert image_table.name_lock_command(name) == command
