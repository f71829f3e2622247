"""The other commands as people call them, and the one place that catches what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from suite.cli import entry
from suite.cli.entry import commands
from suite.errors import EngineError
from suite.host.doctor.examine import CHECKS
from suite.worker import scenarios
from tests import synthetic
from tests.cli.shell import Shell, complaint, well
from tests.fakes.doctor_machine import FakeExamined
from tests.fakes.engine import FakeEngine


@pytest.mark.parametrize(
    "words",
    [
        ("bench", "--speed", "9"),
        ("bench", "--profile", "huge"),
        ("bench", "--blocks", "0"),
        ("bench", "--stop-if", "Unsound"),
        ("bench", "stray"),
        ("benhc",),
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


def test_help_names_every_command_and_exit_status(shell: Shell) -> None:
    heard = well(shell.run("--help"))
    flat = " ".join(heard.out.split())
    assert "Exit status: 0 every cell measured" in flat
    assert all(name in flat for name in commands.commands)
    heard = shell.run("bench", "--help")
    for option in commands.commands["bench"].params:
        assert option.opts[0] in heard.out
        assert option.help, option.name  # type: ignore[attr-defined]


def test_the_list_has_every_cell_and_needs_no_engine(shell: Shell) -> None:
    heard = well(shell.run("list"))
    lines = {line.split()[0]: line for line in heard.out.splitlines()[1:]}
    assert list(lines) == [cell.id for cell in scenarios.cells()]
    for cell in scenarios.cells():
        assert lines[cell.id].endswith(cell.question)
        assert cell.work.unit in lines[cell.id]
    # For scripts, as JSON.
    rows = json.loads(shell.run("list", "--json").out)
    assert [row["id"] for row in rows] == list(lines)
    assert set(rows[0]) == {"id", "profiles", "work", "question"}
    work = {"amount": 2.0, "unit": "FLOP", "bytes": None}
    assert rows[0]["work"].items() >= work.items()
    assert shell.opened == []


def test_the_list_can_be_narrowed(shell: Shell) -> None:
    heard = shell.run("list", "--profile", "smoke", "--only", "matmul.* overhead.f*")
    ids = [line.split()[0] for line in heard.out.splitlines()[1:]]
    smoke = [cell.id for cell in scenarios.cells() if "smoke" in cell.profiles]
    assert ids == [i for i in smoke if i.startswith(("matmul.", "overhead.f"))]
    assert "no cell matches 'zzz'" in complaint(shell.run("list", "--only", "zzz"), 2)


def test_a_report_made_twice_is_the_same_to_the_byte_and_touches_no_document(
    shell: Shell, campaign: Path
) -> None:
    documents = {path: path.read_bytes() for path in campaign.iterdir()}

    def read() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in campaign.rglob("*") if path.is_file()}

    first, made = shell.run("report", str(campaign)), read()
    for path in made.keys() - documents.keys():
        path.unlink()
    second = shell.run("report", str(campaign))
    assert (first.status, first.out) == (0, second.out)
    assert read() == made
    assert made.items() >= documents.items()


def test_without_matplotlib_one_line_says_so_and_the_report_does(
    shell: Shell, campaign: Path
) -> None:
    (campaign / "plots").mkdir()
    (campaign / "plots" / "matmul.svg").touch()
    heard = well(shell.run("report", str(campaign)))
    assert sum("matplotlib is not installed" in line for line in heard.out.splitlines()) == 1
    assert "summary.json, brief.md, report.md, cells.csv, report.html are in" in heard.out
    assert list((campaign / "plots").iterdir()) == [], "an older report's"
    for name in ("report.md", "report.html"):
        text = (campaign / name).read_text()
        assert "matplotlib is not installed" in text
        assert "matmul.svg" not in text


def test_a_hostile_document_is_status_5_with_file_and_field(shell: Shell, campaign: Path) -> None:
    """What else there is to refuse stands in `tests/analysis/documents/test_read.py`."""
    path = campaign / "cpu-02.json"
    text = path.read_text()
    path.write_text(text.replace('"id": "made-up"', '"id": "\\u001b[31m\\ncrossover: "'))
    assert path.read_text() != text
    heard = shell.run("report", str(campaign))
    assert complaint(heard, 5).startswith("cpu-02.json: $.campaign.id")
    assert "\x1b" not in heard.err
    assert heard.out == ""
    assert not (campaign / "report.md").exists()


def test_a_comparison_is_printed_or_written_where_that_is_said(
    shell: Shell, campaign: Path, tmp_path: Path
) -> None:
    made = replace(synthetic.make_campaign(blocks=3), id="another")
    other = synthetic.write_campaign(tmp_path / "b", made)
    words = ("compare", str(campaign), str(other))
    heard = shell.run(*words)
    assert (heard.status, heard.err) == (0, "")
    out = tmp_path / "made" / "here"
    told = shell.run(*words, "--out", str(out))
    assert sorted(told.out.splitlines()) == sorted(str(path) for path in out.iterdir())
    assert (out / "compare.md").read_text(encoding="utf-8") == heard.out
    refused = shell.run(*words, "--out", str(out / "compare.md"))
    assert "can't make" in complaint(refused, 2)


def test_images_are_made_once_each_and_named(shell: Shell) -> None:
    shell.engine = engine = FakeEngine()
    heard = shell.run("images", "--arms", "cpu cuda cuda-hidden")
    # The largest first, which leaves the others the most room.
    assert (heard.status, engine.provided, engine.jobs) == (0, ["cuda", "cpu"], [])
    assert engine.demanded == ["cpu", "cuda"]
    assert heard.out == "cpu   sha256:cpu  1.00 GB\ncuda  sha256:cuda  1.00 GB\n"


def test_images_of_unknown_arms_are_a_usage_error(shell: Shell) -> None:
    assert "ARMS=" in complaint(shell.run("images", "--arms", "cpu gpu"), 2)
    assert shell.opened == []


def test_a_version_that_nobody_locked_names_the_command_that_does(shell: Shell) -> None:
    for command in ("images", "bench", "doctor", "base"):
        heard = shell.run(command, "--arms", "cpu cpu@2.17")
        assert "no lock of cpu@2.17" in complaint(heard, 2)
        assert "`make lock TENSORFLOW=2.17`" in heard.err
        # What could not be measured is not offered.
        assert "make lock" not in shell.run(command, "--arms", "cpu cpu@2.14").err
    assert shell.opened == []


def test_the_stand_ins_that_arms_need_are_made(
    monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    made: list[str] = []
    engine = SimpleNamespace(make_base=lambda python, _say: made.append(python) or python)
    monkeypatch.setattr(entry, "open_docker", lambda: engine)
    for arms, pythons in (
        ((), ["3.13"]),
        (("--arms", "auto"), ["3.13"]),
        (("--arms", "cpu@2.15 cuda@2.15"), ["3.11"]),
        (("--arms", "cpu cpu@2.15 cpu@2.20"), ["3.13", "3.11"]),
    ):
        made.clear()
        heard = shell.run("base", *arms)
        assert (heard.status, made, heard.out.split()) == (0, pythons, pythons)


def test_cleaning_removes_by_label_and_never_insists(
    monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    def refuse() -> dict[str, int]:
        raise EngineError("it does not answer", "start it")

    monkeypatch.setattr(entry, "docker_endpoint", object)
    engine = SimpleNamespace(remove_everything=lambda: {"containers": 1, "images": 2})
    monkeypatch.setattr(entry, "open_docker", lambda: engine)
    heard = shell.run("clean")
    assert (heard.status, heard.out) == (0, "1 containers, 2 images removed\n")
    engine.remove_everything = refuse
    heard = shell.run("clean")
    assert (heard.status, heard.out) == (0, "")
    assert "it does not answer" in heard.err
    monkeypatch.setattr(entry, "docker_endpoint", lambda: None)
    assert shell.run("clean").status == 0


@pytest.fixture
def examined(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeExamined]:
    """The engine that the doctor looks at; the rest of the machine is this one."""
    engine = FakeExamined()
    monkeypatch.setattr(entry, "connect", lambda _given, **_: engine)
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
    # Its status is what bench would end with.
    examined.stock_trouble = EngineError("no room", "free some")
    heard = shell.run("doctor", "--arms", "cpu")
    assert heard.status == 3
    assert "✗ images" in heard.out
    assert "what to do: free some" in heard.out
    printed = json.loads(shell.run("doctor", "--arms", "cpu", "--json").out)
    assert printed["status"] == 3
    assert [one["id"] for one in printed["checks"]] == list(CHECKS)
