"""The fleet's table: what came home of each machine, by what lies in its folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests import synthetic
from tests.cli.shell import Shell

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A machine's folder in a fleet, with a campaign of which ``done`` blocks are there."""

    def make(name: str, *, done: int = 3, ended: str = "status 0\n", **plan: object) -> Path:
        folder = tmp_path / "fleet" / name
        arms = plan.pop("arms", ("cpu",))
        plain = synthetic.make_campaign(arms=arms, blocks=3, cells=synthetic.make_cells()[:2])
        campaign = replace(plain, **plan)  # type: ignore[arg-type]
        left_out = campaign.not_run
        documents = [
            document
            for document in synthetic.make_documents(campaign)
            if document.invocation.block <= done and document.invocation.arm not in left_out
        ]
        run = synthetic.write_campaign(folder / "run", campaign, documents)
        (run / "report.md").touch()
        (folder / "ended").write_text(ended)
        return folder

    return make


def table(shell: Shell, fleet: Path, *words: str) -> tuple[int, dict[str, str], str]:
    """The exit status, the rows by machine, and what stands below them."""
    heard = shell.run("fleet", str(fleet), *words)
    head, *lines = heard.out.splitlines()
    assert head.startswith("machine ")
    names = {path.name for path in fleet.iterdir()} | {w for w in words if not w.startswith("-")}
    rows = {
        line.split()[0]: " ".join(line.split()[1:]) for line in lines if line.split()[0] in names
    }
    return heard.status, rows, heard.out + heard.err


BUSY = "status 6\nwhat another campaign is running on this machine: of root, since 10:00\nremedy WAIT=30m\n"
FULL = "status 1\nwhat can't write x: No space left on device\nremedy make room\n"
OTHER = (
    "status 2\nwhat the campaign in x began with PROFILE=standard; PROFILE=full would change it\n"
)


@pytest.mark.parametrize(
    ("done", "ended", "row", "status"),
    [
        (3, "status 0\n", "whole cpu", 0),
        (3, "status 1\n", "whole; some cell failed cpu", 0),
        (3, "", "whole cpu", 0),
        (2, "", "a part: 2 of 3 blocks; it runs, or was cut off cpu", 1),
        (2, FULL, "a part: 2 of 3 blocks cpu can't write x: No space left on device", 1),
        (3, FULL, "a part: 3 of 3 blocks cpu can't write x: No space left on device", 1),
        (3, BUSY, "whole cpu", 0),
        (3, "status 2\nwhat can't write results: No space left on device\n", "whole cpu", 0),
        (
            1,
            BUSY,
            "a part: 1 of 3 blocks cpu another campaign is running on this machine: of root",
            1,
        ),
        (3, OTHER, "whole, of PROFILE=standard cpu the campaign in x began with", 2),
        (
            0,
            "status 7\nwhat the machine is unsound: slow\n",
            "unsound cpu the machine is unsound: slow",
            0,
        ),
        (2, "status 137\nKilled\n", "a part: 2 of 3 blocks cpu Killed", 1),
    ],
)
def test_a_row_says_what_came_home_and_why_not_all(
    done: int, ended: str, row: str, status: int, *, make: Make, shell: Shell
) -> None:
    folder = make("gpu-1", done=done, ended=ended)
    ended_with, rows, _ = table(shell, folder.parent)
    assert (ended_with, rows["gpu-1"][: len(row)]) == (status, row)


def test_what_to_do_is_what_the_engine_takes(make: Make, shell: Shell) -> None:
    """`fleet/bench` refuses RESUME: the same words go on with the campaign that is there."""
    room = FULL.replace("make room", "make room there, and RESUME=… goes on with a campaign")
    _, _, said = table(shell, make("gpu-1", done=2, ended=room).parent)
    assert "gpu-1: make room there, and run the same command again: it goes on where it was" in said
    assert "RESUME" not in said


def test_an_arm_that_did_not_run_is_missing(make: Make, shell: Shell) -> None:
    why = {"cuda": "the driver does not answer"}
    refused = "status 4\nwhat no GPU\n"
    fleet = make("dead", arms=("cpu", "cuda"), not_run=why, ended=refused).parent
    make("none", not_run={"cuda": "no NVIDIA GPU here"})
    status, rows, _ = table(shell, fleet)
    assert rows["dead"] == "a part: 3 of 3 blocks, without cuda cpu no GPU"
    assert rows["none"] == "whole, without cuda cpu no NVIDIA GPU here"
    assert status == 1


def test_what_stopped_the_engine_is_told_until_the_campaign_is_whole(
    make: Make, shell: Shell
) -> None:
    folder = make("gpu-1", done=2, ended=FULL)
    (folder / "stopped").write_text(
        "status 1\nssh: connect to host x port 22: Connection refused\n"
    )
    (folder.parent / "gpu-2").mkdir()
    (folder.parent / "gpu-2" / "stopped").write_text("gpu-2: Permission denied (publickey).")
    (folder.parent / ".gpu-3").mkdir()
    status, rows, said = table(shell, folder.parent)
    assert "Connection refused" in rows["gpu-1"]
    assert rows["gpu-2"].startswith("nothing – gpu-2: Permission denied (publickey).")
    assert "gpu-2: `ssh -i KEY USER@HOST` must work" in said
    assert ".gpu-3" not in said
    make("gpu-1")
    assert table(shell, folder.parent)[1]["gpu-1"] == "whole cpu"
    assert status == 1


def test_another_campaign_than_the_one_asked_for_is_a_row_of_its_own(
    make: Make, shell: Shell
) -> None:
    folder = make("gpu-1")
    for asked, came, status in (
        ("PROFILE=standard", "whole cpu", 0),
        ("PROFILE=standard SEED=7 BLOCKS=3 WAIT=1m", "whole cpu", 0),
        (
            "PROFILE=verdict",
            "whole, of PROFILE=standard cpu it began with PROFILE=standard; PROFILE=verdict would change it",
            2,
        ),
        (
            "PRICE=2",
            "whole, of PROFILE=standard cpu it began without PRICE; PRICE=2 would change it",
            2,
        ),
        (
            "PRICE='2 EUR'",
            "whole, of PROFILE=standard cpu it began without PRICE; PRICE='2 EUR' would",
            2,
        ),
        ("ONLY='matmul.*'", "whole, of PROFILE=standard cpu it began without ONLY; ONLY=", 2),
        (
            "VERSIONS='2.20 2.21'",
            "whole, of PROFILE=standard cpu it began without VERSIONS; VER",
            2,
        ),
        ("BLOCKS=5", "a part: 3 of 5 blocks", 1),
    ):
        ended_with, rows, _ = table(shell, folder.parent, "--machine", "gpu-1", "--asked", asked)
        assert (ended_with, rows["gpu-1"][: len(came)]) == (status, came)
    for wrong in ("'", "BLOCKS=many"):
        assert shell.run("fleet", str(folder.parent), "--asked", wrong).status == 2
    # That another was refused once is no trouble to the one that is there.
    (folder / "stopped").write_text(
        "status 2\ncrossover: it began without PRICE; PRICE=2 would change it\n"
    )
    assert table(shell, folder.parent)[1]["gpu-1"].endswith(
        "it began without PRICE; PRICE=2 would change it"
    )
    assert table(shell, folder.parent, "--asked", "PROFILE=standard")[0] == 0


def test_a_machine_without_a_folder_has_a_row(make: Make, shell: Shell) -> None:
    fleet = make("gpu-1").parent
    status, rows, said = table(shell, fleet, "--machine", "gpu-1", "--machine", "gone")
    assert (status, rows["gone"]) == (1, "nothing –")
    assert "1 of 2 machines are done" in said


def test_a_check_finds_what_does_not_follow(make: Make, shell: Shell) -> None:
    folder = make("gpu-1")
    assert table(shell, folder.parent)[0] == 0
    status, rows, said = table(shell, folder.parent, "--check")
    assert status == 1
    assert rows["gpu-1"].startswith("whole, but it failed its check")
    assert "manifest" in said


def test_what_can_not_be_read_is_said(make: Make, shell: Shell, tmp_path: Path) -> None:
    folder = make("gpu-1")
    (folder / "run" / "cpu-01.json").write_text("{")
    status, rows, said = table(shell, folder.parent)
    assert (status, rows["gpu-1"].startswith("can't be read – cpu-01.json")) == (1, True)
    assert "measure again what it held (run the same command again)" in said
    assert shell.run("fleet", str(tmp_path / "nowhere")).status == 2
