"""The commands as people call them, with a scripted engine in the engine's place."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.documents.read import load_campaign
from suite.cli import conduct, engines, entry
from suite.cli import terminal as terminals
from suite.cli.commands import generate
from suite.cli.entry import commands, main
from suite.content import SUITE
from suite.errors import EngineError, GpuError, NoGpuError, UsageError
from suite.host.campaign.arms import ARMS
from suite.host.campaign.listener import Progress
from suite.host.campaign.store import only_campaign
from suite.host.doctor.examine import CHECKS
from suite.host.engine import GpuRequest, Job
from suite.model import HIDDEN, SuiteIdentity
from suite.report import produce as collating
from suite.worker import scenarios
from tests import synthetic
from tests.fakes.doctor_machine import FakeExamined
from tests.fakes.engine import FakeEngine, Life, Worker, asked_cells, asked_option
from tests.shell import Heard, Shell, complaint

pytestmark = pytest.mark.usefixtures("own_signals", "suite_identity")

FENCE = "overhead.fence"
SMOKE = [cell.id for cell in scenarios.cells() if "smoke" in cell.profiles and not cell.arms]


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    return Shell(tmp_path / "results", capsys, monkeypatch)


@pytest.fixture(autouse=True)
def _undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take a second a command; as if matplotlib were missing, but for ``drawing``."""
    if "drawing" not in request.fixturenames:
        monkeypatch.setattr(collating, "can_draw", lambda: False)


@pytest.fixture
def drawing() -> None:
    """This test draws its pictures."""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A finished campaign's folder."""
    made = synthetic.make_campaign(blocks=3)
    return synthetic.write_campaign(tmp_path / "made-up", made, synthetic.make_documents(made))


@pytest.mark.usefixtures("drawing")
def test_a_smoke_campaign_leaves_a_folder_whose_report_loads(shell: Shell) -> None:
    engine = FakeEngine()
    heard = shell.bench("--profile", "smoke", "--seed", "5", "--label", "here", engine=engine)
    assert heard.status == 0, heard.err
    folder = shell.folder()
    assert heard.out.splitlines()[-1] == str(folder)
    assert folder.name.endswith("-here-smoke")
    assert {path.name for path in folder.iterdir()} == {
        "campaign.json",
        "cpu-00.json",
        "cpu-01.json",
        "summary.json",
        "report.md",
        "report.html",
        "cells.csv",
        "logs",
        "plots",
    }
    plots = sorted(path.name for path in (folder / "plots").iterdir())
    assert {"matmul.svg", "matmul.png"} <= set(plots)
    told = heard.out.splitlines()[-2]
    assert told.startswith("summary.json, report.md, cells.csv, report.html, plots/matmul.svg")
    assert told.endswith(" are in")
    assert all(f"plots/{name}" in told for name in plots)
    loaded = load_campaign(folder)
    assert [cell.id for cell in loaded.campaign.cells] == SMOKE
    assert {cell.outcome for d in loaded.documents for cell in d.cells} == {"measured"}
    assert engine.provided == ["cpu"]
    assert engine.closed()
    assert "the arm cuda is left out: this machine has no GPU" in heard.err
    assert "the image cpu is here already" in heard.err
    assert "Crossover" in heard.out


def test_progress_goes_to_standard_error_alone(shell: Shell) -> None:
    heard = shell.bench("--profile", "smoke")
    assert "block 1 of 1 done" in heard.err
    assert "block 1 of 1 done" not in heard.out
    assert "\x1b[" not in heard.err


def test_the_plan_repeats_the_command(shell: Shell) -> None:
    shell.bench("--profile", "smoke", "--only", "overhead.* *n=10/*", "--seed", "5", "--cpus", "0")
    command = load_campaign(shell.folder()).campaign.command
    words = shlex.split(command)
    assert words[:2] == ["make", "bench"]
    assert set(words[2:]) == {"PROFILE=smoke", "CPUS=0", "ONLY=overhead.* *n=10/*", "SEED=5"}
    assert str(shell.results) not in command


def test_a_price_is_told_before_the_run_and_kept_in_the_plan(shell: Shell) -> None:
    heard = shell.bench("--profile", "smoke", "--price", "0.53", "--price-currency", "EUR")
    assert heard.status == 0, heard.err
    assert ", EUR 0." in heard.err
    plan = load_campaign(shell.folder()).campaign
    assert (plan.price, plan.price_currency) == (0.53, "EUR")
    assert {"PRICE=0.53", "PRICE_CURRENCY=EUR"} <= set(shlex.split(plan.command))


def test_without_a_price_nothing_is_said_to_cost(shell: Shell) -> None:
    heard = shell.bench("--profile", "smoke")
    assert "USD" not in heard.err
    assert load_campaign(shell.folder()).campaign.price is None


def test_a_plan_repeats_a_command_with_quotes_in_it(shell: Shell) -> None:
    ref = "registry/it's image"
    shell.bench("--profile", "smoke", "--base-image", ref, "--seed", "5")
    words = shlex.split(load_campaign(shell.folder()).campaign.command)
    assert f"BASE_IMAGE={ref}" in words


def test_options_reach_the_worker_and_the_engine(shell: Shell) -> None:
    engine = FakeEngine(gpu=GpuRequest(driver="cdi", devices=("GPU-1",)))
    words = ("--profile", "quick", "--blocks", "2", "--arms", "cuda,cpu", "--gpu", "GPU-1")
    heard = shell.bench(
        *words, "--cpus", "1", "--only", "*.function_call", "*.eager_op", engine=engine
    )
    assert heard.status == 2
    heard = shell.bench(
        *words, "--cpus", "1", "--only", "*.function_call *.eager_op", engine=engine
    )
    assert heard.status == 0, heard.err
    assert engine.gpus_asked == ["GPU-1"]
    assert engine.provided == ["cuda", "cpu"]
    assert len(engine.jobs) == 6
    assert {job.cpus for job in engine.jobs} == {(1,)}
    assert {len(asked_cells(job)) for job in engine.jobs} == {2}
    plan = load_campaign(shell.folder()).campaign
    assert (plan.arms, plan.blocks, plan.profile) == (["cuda", "cpu"], 2, "quick")


def test_a_failed_cell_is_status_1_and_the_report_is_written_all_the_same(shell: Shell) -> None:
    worker = Worker()
    engine = FakeEngine(worker, worker.dies_in(FENCE, out_of_memory=True), otherwise=worker)
    heard = shell.bench("--profile", "smoke", engine=engine)
    assert heard.status == 1
    report = (shell.folder() / "report.md").read_text()
    assert "out of memory" in report
    assert heard.out.splitlines()[-1] == str(shell.folder())
    assert shell.run("report", str(shell.folder())).status == 1


def test_a_cell_skipped_for_cause_is_no_failure(shell: Shell) -> None:
    worker = Worker(outcomes={FENCE: {"outcome": "skipped", "reason": "would take 9 s"}})
    heard = shell.bench("--profile", "smoke", engine=FakeEngine(otherwise=worker))
    assert heard.status == 0, heard.out
    assert "would take 9 s" in (shell.folder() / "report.md").read_text()


def test_a_worker_killed_in_the_calibration_is_forgiven(shell: Shell) -> None:
    worker = Worker()
    engine = FakeEngine(worker.dies_in(FENCE), otherwise=worker)
    assert shell.bench("--profile", "smoke", engine=engine).status == 0
    assert len(engine.jobs) == 3


@pytest.mark.parametrize(
    "words",
    [
        ("bench", "--speed", "9"),
        ("bench", "--profile", "huge"),
        ("bench", "--blocks", "0"),
        ("bench", "--blocks", "two"),
        ("bench", "--engine", "podman"),
        ("bench", "--seed", "-1"),
        ("bench", "stray"),
        ("list", "--profile", "huge"),
        ("report",),
        ("benhc",),
        ("images", "--gpu", "0"),
        ("bench", "--price", "0"),
        ("bench", "--price", "free"),
    ],
    ids=" ".join,
)
def test_unknown_words_are_usage_errors_that_point_to_help(
    words: tuple[str, ...], shell: Shell
) -> None:
    heard = shell.run(*words)
    assert heard.status == 2
    assert "Error: " in heard.err
    assert "--help" in heard.err
    assert shell.opened == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--arms", "cpu tpu"), "ARMS='cpu tpu'"),
        (("--arms", "cpu cpu"), "ARMS='cpu cpu'"),
        (("--only", "zzz.*"), "ONLY='zzz.*'"),
        (("--cpus", "many"), "'many' is not a list of CPUs"),
        (("--budget", "soon"), "'soon' is not a duration"),
        (("--label", "a/b"), "LABEL='a/b'"),
        (("--gpu", "0,1"), "GPU='0,1'"),
        (("--gpu", "0:"), "GPU='0:'"),
        (("--gpu", "first"), "GPU='first'"),
        (("--price", "nan"), "PRICE=nan"),
        (("--price", "inf"), "PRICE=inf"),
        (("--price-currency", "EUR"), "PRICE_CURRENCY='EUR'"),
        (("--price", "1", "--price-currency", "euro"), "PRICE_CURRENCY='euro'"),
    ],
)
def test_unknown_values_are_usage_errors_before_any_job(
    words: tuple[str, ...], named: str, shell: Shell
) -> None:
    engine = FakeEngine()
    assert named in complaint(shell.bench(*words, engine=engine), 2)
    assert (engine.jobs, engine.provided) == ([], [])
    assert not shell.results.exists() or not any(p.is_dir() for p in shell.results.iterdir())


@pytest.mark.parametrize("arms", ["tpu", "cpu cpu", ","])
def test_arms_that_make_no_sense_are_told_before_the_engine_is_looked_for(
    arms: str, shell: Shell
) -> None:
    complaint(shell.bench("--arms", arms), 2)
    complaint(shell.run("doctor", "--arms", arms), 2)
    assert shell.opened == []


@pytest.mark.parametrize("where", ["open", "provide", "start"])
def test_an_engine_that_refuses_is_status_3(where: str, shell: Shell) -> None:
    refusal = EngineError("the engine refused: no space left", "free some space")
    engine: Any = {
        "open": refusal,
        "provide": FakeEngine(image_trouble=refusal),
        "start": FakeEngine(refusal),
    }[where]
    heard = shell.bench("--profile", "smoke", engine=engine)
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


def test_a_second_campaign_in_the_same_folder_is_status_6(shell: Shell) -> None:
    engine = FakeEngine()
    with only_campaign(shell.results):
        assert "another campaign is running" in complaint(shell.bench(engine=engine), 6)
    assert engine.jobs == []


def test_results_that_can_not_be_written_are_a_usage_error(shell: Shell) -> None:
    shell.results.write_text("a file")
    assert "can't write" in complaint(shell.bench("--profile", "smoke"), 2)


def by_ctrl_c() -> None:
    raise KeyboardInterrupt


def by_signal(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    "interrupt",
    [by_ctrl_c, by_signal(signal.SIGTERM), by_signal(signal.SIGHUP)],
    ids=["ctrl-c", "SIGTERM", "SIGHUP"],
)
def test_an_interrupted_campaign_is_status_130_and_keeps_what_was_measured(
    interrupt: Callable[[], None], shell: Shell
) -> None:
    worker = Worker()

    def life(job: Job) -> Life:
        def words() -> Iterator[str]:
            lines = worker.words(job)
            yield from lines[:9]
            interrupt()
            yield from lines[9:]

        return Life(words=words())

    engine = FakeEngine(worker, life)
    heard = shell.bench("--profile", "smoke", engine=engine)
    assert heard.status == 130
    assert "crossover: interrupted" in heard.err
    assert f"what was measured is in {shell.folder()}" in heard.err
    assert engine.log[-2:] == [("stop", "fake-2"), ("close", "fake-2")]
    loaded = load_campaign(shell.folder())
    assert [d.invocation.status for d in loaded.documents] == ["complete", "interrupted"]
    assert sum(cell.outcome == "measured" for cell in loaded.documents[1].cells) == 3 + 1
    assert (shell.folder() / "report.md").exists()


def test_an_interrupted_campaign_is_resumed(shell: Shell) -> None:
    worker = Worker()
    cut = worker.meets(FENCE, KeyboardInterrupt())
    shell.bench("--profile", "smoke", "--seed", "5", engine=FakeEngine(worker, cut))
    again = FakeEngine()
    shell.engine = again
    heard = shell.run("bench", "--resume", str(shell.folder()))
    assert heard.status == 0, heard.err
    assert len(again.jobs) == 1
    loaded = load_campaign(shell.folder())
    assert {d.invocation.status for d in loaded.documents} == {"complete"}
    assert loaded.campaign.seed == 5
    assert heard.out.splitlines()[-1] == str(shell.folder())


def test_resuming_takes_more_blocks_and_no_fewer(shell: Shell) -> None:
    shell.bench("--profile", "smoke", "--blocks", "2")
    shell.engine = again = FakeEngine()
    resumed = ("bench", "--resume", str(shell.folder()))
    assert "BLOCKS=1 is fewer" in complaint(shell.run(*resumed, "--blocks", "1"), 2)
    assert shell.run(*resumed, "--blocks", "3").status == 0
    assert len(again.jobs) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--profile", "smoke"),
        ("--arms", "cpu"),
        ("--only", "*"),
        ("--seed", "0"),
        ("--label", "x"),
        ("--results", "elsewhere"),
        ("--price", "1"),
        ("--price-currency", "EUR"),
    ],
    ids=" ".join,
)
def test_resuming_refuses_what_would_change_the_plan(
    words: tuple[str, ...], shell: Shell, campaign: Path
) -> None:
    said = complaint(shell.run("bench", "--resume", str(campaign), *words), 2)
    assert words[0].removeprefix("--").upper().replace("-", "_") in said
    assert shell.opened == []


@pytest.mark.parametrize(
    ("began", "words", "status"),
    [
        ((), ("--cpus", "0"), 2),
        (("--cpus", "0"), (), 0),
        (("--cpus", "0"), ("--cpus", "0"), 0),
        (("--gpu", "GPU-1234"), (), 2),
        (("--gpu", "GPU-1234"), ("--gpu", "GPU-1234"), 0),
        (("--gpu", "GPU-1234"), ("--gpu", "1"), 2),
    ],
)
def test_a_campaign_goes_on_with_the_settings_that_it_began_with(
    began: tuple[str, ...], words: tuple[str, ...], status: int, shell: Shell
) -> None:
    shell.bench("--profile", "smoke", *began)
    shell.engine = again = FakeEngine()
    heard = shell.run("bench", "--resume", str(shell.folder()), "--blocks", "2", *words)
    assert heard.status == status, heard.err
    if status == 0 and "--cpus" in began:
        assert {job.cpus for job in again.jobs} == {(0,)}


PINNED = "vendor/tf:1@sha256:" + "d" * 64


def bench_laid(shell: Shell, *words: str, custom: str = PINNED) -> Any:
    engine = FakeEngine()
    engine.custom = custom
    words = ("--profile", "smoke", "--arms", "cpu cuda-hidden", *words)
    return shell.bench(*words, "--cuda-image", "vendor/tf:1", engine=engine)


def test_a_plan_names_the_cuda_image_by_its_digest(shell: Shell) -> None:
    heard = bench_laid(shell)
    assert heard.status == 0, heard.err
    plan = load_campaign(shell.folder()).campaign
    assert plan.settings["cuda_image"] == PINNED
    assert f"CUDA_IMAGE={PINNED}" in shlex.split(plan.command)
    assert f"CUDA_IMAGE={PINNED}" in (shell.folder() / "report.md").read_text(encoding="utf-8")


def test_an_image_that_came_from_no_registry_is_named_as_it_was_given(shell: Shell) -> None:
    bench_laid(shell, custom="vendor/tf:1")
    plan = load_campaign(shell.folder()).campaign
    assert plan.settings["cuda_image"] == "vendor/tf:1"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 0),
        (("--cuda-image", PINNED), 0),
        (("--cuda-image", "vendor/tf:1"), 0),
        (("--cuda-image", "vendor/tf:2"), 2),
    ],
)
def test_a_campaign_goes_on_in_the_cuda_image_that_it_began_in(
    words: tuple[str, ...], status: int, shell: Shell
) -> None:
    bench_laid(shell)
    shell.engine = FakeEngine()
    heard = shell.run("bench", "--resume", str(shell.folder()), "--blocks", "2", *words)
    assert heard.status == status, heard.err
    if status == 0:
        assert shell.opened[-1]["cuda_image"] == PINNED
    else:
        assert f"CUDA_IMAGE={PINNED}" in heard.err


def test_a_campaign_does_not_change_over_to_a_cuda_image(shell: Shell) -> None:
    shell.bench("--profile", "smoke", "--arms", "cpu cuda-hidden")
    resumed = ("bench", "--resume", str(shell.folder()), "--cuda-image", "vendor/tf:1")
    assert "CUDA_IMAGE=not given" in complaint(shell.run(*resumed), 2)


@pytest.mark.parametrize("command", ["bench", "aa", "images", "doctor"])
def test_a_cuda_image_for_no_arm_is_a_usage_error(command: str, shell: Shell) -> None:
    words = (command, "--arms", "cpu", "--cuda-image", "vendor/tf:1")
    said = complaint(shell.run(*words), 2)
    assert "CUDA_IMAGE is for the arms cuda and cuda-hidden, and ARMS=cpu has neither" in said
    assert shell.opened == []


def test_a_cuda_image_without_a_gpu_is_said_to_be_of_no_use(shell: Shell) -> None:
    heard = shell.bench("--profile", "smoke", "--cuda-image", "vendor/tf:1")
    assert heard.status == 0, heard.err
    assert "CUDA_IMAGE is not used: no arm of this campaign runs in it" in heard.err


def test_a_gpus_uuid_is_in_no_file(shell: Shell) -> None:
    shell.bench("--profile", "smoke", "--gpu", "GPU-1234")
    for path in shell.folder().rglob("*"):
        assert not path.is_file() or "GPU-1234" not in path.read_text(encoding="utf-8")


def test_numbers_of_a_mig_instance_are_kept_and_gone_on_with(shell: Shell) -> None:
    engine = FakeEngine(gpu=GpuRequest(driver="cdi", devices=("nvidia.com/gpu=0:1",)))
    shell.bench("--profile", "smoke", "--gpu", "0:1", "--arms", "cpu cuda", engine=engine)
    assert load_campaign(shell.folder()).campaign.settings["gpu"] == "0:1"
    again = FakeEngine(gpu=engine.gpu)
    shell.engine = again
    shell.run("bench", "--resume", str(shell.folder()), "--blocks", "2")
    assert set(again.gpus_asked) == {"0:1"}


def test_a_cpu_that_is_not_there_is_a_usage_error(shell: Shell) -> None:
    said = complaint(shell.bench("--profile", "smoke", "--cpus", "0,4096"), 2)
    assert "there is no CPU 4096" in said


def test_an_arm_against_itself_is_resumed_and_its_plan_is_not_changed(shell: Shell) -> None:
    shell.engine = FakeEngine()
    begun = shell.run("aa", "--results", str(shell.results), "--profile", "smoke")
    assert begun.status == 0, begun.err
    resumed = ("aa", "--resume", str(shell.folder()))
    assert "PROFILE" in complaint(shell.run(*resumed, "--profile", "quick"), 2)
    shell.engine = again = FakeEngine()
    assert shell.run(*resumed, "--blocks", "2").status == 0
    assert {asked_option(job, "arm") for job in again.jobs} == {"cpu"}
    assert load_campaign(shell.folder()).campaign.arms == ["cpu", "cpu-again"]


def test_resuming_needs_the_suite_that_began(shell: Shell, campaign: Path) -> None:
    assert "begun by another suite" in complaint(shell.run("bench", "--resume", str(campaign)), 2)


def test_resuming_what_is_not_there_is_status_5(shell: Shell, tmp_path: Path) -> None:
    assert "no such folder" in complaint(shell.run("bench", "--resume", str(tmp_path / "x")), 5)


@pytest.mark.usefixtures("drawing")
def test_a_report_made_twice_is_the_same_to_the_byte(shell: Shell, campaign: Path) -> None:
    def derived() -> dict[str, bytes]:
        names = ("report.md", "summary.json", "cells.csv", "report.html")
        pictures = [f"plots/{path.name}" for path in (campaign / "plots").iterdir()]
        return {name: (campaign / name).read_bytes() for name in [*names, *pictures]}

    first = shell.run("report", str(campaign))
    before = derived()
    second = shell.run("report", str(campaign))
    assert (first.status, first.out) == (0, second.out)
    assert derived() == before
    for name in before:
        (campaign / name).unlink()
    shell.run("report", str(campaign))
    assert derived() == before


def test_without_matplotlib_one_line_says_so_and_the_report_does(
    shell: Shell, campaign: Path
) -> None:
    (campaign / "plots").mkdir()
    (campaign / "plots" / "matmul.svg").touch()
    heard = shell.run("report", str(campaign))
    assert heard.status == 0
    assert sum("matplotlib is not installed" in line for line in heard.out.splitlines()) == 1
    assert "summary.json, report.md, cells.csv, report.html are in" in heard.out
    assert list((campaign / "plots").iterdir()) == [], "an older report's"
    for name in ("report.md", "report.html"):
        text = (campaign / name).read_text()
        assert "matplotlib is not installed" in text
        assert "matmul.svg" not in text


def test_between_blocks_there_is_a_report_without_pictures(shell: Shell) -> None:
    written: list[bool] = []

    def remember(folder: Path, *, pictures: bool = True) -> collating.Collated:
        written.append(pictures)
        return collating.collate(folder, pictures=pictures)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conduct, "collate", remember)
        assert shell.bench("--profile", "smoke", "--blocks", "2").status == 0
    assert written == [False, False, False, True]


def test_reporting_touches_no_document(shell: Shell, campaign: Path) -> None:
    before = {path.name: path.read_bytes() for path in campaign.iterdir()}
    shell.run("report", str(campaign))
    assert {name: (campaign / name).read_bytes() for name in before} == before


HOSTILE: dict[str, tuple[Callable[[str], str], str]] = {
    "cut short": (lambda text: text[: len(text) // 2], "not JSON, or cut short"),
    "empty": (lambda _: "", "not JSON"),
    "a list": (lambda _: "[]", "$: is a list"),
    "another schema": (
        lambda text: re.sub(r'"schema": \d', '"schema": 9', text),
        "the file has schema 9, this version reads 1 and 2",
    ),
    "a wrong type": (
        lambda text: text.replace('"repeat": 0', '"repeat": "none"'),
        "$.invocation.repeat: Expected `int`",
    ),
    "an unknown field": (
        lambda text: text.replace('"repeat": 0', '"repeat": 0, "mood": "good"'),
        "$.invocation.mood",
    ),
    "not a number": (
        lambda text: re.sub(r'"start_s": [0-9.]+', '"start_s": NaN', text),
        "$.invocation.containers[0].start_s: is not a finite number",
    ),
    "negative time": (
        lambda text: re.sub(r'"start_s": [0-9.]+', '"start_s": -1.0', text),
        "$.invocation.containers[0].start_s: -1.0 is negative",
    ),
    "control characters": (
        lambda text: text.replace('"id": "made-up"', '"id": "\\u001b[31m\\nTraceback"'),
        "$.campaign.id",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_status_5_with_file_and_field(
    name: str, shell: Shell, campaign: Path
) -> None:
    spoil, expected = HOSTILE[name]
    path = campaign / "cpu-02.json"
    spoiled = spoil(path.read_text())
    assert spoiled != path.read_text()
    path.write_text(spoiled)
    heard = shell_run_quietly(shell, campaign)
    said = complaint(heard, 5)
    assert said.startswith("cpu-02.json: ")
    assert expected in said
    assert heard.out == ""
    assert not (campaign / "report.md").exists()


def shell_run_quietly(shell: Shell, campaign: Path) -> Heard:
    status = main(["report", str(campaign)])
    heard = shell._capsys.readouterr()
    assert 'File "' not in heard.err
    assert "\x1b" not in heard.err
    return Heard(status, heard.out, heard.err)


def test_two_documents_of_one_invocation_are_refused(shell: Shell, campaign: Path) -> None:
    (campaign / "cpu-09.json").write_bytes((campaign / "cpu-01.json").read_bytes())
    assert "is also what cpu-01.json holds" in complaint(shell.run("report", str(campaign)), 5)


def test_the_list_has_every_cell_and_needs_no_engine(shell: Shell) -> None:
    heard = shell.run("list")
    assert heard.status == 0
    for cell in scenarios.cells():
        (line,) = [line for line in heard.out.splitlines() if line.startswith(f"{cell.id} ")]
        assert line.endswith(cell.question)
        assert cell.work.unit in line
    assert shell.opened == []


def test_the_list_can_be_narrowed(shell: Shell) -> None:
    heard = shell.run("list", "--profile", "smoke", "--only", "matmul.* overhead.f*")
    ids = [line.split()[0] for line in heard.out.splitlines()[1:]]
    assert ids == [i for i in SMOKE if i.startswith(("matmul.", "overhead.f"))]
    assert "no cell matches 'zzz'" in complaint(shell.run("list", "--only", "zzz"), 2)


def test_the_list_as_json_is_for_scripts(shell: Shell) -> None:
    rows = json.loads(shell.run("list", "--json").out)
    assert [row["id"] for row in rows] == [cell.id for cell in scenarios.cells()]
    assert {name: rows[0]["work"][name] for name in ("amount", "unit", "bytes")} == {
        "amount": 2.0,
        "unit": "FLOP",
        "bytes": None,
    }
    assert set(rows[0]) == {"id", "profiles", "work", "question"}


def test_images_are_made_once_each_and_named(shell: Shell) -> None:
    shell.engine = engine = FakeEngine()
    heard = shell.run("images", "--arms", "cpu cuda cuda-hidden")
    assert (heard.status, engine.provided, engine.jobs) == (0, ["cpu", "cuda"], [])
    assert heard.out == "cpu   sha256:cpu  1.00 GB\ncuda  sha256:cuda  1.00 GB\n"


@pytest.mark.parametrize("arms", ["", "gpu", "cpu gpu"])
def test_images_of_unknown_arms_are_a_usage_error(arms: str, shell: Shell) -> None:
    assert "ARMS=" in complaint(shell.run("images", "--arms", arms), 2)
    assert shell.opened == []


class Recorded(FakeEngine):
    """Remembers by which options it was made."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def remove_everything(self) -> dict[str, int]:
        return {"containers": 1, "images": 2}


class Speech:
    """Takes lines for people."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


AUTO = {"engine": "auto", "local_python": None, "base_image": None, "cuda_image": None}


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, dict[str, Any], list[str]]]:
    """Which engine is opened for which options, by which words, where docker is here or not."""

    def open_(*, docker: bool, **given: Any) -> tuple[str, dict[str, Any], list[str]]:
        opened: list[tuple[str, dict[str, Any]]] = []

        def make(name: str) -> Callable[..., Recorded]:
            def engine(**options: Any) -> Recorded:
                opened.append((name, options))
                return Recorded(**options)

            return engine

        monkeypatch.setattr(engines, "docker_endpoint", lambda: object() if docker else None)
        monkeypatch.setattr(engines, "DockerEngine", make("docker"))
        monkeypatch.setattr(engines, "LocalEngine", make("local"))
        speech: Any = Speech()
        engines.open_engine({**AUTO, **given}, speech.say)
        ((name, options),) = opened
        return name, options, speech.lines

    return open_


def test_where_docker_is_here_it_is_taken(door: Any) -> None:
    assert door(docker=True) == ("docker", {"base_image": None, "cuda_image": None}, [])
    assert door(docker=False, engine="docker", base_image="x", cuda_image="y")[:2] == (
        "docker",
        {"base_image": "x", "cuda_image": "y"},
    )


def test_where_no_docker_is_the_local_engine_stands_in_with_a_banner(door: Any) -> None:
    name, options, lines = door(docker=False)
    assert (name, options) == ("local", {"python": None})
    assert lines[0].startswith("NOT CONTAINERIZED: no docker engine is here")


def test_the_local_engine_is_there_for_the_asking(door: Any) -> None:
    name, options, lines = door(docker=True, engine="local", local_python="/opt/python")
    assert (name, options) == ("local", {"python": "/opt/python"})
    assert lines[0].startswith("NOT CONTAINERIZED: ENGINE=local was asked for")
    assert door(docker=True, local_python="/opt/python")[0] == "local"


def test_options_that_do_not_go_with_the_engine_are_usage_errors(door: Any) -> None:
    with pytest.raises(UsageError, match="LOCAL_PYTHON is for the local engine"):
        door(docker=True, engine="docker", local_python="/opt/python")
    with pytest.raises(UsageError, match="BASE_IMAGE is for the docker engine"):
        door(docker=True, engine="local", base_image="x")
    with pytest.raises(UsageError, match="CUDA_IMAGE is for the docker engine") as caught:
        door(docker=False, cuda_image="x")
    assert "LOCAL_PYTHON" in caught.value.remedy


def test_cleaning_removes_by_label_and_never_insists(
    monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    monkeypatch.setattr(entry, "docker_endpoint", object)
    monkeypatch.setattr(entry, "DockerEngine", Recorded)
    heard = shell.run("clean")
    assert (heard.status, heard.out) == (0, "1 containers, 2 images removed\n")

    def refuse() -> Recorded:
        raise EngineError("it does not answer", "start it")

    monkeypatch.setattr(entry, "DockerEngine", refuse)
    heard = shell.run("clean")
    assert (heard.status, heard.out) == (0, "")
    assert "it does not answer" in heard.err
    monkeypatch.setattr(entry, "docker_endpoint", lambda: None)
    assert shell.run("clean").status == 0


def test_generated_files_are_checked_without_being_written(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    for name in (found := generate.generated()):
        shutil.copyfile(generate.ROOT / name, tmp_path / name)
    monkeypatch.setattr(entry, "generated", lambda: found)
    monkeypatch.setattr(entry, "ROOT", tmp_path)
    (tmp_path / "docs" / "cells.md").write_text("old")
    (tmp_path / "docs" / "schema.json").unlink()
    said = complaint(shell.run("generate", "--check"), 2)
    assert "docs/cells.md" in said
    assert "docs/schema.json" in said
    assert (tmp_path / "docs" / "cells.md").read_text() == "old"
    assert not (tmp_path / "docs" / "schema.json").exists()
    assert shell.run("generate").status == 0
    assert shell.run("generate", "--check").status == 0


def test_help_names_every_command_and_exit_status(shell: Shell) -> None:
    heard = shell.run("--help")
    assert heard.status == 0
    flat = " ".join(heard.out.split())
    for part in (
        "Exit status: 0 every cell measured",
        "1 some cell failed",
        "2 usage",
        "3 no engine",
        "4 a GPU was asked for",
        "5 a document can't be read",
        "6 another campaign",
        "130 interrupted",
        *("bench", "list", "report", "images", "base", "clean"),
    ):
        assert part in flat


def test_every_option_of_bench_is_explained(shell: Shell) -> None:
    heard = shell.run("bench", "--help")
    for option in commands.commands["bench"].params:
        assert option.opts[0] in heard.out
        assert option.help, option.name


class FakeTerminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_at_most_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    progress = Progress(arm="cpu", block=1, blocks=3, done=2, cells=7, in_flight=FENCE, left_s=75.0)
    with terminals.Terminal() as terminal:
        instants = iter([100.0, 100.5, 101.1])
        monkeypatch.setattr(terminals.time, "monotonic", lambda: next(instants))
        refreshed: list[str] = []
        assert terminal.bar is not None
        monkeypatch.setattr(terminal.bar, "refresh", lambda: refreshed.append("now"))
        for done in (2, 3, 4):
            terminal.show(replace(progress, done=done))
        assert len(refreshed) == 2
        (task,) = terminal.bar.tasks
        assert (task.description, task.completed, task.total) == ("cpu block 1/3", 4, 7)
        assert task.fields["rest"] == f"1:15 left · {FENCE}"
        monkeypatch.undo()


def test_elsewhere_plain_lines_come_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(arm="cpu", block=0, blocks=3, done=2, cells=7, in_flight=None, left_s=None)
    with terminals.Terminal() as terminal:
        instants = iter([100.0, 101.0, 114.9, 115.1])
        monkeypatch.setattr(terminals.time, "monotonic", lambda: next(instants))
        for done in (1, 2, 3, 4):
            terminal.show(replace(progress, done=done))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["  cpu calibration · 1/7 cells", "  cpu calibration · 4/7 cells"]


def test_all_arms_have_a_name_of_their_own() -> None:
    assert {name: arm.name for name, arm in ARMS.items()} == {name: name for name in ARMS}
    assert {arm.image for arm in ARMS.values()} == {"cpu", "cuda"}
    assert [name for name, arm in ARMS.items() if arm.gpu] == ["cuda"]
    assert HIDDEN in ARMS


def suite(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "suite", *words],
        cwd=SUITE.parent,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.processes
def test_the_package_is_the_command() -> None:
    done = suite("--help", stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: python -m suite ")
    assert "Exit status: 0" in done.stdout
    done = suite("report", "/nowhere", stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (5, "")
    assert "/nowhere: no such folder" in done.stderr


@pytest.mark.processes
def test_a_reader_who_has_gone_hears_no_complaint() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = suite("list", stdout=writing)
    finally:
        os.close(writing)
    assert done.stderr == ""


def test_the_identity_of_the_suite_stands_in_the_plan(
    shell: Shell, suite_identity: SuiteIdentity
) -> None:
    shell.bench("--profile", "smoke")
    loaded = load_campaign(shell.folder())
    assert loaded.campaign.suite == suite_identity
    assert {document.suite for document in loaded.documents} == {suite_identity}


def test_who_is_watched_is_asked_and_kept_when_resumed(shell: Shell) -> None:
    shell.bench("--profile", "smoke")
    assert shell.watched == ["on"]
    folder = shell.folder()
    documents = load_campaign(folder).documents
    assert {one.absent["telemetry"] for one in documents} == {"nobody watches a scripted engine"}
    shutil.rmtree(folder)
    shell.bench("--profile", "smoke", "--telemetry", "off", "--seed", "5")
    plan = load_campaign(shell.folder()).campaign
    assert plan.settings["telemetry"] == "off"
    assert "TELEMETRY=off" in plan.command
    shell.engine = FakeEngine()
    assert shell.run("bench", "--resume", str(shell.folder()), "--blocks", "2").status == 0
    assert shell.watched == ["on", "off", "off"]


@pytest.fixture
def examined(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeExamined]:
    """The engine that the doctor looks at; the rest of the machine is this one."""
    engine = FakeExamined()
    monkeypatch.setattr(entry, "engine_to_examine", lambda _given: engine)
    yield engine
    assert engine.provided == []


@pytest.mark.processes
def test_the_doctor_says_whether_bench_would_run(shell: Shell, examined: FakeExamined) -> None:
    heard = shell.run("doctor", "--arms", "cpu")
    assert heard.status in {0, 1, 3}, heard.out
    lines = heard.out.splitlines()
    assert [line.split()[1] for line in lines if line[0] in "✓✗?–"] == list(CHECKS)
    assert lines[-1].startswith("`make bench` would ")
    assert "\x1b[" not in heard.out
    printed = json.loads(shell.run("doctor", "--arms", "cpu", "--json").out)
    assert printed["status"] == heard.status
    assert [one["id"] for one in printed["checks"]] == list(CHECKS)


@pytest.mark.processes
def test_the_doctors_status_is_what_bench_would_end_with(
    shell: Shell, examined: FakeExamined
) -> None:
    examined.stock_trouble = EngineError("no room", "free some")
    heard = shell.run("doctor", "--arms", "cpu")
    assert heard.status == 3
    assert "✗ images" in heard.out
    assert "what to do: free some" in heard.out


@pytest.mark.parametrize(
    "words",
    [
        ("--arms", "tpu"),
        ("--gpu", "all", "--arms", "cpu"),
        ("--engine", "docker", "--local-python", "/x"),
        ("--engine", "local", "--base-image", "x"),
    ],
    ids=" ".join,
)
def test_the_doctor_refuses_what_bench_refuses(words: tuple[str, ...], shell: Shell) -> None:
    complaint(shell.run("doctor", *words), 2)
