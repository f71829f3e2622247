"""STOP_IF: a campaign ends after its first block where no further one would mend the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.documents.read import load_campaign
from suite.host.engine import GpuRequest, Job
from suite.worker import scenarios
from tests.cli.shell import Shell, complaint, well
from tests.fakes.engine import FakeEngine, Life, Worker, is_on_gpu, record

STOP = ("--stop-if", "unsound")
CPU = ("--arms", "cpu")
NEIGHBOUR = {"evidence": {"foreign_cpus": 1.9}}
FIRST = "Is this the machine you ordered? Made-Up Processor; 2 logical CPUs used; no GPU seen; "


def busy() -> FakeEngine:
    """An engine on a machine whose CPUs others use."""
    return FakeEngine(otherwise=Worker(outcomes={cell.id: NEIGHBOUR for cell in scenarios.cells()}))


def read_flags(folder: Path) -> list[dict[str, Any]]:
    """What the summary says against the machine."""
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return [one for one in summary.get("flags", []) if one["scope"] == "machine"]


def test_a_sound_machine_is_told_of_and_measured_to_the_end(shell: Shell) -> None:
    heard = well(shell.bench_short(*STOP, *CPU, "--price", "9.5", "--blocks", "2"))
    order = (
        FIRST,
        "cores unknown, CPU quota unknown.",
        "Nothing was found that makes it unsound.",
        "Provisional, from one invocation per arm:",
        "cell ",
        "block 1 of 2 done",
    )
    said = " ".join(heard.err.split())
    places = [said.index(words) for words in order]
    assert places == sorted(places), heard.err
    assert ", USD 0." in said[places[-1] :]
    assert read_flags(shell.folder()) == []
    assert "STOP_IF=unsound" in shell.plan().command


@pytest.mark.parametrize("blocks", [1, 2])
def test_an_unsound_one_ends_it_and_the_folder_says_why_and_can_go_on(
    blocks: int, shell: Shell
) -> None:
    words = ("--blocks", str(blocks))
    heard = shell.bench_short(*STOP, *CPU, *words, engine=busy())
    why = "the machine is unsound: cpu: other work used 1.9 CPUs"
    assert complaint(heard, 7) == why
    assert "UNSOUND: cpu: other work used 1.9 CPUs." in heard.err
    assert f"what was measured is in {shell.folder()}" in heard.err
    folder = shell.folder()
    loaded = load_campaign(folder)
    assert [one.invocation.block for one in loaded.documents] == [1]
    assert loaded.campaign.stopped == why
    (flag,) = read_flags(folder)
    assert (flag["code"], flag["where"], flag["values"]) == (
        "cpus-busy",
        {"arm": "cpu"},
        {"busy": 1.9},
    )
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert report.splitlines()[0].endswith("UNSOUND MACHINE")
    assert "**UNSOUND**: cpu: other work used 1.9 CPUs." in report
    assert f"The campaign ended early: {why}." in report
    made = {path.name: path.read_bytes() for path in folder.glob("*.*")}
    assert shell.run("check", str(folder)).status == 0
    assert shell.run("report", str(folder)).status == 0
    assert made == {path.name: path.read_bytes() for path in folder.glob("*.*")}

    # Whoever asks for the same again has the same answer at once.
    again = busy()
    assert complaint(shell.resume(*STOP, engine=again), 7) == why
    assert again.jobs == []

    # Without it the same is told alone.
    heard = well(shell.resume(engine=again))
    assert len(again.jobs) == blocks - 1
    assert "UNSOUND: " in heard.err
    assert (shell.plan().stopped, read_flags(folder)) == (None, [])
    assert "UNSOUND" not in (folder / "report.md").read_text(encoding="utf-8")
    assert shell.run("check", str(folder)).status == 0
    # A second block was begun in spite of it: nothing is looked at any more.
    well(shell.resume("--blocks", "2", engine=again))
    heard = well(shell.resume(*STOP, "--blocks", "3", engine=again))
    assert FIRST not in heard.err


def test_an_arm_that_fell_back_to_the_cpu_ends_it(shell: Shell) -> None:
    worker = Worker()

    def life(job: Job) -> Life:
        if not is_on_gpu(job):
            return worker(job)
        return Life(words=[*worker.greeting()[:1], record("refused", reason="it has /CPU:0 alone")])

    engine = FakeEngine(otherwise=life, gpu=GpuRequest(driver="cdi", devices=("0",)))
    heard = shell.bench_short(*STOP, "--arms", "cpu cuda", engine=engine)
    assert "the arm cuda is unavailable: it has /CPU:0 alone" in complaint(heard, 7)
    assert [flag["code"] for flag in read_flags(shell.folder())] == ["arm-refused"]
    assert len(engine.jobs) == 2
    assert shell.run("check", str(shell.folder())).status == 0


def test_a_machine_without_a_gpu_is_unsound_before_anything_is_built(shell: Shell) -> None:
    engine = FakeEngine()
    heard = shell.bench_short(*STOP, engine=engine)
    assert complaint(heard, 7) == "the machine is unsound: this machine has no GPU"
    assert "ARMS=cpu" in heard.err
    assert (engine.jobs, engine.provided) == ([], [])
    assert [path for path in shell.results.iterdir() if path.is_dir()] == []
