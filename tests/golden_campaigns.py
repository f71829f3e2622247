"""The campaigns whose derived files are committed in tests/golden: all made up."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.documents.read import LoadedCampaign, load_campaign
from suite.analysis.result.campaign import Analysis
from suite.model import Campaign, Document, Excluded, Scalar, container_seconds
from tests import synthetic
from tests.bench.versions import Version, list_cells, take
from tests.changes import in_cell, invoke, lose, plant, tell

GOLDEN = Path(__file__).parent / "golden"

Made = tuple[Campaign, list[Document]]


def make_two_arms() -> Made:
    """A campaign as it should be, but for a killed container and a type that the CPU lacks."""
    cells = [one for one in synthetic.make_cells() if one.scenario in {"matmul", "mlp", "overhead"}]
    campaign = synthetic.make_campaign(blocks=3, cells=cells)
    tf32 = next(one.id for one in cells if one.params.get("precision") == "tf32")
    lacks = lose(tf32, "skipped", "this processor has no TF32")
    documents = plant(synthetic.make_documents(campaign, samples=3), lacks, "cpu")
    step = next(one.id for one in cells if one.scenario == "mlp")
    documents[-1] = synthetic.kill_container(documents[-1], step, "killed by SIGKILL")
    return time_it(campaign, documents), documents


def make_one_arm() -> Made:
    """The CPU alone, without a container, in two blocks of a profile of earlier suites."""
    cells = [cell for cell in synthetic.make_cells() if cell.scenario == "matmul"][:3]
    campaign = synthetic.make_campaign(arms=["cpu"], blocks=2, cells=cells, profile="quick")
    campaign = replace(campaign, not_run={"cuda": "this machine has no NVIDIA GPU"})
    documents = synthetic.make_documents(campaign, samples=3, isolation="none")
    return time_it(campaign, documents), documents


def make_troubled() -> Made:
    """Whatever can go wrong: different results, a changed image, a repeat, cells not tried."""
    cells = synthetic.make_cells()
    campaign = synthetic.make_campaign(blocks=4, cells=cells)
    wrong, excluded, killed = cells[1].id, cells[2].id, cells[3].id
    documents = []
    for one in synthetic.make_documents(campaign, samples=3, calibration=False):
        document = one
        if one.invocation.arm == "cuda":
            check = replace(one.cells[1].check or pytest.fail("no check"), value=41.0)
            document = synthetic.change_cell(one, wrong, check=check, labels=["dispatch-bound"])
            document = synthetic.lose_cell(document, killed, "failed", "exit code 137")
        document = replace(document, cells=[c for c in document.cells if c.id != excluded])
        if one.invocation.block < 4:
            documents.append(document)
    image = replace(synthetic.make_image("cpu"), content="e" * 64)
    second = documents[1]
    documents[1:2] = [invoke(status="interrupted")(second), invoke(repeat=1, image=image)(second)]
    last = synthetic.lose_cell(documents[-1], cells[4].id, "pending", None)
    odd: dict[str, Scalar] = {
        "gpu.0.uuid": "GPU-01234567-89ab-cdef-0123-456789abcdef",
        "cpu.model": "<b>|`[Made](up)` *Processor* 9000\n# not a heading",
    }
    documents[-1] = tell(odd)(invoke(status="running", ended=None)(last))
    campaign = replace(
        campaign,
        excluded={"cuda": {excluded: Excluded(outcome="skipped", reason="would take 90 s here")}},
        stopped="the budget of 20 min was spent",
    )
    return time_it(campaign, documents), documents


FIT = Version()
SLOWER_FIT = replace(FIT, loop=FIT.loop + 60e-6)

EVERY_PART = re.compile(
    r"matmul.square/n=(100|1000)/|mlp.train/net=A/batch=(32|512)/data=(device|dataset)/.*=graph"
    r"|mlp.loop|mlp.retrace/varies=number/|mlp.infer/.*=(predict|on_batch|graph_numpy)"
    r"|tfdata.slices/|overhead.(eager_op|function_call|startup/stage=(import|build))"
)
"""Some cells for each part."""

LOOPS = re.compile(
    r"mlp.train/net=A/batch=(32|512)/data=dataset/|mlp.loop|tfdata.slices/"
    r"|matmul.square/n=1000/|overhead.(eager_op|function_call)"
)
"""Those of which Keras's own loop is read off, and a few others."""


def make_versions() -> Made:
    """Keras's own loop became slower, and the older version computes one product otherwise."""
    versions = {"cpu": SLOWER_FIT, "cpu@2.20": FIT}
    campaign, documents = make_up_versions(versions, {"cpu": "3.13.2", "cpu@2.20": "3.12.0"})
    product = next(cell.id for cell in campaign.cells if cell.scenario == "matmul")
    check = replace(documents[0].cells[0].check or pytest.fail("no check"), value=41.0)
    documents = plant(documents, in_cell(product, check=check), "cpu@2.20")
    return time_it(campaign, documents), documents


def make_list() -> Made:
    """A list of versions, in which Keras's own loop became slower at one step, and calls at each a little."""
    steps = {"cpu@2.16": 1.0, "cpu@2.18": 1.015, "cpu": 1.03}
    versions = {
        arm: replace(FIT, eager=times * FIT.eager, graph=times * FIT.graph)
        for arm, times in reversed(steps.items())
    }
    versions["cpu"] = replace(versions["cpu"], loop=SLOWER_FIT.loop)
    campaign, documents = make_up_versions(versions, {}, which=LOOPS, blocks=8)
    return time_it(campaign, documents), documents


def make_alike() -> Made:
    """The same version under two names: nothing is to be told."""
    versions = {"cpu": FIT, "cpu@2.21": FIT}
    campaign, documents = make_up_versions(versions, {}, which=LOOPS)
    return time_it(campaign, documents), documents


def make_up_versions(
    versions: Mapping[str, Version],
    keras: Mapping[str, str],
    *,
    which: re.Pattern[str] = EVERY_PART,
    blocks: int = 5,
) -> Made:
    """Versions by arm, and of which Keras."""
    cells = [cell for cell in list_cells() if which.match(cell.id)]
    campaign = synthetic.make_campaign(arms=versions, blocks=blocks, cells=cells)
    documents = synthetic.make_documents(
        campaign,
        truth=lambda cell, arm: take(versions[arm], cell),
        samples=2,
        warmup=1,
        calibration=False,
    )
    for arm in versions:
        facts = {"tensorflow.version": f"{arm.partition('@')[2] or '2.21'}.0"}
        facts |= {"keras.version": keras[arm]} if arm in keras else {}
        documents = plant(documents, tell(facts), arm)
    return campaign, documents


def time_it(campaign: Campaign, documents: list[Document]) -> Campaign:
    """The campaign with the container time that its documents add up to."""
    actual = sum(map(container_seconds, documents))
    prediction = replace(campaign.prediction, before_s=150.0, calibrated_s=140.0, actual_s=actual)
    return replace(campaign, prediction=replace(prediction, corrected_s=[138.0]))


CASES: dict[str, Callable[[], Made]] = {
    "two-arms": make_two_arms,
    "troubled": make_troubled,
    "one-arm": make_one_arm,
    "versions": make_versions,
    "list-of-versions": make_list,
    "versions-alike": make_alike,
}

NAMES = tuple(CASES)

SHOWS: Mapping[str, tuple[str, ...]] = {
    "two-arms": (
        "cpu wins at n = 10 to 100; cuda wins at n = 1000",
        "; When cuda breaks even; ",
        "cpu: skipped: this processor has no TF32",
        "the container ended: killed by SIGKILL",
        "no verdict: fewer than 3 blocks",
    ),
    "troubled": (
        "Nothing is decided: every comparison is INVALID.",
        "The campaign ended early: the budget of 20 min was spent",
        "### asked: what people ask about",
        "more: tfdata: the input pipeline; ",
        "cpu: the image changed during the campaign",
        "cuda: changed during the campaign: cpu.model",
        "so this was not the same work: cpu 42, cuda 41",
        "cpu: pending: not attempted in any block",
        "cuda: skipped in the calibration: would take 90 s here",
        "cuda: failed: exit code 137",
        "cuda: measured in 2 of 3 blocks; pending in block 3",
    ),
    "one-arm": (
        "Only cpu was measured (cuda: this machine has no NVIDIA GPU)",
        "NOT CONTAINERIZED",
        "There are no intervals: fewer than 3 blocks.",
    ),
    "versions": (
        "; TensorFlow 2.20.0 → 2.21.0. Campaign",
        "cpu COMPUTES OTHERWISE THAN cpu\\@2.20 in n × n products, n = 100 (42 instead of 41): it has no",
        "**cpu\\@2.20 → cpu: Keras fit's own loop: +",
        " became slower: mlp.loop/batch=32, ",
        "Keras 3.12.0 → 3.13.2",
    ),
    "list-of-versions": (
        "; TensorFlow 2.16.0 → 2.18.0 → 2.21.0. Campaign",
        "**cpu\\@2.18 → cpu: Keras fit's own loop: 1.",
        "Dispatch: no single step is shown, but the ends differ (cpu\\@2.16 → cpu: ",
        "Equal throughout: ",
        "** · Table: at which step each part became faster or slower",
    ),
    "versions-alike": (
        "**cpu → cpu\\@2.21: no part is shown to be slower or faster. Equal: ",
        "none is shown to be faster or slower: ",
        "no difference in software was recorded",
    ),
}
"""What each report has that no other has: why there are these campaigns, and no more."""

SUMMARISED = ("two-arms", "one-arm")
"""Those whose ``summary.json`` is committed as well: all that two arms have, and all that one has."""


def write_golden(name: str, folder: Path) -> Path:
    """Its documents, in a folder below the given one."""
    return synthetic.write_campaign(folder / name, *CASES[name]())


@cache
def load_golden(name: str) -> LoadedCampaign:
    """The campaign as it is read from its folder."""
    with TemporaryDirectory() as folder:
        return load_campaign(write_golden(name, Path(folder)))


@cache
def analyse_golden(name: str) -> Analysis:
    """Its analysis."""
    return analyse(load_golden(name))


def read_golden(name: str, file: str = "report.md") -> str:
    """A committed file."""
    return (GOLDEN / name / file).read_text(encoding="utf-8")
