"""The registry of flags: every kind is raised by campaigns that have it, and every flag can be told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from string import Formatter
from typing import Any

import pytest
from msgspec import Struct, structs

from suite import codec, flags
from suite.analysis.analyse import analyse
from suite.analysis.campaign.validity import OF_CELLS
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.documents.tools import read_tool
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.several import Versus
from suite.analysis.several.cells import compare_cells
from suite.analysis.several.machines import compare_machines
from suite.analysis.statistics.estimate import estimate
from suite.cells.cell import Cell, Work
from suite.flags import IMPLAUSIBLE, KINDS, Flag, raise_flag
from suite.model import Again, Check, Document, Excluded, Scalar
from suite.report.text.wording import name_banners, word
from tests import synthetic
from tests.changes import (
    Change,
    drop,
    in_cell,
    invoke,
    keep,
    lose,
    stretch,
    swap_image,
    tell,
    watch,
)
from tests.fakes import tools
from tests.kept import GPU_WELL, make_kept
from tests.kept import drop as fall
from tests.rendering import load

STEP, START = "mlp.train/net=A/batch=8/data=device/precision=fp32", "overhead.startup/stage=import"
CELLS = [cell for cell in synthetic.make_cells() if cell.id in {STEP, START}]


def make(
    blocks: int = 6,
    change: Change = keep,
    cells: list[Cell] | None = None,
    **plan: object,
) -> LoadedCampaign:
    """A campaign of two arms whose documents were changed so."""
    campaign = synthetic.make_campaign(blocks=blocks, cells=cells or CELLS)
    documents = synthetic.make_documents(campaign, samples=60, calibration=False)
    return load(replace(campaign, **plan), map(change, documents))  # type: ignore[arg-type]


ALIKE = [
    synthetic.make_cell("made", f"cell{n}", {}, Work(amount=1.0, unit="call")) for n in range(8)
]


def in_blocks(*changes: Change, **how: Any) -> LoadedCampaign:
    """A campaign whose arm with a GPU is changed so from block to block, as far as there are changes."""

    def change(document: Document) -> Document:
        block = document.invocation.block
        if document.invocation.arm != "cuda" or block > len(changes):
            return document
        return changes[block - 1](document)

    return make(change=change, **how)


def in_step(**fields: object) -> Change:
    return in_cell(STEP, **fields)


def evidence(values: Mapping[str, float]) -> Change:
    return in_step(evidence=dict(values))


it_broke = lose(STEP, "failed", "it broke")


def keep_cpu(loaded: LoadedCampaign) -> LoadedCampaign:
    return replace(
        loaded,
        documents=[document for document in loaded.documents if document.invocation.arm == "cpu"],
    )


def repeat(loaded: LoadedCampaign, **fields: object) -> LoadedCampaign:
    """The campaign with its first document again; ``fields`` are the first document's then."""
    first, *rest = loaded.documents
    again = invoke(repeat=1)(first)
    return replace(loaded, documents=[invoke(**fields)(first), again, *rest])


def measure_again(loaded: LoadedCampaign) -> LoadedCampaign:
    """The campaign with its first block again, since the CPU was odd in it."""
    again = Again(arm="cpu", block=1, pace=1.3, repeat=1)
    second = [
        invoke(repeat=1)(document)
        for document in loaded.documents
        if document.invocation.block == 1
    ]
    return replace(
        loaded,
        campaign=replace(loaded.campaign, again=[again]),
        documents=[*loaded.documents, *second],
    )


def price(case: str, amount: float, unit: str, size: float | None = None, **params: str) -> Cell:
    return synthetic.make_cell("overhead", case, params, Work(amount=amount, unit=unit, bytes=size))


COPY, CALL = price("copy", 1.0, "copy", 2.0**28), price("eager_op", 1.0, "call")
SMALL = price("copy", 1.0, "copy", 4.0, direction="to-device")
CHAIN, SUM = price("graph_op", 1000.0, "operation"), price("sum", 1.0, "sum", 2.0**28)
LARGE, PRODUCT = map(synthetic.make_product, (8000, 1000))


A10: Mapping[str, Scalar] = {"gpu.0.name": "NVIDIA A10"}


def hurry(seconds: float, facts: Mapping[str, Scalar] = A10) -> Change:
    """Every cell takes so long."""

    def change(document: Document) -> Document:
        cells = [replace(cell, samples_s=[seconds] * 60, warmup_s=[]) for cell in document.cells]
        return tell(facts)(replace(document, cells=cells))

    return change


def grow(start: int | None, end: int | None) -> Change:
    return tell({"cuda.cache.at_start.files": start, "cuda.cache.at_end.files": end})


def is_on_one_arm(document: Document) -> bool:
    """So that no block has both arms."""
    return (document.invocation.arm == "cpu") == (document.invocation.block < 4)


NARROW: Mapping[str, Scalar] = {
    "gpu.name": "GRID A10-8Q",
    "gpu.virtualization": "vgpu",
    "gpu.licensed": False,
    "gpu.count": 8,
    "gpu.silent": 1,
    "gpu.memory_errors": 1,
    "gpu.at_end.memory_errors": 1,
    "gpu.remapping_pending": True,
    "gpu.corrected_errors": 0,
    "gpu.at_end.corrected_errors": 1,
    "gpu.rows_remapped": 0,
    "gpu.at_end.rows_remapped": 1,
    "gpu.pcie_replays": 0,
    "gpu.at_end.pcie_replays": 10**6,
    "gpu.xids": "63,79",
    "gpu.power_limit_w": 100.0,
    "gpu.power_limit_default_w": 350.0,
    "gpu.pcie_generation_most": 5,
    "gpu.pcie_width_most": 16,
}


def narrow(document: Document) -> Document:
    """A slice that tells of everything, of which nothing is as it should be; copies are slow on it."""
    if document.invocation.arm == "cpu":
        return hurry(0.05)(document)
    link = {"gpu.pcie_generation": [4.0, 4.0], "gpu.pcie_width": [16.0, 16.0]}
    return watch(NARROW, link)(hurry(0.03, {"gpu.0.name": "GRID A10-8Q"})(document))


def fit(gpu: str) -> Change:
    """A machine of Amazon's g5, with this GPU behind a quarter of a slot."""

    def change(document: Document) -> Document:
        engine = {**document.invocation.engine, "machine.type": "g5.xlarge"}
        document = invoke(engine=engine)(document)
        if document.invocation.arm == "cpu":
            return document
        link = {"gpu.pcie_generation": [4.0, 4.0], "gpu.pcie_width": [4.0, 4.0]}
        return watch({"gpu.name": gpu}, link)(tell({"gpu.0.name": gpu})(document))

    return change


SPIKES = [3e-3 if i % 10 == 0 else 1e-3 + 1e-6 * (i % 7) for i in range(60)]
MODES = [1.3e-3 if i * 7 % 10 < 5 else 1e-3 for i in range(60)]


def make_campaigns() -> list[LoadedCampaign]:
    """Each has some of the flags."""
    return [
        in_blocks(
            watch({"cpu.throttled_s": 2.0}),
            watch({"cpu.steal_share": 0.5}),
            watch({"gpu.is_named": False}),
            tell({"gpu.at_end": "gone"}),
        ),
        in_blocks(evidence({"gpu.slowdown_share": 0.1})),
        in_blocks(*[evidence({"gpu.other_processes": 1.0})] * 6),
        repeat(make(), status="interrupted"),
        repeat(make()),
        repeat(make(change=grow(0, 24))),
        measure_again(make()),
        in_blocks(
            swap_image(content="e" * 64),
            invoke(isolation="none"),
            invoke(limits={}),
            invoke(isolation="unseen"),
        ),
        in_blocks(invoke(clock_jump_s=-3600.0)),
        in_blocks(grow(0, 24), grow(24, None)),
        in_blocks(tell({"gpu.simulated": True})),
        in_blocks(it_broke, in_step(calls_per_sample=9)),
        in_blocks(in_step(work=Work(amount=9.0, unit="example"))),
        in_blocks(in_step(check=Check(what="a sum", value=41.0, tolerance=1e-6))),
        in_blocks(
            in_step(labels=["warm-up cap", "short samples", "dispatch-bound", "disturbed", "odd"]),
            evidence({"foreign_cpus": 0.9, "gpu.capped_share": 0.9, "thermal_events": 1.0}),
            in_step(spent_s={"measure": 99.0}),
            watch({"cpu.steal_share": 0.05}),
        ),
        in_blocks(
            in_step(samples_s=[1e-3] * 46 + [2e-3] * 14),
            in_step(samples_s=[1e-3] * 20 + [1.5e-3] * 40),
            in_step(samples_s=[1e-3] * 9),
        ),
        in_blocks(in_step(replaced_s=[2e-3] * 3)),
        in_blocks(*[in_step(samples_s=SPIKES)] * 6),
        in_blocks(*[in_step(samples_s=MODES)] * 6),
        in_blocks(*[in_step(samples_s=[times * 1e-3] * 60) for times in (2, 1) * 6], blocks=12),
        in_blocks(keep, keep, stretch(2), cells=ALIKE),
        make(2),
        in_blocks(*[lose(STEP, "pending", None)] * 6),
        make(
            cells=[replace(CELLS[0], arms=["gpu"]), CELLS[1]],
            change=lambda document: (
                drop(STEP)(document) if document.invocation.arm == "cpu" else document
            ),
        ),
        make(excluded={"cuda": {STEP: Excluded(outcome="failed", reason="x")}}, change=drop(STEP)),
        keep_cpu(make(change=drop(STEP))),
        make(profile="smoke"),
        in_blocks(*[it_broke] * 6),
        make(change=lambda document: it_broke(document) if is_on_one_arm(document) else document),
        in_blocks(*[hurry(1e-9)] * 6, cells=[COPY, CALL, SMALL, CHAIN, SUM, PRODUCT]),
        in_blocks(*[hurry(1e-9, {"cpu.architecture": "aarch64"})] * 6, cells=[COPY]),
        make(cells=[COPY], change=hurry(1e-9)),
        in_blocks(*[hurry(0.5)] * 6, cells=[LARGE]),
        make(cells=[COPY], change=narrow),
        make(change=fit("NVIDIA A10G")),
        make(change=fit("Tesla T4")),
        make(cells=[LARGE], change=in_cell(LARGE.id, evidence={"own_cpus": 0.4})),
        make(change=invoke(engine={"cores": 8, "cores_withheld": 7})),
        load(
            *make_kept(
                {
                    "cuda": {
                        "product": replace(GPU_WELL, share=fall(40.0, 1.0, 0.6)),
                        "copy": replace(GPU_WELL, noise=0.6),
                    }
                }
            )
        ),
        hear_tools(),
    ]


def hear_tools() -> LoadedCampaign:
    """A campaign beside which every tool says something else."""
    outputs = {
        "nvidia-smi.xml": tools.smi(hw_slowdown="Active"),
        "given-nvidia-smi.xml": tools.smi("535.1.2", uuid=tools.OTHER_UUID),
        "dcgmi.json": tools.diag(Memory="bad pages"),
        "nvbandwidth.json": tools.bandwidth(["1.0"]),
    }
    facts = {"gpu.0.uuid": codec.hash_uuid(tools.UUID), "gpu.driver": "580.11.22"}
    read = [read_tool(n, codec.hide_uuids(text).encode()) for n, text in outputs.items()]
    copies = [price("copy", 1.0, "copy", 2.0**28, direction="to-device")]
    return replace(make(cells=copies, change=hurry(0.05, facts)), tools=tuple(read))


def calibrate() -> LoadedCampaign:
    """A campaign that has only its calibration, on a machine of which nothing is as it should be."""
    campaign = synthetic.make_campaign(blocks=1, cells=CELLS)
    busy = {"foreign_cpus": 2.0, "steal_share": 0.5}
    change = (
        lose(START, "failed", "it broke"),
        evidence(busy),
        tell({"cpu.quota": "2"}),
    )
    document = synthetic.make_document(campaign, "cuda", 0)
    for step in change:
        document = step(document)
    facts = {
        "gpu.name": "Made-Up Accelerator",
        "gpu.power_limit_w": 100.0,
        "gpu.power_limit_default_w": 350.0,
        "gpu.clock_sm_most_mhz": 1980,
        "gpu.pcie_generation_most": 5,
        "gpu.pcie_width_most": 16,
    }
    series = {
        "gpu.clock_sm_mhz": [900.0, 900.0],
        "gpu.pcie_generation": [1.0, 1.0],
        "gpu.pcie_width": [16.0, 16.0],
    }
    campaign = replace(campaign, not_run={"cuda": "cuda is refused"})
    return load(campaign, [watch(facts, series)(document)])


def gather(tree: object) -> Iterator[Flag]:
    """Every flag in there, however deep."""
    if isinstance(tree, Flag):
        yield tree
    elif isinstance(tree, Struct):
        yield from gather(structs.asdict(tree))
    elif isinstance(tree, Mapping):
        yield from gather(tuple(tree.values()))
    elif isinstance(tree, tuple):
        for each in tree:
            yield from gather(each)


def compare() -> Iterator[Versus]:
    """Campaigns set side by side."""
    first = make()
    for second in (
        make(cells=CELLS[:1]),
        make(change=in_step(calls_per_sample=9)),
        make(change=in_step(check=Check(what="a sum", value=9.0))),
        make(change=in_step(work=Work(amount=9.0, unit="example"))),
    ):
        campaign = replace(second.campaign, id="another")
        yield compare_cells([analyse(first), analyse(replace(second, campaign=campaign))])


def choose() -> Iterator[Versus]:
    """Machines to choose from, and one that contradicts another."""
    first = analyse(make())

    def another(name: str, measure_s: float = first.campaign.measure_s, **fields: Any) -> Analysis:
        plan = structs.replace(first.campaign, id=name, measure_s=measure_s)
        return structs.replace(first, campaign=plan, **fields)

    mine, strangers = (
        {
            name: structs.replace(arm, facts={**arm.facts, "engine.machine.id": (mark,)})
            for name, arm in first.arms.items()
        }
        for mark in ("#12345678", "#87654321")
    )
    first = structs.replace(first, arms=mine)
    ended = {name: structs.replace(arm, blocks={}) for name, arm in first.arms.items()}
    rest = [
        another("copy"),
        another("suite", cells=(), suite=replace(first.suite, content="6" * 64)),
        another("method", 9.0, cells=()),
        another("short", cells=(), arms=strangers),
        another("ended", cells=(), arms=ended),
    ]
    asked = date(2026, 11, 23)
    yield compare_machines([first, first, *rest], asked=asked, workload=STEP)
    yield compare_machines([first, another("stranger", arms=strangers)], asked=asked, workload=STEP)


@pytest.fixture(scope="module")
def raised() -> list[Flag]:
    too_wide = estimate([5e-324, 1e308, 5e-324])
    results = (*map(analyse, [*make_campaigns(), calibrate()]), *compare(), *choose(), too_wide)
    return [*gather(results), raise_flag("one-arm")]


def test_every_kind_is_raised(raised: list[Flag]) -> None:
    assert {flag.code for flag in raised} == set(KINDS)


def test_every_flag_has_its_words(raised: list[Flag]) -> None:
    for flag in raised:
        for text in (word(flag), word(flag, brief=True)):
            assert text.strip()
            assert not set("{}") & set(text)
            assert not text.endswith(".")


def test_what_is_said_of_a_whole_campaign_or_its_machine_has_a_banner() -> None:
    """But for what keeps a campaign from being set beside others."""
    promised = {
        code
        for code, kind in KINDS.items()
        if (kind.scope == "campaign" and kind.severity != "excluded") or kind.scope == "machine"
    }
    assert {code for code in KINDS if name_banners([raise_flag(code)])} == promised


def test_codes_are_unique_and_placeholders_have_names() -> None:
    assert sum(len(texts) for scopes in flags._TEXTS.values() for texts in scopes.values()) == len(
        KINDS
    )
    for kind in KINDS.values():
        names = [name for _, name, _, _ in Formatter().parse(kind.text) if name is not None]
        assert all(name.isidentifier() for name in names)
    assert set(KINDS) > OF_CELLS | IMPLAUSIBLE
