"""The archive grows by files alone, and tells of a cell what its campaigns told."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from suite.analysis.analyse import analyse_folder
from suite.analysis.documents.read import load_campaign
from suite.content import SUITE
from suite.report.text.names import name_receipt
from tests import synthetic
from tests.changes import plant, tell
from tests.cli.shell import Heard, Shell, complaint, well

CELLS = [one for one in synthetic.make_cells() if one.scenario in {"matmul", "overhead"}]
CELL = "matmul.square/n=1000/precision=fp32/operands=device/xla=off"


@dataclass(frozen=True, kw_only=True)
class Archive:
    """An archive, and the commands that people have for it."""

    shell: Shell
    results: Path

    @property
    def place(self) -> Path:
        return self.results / "archive"

    def make(self, day: int, *, kernel: str = "6.1", times: float = 1.0) -> Path:
        """Writes a campaign of some day; ``kernel`` is what its documents say."""
        plan = synthetic.make_campaign(cells=CELLS, blocks=3, seed=day)
        created = plan.created + timedelta(days=day)
        plan = replace(plan, id=f"day-{day:02d}", created=created)
        drawn = random.Random(day).gauss(0, 0.005)
        made = synthetic.make_documents(
            plan, truth=synthetic.slow_down(times * (1 + drawn)), samples=3, calibration=False
        )
        documents = plant(made, tell({"os.kernel": kernel}))
        return synthetic.write_campaign(self.results / plan.id, plan, documents)

    def run(self, command: str, *words: str) -> Heard:
        return self.shell.run(command, *words, "--archive", str(self.place))

    def add(self, *runs: Path, machine: str | None = None) -> str:
        named = ("--machine", machine) if machine else ()
        return well(self.run("archive", *map(str, runs), *named)).out

    def tell_history(self, *words: str) -> str:
        return well(self.run("history", *words)).out

    def read(self) -> dict[str, bytes]:
        """Its files."""
        found = sorted(self.place.rglob("*.parquet"))
        return {str(one.relative_to(self.place)): one.read_bytes() for one in found}

    def ask(self, table: str, what: str) -> list[tuple[Any, ...]]:
        """What a query finds in one of its tables."""
        return duckdb.sql(f"FROM '{self.place}/{table}/*/*.parquet' SELECT {what}").fetchall()


@pytest.fixture
def archive(shell: Shell, tmp_path: Path) -> Archive:
    return Archive(shell=shell, results=tmp_path / "results")


def test_the_tables_hold_what_the_campaigns_hold(archive: Archive) -> None:
    runs = [archive.make(1), archive.make(2)]
    archive.add(*runs)
    for run in runs:
        loaded, analysis = load_campaign(run), analyse_folder(run)
        where = f"WHERE campaign = '{analysis.campaign.id}'"
        assert set(archive.ask("cells", f"id, arm, value, low {where}")) == {
            (one.id, arm, result.value, result.low)
            for one in analysis.cells
            for arm, result in one.arms.items()
        }
        samples = archive.ask("samples", f"arm, block, cell, samples_s {where}")
        assert sorted(samples) == sorted(
            (one.invocation.arm, one.invocation.block, cell.id, cell.samples_s)
            for one in loaded.documents
            for cell in one.cells
        )
        invocations = archive.ask("invocations", f"arm, block, counted, kernel {where}")
        assert set(invocations) == {
            (one.invocation.arm, one.invocation.block, True, "6.1") for one in loaded.documents
        }
        (row,) = archive.ask("campaigns", f"documents {where}")
        assert row == (len(loaded.documents),)


def test_adding_writes_new_files_and_changes_none(archive: Archive) -> None:
    first = archive.make(1)
    assert "added" in archive.add(first)
    before = archive.read()
    archive.add(archive.make(2))
    after = archive.read()
    assert {name: after[name] for name in before} == before
    assert len(after) == 2 * len(before) == 8
    assert "there already" in archive.add(first, machine="another")
    assert archive.read() == after
    archive.make(1, kernel="6.2")
    heard = archive.run("archive", str(first))
    assert "day-01 is in the archive with other documents" in complaint(heard, 2)
    assert archive.read() == after


def test_what_a_cut_off_command_left_is_written_anew(archive: Archive) -> None:
    archive.add(archive.make(1))
    whole = archive.read()
    (left,) = (archive.place / "campaigns").rglob("*.parquet")
    left.unlink()
    assert "added" in archive.add(archive.make(1))
    assert archive.read() == whole


def test_a_change_is_found_with_what_changed_and_no_other(archive: Archive) -> None:
    archive.add(*(archive.make(day) for day in range(1, 7)))
    archive.add(*(archive.make(day, kernel="6.12", times=1.2) for day in range(7, 12)))
    page = archive.tell_history("--cell", name_receipt(CELL))
    assert page.startswith(f"# History: {CELL}")
    changed = [line for line in page.splitlines() if "slower" in line or "faster" in line]
    assert len(changed) == 2, "one on each arm"
    for line in changed:
        assert "day-07" in line
        assert re.search(r"1\.(19|20|21)× slower", line)
        assert "kernel: 6.1 → 6.12" in line
        assert line.count("→") == 1


def test_without_a_change_none_is_told(archive: Archive) -> None:
    archive.add(*(archive.make(day) for day in range(1, 9)))
    page = archive.tell_history("--cell", CELL)
    assert "slower" not in page
    assert "faster" not in page


def test_machines_stand_side_by_side(archive: Archive) -> None:
    archive.add(archive.make(1), archive.make(2), machine="007")
    archive.add(archive.make(3, times=2.0), machine="slow")
    table = archive.tell_history("--cell", CELL).partition("## Over machines")[2]
    table = table.partition("\n## ")[0]
    assert re.findall(r"^\| (\w+) +\| (\w+) +\| (day-\d+)", table, re.MULTILINE) == [
        *(("007", "cpu", "day-02"), ("007", "cuda", "day-02")),
        *(("slow", "cpu", "day-03"), ("slow", "cuda", "day-03")),
    ]
    assert "007" not in archive.tell_history("--cell", CELL, "--machine", "slow")
    listed = archive.tell_history()
    assert [line.split()[:2] for line in listed.splitlines()[1:]] == [["007", "2"], ["slow", "1"]]


@pytest.mark.parametrize("words", [["--cell", "nonsense"], ["--cell", CELL, "--machine", "none"]])
def test_what_is_not_there_is_said(words: list[str], archive: Archive) -> None:
    archive.add(archive.make(1))
    assert "no number" in complaint(archive.run("history", *words), 2)


def test_no_archive_and_a_name_that_is_none_are_refused(archive: Archive) -> None:
    assert "there is no archive" in complaint(archive.run("history"), 5)
    heard = archive.run("archive", str(archive.make(1)), "--machine", "../x")
    assert "is no name" in complaint(heard, 2)


PAGE = (SUITE.parent / "docs" / "archive.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_of_the_page_runs(
    number: int, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.add(archive.make(1), archive.make(2, kernel="6.2"), machine="here")
    monkeypatch.chdir(tmp_path)
    assert duckdb.sql(EXAMPLES[number]).fetchall()
