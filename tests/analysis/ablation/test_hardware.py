"""What is told of a GPU, and what of it makes a machine unsound: each finding from both of its sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from suite.analysis.ablation.hardware import HALF, LANE, LEAST_COPY
from suite.analysis.ablation.soundness import (
    BUSY,
    LASTING,
    find_lasting,
    find_unsound,
    take_first_block,
)
from suite.analysis.analyse import analyse
from suite.analysis.campaign.plausibility import PCIE
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.campaign import Analysis
from suite.cells.cell import Cell
from suite.flags import KINDS, Flag
from suite.model import Document, Scalar
from suite.report.pages.brief import compose_brief
from suite.report.pages.campaign import compose, compose_first
from suite.report.render.markdown import render_page
from suite.report.render.terminal import render_lines
from suite.report.text.wording import name_banners, word
from suite.slices import VirtualGpu, read_virtual_gpu
from suite.worker import scenarios
from tests import changes, synthetic
from tests.changes import Change, in_cell, invoke, keep, plant, tell
from tests.flagging import codes
from tests.rendering import load, read_words

pytestmark = pytest.mark.simulated

COPIES = [cell for cell in scenarios.cells() if cell.price in {"copy-in", "copy-out"}]
SIZES = {cell.id: cell.work.bytes or 0.0 for cell in COPIES}
CELLS = [cell for cell in synthetic.make_cells() if cell.scenario in {"matmul", "mlp"}]
CARD: Mapping[str, Scalar] = {
    "gpu.name": "Made-Up Accelerator",
    "gpu.count": 1,
    "gpu.silent": 0,
    "gpu.virtualization": "passthrough",
    "gpu.memory_bytes": 24 * 2**30,
    "gpu.power_limit_w": 350.0,
    "gpu.power_limit_default_w": 350.0,
    "gpu.power_limit_most_w": 350.0,
    "gpu.clock_sm_most_mhz": 2000,
    "gpu.pcie_generation_most": 4,
    "gpu.pcie_width_most": 16,
}
SEEN: Mapping[str, Sequence[float | None]] = {
    "gpu.clock_sm_mhz": [300.0, 2000.0],
    "gpu.power_w": [60.0, 300.0],
    "gpu.pcie_generation": [1.0, 4.0],
    "gpu.pcie_width": [16.0, 16.0],
}
SLICE: Mapping[str, Scalar] = {
    "gpu.count": 1,
    "gpu.silent": 0,
    "gpu.virtualization": "vgpu",
    "gpu.licensed": True,
}
"""All that the driver of a slice tells."""


def slice_it(name: str = "GRID T4-8Q", **facts: Scalar) -> Change:
    """A slice of this name, with what its driver tells."""
    others = {f"gpu.{fact}": value for fact, value in facts.items()}
    watched = changes.watch({**SLICE, "gpu.name": name, **others})
    return lambda document: tell({"gpu.0.name": name})(watched(document))


def watch(facts: Mapping[str, Scalar] | None = None, **series: Sequence[float | None]) -> Change:
    """Telemetry of a GPU that idles first; ``series`` by the last part of their names are others."""
    others = {f"gpu.{name}": values for name, values in series.items()}
    return changes.watch({**CARD, **(facts or {})}, {**SEEN, **others})


def twice(**counts: int | None) -> dict[str, Scalar]:
    """These counters at both looks."""
    names = ("gpu.", "gpu.at_end.")
    return {name + counter: count for name in names for counter, count in counts.items()}


def grow(**by: int) -> dict[str, Scalar]:
    """These counters, of which there were 5 at the first look or, of errors that were not corrected, none."""
    first = {name: 0 if name == "memory_errors" else 5 for name in by}
    last = {f"gpu.at_end.{name}": first[name] + more for name, more in by.items()}
    return {**{f"gpu.{name}": count for name, count in first.items()}, **last}


def limit(watts: float, default: float | None = 350.0, most: float | None = None) -> Change:
    names = ("gpu.power_limit_w", "gpu.power_limit_default_w", "gpu.power_limit_most_w")
    return watch(dict(zip(names, (watts, default, most), strict=True)))


def unwatch(document: Document) -> Document:
    return replace(document, telemetry=None)


def witness(**evidence: float) -> Change:
    """This evidence in all cells."""
    return lambda document: replace(
        document, cells=[replace(cell, evidence=dict(evidence)) for cell in document.cells]
    )


def fail(share: float) -> Change:
    """So many of the cells failed."""

    def change(document: Document) -> Document:
        for cell in document.cells[: round(share * len(document.cells))]:
            document = synthetic.lose_cell(document, cell.id, "failed", "it broke")
        return document

    return change


def clocked(highest: float, default: float | None = None) -> Change:
    return watch({"gpu.clock_default_mhz": default}, clock_sm_mhz=[300.0, highest])


def outside(quota: str) -> Change:
    """A control group above the container's own has this quota."""
    return changes.watch({"cpu.quota": quota}, {"cpu.clock_mhz": [3000.0, 3000.0]})


def trace(gb_s: float) -> Change:
    """The calibration's traces of copies at this rate, in calls that take three times as long."""

    def change(document: Document) -> Document:
        if document.invocation.block:
            return document
        cells = [
            replace(cell, trace={"calls": 20.0, "call_s": 3 * seconds, "copy_share": 1 / 3})
            for cell in document.cells
            if (seconds := SIZES[cell.id] / (gb_s * 1e9))
        ]
        return replace(document, cells=cells)

    return change


def make(*how: Change, cells: Sequence[Cell] = CELLS) -> Analysis:
    """The analysis of a campaign whose GPU was changed so."""
    campaign = synthetic.make_campaign(blocks=2, cells=list(cells))
    documents = synthetic.make_documents(campaign, samples=20)
    for change in (watch(), *how):
        documents = plant(documents, change, "cuda")
    return analyse(load(campaign, documents))


def calibrate(
    *how: Change, arm: str = "cuda", cells: Sequence[Cell] = CELLS, **plan: object
) -> LoadedCampaign:
    """A campaign that has its calibration alone, of which one arm's was changed so."""
    campaign = synthetic.make_campaign(blocks=1, cells=list(cells))
    documents = [synthetic.make_document(campaign, name, 0) for name in campaign.arms]
    documents = plant(documents, watch(), "cuda")
    for change in how:
        documents = plant(documents, change, arm)
    return load(replace(campaign, **plan), documents)  # type: ignore[arg-type]


def study_first(loaded: LoadedCampaign) -> Analysis:
    first = take_first_block(loaded)
    assert first is not None
    return analyse(first)


BEFELL = {"memory-errors", "memory-pending", "xid-card"}

GPU: Mapping[str, tuple[Change, str | None, str | None]] = {
    "as it should be": (keep, None, None),
    "nobody watched": (unwatch, None, None),
    "half the lanes": (watch(pcie_width=[8.0, 8.0]), "link-narrow", None),
    "a generation less": (watch(pcie_generation=[1.0, 3.0]), "link-narrow", None),
    "a link unlike any": (watch({"gpu.pcie_width_most": None}, pcie_width=[8.0, 8.0]), None, None),
    "little power": (limit(297.0), "power-limited", "power-limited"),
    "power enough": (limit(298.0), None, None),
    "more power": (limit(400.0), None, None),
    "under what can be set and over the default": (
        limit(320.0, 310.0, 400.0),
        "power-limited",
        None,
    ),
    "80 % of more than by default": (limit(280.0, 310.0, 350.0), "power-limited", None),
    "the default, of which more can be set": (limit(350.0, 350.0, 600.0), None, None),
    "80 % of the clock": (clocked(1600.0), "clock-low", None),
    "nearly all of the clock": (clocked(1750.0), None, None),
    "a low clock": (clocked(1190.0), "clock-low", "clock-low"),
    "a clock": (clocked(1210.0), "clock-low", None),
    "a low default": (clocked(1000.0, 1000.0), "clock-low", None),
    "under a low default": (clocked(590.0, 1000.0), "clock-low", "clock-low"),
    "bad memory": (watch({"gpu.memory_errors": 1}), "memory-errors", "memory-errors"),
    "no rows left": (watch({"gpu.remapping_failed": True}), "memory-errors", "memory-errors"),
    "good memory": (watch({"gpu.memory_errors": 0, "gpu.remapping_failed": False}), None, None),
    "worn caches": (watch({"gpu.sram_worn": True}), "memory-errors", "memory-errors"),
    "rows to be replaced": (
        watch({"gpu.remapping_pending": True}),
        "memory-pending",
        "memory-pending",
    ),
    "pages to be retired": (
        watch({"gpu.at_end.retirement_pending": True}),
        "memory-pending",
        "memory-pending",
    ),
    "nothing to be replaced": (
        watch({"gpu.remapping_pending": False, "gpu.retirement_pending": None}),
        None,
        None,
    ),
    "rows replaced long ago": (watch(twice(rows_remapped=3, pages_retired=None)), None, None),
    "errors of long ago": (
        watch(twice(memory_errors_ever=2, corrected_errors_ever=12)),
        None,
        None,
    ),
    "new errors": (watch(grow(memory_errors=1)), "memory-errors", "memory-errors"),
    "new corrected errors": (watch(grow(corrected_errors=4)), "errors-corrected", None),
    "more rows": (watch(grow(rows_remapped=1)), "memory-replaced", None),
    "more pages": (watch(grow(pages_retired=1)), "memory-replaced", None),
    "a reset": (watch(grow(corrected_errors=-4, memory_errors_ever=-1)), None, None),
    "some repeated packets": (watch(grow(pcie_replays=200)), None, None),
    "many repeated packets": (watch(grow(pcie_replays=300)), "link-replays", None),
    "off the bus": (watch({"gpu.xids": "45,79"}), "xid-card", "xid-card"),
    "an error of memory": (watch({"gpu.xids": "48"}), "xid-card", "xid-card"),
    "an application's fault": (watch({"gpu.xids": "13,31,43,45,68,109"}), None, None),
    "wear": (watch({"gpu.xids": "63"}), "xid", None),
    "no message": (watch({"gpu.xids": "none"}), None, None),
    "a message unlike any": (watch({"gpu.xids": "9999,x,,99999999"}), None, None),
    "a dead one beside it": (watch({"gpu.count": 8, "gpu.silent": 1}), "gpus-silent", None),
    "one not listed": (watch({"gpu.count": 7, "gpu.on_bus": 8}), "gpus-silent", None),
    "all of the bus": (watch({"gpu.count": 8, "gpu.on_bus": 8}), None, None),
    "more than on the bus that is seen": (watch({"gpu.count": 8, "gpu.on_bus": 0}), None, None),
    "a bus that tells of others' GPUs": (watch({"gpu.count": 1, "gpu.on_bus": None}), None, None),
    "a slice": (slice_it(), "sliced", None),
    "another GPU": (watch({"gpu.name": "Another"}), None, "disturbed"),
    "heat": (watch(reasons_bits=[0.0, 64.0]), None, "disturbed"),
    "gone at the end": (tell({"gpu.at_end": "gone"}), None, "disturbed"),
    "failing": (fail(0.5), None, "cells-failed"),
    "failing here and there": (fail(0.1), None, None),
    "unproven": (tell({"tensorflow.soft_placement": True}), None, "cells-failed"),
}
"""By its name what is changed in a GPU's arm, what is told of the GPU, and what makes it unsound."""

CPU: Mapping[str, tuple[Change, str | None]] = {
    "a quota": (tell({"cpu.quota": "3.5"}), "quota-short"),
    "a quota seen from outside": (outside("3.5"), "quota-short"),
    "none seen from outside": (outside("none"), None),
    "a quota of all": (tell({"cpu.quota": "4"}), None),
    "no quota": (tell({"cpu.quota": "none"}), None),
    "an unknown quota": (tell({"cpu.quota": None}), None),
    "a neighbour": (witness(foreign_cpus=BUSY + 0.1), "cpus-busy"),
    "a quiet one": (witness(foreign_cpus=BUSY - 0.1), None),
    "cores withheld": (invoke(engine={"cores": 8, "cores_withheld": 7}), "cpus-withheld"),
    "a core withheld": (invoke(engine={"cores": 8, "cores_withheld": 1}), None),
    "steal": (witness(steal_share=0.11), "disturbed"),
    "little steal": (witness(steal_share=0.09), None),
}
"""What is changed in the CPU's arm, and what makes it unsound."""


def check_unsound(loaded: LoadedCampaign, arm: str, code: str | None) -> None:
    """Whether this is all that makes the machine unsound, and is told of the arm."""
    unsound = list(find_unsound(loaded))
    assert codes(unsound) == ([code] if code else [])
    assert [flag for flag in analyse(loaded).flags if flag.scope == "machine"] == unsound
    for flag in unsound:
        assert (flag.where, flag.severity) == ({"arm": arm}, "caution")
        assert word(flag).startswith(f"{arm}: ")
        assert name_banners([flag]) == ("UNSOUND MACHINE",)


@pytest.mark.parametrize("name", GPU)
def test_what_is_told_of_a_gpu_and_makes_it_unsound(name: str) -> None:
    change, code, unsound = GPU[name]
    loaded = calibrate(change)
    check_unsound(loaded, "cuda", unsound)
    first = study_first(loaded)
    assert codes(first.hardware) == ([code] if code else [])
    # None of it is by itself a reason to call a campaign anything, but what befell the GPU or its memory.
    assert codes(first.flags)[:1] == ["simulated"]
    befell = [code] if code and code == unsound and code in BEFELL else []
    assert codes(flag for flag in first.flags if flag.scope == "machine") == befell
    report = read_words(compose_brief(first))
    for flag in first.hardware:
        assert flag.where == {"arm": "cuda"}
        assert f"{word(flag)}." in report


@pytest.mark.parametrize("name", CPU)
def test_what_is_the_cpus_and_makes_it_unsound(name: str) -> None:
    change, unsound = CPU[name]
    check_unsound(calibrate(change, arm="cpu"), "cpu", unsound)


def test_gpus_that_do_not_answer_and_that_are_not_listed_are_added_up() -> None:
    (flag,) = make(watch({"gpu.count": 7, "gpu.silent": 1, "gpu.on_bus": 8})).hardware
    assert "2 of the machine's 8 GPUs do not answer the driver, or it does not list" in word(flag)


@pytest.mark.parametrize(
    ("watts", "severity"),
    [
        ((500.0, 450.0, 600.0), "info"),
        ((320.0, 310.0, 400.0), "info"),
        ((450.0, 450.0, 600.0), None),
        ((520.0, 450.0, 600.0), None),
        ((420.0, 450.0, 450.0), None),
        ((420.0, 450.0, 600.0), "caution"),
        ((360.0, 450.0, 600.0), "caution"),
        ((500.0, None, 600.0), "caution"),
        ((520.0, None, 600.0), None),
        ((360.0, 450.0, None), "caution"),
    ],
)
def test_a_limit_over_the_default_is_told_and_no_caution(
    watts: tuple[float, float | None, float | None], severity: str | None
) -> None:
    flags = study_first(calibrate(limit(*watts))).hardware
    assert [flag.severity for flag in flags] == ([severity] if severity else [])


def test_half_of_a_link_is_told_with_what_it_may_be() -> None:
    (flag,) = make(watch(pcie_width=[8.0, 8.0])).hardware
    assert word(flag) == (
        "cuda: under load the GPU's link is PCIe generation 4 with 8 lanes; at most: generation 4 with 16. "
        "Many types of rented machines are built that way, so only others of the same type show whether it "
        "is a fault"
    )


def test_the_profile_that_a_renter_runs_first_shows_a_slow_link_in_both_directions() -> None:
    first = [cell for cell in COPIES if "verdict" in cell.profiles]
    assert [c.price for c in first if SIZES[c.id] >= LEAST_COPY] == ["copy-in", "copy-out"]
    for price in ("copy-in", "copy-out"):
        cells = [cell for cell in first if cell.price == price]
        assert codes(make(trace(12.3), cells=cells).hardware) == ["link-slow"]


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
    """By the calibration's traces, whether blocks ran since or not; a slow link makes nothing unsound."""
    how = watch(pcie_width=[lanes, lanes]), trace(gb_s)
    loaded = calibrate(*how, cells=COPIES)
    assert not list(find_unsound(loaded))
    for flags in (make(*how, cells=COPIES).hardware, study_first(loaded).hardware):
        assert codes(flags) == ([code] if code else [])
        if code == "link-slow":
            assert "reach 12.3 GB/s, 39 % of the 31.5 GB/s" in word(flags[0])


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
    mode: str | None, name: str, *, told: bool
) -> None:
    watched = study_first(calibrate(slice_it(name, virtualization=mode)))
    assert codes(watched.hardware) == (["sliced"] if told else [])
    # Nobody watched: only the name is there.
    alone = study_first(calibrate(unwatch, tell({"gpu.0.name": name})))
    assert bool(alone.hardware) == (read_virtual_gpu(name) is not None)


def test_a_slice_is_on_the_first_screen_and_what_it_does_not_tell_is_no_trouble() -> None:
    text = render_page(compose(make(slice_it())))
    first = text[: text.index("\n## ")]
    assert "GRID T4-8Q is a slice of a GPU (vGPU), not a whole one: other virtual" in first
    assert "GPU clock" not in text
    assert "power limit" not in first
    own = make(slice_it("NVIDIA A100-2-10C"))
    assert "has parts of the card's processor to itself" in word(own.hardware[0])


def test_a_slice_without_a_licence_is_told_and_unsound() -> None:
    loaded = calibrate(slice_it(licensed=False))
    (sliced, unlicensed) = study_first(loaded).hardware
    assert (sliced.code, unlicensed.code) == ("sliced", "unlicensed")
    assert "about 20 minutes" in word(unlicensed)
    check_unsound(loaded, "cuda", "unlicensed")


NAMES = {
    "GRID T4-16Q": ("T4", False),
    "GRID M60-0B": ("M60", False),
    "GRID P40-1B4": ("P40", False),
    "GRID V100D-8C": ("V100D", False),
    "A16-2B": ("A16", False),
    "NVIDIA RTX6000-Ada-48Q": ("RTX6000-Ada", False),
    "NVIDIA RTX Pro 6000 Blackwell DC-3Q": ("RTX Pro 6000 Blackwell DC", False),
    "NVIDIA A100-40C": ("A100", False),
    "GRID A100D-7-80C": ("A100D", True),
    "NVIDIA A100-1-5CME": ("A100", True),
    "NVIDIA H100XM-80C": ("H100XM", False),
}
WHOLE = (
    *("Tesla T4", "NVIDIA A100-SXM4-40GB", "Tesla V100-PCIE-16GB", "NVIDIA A100 80GB PCIe"),
    *("Quadro RTX 5000", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA PG506-230", "NVIDIA GB10"),
    *("NVIDIA RTX PRO 6000 Blackwell Server Edition", "Orin (nvgpu)", "NVIDIA CMP 170HX"),
    *("", "-8Q", None),
)


def test_the_names_of_slices_and_of_whole_cards() -> None:
    assert {name: read_virtual_gpu(name) for name in NAMES} == {
        name: VirtualGpu(card, is_part=part) for name, (card, part) in NAMES.items()
    }
    assert not any(map(read_virtual_gpu, WHOLE))


def test_an_arm_of_the_plan_that_was_refused_is_one_and_one_that_nobody_named_is_none() -> None:
    whys = {"cuda": "cuda is refused", "another": "there is none"}
    (flag,) = find_unsound(calibrate(not_run=whys))
    assert (flag.code, word(flag)) == ("arm-refused", "cuda is refused")


def find_of_a_product(change: Change, arm: str, seconds: float) -> list[Flag]:
    """What makes a machine unsound on which a large product takes so long."""
    campaign = synthetic.make_campaign(blocks=1, cells=[synthetic.make_product(8000)])
    documents = [
        synthetic.make_document(campaign, name, 0, truth=lambda *_: seconds)
        for name in campaign.arms
    ]
    return list(find_unsound(load(campaign, plant(documents, change, arm))))


def test_a_rate_far_below_what_was_published_is_one() -> None:
    a10 = tell({"gpu.0.name": "NVIDIA A10"})
    (flag,) = find_of_a_product(a10, "cuda", 0.5)
    assert (flag.code, flag.scope) == ("far-below-published", "machine")
    assert find_of_a_product(a10, "cuda", 0.06) == []


def test_cpus_that_lie_idle_are_one_as_whatever_binds_threads_is_there_in_every_block() -> None:
    slept = in_cell(synthetic.make_product(8000).id, evidence={"own_cpus": 1.0})
    (flag,) = find_of_a_product(slept, "cpu", 0.1)
    assert (flag.code, flag.scope, flag.where) == ("cpus-idle", "machine", {"arm": "cpu"})
    assert name_banners([flag]) == ("UNSOUND MACHINE",)


def test_the_last_calibration_of_an_arm_counts() -> None:
    loaded = calibrate()
    (_, document) = loaded.documents
    loaded = replace(loaded, documents=[fail(1.0)(document), invoke(repeat=1)(document)])
    assert list(find_unsound(loaded)) == []
    first = take_first_block(loaded)
    assert first is not None
    assert [(d.invocation.block, d.invocation.repeat) for d in first.documents] == [(1, 0)]


def test_nothing_is_found_once_a_block_was_begun_or_before_anything_ran() -> None:
    loaded = calibrate(fail(1.0))
    block = synthetic.make_document(loaded.campaign, "cpu", 1)
    for documents in ([*loaded.documents, block], []):
        other = replace(loaded, documents=documents)
        assert take_first_block(other) is None
        assert list(find_unsound(other)) == []


def go_on(change: Change, arm: str, *blocks: int) -> LoadedCampaign:
    """A campaign of three blocks, changed so on an arm; in some of its blocks, or in all."""
    campaign = synthetic.make_campaign(blocks=3, cells=list(CELLS))
    documents = plant(synthetic.make_documents(campaign), watch(), "cuda")
    return load(campaign, plant(documents, change, arm, *blocks))


@pytest.mark.parametrize("name", GPU)
def test_a_campaign_that_went_on_has_what_lasts_of_its_gpu(name: str) -> None:
    change, _, unsound = GPU[name]
    assert codes(find_lasting(go_on(change, "cuda"))) == ([unsound] if unsound else [])


def test_what_one_block_lacks_does_not_last() -> None:
    neighbour = witness(foreign_cpus=BUSY + 0.1)
    assert codes(find_lasting(go_on(neighbour, "cpu"))) == ["cpus-busy"]
    assert not list(find_lasting(go_on(neighbour, "cpu", 1, 2)))


def first_lines(change: Change) -> str:
    loaded = calibrate(change)
    flags = tuple(find_unsound(loaded))
    return " ".join(
        render_lines(compose_first(structs.replace(study_first(loaded), flags=flags))).split()
    )


def test_the_terminal_shows_the_machine_beside_what_it_could_be_and_first_answers() -> None:
    text = first_lines(watch(pcie_width=[8.0, 8.0]))
    for words in (
        "Is this the machine you ordered? Made-Up Processor 9000; 4 of 8 logical CPUs used; 16.0 GiB",
        "Made-Up Accelerator; 24.0 GiB of GPU memory; TensorFlow 2.21.0; cores unknown, CPU quota unknown.",
        "24.0 GiB of memory",
        "limit 350 W (by default 350 W)",
        "PCIe generation 4, 8 lanes under load (of at most 4, 16 lanes)",
        "Whether Made-Up Accelerator is as fast as it should be is unknown",
        "cuda: under load the GPU's link is PCIe generation 4 with 8 lanes; at most: generation 4 with 16.",
        "Nothing was found that makes it unsound.",
        "Provisional, from one invocation per arm:",
        "training steps, batch 512 2.12 ms 203 µs 10.5× faster n=1 no verdict",
    ):
        assert words in text, text
    # These would be taken for how far a fleet's job is.
    assert not [words for words in ("to go", "calibration") if words in text]
    text = first_lines(limit(280.0))
    assert text.count("the GPU's power limit is 280 W (default: 350 W)") == 1, text
    assert "UNSOUND: cuda: the GPU's power limit" in text
    text = first_lines(keep)
    assert "UNSOUND" not in text
    assert "Nothing was found that makes it unsound." in text


def test_every_kind_of_finding_is_tried_here() -> None:
    tried = {row[-1] for row in (*GPU.values(), *CPU.values()) if row[-1]}
    tried |= {"arm-refused", "far-below-published", "cpus-idle", "unlicensed"}
    kinds = {code for code, kind in KINDS.items() if kind.scope == "machine"}
    assert tried == kinds | set(LASTING)
