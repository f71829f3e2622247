"""What comes in of a person's folder, and what stays out."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest

from suite.errors import UsageError
from suite.host.campaign.options import Options
from suite.host.why import script as scripts
from suite.host.why.script import Brought, bring, mount_data
from tests.fakes.engine import FakeEngine

HASHED = "six==1.17.0 --hash=sha256:" + "0" * 64


def lay_out(folder: Path, *names: str) -> Path:
    """These files in a folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "project", "train.py")


def ask(folder: Path, name: str = "train.py", **words: Any) -> Brought:
    return bring(Options.parse({"script": folder / name, **words}))


def unpack(brought: Brought) -> dict[str, str]:
    """What each file holds that came in, and where each link leads."""
    with tarfile.open(fileobj=io.BytesIO(brought.archive)) as tar:
        return {
            member.name: member.linkname
            if member.issym()
            else (tar.extractfile(member) or io.BytesIO()).read().decode()
            for member in tar
        }


def test_what_belongs_to_a_script_comes_in_and_nothing_else(folder: Path) -> None:
    own = ["helpers.py", "package/model.py", "config/small.yml", ".env"]
    foreign = [".git/config", ".cache/x", "__pycache__/a.pyc", "mine/pyvenv.cfg", "mine/lib/a.py"]
    foreign += ["results/a-campaign/campaign.json", "results/a-campaign/cpu-01.json"]
    lay_out(folder, *own, *foreign)
    (folder / "gone.txt").symlink_to("/nowhere")
    (folder / "near.txt").symlink_to("config/small.yml")
    held = unpack(ask(folder))
    assert sorted(held) == sorted(["train.py", "near.txt", *own])
    assert held["near.txt"] == "# config/small.yml\n"


def test_the_same_folder_is_the_same_archive_and_every_change_another_hash(folder: Path) -> None:
    first, again = ask(folder), ask(folder)
    assert first == again
    lay_out(folder, "more.py")
    more = ask(folder)
    assert more.script.content == first.script.content
    assert more.script.folder != first.script.folder
    (folder / "train.py").write_text("other()\n")
    assert ask(folder).script.content != first.script.content


def test_everybody_may_read_what_came_in(folder: Path) -> None:
    for name, mode in (("train.py", 0o600), ("run.sh", 0o700)):
        lay_out(folder, name)
        (folder / name).chmod(mode)
    with tarfile.open(fileobj=io.BytesIO(ask(folder).archive)) as tar:
        assert {m.name: oct(m.mode) for m in tar} == {"run.sh": "0o755", "train.py": "0o644"}


def test_a_notebook_comes_in_as_the_code_of_its_cells(folder: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A title"]},
        {"cell_type": "code", "source": ["import os\n", "%time\n", "x = 1"]},
        {"cell_type": "code", "source": "train(x)"},
    ]
    (folder / "train.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    brought = ask(folder, "train.ipynb")
    assert brought.script.name == "train.ipynb.py"
    assert unpack(brought)["train.ipynb.py"] == (
        "# cell 1\nimport os\n%time\nx = 1\n\n# cell 2\ntrain(x)\n"
    )


def test_the_text_is_kept_where_it_was_asked_for_alone(folder: Path) -> None:
    assert ask(folder).script.text is None
    assert ask(folder, include_script="1").script.text == "# train.py\n"


@pytest.mark.parametrize("inside", ["data", "far"])
def test_data_beside_the_script_are_a_link_to_their_own_place(
    inside: str, folder: Path, tmp_path: Path
) -> None:
    lay_out(folder, "data/large.bin", "package/model.py")
    lay_out(tmp_path / "disk", "large.bin")
    (folder / "far").symlink_to(tmp_path / "disk")
    brought = ask(folder, data=folder / "package" / ".." / inside)
    held = unpack(brought)
    assert held[inside] == str(folder / inside)
    assert f"{inside}/large.bin" not in held
    assert brought.data == folder / inside
    assert brought.script.data
    # Elsewhere they are in no archive.
    assert "disk" not in unpack(ask(folder, data=tmp_path / "disk"))


def test_of_a_folder_for_everything_comes_in_what_is_small_and_beside_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = lay_out(tmp_path / "home", "train.py", "helpers.py", "notes.csv", "other/secret.py")
    (home / "film.bin").write_bytes(bytes(scripts.SMALL_BYTES + 1))
    monkeypatch.setenv("HOME", str(home))
    brought = ask(home)
    assert sorted(unpack(brought)) == ["helpers.py", "notes.csv", "train.py"]
    assert "only what lies right beside it came in" in brought.note
    # A folder in it is a project.
    assert not ask(lay_out(home / "other", "train.py")).note


def test_so_is_the_folder_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lay_out(tmp_path, "train.py", "deep/a.py")
    assert list(unpack(ask(tmp_path))) == ["train.py"]


@pytest.mark.parametrize(
    ("limit", "value"), [("MOST_BYTES", 5000), ("MOST_FILES", 3)], ids=["bytes", "files"]
)
def test_a_folder_that_is_too_large_says_how_to_name_the_data(
    limit: str, value: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, limit, value)
    for name in "abcd":
        lay_out(folder, f"data/{name}")
        (folder / "data" / name).write_bytes(bytes(2000))
    with pytest.raises(UsageError, match="the last one looked at was data/") as caught:
        ask(folder)
    assert "DATA=" in caught.value.remedy
    assert ask(folder, data=folder / "data").script.data


@pytest.mark.parametrize(
    ("name", "text", "words", "said"),
    [
        ("none.py", None, {}, "no such file"),
        ("bad.ipynb", "{", {}, "not a valid notebook"),
        ("a.py", "", {"data": "none"}, "DATA=none: there is no such folder"),
        ("a.py", "", {"requirements": "none.txt"}, "REQUIREMENTS=none.txt: there is no such file"),
        ("a.py", "x" * 100_001, {"include_script": "1"}, "100001 bytes"),
    ],
)
def test_what_is_not_there_or_unfit_is_refused(
    name: str, text: str | None, words: dict[str, str], said: str, folder: Path
) -> None:
    if text is not None:
        (folder / name).write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        ask(folder, name, **words)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        ("six==1.17.0", "has no hashes"),
        (f"{HASHED}\nnumpy==2.0 --hash=sha256:1", "brings numpy"),
        (f"{HASHED}\nTensorFlow[and-cuda]==2.21 --hash=sha256:1", "brings tensorflow"),
        (f"{HASHED}\ntf_nightly==2.21 --hash=sha256:1", "brings tf-nightly"),
        # Others that only begin so are the person's own.
        (f"{HASHED}\ntensorflow-datasets==4.9 --hash=sha256:1", None),
    ],
)
def test_a_lock_has_hashes_and_brings_no_tensorflow(
    lock: str, said: str | None, folder: Path
) -> None:
    (folder / "lock.txt").write_text(lock)
    if said is None:
        named = ask(folder, requirements=folder / "lock.txt").script.requirements
        assert (named or "").startswith("lock.txt@sha256:")
        return
    with pytest.raises(UsageError, match=said):
        ask(folder, requirements=folder / "lock.txt")


def test_data_are_mounted_at_their_own_place_and_only_read(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "named").symlink_to(tmp_path / "real")
    volume = mount_data(tmp_path / "named", FakeEngine())
    assert (volume.target, volume.folder) == (str(tmp_path / "named"), tmp_path / "real")
    assert (volume.read_only, volume.variable) == (True, "DATA")


@pytest.mark.parametrize("place", ["/", "/usr", "/var", "/proc/self", "/opt/crossover/suite"])
def test_data_hide_nothing_that_a_container_has(place: str) -> None:
    with pytest.raises(UsageError, match="would hide"):
        mount_data(Path(place), FakeEngine())
    # Without a container they are where they are.
    assert mount_data(Path(place), FakeEngine(isolation="none")).target == place


def test_data_that_not_everybody_may_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir(mode=0o700)
    with pytest.raises(UsageError, match="can't be read by everybody") as caught:
        mount_data(tmp_path / "own", FakeEngine())
    assert "chmod" in caught.value.remedy
