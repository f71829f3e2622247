"""GPU=all from its options to the survey's report, with scripted engines in the engine's place."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.documents.read import load_campaign, load_document, load_plan, load_survey
from suite.cli.commands import surveys
from suite.cli.terminal import Terminal
from suite.host.campaign.store import Store
from suite.host.engine import LABEL, Card, GpuRequest, Job
from tests.cli.shell import Shell, complaint, well
from tests.fakes.engine import FakeEngine, Life, Worker, record

TWO = (Card(index=0, name="Made-Up GPU"), Card(index=1, name="Made-Up GPU"))
WORDS = (
    *("--gpu", "all", "--profile", "smoke", "--blocks", "2", "--seed", "3", "--label", "box"),
    *("--only", "overhead.fence overhead.eager_op"),
)
PINNED = "vendor/tf:1@sha256:" + "d" * 64
WORKER = Worker()

Live = Callable[["Gpus", Job], Life]


def name(job: Job) -> str:
    """What a job is of: ``gpu0-at-once cuda-1``."""
    campaign = job.labels[f"{LABEL}.campaign"].partition("-box-")[2].rpartition("-")[0]
    return f"{campaign} {job.labels[f'{LABEL}.invocation']}"


class Gpus(FakeEngine):
    """An engine whose machine has two GPUs unless told otherwise, and its further connections."""

    def __init__(self, live: Live = lambda _, job: WORKER(job), **fields: Any) -> None:
        self.live = live
        self.connected: list[Gpus] = []
        given = {"gpu": GpuRequest(driver="cdi", devices=("0",)), "cards": TWO, **fields}
        super().__init__(otherwise=lambda job: live(self, job), **given)

    def find_gpu(self, wanted: str) -> GpuRequest:
        return replace(super().find_gpu(wanted), devices=(wanted,))

    def connect(self) -> Gpus:
        self.connected.append(Gpus(self.live))
        return self.connected[-1]

    @property
    def done(self) -> dict[str, Job]:
        """The jobs of all campaigns by their names."""
        return {name(job): job for one in self.connected for job in one.jobs}


@pytest.fixture
def shell(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    def connect(given: dict[str, Any]) -> Gpus:
        shell.opened.append(given)
        assert isinstance(shell.engine, Gpus)
        return shell.engine.connect()

    monkeypatch.setattr(surveys, "connect", connect)
    return shell


def bench(shell: Shell, engine: Gpus, *words: str) -> tuple[dict[str, Path], str]:
    """The folders by what stands between label and profile in their names, and what was said."""
    heard = well(shell.bench(*WORDS, *words, engine=engine))
    return folders(shell), heard.err


def folders(shell: Shell) -> dict[str, Path]:
    found = [path for path in shell.results.iterdir() if path.is_dir()]
    return {path.name.partition("-box-")[2].rpartition("-")[0]: path for path in found}


def resume(shell: Shell, folder: Path, *words: str) -> tuple[set[str], str]:
    """Goes on; what was run, and what was said."""
    shell.engine = engine = Gpus()
    heard = well(shell.run("bench", "--resume", str(folder), *words))
    return set(engine.done), heard.err


def test_a_survey_from_its_options_to_its_report_and_to_more_rounds(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Gpus(custom=PINNED)
    found, _ = bench(shell, engine, "--cuda-image", "vendor/tf:1")
    survey = found.pop("all-gpus")
    assert set(found) == {"gpu0", "gpu1", "gpu0-at-once", "gpu1-at-once"}
    assert all((folder / "report.html").exists() for folder in found.values())
    files = {"survey.json", "survey.md", "survey.html", "summary.json", "logs"}
    files.add("manifest.sha256")
    assert {path.name for path in survey.iterdir()} == files
    assert engine.gpus_asked == ["0", "1"]
    # All name the CUDA image by its digest.
    plan = load_survey(survey)
    assert plan.settings == {"gpu": "all", "cuda_image": PINNED}
    assert "GPU=all" in plan.command
    assert f"CUDA_IMAGE={PINNED}" in plan.command
    for folder, path in found.items():
        assert load_plan(path).settings == {"gpu": folder[3], "cuda_image": PINNED}
    assert shell.opened[-1]["cuda_image"] == PINNED
    # The report is made anew from the documents alone.
    before = (survey / "survey.md").read_bytes()
    (survey / "survey.md").unlink()
    heard = well(shell.run("report", str(survey)))
    assert heard.out.splitlines()[-1] == str(survey)
    assert (survey / "survey.md").read_bytes() == before
    assert json.loads((survey / "summary.json").read_text())["survey"]["gpus"] == ["0", "1"]
    # A part does not go on alone; all do.
    said = shell.run("bench", "--resume", str(found["gpu1"]))
    assert "is part of a survey" in complaint(said, 2)
    assert survey.name in said.err
    monkeypatch.chdir(survey)
    words = ("--blocks", "3", "--cuda-image", PINNED)
    said = complaint(shell.run("bench", "--resume", ".", *words[:2]), 5)
    assert said.startswith("survey.json: $.settings.cuda_image: ")
    assert "round 3 of 3 done" in resume(shell, Path(), *words)[1]
    assert load_survey(survey).rounds == 3
    assert load_plan(found["gpu1-at-once"]).blocks == 3


def test_a_campaign_of_a_survey_that_is_a_link_is_not_followed(
    shell: Shell, tmp_path: Path
) -> None:
    found, _ = bench(shell, Gpus())
    outside = tmp_path / "outside"
    found["gpu1"].rename(outside)
    found["gpu1"].symlink_to(outside)
    before = {path: path.stat().st_mtime_ns for path in outside.rglob("*")}
    survey = str(found["all-gpus"])
    for words in (("report", survey), ("bench", "--resume", survey, "--blocks", "3")):
        shell.engine = Gpus()
        assert "it is a link" in complaint(shell.run(*words), 5)
        assert shell.engine.jobs == shell.engine.connected == []
    assert {path: path.stat().st_mtime_ns for path in outside.rglob("*")} == before


def test_it_goes_round_by_round_and_says_what_it_takes(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, shown = [], set()
    monkeypatch.setattr(Terminal, "show", lambda _, progress: shown.add(progress.arm))

    def note(_: Gpus, job: Job) -> Life:
        order.append(name(job))
        return WORKER(job)

    engine = Gpus(note)
    found, said = bench(shell, engine, "--price", "30")
    # Calibrations first, none at once; the processor is measured beside the first GPU only.
    assert set(order[:3]) == {"gpu0 cpu-0", "gpu0 cuda-0", "gpu1 cuda-0"}
    turns = ["gpu0 cpu", "gpu0 cuda", "gpu0-at-once cuda", "gpu1 cuda", "gpu1-at-once cuda"]
    for number, jobs in ((1, order[3:8]), (2, order[8:])):
        assert sorted(jobs) == [f"{turn}-{number}" for turn in turns]
    for gpu in ("0", "1"):
        # At once a GPU has its calls from itself alone, and its share of the machine.
        alone, busy = (load_plan(found[f"gpu{gpu}{how}"]) for how in ("", "-at-once"))
        assert busy.calls == {"cuda": alone.calls["cuda"]}
        one, other = (engine.done[f"gpu{gpu}{how} cuda-2"] for how in ("", "-at-once"))
        assert (one.cpus, other.cpus) == ((0, 1), (int(gpu),))
        assert one.gpu == other.gpu == GpuRequest(driver="cdi", devices=(gpu,))
        assert other.memory_bytes == (one.memory_bytes or 0) // 2
    plans = {folder: load_plan(path) for folder, path in found.items() if folder != "all-gpus"}
    before = {folder: one.prediction.before_s for folder, one in plans.items()}
    total_s = before["gpu0"] + before["gpu1"] + max(before["gpu0-at-once"], before["gpu1-at-once"])
    assert "a survey of 2 GPUs in 2 rounds: about " in said
    assert f", USD {30 * total_s / 3600:.2f} in all" in said
    assert "round 1 of 2 done; about " in said
    assert "GPU 1 alone: calibrated" in said
    # One line of progress for all that are at work at once.
    alone_shown = {"GPU 0 alone cpu", "GPU 0 alone cuda", "GPU 1 alone cuda"}
    assert shown == alone_shown | {"GPU 0 at once cuda"}


def test_a_budget_stops_before_the_round_that_would_cross_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first instant is the survey's beginning; then each round's beginning and end.
    instants = iter([0.0, 10.0, 70.0, 70.0, 130.0, 130.0])
    monkeypatch.setattr("suite.host.survey.rounds.monotonic", lambda: next(instants))
    found, said = bench(shell, Gpus(), "--blocks", "5", "--budget", "150s")
    stopped = load_survey(found["all-gpus"]).stopped or ""
    assert stopped.startswith("after round 2")
    assert f"stopped {stopped}" in said
    assert f"**Stopped** {stopped}" in (found["all-gpus"] / "survey.md").read_text()


def test_one_gpu_needs_no_survey(shell: Shell) -> None:
    heard = well(shell.bench(*WORDS, engine=Gpus(cards=TWO[:1])))
    assert "GPU=all is an ordinary campaign" in heard.err
    campaign = load_plan(shell.folder())
    assert (campaign.survey, campaign.settings["gpu"]) == (None, "0")
    assert "GPU=0" in campaign.command
    resume(shell, shell.folder(), "--blocks", "3")


@pytest.mark.parametrize(
    ("words", "engine", "status", "named"),
    [
        (("bench", *WORDS, "--arms", "cpu"), {}, 2, "no requested arm has a GPU"),
        (("bench", *WORDS, "--arms", "cpu"), {"gpu": None}, 2, "no requested arm has a GPU"),
        (("bench", *WORDS, "--cpus", "0"), {}, 2, "1 CPU cores"),
        (("bench", *WORDS), {"binds": False}, 3, "can't bind"),
        (("bench", *WORDS), {"gpu": None, "cards": ()}, 4, "no GPU"),
        (("bench", *WORDS), {"cards": ()}, 4, "nothing here lists"),
        (("bench", *WORDS, "--arms", "cuda cuda"), {}, 2, "no arm against itself"),
        (("doctor", "--gpu", "all", "--arms", "cpu"), {}, 2, "no requested arm has a GPU"),
    ],
)
def test_what_can_not_be_is_refused_before_any_job(
    words: tuple[str, ...], engine: dict[str, Any], status: int, named: str, shell: Shell
) -> None:
    shell.engine = asked = Gpus(**engine)
    more = () if words[0] == "doctor" else ("--results", str(shell.results))
    assert named in complaint(shell.run(*words, *more), status)
    assert asked.jobs == asked.connected == []
    assert not list(shell.results.glob("*/logs"))


@pytest.mark.parametrize(
    ("interrupted", "status", "told"), [(False, 4, "the GPU is gone"), (True, 130, "interrupted")]
)
def test_what_ends_one_at_once_ends_all_and_the_survey_goes_on_later(
    interrupted: bool, status: int, told: str, shell: Shell
) -> None:
    both = threading.Barrier(2, timeout=20)

    def end(engine: Gpus, job: Job) -> Life:
        """In the second block at once GPU 0 is lost, or Ctrl-C comes; who is left measures on."""
        if not name(job).endswith("at-once cuda-2"):
            return WORKER(job)
        both.wait()
        first = name(job).startswith("gpu0")
        if first and not interrupted:
            return Life(words=[record("refused", reason="the GPU is gone")], code=4)

        def words() -> Any:
            yield from WORKER.greeting(gpu=True)
            if interrupted and both.wait() == 0:
                os.kill(os.getpid(), signal.SIGINT)
            # A stop is only seen between words.
            while not engine.runs[-1]._stopped:
                threading.Event().wait(0.01)
            yield record("bye")

        return Life(words=words())

    engine = Gpus(end)
    heard = shell.bench(*WORDS, engine=engine)
    assert (heard.status, told in heard.err) == (status, True), heard.err
    assert all(one.closed() for one in engine.connected)
    found = folders(shell)
    survey = found.pop("all-gpus")
    assert (survey / "survey.md").exists()
    assert all((folder / "report.md").exists() for folder in found.values())
    ended = [one.invocation.status for one in load_campaign(found["gpu1-at-once"]).documents]
    assert ended == ["complete", "interrupted"]
    # As if a command with BLOCKS=3 had been stopped after the first plans were written, too.
    Store(survey).write_plan(replace(load_survey(survey), rounds=3))
    Store(found["gpu0"]).write_plan(replace(load_plan(found["gpu0"]), blocks=3))
    resume(shell, survey)
    for folder in (survey, *found.values()):
        well(shell.run("check", str(folder)))
    for folder in found.values():
        documents = load_campaign(folder).documents
        assert {one.invocation.status for one in documents} == {"complete"}
        blocks = {d.invocation.block for d in documents if d.invocation.arm == "cuda"}
        assert blocks - {0} == {1, 2, 3}
    # A block that one GPU lacks is run again by all: without the others it would have no neighbours.
    (found["gpu1-at-once"] / "cuda-02.json").unlink()
    assert resume(shell, survey)[0] == {"gpu0-at-once cuda-2", "gpu1-at-once cuda-2"}


def test_what_an_earlier_run_left_of_a_block_at_once_does_not_pass_for_the_new_one(
    shell: Shell,
) -> None:
    found, _ = bench(shell, Gpus())
    at_once = [found[f"gpu{gpu}-at-once"] / "cuda-02.json" for gpu in (0, 1)]
    at_once[1].unlink()

    def end(_: Gpus, job: Job) -> Life:
        """GPU 0 is lost before its first cell, once GPU 1 is done."""
        if not name(job).startswith("gpu0"):
            return WORKER(job)

        def words() -> Any:
            yield from WORKER.greeting(gpu=True)
            while not (
                at_once[1].exists() and load_document(at_once[1]).invocation.status == "complete"
            ):
                threading.Event().wait(0.01)
            yield record("refused", reason="the GPU is gone")

        return Life(words=words(), code=4)

    shell.engine = Gpus(end)
    complaint(shell.run("bench", "--resume", str(found["all-gpus"])), 4)
    assert [load_document(one).invocation.status == "complete" for one in at_once] == [False, True]
    assert resume(shell, found["all-gpus"])[0] == {"gpu0-at-once cuda-2", "gpu1-at-once cuda-2"}
