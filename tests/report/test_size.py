"""How long ``report.md`` is: of whole standard campaigns, as they should be and in trouble."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.documents.telemetry import join_document
from suite.analysis.result.campaign import Analysis
from suite.host.campaign.plan import add_controls
from suite.model import Campaign, Document, Scalar, Telemetry, on_device
from suite.report.exports.summary import render_json
from suite.report.pages.campaign import compose
from suite.report.render.markdown import render_page
from suite.report.text.page import Appendix, Heading, Page
from tests.bench.truth.campaigns import OTHER, make_documents, make_plan
from tests.bench.truth.devices import CPU, GPU, Device, plant
from tests.bench.truth.reasons import PLANTS
from tests.gpus import hash_gpu, rename
from tests.rendering import load
from tests.synthetic import CUDA, kill_container, lose_cell

MOST = 65_000
"""Characters that can be attached whole: what forges take in a comment is 65,536."""

SLOW_CALLS = replace(GPU, eager=60e-6, graph=400e-6)
LABELS = (["short samples"], ["dispatch-bound", "warm-up cap"], ["short samples", "warm-up cap"])
BROKEN = (
    "step failed: OOM when allocating tensor with shape[{n},10000] and type float on device GPU:0 by "
    "allocator GPU_0_bfc: the allocator holds 74.2 GiB in 1312 chunks, of which the largest that is free "
    "has 1.1 GiB; the current allocation summary follows, and names {n} of the operations that hold memory"
)
UNKNOWN = {
    f"gpu.counter_{n}": "NVML_ERROR_NOT_SUPPORTED: this driver does not count it" for n in range(20)
}


def equip(document: Document) -> Document:
    """With a machine's facts, and a telemetry that saw clocks and power, and could not see the rest."""
    on_gpu = document.invocation.arm.startswith(OTHER)
    facts: dict[str, Scalar] = {"fence_s": 1e-6}
    facts |= {
        f"outside.fact_{n:02}.name": f"value {n} of a real machine's facts" for n in range(60)
    }
    image = replace(document.invocation.image, digests=[f"sha256:{d * 64}" for d in "abcdef"])
    series = {"cpu.clock_mhz": [2100.0, 3400.0]}
    if on_gpu:
        series |= {"gpu.clock_sm_mhz": [345.0, 1980.0], "gpu.power_w": [78.0, 586.0]}
        series |= {"gpu.energy_j": [0.0, 90_000.0], "gpu.temperature_c": [31.0, 59.0]}
    telemetry = Telemetry(
        started=document.invocation.started,
        at_s=[0.0, 900.0],
        facts={"gpu.count": 1, "gpu.name": "Made-Up Accelerator"} if on_gpu else {},
        absent=UNKNOWN,
        series={name: list(values) for name, values in series.items()},
    )
    return join_document(
        replace(
            document,
            facts={**document.facts, **facts},
            invocation=replace(document.invocation, image=image),
            telemetry=telemetry,
            absent={},
        )
    )


def trouble(document: Document) -> Document:
    """As on a machine with too little memory: cells that fail by themselves, labels everywhere, a dead
    container."""
    cells = [
        replace(cell, labels=LABELS[place % len(LABELS)])
        for place, cell in enumerate(document.cells)
    ]
    document = replace(document, cells=cells)
    if document.invocation.arm.startswith(OTHER) and document.invocation.block:
        for place, cell in enumerate(cells[:60:5]):
            document = lose_cell(document, cell.id, "failed", BROKEN.format(n=place))
        document = kill_container(document, cells[5].id, "exit code 137, out of memory")
    return document


def make_standard(cpu: Device = CPU, gpu: Device = SLOW_CALLS) -> tuple[Campaign, list[Document]]:
    """A standard campaign of both arms with all of its cells, controls and five blocks, and a price."""
    plan = replace(make_plan(seed=3), price=2.99, price_currency="USD")
    return plan, list(map(equip, make_documents(plan, plant(cpu, gpu))))


def make_two_gpus() -> tuple[Campaign, list[Document]]:
    """The same with an arm on each of two GPUs, the second a little slower."""
    plan, documents = make_standard()
    gpus = [on_device(CUDA, device, hash_gpu(device)) for device in "01"]
    arms = [plan.arm("cpu"), *gpus]
    whole = replace(
        plan,
        arms=[arm.name for arm in arms],
        calls={arm.name: plan.calls[arm.image] for arm in arms},
        every_arm=add_controls(arms, plan.controls),
    )
    _, others = make_standard(gpu=replace(SLOW_CALLS, flops=8e12))
    made = [document for document in documents if document.invocation.arm == "cpu"]
    for arm, own in zip(gpus, (documents, others), strict=True):
        made += rename([one for one in own if one.invocation.arm == OTHER], arm, whole)
    return whole, made


@cache
def study_standard(kind: str) -> Analysis:
    if kind == "two GPUs":
        plan, documents = make_two_gpus()
    else:
        plan, documents = make_standard(*PLANTS.get(kind, (CPU, SLOW_CALLS)))
    if kind == "in trouble":
        documents = list(map(trouble, documents))
    own = [document for document in documents if document.invocation.arm in plan.arms]
    controls = [document for document in documents if document.invocation.arm not in plan.arms]
    return analyse(load(plan, own, controls))


@pytest.mark.parametrize(
    "kind",
    [
        *("as it should be", "in trouble", "two GPUs"),
        *(pytest.param(name, marks=pytest.mark.method) for name in PLANTS),
    ],
)
def test_a_standard_campaigns_report_can_be_attached(kind: str) -> None:
    analysis = study_standard(kind)
    assert len(analysis.cells) > 120
    assert len(render_page(compose(analysis))) <= MOST


def list_parts(page: Page) -> list[str]:
    """The parts of a page's appendix."""
    begin = next(i for i, block in enumerate(page.blocks) if isinstance(block, Appendix))
    parts = [block for block in page.blocks[begin:] if isinstance(block, Heading)]
    return [part.text.partition(":")[0] for part in parts if part.level == 3]


SOURCES = {
    "Why the CPU wins in scripts, and where nothing is work": "cells.*.causes.*.seconds",
    "Where cuda is not shown to lose, but is far below its best rate": "cells.*.standing.use",
    "From the naive script to the fair number, step by step": "waterfalls.*.steps.*.factor",
    "Where a step's time goes": "findings.*.share",
    **dict.fromkeys(("asked", "tfdata", "overhead"), "cells.*.arms.*.value"),
    "First calls": "cells.*.arms.*.first_call",
    "When cuda breaks even": "findings.*.beside",
    "Shares of the best rate": "findings.*.share",
    "Cost of steps": "findings.*.value",
    "Power and energy": "cells.*.arms.*.mean_power_w",
    "Steady state of the samples": "cells.*.arms.*.steady",
    "Timing overhead": "arms.*.timing",
    "Where the container time went": "spent.*.kinds",
    "Where the work ran": "arms.*.placement",
    "Facts of the machine and the software": "arms.*.facts",
}
"""By the parts of the appendix where in ``summary.json`` their numbers stand."""


def pick(value: Any, path: str) -> list[Any]:
    """What stands at a path, of which a star is any name or place; without what is empty."""
    name, _, rest = path.partition(".")
    items = value.values() if isinstance(value, dict) else value
    found = items if name == "*" else [value.get(name)]
    return [
        each
        for item in found
        if item not in (None, {}, [])
        for each in (pick(item, rest) if rest else [item])
    ]


def test_what_only_the_appendix_shows_stands_in_the_summary() -> None:
    analysis = study_standard("as it should be")
    parts = list_parts(compose(analysis))
    assert set(parts) == set(SOURCES)
    summary = json.loads(render_json(analysis))
    assert [part for part in parts if not pick(summary, SOURCES[part])] == []
    tags = {finding["tag"] for finding in summary["findings"]}
    assert tags >= {"part", "break-even", "use", "cost"}
