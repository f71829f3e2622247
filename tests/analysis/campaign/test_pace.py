"""An invocation that was slow in all its cells costs its block, and says so; nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from suite.analysis.result.campaign import Analysis
from suite.cells.cell import Work
from suite.model import CellResult, Document
from suite.report.sections.machine import narrate
from tests import synthetic
from tests.rendering import study

WORK = Work(amount=1.0, unit="call")
CELLS = [synthetic.make_cell("made", f"cell{n}", {}, WORK) for n in range(12)]


def run(
    change: Callable[[Document], bool], factor: float, blocks: int = 5, cells: int = 12
) -> Analysis:
    """A campaign in which so many cells of the chosen invocations take so many times as long."""
    campaign = synthetic.make_campaign(cells=CELLS, blocks=blocks)
    slow = {cell.id for cell in CELLS[:cells]}

    def stretch(one: CellResult) -> CellResult:
        longer = [factor * sample for sample in one.samples_s]
        return replace(one, samples_s=longer) if one.id in slow else one

    documents = [
        replace(one, cells=list(map(stretch, one.cells))) if change(one) else one
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
    first = narrate(analysis, str)[0]
    assert first.startswith(f"cuda in block 3 took {flag.values['pace']:.2f} times as long as")
    # The other arm's number of that block is gone, too: blocks are set aside whole.
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
