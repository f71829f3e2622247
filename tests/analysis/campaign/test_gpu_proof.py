"""What a document of the GPU's arm has to show, one thing after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.campaign import proof
from suite.analysis.campaign.proof import AS_POSTED, DEMANDS, Withheld, find_unproven, is_simulated
from suite.analysis.result.numbers import Evidence, cite
from suite.cells.cell import Cell, Param, Work
from suite.flags import KINDS
from suite.model import SIMULATED, Arm, Campaign, Document, Scalar
from suite.report.produce import Report
from suite.report.render.html import render_html_page
from suite.report.text.evidence import word_evidence
from suite.worker import scenarios
from tests import synthetic
from tests.planted.judge import EXIT_TROUBLED, find_numbers
from tests.rendering import report_folder

CAMPAIGN = synthetic.make_campaign(blocks=1)


def planned(identity: str) -> Cell:
    """What a plan says of a cell of this id."""
    name, *axes = identity.split("/")
    family, _, case = name.partition(".")
    params: dict[str, Param] = dict(axis.split("=", 1) for axis in axes)
    return synthetic.make_cell(family, case, params, Work(amount=1.0, unit="call"))


DOCUMENT = synthetic.make_document(CAMPAIGN, "cuda", 1)
PRODUCT = next(one for one in DOCUMENT.cells if one.scenario == "matmul")
TWICE = replace(CAMPAIGN, every_arm=synthetic.make_arms(synthetic.ARMS))
"""A plan with each arm, the arm once more, and their twins."""


def withhold_unproven_document(document: Document, arm: Arm | None = None) -> Document:
    cells = {one.id: planned(one.id) for one in document.cells}
    return proof.withhold_unproven_document(
        document, arm or TWICE.arm(document.invocation.arm), cells
    )


def be(arm: str, document: Document = DOCUMENT) -> Document:
    """The document of another arm."""
    return replace(document, invocation=replace(document.invocation, arm=arm))


def place_in(facts: dict[str, Scalar]) -> Document:
    """The document whose first product ran in a container of its own, with these facts."""
    (good,) = DOCUMENT.invocation.containers
    containers = [replace(good, id="bad", facts=facts), good]
    invocation = replace(DOCUMENT.invocation, containers=containers)
    moved = synthetic.change_cell(DOCUMENT, PRODUCT.id, container="bad")
    return replace(moved, invocation=invocation)


def find_misplaced(
    identity: str = PRODUCT.id,
    placement: Mapping[str, int] = PRODUCT.placement,
    elsewhere: Sequence[str] = (),
) -> Evidence | None:
    cell = replace(PRODUCT, id=identity, placement=dict(placement), elsewhere=list(elsewhere))
    return proof.find_misplaced(cell, planned(identity))


def find_reasons(document: Document) -> list[Evidence]:
    """Why the cells of a document have no number, as far as that was found in it."""
    return [one.why for one in document.cells if isinstance(one, Withheld)]


def test_a_document_that_shows_its_gpu_keeps_its_numbers() -> None:
    assert find_unproven(DOCUMENT.facts) is None
    assert withhold_unproven_document(DOCUMENT) == DOCUMENT


@pytest.mark.parametrize("facts", [{}, {SIMULATED: True}], ids=["nothing told", "a stand-in"])
@pytest.mark.parametrize(
    "arm", ["cpu", "cuda-hidden", "cpu-twin", "cpu-again", "cpu-again-twin", "cuda-hidden-again"]
)
def test_other_arms_have_nothing_to_show(arm: str, facts: dict[str, Scalar]) -> None:
    document = be(arm, replace(synthetic.make_document(CAMPAIGN, "cpu", 1), facts=facts))
    assert withhold_unproven_document(document) is document


@pytest.mark.parametrize("arm", ["cuda", "cuda-twin"])
@pytest.mark.parametrize("name", [name for name, _, _ in DEMANDS])
def test_every_fact_is_needed_on_the_arm_and_its_likes(arm: str, name: str) -> None:
    facts = {key: value for key, value in DOCUMENT.facts.items() if key != name}
    withheld = withhold_unproven_document(be(arm, replace(DOCUMENT, facts=facts)))
    assert {one.outcome for one in withheld.cells} == {"failed"}
    assert find_reasons(withheld) == [cite("no-fact", fact=name)] * len(withheld.cells)
    assert not any(one.samples_s or one.first_call_s or one.check for one in withheld.cells)


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
        ("cuda.driver_api", None),
        ("cuda.driver_api", 0),
        ("cuda.driver_api", True),
        ("cuda.driver_api", "12050"),
    ],
)
def test_a_fact_has_to_say_the_right_thing(name: str, value: Scalar) -> None:
    found = find_unproven({**DOCUMENT.facts, name: value})
    assert found is not None
    assert found.values == {"fact": name, "value": repr(value)}
    assert f"({name}: {value!r})" in word_evidence(found)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"placement": {"CPU:0": 3}}, "seen-on"),
        ({"placement": {"/GPU:0": 3}}, "seen-on"),
        ({"placement": {"GPU:1": 3}}, "seen-on"),
        ({"placement": {"GPU:0": 0}}, "seen-on"),
        ({"placement": {}}, "seen-nowhere"),
        ({"elsewhere": ["_MklNativeFusedMatMul on CPU:0 ×2"]}, "seen-elsewhere"),
        ({"elsewhere": ["BatchMatMulV2 on unplaced ×1"]}, "seen-elsewhere"),
    ],
)
def test_work_that_was_not_seen_on_the_gpu_is_none_of_its(
    fields: dict[str, Any], code: str
) -> None:
    (value,) = fields.values()
    found = find_misplaced(**fields)
    assert found is not None
    assert found.code == code
    assert next(iter(found.values.values()), ()) == tuple(value)


TRAINED = "mlp.train/net=A/batch=512/data=device/precision=fp32/execution=graph"
FITTED = "asked.fit/stage=steady/batch=512/prefetch=on/on=arm"
PLAIN = "matmul.square/n=1000/precision=fp32/operands=device/xla=off"


@pytest.mark.parametrize(
    ("identity", "placement", "elsewhere"),
    [
        ("overhead.graph_op", {"GPU:0": 1, "CPU:0": 1000}, ["Mul on CPU:0 ×1000"]),
        ("overhead.graph_op", {"GPU:0": 1, "CPU:0": 1000}, ["_MklMul on CPU:0 ×1000"]),
        ("overhead.function_call", {"GPU:0": 1, "CPU:0": 1}, ["AddV2 on CPU:0 ×1"]),
        *(
            (name, {"GPU:0": 9, "CPU:0": 6}, [f"{operation} on CPU:0 ×6"])
            for name in (
                TRAINED,
                FITTED,
                "mlp.width/width=64/batch=32/precision=fp32",
                "mlp.loop/batch=32/steps_per_execution=1",
                "mlp.fallback/batch=512/python=none",
                "asked.slices/stage=naive/on=arm",
                "asked.dataset/stage=fetch/on=arm",
                "tfdata.triple/pipeline=native/part=together/batch=512",
                "tfdata.to_device/ahead=on/batch=512",
            )
            for operation in (
                *("MatMul", "_FusedMatMul", "_MklFusedMatMul", "BiasAddGrad", "ReluGrad"),
                *("AssignSubVariableOp", "ResourceApplyAdam"),
            )
        ),
        ("mlp.infer/batch=1/call=predict", {"GPU:0": 1, "CPU:0": 2}, ["_FusedMatMul on CPU:0 ×2"]),
        (
            "tfdata.triple/pipeline=native/part=trivial/batch=512",
            {"GPU:0": 1, "CPU:0": 1},
            ["MatMul on CPU:0 ×1"],
        ),
        # The right operations, on a GPU that is not the arm's.
        (TRAINED, {"GPU:0": 1, "GPU:1": 6}, ["MatMul on GPU:1 ×6"]),
        (TRAINED, {"GPU:0": 1, "GPU:01": 6}, ["MatMul on GPU:01 ×6"]),
        # What is seen elsewhere has to be named, all of it.
        (TRAINED, {"GPU:0": 1, "CPU:0": 1000}, []),
        (TRAINED, {"GPU:0": 1, "CPU:0": 1000}, ["Const on CPU:0 ×4"]),
        (TRAINED, {"GPU:0": 1, "CPU:0": 4}, ["four of Const on CPU:0"]),
        # By its results alone: all of them lie where the work belongs.
        (PLAIN, {"GPU:0": 1, "CPU:0": 9}, []),
        (PLAIN, {"GPU:0": 1}, ["Const on CPU:0 ×4"]),
        ("overhead.eager_op", {"GPU:0": 1, "CPU:0": 9}, []),
        ("mlp.train/net=A/batch=32/execution=eager", {"GPU:0": 1, "CPU:0": 9}, []),
        ("a.scenario/of=tomorrow", {"GPU:0": 1, "CPU:0": 9}, []),
        # The CPU's own.
        ("asked.matmul/n=1/stage=naive/on=cpu", {"GPU:0": 1}, []),
        ("asked.matmul/n=1/stage=naive/on=cpu", {"CPU:0": 1, "GPU:0": 1}, []),
        ("asked.fit/stage=steady/batch=512/prefetch=on/on=cpu", {"GPU:0": 9}, []),
        ("asked.slices/stage=naive/on=cpu", {"CPU:0": 1, "GPU:0": 6}, ["MatMul on GPU:0 ×6"]),
        (
            "asked.slices/stage=placed/on=cpu",
            {"CPU:0": 1, "GPU:0": 6},
            ["AssignSubVariableOp on GPU:0 ×6"],
        ),
        ("overhead.copy/direction=from-device/bytes=4", {"GPU:0": 1}, []),
        ("tfdata.slices/batch=32/shuffle=on/prefetch=on", {"GPU:0": 1}, []),
    ],
)
def test_what_the_worker_would_not_accept_is_not_accepted_here(
    identity: str, placement: dict[str, int], elsewhere: list[str]
) -> None:
    assert find_misplaced(identity, placement, elsewhere)


@pytest.mark.parametrize(
    ("identity", "placement", "elsewhere"),
    [
        (
            FITTED,
            {"GPU:0": 60, "CPU:0": 14, "unplaced": 2},
            # What Keras and its iterator leave on the CPU: counters, metrics, asserts, strings.
            [
                *("AddV2 on CPU:0 ×3", "AssignAddVariableOp on CPU:0 ×2", "Mul on CPU:0 ×1"),
                *("Assert on CPU:0 ×2", "IteratorGetNext on CPU:0 ×1", "Const on CPU:0 ×5"),
                "_Arg on unplaced ×2",
            ],
        ),
        ("mlp.infer/batch=1/call=predict", {"GPU:0": 9, "CPU:0": 1}, ["BiasAddGrad on CPU:0 ×1"]),
        ("overhead.graph_op", {"GPU:0": 1000, "CPU:0": 2}, ["_Retval on CPU:0 ×2"]),
        (
            "mlp.fallback/batch=512/python=numpy_function",
            {"GPU:0": 60, "CPU:0": 1},
            ["PyFunc on CPU:0 ×1"],
        ),
        # The model was made beside the CPU that is asked for, and its updates are made there.
        (
            "asked.slices/stage=traced/on=cpu",
            {"CPU:0": 40, "GPU:0": 6},
            ["AssignSubVariableOp on GPU:0 ×6"],
        ),
        ("asked.fit/stage=steady/batch=512/prefetch=on/on=cpu", {"CPU:0": 9}, []),
        ("overhead.fence", {}, []),
        ("overhead.startup/stage=import", {}, []),
        ("overhead.container", {}, []),
        ("asked.clone/stage=first/on=arm", {}, []),
    ],
)
def test_what_belongs_on_the_cpu_beside_the_work_is_fine(
    identity: str, placement: dict[str, int], elsewhere: list[str]
) -> None:
    assert find_misplaced(identity, placement, elsewhere) is None


def test_cells_whose_nodes_all_lie_where_they_belong_are_fine() -> None:
    for cell in scenarios.cells():
        device = "CPU:0" if cell.device != "arm" else "GPU:0"
        assert find_misplaced(cell.id, {device: 9}) is None, cell.id


def test_each_cell_is_judged_by_its_own_container() -> None:
    document = place_in({"tensorflow.build.cuda": False})
    withheld = {one.id: one for one in withhold_unproven_document(document).cells}
    lost = withheld.pop(PRODUCT.id)
    assert isinstance(lost, Withheld)
    assert lost.why == cite("built-for-cpu", fact="tensorflow.build.cuda", value="False")
    assert {one.outcome for one in withheld.values()} == {"measured"}


def test_what_was_not_measured_stays_as_it_was() -> None:
    lost = synthetic.lose_cell(replace(DOCUMENT, facts={}), PRODUCT.id, "skipped", "too large")
    (found,) = [one for one in withhold_unproven_document(lost).cells if one.id == PRODUCT.id]
    assert (found.outcome, found.reason) == ("skipped", "too large")


def simulate(document: Document, value: Scalar = True) -> Document:
    """The document as of a container whose driver was our tests' stand-in."""
    return replace(document, facts={**document.facts, SIMULATED: value})


@pytest.mark.parametrize("arm", ["cuda", "cuda-twin", "cuda-again", "cuda-again-twin"])
def test_a_number_on_a_stand_in_is_nobodys(arm: str) -> None:
    lost = synthetic.lose_cell(be(arm), PRODUCT.id, "failed", "it broke")
    found = withhold_unproven_document(simulate(lost))
    assert is_simulated(found)
    broken, *others = sorted(found.cells, key=lambda one: one.id != PRODUCT.id)
    # Why it had none before stays.
    assert (broken.outcome, broken.reason) == ("failed", "it broke")
    assert find_reasons(found) == [cite("stand-in-driver")] * (len(DOCUMENT.cells) - 1)
    for one in others:
        assert one.outcome == "skipped"
        assert not any((one.samples_s, one.warmup_s, one.check, one.placement, one.elsewhere))
        assert one.first_call_s is one.calls_per_sample is one.peak_memory_bytes is None


@pytest.mark.parametrize("value", [False, None, "no", 0])
def test_only_a_driver_that_says_so_is_a_stand_in(value: Scalar) -> None:
    told = simulate(DOCUMENT, value)
    assert not is_simulated(told)
    assert withhold_unproven_document(told) == told


def test_one_container_on_a_stand_in_is_enough() -> None:
    """None of the document's: that a GPU came and went between two of them is no likely tale."""
    document = place_in({SIMULATED: True})
    assert is_simulated(document)
    assert {one.outcome for one in withhold_unproven_document(document).cells} == {"skipped"}


REAL = replace(synthetic.make_campaign(blocks=3), simulated=False, price=2.0, price_currency="EUR")


def report_with(folder: Path, value: Scalar, campaign: Campaign = REAL) -> Report:
    """A campaign's files, written; ``value`` is what the GPU's documents say of a stand-in."""
    documents = [
        simulate(one, value) if one.invocation.arm.startswith("cuda") else one
        for one in (*synthetic.make_documents(REAL), *synthetic.make_twins(REAL))
    ]
    # What the pictures would show, the judge looks up itself.
    reported = report_folder(synthetic.write_campaign(folder, campaign, documents), pictures=False)
    page = render_html_page(reported.page)
    for name, text in {**reported.files, "report.html": page}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return reported


STAND_IN, MADE_UP = KINDS["stand-in"].text, KINDS["simulated"].text


def test_no_file_has_a_number_of_a_stand_in_and_every_table_says_why(tmp_path: Path) -> None:
    reported = report_with(tmp_path / "stand-in", True)
    # To the judge of planted failures, which reads every file, a status of 0 would be one more fault.
    assert find_numbers(tmp_path / "stand-in", EXIT_TROUBLED) == []
    report_with(tmp_path / "real", False)
    seen = {text.split(":")[0] for text in find_numbers(tmp_path / "real", EXIT_TROUBLED)}
    assert seen >= {"summary.json", "cells.csv", "brief.md", "report.md", "report.html"}
    assert [flag.code for flag in reported.analysis.flags] == ["stand-in"]
    assert any(cell.arms["cpu"].value for cell in reported.analysis.cells)
    # Nothing went wrong: there was nothing to measure.
    assert not reported.analysis.troubled
    text = reported.files["report.md"]
    lines = text.splitlines()
    assert lines[0] == "# Crossover: cuda against cpu — SIMULATED"
    assert all(line.startswith("**SIMULATED**") for line in lines if "Table: " in line)
    assert reported.terminal.startswith("Crossover: cuda against cpu — SIMULATED\n")
    # Of a campaign that was made up as a whole, the other explanation is right; but not where a
    # stand-in's document is there, for which its plan says that it is simulated.
    both = report_with(tmp_path / "both", True, replace(REAL, simulated=True)).files["report.md"]
    for told in (text, both):
        assert f"**SIMULATED.** {STAND_IN}." in told.splitlines()
        assert MADE_UP not in told


def test_a_script_leaves_tensorflows_switches_and_has_to_show_all_else() -> None:
    soft = {**DOCUMENT.facts, "tensorflow.soft_placement": True, "tensorflow.tf32": True}
    assert find_unproven(soft) is not None
    assert find_unproven(soft, posted=True) is None
    for name, _, _ in DEMANDS:
        lacking = {key: value for key, value in soft.items() if key != name}
        assert (find_unproven(lacking, posted=True) is None) == (name in AS_POSTED)
    loose = replace(DOCUMENT, facts=soft)
    cells = {one.id: replace(planned(one.id), process="x") for one in DOCUMENT.cells[1:]}
    cells |= {DOCUMENT.cells[0].id: planned(DOCUMENT.cells[0].id)}
    withheld = proof.withhold_unproven_document(loose, TWICE.arm("cuda"), cells)
    kept = {one.id for one in withheld.cells if one.outcome == "measured"}
    assert DOCUMENT.cells[0].id not in kept
    assert kept
