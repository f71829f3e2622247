"""What makes a machine unsound: each finding from both of its sides, and only of a calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from suite.analysis.ablation.soundness import BUSY, LASTING, find_unsound, take_calibration
from suite.analysis.analyse import analyse
from suite.analysis.documents.read import LoadedCampaign
from suite.flags import KINDS
from suite.model import Document, Scalar
from suite.report.pages.campaign import compose_first
from suite.report.render.terminal import render_lines
from suite.report.text.wording import name_banners, word
from tests import changes, synthetic
from tests.changes import Change, in_cell, invoke, plant, tell
from tests.rendering import load

pytestmark = pytest.mark.simulated

CELLS = [one for one in synthetic.make_cells() if one.scenario in {"matmul", "mlp"}]
CAMPAIGN = synthetic.make_campaign(blocks=1, cells=CELLS)
GPU: Mapping[str, Scalar] = {
    "gpu.name": "Made-Up Accelerator",
    "gpu.memory_bytes": 24 * 2**30,
    "gpu.power_limit_w": 350.0,
    "gpu.power_limit_default_w": 350.0,
    "gpu.clock_sm_most_mhz": 2000,
    "gpu.pcie_generation_most": 4,
    "gpu.pcie_width_most": 16,
}
SEEN: Mapping[str, Sequence[float | None]] = {
    "gpu.clock_sm_mhz": [300.0, 1980.0],
    "gpu.power_w": [60.0, 300.0],
    "gpu.pcie_generation": [1.0, 4.0],
    "gpu.pcie_width": [16.0, 16.0],
}


def watch(facts: Mapping[str, Scalar] = GPU, **series: Sequence[float | None]) -> Change:
    """Telemetry of a GPU that idles first; ``series`` by the last part of their names are others."""
    others = {f"gpu.{name}": values for name, values in series.items()}
    return changes.watch({**GPU, **facts}, {**SEEN, **others})


def witness(**found: float) -> Change:
    """This evidence in all cells."""
    return lambda one: replace(
        one, cells=[replace(cell, evidence=dict(found)) for cell in one.cells]
    )


def fail(share: float) -> Change:
    """So many of the cells failed."""

    def change(one: Document) -> Document:
        for cell in one.cells[: round(share * len(one.cells))]:
            one = synthetic.lose_cell(one, cell.id, "failed", "it broke")
        return one

    return change


def calibrate(change: Change, arm: str = "cuda", **plan: object) -> LoadedCampaign:
    """A campaign that has its calibration alone, of which one arm's was changed so."""
    documents = [synthetic.make_document(CAMPAIGN, one, 0) for one in CAMPAIGN.arms]
    changed = plant(plant(documents, watch(), "cuda"), change, arm)
    return load(replace(CAMPAIGN, **plan), changed)  # type: ignore[arg-type]


def limit(watts: float) -> Change:
    return watch({"gpu.power_limit_w": watts})


def clocked(highest: float, default: float) -> Change:
    return watch({"gpu.clock_default_mhz": default}, clock_sm_mhz=[300.0, highest])


def outside(quota: str) -> Change:
    """A control group above the container's own has this quota."""
    return changes.watch({"cpu.quota": quota}, {"cpu.clock_mhz": [3000.0, 3000.0]})


UNLICENSED: Mapping[str, Scalar] = {"gpu.virtualization": "vgpu", "gpu.licensed": False}
FOUND: Sequence[tuple[str, str, Change, str | None]] = [
    ("as it should be", "cuda", tell({}), None),
    ("nobody watched", "cuda", lambda one: replace(one, telemetry=None), None),
    ("a quota", "cpu", tell({"cpu.quota": "3.5"}), "quota-short"),
    ("a quota seen from outside", "cpu", outside("3.5"), "quota-short"),
    ("none seen from outside", "cpu", outside("none"), None),
    ("a quota of all", "cpu", tell({"cpu.quota": "4"}), None),
    ("no quota", "cpu", tell({"cpu.quota": "none"}), None),
    ("an unknown quota", "cpu", tell({"cpu.quota": None}), None),
    ("a neighbour", "cpu", witness(foreign_cpus=BUSY + 0.1), "cpus-busy"),
    ("a quiet one", "cpu", witness(foreign_cpus=BUSY - 0.1), None),
    ("cores withheld", "cpu", invoke(engine={"cores": 8, "cores_withheld": 7}), "cpus-withheld"),
    ("a core withheld", "cpu", invoke(engine={"cores": 8, "cores_withheld": 1}), None),
    ("steal", "cpu", witness(steal_share=0.11), "disturbed"),
    ("little steal", "cpu", witness(steal_share=0.09), None),
    ("another GPU", "cuda", watch({"gpu.name": "Another"}), "disturbed"),
    ("heat", "cuda", watch(reasons_bits=[0.0, 64.0]), "disturbed"),
    ("gone at the end", "cuda", tell({"gpu.at_end": "gone"}), "disturbed"),
    ("failing", "cuda", fail(0.5), "cells-failed"),
    ("failing here and there", "cuda", fail(0.1), None),
    ("unproven", "cuda", tell({"tensorflow.soft_placement": True}), "cells-failed"),
    ("little power", "cuda", limit(297.0), "power-limited"),
    ("power enough", "cuda", limit(298.0), None),
    ("more power", "cuda", limit(400.0), None),
    ("half the lanes", "cuda", watch(pcie_width=[8.0, 8.0]), None),
    ("an old link", "cuda", watch(pcie_generation=[1.0, 3.0]), None),
    ("a low clock", "cuda", watch(clock_sm_mhz=[300.0, 1190.0]), "clock-low"),
    ("a clock", "cuda", watch(clock_sm_mhz=[300.0, 1210.0]), None),
    ("a low default", "cuda", clocked(1000.0, 1000.0), None),
    ("under a low default", "cuda", clocked(590.0, 1000.0), "clock-low"),
    ("a slice", "cuda", watch({"gpu.virtualization": "vgpu", "gpu.licensed": True}), None),
    ("without a licence", "cuda", watch(UNLICENSED), "unlicensed"),
    ("bad memory", "cuda", watch({"gpu.memory_errors": 1}), "memory-errors"),
    ("no rows left", "cuda", watch({"gpu.remapping_failed": True}), "memory-errors"),
    ("good memory", "cuda", watch({"gpu.memory_errors": 0, "gpu.remapping_failed": False}), None),
    ("a GPU beside it is dead", "cuda", watch({"gpu.count": 8, "gpu.silent": 1}), None),
]


@pytest.mark.parametrize(
    ("arm", "change", "code"), [row[1:] for row in FOUND], ids=[row[0] for row in FOUND]
)
def test_each_finding_from_both_of_its_sides(arm: str, change: Change, code: str | None) -> None:
    loaded = calibrate(change, arm)
    found = list(find_unsound(loaded))
    assert [one.code for one in found] == ([code] if code else [])
    assert [one for one in analyse(loaded).flags if one.scope == "machine"] == found
    for one in found:
        assert one.where == {"arm": arm}
        assert one.severity == "caution"
        assert word(one).startswith(f"{arm}: ")
        assert name_banners([one]) == ("UNSOUND MACHINE",)


def test_an_arm_of_the_plan_that_was_refused_is_one_and_one_that_nobody_named_is_none() -> None:
    whys = {"cuda": "cuda is refused", "another": "there is none"}
    (flag,) = find_unsound(calibrate(tell({}), not_run=whys))
    assert (flag.code, word(flag)) == ("arm-refused", "cuda is refused")


def test_a_rate_far_below_what_was_published_is_one() -> None:
    campaign = synthetic.make_campaign(blocks=1, cells=[synthetic.make_product(8000)])

    def run(seconds: float) -> list[str]:
        documents = [
            synthetic.make_document(campaign, arm, 0, truth=lambda *_: seconds)
            for arm in campaign.arms
        ]
        named = plant(documents, tell({"gpu.0.name": "NVIDIA A10"}), "cuda")
        found = list(find_unsound(load(campaign, named)))
        assert {one.scope for one in found} <= {"machine"}
        return [one.code for one in found]

    assert run(0.5) == ["far-below-published"]
    assert run(0.06) == []


def test_cpus_that_lie_idle_are_one_as_whatever_binds_threads_is_there_in_every_block() -> None:
    campaign = synthetic.make_campaign(blocks=1, cells=[synthetic.make_product(8000)])
    documents = [synthetic.make_document(campaign, arm, 0) for arm in campaign.arms]
    slept = in_cell(campaign.cells[0].id, evidence={"own_cpus": 1.0})
    (flag,) = find_unsound(load(campaign, plant(documents, slept, "cpu")))
    assert (flag.code, flag.scope, flag.where) == ("cpus-idle", "machine", {"arm": "cpu"})
    assert name_banners([flag]) == ("UNSOUND MACHINE",)


def test_the_last_calibration_of_an_arm_counts() -> None:
    once = synthetic.make_document(CAMPAIGN, "cuda", 0)
    loaded = load(CAMPAIGN, [fail(1.0)(once), invoke(repeat=1)(once)])
    assert list(find_unsound(loaded)) == []
    first = take_calibration(loaded)
    assert first is not None
    assert [(one.invocation.block, one.invocation.repeat) for one in first.documents] == [(1, 0)]


def test_nothing_is_found_once_a_block_was_begun_or_before_anything_ran() -> None:
    loaded = calibrate(fail(1.0))
    block = synthetic.make_document(CAMPAIGN, "cpu", 1)
    for documents in ([*loaded.documents, block], []):
        other = replace(loaded, documents=documents)
        assert take_calibration(other) is None
        assert list(find_unsound(other)) == []


def first_lines(change: Change) -> str:
    loaded = calibrate(change)
    first = take_calibration(loaded)
    assert first is not None
    found = structs.replace(analyse(first), flags=tuple(find_unsound(loaded)))
    return render_lines(compose_first(found))


def test_the_terminal_shows_the_machine_beside_what_it_could_be_and_first_answers() -> None:
    text = first_lines(watch(pcie_width=[8.0, 8.0]))
    for words in (
        "Is this the machine you ordered? Made-Up Processor 9000; 4 of 8 logical CPUs used; 16.0 GiB",
        "Made-Up Accelerator; cores unknown, CPU quota unknown.",
        "24.0 GiB of memory",
        "limit 350 W (by default 350 W)",
        "PCIe generation 4, 8 lanes under load (of at most 4, 16 lanes)",
        "Whether Made-Up Accelerator is as fast as it should be is unknown",
        "cuda: under load the GPU's link is PCIe generation 4 with 8 lanes; at most: generation 4 with 16.",
        "Nothing was found that makes it unsound.",
        "Provisional, from one uncounted invocation per arm:",
        "cuda's largest win",
    ):
        assert words in text, text
    # These would be taken for how far a fleet's job is.
    assert not [words for words in ("to go", "calibration") if words in text]
    text = first_lines(limit(280.0))
    assert text.count("the GPU's power limit is 280 W (default: 350 W)") == 1, text
    assert "UNSOUND: cuda: the GPU's power limit" in text
    text = first_lines(tell({}))
    assert "UNSOUND" not in text
    assert "Nothing was found that makes it unsound." in text


def test_every_kind_of_finding_is_tried_here() -> None:
    tried = {row[3] for row in FOUND if row[3]} | {
        "arm-refused",
        "far-below-published",
        "cpus-idle",
    }
    kinds = {code for code, kind in KINDS.items() if kind.scope == "machine"}
    assert tried == kinds | set(LASTING)
