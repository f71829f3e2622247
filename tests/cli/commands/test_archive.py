"""The archive grows by files alone, and tells of a cell what its campaigns told."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from suite.analysis.analyse import analyse_folder
from suite.analysis.documents.read import load_campaign
from suite.content import SUITE
from suite.model import Document
from suite.report.text.names import name_receipt
from tests import synthetic
from tests.cli.shell import Shell, complaint, well

CELLS = [one for one in synthetic.make_cells() if one.scenario in {"matmul", "overhead"}]
CELL = "matmul.square/n=1000/precision=fp32/operands=device/xla=off"

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a campaign of some day; ``kernel`` is what its documents say."""

    def write(day: int, *, kernel: str = "6.1", times: float = 1.0, **facts: str) -> Path:
        plan = synthetic.make_campaign(cells=CELLS, blocks=3, seed=day)
        created = plan.created + timedelta(days=day)
        plan = replace(plan, id=f"day-{day:02d}", created=created)
        drawn = random.Random(day).gauss(0, 0.005)
        made = synthetic.make_documents(
            plan, truth=synthetic.slow_down(times * (1 + drawn)), samples=3, calibration=False
        )
        documents: list[Document] = [
            replace(one, facts={**one.facts, "os.kernel": kernel, **facts}) for one in made
        ]
        return synthetic.write_campaign(tmp_path / "results" / plan.id, plan, documents)

    return write


def files(archive: Path) -> dict[str, bytes]:
    found = sorted(archive.rglob("*.parquet"))
    return {str(one.relative_to(archive)): one.read_bytes() for one in found}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "results" / "archive"


@pytest.fixture
def add(shell: Shell, archive: Path) -> Callable[..., str]:
    def run(*runs: Path, **options: str) -> str:
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        heard = well(shell.run("archive", *map(str, runs), "--archive", str(archive), *words))
        return heard.out

    return run


def test_the_tables_hold_what_the_campaigns_hold(
    make: Make, add: Callable[..., str], archive: Path
) -> None:
    runs = [make(1), make(2)]
    add(*runs)
    for run in runs:
        loaded, analysis = load_campaign(run), analyse_folder(run)
        where = f"WHERE campaign = '{analysis.campaign.id}'"
        cells = duckdb.sql(f"FROM '{archive}/cells/*/*.parquet' SELECT id, arm, value, low {where}")
        assert set(cells.fetchall()) == {
            (one.id, arm, result.value, result.low)
            for one in analysis.cells
            for arm, result in one.arms.items()
        }
        samples = duckdb.sql(
            f"FROM '{archive}/samples/*/*.parquet' SELECT arm, block, cell, samples_s {where}"
        )
        assert sorted(samples.fetchall()) == sorted(
            (one.invocation.arm, one.invocation.block, cell.id, cell.samples_s)
            for one in loaded.documents
            for cell in one.cells
        )
        invocations = duckdb.sql(
            f"FROM '{archive}/invocations/*/*.parquet' SELECT arm, block, counted, kernel {where}"
        )
        assert set(invocations.fetchall()) == {
            (one.invocation.arm, one.invocation.block, True, "6.1") for one in loaded.documents
        }
        (row,) = duckdb.sql(
            f"FROM '{archive}/campaigns/*/*.parquet' SELECT documents {where}"
        ).fetchall()
        assert row == (len(loaded.documents),)


def test_adding_writes_new_files_and_changes_none(
    make: Make, add: Callable[..., str], archive: Path, shell: Shell
) -> None:
    first = make(1)
    assert "added" in add(first)
    before = files(archive)
    add(make(2))
    after = files(archive)
    assert {name: after[name] for name in before} == before
    assert len(after) == 2 * len(before) == 8
    assert "there already" in add(first, machine="another")
    assert files(archive) == after
    make(1, kernel="6.2")
    heard = shell.run("archive", str(first), "--archive", str(archive))
    assert "day-01 is in the archive with other documents" in complaint(heard, 2)
    assert files(archive) == after


def test_what_a_cut_off_command_left_is_written_anew(
    make: Make, add: Callable[..., str], archive: Path
) -> None:
    add(make(1))
    whole = files(archive)
    (left,) = (archive / "campaigns").rglob("*.parquet")
    left.unlink()
    assert "added" in add(make(1))
    assert files(archive) == whole


def test_a_change_is_found_with_what_changed_and_no_other(
    make: Make, add: Callable[..., str], archive: Path, shell: Shell
) -> None:
    add(*(make(day) for day in range(1, 7)))
    add(*(make(day, kernel="6.12", times=1.2) for day in range(7, 12)))
    heard = well(shell.run("history", "--archive", str(archive), "--cell", name_receipt(CELL)))
    assert heard.out.startswith(f"# History: {CELL}")
    changed = [line for line in heard.out.splitlines() if "slower" in line or "faster" in line]
    assert len(changed) == 2, "one on each arm"
    for line in changed:
        assert "day-07" in line
        assert re.search(r"1\.(19|20|21)× slower", line)
        assert "kernel: 6.1 → 6.12" in line
        assert line.count("→") == 1


def test_without_a_change_none_is_told(
    make: Make, add: Callable[..., str], archive: Path, shell: Shell
) -> None:
    add(*(make(day) for day in range(1, 9)))
    heard = well(shell.run("history", "--archive", str(archive), "--cell", CELL))
    assert "slower" not in heard.out
    assert "faster" not in heard.out


def test_machines_stand_side_by_side(
    make: Make, add: Callable[..., str], archive: Path, shell: Shell
) -> None:
    add(make(1), make(2), machine="007")
    add(make(3, times=2.0), machine="slow")
    page = shell.run("history", "--archive", str(archive), "--cell", CELL).out
    table = page.partition("## Over machines")[2].partition("\n## ")[0]
    assert re.findall(r"^\| (\w+) +\| (\w+) +\| (day-\d+)", table, re.MULTILINE) == [
        *(("007", "cpu", "day-02"), ("007", "cuda", "day-02")),
        *(("slow", "cpu", "day-03"), ("slow", "cuda", "day-03")),
    ]
    alone = shell.run("history", "--archive", str(archive), "--cell", CELL, "--machine", "slow").out
    assert "007" not in alone
    listed = shell.run("history", "--archive", str(archive)).out
    assert [line.split()[:2] for line in listed.splitlines()[1:]] == [["007", "2"], ["slow", "1"]]


@pytest.mark.parametrize("words", [["--cell", "nonsense"], ["--cell", CELL, "--machine", "none"]])
def test_what_is_not_there_is_said(
    words: list[str], make: Make, add: Callable[..., str], archive: Path, shell: Shell
) -> None:
    add(make(1))
    assert "no number" in complaint(shell.run("history", "--archive", str(archive), *words), 2)


def test_no_archive_and_a_name_that_is_none_are_refused(
    make: Make, shell: Shell, archive: Path
) -> None:
    assert "there is no archive" in complaint(shell.run("history", "--archive", str(archive)), 5)
    heard = shell.run("archive", str(make(1)), "--archive", str(archive), "--machine", "../x")
    assert "is no name" in complaint(heard, 2)


PAGE = (SUITE.parent / "docs" / "archive.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_of_the_page_runs(
    number: int,
    make: Make,
    add: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add(make(1), make(2, kernel="6.2"), machine="here")
    monkeypatch.chdir(tmp_path)
    assert duckdb.sql(EXAMPLES[number]).fetchall()
