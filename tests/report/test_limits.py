"""No price is lower than what the hardware allows: each bound, from both of its sides."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from suite.model import Cell, Document, Param, Scalar, Telemetry, Work
from suite.report.exchange import render_json
from suite.report.insight import find_insight
from suite.report.load import LoadedCampaign
from suite.report.summary import summarise
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
    """The document with telemetry of a link that was idle, and slow, when it was looked at."""
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
    return find_insight(summary).limits.errors


A10 = {"gpu_0.name": "NVIDIA A10"}
BOUNDS = [
    pytest.param(make_copy(LARGE), LARGE / (16 * 7.563e9), {}, "PCIe 6.0", id="any link"),
    pytest.param(
        make_copy(LARGE), LARGE / (8 * 1.969e9), {"link": (4, 8)}, "PCIe 4.0 with 8", id="link"
    ),
    pytest.param(
        make_copy(LARGE, "from-device"),
        LARGE / (16 * 0.985e9),
        {"link": (3, 16)},
        "15.8 GB/s",
        id="link, back",
    ),
    pytest.param(make_copy(4), 4 / (16 * 3.938e9), {"link": (5, 16)}, "PCIe 5.0", id="small copy"),
    pytest.param(
        make_copy(LARGE), LARGE / (16 * 7.563e9), {"link": (9, 16)}, "PCIe 6.0", id="unknown PCIe"
    ),
    pytest.param(
        make_copy(LARGE), LARGE / 900e9, {"cpu_architecture": "aarch64"}, "NVLink-C2C", id="no PCIe"
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
    (error,) = find_insight(summarise(replace(loaded, documents=documents))).limits.errors
    assert error.startswith(f"{cell.id}: cuda-again: takes ")


def test_a_copy_that_did_not_copy_stands_at_the_top_and_in_the_doubts() -> None:
    summary = summarise(load(make_copy(LARGE), LARGE / 11.6e12, link=(4, 16)))
    text = render_markdown(summary)
    top, _, rest = text.partition("## ")
    assert "NOT PLAUSIBLE: one number is more than the hardware can do" in top
    doubt = rest.partition("## Is it to be trusted?")[2]
    assert "**More than the hardware can do.** overhead.copy" in doubt
    (error,) = json.loads(render_json(summary))["limits"]["errors"]
    assert "moves 11.6 TB/s, but the link, as the driver tells it, moves at most 31.5 GB/s" in error
    assert "PCI-SIG" in error
