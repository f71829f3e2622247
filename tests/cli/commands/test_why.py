"""`why` as people call it: what an inquiry leaves, and what other commands say of that."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from suite.analysis.documents.read import load_campaign
from suite.cli.commands import why
from suite.cli.entry import main
from suite.model import Campaign
from suite.model.why import Inquiry, Try, Watched
from tests.cli.shell import Heard, Shell, complaint, well
from tests.fakes.engine import FakeEngine
from tests.fakes.script_worker import ScriptWorker

LOCK = "six==1.17.0 \\\n    --hash=sha256:" + "0" * 64 + "\n"

CACHE = Try(
    name="cache:4",
    intervention="cache",
    cause="input",
    kind="fix",
    text="ds.cache()",
    target="4",
    line=4,
)


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script to which one change applies, which halves its time."""

    def propose(_watched: Watched, _gpu: bool) -> list[Try]:
        return [CACHE]

    monkeypatch.setattr(why, "_propose", propose)
    (tmp_path / "mine").mkdir()
    path = tmp_path / "mine" / "train.py"
    path.write_text("train()\n")
    return path


def ask(shell: Shell, script: Path, *words: str, worker: ScriptWorker | None = None) -> Heard:
    shell.engine = FakeEngine(otherwise=worker or ScriptWorker(faster={"cache:4": 2.0}))
    given = ("--script", str(script), "--results", str(shell.results), "--seed", "5")
    return shell.run("why", *given, *words)


def test_an_inquiry_runs_to_its_answer_and_is_a_folder_like_others(
    shell: Shell, script: Path
) -> None:
    (script.parent / "lock.txt").write_text(LOCK)
    words = (
        "--requirements",
        str(script.parent / "lock.txt"),
        "--args",
        "--lr 0.1",
        "--arms",
        "cpu",
    )
    heard = well(ask(shell, script, *words))
    folder = shell.folder()
    assert heard.out.splitlines()[-1] == str(folder)
    assert "cache" in heard.out
    assert "changes that apply: 1" in heard.err
    names = {path.name for path in folder.iterdir()}
    assert {"campaign.json", "cpu-01.json", "cpu-02.json", "why.json", "why.md"} <= names
    assert (folder / "sbom" / "requirements.cdx.json").read_text().count("pkg:pypi/six@1.17.0") > 0
    plan = load_campaign(folder).campaign
    assert isinstance(plan, Inquiry)
    assert plan.script.arguments == ["--lr", "0.1"]
    # No folder of the person's is in it, and what repeats it is there.
    assert str(script.parent) not in (folder / "campaign.json").read_text()
    told = shlex.split(plan.command)
    assert told[:2] == ["make", "why"]
    assert set(told[2:]) == {
        *("SCRIPT=train.py", "ARGS=--lr 0.1", "REQUIREMENTS=lock.txt", "ARMS=cpu", "SEED=5"),
    }
    well(shell.run("check", str(folder)))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bench", "--recheck"), "is of `make why`"),
        (("bench", "--resume"), "is of `make why`"),
        (("compare",), "is of `make why`"),
    ],
)
def test_what_is_for_campaigns_of_cells_says_that_this_is_none(
    words: tuple[str, ...], said: str, shell: Shell, script: Path
) -> None:
    well(ask(shell, script))
    assert said in complaint(shell.run(*words, str(shell.folder())), 2)


def test_the_scripts_own_error_is_shown_and_ends_with_status_1(
    shell: Shell, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = 'Traceback (most recent call last):\n  File "train.py", line 1\nValueError: mine'
    shell.engine = FakeEngine(otherwise=ScriptWorker(error=error))
    words = ("why", "--script", str(script), "--results", str(shell.results))
    assert main(words) == 1
    heard = capsys.readouterr()
    assert "crossover: train.py fails by itself:\nTraceback" in heard.err
    assert "ValueError: mine\n  what to do: mend the script" in heard.err
    # What there is has its page all the same.
    assert (shell.folder() / "why.md").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--gpu", "all"), "on one GPU"),
        (("--arms", "cpu cpu"), "each arm once"),
        (("--args", "it's"), "No closing quotation"),
        (("--data", "/nowhere"), "DATA=/nowhere"),
        (("--include-script", "1", "--budget", "soon"), "not a duration"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_job(
    words: tuple[str, ...], said: str, shell: Shell, script: Path
) -> None:
    assert said in complaint(ask(shell, script, *words), 2)
    assert isinstance(shell.engine, FakeEngine)
    assert shell.engine.jobs == []
    assert not shell.results.exists()


def test_the_text_is_kept_where_it_was_asked_for(shell: Shell, script: Path) -> None:
    well(ask(shell, script, "--include-script", "1"))
    plan: Campaign = shell.plan()
    assert isinstance(plan, Inquiry)
    assert plan.script.text == "train()\n"
