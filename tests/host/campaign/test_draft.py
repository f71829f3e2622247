"""What an invocation's containers tell of themselves, each in its own place in the document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from suite.analysis.campaign.validity import find_whole_disturbance
from suite.host.campaign import plan
from suite.host.engine import Job
from suite.model import AT_END, count_compiled, facts_of
from tests.fakes.engine import FACTS, GPU_FACTS, Life, Script, Word, record
from tests.host.campaign.flow import Flow


def end_with(flow: Flow, words: tuple[Word, ...], end: dict[str, Any]) -> Script:
    """The usual life with these last words instead of its good-bye."""
    return lambda job: Life(words=[*flow.worker.words(job)[:-1], *words], **end)


@pytest.mark.parametrize(
    ("words", "end", "said"),
    [
        ((), {"code": 134}, "killed by SIGABRT"),
        ((TimeoutError(),), {}, "the deadline for the end"),
    ],
    ids=["aborts", "hangs"],
)
def test_a_gpu_that_breaks_behind_the_last_cell_is_not_fine(
    tmp_path: Path, words: tuple[Word, ...], end: dict[str, Any], said: str
) -> None:
    # Without a GPU it is an ending like any other: every outcome had been told.
    for arm, disturbed in (("cuda", "gpu-lost"), ("cpu", None)):
        flow = Flow(tmp_path / arm, arm=arm)
        document = flow.run(otherwise=end_with(flow, words, end))
        assert find_whole_disturbance(document) == disturbed
        if arm == "cuda":
            assert said in str(document.facts[AT_END])


def tell(**facts: Any) -> str:
    """The facts of a container on the GPU, and these."""
    return record("facts", facts={**FACTS, **GPU_FACTS, **facts}, seconds=0.1)


START_FILES, END_FILES = "cuda.cache.at_start.files", "cuda.cache.at_end.files"


def test_each_container_keeps_the_facts_in_which_it_differs(on_gpu: Flow) -> None:
    lost = {START_FILES: 0, AT_END: "gives a wrong result"}

    def first(job: Job) -> Life:
        head = on_gpu.worker.until(on_gpu.order[1], begun=True)(job)
        told = tell(**{START_FILES: 0})
        return Life(words=[*head[:2], told, *head[3:], tell(**lost)], code=7)

    document = on_gpu.run(first)
    one, two = document.invocation.containers
    assert (one.facts, two.facts) == (lost, {})
    cell = next(cell for cell in document.cells if cell.container == one.id)
    assert facts_of(document, cell.container)[START_FILES] == 0
    assert START_FILES not in facts_of(document, two.id)
    # One container's bad end is not made good by the next one's.
    assert find_whole_disturbance(document) == "gpu-lost"


@pytest.mark.parametrize(
    ("end", "given_up", "compiled"),
    [
        (900, True, True),
        (1, True, True),
        (0, True, False),
        (None, True, False),
        # Nothing was lost to it.
        (900, False, False),
    ],
)
def test_what_the_first_container_compiled_the_second_finds(
    tmp_path: Path, end: int | None, *, given_up: bool, compiled: bool
) -> None:
    flow = Flow(tmp_path, arm="cuda", block=0)
    if given_up:
        # By the container that died, before it did.
        reason = "would take 9 s here; the profile's budget for this cell is 5 s"
        flow.worker.outcomes = {flow.order[0]: {"outcome": "skipped", "reason": reason}}

    def dies(job: Job) -> Life:
        head = flow.worker.until(flow.order[1], begun=True)(job)
        return Life(words=[*head[:2], tell(**{START_FILES: 0}), *head[3:]], code=137)

    def goes_on(job: Job) -> Life:
        # What it adds itself is nothing: its own start is no sign of what was compiled.
        *words, bye = flow.worker.words(job)
        last = tell(**{START_FILES: end, END_FILES: end})
        return Life(words=[*words[:2], tell(**{START_FILES: end}), *words[3:], last, bye])

    document = flow.run(dies, otherwise=goes_on)
    assert len(document.invocation.containers) == 2
    assert document.facts[START_FILES] == end
    assert count_compiled(document) == end
    assert plan.has_compiled(document) is compiled
