"""Planted in the driver's stand-in: memory that fails, waits for a reset or wears, and the driver's messages;
what a whole campaign says of each on its first screen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from suite.host.machine.lock import PLACE
from tests.gpu_runtime.machine import GpuMachine, drop_compiled

SOUND: Mapping[str, object] = {
    **dict.fromkeys(("memory_errors", "memory_errors_ever", "corrected_errors"), 0),
    "corrected_errors_ever": 12,
    **dict.fromkeys(("rows_remapped", "remapping_pending", "remapping_failed", "pcie_replays"), 0),
}

PLANTED: Mapping[str, tuple[Mapping[str, object], str, bool]] = {
    "nothing": ({}, "", False),
    "an error in each invocation": (
        {"memory_errors_later": 2},
        "4 of them in blocks 1, 2",
        True,
    ),
    "a pending remapping": ({"remapping_pending_later": 1}, "row remapping pending", True),
    "a T4's page": ({"pages_retired": 1, "retirement_pending": 1}, "page retirement pending", True),
    "off the bus": ({"xids": "79"}, "XID 79 (the GPU has fallen off the bus)", True),
    "a double error": ({"xids": "48"}, "XID 48 (an error of memory", True),
    "a page fault": ({"xids": "31"}, "", False),
    "errors that are corrected": ({"corrected_errors_later": 5}, "ECC corrected 10 errors", False),
}


WORDS = ("--engine", "local", "--arms", "cuda", "--profile", "smoke", "--blocks", "2")
WORDS += ("--only", "overhead.eager_op")


@pytest.fixture(scope="module", autouse=True)
def compiled(healthy: GpuMachine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The results of a campaign that fills the compile cache: what befalls a GPU, a first block that is
    measured again would have twice."""
    drop_compiled()
    folder = tmp_path_factory.mktemp("compiled")
    words = (*WORDS, "--results", str(folder / "results"))
    done = healthy.suite("bench", *words, **{PLACE: str(folder)})
    assert done.returncode == 0, done.stderr[-2000:]
    yield folder / "results"
    drop_compiled()


def test_a_first_block_in_which_the_driver_compiled_is_measured_again(compiled: Path) -> None:
    (report,) = compiled.glob("*/report.md")
    documents = {path.name for path in report.parent.glob("cuda-*.json")}
    assert documents == {"cuda-01.json", "cuda-01-r1.json", "cuda-02.json"}
    told = (
        "invocation 0 of block 1 is excluded: the GPU's driver compiled kernels meanwhile; a repeat"
    )
    assert told in report.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PLANTED)
def test_a_campaign_tells_what_befalls_its_gpu(
    name: str, machine: GpuMachine, tmp_path: Path
) -> None:
    plants, said, is_unsound = PLANTED[name]
    machine.plant(**{**SOUND, **plants})
    results = tmp_path / "results"
    done = machine.suite("bench", *WORDS, "--results", str(results), **{PLACE: str(tmp_path)})
    assert done.returncode == 0, done.stderr[-2000:]
    (page,) = results.glob("*/brief.md")
    brief = " ".join(page.read_text(encoding="utf-8").split())
    assert said in brief
    assert ("UNSOUND MACHINE" in brief.partition("Campaign")[0]) is is_unsound
    summary = json.loads((page.parent / "summary.json").read_text())
    assert (summary["arms"]["cuda"]["health"]["xids"] == {}) is ("xids" not in plants)
