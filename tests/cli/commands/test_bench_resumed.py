"""RESUME: a campaign goes on as it began, with more blocks and nothing else that is new."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from suite.analysis.documents.read import load_campaign
from suite.host.engine import GpuRequest
from suite.host.gpu.choice import VISIBLE
from tests.cli.shell import Shell, complaint, well
from tests.fakes.engine import FakeEngine, Life, Script, Worker, asked_arm

PINNED = "vendor/tf:1@sha256:" + "d" * 64
HIDDEN = ("--arms", "cpu cuda-hidden")


def test_resuming_takes_more_blocks_and_no_fewer(shell: Shell) -> None:
    shell.bench_once("--blocks", "2")
    again = FakeEngine()
    assert "BLOCKS=1 is fewer" in complaint(shell.resume("--blocks", "1", engine=again), 2)
    assert shell.resume("--blocks", "3", engine=again).status == 0
    assert len(again.jobs) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--profile", "smoke"),
        ("--only", "*"),
        ("--results", "elsewhere"),
        ("--price", "1"),
        ("--versions", "2.20 2.21"),
    ],
    ids=" ".join,
)
def test_resuming_refuses_what_would_change_the_plan(
    words: tuple[str, ...], shell: Shell, campaign: Path
) -> None:
    said = complaint(shell.run("bench", "--resume", str(campaign), *words), 2)
    assert words[0].removeprefix("--").upper().replace("-", "_") in said
    assert shell.opened == []


def test_versions_go_on_as_they_were_named(shell: Shell) -> None:
    begun = shell.bench_once("--versions", "2.20 2.21")
    assert "VERSIONS='2.21 2.20'" in complaint(shell.resume("--versions", "2.21 2.20"), 2)
    assert "ARMS=cpu" in complaint(shell.resume("--arms", "cpu"), 2)
    for words in (("--versions", "2.20,2.21"), ()):
        assert shell.resume(*words).status == 0
    assert load_campaign(begun).campaign.arms


def test_resuming_needs_a_campaign_and_the_suite_that_began_it(
    shell: Shell, campaign: Path
) -> None:
    assert "started by another suite" in complaint(shell.run("bench", "--resume", str(campaign)), 2)
    nowhere = shell.run("bench", "--resume", str(campaign / "x"))
    assert "no such folder" in complaint(nowhere, 5)


@pytest.mark.parametrize(
    ("began", "words", "refusal"),
    [
        ((), ("--cpus", "0"), "began with CPUS=not given"),
        (("--cpus", "0", "--telemetry", "off"), (), None),
        (("--gpu", "GPU-1234"), (), "named by its UUID, which is not kept"),
        (("--gpu", "GPU-1234"), ("--gpu", "GPU-1234"), None),
        (("--gpu", "GPU-1234"), ("--gpu", "1"), "began with GPU=sha256:"),
    ],
)
def test_a_campaign_goes_on_with_the_settings_that_it_began_with(
    began: tuple[str, ...], words: tuple[str, ...], refusal: str | None, shell: Shell
) -> None:
    shell.bench_once(*began)
    again = FakeEngine()
    heard = shell.resume("--blocks", "2", *words, engine=again)
    if refusal:
        assert refusal in complaint(heard, 2)
    else:
        assert heard.status == 0, heard.err
        assert {job.cpus for job in again.jobs} == ({(0,)} if "--cpus" in began else {(0, 1)})
        assert shell.watched[-1] == ("off" if "--telemetry" in began else "on")


def test_a_shells_gpu_is_the_campaigns_and_stays_so(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def engine() -> FakeEngine:
        return FakeEngine(gpu=GpuRequest(driver="none", devices=("2",)), isolation="none")

    monkeypatch.setenv(VISIBLE, "2,3")
    heard = shell.bench_short(engine=engine())
    assert "GPU 2 is measured, the first of CUDA_VISIBLE_DEVICES=2,3" in heard.err
    assert shell.plan().settings["gpu"] == "2"
    assert "GPU=2" in shell.plan().command
    # In another shell it goes on with the same one.
    monkeypatch.setenv(VISIBLE, "3")
    again = engine()
    assert shell.resume("--blocks", "2", engine=again).status == 0
    assert again.gpus_asked == ["2"]


def test_a_shells_uuid_need_not_be_given_again(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = FakeEngine(gpu=GpuRequest(driver="none", devices=("GPU-1234",)), isolation="none")
    monkeypatch.setenv(VISIBLE, "GPU-1234")
    shell.bench_short(engine=engine)
    assert "GPU-1234" not in str(shell.plan())
    again = FakeEngine(gpu=engine.gpu, isolation="none")
    assert shell.resume("--blocks", "2", engine=again).status == 0
    assert again.gpus_asked == ["GPU-1234"]
    monkeypatch.setenv(VISIBLE, "GPU-5678")
    assert "named by its UUID" in complaint(shell.resume("--blocks", "2"), 2)


def test_an_arm_against_itself_is_resumed_and_its_plan_is_not_changed(shell: Shell) -> None:
    shell.engine = FakeEngine()
    well(shell.bench_short("--arms", "cpu cpu"))
    assert "ARMS='cpu cpu'" in shell.plan().command
    assert "ARMS" in complaint(shell.resume("--arms", "cpu"), 2)
    again = FakeEngine()
    well(shell.resume("--blocks", "2", "--arms", "cpu cpu", engine=again))
    assert {asked_arm(job) for job in again.jobs} == {"cpu", "cpu-again"}
    assert shell.plan().arms == ["cpu", "cpu-again"]


def test_a_plan_names_the_cuda_image_by_its_digest(shell: Shell) -> None:
    engine = FakeEngine(custom=PINNED)
    well(shell.bench_short(*HIDDEN, "--cuda-image", "vendor/tf:1", engine=engine))
    plan = shell.plan()
    assert plan.settings["cuda_image"] == PINNED
    assert f"CUDA_IMAGE={PINNED}" in shlex.split(plan.command)


@pytest.mark.parametrize("command", ["bench", "images", "doctor"])
def test_a_cuda_image_for_no_arm_is_a_usage_error(command: str, shell: Shell) -> None:
    said = complaint(shell.run(command, "--arms", "cpu", "--cuda-image", "vendor/tf:1"), 2)
    assert "CUDA_IMAGE is for the arms cuda and cuda-hidden, and ARMS=cpu has neither" in said
    assert shell.opened == []


def test_a_cuda_image_without_a_gpu_is_said_to_be_of_no_use(shell: Shell) -> None:
    heard = well(shell.bench_short("--cuda-image", "vendor/tf:1"))
    assert "CUDA_IMAGE is not used: no arm of this campaign runs in it" in heard.err


def test_going_on_that_is_broken_off_at_once_loses_nothing_of_before(shell: Shell) -> None:
    worker = Worker()

    def broken_off(lines: int) -> Script:
        return lambda job: Life(words=[*worker.words(job)[:lines], KeyboardInterrupt()])

    # The first cell is measured and the second under way; then the first is under way again.
    for engine in (FakeEngine(worker, broken_off(6)), FakeEngine(otherwise=broken_off(4))):
        heard = shell.resume(engine=engine) if shell.results.exists() else None
        heard = heard or shell.bench_short("--seed", "5", "--blocks", "2", engine=engine)
        assert heard.status == 130
        (_, document) = load_campaign(shell.folder()).documents
        assert [cell.outcome for cell in document.cells] == ["measured", "pending"]
    assert shell.resume().status == 0
    assert {one.invocation.status for one in load_campaign(shell.folder()).documents} == {
        "complete"
    }


def test_a_price_is_the_same_with_its_currency_alone(shell: Shell) -> None:
    shell.bench_once("--price", "0.5 EUR")
    assert shell.resume("--blocks", "2", "--price", "0.50 EUR").status == 0
    said = complaint(shell.resume("--blocks", "2", "--price", "0.5"), 2)
    assert "began with PRICE='0.5 EUR'; PRICE=0.5 would change it" in said
