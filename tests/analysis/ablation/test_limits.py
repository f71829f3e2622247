"""No price is lower than what the hardware allows: each bound, from both of its sides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.campaign.plausibility import find_impossible, find_places
from suite.analysis.campaign.summarise import summarise
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.cells import tell_ratio
from suite.cells.cell import Cell, Param, Work
from suite.flags import IMPLAUSIBLE, find_invalid, raise_flag
from suite.model import Document, Scalar
from suite.report.exports.summary import render_json
from suite.report.text.wording import name_banners, word, word_in_cell
from tests import rendering, synthetic
from tests.changes import Change, plant, tell, watch
from tests.rendering import render_markdown

pytestmark = pytest.mark.simulated

LARGE = 2**28
HOST_SECONDS = 1.0
"""What every cell takes on the arm that is not looked at."""


def make_price(case: str, work: Work, **params: Param) -> Cell:
    return synthetic.make_cell("overhead", case, params, work)


def make_copy(size: int, direction: str = "to-device") -> Cell:
    work = Work(amount=1.0, unit="copy", bytes=float(size))
    return make_price("copy", work, direction=direction, bytes=size)


SUM = make_price("sum", Work(amount=1.0, unit="sum", bytes=3.0 * LARGE), bytes=LARGE)
CALLS = [
    make_price(case, Work(amount=1.0, unit="call"))
    for case in ("eager_op", "function_call", "xla_call")
]
CHAIN = make_price("graph_op", Work(amount=1000.0, unit="operation"))
FENCE = make_price("fence", Work(amount=1.0, unit="call"))


def watch_link(generation: int, lanes: int) -> Change:
    """Telemetry of a link of which the driver tells so much."""
    return watch(
        {"gpu.pcie_generation_most": generation, "gpu.pcie_width_most": lanes},
        {"gpu.pcie_generation": [1.0, None], "gpu.pcie_width": [float(lanes), None]},
    )


def load(
    cell: Cell,
    seconds: float,
    *,
    arm: str = "cuda",
    other: str = "cpu",
    link: tuple[int, int] | None = None,
    **facts: Scalar,
) -> LoadedCampaign:
    """A campaign in which one cell takes so long on one arm; ``facts`` are that arm's."""
    campaign = synthetic.make_campaign(arms=(other, arm), blocks=3, cells=[cell])
    documents = synthetic.make_documents(
        campaign,
        truth=lambda _, where: seconds if where == arm else HOST_SECONDS,
        host=synthetic.QUIET,
        samples=2,
        calibration=False,
    )
    named = {name.replace("_", ".", 1): value for name, value in facts.items()}
    documents = plant(documents, tell(named), arm)
    if link:
        documents = plant(documents, watch_link(*link))
    return rendering.load(campaign, documents)


def find_errors(cell: Cell, seconds: float, **more: object) -> tuple[str, ...]:
    summary = summarise(load(cell, seconds, **more))  # type: ignore[arg-type]
    assert summary.cells[0].arms[str(more.get("arm", "cuda"))].estimate
    return tuple(map(word_in_cell, analyse(summary.loaded).limits))


How = dict[str, object]
"""Words of `load`."""

A10: How = {"gpu_0.name": "NVIDIA A10"}
WITHOUT_PCIE: How = {"cpu_architecture": "aarch64"}
TOLD_PCIE: How = {**WITHOUT_PCIE, "link": (4, 16)}
ON_CPU: How = {"arm": "cpu", "other": "cuda"}
SAID = {(1, 1): "to-device", (4, 8): "from-device", (9, 16): "to-device"}
COPY, LINK = make_copy(LARGE), LARGE / (16 * 7.563e9)
BOUNDS: dict[str, tuple[Cell, float, How, str]] = {
    "any link": (COPY, LINK, {}, "PCIe 6.0"),
    # A virtual machine's driver can tell a slower link than there is: it says nothing.
    **{
        f"the driver tells PCIe {link[0]} with {link[1]}": (
            make_copy(LARGE, way),
            LINK,
            {"link": link},
            "PCIe 6.0",
        )
        for link, way in SAID.items()
    },
    "x86": (COPY, LINK, {"cpu_architecture": "amd64"}, "PCIe"),
    "no PCIe": (COPY, LARGE / 900e9, WITHOUT_PCIE, "NVLink-C2C"),
    "no PCIe, and the driver tells one": (COPY, LARGE / 900e9, TOLD_PCIE, "900 GB/s"),
    # However small, and over whichever link, it is a call.
    "0 bytes to": (make_copy(0), 1e-6, {}, "under 1.00 µs"),
    "4 bytes from": (make_copy(4, "from-device"), 1e-6, {}, "under 1.00 µs"),
    "4 bytes without PCIe": (make_copy(4), 1e-6, WITHOUT_PCIE, "under 1.00 µs"),
    # Under it by the call alone: its link takes 0.5 µs.
    "65536 bytes to": (make_copy(2**16), 1e-6, {}, "under 1.00 µs"),
    "within memory": (COPY, LARGE / 1600e9, ON_CPU, "4 CPUs write at most 1.60 TB/s"),
    "memory": (SUM, 3 * LARGE / 600e9, A10, "memory of the A10"),
    **{cell.case: (cell, 1e-6, {}, "1.00 µs") for cell in CALLS},
    CHAIN.case: (CHAIN, 1000 * 0.2e-6, {}, "200 ns"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_no_price_is_lower_than_the_hardware_allows(name: str) -> None:
    cell, least, more, words = BOUNDS[name]
    (error,) = find_errors(cell, 0.9 * least, **more)
    assert error.startswith(f"{cell.id}: {more.get('arm', 'cuda')}: ")
    assert words in error
    assert not find_errors(cell, 1.1 * least, **more)


UNBOUND: dict[str, tuple[Cell, How]] = {
    "memory of an unknown part": (SUM, {}),
    "CPUs": (COPY, {**ON_CPU, "cpu_usable": None}),
    **{f"{cell.case} on the CPU": (cell, ON_CPU) for cell in (*CALLS, CHAIN)},
    # Nothing that is copied there reaches a GPU.
    "a small copy on the CPU": (make_copy(4), ON_CPU),
    "a small copy beside a hidden GPU": (make_copy(4), {"arm": "cuda-hidden"}),
    "fence": (FENCE, {}),
}


@pytest.mark.parametrize("name", UNBOUND)
def test_what_has_no_bound_is_not_judged(name: str) -> None:
    cell, more = UNBOUND[name]
    assert not find_errors(cell, 1e-9, **more)


def test_a_gpus_second_arm_is_a_gpus() -> None:
    cell = CALLS[0]
    loaded = load(cell, 1e-8, arm="cuda-again", other="cuda")
    documents = [
        synthetic.change_cell(
            replace(document, facts=synthetic.make_facts("cuda")), cell.id, placement={"GPU:0": 3}
        )
        for document in loaded.documents
    ]
    (flag,) = analyse(replace(loaded, documents=documents)).limits
    assert (flag.code, flag.where) == ("below-call", {"arm": "cuda-again", "cell": cell.id})


def test_a_copy_that_did_not_copy_stands_at_the_top_and_in_the_doubts() -> None:
    summary = summarise(load(COPY, LARGE / 11.6e12, link=(4, 16)))
    text = render_markdown(analyse(summary.loaded))
    top, _, rest = text.partition("## ")
    assert "NOT PLAUSIBLE: one number is better than the hardware can do" in top
    doubt = rest.partition("## Validity")[2]
    assert "**More than the hardware can do.** overhead.copy" in doubt
    (error,) = json.loads(render_json(analyse(summary.loaded)))["limits"]
    assert error["code"] == "above-pcie"


GOOD, BAD = 1.0, LARGE / 11.6e12


def spoil(loaded: LoadedCampaign, blocks: Mapping[int, float]) -> LoadedCampaign:
    """With that many seconds of a call in these blocks of the arm with a GPU, and no more."""

    def take(document: Document) -> Document:
        seconds = blocks[document.invocation.block]
        cells = [
            replace(cell, samples_s=[seconds] * len(cell.samples_s)) for cell in document.cells
        ]
        return replace(document, cells=cells)

    return replace(loaded, documents=plant(loaded.documents, take, "cuda", *blocks))


@pytest.mark.parametrize("bad", [1, 2, 3])
def test_one_block_that_is_impossible_makes_the_whole_cell_so(bad: int) -> None:
    """Whatever the estimate over the blocks comes to, which here is possible in every case."""
    loaded = load(COPY, GOOD)
    fine = spoil(loaded, dict.fromkeys((1, 2, 3), GOOD))
    assert not analyse(fine).limits
    summary = summarise(spoil(loaded, {bad: BAD}))
    (cell,) = summary.cells
    value = cell.arms["cuda"].estimate
    assert value
    places = find_places(summary.campaign, summary.counted)
    assert find_impossible("cuda", COPY, places["cuda"], value.value) is None
    (flag,) = cell.arms["cuda"].invalid
    (limit,) = analyse(summary.loaded).limits
    assert (limit.code, limit.where) == (flag.code, flag.where)
    assert limit.values == pytest.approx(flag.values, rel=1e-9)
    assert (flag.code, flag.severity) == ("above-pcie", "invalid")
    assert "moves 11.6 TB/s" in word(flag)
    # It wins nothing: no ratio, and no verdict.
    assert tell_ratio(cell.comparisons["cuda"]) == raise_flag("no-possible-number")
    assert not cell.arms["cpu"].invalid


@pytest.mark.parametrize("cell", [COPY, CALLS[0], SUM], ids=lambda cell: cell.case)
def test_in_an_invalid_campaign_what_is_impossible_is_still_told(cell: Cell) -> None:
    """The hypervisor that took the CPU does not explain a number that is too good."""
    loaded = load(cell, 1e-8, **A10)
    robbed = plant(loaded.documents, watch({"cpu.steal_share": 0.5}))
    summary = summarise(replace(loaded, documents=robbed))
    assert "INVALID" in name_banners(summary.flags)
    (flag,) = analyse(summary.loaded).limits
    assert flag.code in IMPLAUSIBLE
    assert flag.where == {"arm": "cuda", "cell": cell.id}
    (invalid,) = summary.cells[0].arms["cuda"].invalid
    assert (invalid.code, invalid.where) == (flag.code, flag.where)
    assert invalid.values == pytest.approx(flag.values, rel=1e-9)
    # The arm whose number can be is invalid for the campaign's reason.
    assert summary.cells[0].arms["cpu"].invalid == find_invalid(summary.flags)
