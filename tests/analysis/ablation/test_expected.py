"""What such a machine should give: by its part, by its type, and what of it is held against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from suite.analysis.ablation.expected import THIRD
from suite.analysis.ablation.limits import FAR
from suite.analysis.analyse import analyse
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import Finding
from suite.model import Document, Scalar
from suite.report.pages.brief import compose_brief, compose_screen
from suite.report.pages.campaign import compose
from suite.report.render.markdown import render_page
from suite.report.render.terminal import render_lines
from suite.report.text.wording import word
from suite.worker import scenarios
from tests import changes, synthetic
from tests.changes import Change, keep, plant, tell
from tests.flagging import codes
from tests.rendering import load, read_words

pytestmark = pytest.mark.simulated

COPIES = [
    cell
    for cell in scenarios.cells()
    if cell.price in {"copy-in", "copy-out"} and (cell.work.bytes or 0.0) >= 2**28
]
SUM = next(cell for cell in scenarios.cells() if cell.price == "memory")
ALL = [synthetic.make_product(8000), synthetic.make_product(1000), SUM, *COPIES]
AZURE, GCP = "Standard_NC24ads_A100_v4", "a2-highgpu-1g"
A100 = "NVIDIA A100 80GB PCIe"
TO, BACK = "copy to the device", "copy from the device"


def call_it(kind: str | None, **more: Scalar) -> Change:
    """A machine that its cloud calls so."""

    def change(document: Document) -> Document:
        engine = {**document.invocation.engine, "machine.type": kind, **more}
        return changes.invoke(engine=engine)(document)

    return change


def link(generation: float, lanes: float, **facts: Scalar) -> Change:
    """A GPU with this link under load, whose card and host can do more."""
    told = {"gpu.pcie_generation_most": 5, "gpu.pcie_width_most": 16, **facts}
    seen = {"gpu.pcie_generation": [1.0, generation], "gpu.pcie_width": [lanes, lanes]}

    def change(document: Document) -> Document:
        name = document.facts["gpu.0.name"]
        return changes.watch({**told, "gpu.name": name}, seen)(document)

    return change


def trace(gb_s: float, calls: float = 1.0) -> Change:
    """The calibration's traces of copies at this rate, in calls that take so many times as long."""

    def change(document: Document) -> Document:
        if document.invocation.block:
            return document
        sizes = {cell.id: (cell.work.bytes or 0.0) / (gb_s * 1e9) for cell in COPIES}
        cells = [
            replace(
                cell,
                trace={"calls": 5.0, "call_s": calls * sizes[cell.id], "copy_share": 1 / calls},
            )
            if cell.id in sizes
            else cell
            for cell in document.cells
        ]
        return replace(document, cells=cells)

    return change


def make(
    device: str, *how: Change, tflops: float = 4.0, gb_s: float = 100.0, copies: float = 20.0
) -> Analysis:
    """A campaign on a GPU of that name, whose products, sum and copies have these rates."""
    campaign = synthetic.make_campaign(blocks=3, cells=ALL)
    rates = {"FLOP": tflops * 1e12, "byte": copies * 1e9}

    def truth(cell: object, arm: str) -> float:
        work = cell.work  # type: ignore[attr-defined]
        if cell == SUM:
            return float(work.bytes) / (gb_s * 1e9) * (20 if arm == "cpu" else 1)
        amount = work.amount if work.unit == "FLOP" else work.bytes
        return float(amount) / rates.get(work.unit, rates["byte"]) * (3 if arm == "cpu" else 1)

    documents = synthetic.make_documents(campaign, samples=20, truth=truth)
    for change in (tell({"gpu.0.name": device}), *how):
        documents = plant(documents, change, "cuda")
    return analyse(load(campaign, documents))


def find(analysis: Analysis, of: str) -> Finding:
    (row,) = analysis.find("expected", arm="cuda", of=of)
    return row


@cache
def make_azure() -> Analysis:
    return make(A100, call_it(AZURE), trace(24.0), gb_s=1500.0)


def test_a_row_says_what_was_measured_what_was_expected_and_who_says_so() -> None:
    row = find(make_azure(), TO)
    assert row.number.value == pytest.approx(24e9, rel=0.05)
    assert None not in (row.number.low, row.number.high)
    assert row.share == pytest.approx(row.number.value / 26.7e9)
    assert (row.verdict, row.unit, row.cell) == ("in", "B/s", COPIES[0].id)
    (named,) = row.evidence
    figure = {"low": 26.7e9, "high": 26.7e9, "source": "SpareCores, 2026", "date": "2026-07"}
    assert dict(named.values) == {**figure, "unit": "B"}
    memory = find(make_azure(), "memory")
    assert memory.evidence[0].values["low"] == 1.495e12
    assert memory.share == pytest.approx(memory.number.value / 1.495e12)
    # A device that nobody knows: no figure, no share, no verdict.
    (fp32,) = make_azure().find("expected", arm="cpu", of="fp32 products")
    assert (fp32.share, fp32.verdict, fp32.evidence) == (None, "", ())
    assert fp32.number.value > 0


@pytest.mark.parametrize(
    ("kind", "device", "gb_s", "band"),
    [
        (AZURE, A100, 26.0, "in"),
        # As much as TensorFlow reaches of a pinned copy on a slow host, and half of its slot.
        (AZURE, A100, 1.02 * FAR * 26.7, "in"),
        (AZURE, A100, 0.98 * FAR * 26.7, "below"),
        (AZURE, A100, 13.3, "below"),
        (AZURE, A100, 31.0, "above"),
        # The same rate is all that this one gives.
        (GCP, "NVIDIA A100-SXM4-40GB", 12.3, "in"),
        ("g4dn.xlarge", "Tesla T4", 6.3, "in"),
        ("ecs.gn6i-c4g1.xlarge", "Tesla T4", 6.3, "below"),
        # Of an unknown type, or one with another GPU, nothing is held against it.
        (None, A100, 2.0, ""),
        ("made-up.large", A100, 2.0, ""),
        (GCP, A100, 2.0, ""),
        # A part that the table does not have.
        (AZURE, "Made-Up Accelerator", 2.0, ""),
    ],
)
def test_a_copy_is_held_against_the_type_of_the_machine(
    kind: str | None, device: str, gb_s: float, band: str
) -> None:
    analysis = make(device, call_it(kind), trace(gb_s))
    assert find(analysis, TO).verdict == band
    flags = [flag for flag in analysis.hardware if flag.code == "below-expected"]
    assert bool([flag for flag in flags if flag.values["what"] == TO]) == (band == "below")


def test_a_copy_that_need_not_be_of_pinned_memory_may_have_a_third() -> None:
    """On the way back, and where there is no trace of the link alone."""
    for share, band in ((1.05 * THIRD, "in"), (0.95 * THIRD, "below")):
        traced = make(A100, call_it(AZURE), trace(share * 26.3))
        assert find(traced, BACK).verdict == band
        called = make(A100, call_it(AZURE), copies=share * 26.7)
        assert find(called, TO).verdict == band
    # Slower than within the CPU's own memory, a call tells nothing of the link.
    campaign = synthetic.make_campaign(blocks=2, cells=ALL)
    documents = synthetic.make_documents(campaign, samples=20, truth=lambda *_: 1.0)
    for change in (tell({"gpu.0.name": A100}), call_it(AZURE)):
        documents = plant(documents, change, "cuda")
    assert not analyse(load(campaign, documents)).find("expected", of=TO)


def test_of_an_unknown_type_the_figures_of_all_are_shown() -> None:
    row = find(make("Tesla T4", trace(2.0)), TO)
    first, second = row.evidence
    assert (first.values["low"], first.values["high"]) == (6.3e9, 12.3e9)
    assert second.code == "of-all-types"
    assert row.share == pytest.approx(row.number.value / 6.3e9)


@pytest.mark.parametrize(
    ("device", "tflops", "variant", "band"),
    [
        # What NVIDIA measured of one A10, and others of another.
        ("NVIDIA A10", 8.1, None, "in"),
        ("NVIDIA A10", 8.1, "2236:1482", "in"),
        ("NVIDIA A10", 8.1, "2236:ffff", "in"),
        ("NVIDIA A10", 14.0, "2236:1482", "in"),
        ("NVIDIA A10", 6.0, None, "below"),
        ("NVIDIA A10", 4.0, None, "far below"),
        ("NVIDIA H100 80GB HBM3", 39.0, None, "in"),
        ("NVIDIA H100 80GB HBM3", 51.9, None, "in"),
        ("NVIDIA H100 PCIe", 20.5, None, "in"),
        ("NVIDIA H100 NVL", 34.1, None, "in"),
        # Four variants have one name, and three of them a third of the rate by NVIDIA's own measurement.
        ("NVIDIA B200", 16.8, "2901:1999", "in"),
        ("NVIDIA B200", 16.8, None, "in"),
        ("NVIDIA B200", 11.0, "2901:1999", "below"),
        ("Made-Up Accelerator", 1.0, None, ""),
    ],
)
def test_a_product_is_held_against_the_kindest_figure_of_its_part(
    device: str, tflops: float, variant: str | None, band: str
) -> None:
    numbers = {"gpu.pci_device": variant} if variant else {}
    analysis = make(device, link(4.0, 16.0, **numbers), tflops=tflops)
    assert find(analysis, "fp32 products").verdict == band


def test_small_products_are_not_held_against_large_ones_and_may_reach_them() -> None:
    def judge(tflops: float) -> Finding:
        campaign = synthetic.make_campaign(blocks=3, cells=[synthetic.make_product(1000)])
        documents = synthetic.make_documents(
            campaign, samples=20, truth=lambda cell, _: cell.work.amount / (tflops * 1e12)
        )
        documents = plant(documents, tell({"gpu.0.name": "NVIDIA A10"}), "cuda")
        return find(analyse(load(campaign, documents)), "fp32 products")

    assert judge(8.1).verdict == "in"
    slow = judge(1.0)
    assert (slow.verdict, slow.evidence[1].code) == ("", "of-another-size")


def test_a_wide_interval_accuses_nobody() -> None:
    campaign = synthetic.make_campaign(blocks=3, cells=[synthetic.make_product(8000)])
    documents = synthetic.make_documents(
        campaign, samples=20, truth=lambda cell, _: cell.work.amount / 6e12
    )
    documents = plant(documents, tell({"gpu.0.name": "NVIDIA A10"}), "cuda")
    assert find(analyse(load(campaign, documents)), "fp32 products").verdict == "below"
    documents = plant(documents, changes.stretch(0.75), "cuda", 1)
    row = find(analyse(load(campaign, documents)), "fp32 products")
    assert (row.verdict, row.evidence[1].code) == ("", "reaches-band")


def test_of_a_processor_a_machine_may_have_some_cores() -> None:
    campaign = synthetic.make_campaign(blocks=3, cells=[synthetic.make_product(8000)])
    documents = synthetic.make_documents(
        campaign, samples=20, truth=lambda cell, _: cell.work.amount / 0.2e12
    )
    named = tell({"cpu.model": "AMD EPYC 7763 64-Core Processor"})
    analysis = analyse(load(campaign, plant(documents, named, "cpu")))
    (row,) = analysis.find("expected", arm="cpu")
    assert (row.verdict, row.evidence[1].code) == ("", "of-all-cores")
    assert "below-expected" not in codes(analysis.hardware)


TYPES: Mapping[str, tuple[str, str, Change, float, list[str]]] = {
    "as it should be": (AZURE, A100, link(4, 16), 25.0, []),
    "half of the slot": (AZURE, A100, link(4, 8), 13.3, ["link-below-type", "below-expected"]),
    "an older slot": (AZURE, A100, link(3, 16), 12.3, ["link-below-type", "below-expected"]),
    "half a slot, as all of its type": ("g5.xlarge", "NVIDIA A10G", link(4, 8), 13.0, []),
    "two lanes less": ("g5.xlarge", "NVIDIA A10G", link(4, 6), 9.9, ["link-below-type"]),
    "half a slot of an unknown type": ("made-up.large", A100, link(4, 8), 13.3, ["link-narrow"]),
    "nobody watched": (AZURE, A100, keep, 25.0, []),
    "another GPU": (AZURE, "NVIDIA A10G", link(5, 16), 50.0, ["type-differs"]),
    "another GPU that nobody knows": (AZURE, "A Card", link(5, 16), 50.0, ["type-differs"]),
    "a slice of it": ("g6.xlarge", "NVIDIA L4-3Q", link(5, 16), 50.0, ["sliced"]),
    "a part of it": (GCP, "NVIDIA A100-SXM4-40GB MIG 1g.5gb", link(5, 16), 50.0, []),
    "a slow host, as all of its type": (GCP, "NVIDIA A100-SXM4-40GB", link(4, 16), 12.3, []),
    "a slow host": (AZURE, A100, link(4, 16), 12.3, ["link-slow", "below-expected"]),
}
"""By its name the type, the GPU, its link, the rate of its copies, and what is told."""


@pytest.mark.parametrize("name", TYPES)
def test_what_is_told_of_a_machine_of_a_type(name: str) -> None:
    kind, device, change, gb_s, told = TYPES[name]
    analysis = make(device, call_it(kind), change, trace(gb_s))
    copies_and_links = {None, TO, BACK}
    hardware = [flag for flag in analysis.hardware if flag.values.get("what") in copies_and_links]
    assert codes(hardware) == told
    screen = " ".join(render_lines(compose_screen(analysis)).split())
    brief, report = read_words(compose_brief(analysis)), read_words(compose(analysis))
    for flag in hardware:
        # Before any answer, and once.
        if flag.code in {"type-differs", "link-below-type", "below-expected"}:
            assert word(flag) in screen
            assert brief.count(word(flag)) == 1
        assert word(flag) in report


@pytest.mark.parametrize(
    ("facts", "tflops", "words"),
    [
        ({"gpu.power_limit_w": 150.0, "gpu.power_limit_default_w": 300.0}, 9.0, "limit is 150 W"),
        ({"gpu.clock_sm_most_mhz": 1410}, 9.0, "clock peaked at 700 MHz"),
    ],
)
def test_what_holds_a_gpu_back_is_told_with_what_it_lacks(
    facts: Mapping[str, Scalar], tflops: float, words: str
) -> None:
    seen = changes.watch({"gpu.name": A100, **facts}, {"gpu.clock_sm_mhz": [300.0, 700.0]})
    for rate, first in ((tflops, True), (18.0, False)):
        analysis = make(A100, call_it(AZURE), seen, tflops=rate, gb_s=1500.0)
        assert (words in " ".join(render_lines(compose_screen(analysis)).split())) == first
        brief = read_words(compose_brief(analysis))
        assert brief.count(words) == 1
        assert ("machine that was ordered? Not as it should be" in brief) == first


def test_the_report_has_one_table_with_what_was_measured_and_what_is_expected() -> None:
    report = render_page(compose(make(A100, call_it(AZURE), trace(10.0), tflops=18.0)))
    for words in (
        "26.7 GB/s (SpareCores, 2026, 2026-07)",
        "below: ask the vendor",
        "the machine is a Standard_NC24ads_A100_v4, as its cloud says",
        "its figures are those of the A100 PCIe 80 GB",
        "in band",
    ):
        assert words in report
    stated = call_it(AZURE, **{"machine.type_stated": True})
    assert f"the machine is a {AZURE}, as TYPE says" in render_page(compose(make(A100, stated)))
    unknown = render_page(compose(make("Tesla T4", trace(2.0), gb_s=240.0)))
    assert "the type of the machine is not known (TYPE says it)" in unknown
    assert "6.30 GB/s to 12.3 GB/s (SpareCores, 2026" in unknown
    assert "what machines with this part reach, since nothing is known of this type" in unknown
    assert "ask the vendor" not in unknown
