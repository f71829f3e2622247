"""The page of evidence: every sample, what counted and why the rest did not, and how to measure it again."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tinyhtml5.parser import HTMLParser

from suite.analysis.receipt import find_receipt
from suite.report.pages.receipt import explain_excluded, write_bench
from suite.report.pictures.samples import depict_samples
from suite.report.text.names import name_receipt
from suite.worker import scenarios
from tests import synthetic
from tests.changes import drop, plant, watch
from tests.cli.shell import Shell, complaint, well
from tests.golden_campaigns import make_troubled, make_two_arms

CELL = "matmul.square/n=1000/precision=fp32/operands=device/xla=off"


@pytest.fixture
def troubled(tmp_path: Path) -> Path:
    return synthetic.write_campaign(tmp_path / "troubled", *make_troubled())


def test_every_cell_has_a_receipt_of_its_own() -> None:
    ids = [cell.id for cell in scenarios.cells()]
    assert len(set(map(name_receipt, ids))) == len(ids)
    assert name_receipt("overhead.fence") == "df4ba7"


def test_every_row_of_the_report_names_its_receipt(honest: Path, shell: Shell) -> None:
    report = (honest / "report.md").read_text(encoding="utf-8")
    ids = re.findall(r"^\| matmul\.square/.* \| ([0-9a-f]{6}) +\|$", report, re.MULTILINE)
    assert ids.count(name_receipt(CELL)) == 1
    for receipt in [*dict.fromkeys(ids)][:2]:
        heard = well(shell.run("defend", str(honest), receipt))
        assert f"Receipt {receipt}." in heard.out


def test_the_page_tells_of_every_invocation(honest: Path, shell: Shell) -> None:
    page = shell.run("defend", str(honest), CELL).out
    assert page.startswith(f"# How do you know? {CELL} — SIMULATED\n")
    rows = re.findall(
        r"^\| (cpu|cuda) +\| (\d) +\| +(\S+ \S+)( \[\^\d+\])? +\|.*$", page, re.MULTILINE
    )
    assert [(arm, block, bool(mark)) for arm, block, _, mark in rows] == [
        (arm, str(block), block == 0) for arm in ("cpu", "cuda") for block in range(4)
    ]
    assert "the calibration, which finds the calls in a sample and never counts" in page
    assert "- under 50 samples in 3 of 3 blocks" in page
    for part in ("nodes seen: 3 on GPU:0", "verified: a sum", f"sha256:{'a' * 64}", "2.21.0"):
        assert part in page


def test_its_commands_measure_the_same_cell_again(honest: Path, shell: Shell) -> None:
    page = shell.run("defend", str(honest), CELL).out
    lines = [line.strip() for line in page.splitlines() if line.startswith("    ")]
    cpu, cuda, bench = map(shlex.split, lines)
    assert cpu == [
        *("docker", "run", "--rm", "--network=none", "--cpuset-cpus=0-3", f"sha256:{'a' * 64}"),
        *("measure", "--warmup=0.3", "--measure=0.7", f"{CELL}@10"),
    ]
    assert cuda[5:8] == ["--gpus=all", f"sha256:{'c' * 64}", "measure"]
    assert "--gpu" in cuda
    assert bench == ["make", "bench", "PROFILE=standard", f"ONLY={CELL}", "SEED=7"]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (
            "make bench ARMS='cpu cpu' ONLY='a b' LABEL=x PRICE=1",
            "make bench ARMS='cpu cpu' ONLY=c.d/n=1 SEED=3",
        ),
        (
            "make bench BUDGET=20m BASE_IMAGE='a b' SEED=9",
            "make bench BASE_IMAGE='a b' ONLY=c.d/n=1 SEED=3",
        ),
        ("no 'quote", "make bench ONLY=c.d/n=1 SEED=3"),
        ("", "make bench ONLY=c.d/n=1 SEED=3"),
    ],
)
def test_the_campaigns_command_is_narrowed_to_the_cell(command: str, line: str) -> None:
    assert write_bench(command, 3, "c.d/n=1") == line


def test_what_does_not_count_says_why(troubled: Path) -> None:
    analysis, (receipt,), _ = find_receipt(troubled, lambda _: [CELL])
    whys = explain_excluded(analysis, receipt)
    assert {name: why for name, why in whys.items() if why} == {
        "cpu-02.json": ("interrupted", "cpu: the image changed during the campaign")
    }
    picture = depict_samples(analysis, receipt, whys)
    assert picture is not None
    strips = picture.content
    assert isinstance(strips, dict)
    assert [(strip.label, strip.counts) for strip in strips["cpu"]] == [
        *(("1", True), ("2", False), ("2-r1", True), ("3", True)),
    ]
    assert strips["cpu"][1].value is None


def test_what_the_machine_did_meanwhile_is_there(tmp_path: Path, shell: Shell) -> None:
    plan, documents = make_two_arms()
    series = {"gpu.clock_sm_mhz": [1980.0, 1980.0], "gpu.temperature_c": [61.0, 63.0]}
    documents[-1] = watch({"gpu.name": "Made-Up GPU"}, series)(documents[-1])
    folder = synthetic.write_campaign(tmp_path / "watched", plan, documents)
    page = shell.run("defend", str(folder), "overhead.fence").out
    (table,) = re.findall(r"the machine while this cell ran.*?\n\n(.*?)\n\n", page, re.DOTALL)
    assert "GPU clock, MHz" in table
    assert "1980" in table
    assert "63" in table


def test_a_cell_without_any_sample_has_a_page_without_a_picture(
    tmp_path: Path, shell: Shell, drawing: None
) -> None:
    cell = "matmul.square/n=100/precision=fp32/operands=device/xla=off"
    plan, documents = make_troubled()
    documents = plant(documents, drop(cell), "cpu")
    troubled = synthetic.write_campaign(tmp_path / "troubled", plan, documents)
    well(shell.run("defend", str(troubled), cell, "--out", str(tmp_path / "out")))
    assert not (tmp_path / "out" / "plots").exists()
    assert "It was measured nowhere." in next((tmp_path / "out").glob("*.md")).read_text()


def test_the_page_is_written_with_its_picture(
    honest: Path, tmp_path: Path, shell: Shell, drawing: None
) -> None:
    out = tmp_path / "out"
    well(shell.run("defend", str(honest), CELL, "--out", str(out)))
    name = f"defend-{name_receipt(CELL)}"
    files = {f"{name}.md", f"{name}.html", f"plots/{name}.svg", f"plots/{name}.png"}
    assert {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()} == files
    html = (out / f"{name}.html").read_text(encoding="utf-8")
    parser = HTMLParser()
    parser.parse(html)
    assert parser.errors == []
    assert "data:image/svg+xml;base64," in html


def test_a_bundle_is_defended_as_its_folder_is(honest: Path, shell: Shell) -> None:
    bundle = well(shell.run("bundle", str(honest))).out.split()[1]
    rows = [
        [line for line in well(shell.run("defend", str(run), CELL)).out.splitlines() if "|" in line]
        for run in (honest, bundle)
    ]
    assert rows[0]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("cell", ["matmul", "nope", "MATMUL.square"])
def test_a_cell_that_is_not_there_is_a_usage_error_with_those_that_are(
    cell: str, honest: Path, shell: Shell
) -> None:
    heard = shell.run("defend", str(honest), cell)
    assert f"CELL={cell}: no cell of this campaign" in complaint(heard, 2)
    assert (CELL in heard.err) == (cell != "nope")


def test_what_is_kept_going_has_no_receipt_and_it_is_said_where_it_is(
    honest: Path, shell: Shell
) -> None:
    heard = shell.run("defend", str(honest), "sustain.copy")
    assert "CELL=sustain.copy is kept going" in complaint(heard, 2)
    assert "What is left when hot" in heard.err


def test_a_cell_on_some_cpus_is_measured_again_on_these(tmp_path: Path, shell: Shell) -> None:
    cells = [cell for cell in scenarios.cells() if cell.cpus in {1, 2}]
    campaign = synthetic.make_campaign(arms=["cpu"], cells=cells, blocks=1)
    documents = synthetic.make_documents(campaign)
    for document in documents:
        for container in document.invocation.containers[1:]:
            container.facts["cpu.set"] = "0,4" if container.facts["cpu.usable"] == 2 else "0"
    folder = synthetic.write_campaign(tmp_path / "feed", campaign, documents)
    for cpus, on in ((1, "0"), (2, "0,4")):
        cell = next(c.id for c in cells if c.cpus == cpus and c.params["part"] == "step")
        page = shell.run("defend", str(folder), cell).out
        assert f"--cpuset-cpus={on} " in page
        assert f" measure --warmup=0.3 --measure=0.7 {cell}@10" in page
