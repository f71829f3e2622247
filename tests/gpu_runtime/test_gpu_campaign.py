"""A whole campaign on the stand-in, through `make bench`'s own command, to the report."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from suite.content import SUITE
from suite.host.local.engine import HOME
from tests.gpu_runtime.build import VERSION
from tests.gpu_runtime.machine import GpuMachine, list_troubles

REAL = Path(os.environ.get("VIRTUAL_ENV") or SUITE.parent / ".venv") / "bin" / "python"


@pytest.fixture(scope="module")
def campaign(healthy: GpuMachine) -> Iterator[Path]:
    """The folder of a quick campaign of both arms."""
    results = healthy.folder / "results"
    words = [
        *(REAL, "-m", "suite", "bench", "--engine", "local", "--arms", "cpu cuda"),
        *("--profile", os.environ.get("GPU_RUNTIME_PROFILE", "smoke"), "--blocks", "1"),
        *("--results", results),
    ]
    variables = {**os.environ, "PYTHONPATH": str(SUITE.parent)}
    done = healthy.run(words, variables)
    (folder,) = [path for path in results.iterdir() if path.is_dir()]
    troubles = list_troubles(folder)
    # What neighbours took of the CPU in this very minute is no fault of ours.
    assert done.returncode == bool(troubles), done.stderr[-3000:]
    assert troubles <= {"steal"}
    yield folder
    # The local engine keeps what a driver compiled, of this one as of any.
    for cache in HOME.glob(f"*compile-cache-{VERSION}"):
        shutil.rmtree(cache)


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
