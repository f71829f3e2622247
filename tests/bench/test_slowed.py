"""Slowdowns planted in the real TensorFlow: which stages of the loops that train have them, and which not.

Needs TensorFlow, in the interpreter that LOCAL_PYTHON names, and no quiet machine: what is planted is large.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

import pytest

from tests.bench.test_posted import run
from tests.worker.scenarios.test_asked import ASKED, CASES

PLANTED_S = 1000.0
"""Seconds that are added to a pass over the examples: a hundred times what it takes."""

CALLS: Mapping[str, int] = {"slices": 100, "dataset": 3125}
"""Steps of a pass, each of which hands the optimizer over."""

GONE: Mapping[str, str] = {
    "first-trace": "traced",
    "second-trace": "built",
    "argument": "closure",
}
"""The stage behind which nothing of a plant is left: the step to it takes it away."""

EXAMPLES = {cell.id: cell.work.amount for cell in ASKED}


@cache
def measure(case: str, plant: str) -> Mapping[str, float]:
    """Seconds an example by stage: of the script in its own process, of all others in one."""
    script, *warm = (f"asked.{case}/stage={stage.name}/on=arm" for stage in CASES[case])
    seconds = PLANTED_S / (CALLS[case] if plant == "argument" else 1)
    worker = ("-m", "tests.bench.slowed", plant, f"{seconds}")
    lines = run(*worker, "script", script)
    lines += run(
        *(*worker, "measure", "--warmup", "0.1", "--measure", "0.3"),
        *(f"{cell}@1" for cell in warm),
    )
    cells = [
        record["cell"]
        for record in map(json.loads, lines.splitlines())
        if record["record"] == "cell"
    ]
    assert [cell["outcome"] for cell in cells] == ["measured"] * len(CASES[case]), cells
    return {
        cell["params"]["stage"]: sum(cell["samples_s"])
        / len(cell["samples_s"])
        / EXAMPLES[cell["id"]]
        for cell in cells
    }


@pytest.mark.processes
@pytest.mark.skipif("LOCAL_PYTHON" not in os.environ, reason="LOCAL_PYTHON names no interpreter")
@pytest.mark.parametrize("plant", GONE)
@pytest.mark.parametrize("case", CALLS)
def test_what_is_slowed_down_goes_with_its_own_step_alone(case: str, plant: str) -> None:
    plain, slowed = measure(case, "none"), measure(case, plant)
    each = PLANTED_S / EXAMPLES[f"asked.{case}/stage=script/on=arm"]
    shares = {stage: (slowed[stage] - plain[stage]) / each for stage in plain}
    gone = {after: shares[before] - shares[after] for before, after in pairwise(shares)}
    assert gone == {stage: pytest.approx(float(stage == GONE[plant]), abs=0.1) for stage in gone}, (
        shares
    )
