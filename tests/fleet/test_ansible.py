"""The playbook on machines of which one refuses, one is full and one dies in the middle."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.host.machine.identity import hash_machine
from tests.commands import run
from tests.fleet.machines import Machine, find_port
from tests.fleet.trials import BLOCKS, BRINGS, OURS, Play, await_second_block, finish


@pytest.fixture
def machines(build: Callable[..., Machine]) -> dict[str, Machine]:
    """Two that will do, and one whose disk is full."""
    return {"first": build("first"), "second": build("second"), "full": build("full", size="3m")}


@pytest.fixture
def play(play_on: Callable[..., Play], machines: dict[str, Machine]) -> Play:
    """Starts the playbook for these, and for one where nobody listens."""
    return play_on(machines, f"refusing ansible_port={find_port()}")


def test_the_others_go_on_and_a_second_run_completes_what_is_missing(
    play: Play, machines: dict[str, Machine], checkout: Path
) -> None:
    """One refuses, one is full, one dies after its second block."""
    (checkout / "fleet" / ".salt").write_text(OURS)
    first = play("-e", "patience_s=1")
    dies = machines["second"]
    await_second_block(dies, first)
    dies.kill()
    status, said, table = finish(first)
    assert status == 4, said
    assert table["first"] == ("whole", "")
    assert table["second"][0] == "nothing"
    assert "no space: 3 MB free in the home folder, 1 GB needed" in table["full"][1]
    assert "Connection refused" in table["refusing"][1]
    assert said.rstrip().endswith("--limit full,refusing,second")
    assert re.search("first: (calibrated|block [1-6] of 6 done)", said), said

    dies.start()
    status, said, table = finish(play("--limit", "first,second"))
    assert status == 0, said
    assert table == {"first": ("whole", ""), "second": ("whole", "")}
    for name in ("first", "second"):
        (folder,) = (checkout / "results" / "fleet" / name).glob("*/")
        assert (folder / "report.md").exists()
        assert len(list(folder.glob("cpu-0[1-9].json"))) == BLOCKS
        left = [path.name for path in machines[name].home.iterdir()]
        assert set(left) <= {".ansible"}, "nothing is left but what the page says"
    log = (checkout / "results" / "fleet" / "second" / "job.log").read_text()
    assert log.count("cells on cpu, 6 blocks") == 2, "it went on, and did not begin anew"

    results = checkout / "results"
    told = {
        json.loads(path.read_text())["invocation"]["engine"]["machine.id"]
        for path in results.glob("fleet/*/*/cpu-01.json")
    }
    assert len(told) == 1, "both are this machine"
    assert told != {hash_machine()}, "as only this fleet calls it"
    assert OURS not in said
    assert not any(OURS.encode() in one.read_bytes() for one in results.rglob("*") if one.is_file())

    status, said, table = finish(play("--limit", "first,second"))
    assert (status, "changed=0" in said, "changed=1" in said) == (0, True, False)


def test_a_check_changes_nothing_and_a_tag_does_its_part_alone(
    play: Play, machines: dict[str, Machine], checkout: Path
) -> None:
    status, said, _ = finish(play("--check", "--limit", "first"))
    assert status == 0, said
    assert not (machines["first"].away / "results").exists()
    assert not (checkout / "results" / "fleet").exists()
    status, said, _ = finish(play("--limit", "first", "--tags", "bring,doctor"))
    assert status == 0, said
    assert (machines["first"].away / "co" / "Makefile").exists()
    assert not (machines["first"].away / "results").exists()


def test_what_the_doctor_refuses_is_in_the_table(play: Play, machines: dict[str, Machine]) -> None:
    wrong = "bench='ENGINE=local LOCAL_PYTHON=/nowhere/python ARMS=cpu'"
    status, said, table = finish(play("--limit", "first", "-e", wrong))
    assert status == 2, said
    assert table["first"][0] == "nothing"
    assert table["first"][1].startswith("Ask the doctor: `make bench` would end with exit status 3")
    assert not (machines["first"].away / "results").exists()


def test_files_that_differ_from_the_commit_are_not_brought(play: Play, checkout: Path) -> None:
    with (checkout / "Makefile").open("a") as file:
        file.write("# another word\n")
    status, said, table = finish(play("--limit", "first"))
    assert (status, table["first"][0]) == (2, "nothing")
    assert "commit or stash them" in table["first"][1], said


def test_the_linter_has_nothing_to_say(
    checkout: Path, tmp_path: Path, find_tool: Callable[[str, str], str]
) -> None:
    lint = find_tool("ansible-lint", BRINGS)
    folders = (str(Path(lint).parent), os.environ["PATH"])
    done = run(
        *(lint, "--offline", "--nocolor", "bench.yml"),
        folder=checkout / "fleet" / "ansible",
        env={"HOME": str(tmp_path), "PATH": os.pathsep.join(folders)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert shutil.which("git") is not None
