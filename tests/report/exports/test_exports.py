"""Every export is read by the program, or the published grammar or schema, that it is for."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from datetime import timezone
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import pyperf
import pytest
from msgspec import structs
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from suite.analysis.observations import COLUMNS, name_machine
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult
from suite.report.exports.formats import EXPORTS, WHOLE
from suite.report.exports.numbers import count_left_out
from tests.commands import run, run_python
from tests.golden_campaigns import NAMES, analyse_golden
from tests.report.campaigns import HOSTILE, analyse_made, make_hostile

FOLDER = re.compile(r"[\w.-]+")


def campaigns() -> Iterator[Any]:
    for name in NAMES:
        yield pytest.param(analyse_golden(name), id=name)
    yield pytest.param(analyse_made("sweeps"), id="sweeps")


every = pytest.mark.parametrize("analysis", list(campaigns()))


def sound(analysis: Analysis) -> dict[tuple[str, str], ArmResult]:
    """What has a number that is to be believed, by cell and arm: from the values themselves."""
    return {
        (one.id, arm): result
        for one in analysis.cells
        for arm, result in one.arms.items()
        if result.value is not None and all(f.severity != "invalid" for f in result.flags)
    }


def export(analysis: Analysis, form: str) -> dict[str, bytes]:
    files = dict(EXPORTS[form](analysis))
    assert all(name.startswith(analysis.campaign.folder) for name in files)
    assert files == EXPORTS[form](analysis), "the same analysis, the same bytes"
    return files


def split(name: str) -> tuple[str, str]:
    """The cell and the arm of an exported name."""
    cell, _, arm = name.rpartition("/arm=")
    return bare(cell), arm


def bare(cell: str) -> str:
    """The cell's id without the banners behind it."""
    return re.sub(r"(/(SIMULATED|NOT-CONTAINERIZED|INVALID))+$", "", cell)


@every
def test_pyperf_reads_the_values_of_every_invocation(analysis: Analysis, tmp_path: Path) -> None:
    expected = sound(analysis)
    read = {}
    for name, content in export(analysis, "pyperf").items():
        (tmp_path / name).write_bytes(content)
        arm = name.removesuffix(".pyperf.json").rpartition("-")[2]
        suite = pyperf.BenchmarkSuite.load(str(tmp_path / name))
        for one in suite.get_benchmarks():
            assert one.get_unit() == "second"
            read[bare(one.get_name()), arm] = tuple(one.get_values())
    assert read == {key: tuple(one.values.values()) for key, one in expected.items()}


@pytest.mark.processes
def test_pyperf_compares_the_arms(tmp_path: Path) -> None:
    analysis = analyse_made("sweeps")
    for name, content in export(analysis, "pyperf").items():
        (tmp_path / name).write_bytes(content)
    files = [f"{analysis.campaign.folder}-{arm}.pyperf.json" for arm in ("cpu", "cuda")]
    for words in (("compare_to", *files, "--table"), ("stats", files[0]), ("metadata", files[0])):
        done = run_python("-m", "pyperf", *words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        if words[0] == "compare_to":
            (row,) = [x for x in done.stdout.splitlines() if "square/n=10000/" in x]
            assert "x faster" in row
            assert "SIMULATED" in row


KEY = re.compile(r"(?P<key>[a-z][^\sA-Z:]*):(?:[ \t]+(?P<value>.*))?")
UNIT = re.compile(r"Unit (?P<unit>\S+)(?: \S+=\S+)+")


def read_benchfmt(text: str) -> Iterator[tuple[str, dict[str, str], dict[str, float]]]:
    """The grammar of golang.org/design/14313-benchmark-format; a line that is none of it fails."""
    config: dict[str, str] = {}
    for line in text.splitlines():
        if found := KEY.fullmatch(line):
            config[found["key"]] = found["value"] or ""
        elif not UNIT.fullmatch(line):
            name, iterations, *pairs = line.split()
            after = name.removeprefix("Benchmark")
            assert after != name
            assert after[:1].isupper()
            assert int(iterations) > 0
            assert len(pairs) % 2 == 0
            assert len(pairs) >= 2
            yield (
                after,
                {k: v for k, v in config.items() if v},
                {unit: float(value) for value, unit in zip(pairs[::2], pairs[1::2], strict=True)},
            )


@every
def test_benchfmt_has_a_line_for_every_invocation(analysis: Analysis) -> None:
    ((_, content),) = export(analysis, "benchfmt").items()
    read: dict[tuple[str, str], list[float]] = {}
    for name, config, values in read_benchfmt(content.decode()):
        cell, arm = split(name)
        read.setdefault((cell.lower(), arm), []).append(values.pop("sec/op"))
        assert config["campaign"] == analysis.campaign.id
        assert config.get("driver") == next(
            iter(analysis.arms[arm].facts.get("gpu.driver", ())), None
        )
        assert len(values) == 1
    expected = sound(analysis)
    assert read == {
        (cell.lower(), arm): [*one.values.values()] for (cell, arm), one in expected.items()
    }


BMF: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {
                name: {"type": "number"} for name in ("value", "lower_value", "upper_value")
            },
            "required": ["value"],
            "additionalProperties": False,
        },
    },
    "propertyNames": {"minLength": 1, "maxLength": 1024},
}
"""As bencher.dev/docs/reference/bencher-metric-format publishes it; other measures are a mistake of ours."""


@every
def test_bencher_gets_nanoseconds(analysis: Analysis) -> None:
    ((_, content),) = export(analysis, "bencher").items()
    found = json.loads(content)
    jsonschema.validate(found, BMF)
    read = {split(name): one["latency"] for name, one in found.items()}
    assert set(read) == set(sound(analysis))
    for key, one in sound(analysis).items():
        told = [read[key].get(name) for name in ("value", "lower_value", "upper_value")]
        assert told == [None if x is None else x * 1e9 for x in (one.value, one.low, one.high)]


ACTION: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            **{name: {"type": "string"} for name in ("name", "unit", "range", "extra")},
            "value": {"type": "number"},
        },
        "required": ["name", "unit", "value"],
        "additionalProperties": False,
    },
}
"""As github.com/benchmark-action/github-action-benchmark describes its custom tools."""


@every
def test_github_gets_seconds_and_what_stands_beside_them(analysis: Analysis) -> None:
    ((_, content),) = export(analysis, "github").items()
    found = json.loads(content)
    jsonschema.validate(found, ACTION)
    read = {split(one["name"]): one for one in found}
    assert len(read) == len(found)
    for key, one in sound(analysis).items():
        assert read[key]["value"] == one.value
        ends = read[key].get("range")
        assert ends == (None if one.low is None else f"{one.low!r} to {one.high!r}")
        assert f"n = {one.n}" in read[key]["extra"]
    assert set(read) == set(sound(analysis))


@every
def test_openmetrics_is_read_by_prometheus_own_parser(analysis: Analysis) -> None:
    ((_, content),) = export(analysis, "openmetrics").items()
    families = {one.name: one for one in text_string_to_metric_families(content.decode())}
    for family, field in (("", "value"), ("low_", "low"), ("high_", "high")):
        samples = families[f"crossover_call_{family}seconds"].samples
        read = {(bare(one.labels["cell"]), one.labels["arm"]): one.value for one in samples}
        expected = {key: getattr(one, field) for key, one in sound(analysis).items()}
        assert read == {key: value for key, value in expected.items() if value is not None}
        at = {float(one.timestamp) for one in samples}
        assert at <= {analysis.campaign.created.timestamp()}
    assert len(families["crossover_campaign"].samples) == len(analysis.arms)


@pytest.mark.processes
@pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool (Debian: prometheus) is missing"
)
@every
def test_openmetrics_becomes_blocks_of_prometheus(analysis: Analysis, tmp_path: Path) -> None:
    ((name, content),) = export(analysis, "openmetrics").items()
    (tmp_path / name).write_bytes(content)
    words = ("tsdb", "create-blocks-from", "openmetrics", name, "blocks")
    done = run("promtool", *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr


@every
@pytest.mark.parametrize("form", WHOLE)
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
    assert len(table) == sum(len(one.arms) for one in analysis.cells)
    for cell in analysis.cells:
        for arm, one in cell.arms.items():
            own = table[cell.id, arm]
            assert {n: row["seconds"] for n, row in own.items() if row["seconds"]} == one.values
            assert set(own) == {*analysis.arms[arm].blocks, *one.values} or set(own) == {None}
            for row in own.values():
                assert (row["work"], row["unit"]) == (one.work.amount, one.work.unit)
                assert row["campaign"] == analysis.campaign.id
                assert row["machine"] == name_machine(analysis)
                assert row["created"].replace(tzinfo=timezone.utc) == analysis.campaign.created
                words = (row["flags"] or "").split()
                assert {flag.code for flag in one.flags} <= set(words)
                assert ("invalid" in words) >= bool(one.invalid)
                facts = analysis.arms[arm].facts.get("tensorflow.version", ())
                assert row["tensorflow"] == ("; ".join(map(str, facts)) or None)
                assert row["price_hourly"] == (analysis.price.hourly if analysis.price else None)
                assert "simulated" in words


def test_a_number_that_is_invalid_is_in_the_tables_alone_and_is_counted() -> None:
    analysis = analyse_golden("troubled")
    struck = [
        (cell.id, arm)
        for cell in analysis.cells
        for arm, one in cell.arms.items()
        if any(flag.severity == "invalid" for flag in one.flags)
    ]
    assert any(one.arms[arm].value for one in analysis.cells for _, arm in struck)
    assert count_left_out(analysis)["INVALID"] == len(struck)
    text = export(analysis, "github").popitem()[1].decode()
    whole = csv.DictReader(io.StringIO(export(analysis, "csv").popitem()[1].decode()))
    invalid = {(row["cell"], row["arm"]) for row in whole if "invalid" in row["flags"].split()}
    for cell, arm in struck:
        assert f'"{cell}/SIMULATED/arm={arm}"' not in text
        assert (cell, arm) in invalid


@pytest.mark.parametrize("form", EXPORTS)
def test_what_a_document_says_is_data_in_every_form(form: str) -> None:
    analysis = make_hostile(HOSTILE)
    ((_, content), *_) = export(analysis, form).items()
    if form == "openmetrics":
        assert list(text_string_to_metric_families(content.decode()))
    elif form == "benchfmt":
        assert list(read_benchfmt(content.decode()))
    elif form == "csv":
        assert not re.search(r"(?m)(^|,)\"?[=+@]", content.decode())
    elif form != "parquet":
        assert json.loads(content)
    if form != "parquet":
        assert b"\x1b" not in content


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
