"""What must hold between a plan and its documents, for arms whose calibrations differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite.analysis.documents.rules import judge_whole
from tests import synthetic

K = {"cpu": 10, "cuda": 25}


@pytest.mark.parametrize(
    ("arm", "calls"),
    [("cpu", 10), ("cuda", 25), ("cpu-twin", 10), ("cuda-twin", 25), ("cuda-hidden", 10)],
)
def test_a_control_has_the_calls_of_the_arm_that_it_is_compared_with(arm: str, calls: int) -> None:
    plan = synthetic.make_campaign(blocks=1)
    sampled = [cell.id for cell in plan.cells if not cell.one_shot]
    plan = replace(plan, calls={name: dict.fromkeys(sampled, k) for name, k in K.items()})
    document = synthetic.make_document(plan, arm, 1)

    def complain(k: int) -> list[str]:
        cells = [
            replace(cell, calls_per_sample=k) if cell.id in sampled else cell
            for cell in document.cells
        ]
        complaints = judge_whole(plan, [], [replace(document, cells=cells)])
        return [text for text in complaints if "calls_per_sample" in text]

    assert not complain(calls)
    assert f"{calls + 1}, but campaign.json says {calls} for" in complain(calls + 1)[0]
