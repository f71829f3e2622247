"""From a stub of NVIDIA's library to the report: what each behaviour of a GPU does to the numbers.

The profiles are made up; the sampler, the joining, the judging and the report are the real ones.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from suite import codec
from suite.analysis.campaign.validity import asks_for_repeat, find_cell_disturbance, find_labels
from suite.analysis.documents.telemetry import join_document
from suite.analysis.result.campaign import Analysis
from suite.flags import KINDS
from suite.model import Document, Scalar
from tests import synthetic
from tests.fakes.nvml import (
    BRAKED,
    CAPPED,
    CUT,
    DUMB,
    ELSEWHERE,
    HEALTHY,
    HOT,
    LOST,
    SHARED,
    Profile,
)
from tests.host.telemetry.watching import watch
from tests.rendering import render_markdown, study

pytestmark = pytest.mark.simulated

EVERY_S = 0.25
INSIDE: dict[str, Scalar] = {"gpu.0.name": "NVIDIA Made-Up 100", "gpu.0.pci": "0000:81:00.0"}
"""What the worker saw of the GPU that it computed on."""

UNCOUNTED = {"nvmlDeviceGetViolationStatus": 3}
"""As consumer GPUs: how long the clocks were held back is not counted, only sampled."""


CELLS = [cell for cell in synthetic.make_cells() if cell.scenario in {"matmul", "mlp"}]
CAMPAIGN = synthetic.make_campaign(blocks=6, cells=CELLS)
DOCUMENTS = synthetic.make_documents(CAMPAIGN, samples=60, calibration=False)
CUDA = next(document for document in DOCUMENTS if document.invocation.arm == "cuda")


def run(
    document: Document,
    root: Path,
    profile: Profile,
    *,
    later: Profile | None = None,
    after_s: float = 0.0,
    wanted: str = "0",
    inside: dict[str, Scalar] | None = None,
) -> Document:
    """The document with what the sampler tells of such a GPU, from before its start to its end."""
    ended = document.invocation.ended
    assert ended is not None
    started = document.invocation.started - timedelta(seconds=1)
    looks = int((ended - started).total_seconds() / EVERY_S) + 4
    seen = watch(root, profile, wanted=wanted, looks=looks, later=later, after_s=after_s)
    facts = {name: v for name, v in document.facts.items() if not name.startswith("gpu.0.")}
    return replace(
        document,
        facts={**facts, **(INSIDE if inside is None else inside)},
        telemetry=replace(seen, started=started),
        absent={},
    )


@pytest.mark.parametrize(
    ("profile", "fault", "label"),
    [
        (HEALTHY, None, None),
        (HOT, "gpu-slowdown", None),
        (replace(HEALTHY, held_by_heat=0.02), "gpu-slowdown", None),
        (replace(HEALTHY, held_by_heat=0.005), None, None),
        (BRAKED, "gpu-slowdown", None),
        (replace(HEALTHY, reasons=0x8), "gpu-slowdown", None),
        (replace(HEALTHY, reasons=0x20, failing=UNCOUNTED), "gpu-slowdown", None),
        (replace(HEALTHY, reasons=0x40, failing=UNCOUNTED), "gpu-slowdown", None),
        (CAPPED, None, "power-capped"),
        (replace(HEALTHY, reasons=0x4, failing=UNCOUNTED), None, "power-capped"),
        (SHARED, "gpu-shared", None),
        # Another GPU's process is nobody's business.
        (replace(HEALTHY, there=(200,)), None, None),
        (DUMB, None, None),
    ],
)
def test_what_a_gpu_does_stands_beside_its_numbers_or_against_them(
    profile: Profile, fault: str | None, label: str | None, tmp_path: Path
) -> None:
    joined = join_document(run(CUDA, tmp_path, profile))
    assert {find_cell_disturbance(cell) for cell in joined.cells} == {fault}
    found = {code for cell in joined.cells for code, _ in find_labels(cell)}
    assert found == (set() if label is None else {label})
    assert (asks_for_repeat(joined) is None) is (fault is None)


OTHER = {**INSIDE, "gpu.0.pci": "0000:c1:00.0"}
SILENT = replace(CUT, failing={"nvmlDeviceGetComputeRunningProcesses": 4})
ON_SLICE = {**INSIDE, "gpu.0.name": "NVIDIA Made-Up 100 MIG 1g.10gb+me"}
MINE, NEXT = (codec.hash_uuid(f"{index}aaaaaaa-2222-3333-4444-555555555555") for index in (1, 3))


@pytest.mark.parametrize(
    ("profile", "wanted", "inside", "named"),
    [
        (HEALTHY, "0", INSIDE, True),
        (HEALTHY, "0", {}, True),
        (DUMB, "0", INSIDE, True),
        (DUMB, "0", {**INSIDE, "gpu.0.pci": None}, None),
        (ELSEWHERE, "0", INSIDE, False),
        (HEALTHY, "0", OTHER, False),
        (HEALTHY, "0", {**INSIDE, "gpu.0.name": "NVIDIA Another 9"}, False),
        (DUMB, "0", OTHER, False),
        # An instance is told from its neighbour.
        (SILENT, "0:1", {**ON_SLICE, "gpu.0.uuid": MINE}, True),
        (SILENT, "0:1", {**ON_SLICE, "gpu.0.uuid": NEXT}, False),
    ],
)
def test_the_workers_gpu_is_the_one_that_was_named_and_watched(
    profile: Profile, wanted: str, inside: dict[str, Scalar], named: bool | None, tmp_path: Path
) -> None:
    joined = join_document(run(CUDA, tmp_path, profile, wanted=wanted, inside=inside))
    assert joined.telemetry is not None
    assert joined.telemetry.facts["gpu.is_named"] is named


def test_a_gpu_that_is_lost_half_way_is_unknown_from_there_on(tmp_path: Path) -> None:
    half = CUDA.cells[len(CUDA.cells) // 2]
    assert half.started is not None
    after_s = (half.started - CUDA.invocation.started).total_seconds() + 1
    joined = join_document(run(CUDA, tmp_path, HOT, later=LOST, after_s=after_s))
    assert joined.telemetry is not None
    assert joined.telemetry.absent["gpu.clock_sm_mhz"] == "GPU is lost"
    before, behind = joined.cells[0].evidence, joined.cells[-1].evidence
    assert "gpu.slowdown_share" in before
    for name in (
        "gpu.slowdown_share",
        "gpu.mean_power_w",
        "gpu.other_processes",
        "gpu.clock_sm_mhz",
    ):
        assert name not in behind
    assert find_cell_disturbance(joined.cells[0]) == "gpu-slowdown"
    assert find_cell_disturbance(joined.cells[-1]) is None


def test_counters_that_begin_anew_tell_nothing_of_that_time(tmp_path: Path) -> None:
    half = CUDA.cells[len(CUDA.cells) // 2]
    assert half.started is not None
    assert half.ended is not None
    middle = half.started + (half.ended - half.started) / 2
    after_s = (middle - CUDA.invocation.started).total_seconds() + 1
    joined = join_document(
        run(CUDA, tmp_path, HEALTHY, later=replace(HEALTHY, reset=True), after_s=after_s)
    )
    hit = {cell.id: cell.evidence for cell in joined.cells}
    assert "gpu.mean_power_w" not in hit[half.id]
    # The samples tell still; only the counters do not.
    assert hit[half.id]["gpu.capped_share"] == 0.0
    assert hit[joined.cells[0].id]["gpu.mean_power_w"] == pytest.approx(250.0)


def report(root: Path, *blocks: int, **how: object) -> Analysis:
    """The campaign with such a GPU in these blocks, and a healthy one in the others."""
    documents = []
    for document in DOCUMENTS:
        if document.invocation.arm == "cuda":
            bad = document.invocation.block in blocks
            documents.append(run(document, root, **(how if bad else {"profile": HEALTHY})))  # type: ignore[arg-type]
        else:
            documents.append(document)
    return study(CAMPAIGN, documents)


EVERY = range(1, 7)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"profile": HOT}, "gpu-slowdown"),
        ({"profile": SHARED}, "gpu-shared"),
        ({"profile": HEALTHY, "inside": OTHER}, "gpu-other"),
    ],
)
def test_the_report_shows_no_such_number_as_valid(
    how: dict[str, object], said: str, tmp_path: Path
) -> None:
    summary = report(tmp_path, *EVERY, **how)
    for cell in summary.cells:
        assert cell.arms["cuda"].invalid
    text = render_markdown(summary)
    assert "INVALID" in text
    assert KINDS[said].text in text


def test_the_report_says_power_capped_and_keeps_the_number(tmp_path: Path) -> None:
    summary = report(tmp_path, *EVERY, profile=CAPPED)
    assert all(cell.arms["cuda"].invalid == () for cell in summary.cells)
    assert "power-capped" in render_markdown(summary)


def test_the_report_says_what_an_instance_can_not_tell_and_why(tmp_path: Path) -> None:
    cut = render_markdown(report(tmp_path, *EVERY, profile=CUT, wanted="0:1", inside={}))
    unknown = re.search(r"gpu\.power_w[^()]* \((told of the whole GPU alone, .*?)\)", cut)
    assert unknown
    assert unknown[1] == "told of the whole GPU alone, of which this MIG instance is a part"
    assert "Table: energy on cuda" not in cut
