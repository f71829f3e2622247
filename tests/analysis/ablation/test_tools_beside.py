"""What others' tools say beside ours: each sentence where it is true, and not where it is not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from suite import codec
from suite.analysis.analyse import analyse
from suite.analysis.documents.tools import order_tools, read_tool
from suite.analysis.result.campaign import Analysis
from suite.cells.cell import Cell
from suite.report.pages.brief import compose_brief, compose_screen
from suite.report.pages.campaign import compose, compose_first
from suite.report.render.markdown import render_page
from suite.report.render.terminal import render_lines
from suite.worker import scenarios
from tests import synthetic
from tests.changes import Change, keep, plant, tell, watch
from tests.fakes import tools
from tests.flagging import codes
from tests.rendering import load

pytestmark = pytest.mark.simulated

COPIES = [cell for cell in scenarios.cells() if cell.price in {"copy-in", "copy-out"}]
SMI, DIAG, BANDWIDTH = "nvidia-smi.xml", "dcgmi.json", "given-nvbandwidth.json"
OURS = {"gpu.0.uuid": codec.hash_uuid(tools.UUID), "gpu.driver": "580.11.22"}


def make(
    outputs: Mapping[str, str],
    *,
    gb_s: float = 12.0,
    copied: float | None = None,
    facts: Mapping[str, str] = OURS,
    watched: Change = keep,
) -> Analysis:
    """A campaign whose copies reach so many GB/s a call and, by its traces, over the link alone; with the
    outputs of tools, by file."""

    def truth(cell: Cell, arm: str) -> float:
        return (cell.work.bytes or 0.0) / (gb_s * 1e9) + 1e-5 * (arm == "cpu")

    campaign = synthetic.make_campaign(blocks=3, cells=COPIES)
    documents = synthetic.make_documents(campaign, samples=20, truth=truth)
    for change in (tell(facts), watched):
        documents = plant(documents, change, "cuda")
    for at, document in enumerate(documents):
        if copied is None or document.invocation.block:
            continue
        cells = []
        for cell in document.cells:
            size = next(c.work.bytes or 0.0 for c in COPIES if c.id == cell.id)
            seen = {"calls": 9.0, "call_s": 2 * size / (copied * 1e9), "copy_share": 0.5}
            cells.append(replace(cell, trace=seen))
        documents[at] = replace(document, cells=cells)
    read = [read_tool(name, codec.hide_uuids(text).encode()) for name, text in outputs.items()]
    return analyse(replace(load(campaign, documents), tools=order_tools(read)))


def tell_rows(analysis: Analysis) -> dict[str, str]:
    """The table's rows by what they are about, without their marks."""
    after = render_page(compose(analysis)).partition("what others' tools say")[2]
    table = after.partition("\n|")[2].partition("\n\n")[0]
    rows = [line.split("|") for line in f"|{table}".splitlines()]
    first = {row[2].strip(): "|".join(row[3:]) for row in reversed(rows[2:])}
    return {what: re.sub(r" +", " ", row).strip() for what, row in first.items()}


@pytest.mark.parametrize(
    ("gb_s", "copied", "verdict", "words"),
    [
        (24.0, None, "agrees", "agree"),
        (24.0, 25.1, "agrees", "25.1 GB/s over the link alone"),
        (29.0, None, "agrees", "agree"),
        (31.0, None, "faster", "can't be"),
        (12.0, 31.0, "faster", "can't be"),
        (19.0, None, "slower", "ours 76 %"),
        (12.0, None, "staged", "as expected"),
    ],
)
def test_our_copy_beside_theirs(
    gb_s: float, copied: float | None, verdict: str, words: str
) -> None:
    text = tools.bandwidth(["25.0"], ["25.0"])
    analysis = make({BANDWIDTH: text}, gb_s=gb_s, copied=copied)
    assert analysis.tools is not None
    assert {copy.verdict for copy in analysis.tools.copies} == {verdict}
    assert {copy.way for copy in analysis.tools.copies} == {"copy-in", "copy-out"}
    row = tell_rows(analysis)["copies to the device"]
    assert words in row
    assert "25.0 GB/s" in row
    assert ("copy-beyond" in codes(analysis.tools.flags)) == (verdict == "faster")


def test_several_gpus_are_a_range_and_ours_beyond_it_is_beyond_all() -> None:
    text = tools.bandwidth(["8.0", "25.0"], ["8.0", "25.0"])
    for gb_s, verdict in ((7.0, "agrees"), (29.0, "agrees"), (31.0, "faster"), (3.0, "staged")):
        analysis = make({BANDWIDTH: text}, gb_s=gb_s)
        assert analysis.tools
        assert {copy.verdict for copy in analysis.tools.copies} == {verdict}, gb_s
    assert "8.00 GB/s to 25.0 GB/s" in tell_rows(analysis)["copies to the device"]


WELL = {SMI: tools.smi(), DIAG: tools.diag(), BANDWIDTH: tools.bandwidth()}


def test_a_machine_in_order_has_a_table_and_no_flag() -> None:
    analysis = make(WELL)
    assert analysis.tools
    assert analysis.tools.flags == ()
    rows = tell_rows(analysis)
    assert (
        "ECC on; uncorrected 0 since the driver was loaded, 0 in the card's life"
        in rows["errors of its memory"]
    )
    assert "300 W (default 350 W)" in rows["power limit"]
    assert "2,000 MHz" in rows["highest clock"]
    assert "PCIe generation 4 with 16 lanes" in rows["link at best"]
    assert rows["faults at that time"].startswith("none")
    # Generation 4 with 16 lanes, by what nvidia-smi says, since nobody watched.
    assert "25.0 GB/s, 79 % of the 31.5 GB/s that the link carries" in rows["copies to the device"]
    assert "1 passed, 1 skipped" in rows["tests"]
    page = render_page(compose(analysis))
    assert "dcgmi diag 4.2.1" in page
    assert "evidence/given-nvbandwidth.json: a file that EVIDENCE named" in page
    assert "evidence/nvidia-smi.xml: run before anything was measured" in page


def test_without_outputs_there_is_no_word_of_them() -> None:
    analysis = make({})
    assert analysis.tools is None
    assert "Others' tools" not in render_page(compose(analysis))


SAID = "GPU 0 has 2 bad pages"


@pytest.mark.parametrize(
    ("outputs", "code", "words"),
    [
        ({DIAG: tools.diag(3, Memory=SAID)}, "diag-failed", f"failed: Memory: {SAID}"),
        ({SMI: tools.smi(hw_slowdown="Active")}, "tool-faults", "a slowdown by hardware"),
        ({SMI: tools.smi(remapped_row_pending="Yes")}, "tool-faults", "row remapping pending"),
        ({SMI: tools.smi(uuid=tools.OTHER_UUID)}, "output-elsewhere", "another machine's"),
        # A file that somebody named need not be of a card that idles.
        (
            {f"given-{SMI}": tools.smi(hw_slowdown="Active", gpu_idle="Not Active")},
            "tool-faults",
            "a slowdown by hardware.",
        ),
        # A fault of somebody else's card is none of this one's.
        (
            {SMI: tools.smi(uuid=tools.OTHER_UUID, hw_slowdown="Active")},
            "output-elsewhere",
            "nothing in it was held against this one",
        ),
        ({SMI: tools.smi("535.1.2")}, "output-driver", "made with driver 535.1.2"),
        ({BANDWIDTH: tools.bandwidth(["5.0"])}, "copy-beyond", "times what nvbandwidth reaches"),
    ],
)
def test_what_must_not_be_missed_is_on_the_first_screen(
    outputs: Mapping[str, str], code: str, words: str
) -> None:
    analysis = make(outputs)
    assert analysis.tools
    assert codes(analysis.tools.flags) == [code]
    for page in (
        render_page(compose_brief(analysis)).partition("**Why")[0],
        " ".join(render_lines(compose_screen(analysis)).split()),
        " ".join(render_lines(compose_first(analysis)).split()),
    ):
        assert words in " ".join(page.split())
    assert words not in render_page(compose(make(WELL)))


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        ("remapped_row_pending", "remapping_pending"),
        ("remapped_row_failure", "remapping_failed"),
    ],
)
def test_what_was_watched_of_the_same_gpu_is_not_told_twice(fault: str, state: str) -> None:
    states = {f"gpu.{when}{state}": True for when in ("", "at_end.")}
    watched = watch({"gpu.name": "Made-Up Accelerator", **states})
    for gpus, others, told in (
        # The GPU that was watched; one of several that may be another; what else is said of it.
        (1, {}, []),
        (1, {"hw_slowdown": "Active"}, ["tool-faults"]),
        (2, {"uuid": "N/A"}, ["tool-faults", "tool-faults"]),
    ):
        text = tools.smi(gpus=gpus, **{fault: "Yes", **others})
        analysis = make({SMI: text}, watched=watched)
        assert analysis.tools
        assert codes(analysis.tools.flags) == told
        assert any(flag.scope == "machine" for flag in analysis.flags)
        # The table has it all the same.
        assert "rows of its memory" in tell_rows(analysis)["faults at that time"]
    # Where nobody watched, nvidia-smi's word is the only one.
    alone = make({SMI: tools.smi(**{fault: "Yes"})})
    assert alone.tools
    assert codes(alone.tools.flags) == ["tool-faults"]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        # Nothing is known of ours, or of theirs; or ours is an instance of theirs.
        (tools.smi(), {}),
        (tools.smi(), {"gpu.0.uuid": tools.UUID}),
        (tools.smi(uuid="N/A"), OURS),
        (tools.smi(uuid=tools.OTHER_UUID, current_mig="Enabled"), OURS),
    ],
)
def test_whose_it_is_stays_open_where_nobody_can_tell(text: str, facts: Mapping[str, str]) -> None:
    analysis = make({SMI: text}, facts=facts)
    assert analysis.tools
    assert analysis.tools.flags == ()


def test_a_tool_that_gave_nothing_says_why() -> None:
    ((what, row),) = tell_rows(make({"dcgmi.txt": "exit code 1: no daemon"})).items()
    assert (what, row[:31]) == ("all", "nothing: exit code 1: no daemon")


def test_alike_gpus_are_counted_and_many_tests_cut() -> None:
    failing = {f"Test {number}": "no" for number in range(14)}
    rows = tell_rows(make({SMI: tools.smi(gpus=8), DIAG: tools.diag(**failing)}))
    assert rows["GPU"].startswith("8 × Made-Up Accelerator")
    page = render_page(compose(make({DIAG: tools.diag(**failing)})))
    assert "4 more that did not pass" in page
