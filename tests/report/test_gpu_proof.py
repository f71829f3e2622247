"""What a document of the GPU's arm has to show, one thing after the other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite.model import CellResult, Document, Scalar
from suite.report.proof import (
    DEMANDS,
    disown_document,
    find_misplaced,
    find_unproven,
    is_elsewhere,
)
from suite.worker import scenarios
from tests import synthetic

CAMPAIGN = synthetic.make_campaign(blocks=1)


@pytest.fixture
def document() -> Document:
    return synthetic.make_document(CAMPAIGN, "cuda", 1)


def product(document: Document) -> CellResult:
    return next(one for one in document.cells if one.scenario == "matmul")


def test_a_document_that_shows_its_gpu_keeps_its_numbers(document: Document) -> None:
    assert find_unproven(document) is None
    assert disown_document(document) == document


@pytest.mark.parametrize("arm", ["cpu", "cuda-hidden", "cpu-twin"])
def test_other_arms_have_nothing_to_show(arm: str) -> None:
    document = replace(synthetic.make_document(CAMPAIGN, "cpu", 1), facts={})
    document = replace(document, invocation=replace(document.invocation, arm=arm))
    assert disown_document(document) is document


@pytest.mark.parametrize("arm", ["cuda", "cuda-twin", "cuda-again"])
@pytest.mark.parametrize("name", [name for name, _, _ in DEMANDS])
def test_every_fact_is_needed_on_the_arm_and_its_likes(
    arm: str, name: str, document: Document
) -> None:
    facts = {key: value for key, value in document.facts.items() if key != name}
    document = replace(document, facts=facts, invocation=replace(document.invocation, arm=arm))
    disowned = disown_document(document)
    assert {one.outcome for one in disowned.cells} == {"failed"}
    assert all(name in (one.reason or "") for one in disowned.cells)
    assert not any(one.samples_s or one.first_call_s or one.check for one in disowned.cells)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tensorflow.build.cuda", False),
        ("tensorflow.build.cuda", "yes"),
        ("tensorflow.devices", "CPU:0"),
        ("tensorflow.devices", "CPU:0, XLA_GPU:0"),
        ("tensorflow.devices", None),
        ("gpu.0.name", None),
        ("gpu.0.name", " "),
        ("tensorflow.soft_placement", True),
        ("tensorflow.soft_placement", None),
        ("tensorflow.tf32", True),
        ("tensorflow.tf32", 0),
    ],
)
def test_a_fact_has_to_say_the_right_thing(name: str, value: Scalar, document: Document) -> None:
    assert name in (find_unproven(replace(document, facts={**document.facts, name: value})) or "")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"placement": {"CPU:0": 3}}, "seen on CPU:0"),
        ({"placement": {"/GPU:0": 3}}, "seen on /GPU:0"),
        ({"placement": {"GPU:1": 3}}, "seen on GPU:1"),
        ({"placement": {"GPU:0": 0}}, "seen on GPU:0"),
        ({"placement": {}}, "no device at all"),
        ({"elsewhere": ["_MklNativeFusedMatMul on CPU:0 ×2"]}, "elsewhere: _MklNative"),
        ({"elsewhere": ["BatchMatMulV2 on unplaced ×1"]}, "elsewhere: BatchMatMulV2"),
    ],
)
def test_work_that_was_not_seen_on_the_gpu_is_none_of_its(
    fields: dict[str, object], reason: str, document: Document
) -> None:
    changed = replace(product(document), **fields)  # type: ignore[arg-type]
    assert reason in (find_misplaced(changed) or "")


def test_what_belongs_on_the_cpu_beside_the_work_is_fine(document: Document) -> None:
    beside = ["Const on CPU:0 ×4", "PyFunc on CPU:0 ×1", "_Arg on CPU:0 ×2"]
    assert find_misplaced(replace(product(document), elsewhere=beside)) is None


def test_what_was_not_measured_stays_as_it_was(document: Document) -> None:
    name = product(document).id
    lost = synthetic.lose_cell(document, name, "skipped", "too large")
    disowned = disown_document(replace(lost, facts={}))
    (found,) = [one for one in disowned.cells if one.id == name]
    assert (found.outcome, found.reason) == ("skipped", "too large")


def test_the_exceptions_are_whole_cases_and_few() -> None:
    """`tests/engine` holds them to what the worker's scenarios declare."""
    elsewhere = [cell for cell in scenarios.cells() if is_elsewhere(cell.id)]
    assert {cell.scenario for cell in elsewhere} == {"asked", "tfdata", "overhead"}
    assert all(is_elsewhere(cell.id) for cell in scenarios.cells() if cell.by_host)
    for cell in elsewhere:
        if cell.scenario == "asked":
            assert cell.params["on"] == "cpu" or cell.params["stage"] == "first"
