"""What the facts of a GPU that finds K lead to: another invocation, and a campaign called simulated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from suite.flags import KINDS
from suite.model import SIMULATED, Scalar
from tests.fakes.engine import GPU_FACTS, Worker
from tests.host.campaign.flow import START
from tests.host.campaign.stage import BOTH, CELLS, CUDA, Stage

OVER = {
    "outcome": "skipped",
    "reason": "would take 9 s here; the profile's budget for this cell is 5 s",
}
"""What the worker says of a cell that lost its budget, as to kernels that are compiled."""

START_FILES, END_FILES = "cuda.cache.at_start.files", "cuda.cache.at_end.files"
ONCE, AGAIN = ["cuda-01"], ["cuda-01", "cuda-01-r1"]


def telling(facts: Mapping[str, Scalar], **fields: Any) -> Worker:
    """A worker that tells these facts of its GPU beside the usual ones."""
    cells = {cell.id: cell for cell in CELLS}
    return Worker(cells=cells, seconds=10.0, gpu_facts={**GPU_FACTS, **facts}, **fields)


def compiling(
    start: int | None, end: int | None, given_up: Mapping[str, Any] | None = OVER, **fields: Any
) -> Worker:
    """A worker whose GPU's compile cache holds so many files before the start, and at the end.

    ``given_up`` is what comes of one of its cells; None: it is measured as the others.
    """
    outcomes = {"made.b": given_up} if given_up else {}
    return telling({START_FILES: start}, at_end={END_FILES: end}, outcomes=outcomes, **fields)


FULL = compiling(700, 700)


def test_a_first_block_in_which_kernels_were_compiled_is_measured_again_on_a_full_cache(
    stage: Stage,
) -> None:
    cold, warm = compiling(0, 700), compiling(700, 700, None, sample_calls=60)
    campaign = stage.run(cold, warm, arms=CUDA)
    assert stage.documents() == AGAIN
    # One-shot cells have one call a sample.
    assert set(campaign.calls["cuda"].values()) == {1, 60}
    # The cell that had been given up is measured after all.
    assert campaign.excluded["cuda"] == {}
    assert campaign.calls["cuda"]["made.b"] == 60
    assert stage.said("the first block of cuda is measured again") == 1
    # Its figures are the second invocation's, and the report says why.
    aside = (
        "invocation 0 of block 1 is excluded: the GPU's driver compiled kernels meanwhile; a repeat"
    )
    assert aside in stage.report()


@pytest.mark.parametrize("given_up", [OVER, None])
@pytest.mark.parametrize(
    ("start", "end", "again"),
    [
        # However few, and beside what lay there already.
        (0, 1, True),
        (700, 701, True),
        (700, 700, False),
        # CUDA throws the oldest away where there is no more room.
        (700, 300, False),
        (None, 700, False),
        (0, None, False),
    ],
)
def test_a_first_block_is_measured_again_where_kernels_are_known_to_have_been_compiled(
    stage: Stage,
    start: int | None,
    end: int | None,
    given_up: Mapping[str, Any] | None,
    *,
    again: bool,
) -> None:
    full = compiling(700, 700, given_up)
    stage.run(compiling(start, end, given_up), otherwise=full, arms=CUDA)
    assert stage.documents() == (AGAIN if again else ONCE)
    assert stage.said("the first block of cuda is measured again") == again


def test_a_second_invocation_is_the_last_however_much_it_compiled(stage: Stage) -> None:
    stage.run(otherwise=compiling(0, 700), arms=CUDA)
    assert stage.documents() == AGAIN


def test_a_second_invocation_that_the_budget_has_no_time_for_is_not_made(stage: Stage) -> None:
    stage.run(compiling(0, 700), otherwise=FULL, arms=CUDA, budget_s=15.0)
    assert stage.documents() == ONCE
    assert stage.said("no time to measure the first block of cuda again") == 1


def test_a_second_invocation_that_was_not_had_is_had_when_the_campaign_goes_on(
    stage: Stage,
) -> None:
    campaign = stage.plan(CUDA)
    stage.run(compiling(0, 700), otherwise=FULL, campaign=campaign, arms=CUDA)
    (stage.folder / f"{AGAIN[1]}.json").unlink()
    for finds in (True, False):
        kept = stage.load().documents
        stage.run(otherwise=FULL, campaign=campaign, arms=CUDA, resumed=kept)
        assert stage.documents() == AGAIN
        assert bool(stage.engine.jobs) is finds


@pytest.mark.parametrize(
    ("value", "simulated"),
    [(True, True), (None, False), (1, False)],
)
def test_a_stand_ins_document_makes_the_whole_campaign_simulated(
    stage: Stage, value: Scalar, *, simulated: bool
) -> None:
    """Not the documents alone: who reads the plan and nothing else must not take it for a real one."""
    drawn = stage.plan(BOTH)
    assert not drawn.simulated
    ended = stage.run(otherwise=telling({SIMULATED: value}), campaign=drawn, arms=BOTH)
    assert ended.simulated is stage.load().campaign.simulated is simulated
    # Nothing that was found is lost to it, and nothing else of the plan is changed.
    calls = {START.id: 1, **{f"made.{name}": 6 for name in "abcd"}}
    assert stage.load().campaign.calls == {"cpu": calls, "cuda": calls}
    if simulated:
        assert f"**SIMULATED.** {KINDS['stand-in'].text}." in stage.report()
