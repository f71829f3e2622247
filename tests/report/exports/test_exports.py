"""Every export is read by the program that it is for, and holds what the analysis holds."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timezone
from pathlib import Path
from typing import Any

import duckdb
import pyperf
import pytest
from msgspec import structs

from suite.analysis.observations import COLUMNS, name_machine
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult
from suite.model import name_files
from suite.report.exports.formats import EXPORTS
from suite.report.exports.pyperf import count_left_out
from tests.commands import run_python
from tests.golden_campaigns import NAMES, analyse_golden
from tests.report.campaigns import HOSTILE, analyse_made, make_hostile

FOLDER = re.compile(r"[\w.-]+")
FORMS = {write.__name__.removeprefix("export_"): write for write in EXPORTS}


@pytest.fixture(params=[*NAMES, "sweeps"])
def analysis(request: pytest.FixtureRequest) -> Analysis:
    name: str = request.param
    return analyse_golden(name) if name in NAMES else analyse_made(name)


def sound(analysis: Analysis) -> dict[tuple[str, str], ArmResult]:
    """What has a number that is to be believed, by cell and arm: from the values themselves."""
    return {
        (cell.id, arm): result
        for cell in analysis.cells
        for arm, result in cell.arms.items()
        if result.value is not None and all(f.severity != "invalid" for f in result.flags)
    }


def export(analysis: Analysis, form: str) -> dict[str, bytes]:
    write = FORMS[form]
    files = dict(write(analysis))
    assert all(name.startswith(analysis.campaign.folder) for name in files)
    assert files == write(analysis), "the same analysis, the same bytes"
    return files


def bare(cell: str) -> str:
    """The cell's id without the banners behind it."""
    return re.sub(r"(/(SIMULATED|NOT-CONTAINERIZED|INVALID))+$", "", cell)


def test_pyperf_reads_the_values_of_every_invocation(analysis: Analysis, tmp_path: Path) -> None:
    expected = sound(analysis)
    plain = {name_files(arm): arm for arm in analysis.arms}
    read = {}
    for name, content in export(analysis, "pyperf").items():
        (tmp_path / name).write_bytes(content)
        named = name.removeprefix(f"{analysis.campaign.folder}-").removesuffix(".pyperf.json")
        arm = plain[named]
        suite = pyperf.BenchmarkSuite.load(str(tmp_path / name))
        for benchmark in suite.get_benchmarks():
            assert benchmark.get_unit() == "second"
            read[bare(benchmark.get_name()), arm] = tuple(benchmark.get_values())
    assert read == {key: tuple(result.values.values()) for key, result in expected.items()}


def test_a_file_of_a_versions_arm_has_a_name_that_every_file_system_takes() -> None:
    analysis = analyse_golden("two-arms")
    names = {"cpu": "cpu@2.20", "cuda": "cuda@2.16:1"}
    cells = tuple(
        structs.replace(cell, arms={names[arm]: result for arm, result in cell.arms.items()})
        for cell in analysis.cells
    )
    arms = {names[arm]: about for arm, about in analysis.arms.items()}
    files = export(structs.replace(analysis, arms=arms, cells=cells), "pyperf")
    start = analysis.campaign.folder
    assert list(files) == [f"{start}-cpu-2.20.pyperf.json", f"{start}-cuda-2.16-1.pyperf.json"]


@pytest.mark.processes
def test_pyperf_compares_the_arms(tmp_path: Path) -> None:
    analysis = analyse_made("sweeps")
    for name, content in export(analysis, "pyperf").items():
        (tmp_path / name).write_bytes(content)
    files = [f"{analysis.campaign.folder}-{arm}.pyperf.json" for arm in ("cpu", "cuda")]
    done = run_python("-m", "pyperf", "compare_to", *files, "--table", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = [line for line in done.stdout.splitlines() if "square/n=10000/" in line]
    assert "x faster" in row
    assert "SIMULATED" in row


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_has_every_cell_and_all_that_a_row_needs(
    analysis: Analysis, form: str, tmp_path: Path
) -> None:
    ((name, content),) = export(analysis, form).items()
    (tmp_path / name).write_bytes(content)
    path = str(tmp_path / name)
    types = {"created": "TIMESTAMP"}
    read = duckdb.read_csv(path, dtype=types) if form == "csv" else duckdb.read_parquet(path)
    rows = [dict(zip(read.columns, row, strict=True)) for row in read.fetchall()]
    assert tuple(read.columns) == COLUMNS
    table: dict[tuple[str, str], dict[int | None, Any]] = {}
    for row in rows:
        assert row["block"] not in table.setdefault((row["cell"], row["arm"]), {})
        table[row["cell"], row["arm"]][row["block"]] = row
    assert len(table) == sum(len(cell.arms) for cell in analysis.cells)
    for cell in analysis.cells:
        for arm, result in cell.arms.items():
            own = table[cell.id, arm]
            assert {n: row["seconds"] for n, row in own.items() if row["seconds"]} == result.values
            assert set(own) == {*analysis.arms[arm].blocks, *result.values} or set(own) == {None}
            for row in own.values():
                assert (row["work"], row["unit"]) == (result.work.amount, result.work.unit)
                assert row["campaign"] == analysis.campaign.id
                assert row["machine"] == name_machine(analysis)
                assert row["created"].replace(tzinfo=timezone.utc) == analysis.campaign.created
                words = (row["flags"] or "").split()
                assert {flag.code for flag in result.flags} <= set(words)
                assert ("invalid" in words) >= bool(result.invalid)
                facts = analysis.arms[arm].facts.get("tensorflow.version", ())
                assert row["tensorflow"] == ("; ".join(map(str, facts)) or None)
                assert row["price_hourly"] == (analysis.price.hourly if analysis.price else None)
                assert "simulated" in words


def test_a_number_that_is_invalid_is_in_the_tables_alone_and_is_counted() -> None:
    analysis = analyse_golden("troubled")
    results = {(cell.id, arm): r for cell in analysis.cells for arm, r in cell.arms.items()}
    struck = {
        key
        for key, result in results.items()
        if any(flag.severity == "invalid" for flag in result.flags)
    }
    assert any(results[key].value for key in struck)
    assert count_left_out(analysis)["INVALID"] == len(struck)
    rows = csv.DictReader(io.StringIO(export(analysis, "csv").popitem()[1].decode()))
    words = {(row["cell"], row["arm"]): row["flags"].split() for row in rows}
    assert struck <= {key for key, flags in words.items() if "invalid" in flags}


@pytest.mark.parametrize("form", FORMS)
def test_what_a_document_says_is_data_in_every_form(form: str) -> None:
    for content in export(make_hostile(HOSTILE), form).values():
        if form == "csv":
            assert not re.search(r"(?m)(^|,)\"?[=+@]", content.decode())
        if form == "pyperf":
            assert json.loads(content)
        assert form == "parquet" or b"\x1b" not in content


def test_machines_are_told_apart_by_their_parts_and_by_their_gpus() -> None:
    analysis = analyse_golden("two-arms")
    name = name_machine(analysis)
    assert FOLDER.fullmatch(name)
    other = structs.replace(analysis.machine, memory_bytes=2**40)
    assert name_machine(structs.replace(analysis, machine=other)) != name
    arms = dict(analysis.arms)
    arms["cuda"] = structs.replace(
        arms["cuda"], facts={**arms["cuda"].facts, "gpu.0.uuid": ("#12345678",)}
    )
    twin = name_machine(structs.replace(analysis, arms=arms))
    assert twin.startswith(name)
    assert twin != name
    hostile = structs.replace(analysis.machine, cpu=HOSTILE)
    assert FOLDER.fullmatch(name_machine(structs.replace(analysis, machine=hostile)))
