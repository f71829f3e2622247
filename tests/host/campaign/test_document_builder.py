"""What an invocation's containers tell of themselves, each in its own place in the document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.campaign.validity import find_whole_disturbance
from suite.host.engine import Job
from suite.model import AT_END, facts_of
from tests.fakes.engine import GPU_FACTS, Life, Script, Word
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


START_FILES, END_FILES = "cuda.cache.at_start.files", "cuda.cache.at_end.files"


def test_each_container_keeps_the_facts_in_which_it_differs(on_gpu: Flow) -> None:
    lost = {START_FILES: 0, AT_END: "gives a wrong result"}

    worker = replace(on_gpu.worker, gpu_facts={**GPU_FACTS, START_FILES: 0})

    def first(job: Job) -> Life:
        head = worker.until(on_gpu.order[1], begun=True)(job)
        return Life(words=[*head, worker.tell(gpu=True, **lost)], code=7)

    document = on_gpu.run(first)
    one, two = document.invocation.containers
    assert (one.facts, two.facts) == (lost, {})
    cell = next(cell for cell in document.cells if cell.container == one.id)
    assert facts_of(document, cell.container)[START_FILES] == 0
    assert START_FILES not in facts_of(document, two.id)
    # One container's bad end is not made good by the next one's.
    assert find_whole_disturbance(document) == "gpu-lost"
