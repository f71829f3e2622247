"""What is told of a GPU: slices, links as they are told and as they copy, limits, clocks, dead neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from suite.analysis.ablation.hardware import HALF, LANE, LEAST_COPY
from suite.analysis.ablation.soundness import find_unsound, take_calibration
from suite.analysis.analyse import analyse
from suite.analysis.campaign.plausibility import PCIE
from suite.analysis.result.campaign import Analysis
from suite.cells.cell import Cell
from suite.model import Document, Scalar
from suite.report.pages.campaign import compose, compose_brief
from suite.report.render.markdown import render_page
from suite.report.render.terminal import render_lines
from suite.report.text.wording import word
from suite.slices import VirtualGpu, read_virtual_gpu
from suite.worker import scenarios
from tests import changes, synthetic
from tests.changes import Change, plant, tell
from tests.flagging import codes
from tests.rendering import load

pytestmark = pytest.mark.simulated

COPIES = [one for one in scenarios.cells() if one.price in {"copy-in", "copy-out"}]
OTHERS = [one for one in synthetic.make_cells() if one.scenario == "matmul"][:4]
CARD: Mapping[str, Scalar] = {
    "gpu.name": "Made-Up Accelerator",
    "gpu.count": 1,
    "gpu.silent": 0,
    "gpu.virtualization": "passthrough",
    "gpu.power_limit_w": 350.0,
    "gpu.power_limit_default_w": 350.0,
    "gpu.power_limit_most_w": 350.0,
    "gpu.clock_sm_most_mhz": 2000,
    "gpu.pcie_generation_most": 4,
    "gpu.pcie_width_most": 16,
}
SEEN: Mapping[str, Sequence[float | None]] = {
    "gpu.clock_sm_mhz": [300.0, 2000.0],
    "gpu.pcie_generation": [1.0, 4.0],
    "gpu.pcie_width": [16.0, 16.0],
}
SLICE: Mapping[str, Scalar] = {
    "gpu.name": "GRID T4-8Q",
    "gpu.count": 1,
    "gpu.silent": 0,
    "gpu.virtualization": "vgpu",
    "gpu.licensed": True,
}
"""All that the driver of a slice tells."""


def slice_it(name: str = "GRID T4-8Q", **facts: Scalar) -> Change:
    """A slice of this name, with what its driver tells."""
    others = {f"gpu.{fact}": value for fact, value in facts.items()}

    def change(one: Document) -> Document:
        return tell({"gpu.0.name": name})(changes.watch({**SLICE, "gpu.name": name, **others})(one))

    return change


def watch(facts: Mapping[str, Scalar] | None = None, **series: Sequence[float | None]) -> Change:
    others = {f"gpu.{name}": values for name, values in series.items()}
    return changes.watch({**CARD, **(facts or {})}, {**SEEN, **others})


def make(*how: Change, cells: Sequence[Cell] = OTHERS, blocks: int = 2) -> Analysis:
    """The analysis of a campaign whose GPU was changed so."""
    campaign = synthetic.make_campaign(blocks=blocks, cells=list(cells))
    documents = synthetic.make_documents(campaign, samples=20)
    for change in (watch(), *how):
        documents = plant(documents, change, "cuda")
    return analyse(load(campaign, documents))


def trace(gb_s: float) -> Change:
    """The calibration's traces of copies at this rate, in calls that take three times as long."""

    def change(one: Document) -> Document:
        if one.invocation.block:
            return one
        cells = [
            replace(cell, trace={"calls": 20.0, "call_s": 3 * seconds, "copy_share": 1 / 3})
            for cell in one.cells
            if (seconds := SIZES[cell.id] / (gb_s * 1e9))
        ]
        return replace(one, cells=cells)

    return change


SIZES = {one.id: one.work.bytes or 0.0 for one in COPIES}


FOUND: Sequence[tuple[str, Change, str | None]] = [
    ("as it should be", watch(), None),
    ("nothing is known", lambda one: replace(one, telemetry=None), None),
    ("half the lanes", watch(pcie_width=[8.0, 8.0]), "link-narrow"),
    ("a generation less", watch(pcie_generation=[1.0, 3.0]), "link-narrow"),
    ("a link unlike any", watch({"gpu.pcie_width_most": None}, pcie_width=[8.0, 8.0]), None),
    ("80 % of the power", watch({"gpu.power_limit_w": 280.0}), "power-limited"),
    ("more than by default", watch({"gpu.power_limit_default_w": 310.0}), None),
    (
        "80 % of more than by default",
        watch({"gpu.power_limit_default_w": 310.0, "gpu.power_limit_w": 280.0}),
        "power-limited",
    ),
    (
        "the default, of which more can be set",
        watch({"gpu.power_limit_most_w": 600.0}),
        None,
    ),
    ("80 % of the clock", watch(clock_sm_mhz=[300.0, 1600.0]), "clock-low"),
    ("nearly all of the clock", watch(clock_sm_mhz=[300.0, 1750.0]), None),
    ("bad memory", watch({"gpu.memory_errors": 3}), "memory-errors"),
    ("a dead one beside it", watch({"gpu.count": 8, "gpu.silent": 1}), "gpus-silent"),
    ("one that the driver does not list", watch({"gpu.count": 7, "gpu.on_bus": 8}), "gpus-silent"),
    ("all of the bus", watch({"gpu.count": 8, "gpu.on_bus": 8}), None),
    ("more than on the bus that is seen", watch({"gpu.count": 8, "gpu.on_bus": 0}), None),
    ("a bus that tells of others' GPUs", watch({"gpu.count": 1, "gpu.on_bus": None}), None),
    ("a slice", slice_it(), "sliced"),
]


@pytest.mark.parametrize(
    ("change", "code"), [row[1:] for row in FOUND], ids=[row[0] for row in FOUND]
)
def test_what_is_told_of_a_gpu_from_both_sides(change: Change, code: str | None) -> None:
    found = make(change)
    assert codes(found.hardware) == ([code] if code else [])
    # None of it is a reason to call a campaign anything.
    assert codes(found.flags) == ["simulated"]
    report = render_lines(compose_brief(found))
    for one in found.hardware:
        assert one.where == {"arm": "cuda"}
        assert f"{word(one)}." in " ".join(report.split())


def test_gpus_that_do_not_answer_and_that_are_not_listed_are_added_up() -> None:
    found = make(watch({"gpu.count": 7, "gpu.silent": 1, "gpu.on_bus": 8}))
    (flag,) = found.hardware
    assert "2 of the machine's 8 GPUs do not answer the driver, or it does not list them" in word(
        flag
    )


@pytest.mark.parametrize(
    ("limit", "default", "most", "severity"),
    [
        (500.0, 450.0, 600.0, "info"),
        (320.0, 310.0, 400.0, "info"),
        (450.0, 450.0, 600.0, None),
        (520.0, 450.0, 600.0, None),
        (420.0, 450.0, 450.0, None),
        (420.0, 450.0, 600.0, "caution"),
        (360.0, 450.0, 600.0, "caution"),
        (500.0, None, 600.0, "caution"),
        (520.0, None, 600.0, None),
        (360.0, 450.0, None, "caution"),
    ],
)
def test_a_limit_over_the_default_is_told_and_no_caution(
    limit: float, default: float | None, most: float | None, severity: str | None
) -> None:
    facts: Mapping[str, Scalar] = {
        "gpu.power_limit_w": limit,
        "gpu.power_limit_default_w": default,
        "gpu.power_limit_most_w": most,
    }
    assert [one.severity for one in make(watch(facts)).hardware] == ([severity] if severity else [])


def test_half_of_a_link_is_told_with_what_it_may_be() -> None:
    (flag,) = make(watch(pcie_width=[8.0, 8.0])).hardware
    assert word(flag) == (
        "cuda: under load the GPU's link is PCIe generation 4 with 8 lanes; at most: generation 4 with 16. "
        "Many types of rented machines are built that way, so only others of the same type show whether it "
        "is a fault"
    )


def test_the_profile_that_a_renter_runs_first_shows_a_slow_link_in_both_directions() -> None:
    quick = [one for one in COPIES if "quick" in one.profiles]
    assert [one.price for one in quick if SIZES[one.id] >= LEAST_COPY] == ["copy-in", "copy-out"]
    for price in ("copy-in", "copy-out"):
        cells = [one for one in quick if one.price == price]
        assert codes(make(watch(), trace(12.3), cells=cells).hardware) == ["link-slow"]


@pytest.mark.parametrize(
    ("gb_s", "lanes", "code"),
    [
        (26.7, 16.0, None),
        (12.3, 16.0, "link-slow"),
        (13.4, 8.0, "link-narrow"),
        (HALF * 1.01 * 16 * LANE[4] / 1e9, 16.0, None),
        # It carries more than is told: the link is another one.
        (26.7, 8.0, None),
    ],
)
def test_copies_are_held_against_the_link_that_is_told(
    gb_s: float, lanes: float, code: str | None
) -> None:
    found = make(watch(pcie_width=[lanes, lanes]), trace(gb_s), cells=COPIES)
    assert codes(found.hardware) == ([code] if code else [])
    if code == "link-slow":
        text = word(found.hardware[0])
        assert "reach 12.3 GB/s, 39 % of the 31.5 GB/s" in text, text


def test_a_call_alone_tells_of_the_link_where_it_beats_the_cpus_own_copy() -> None:
    """TensorFlow copies within the CPU's memory first: a slower call may be slow for that."""

    def run(cpu: float, gpu: float) -> list[str]:
        campaign = synthetic.make_campaign(blocks=2, cells=COPIES)
        rates = {"cpu": cpu, "cuda": gpu}
        documents = synthetic.make_documents(
            campaign, samples=20, truth=lambda cell, arm: SIZES[cell.id] / (rates[arm] * 1e9)
        )
        return codes(analyse(load(campaign, plant(documents, watch(), "cuda"))).hardware)

    assert run(cpu=10.0, gpu=7.0) == []
    assert run(cpu=10.0, gpu=12.3) == ["link-slow"]
    assert run(cpu=10.0, gpu=26.0) == []


def test_the_calibrations_traces_are_heard_before_any_block() -> None:
    campaign = synthetic.make_campaign(blocks=2, cells=COPIES)
    documents = [synthetic.make_document(campaign, arm, 0) for arm in campaign.arms]
    for change in (watch(), trace(12.3)):
        documents = plant(documents, change, "cuda")

    loaded = load(campaign, documents)
    first = take_calibration(loaded)
    assert first is not None
    assert codes(analyse(first).hardware) == ["link-slow"]
    assert not list(find_unsound(loaded))


def test_a_lane_carries_what_the_specifications_say() -> None:
    gb_s = {generation: round(16 * lane / 1e9, 1) for generation, lane in LANE.items()}
    assert gb_s == {1: 4.0, 2: 8.0, 3: 15.8, 4: 31.5, 5: 63.0, 6: 121.0}
    assert 16 * LANE[6] == PCIE


@pytest.mark.parametrize(
    ("mode", "name", "told"),
    [
        ("vgpu", "GRID T4-8Q", True),
        (None, "NVIDIA A10-4Q", True),
        ("vgpu", "A name unlike any", True),
        ("passthrough", "NVIDIA A100-SXM4-40GB", False),
        (None, "NVIDIA A100-SXM4-40GB", False),
        ("none", "NVIDIA A10-4Q", False),
    ],
)
def test_a_slice_is_known_by_its_mode_and_else_by_its_name(
    mode: str | None, name: str, told: bool
) -> None:
    found = make(slice_it(name, virtualization=mode))
    assert codes(found.hardware) == (["sliced"] if told else [])
    # Nobody watched: only the name is there.
    alone = make(lambda one: replace(one, telemetry=None), tell({"gpu.0.name": name}))
    assert bool(alone.hardware) == (read_virtual_gpu(name) is not None)


def test_a_slice_is_on_the_first_screen_and_what_it_does_not_tell_is_no_trouble() -> None:
    found = make(slice_it())
    text = render_page(compose(found))
    first = text[: text.index("\n## ")]
    assert "GRID T4-8Q is a slice of a GPU (vGPU), not a whole one: other virtual" in first
    assert "GPU clock" not in text
    assert "power limit" not in first
    own = make(slice_it("NVIDIA A100-2-10C"))
    assert "has parts of the card's processor to itself" in word(own.hardware[0])


def test_a_slice_that_was_without_a_licence_once_is_told() -> None:
    (sliced, unlicensed) = make(slice_it(licensed=False)).hardware
    assert (sliced.code, unlicensed.code) == ("sliced", "unlicensed")
    assert "about 20 minutes" in word(unlicensed)


NAMES = {
    "GRID T4-16Q": ("T4", 16, False),
    "GRID T4-8Q": ("T4", 8, False),
    "GRID M60-0B": ("M60", 0, False),
    "GRID P40-1B4": ("P40", 1, False),
    "GRID V100D-8C": ("V100D", 8, False),
    "NVIDIA A10-4Q": ("A10", 4, False),
    "NVIDIA A16-2B": ("A16", 2, False),
    "A16-2B": ("A16", 2, False),
    "NVIDIA L40S-48Q": ("L40S", 48, False),
    "GRID RTX6000-4Q": ("RTX6000", 4, False),
    "NVIDIA RTX6000-Ada-48Q": ("RTX6000-Ada", 48, False),
    "NVIDIA RTX Pro 6000 Blackwell DC-3Q": ("RTX Pro 6000 Blackwell DC", 3, False),
    "NVIDIA A100-40C": ("A100", 40, False),
    "GRID A100D-7-80C": ("A100D", 80, True),
    "NVIDIA A100-1-5CME": ("A100", 5, True),
    "NVIDIA H100XM-80C": ("H100XM", 80, False),
}
WHOLE = (
    *("Tesla T4", "NVIDIA A100-SXM4-40GB", "Tesla V100-PCIE-16GB", "NVIDIA A100 80GB PCIe"),
    *("NVIDIA H100 80GB HBM3", "Quadro RTX 5000", "Tesla K40c", "NVIDIA GH200 480GB"),
    *(
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "NVIDIA PG506-230",
        "NVIDIA GB10",
        "Tesla P100-PCIE-16GB",
    ),
    *(
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "Orin (nvgpu)",
        "NVIDIA CMP 170HX",
        "",
        "-8Q",
    ),
)


def test_the_names_of_slices_and_of_whole_cards() -> None:
    assert {name: read_virtual_gpu(name) for name in NAMES} == {
        name: VirtualGpu(card, gb, is_part=part) for name, (card, gb, part) in NAMES.items()
    }
    assert not any(map(read_virtual_gpu, (*WHOLE, None)))
