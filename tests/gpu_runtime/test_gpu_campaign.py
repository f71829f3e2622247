"""A whole campaign on the stand-in, through `make bench`'s own command, to the report."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gpu_runtime.machine import GpuMachine, drop_compiled, list_troubles


@pytest.fixture(scope="module")
def campaign(healthy: GpuMachine) -> Iterator[Path]:
    """The folder of a quick campaign of both arms."""
    results = healthy.folder / "results"
    done = healthy.suite(
        *("bench", "--engine", "local", "--arms", "cpu cuda", "--blocks", "1"),
        *("--profile", os.environ.get("GPU_RUNTIME_PROFILE", "smoke"), "--results", results),
    )
    (folder,) = [path for path in results.iterdir() if path.is_dir()]
    troubles = list_troubles(folder)
    # What neighbours took of the CPU in this very minute is no fault of ours.
    assert done.returncode == bool(troubles), done.stderr[-3000:]
    assert troubles <= {"steal"}
    yield folder
    drop_compiled()


def test_every_cell_of_the_gpu_is_measured_and_has_no_number_in_the_report(campaign: Path) -> None:
    document = json.loads((campaign / "cuda-01.json").read_text())
    outcomes = {cell["id"]: cell["outcome"] for cell in document["cells"]}
    outcomes.pop("overhead.container", None)
    assert set(outcomes.values()) == {"measured"}
    summary = json.loads((campaign / "summary.json").read_text())
    assert "stand-in" in {one["code"] for one in summary["flags"]}
    numbers = {
        (cell["id"], arm): one.get("value")
        for cell in summary["cells"]
        for arm, one in cell["arms"].items()
    }
    assert {value for (_, arm), value in numbers.items() if arm == "cuda"} == {None}
    assert any(value is not None for (_, arm), value in numbers.items() if arm == "cpu")


def test_the_report_says_in_its_title_that_it_is_simulated(campaign: Path) -> None:
    report = (campaign / "report.md").read_text()
    assert "SIMULATED" in report.splitlines()[0]
    assert "with no GPU behind it" in report
    assert " faster" not in report.split("## ")[1]
