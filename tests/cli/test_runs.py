"""RUN, RECHECK and CELL that are missing or something else: what was named, and what there is."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from suite.cli import runs
from tests import synthetic
from tests.cli.shell import Heard, Shell, complaint

ONE = ("report", "check", "bundle", "defend", "export", "paper")
PACKED = ("check", "defend", "export", "paper")
"""The commands that take a bundle as well."""


def hear(heard: Heard) -> str:
    """What people read, with what to do, in one line."""
    complaint(heard, 2)
    return " ".join(heard.err.split())


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A results folder with four campaigns, and something that is none."""
    folder = tmp_path / "results"
    for name in ("20260101T000000Z-a", "20260104T000000Z-d", "20260103T000000Z-c", "empty"):
        (folder / name).mkdir(parents=True)
    for place in folder.glob("2026*"):
        (place / "campaign.json").touch()
    synthetic.write_campaign(
        folder / "20260102T000000Z-b", synthetic.make_campaign(arms=["cpu"], blocks=3)
    )
    monkeypatch.setattr(runs, "RESULTS", folder)
    return folder


@pytest.mark.parametrize("command", [*ONE, "compare"])
def test_whoever_names_no_campaign_is_told_the_latest(
    command: str, shell: Shell, results: Path
) -> None:
    for words in ((), (" ",)):
        said = hear(shell.run(command, *words))
        assert said.startswith("crossover: RUN is missing: name a campaign's folder")
        assert "20260104T000000Z-d, then " in said
        assert said.index("-d") < said.index("-c") < said.index("-b")
        assert "20260101T000000Z-a" not in said
        assert f"(4 in {results})" in said


def test_where_there_is_no_campaign_measuring_one_is_the_remedy(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RESULTS", tmp_path / "results")
    said = hear(shell.run("check"))
    assert "there is no campaign in" in said
    assert "`make bench` measures one" in said


def test_campaigns_one_folder_further_down_are_found_where_there_are_no_others(
    results: Path,
) -> None:
    assert [run.name[-1] for run in runs.list_campaigns(results.parent)] == ["d", "c", "b", "a"]


@pytest.mark.parametrize("command", ["report", "defend"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("empty", "is not a campaign's folder: it has no campaign.json"),
        ("..", "is not a campaign's folder: it has no campaign.json"),
        ("nowhere", "nowhere: no such folder"),
        ("notes.txt", "is a file, and a campaign's folder is wanted"),
        ("gone", "gone: no such folder"),
    ],
)
def test_what_is_no_campaign_is_said_to_be_what_it_is(
    name: str, said: str, command: str, shell: Shell, results: Path
) -> None:
    (results / "notes.txt").write_text("not one")
    (results / "gone").symlink_to("nowhere")
    heard = hear(shell.run(command, str(results / name)))
    assert said in heard
    assert "20260104T000000Z-d" in heard


def test_a_campaigns_file_and_several_folders_say_what_to_name(shell: Shell, results: Path) -> None:
    b, c = (results / f"2026010{n}T000000Z-{name}" for n, name in ((2, "b"), (3, "c")))
    said = hear(shell.run("report", str(b / "campaign.json")))
    assert (
        f"is a file, and a campaign's folder is wanted what to do: name the folder that it is in: RUN={b}"
        in said
    )
    assert f"RUN={b} {c} names 2 folders, but takes one" in hear(shell.run("report", f"{b} {c}"))


@pytest.mark.parametrize("command", ONE)
def test_a_bundle_is_taken_or_said_to_be_one(command: str, shell: Shell, results: Path) -> None:
    packed = results / "20260102T000000Z-b.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("b/campaign.json", "{}")
    heard = shell.run(command, str(packed))
    taken = "is a bundle, and the folder itself is wanted" not in heard.err
    assert taken == (command in PACKED)
    if not taken:
        assert "unzip" in hear(heard)


def test_a_name_with_a_space_is_one_folder(shell: Shell, results: Path) -> None:
    plan = synthetic.make_campaign(arms=["cpu"], blocks=3)
    spaced = synthetic.write_campaign(results / "a b", plan)
    assert shell.run("report", str(spaced)).err == ""


def test_a_missing_cell_says_what_there_is(shell: Shell, results: Path) -> None:
    said = hear(shell.run("defend", str(results / "20260102T000000Z-b")))
    assert "CELL is missing: name a cell of that campaign" in said
    assert "overhead.fence" in said
