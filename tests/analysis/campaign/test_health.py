"""What became of a GPU's memory and link over a campaign: what is planted is told, with its numbers and its
place, and what is no fault is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.campaign.health import COUNTS, FACTS, STATES, find_health
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.arms import Count
from suite.host.gpu import nvml
from suite.model import Document, Scalar
from suite.report.pages.brief import compose_brief, compose_screen
from suite.report.pages.campaign import compose
from suite.report.render.terminal import MOST_LINES, render_lines
from suite.report.text.wording import word
from tests import synthetic
from tests.changes import watch
from tests.flagging import codes
from tests.rendering import load, read_words

pytestmark = pytest.mark.simulated

CELLS = [cell for cell in synthetic.make_cells() if cell.scenario == "matmul"][:2]
CARD: Mapping[str, Scalar] = {"gpu.name": "Made-Up Accelerator", "gpu.uuid": "sha256:1"}
LINK = {"gpu.pcie_generation": [1.0, 4.0], "gpu.pcie_width": [16.0, 8.0]}

Told = Mapping[str, Sequence[Scalar]]
"""By counter what the driver says at the two looks of each invocation on the GPU, in their order; of its
messages what came in each."""


def make(told: Told, *arms: str) -> LoadedCampaign:
    """A calibration and two blocks; an invocation is begun every hour, and watched for a quarter of it."""
    campaign = synthetic.make_campaign(arms=["cpu", *(arms or ["cuda"])], blocks=2, cells=CELLS)
    documents: list[Document] = []
    watched = 0
    for block in range(3):
        for arm in campaign.arms:
            document = synthetic.make_document(campaign, arm, block)
            if arm != "cpu":
                facts = dict(CARD)
                for name, values in told.items():
                    if name == "xids":
                        facts["gpu.xids"] = values[watched]
                    else:
                        first, last = values[2 * watched :][:2]
                        facts |= {f"gpu.{name}": first, f"gpu.at_end.{name}": last}
                began = campaign.created + timedelta(hours=watched)
                document = watch(facts, LINK)(document)
                assert document.telemetry is not None
                telemetry = replace(document.telemetry, started=began)
                document, watched = replace(document, telemetry=telemetry), watched + 1
            documents.append(document)
    return load(campaign, documents)


QUIET = (0, 0, 0, 0, 0, 0)
NO, SOON = (False,) * 6, (False, False, False, True, True, True)
DIAGNOSTIC = "ask the vendor for another GPU, or to run NVIDIA's field diagnostic on this one"

PLANTED: Mapping[str, tuple[Told, str | None, bool, str]] = {
    "nothing": ({"memory_errors": QUIET, "xids": ("none",) * 3}, None, False, "no XID"),
    "an error within a block": (
        {"memory_errors": (0, 0, 0, 2, 2, 2)},
        "memory-errors",
        True,
        f"errors that ECC could not correct since the driver was loaded, 2 of them in block 1; {DIAGNOSTIC}",
    ),
    "an error between blocks": (
        {"memory_errors": (0, 0, 0, 0, 1, 1)},
        "memory-errors",
        True,
        "1 of them between measurements, before block 2;",
    ),
    "one before the first block, one later": (
        {"memory_errors": (0, 1, 1, 1, 1, 2)},
        "memory-errors",
        True,
        "loaded, 2 of them in the preliminary run and block 2;",
    ),
    "one after which the driver was loaded anew": (
        {"memory_errors": (0, 0, 0, 0, 0, 0), "memory_errors_ever": (4, 4, 4, 4, 5, 5)},
        "memory-errors",
        True,
        "had 1 error that ECC could not correct since the driver was loaded, 1 of them between measurements",
    ),
    "one that the card writes down late": (
        {"memory_errors": (1,) * 6, "memory_errors_ever": (4, 4, 4, 4, 5, 5)},
        "memory-errors",
        True,
        "had 1 error that ECC could not correct since the driver was loaded; ask",
    ),
    "many that were corrected": (
        {"corrected_errors": (7, 9, 9, 9, 9, 10)},
        "errors-corrected",
        False,
        "ECC corrected 3 errors of the GPU's memory in the preliminary run and block 2, 1.3 an hour: no",
    ),
    "a counter that goes back": (
        {"corrected_errors": (7, 7, 7, 7, 2, 2), "pcie_replays": (9, 9, 0, 0, 0, 0)},
        None,
        False,
        "errors that ECC corrected: 2; packets repeated on the PCIe link: 0; unknown:",
    ),
    "rows": (
        {"rows_remapped": (1, 1, 1, 2, 2, 2)},
        "memory-replaced",
        False,
        "of the GPU's memory that were marked for replacement: 1 more in block 1; ask",
    ),
    "a pending remapping": (
        {"remapping_pending": SOON},
        "memory-pending",
        True,
        "(row remapping pending). Reset it (`nvidia-smi --gpu-reset`) or reboot, measure again, and ask the",
    ),
    "a T4's page": (
        {"retirement_pending": SOON, "pages_retired": (0,) * 6},
        "memory-pending",
        True,
        "bad pages of its memory wait for a reset to be retired (page retirement pending)",
    ),
    "a failed remapping": (
        {"remapping_failed": SOON},
        "memory-errors",
        True,
        "and no spare rows are left for them",
    ),
    "replays within the specification": (
        {"pcie_replays": (0, 0, 0, 120, 120, 120)},
        None,
        False,
        "PCIe link: 120, grown by 120 in block 1;",
    ),
    "too many replays": (
        {"pcie_replays": (5, 5, 5, 305, 305, 305)},
        "link-replays",
        False,
        "repeated 20 packets a minute (300 in block 1); within the specification's bit error rate it repeats",
    ),
    "off the bus": (
        {"xids": ("none", "31,79", "none")},
        "xid-card",
        True,
        "the driver reported XID 79 (the GPU has fallen off the bus) in block 1: by NVIDIA's Xid catalog",
    ),
    "a double error, twice": (
        {"xids": ("48", "none", "48,63")},
        "xid-card xid",
        True,
        "XID 48 (an error of memory that ECC could not correct) in the preliminary run and block 2:",
    ),
    "a page fault": (
        {"xids": ("none", "31", "none")},
        None,
        False,
        "XID 31 (an application's page fault) in block 1",
    ),
}
"""What is planted, the flags that tell it, whether the machine is unsound for it, and what is read."""


@pytest.mark.parametrize("name", PLANTED)
def test_what_befell_a_gpu_is_on_the_first_screen(name: str) -> None:
    told, code, is_unsound, words = PLANTED[name]
    analysis = analyse(make(told))
    assert codes(analysis.hardware) == (code or "").split()
    brief, screen = read_words(compose_brief(analysis)), render_lines(compose_screen(analysis))
    assert ("UNSOUND MACHINE" in screen) is is_unsound
    machine = [flag for flag in analysis.flags if flag.scope == "machine"]
    assert codes(machine) == ([(code or "").partition(" ")[0]] if is_unsound else [])
    shown = " ".join(screen.split())
    # Each once: with what makes the machine unsound, or among what must not be missed.
    assert all(shown.count(word(flag)) == 1 for flag in analysis.hardware)
    assert all(word(flag) in shown for flag in machine)
    whole = read_words(compose(analysis))
    assert words in (brief if code else whole), whole
    assert all(f"{word(flag)}." in brief for flag in analysis.hardware)


def test_a_first_block_that_finds_k_is_told_as_a_block() -> None:
    loaded = make({"memory_errors": (0, 0, 0, 2, 2, 2)})
    plan = replace(loaded.campaign, calibrated_by=loaded.campaign.id)
    blocks = [document for document in loaded.documents if document.invocation.block]
    analysis = analyse(replace(loaded, campaign=plan, documents=blocks, calibration=1))
    assert "2 of them in block 1; " in read_words(compose_brief(analysis))


WORN: Told = {
    "memory_errors": (0, 0, 0, 2, 2, 2),
    "remapping_pending": SOON,
    "rows_remapped": (0, 0, 0, 1, 1, 1),
    "corrected_errors": (7, 9, 9, 9, 9, 10),
    "pcie_replays": (0, 90_000, 90_000, 190_000, 190_000, 290_000),
    "xids": ("48,63", "79", "none"),
}


def test_a_screen_says_how_much_it_leaves_out() -> None:
    """Each of several faults has a line, those that make the machine unsound first."""
    screen = render_lines(compose_screen(analyse(make(WORN))), MOST_LINES)
    lines = screen.splitlines()
    assert [line.partition(" ")[0] for line in lines if "UNSOUND:" in line] == ["UNSOUND:"] * 3
    assert "And 2 more warnings, in report.md." in lines
    few = render_lines(compose_screen(analyse(make({"memory_errors": (0, 0, 0, 2, 2, 2)}))))
    assert "more warning" not in few


def test_arms_on_one_gpu_tell_it_once_and_growth_is_between_all_of_their_looks() -> None:
    # Of the second arm nothing grew; between its looks something did.
    told = {"corrected_errors": (0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3)}
    loaded = make(told, "cuda", "other")
    health = find_health(loaded)
    assert health["cuda"] is health["other"]
    assert health["cuda"].counts == {
        "corrected_errors": Count(first=0, last=3, grown=3, within=(0, 1), before=(2,))
    }
    (flag,) = analyse(loaded).hardware
    assert flag.where == {"arm": "cuda"}


@pytest.mark.parametrize("told", [{}, dict.fromkeys((*COUNTS, *STATES), (None,) * 6)])
def test_a_driver_that_tells_nothing_is_no_fault(told: Told) -> None:
    analysis = analyse(make(told))
    assert analysis.hardware == ()
    assert "cuda: memory health: unknown, as the driver tells nothing of it." in read_words(
        compose(analysis)
    )


@pytest.mark.parametrize(
    "told",
    [
        # As of before there were more of them.
        {"memory_errors": (0, None) * 3, "remapping_failed": (False, None) * 3},
        {"memory_errors": (0, "many") * 3, "xids": (7, True, None)},
        # Of one invocation nobody knows.
        {"memory_errors": (0,) * 6, "xids": ("none", "none", None)},
    ],
)
def test_what_a_driver_does_not_tell_is_unknown_and_no_fault(told: Told) -> None:
    analysis = analyse(make(told))
    assert analysis.hardware == ()
    health = analysis.arms["cuda"].health
    assert health is not None
    assert health.xids is None
    report = read_words(compose(analysis))
    assert (
        "errors that ECC could not correct: 0; unknown: errors that ECC corrected, bad rows or pages "
        "replaced, packets repeated on the PCIe link, XIDs."
    ) in report
    # It is not among what was looked for in vain as well.
    assert "gpu.pages_retired" not in report


def test_the_sampler_tells_what_is_read_here() -> None:
    assert {*nvml.HEALTH, nvml.XIDS} == FACTS
