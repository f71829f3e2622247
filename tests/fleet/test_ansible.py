"""The playbook on machines of which one refuses, one is full and one dies in the middle."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.host.machine.identity import hash_machine
from tests.commands import run
from tests.fleet.machines import Machine, find_port, make_key
from tests.fleet.trials import (
    BLOCKS,
    BRINGS,
    OURS,
    Play,
    await_second_block,
    bench_words,
    finish,
)


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
    assert said.rstrip().endswith("--limit full,refusing,second)")
    assert "full: make room there" in said
    assert re.search("first: block [1-6] of 6 done", said), said

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
    assert not any(
        OURS.encode() in path.read_bytes() for path in results.rglob("*") if path.is_file()
    )

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
    assert table["first"][1].startswith("images: LOCAL_PYTHON=")
    assert not (machines["first"].away / "results").exists()


def test_files_that_differ_from_the_commit_are_not_brought(play: Play, checkout: Path) -> None:
    with (checkout / "Makefile").open("a") as file:
        file.write("# another word\n")
    status, said, table = finish(play("--limit", "first"))
    assert (status, table["first"][0]) == (2, "nothing")
    assert "commit or stash them" in table["first"][1], said


def test_a_disk_that_fills_up_keeps_nothing_from_coming_home(
    build: Callable[..., Machine], play_on: Callable[..., Play]
) -> None:
    machine = build("first", size="200m")
    play = play_on({"first": machine})
    running = play("-e", "free_gb=0")
    look = f"ls {machine.away}/results/*/cpu-02.json 2>/dev/null || true"
    while not machine.run("sh", "-c", look):
        assert running.poll() is None, running.communicate()[0]
        time.sleep(0.1)
    machine.run("sh", "-c", f"cat /dev/zero >{machine.home}/fill 2>/dev/null || true")
    status, said, table = finish(running)
    assert status == 2, said
    assert re.match(r"a part: [1-5] of 6 blocks", table["first"][0]), said
    assert "No space left on device" in table["first"][1]
    assert "first: make room there, and run the same command again" in said
    # It goes no further, and what is there is brought once more.
    status, said, table = finish(play("-e", "free_gb=0"))
    assert (status, table["first"][0].startswith("a part: ")) == (2, True), said
    assert "No space left on device" in table["first"][1]
    machine.run("rm", str(machine.home / "fill"))
    status, said, table = finish(play("-e", "free_gb=0"))
    assert (status, table["first"]) == (0, ("whole", "")), said


def test_what_fails_its_check_is_never_whole_and_what_is_whole_stays_what_it_is(
    build: Callable[..., Machine], play_on: Callable[..., Play], worker: Path, checkout: Path
) -> None:
    machine = build("first")
    play = play_on({"first": machine})
    status, said, _ = finish(play("--tags", "bring,run"))
    assert status == 0, said
    (document,) = machine.away.glob("results/*/cpu-03.json")
    sound = document.read_text()
    document.write_text(sound.replace('"status": "complete"', '"status":  "complete"'))
    for _ in range(2):
        status, said, table = finish(play("-e", "keep=true"))
        assert status == 2, said
        assert table["first"][0] == "nothing"
        assert "cpu-03.json: is not the file that manifest" in table["first"][1]
    document.write_text(sound)
    status, said, table = finish(play("-e", "keep=true"))
    assert (status, table["first"]) == (0, ("whole", "")), said

    other = json.dumps({"bench": f"{bench_words(worker)} PRICE=3"})
    status, said, table = finish(play("-e", other))
    assert status == 2, said
    assert table["first"][0] == "whole, of PROFILE=smoke"
    assert "it began without PRICE; PRICE=3 would change it" in table["first"][1]
    # Only measuring is refused: it is fetched again, and all of it goes at a word.
    (log,) = checkout.glob("results/fleet/first/job.log")
    log.unlink()
    status, said, table = finish(play("--tags", "stop,fetch", "-e", other))
    assert (status, table["first"]) == (0, ("whole", "")), said
    assert log.exists()
    status, said, table = finish(play("--tags", "clean", "-e", other))
    assert (status, table["first"]) == (0, ("whole", "")), said
    assert not machine.away.exists()


def test_what_runs_is_removed_at_a_word_alone_and_stopped_before(
    build: Callable[..., Machine], play_on: Callable[..., Play], worker: Path
) -> None:
    machine = build("first")
    play = play_on({"first": machine})
    running = play("-e", json.dumps({"bench": f"{bench_words(worker)} BLOCKS=99"}))
    await_second_block(machine, running)
    commands = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"
    status, said, table = finish(play("--tags", "clean"))
    assert (status, table["first"][1]) == (2, "what it has measured has not all come home"), said
    assert "-m suite bench" in machine.run("sh", "-c", commands), "it still runs"
    status, said, _ = finish(play("--tags", "clean", "-e", "lose=true"))
    assert status == 0, said
    assert not machine.away.exists()
    assert "-m suite bench" not in machine.run("sh", "-c", commands)
    assert finish(running)[0] == 2, "nothing whole came home"


def test_each_trouble_on_the_way_to_a_host_has_its_words(
    build: Callable[..., Machine], play_on: Callable[..., Play], checkout: Path, tmp_path: Path
) -> None:
    """Two names of one machine, a jump host that does not let us in and one that does, a changed key."""
    first, second = build("first"), build("second")
    jump = f"-o ProxyJump=root@127.0.0.1:{first.port}"
    play = play_on(
        {"first": first},
        f"behind ansible_port={second.port} ansible_ssh_common_args='{jump}'",
    )
    reach = ("--tags", "images", "-e", "free_gb=0")
    status, said, table = finish(play(*reach))
    assert status == 4, said
    # Where connections are kept open, ssh swallows what it hears of the jump host.
    assert table["behind"][1].startswith("the jump host does not let us through")
    assert "behind: `cd fleet/ansible && ssh -F ssh.cfg USER@JUMPHOST` says why" in said

    # As in ~/.ssh/config, which the file includes.
    config = checkout / "fleet" / "ansible" / "ssh.cfg"
    config.write_text(f"Host 127.0.0.1\n    IdentityFile {tmp_path / 'key'}\n{config.read_text()}")
    status, said, table = finish(play(*reach))
    assert status == 0, said
    assert (second.away / "name").read_text() == "behind\n"

    again = play_on({"first": first}, f"same ansible_port={first.port}")
    status, said, table = finish(again(*reach))
    assert status == 2, said
    assert table["same"][1] == "this machine is first in the inventory already"
    assert "leave one of the two names out" in said

    first.kill()
    (first.folder / "host_key").unlink()
    make_key(first.folder / "host_key")
    first.start()
    status, said, table = finish(again(*reach, "--limit", "first"))
    assert status == 4, said
    assert table["first"][1].startswith("its host key is not the one of the last time")
    assert f'-R "[127.0.0.1]:{first.port}"' in said


def test_no_more_hosts_measure_at_a_time_than_may_and_they_can_be_stopped(
    build: Callable[..., Machine], play_on: Callable[..., Play], worker: Path
) -> None:
    machines = {name: build(name) for name in ("first", "second")}
    play = play_on(machines)
    long = json.dumps({"bench": f"{bench_words(worker)} BLOCKS=99"})
    running = play("-e", "at_once=1", "-e", long)
    waiting = {*machines}
    for left in (1, 0):
        begun = set()
        while not begun:
            assert running.poll() is None, running.communicate()[0]
            begun = {n for n in waiting if list(machines[n].away.glob("results/*/cpu-02.json"))}
            time.sleep(0.1)
        (name,) = begun
        waiting -= begun
        assert len(waiting) == left
        assert not any((machines[other].away / "results").exists() for other in waiting)
        status, said, _ = finish(play("--tags", "stop", "--limit", name))
        assert status == 0, said
    status, said, table = finish(running)
    assert status == 2, said
    assert "waits for its turn, 1 at a time" in said
    for came, why in table.values():
        assert re.match(r"a part: \d+ of 99 blocks", came)
        assert why == "interrupted"


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
