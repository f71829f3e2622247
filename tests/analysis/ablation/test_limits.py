"""No price is lower than what the hardware allows: each bound, from both of its sides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.campaign.bounds import IMPLAUSIBLE, find_impossible, find_places
from suite.analysis.campaign.summarise import summarise
from suite.analysis.causes.insight import find_insight
from suite.analysis.documents.published import read_figures
from suite.analysis.documents.read import LoadedCampaign
from suite.cells.cell import Cell, Param, Work
from suite.flags import find_invalid, raise_flag
from suite.model import Document, Scalar, Telemetry
from suite.report.exports.summary import render_json
from suite.report.text.wording import name_banners, word, word_in_cell
from tests import synthetic
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


def watch(document: Document, generation: int, lanes: int) -> Document:
    """The document with telemetry of a link of which the driver tells so much."""
    telemetry = Telemetry(
        started=document.invocation.started,
        facts={"gpu.pcie_generation_most": generation, "gpu.pcie_width_most": lanes},
        at_s=[1.0, 2.0],
        series={"gpu.pcie_generation": [1.0, None], "gpu.pcie_width": [float(lanes), None]},
    )
    return replace(document, telemetry=telemetry, absent={})


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
    documents = [
        replace(one, facts={**one.facts, **named}) if one.invocation.arm == arm else one
        for one in documents
    ]
    if link:
        documents = [watch(one, *link) for one in documents]
    return LoadedCampaign(folder="made-up", campaign=campaign, documents=documents)


def find_errors(cell: Cell, seconds: float, **more: object) -> tuple[str, ...]:
    summary = summarise(load(cell, seconds, **more))  # type: ignore[arg-type]
    assert summary.cells[0].arms[str(more.get("arm", "cuda"))].estimate
    return tuple(map(word_in_cell, find_insight(summary).limits.flags))


A10 = {"gpu_0.name": "NVIDIA A10"}
BOUNDS = [
    pytest.param(make_copy(LARGE), LARGE / (16 * 7.563e9), {}, "PCIe 6.0", id="any link"),
    # A virtual machine's driver can tell a slower link than there is: it says nothing.
    *(
        pytest.param(
            make_copy(LARGE, direction),
            LARGE / (16 * 7.563e9),
            {"link": link},
            "PCIe 6.0",
            id=f"the driver tells PCIe {link[0]} with {link[1]}",
        )
        for link, direction in (
            ((1, 1), "to-device"),
            ((4, 8), "from-device"),
            ((9, 16), "to-device"),
        )
    ),
    pytest.param(
        make_copy(LARGE), LARGE / (16 * 7.563e9), {"cpu_architecture": "amd64"}, "PCIe", id="x86"
    ),
    pytest.param(
        make_copy(LARGE), LARGE / 900e9, {"cpu_architecture": "aarch64"}, "NVLink-C2C", id="no PCIe"
    ),
    pytest.param(
        make_copy(LARGE),
        LARGE / 900e9,
        {"cpu_architecture": "aarch64", "link": (4, 16)},
        "900 GB/s",
        id="no PCIe, and the driver tells one",
    ),
    # However small, and over whichever link, it is a call.
    *(
        pytest.param(
            make_copy(size, direction), 1e-6, more, "under 1.00 µs", id=f"{size} bytes {name}"
        )
        for size, direction, more, name in (
            (0, "to-device", {}, "to"),
            (4, "from-device", {}, "from"),
            (4, "to-device", {"cpu_architecture": "aarch64"}, "without PCIe"),
            # Under it by the call alone: its link takes 0.5 µs.
            (2**16, "to-device", {}, "to"),
        )
    ),
    pytest.param(
        make_copy(LARGE),
        LARGE / (4 * 400e9),
        {"arm": "cpu", "other": "cuda"},
        "4 CPUs write at most 1.60 TB/s",
        id="within memory",
    ),
    pytest.param(SUM, 3 * LARGE / 600e9, A10, "memory of the A10", id="memory"),
    *(pytest.param(one, 1e-6, {}, "1.00 µs", id=one.case) for one in CALLS),
    pytest.param(CHAIN, 1000 * 0.2e-6, {}, "200 ns", id=CHAIN.case),
]


@pytest.mark.parametrize(("cell", "least", "more", "words"), BOUNDS)
def test_no_price_is_lower_than_the_hardware_allows(
    cell: Cell, least: float, more: dict[str, object], words: str
) -> None:
    (error,) = find_errors(cell, 0.9 * least, **more)
    assert error.startswith(f"{cell.id}: {more.get('arm', 'cuda')}: ")
    assert words in error
    assert not find_errors(cell, 1.1 * least, **more)


@pytest.mark.parametrize(
    ("cell", "more"),
    [
        pytest.param(SUM, {}, id="memory of an unknown part"),
        pytest.param(
            make_copy(LARGE), {"arm": "cpu", "other": "cuda", "cpu_usable": None}, id="CPUs"
        ),
        *(
            pytest.param(one, {"arm": "cpu", "other": "cuda"}, id=f"{one.case} on the CPU")
            for one in (*CALLS, CHAIN)
        ),
        # Nothing that is copied there reaches a GPU.
        pytest.param(make_copy(4), {"arm": "cpu", "other": "cuda"}, id="a small copy on the CPU"),
        pytest.param(make_copy(4), {"arm": "cuda-hidden"}, id="a small copy beside a hidden GPU"),
        pytest.param(FENCE, {}, id="fence"),
    ],
)
def test_what_has_no_bound_is_not_judged(cell: Cell, more: dict[str, object]) -> None:
    assert not find_errors(cell, 1e-9, **more)


def test_a_gpus_second_arm_is_a_gpus() -> None:
    cell = CALLS[0]
    loaded = load(cell, 1e-8, arm="cuda-again", other="cuda")
    documents = [
        synthetic.change_cell(
            replace(one, facts=synthetic.make_facts("cuda")), cell.id, placement={"GPU:0": 3}
        )
        for one in loaded.documents
    ]
    (flag,) = find_insight(summarise(replace(loaded, documents=documents))).limits.flags
    assert (flag.code, flag.where) == ("below-call", {"arm": "cuda-again", "cell": cell.id})


def test_a_copy_that_did_not_copy_stands_at_the_top_and_in_the_doubts() -> None:
    summary = summarise(load(make_copy(LARGE), LARGE / 11.6e12, link=(4, 16)))
    text = render_markdown(analyse(summary.loaded))
    top, _, rest = text.partition("## ")
    assert "NOT PLAUSIBLE: one number exceeds what the hardware can do" in top
    doubt = rest.partition("## Validity")[2]
    assert "**More than the hardware can do.** overhead.copy" in doubt
    (error,) = json.loads(render_json(analyse(summary.loaded)))["limits"]["flags"]
    assert error["code"] == "above-pcie"


GOOD, BAD = 1.0, LARGE / 11.6e12


def spoil(loaded: LoadedCampaign, blocks: Mapping[int, float]) -> LoadedCampaign:
    """With that many seconds of a call in these blocks of the arm with a GPU, and no more."""
    documents = []
    for one in loaded.documents:
        seconds = blocks.get(one.invocation.block)
        if seconds is not None and one.invocation.arm == "cuda":
            cells = [replace(cell, samples_s=[seconds] * len(cell.samples_s)) for cell in one.cells]
            one = replace(one, cells=cells)  # noqa: PLW2901
        documents.append(one)
    return replace(loaded, documents=documents)


@pytest.mark.parametrize("bad", [1, 2, 3])
def test_one_block_that_is_impossible_makes_the_whole_cell_so(bad: int) -> None:
    """Whatever the estimate over the blocks comes to, which here is possible in every case."""
    cell = make_copy(LARGE)
    loaded = load(cell, GOOD)
    fine = spoil(loaded, dict.fromkeys((1, 2, 3), GOOD))
    assert not find_insight(summarise(fine)).limits.flags
    summary = summarise(spoil(loaded, {bad: BAD}))
    (found,) = summary.cells
    value = found.arms["cuda"].estimate
    assert value
    places = find_places(summary.campaign, summary.counted, read_figures())
    assert find_impossible("cuda", cell, places["cuda"], value.value) is None
    assert find_insight(summary).limits.flags == found.arms["cuda"].invalid
    (flag,) = found.arms["cuda"].invalid
    assert (flag.code, flag.severity) == ("above-pcie", "invalid")
    assert "moves 11.6 TB/s" in word(flag)
    # It wins nothing: no ratio, and no verdict.
    assert found.ratios["cuda"] == raise_flag("no-possible-number")
    assert not found.arms["cpu"].invalid


@pytest.mark.parametrize("cell", [make_copy(LARGE), CALLS[0], SUM], ids=lambda one: one.case)
def test_in_an_invalid_campaign_what_is_impossible_is_still_told(cell: Cell) -> None:
    """The hypervisor that took the CPU does not explain a number that is too good."""
    loaded = load(cell, 1e-8, **A10)
    robbed = Telemetry(
        started=loaded.campaign.created, facts={"cpu.steal_share": 0.5}, at_s=[], series={}
    )
    loaded = replace(
        loaded, documents=[replace(one, telemetry=robbed, absent={}) for one in loaded.documents]
    )
    summary = summarise(loaded)
    assert "INVALID" in name_banners(summary.flags)
    (flag,) = find_insight(summary).limits.flags
    assert flag.code in IMPLAUSIBLE
    assert flag.where == {"arm": "cuda", "cell": cell.id}
    assert summary.cells[0].arms["cuda"].invalid == (flag,)
    # The arm whose number can be is invalid for the campaign's reason.
    assert summary.cells[0].arms["cpu"].invalid == find_invalid(summary.flags)
