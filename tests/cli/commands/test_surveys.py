"""GPU=all from its options to the survey's report, with a scripted engine in the engine's place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.documents.read import load_campaign, load_survey
from suite.host.engine import Card, GpuRequest, Job
from suite.model import PLAN
from tests.cli.shell import Shell, complaint
from tests.fakes.engine import FakeEngine, Life, Worker, record

TWO = (Card(index=0, name="Made-Up GPU"), Card(index=1, name="Made-Up GPU"))
REQUEST = GpuRequest(driver="cdi", devices=("0",))
WORDS = ("--gpu", "all", "--profile", "smoke", "--blocks", "2", "--seed", "3", "--label", "box")
WORDS += ("--only", "overhead.f*")


def two_gpus(**fields: Any) -> FakeEngine:
    return FakeEngine(**{"gpu": REQUEST, "cards": TWO, **fields})


def folders(results: Path) -> dict[str, Path]:
    """The folders there are, by what stands between time and profile in their names."""
    return {
        path.name.split("-", 1)[1].rsplit("-", 1)[0]: path
        for path in results.iterdir()
        if path.is_dir()
    }


def test_every_gpu_has_its_campaigns_and_the_machine_a_report(shell: Shell) -> None:
    engine = two_gpus()
    engine.custom = pinned = "vendor/tf:1@sha256:" + "d" * 64
    heard = shell.bench(*WORDS, "--cuda-image", "vendor/tf:1", engine=engine)
    assert heard.status == 0, heard.err
    found = folders(shell.results)
    assert set(found) == {
        *("box-gpu0", "box-gpu1", "box-gpu0-at-once", "box-gpu1-at-once"),
        "box-all-gpus",
    }
    survey = found.pop("box-all-gpus")
    assert {path.name for path in survey.iterdir()} == {
        *("survey.json", "survey.md", "survey.html", "summary.json", "logs"),
    }
    assert heard.out.splitlines()[-1] == str(survey)
    assert engine.gpus_asked == ["0", "1"]
    plan = load_survey(survey)
    # Every plan names the image by its digest.
    assert plan.settings == {"gpu": "all", "cuda_image": pinned}
    assert {"GPU=all", f"CUDA_IMAGE={pinned}"} <= set(plan.command.split())
    assert shell.opened[-1]["cuda_image"] == pinned
    for name, folder in found.items():
        assert (folder / "report.html").exists()
        settings = load_campaign(folder).campaign.settings
        assert (settings["gpu"], settings["cuda_image"]) == (name[len("box-gpu")], pinned)
    assert json.loads((survey / "summary.json").read_text())["gpus"] == ["0", "1"]

    # Its report is made anew from its documents, and no campaign of it goes on alone.
    before = (survey / "survey.md").read_bytes()
    (survey / "survey.md").unlink()
    heard = shell.run("report", str(survey))
    assert heard.status == 0, heard.err
    assert (survey / "survey.md").read_bytes() == before
    said = shell.run("bench", "--resume", str(found["box-gpu1"]))
    assert "is a part of a survey" in complaint(said, 2)
    assert survey.name in said.err


def test_one_gpu_needs_no_survey(shell: Shell) -> None:
    heard = shell.bench(*WORDS, engine=two_gpus(cards=TWO[:1]))
    assert heard.status == 0, heard.err
    assert "GPU=all is an ordinary campaign" in heard.err
    (folder,) = shell.results.glob("*-box-smoke")
    campaign = load_campaign(folder).campaign
    assert campaign.survey is None
    assert campaign.settings["gpu"] == "0"
    assert "GPU=0" in campaign.command
    shell.engine = two_gpus(cards=TWO[:1])
    again = shell.run("bench", "--resume", str(folder), "--blocks", "3")
    assert again.status == 0, again.err


def test_no_gpus_and_gpus_that_nothing_lists_are_status_4(shell: Shell) -> None:
    assert "no GPU" in complaint(shell.bench(*WORDS, engine=FakeEngine()), 4)
    assert not [path for path in shell.results.iterdir() if path.is_dir()]
    assert "nothing here lists" in complaint(shell.bench(*WORDS, engine=two_gpus(cards=())), 4)
    # Where no arm is for one either, it is the option that is wrong.
    heard = shell.bench(*WORDS, "--arms", "cpu", engine=FakeEngine())
    assert "no arm that was asked for has a GPU" in complaint(heard, 2)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("bench", *WORDS, "--arms", "cpu"), "no arm that was asked for has a GPU"),
        (("bench", *WORDS, "--cpus", "0"), "1 CPU cores"),
        (("aa", *WORDS), "aa compares one arm with itself"),
        (("aa", *WORDS, "--arms", "cpu"), "aa compares one arm with itself"),
        (("doctor", "--gpu", "all", "--arms", "cpu"), "no arm that was asked for has a GPU"),
    ],
    ids=["no arm with a GPU", "too few cores", "aa", "aa of the CPU", "doctor"],
)
def test_what_makes_no_sense_is_refused_before_any_job(
    words: tuple[str, ...], named: str, shell: Shell
) -> None:
    shell.engine = engine = two_gpus()
    more = () if words[0] == "doctor" else ("--results", str(shell.results))
    assert named in complaint(shell.run(*words, *more), 2)
    assert engine.jobs == []


def test_an_engine_that_cannot_bind_cpus_is_refused_at_once(shell: Shell) -> None:
    engine = two_gpus(binds=False)
    heard = shell.bench(*WORDS, engine=engine)
    assert "can't bind" in complaint(heard, 3)
    assert "Delegate=" in heard.err
    assert engine.jobs == []


@pytest.mark.parametrize("cut", [False, True])
def test_a_survey_can_have_more_rounds_later(cut: bool, shell: Shell) -> None:
    shell.bench(*WORDS, engine=two_gpus())
    found = folders(shell.results)
    survey, first = found["box-all-gpus"], found["box-gpu0"]
    words = ("--blocks", "3")
    if cut:
        # As if a command with BLOCKS=3 had been stopped after the first plan was written.
        words = ()
        for path, count in ((survey / "survey.json", "rounds"), (first / PLAN, "blocks")):
            path.write_text(json.dumps({**json.loads(path.read_text()), count: 3}))
    shell.engine = two_gpus()
    heard = shell.run("bench", "--resume", str(survey), *words)
    assert heard.status == 0, heard.err
    assert "round 3 of 3 done" in heard.err
    assert load_survey(survey).rounds == 3
    for member in load_survey(survey).members:
        assert load_campaign(shell.results / member.campaign).campaign.blocks == 3
        assert (shell.results / member.campaign / "cuda-03.json").exists()


def test_a_gpu_lost_on_the_way_is_status_4_and_the_survey_goes_on_later(shell: Shell) -> None:
    worker = Worker()
    lost = 0

    def lose(job: Job) -> Life:
        nonlocal lost
        second = job.labels["io.github.crossover-bench.invocation"] == "cuda-2"
        if second and lost == 0:
            lost = 1
            return Life(words=[record("refused", reason="the GPU is gone")], code=4)
        return worker(job)

    said = complaint(shell.bench(*WORDS, engine=two_gpus(otherwise=lose)), 4)
    assert "the GPU is gone" in said
    survey = folders(shell.results)["box-all-gpus"]
    assert (survey / "survey.md").exists()
    for member in load_survey(survey).members:
        assert (shell.results / member.campaign / "report.md").exists()
    shell.engine = two_gpus()
    heard = shell.run("bench", "--resume", str(survey))
    assert heard.status == 0, heard.err
    for member in load_survey(survey).members:
        found = load_campaign(shell.results / member.campaign)
        done = {d.invocation.block for d in found.documents if d.invocation.arm == "cuda"}
        assert {1, 2} <= done
        assert {d.invocation.status for d in found.documents} == {"complete"}
