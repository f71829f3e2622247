"""An invocation that was slow in all its cells costs its block, and says so; nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from suite.analysis.result.campaign import Analysis
from suite.cells.cell import Work
from suite.model import Again, Document
from suite.report.sections.opening import warn
from tests import synthetic
from tests.changes import invoke, plant, stretch
from tests.rendering import study

WORK = Work(amount=1.0, unit="call")
CELLS = [synthetic.make_cell("made", f"cell{n}", {}, WORK) for n in range(12)]


def run(
    change: Callable[[Document], bool], factor: float, blocks: int = 5, cells: int = 12
) -> Analysis:
    """A campaign in which so many cells of the chosen invocations take so many times as long."""
    campaign = synthetic.make_campaign(cells=CELLS, blocks=blocks)
    slow = stretch(factor, *(cell.id for cell in CELLS[:cells]))
    documents = [
        slow(one) if change(one) else one
        for one in synthetic.make_documents(campaign, host=synthetic.QUIET)
    ]
    return study(campaign, documents)


def is_cuda_in_3(document: Document) -> bool:
    return (document.invocation.arm, document.invocation.block) == ("cuda", 3)


@pytest.mark.parametrize("factor", [1.3, 0.7])
def test_its_block_counts_for_no_arm_and_the_opening_says_so(factor: float) -> None:
    analysis = run(is_cuda_in_3, factor)
    assert [sorted(arm.blocks) for arm in analysis.arms.values()] == [[1, 2, 4, 5]] * 2
    (flag,) = analysis.excluded
    assert (flag.code, flag.where["arm"], flag.where["block"]) == ("off-pace", "cuda", 3)
    assert flag.values["pace"] == pytest.approx(factor, rel=0.02)
    first = warn(analysis)[0]
    assert first.startswith(f"cuda in block 3 took {flag.values['pace']:.2f} times as long as")
    # The other arm's number of that block is gone, too: blocks are excluded whole.
    assert all(3 not in cell.arms["cpu"].values for cell in analysis.cells)


@pytest.mark.parametrize(
    ("change", "factor", "blocks", "cells"),
    [
        (is_cuda_in_3, 1.05, 5, 12),
        (is_cuda_in_3, 1.3, 4, 12),
        (is_cuda_in_3, 2.0, 5, 5),
        (lambda one: one.invocation.arm == "cuda", 1.3, 5, 12),
        (lambda one: one.invocation.block in {2, 3}, 1.3, 5, 12),
    ],
    ids=["a little", "few blocks", "some cells", "the arm itself", "no usual pace"],
)
def test_what_is_no_odd_invocation_costs_no_block(
    change: Callable[[Document], bool], factor: float, blocks: int, cells: int
) -> None:
    analysis = run(change, factor, blocks, cells)
    assert analysis.excluded == ()
    assert [len(arm.blocks) for arm in analysis.arms.values()] == [blocks] * 2


def make_again(*arms: str, pace: float = 1.3) -> Analysis:
    """A campaign in which cuda was slow in block 3, which these arms have measured again, 2 % slower."""
    campaign = synthetic.make_campaign(cells=CELLS, blocks=5)
    first = synthetic.make_documents(campaign, host=synthetic.SILENT)
    planted = plant(first, stretch(pace), "cuda", 3)
    second = [
        invoke(repeat=1)(stretch(1.02)(one))
        for one in first
        if one.invocation.block == 3 and one.invocation.arm in arms
    ]
    again = [Again(arm="cuda", block=3, pace=pace, repeat=1)]
    return study(replace(campaign, again=again), [*planted, *second])


def test_of_a_block_that_is_measured_again_only_the_new_measurement_counts() -> None:
    analysis = make_again("cpu", "cuda")
    for cell in analysis.cells:
        for arm in cell.arms.values():
            others = {value for block, value in arm.values.items() if block != 3}
            (usual,) = {float(f"{one:.6g}") for one in others}
            assert arm.values[3] == pytest.approx(1.02 * usual, rel=1e-4)
    assert analysis.invalid == ()
    assert [(one.code, one.where["arm"], one.values["repeated"]) for one in analysis.excluded] == [
        ("block-again", "cpu", True),
        ("off-pace-then", "cuda", True),
    ]
    first = warn(analysis)[0]
    assert first.startswith(
        "cuda in block 3 took 1.30 times as long as the arm's other invocations"
    )
    assert first.endswith("its block was measured again on all arms.")


@pytest.mark.parametrize("arms", [(), ("cpu",), ("cuda",)])
def test_a_block_of_which_an_arm_was_not_measured_again_is_in_no_ratio(
    arms: tuple[str, ...],
) -> None:
    analysis = make_again(*arms)
    for cell in analysis.cells:
        assert {arm: 3 in one.values for arm, one in cell.arms.items()} == {
            arm: arm in arms for arm in ("cpu", "cuda")
        }
        (comparison,) = cell.comparisons.values()
        assert comparison.ratio is not None
        assert comparison.ratio.n == 4
    odd = next(one for one in analysis.excluded if one.where["arm"] == "cuda")
    assert odd.code == ("off-pace-then" if "cuda" in arms else "off-pace")
