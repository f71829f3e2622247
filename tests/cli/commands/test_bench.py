"""`bench` as people call it: what a campaign leaves, and what is refused before any job."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from suite.analysis.documents.read import load_campaign
from suite.errors import EngineError, GpuError, NoGpuError
from suite.host.campaign.store import only_campaign
from suite.host.engine import GpuRequest, Job
from suite.host.machine import lock as locks
from suite.host.machine.lock import MACHINE, Lock, find_place, name_self
from suite.model import SuiteIdentity
from tests.cli.shell import Shell, complaint, well
from tests.fakes.engine import FakeEngine, Life, Worker, asked_cells

FENCE = "overhead.fence"


@pytest.mark.usefixtures("drawing")
def test_a_smoke_campaign_leaves_a_folder_whose_report_loads(
    shell: Shell, suite_identity: SuiteIdentity
) -> None:
    engine = FakeEngine()
    words = ("--seed", "5", "--label", "here", "--only", "matmul.* overhead.fence")
    heard = well(shell.bench(*words, engine=engine))
    folder = shell.folder()
    assert folder.name.endswith("-here-smoke")
    documents = {"campaign.json", "cpu-01.json"}
    reports = {
        "summary.json",
        "brief.md",
        "report.md",
        "report.html",
        "cells.csv",
        "manifest.sha256",
    }
    reports |= {"logs", "plots", "sbom"}
    assert {path.name for path in folder.iterdir()} == documents | reports
    plots = sorted(path.name for path in (folder / "plots").iterdir())
    assert {"matmul.svg", "matmul.png"} <= set(plots)
    *_, told, where = heard.out.splitlines()
    assert where == str(folder)
    files = "summary.json, brief.md, report.md, cells.csv, report.html"
    assert told == f"{files} and the pictures in plots are in"
    assert len(heard.out.splitlines()) <= 24
    loaded = load_campaign(folder)
    assert {cell.outcome for d in loaded.documents for cell in d.cells} == {"measured"}
    assert {one.suite for one in (loaded.campaign, *loaded.documents)} == {suite_identity}
    assert loaded.campaign.price is None
    assert (engine.provided, engine.closed()) == (["cpu"], True)
    assert "Crossover" in heard.out
    # Progress goes to standard error alone.
    assert "the arm cuda is left out: this machine has no GPU" in heard.err
    assert "the image cpu is here already" in heard.err
    assert "block 1 of 1 done" in heard.err
    assert "block 1 of 1 done" not in heard.out
    assert "\x1b[" not in heard.err
    assert "USD" not in heard.err


def test_the_plan_repeats_the_command_and_knows_the_price(shell: Shell) -> None:
    quoted = "registry/it's image"
    words = ("--only", "overhead.f* *n=10/*", "--seed", "5", "--cpus", "0")
    words += ("--base-image", quoted, "--price", "0.53 EUR")
    # The price is told before the run.
    assert ", EUR 0." in well(shell.bench(*words)).err
    plan = shell.plan()
    told = shlex.split(plan.command)
    assert told[:2] == ["make", "bench"]
    assert set(told[2:]) == {
        *("PROFILE=smoke", "CPUS=0", "ONLY=overhead.f* *n=10/*", "SEED=5"),
        *(f"BASE_IMAGE={quoted}", "PRICE=0.53 EUR"),
    }
    assert str(shell.results) not in plan.command
    assert (plan.price, plan.price_currency) == (0.53, "EUR")


def test_options_reach_the_worker_and_the_engine(shell: Shell) -> None:
    engine = FakeEngine(gpu=GpuRequest(driver="cdi", devices=("GPU-1",)))
    words = ("--profile", "verdict", "--blocks", "2", "--arms", "cuda,cpu", "--gpu", "GPU-1")
    words += ("--cpus", "1", "--telemetry", "off")
    well(shell.bench(*words, "--only", "*.function_call *.eager_op", engine=engine))
    assert engine.gpus_asked == ["GPU-1"]
    assert engine.provided == ["cuda", "cpu"]
    assert len(engine.jobs) == 4
    assert {job.cpus for job in engine.jobs} == {(1,)}
    assert {len(asked_cells(job)) for job in engine.jobs} == {2}
    plan = shell.plan()
    assert (plan.arms, plan.blocks, plan.profile) == (["cuda", "cpu"], 2, "verdict")
    assert (plan.settings["telemetry"], shell.watched) == ("off", ["off"])
    assert "TELEMETRY=off" in plan.command
    # The GPU's UUID is in no file.
    files = [path for path in shell.folder().rglob("*") if path.is_file()]
    assert not [path for path in files if "GPU-1" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("gpu", [None, GpuRequest(driver="cdi", devices=("0",))])
def test_a_list_of_versions_is_measured_on_the_gpu_where_there_is_one(
    gpu: GpuRequest | None, shell: Shell
) -> None:
    there = gpu or NoGpuError("no GPU", "")
    well(shell.bench_short("--versions", "2.20 2.21", engine=FakeEngine(gpu=there)))
    plan = shell.plan()
    family = "cuda" if gpu else "cpu"
    assert (plan.arms, plan.not_run) == ([f"{family}@2.20", family], {})
    assert "VERSIONS='2.20 2.21'" in plan.command
    title = (shell.folder() / "report.md").read_text().splitlines()[0]
    assert f"{family}\\@2.20 → {family}" in title


@pytest.mark.parametrize("others", ["", FENCE])
def test_cells_are_kept_going_before_the_first_block_beside_others_and_alone(
    others: str, shell: Shell
) -> None:
    heard = well(shell.bench("--sustain", "20s", "--only", f"sustain.* {others}".strip()))
    folder = shell.folder()
    blocks = [document.invocation.block for document in load_campaign(folder).documents]
    assert blocks == [0, 1]
    assert "and before that 2 cells kept going for 20 s each" in heard.err
    assert "What is left when hot" in (folder / "report.md").read_text()
    assert "calibration" not in heard.out + heard.err + (folder / "report.md").read_text()
    assert_honest(shell)


@pytest.mark.parametrize(("words", "blocks"), [((), 3), (("--blocks", "5"), 5)])
def test_the_limit_of_a_profile_is_not_that_of_who_names_blocks(
    words: tuple[str, ...], blocks: int, shell: Shell
) -> None:
    engine = FakeEngine(otherwise=Worker(seconds=100.0))
    well(shell.bench("--profile", "verdict", "--only", "*.eager_op", *words, engine=engine))
    assert len(engine.jobs) == blocks


def test_a_failed_cell_is_status_1_and_a_skipped_one_is_not(shell: Shell) -> None:
    skips = {"overhead.function_call": {"outcome": "skipped", "reason": "would take 9 s"}}
    worker = Worker(outcomes=skips)
    words = ("--only", "overhead.function_call", "--label", "skips")
    well(shell.bench(*words, engine=FakeEngine(otherwise=worker)))
    assert "would take 9 s" in (shell.folder() / "report.md").read_text()
    shutil.rmtree(shell.results)
    engine = FakeEngine(worker, worker.dies_in(FENCE, out_of_memory=True), otherwise=worker)
    heard = shell.bench_short("--blocks", "2", engine=engine)
    assert heard.status == 1
    assert "out of memory" in (shell.folder() / "report.md").read_text()
    assert heard.out.splitlines()[-1] == str(shell.folder())
    assert shell.run("report", str(shell.folder())).status == 1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--only", "zzz.*"), "ONLY='zzz.*'"),
        (("--cpus", "many"), "'many' is not a list of CPUs"),
        (("--cpus", "0,4096"), "CPU 4096 is not available"),
        (("--budget", "soon"), "'soon' is not a duration"),
        (("--label", "a/b"), "LABEL='a/b'"),
        (("--gpu", "0:"), "GPU='0:'"),
        (("--price", "EUR"), "PRICE='EUR' is not a price"),
        (("--versions", "2.7 2.21"), "no arm cpu@2.7"),
        (("--versions", "2.20 2.21", "--arms", "cpu"), "ARMS and VERSIONS"),
    ],
)
def test_unknown_values_are_usage_errors_before_any_job(
    words: tuple[str, ...], named: str, shell: Shell
) -> None:
    engine = FakeEngine()
    assert named in complaint(shell.bench(*words, engine=engine), 2)
    assert engine.jobs == []


@pytest.mark.parametrize("command", ["bench", "doctor"])
@pytest.mark.parametrize("arms", ["cpu tpu", ","])
def test_arms_that_make_no_sense_are_told_before_the_engine_is_looked_for(
    arms: str, command: str, shell: Shell
) -> None:
    assert f"ARMS={arms.replace(',', '')!r}" in complaint(shell.run(command, "--arms", arms), 2)
    assert shell.opened == []


@pytest.mark.parametrize("where", ["open", "provide", "start"])
def test_an_engine_that_refuses_is_status_3(where: str, shell: Shell) -> None:
    refusal = EngineError("the engine refused: no space left", "free some space")
    engine: Any = {
        "open": refusal,
        "provide": FakeEngine(image_trouble=refusal),
        "start": FakeEngine(refusal),
    }[where]
    heard = shell.bench_short(engine=engine)
    assert complaint(heard, 3) == "the engine refused: no space left"
    assert "what to do: free some space" in heard.err


@pytest.mark.parametrize(
    "gpu",
    [NoGpuError("no GPU here", "ARMS=cpu"), GpuError("the GPU is refused", "install the toolkit")],
)
def test_a_gpu_that_was_named_and_is_not_to_be_had_is_status_4(gpu: Any, shell: Shell) -> None:
    engine = FakeEngine(gpu=gpu)
    assert complaint(shell.bench("--arms", "cpu cuda", engine=engine), 4) == gpu.what
    assert (engine.jobs, engine.provided) == ([], [])
    assert [path for path in shell.results.iterdir() if path.is_dir()] == []


def test_results_that_are_taken_or_can_not_be_written_are_refused(shell: Shell) -> None:
    engine = FakeEngine()
    with only_campaign(shell.results):
        assert "another campaign is running" in complaint(shell.bench(engine=engine), 6)
    shell.results = shell.results / "file"
    shell.results.write_text("a file")
    assert "can't write" in complaint(shell.bench(engine=engine), 2)
    assert engine.jobs == []


def test_a_machine_or_an_engine_that_is_taken_is_refused_wherever_the_results_go(
    shell: Shell,
) -> None:
    engine = FakeEngine()
    with closing(Lock(find_place(), MACHINE, make=True)) as lock:
        assert lock.take() is None
        said = complaint(shell.bench(engine=engine), 6)
        assert f"another campaign is running on this machine: of {name_self()}, since " in said
        assert engine.claims == []
        # What is measured elsewhere is not disturbed by what runs here.
        elsewhere = FakeEngine(here=False)
        elsewhere.taken_by = "of ann"
        said = complaint(shell.bench(engine=elsewhere), 6)
        assert said == "another campaign is running on this engine: of ann"
        elsewhere.taken_by = None
        assert shell.bench_short(engine=elsewhere).status == 0
        assert elsewhere.claims[-2:] == ["claim", "release"]
    assert engine.jobs == []
    assert shell.bench_short("--label", "after", engine=engine).status == 0


def test_who_waits_runs_when_the_other_has_ended(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = Lock(find_place(), MACHINE, make=True)
    assert lock.take() is None
    # It is said once it has been waited for a while.
    end = {True: lock.close, False: lambda: None}
    monkeypatch.setattr(locks.time, "sleep", lambda seconds: end[seconds > locks._ASKED_S]())
    heard = well(shell.bench_short("--wait", "1m"))
    assert "waiting up to 1 min for another campaign on this machine: of " in heard.err
    assert "WAIT" not in shell.plan().command


def assert_honest(shell: Shell) -> None:
    """Whether its folder follows from its documents, as somebody else finds it."""
    well(shell.run("check", str(shell.folder())))


def by_ctrl_c() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "interrupt",
    [by_ctrl_c, lambda: os.kill(os.getpid(), signal.SIGTERM)],
    ids=["ctrl-c", "SIGTERM"],
)
def test_an_interrupted_campaign_is_status_130_and_keeps_what_was_measured_and_goes_on(
    interrupt: Callable[[], None], shell: Shell
) -> None:
    worker = Worker()

    def life(job: Job) -> Life:
        def words() -> Iterator[str]:
            lines = worker.words(job)
            yield from lines[:6]
            interrupt()
            yield from lines[6:]

        return Life(words=words())

    engine = FakeEngine(worker, life)
    heard = shell.bench_short("--seed", "5", "--blocks", "2", engine=engine)
    assert heard.status == 130
    assert "crossover: interrupted" in heard.err
    assert f"what was measured is in {shell.folder()}" in heard.err
    assert engine.log[-1] == ("abandon", "fake-2")
    loaded = load_campaign(shell.folder())
    assert [d.invocation.status for d in loaded.documents] == ["complete", "interrupted"]
    assert [cell.outcome for cell in loaded.documents[1].cells] == ["measured", "pending"]
    assert (shell.folder() / "report.md").exists()
    assert_honest(shell)

    again = FakeEngine()
    heard = well(shell.resume(engine=again))
    assert len(again.jobs) == 1
    loaded = load_campaign(shell.folder())
    assert {d.invocation.status for d in loaded.documents} == {"complete"}
    assert loaded.campaign.seed == 5
    assert heard.out.splitlines()[-1] == str(shell.folder())
    assert_honest(shell)


FEED = "tfdata.feed*"


def see_cpus(job: Job) -> Life:
    """A well-behaved worker, which sees the CPUs that it is given."""
    worker = Worker()
    hello, start, _, *rest = worker.words(job)
    return Life(words=[hello, start, worker.tell(**{"cpu.usable": len(job.cpus)}), *rest])


class Unbinding(FakeEngine):
    """An engine that would drop a set of CPUs in silence, as a rootless one without cpusets."""

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "binds.cpus": False}


@pytest.mark.parametrize(
    ("words", "given"), [((), {1: (0,), 2: (0, 1)}), (("--cpus", "1"), {1: (1,)})]
)
def test_a_campaign_has_the_cells_that_its_cpus_are_enough_for(
    words: tuple[str, ...], given: dict[int, tuple[int, ...]], shell: Shell
) -> None:
    engine = FakeEngine(otherwise=see_cpus)
    heard = well(shell.bench("--only", FEED, *words, engine=engine))
    assert {cell.cpus for cell in shell.plan().cells} == set(given)
    assert {len(job.cpus): job.cpus for job in engine.jobs} == given
    assert "CPUs that feed a step: cpu: undecided" in heard.out


def test_an_engine_that_can_not_bind_has_none_of_them(shell: Shell) -> None:
    heard = shell.bench("--only", FEED, engine=Unbinding())
    assert "matches no cell of the profile smoke" in complaint(heard, 2)
    assert "tfdata.feed" not in shell.run("list", "--profile", "smoke").out
    listed = well(shell.run("list", "--profile", "smoke", "--only", FEED)).out
    assert "full, or ONLY='tfdata.feed*'" in listed
