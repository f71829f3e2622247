"""Whole synthetic campaigns, written as documents and read by the real analysis."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.analyse import look
from suite.cells.cell import Cell, Link, Work
from suite.model import Campaign, Document
from tests import synthetic
from tests.changes import invoke, plant
from tests.fakes.hosts import HOSTS, TYPICAL, Host
from tests.rendering import report_folder

SIZES = (10, 32, 100, 320, 1000, 3200)
SLOW = frozenset(range(5))
"""The twelve fillers of which these are planted 10 % slower on the other arm."""


def make_cells() -> list[Cell]:
    """A sweep that crosses over, the known extra work, an input-only cell, and twelve fillers."""
    sweep = [
        synthetic.make_cell(
            "matmul", "square", {"n": n}, Work(amount=2.0 * n**3, unit="FLOP"), sweep="n"
        )
        for n in SIZES
    ]
    work = Work(amount=2e9, unit="FLOP")
    honest = Link(to="matmul.square/n=1000", words="")
    extra = synthetic.make_cell(
        "matmul", "extra", {"n": 1000}, work, extra_work=0.05, links={"honest": [honest]}
    )
    element = Work(amount=32.0, unit="element")
    fillers = [
        synthetic.make_cell("mlp", "train", {"batch": batch}, Work(amount=1.0, unit="example"))
        for batch in range(12)
    ]
    return [
        *sweep,
        extra,
        synthetic.make_cell("tfdata", "slices", {"batch": 32}, element),
        *fillers,
    ]


def truth(cell: Cell, arm: str) -> float:
    """A GPU that pays 200 µs a call and multiplies 100 times as fast; else both are the same."""
    seconds = 1e-3
    if cell.scenario == "matmul":
        rate, call = (1e13, 200e-6) if arm == "cuda" else (1e11, 20e-6)
        more = 1.05 if cell.case == "extra" else 1.0
        seconds = more * (call + cell.work.amount / rate)
    elif cell.case == "train" and arm == "cuda" and cell.params["batch"] in SLOW:
        seconds *= 1.1
    return seconds


def make(
    host: Host, *, blocks: int = 10, seed: int = 8, samples: int = 70
) -> tuple[Campaign, list[Document]]:
    campaign = synthetic.make_campaign(cells=make_cells(), blocks=blocks, seed=seed)
    sizes: Any = {"truth": truth, "host": host, "samples": samples, "warmup": 30}
    names = [cell.id for cell in campaign.cells[:12]]
    documents = synthetic.make_documents(campaign, calibration=False, **sizes)
    twins = synthetic.make_twins(campaign, names=names, **sizes)
    other = replace(campaign, arms=["cpu"], seed=seed + 1)
    hidden = [
        replace(
            invoke(arm="cuda-hidden")(document),
            cells=document.cells[:12],
            campaign=documents[0].campaign,
        )
        for document in synthetic.make_documents(other, calibration=False, **sizes)
    ]
    return campaign, [*documents, *twins, *hidden]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write_campaign(tmp_path_factory.mktemp("typical"), *make(TYPICAL))


def test_a_noisy_machine_says_so_and_its_own_intervals_explain_it(tmp_path: Path) -> None:
    noisy = replace(TYPICAL, between=0.08)
    files = report_folder(synthetic.write_campaign(tmp_path, *make(noisy, blocks=5))).files
    summary = json.loads(files["summary.json"])
    assert summary["noise_floor"] > 0.03
    assert summary["margin"] < summary["noise_floor"] / 2
    assert f"Noise floor: {100 * summary['noise_floor']:.1f} %" in files["report.md"]


def test_what_the_twins_intervals_do_not_explain_widens_the_margin(tmp_path: Path) -> None:
    """Second invocations that are slower by 6 % as such: no interval of a cell knows of that."""
    campaign, documents = make(TYPICAL, blocks=5)

    def slow(document: Document) -> Document:
        cells = [
            replace(cell, samples_s=[1.06 * s for s in cell.samples_s], warmup_s=[])
            for cell in document.cells
        ]
        return replace(document, cells=cells)

    changed = plant(plant(documents, slow, "cpu-twin"), slow, "cuda-twin")
    files = report_folder(synthetic.write_campaign(tmp_path, campaign, changed)).files
    summary = json.loads(files["summary.json"])
    assert 0.04 < summary["margin"] < 0.08
    assert summary["margin"] == summary["noise_unexplained"]
    assert f"beyond their own intervals it is {100 * summary['margin']:.1f} %" in files["report.md"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("warming up", "warmup"), ("slowing down", "slowdown"), ("stepping late", "unsteady")],
)
def test_the_report_tells_how_the_samples_went(tmp_path: Path, name: str, kind: str) -> None:
    files = report_folder(synthetic.write_campaign(tmp_path, *make(HOSTS[name], blocks=3))).files
    counts = [cell["arms"]["cpu"]["steady"] for cell in json.loads(files["summary.json"])["cells"]]
    assert sum(each.get(kind, 0) for each in counts) > 0.9 * 3 * len(counts)
    assert ("no steady state in most blocks" in files["report.md"]) == (kind == "unsteady")


def test_a_look_sees_how_precise_a_campaign_is(folder: Path, tmp_path: Path) -> None:
    assert len(look(folder, 10, fewest=5, most=20).precise) == 20
    noisy = replace(TYPICAL, between=0.1)
    other = synthetic.write_campaign(tmp_path, *make(noisy, blocks=5))
    precision = look(other, 5, fewest=5, most=10)
    # The ends of the sweep have a clear winner, which is all that more blocks could tell.
    assert 0 < len(precision.precise) < len(precision.wanted) == 20
    assert {precision.wanted[name] for name in precision.precise} == {5}
    assert max(precision.wanted.values()) == 10
