"""The command export: where its files lie, what it says of what it left out, and what it refuses."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from suite.report.exports.formats import EXPORTS
from tests import synthetic
from tests.cli.shell import Shell, complaint
from tests.golden_campaigns import make_troubled


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return synthetic.write_campaign(tmp_path / "results" / "troubled", *make_troubled())


@pytest.mark.parametrize("form", EXPORTS)
def test_an_export_lies_beside_its_folder_or_where_it_is_wanted(
    run: Path, form: str, shell: Shell, tmp_path: Path
) -> None:
    heard = shell.run("export", str(run), "--as", form, "--out", str(tmp_path / "new" / "out"))
    beside = shell.run("export", str(run), "--as", form)
    assert heard.status == beside.status == 0
    wanted = {path.name: path.read_bytes() for path in (tmp_path / "new" / "out").iterdir()}
    assert [Path(line).name for line in heard.out.splitlines()] == [*wanted] or len(wanted) > 1
    assert wanted == {name: (run.parent / name).read_bytes() for name in wanted}
    left_out = "INVALID" in heard.err
    assert left_out == (form == "pyperf")


def test_a_bundle_can_be_exported(run: Path, shell: Shell, tmp_path: Path) -> None:
    assert shell.run("report", str(run)).status == 1, "what is troubled is packed as well"
    assert shell.run("export", str(run), "--as", "csv").status == 0
    assert shell.run("bundle", str(run)).status == 0
    out = tmp_path / "out"
    (bundle,) = run.parent.glob("*.zip")
    assert shell.run("export", str(bundle), "--as", "csv", "--out", str(out)).status == 0
    (packed,) = out.iterdir()
    rows, others = (
        csv.DictReader(path.read_text(encoding="utf-8").splitlines())
        for path in (packed, run.parent / "troubled.csv")
    )
    # A bundle hides which machine it was.
    for row, other in zip(rows, others, strict=True):
        assert {**row, "machine": ""} == {**other, "machine": ""}


def test_another_form_is_refused(run: Path, shell: Shell) -> None:
    heard = shell.run("export", str(run), "--as", "xml")
    assert heard.status == 2
    assert "'xml' is not one of 'pyperf', 'csv', 'parquet'" in heard.err


def test_where_duckdb_is_missing_one_line_says_what_to_install(
    run: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    heard = shell.run("export", str(run), "--as", "parquet")
    assert complaint(heard, 2) == "DuckDB, which writes Parquet, is not installed"
    assert "what to do: `make .venv/parquet.stamp`" in heard.err
