"""The command export: where its files lie, and what it says of what it left out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import synthetic
from tests.cli.shell import Shell
from tests.golden_campaigns import make_troubled


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return synthetic.write_campaign(tmp_path / "results" / "troubled", *make_troubled())


def test_every_form_lies_beside_the_folder_or_where_it_is_wanted(
    run: Path, shell: Shell, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "out"
    heard = shell.run("export", str(run), "--out", str(out))
    assert heard.status == shell.run("export", str(run)).status == 0
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    assert {"troubled.csv", "troubled.parquet"} <= files.keys()
    assert sorted(Path(line).name for line in heard.out.splitlines()) == sorted(files)
    assert files == {name: (run.parent / name).read_bytes() for name in files}
    assert "left out for pyperf, by cell and arm: " in heard.err
    assert "INVALID" in heard.err


def test_where_duckdb_is_missing_one_line_says_what_to_install_and_the_rest_is_written(
    run: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    heard = shell.run("export", str(run))
    assert heard.status == 0
    assert "DuckDB, which writes Parquet, is not installed; `make .venv/parquet.stamp`" in heard.err
    assert Path(heard.out.strip()).name == "troubled.csv"
