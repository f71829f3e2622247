"""Several GPUs in one campaign: each is an arm, and the report says which of them is odd."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.documents.read import read_summary
from suite.analysis.result.campaign import Analysis
from suite.model import Arm, Check, Document, on_device
from suite.report.produce import build_report
from tests.gpus import hash_gpu, make_gpus, rename
from tests.rendering import load, render_markdown

PRODUCT = "matmul.square/n=1000/precision=fp32/operands=device/xla=off"
SLOW = {"0": 1.0, "1": 1.0, "2": 1.08}


def study(factors: Mapping[str, float] = SLOW, **how: Any) -> Analysis:
    return analyse(load(*make_gpus(factors, **how)))


@pytest.fixture(scope="module")
def found() -> Analysis:
    """GPU 2 takes 8 % more time than the others."""
    return study(blocks=10)


def of_gpus(analysis: Analysis) -> dict[str, str]:
    cell = next(cell for cell in analysis.cells if cell.id == PRODUCT)
    return {arm: one.verdict.name for arm, one in cell.gpus.items() if one.verdict}


def test_a_slower_gpu_is_told_from_its_equals(found: Analysis) -> None:
    assert list(found.arms) == ["cpu", "cuda:0", "cuda:1", "cuda:2"]
    assert of_gpus(found) == {"cuda:1": "EQUIVALENT", "cuda:2": "SLOWER"}
    (view,) = found.by_gpu
    assert (view.base, view.others) == ("cuda:0", ["cuda:1", "cuda:2"])
    ratio = next(cell for cell in view.cells if cell.id == PRODUCT).ratios["cuda:2"]
    assert getattr(ratio, "value", None) == pytest.approx(1.08, rel=0.01)
    # Against the base each has what it has in any campaign of several arms.
    assert set(found.cells[0].comparisons) == {"cuda:0", "cuda:1", "cuda:2"}
    assert (found.cpu, found.gpu) == ("cpu", "cuda:0")


def test_where_a_gpu_is_the_base_of_all_nothing_is_compared_twice(found: Analysis) -> None:
    alone = study(cpu=False, blocks=10)
    assert alone.by_gpu == []
    assert all(not cell.gpus for cell in alone.cells)
    (view,) = found.by_gpu
    for cell, same in zip(alone.cells, view.cells, strict=True):
        for arm in ("cuda:1", "cuda:2"):
            assert cell.comparisons[arm].ratio == same.comparisons[arm].ratio


def test_the_report_names_the_gpus_and_the_odd_one(found: Analysis) -> None:
    text = render_markdown(found)
    assert text.startswith("# Crossover: cuda:0, cuda:1, cuda:2 against cpu")
    for told in (
        "3 × Made-Up Accelerator",
        "GPUs: cuda:0 is GPU 0, Made-Up Accelerator (#",
        "Causes and improvements are about cuda:0.",
        "cells of work cuda:1 is shown to differ from cuda:0 in none",
        "cells of work cuda:2 is faster than cuda:0 in 0 and slower in 7",
        " cuda:2 against cuda:0 |",
        " cuda:2 beside cuda:0 is ",
        "Verdicts of cuda:2 against cuda:0: ",
    ):
        assert told in text, told


def test_the_summary_alone_gives_the_same_report(found: Analysis) -> None:
    files = build_report(found).files
    again = build_report(read_summary(files["summary.json"])).files
    assert again["report.md"] == files["report.md"]


@pytest.mark.parametrize("profile", ["smoke", "standard"])
def test_what_another_gpu_computed_is_no_number_of_the_arm(profile: Any) -> None:
    def swap(document: Document) -> Document:
        """What lies there under cuda:1 is of GPU 0."""
        if document.invocation.arm != "cuda:1":
            return document
        return replace(document, facts={**document.facts, "gpu.0.uuid": hash_gpu("0")})

    found = study({"0": 1.0, "1": 1.0}, profile=profile, change=swap)
    for cell in found.cells:
        assert cell.arms["cuda:1"].value is None
    assert of_gpus(found) == {}
    assert "it is another GPU's than the arm's" in render_markdown(found)


def test_a_gpu_on_which_a_version_computes_otherwise_is_compared_in_no_such_cell() -> None:
    """Both keep their numbers, since arms of versions need not agree; they have no ratio."""
    plan, documents = make_gpus({"0": 1.0, "1": 1.0}, blocks=10)
    older = [
        on_device(Arm(name="cuda@2.20", image="cuda@2.20", gpu=True), device, hash_gpu(device))
        for device in "01"
    ]
    plan = replace(
        plan,
        arms=[*plan.arms, *(arm.name for arm in older)],
        calls={**plan.calls, **{arm.name: plan.calls["cuda:0"] for arm in older}},
        every_arm=[*plan.every_arm, *older],
    )
    for arm in older:
        like = [each for each in documents if each.invocation.arm == f"cuda:{arm.device}"]
        documents += rename(like, arm, plan)

    def sum_up(document: Document) -> Document:
        """On one arm something else comes out of one cell."""
        if document.invocation.arm != "cuda@2.20:1":
            return document
        check = Check(what="a sum", value=43.0, tolerance=1e-6)
        cells = [replace(c, check=check) if c.id == PRODUCT else c for c in document.cells]
        return replace(document, cells=cells)

    found = analyse(load(plan, list(map(sum_up, documents))))
    for cell in found.cells:
        assert all(result.value for result in cell.arms.values())
        flag = cell.gpus["cuda@2.20:1"].no_ratio
        assert (flag and flag.code) == ("results-differ" if cell.id == PRODUCT else None)
    assert of_gpus(found) == {"cuda:1": "EQUIVALENT"}


def test_a_gpu_that_tells_no_uuid_is_not_held_against_it() -> None:
    def hush(document: Document) -> Document:
        return replace(document, facts={**document.facts, "gpu.0.uuid": None})

    found = study({"0": 1.0, "1": 1.0}, change=hush)
    assert all(cell.arms["cuda:1"].value for cell in found.cells)
    assert "cuda:1 is GPU 1, Made-Up Accelerator." in render_markdown(found)
