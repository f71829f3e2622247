"""RUN, RUNS, CELL and AS that are missing or something else: what was named, and what there is."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from suite.cli import runs
from tests import synthetic
from tests.cli.shell import Heard, Shell, complaint

ONE = ("report", "check", "bundle", "defend", "export", "paper")
SEVERAL = ("compare",)
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


@pytest.mark.parametrize("words", [(), ("",), (" ",)], ids=repr)
@pytest.mark.parametrize("command", [*ONE, *SEVERAL])
def test_whoever_names_no_campaign_is_told_the_latest(
    command: str, words: tuple[str, ...], shell: Shell, results: Path
) -> None:
    named = "RUN" if command in ONE else "RUNS"
    told = hear(shell.run(command, *words))
    assert told.startswith(f"crossover: {named} is missing: name ")
    assert "20260104T000000Z-d, then " in told
    assert told.index("-d") < told.index("-c") < told.index("-b")
    assert "20260101T000000Z-a" not in told
    assert f"(4 in {results})" in told
    assert "make bench" not in told


def test_where_there_is_no_campaign_measuring_one_is_the_remedy(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RESULTS", tmp_path / "results")
    told = hear(shell.run("check"))
    assert "there is no campaign in" in told
    assert "`make bench` measures one" in told


def test_campaigns_one_folder_further_down_are_found_where_there_are_no_others(
    shell: Shell, results: Path
) -> None:
    above = results.parent
    assert [one.name[-1] for one in runs.list_campaigns(above)] == ["d", "c", "b", "a"]
    told = hear(shell.run("check", str(above)))
    assert f"RUN={above} is not a campaign's folder: it has no campaign.json" in told
    assert "20260104T000000Z-d" in told


@pytest.mark.parametrize("command", ONE)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("empty", "is not a campaign's folder: it is empty"),
        (".", "is not a campaign's folder: it has no campaign.json"),
        ("nowhere", "nowhere: no such folder"),
        ("notes.txt", "is a file, and a campaign's folder is wanted"),
        ("20260102T000000Z-b/campaign.json", "name the folder that it is in"),
        ("20260102T000000Z-b/cpu-01.json", "name the folder that it is in"),
    ],
)
def test_what_is_no_campaign_is_said_to_be_what_it_is(
    name: str, said: str, command: str, shell: Shell, results: Path
) -> None:
    (results / "notes.txt").write_text("not one")
    heard = shell.run(command, str(results / name), *(["x"] if command == "defend" else []))
    told = hear(heard)
    assert said in told
    assert "20260102T000000Z-b" in told or "-d" in told


@pytest.mark.parametrize("command", ONE)
def test_several_folders_in_run_are_counted(command: str, shell: Shell, results: Path) -> None:
    two = " ".join(str(one) for one in sorted(results.glob("2026*"))[:2])
    told = hear(shell.run(command, two))
    assert "names 2 folders, but takes one" in told
    assert "RUNS" in told


@pytest.mark.parametrize("command", ONE)
def test_a_bundle_is_taken_or_said_to_be_one(command: str, shell: Shell, results: Path) -> None:
    packed = results / "20260102T000000Z-b.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("b/campaign.json", "{}")
    heard = shell.run(command, str(packed), *(["nothing"] if command == "defend" else []))
    taken = "is a bundle, and the folder itself is wanted" not in heard.err
    assert taken == (command in PACKED)
    if not taken:
        assert "unzip" in hear(heard)


def test_a_name_with_a_space_is_one_folder(shell: Shell, results: Path) -> None:
    plan = synthetic.make_campaign(arms=["cpu"], blocks=3)
    spaced = synthetic.write_campaign(results / "a b", plan)
    assert shell.run("report", str(spaced)).err == ""


def test_what_is_measured_again_is_a_campaign_and_nothing_is_chosen_beside_it(
    shell: Shell, results: Path
) -> None:
    assert "RECHECK=" in hear(shell.run("bench", "--recheck", str(results / "nowhere")))
    assert "RECHECK is missing" in hear(shell.run("bench", "--recheck", ""))
    assert "N is how many cells RECHECK" in hear(shell.run("bench", "--n", "3"))
    campaign = str(results / "20260102T000000Z-b")
    told = hear(shell.run("bench", "--recheck", campaign, "--only", "m*", "--seed", "1"))
    assert "leave ONLY, SEED out" in told


def test_a_missing_cell_and_a_missing_form_say_what_there_is(shell: Shell, results: Path) -> None:
    campaign = str(results / "20260102T000000Z-b")
    assert "CELL is missing" in hear(shell.run("defend", campaign, ""))
    assert "its receipt" in hear(shell.run("defend", campaign))
    told = hear(shell.run("export", campaign))
    assert "AS is missing" in told
    assert "pyperf" in told
    assert "csv" in told
