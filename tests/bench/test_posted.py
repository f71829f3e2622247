"""The scripts of the asked cases against the same as a person posts them: plain files, run alternately.

Needs TensorFlow, in the interpreter that LOCAL_PYTHON names, and a quiet machine.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from pathlib import Path

import pytest

from suite.content import SUITE

POSTED = Path(__file__).parent / "posted"
ROUNDS = 5
LONG_S = 0.5
ALLOWED_LONG, ALLOWED_SHORT = 0.15, 0.25
"""How far the medians may be apart, above `LONG_S` and below."""

NUMBERS = {
    "slices": ["asked.slices/stage=script/on=arm"],
    "dataset": ["asked.dataset/stage=script/on=arm"],
    "fit": [
        f"asked.fit/stage=script/epoch={epoch}/batch=512/prefetch=on/on=arm" for epoch in (1, 2, 3)
    ],
    "clone": ["asked.clone/stage=script/on=arm"],
    "matmul": [f"asked.matmul/n={n}/stage=script/on=arm" for n in (1, 10, 100, 500, 1000, 2000)],
}
"""What each prints, in its order, and the cells that are to say the same."""


def run(*words: str) -> str:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [os.environ["LOCAL_PYTHON"], *words],
        cwd=SUITE.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def run_posted(case: str) -> list[float]:
    return [float(word) for word in run(str(POSTED / f"{case}.py")).splitlines()[-1].split()]


def run_stage(case: str) -> list[float]:
    records = map(json.loads, run("-m", "suite.worker", "script", *NUMBERS[case]).splitlines())
    return [one["cell"]["samples_s"][0] for one in records if one["record"] == "cell"]


@pytest.mark.processes
@pytest.mark.skipif("LOCAL_PYTHON" not in os.environ, reason="LOCAL_PYTHON names no interpreter")
@pytest.mark.parametrize("case", NUMBERS)
def test_a_script_stage_says_what_the_script_itself_prints(case: str) -> None:
    posted, stage = [], []
    for _ in range(ROUNDS):
        posted.append(run_posted(case))
        stage.append(run_stage(case))
    for cell, theirs, ours in zip(
        NUMBERS[case], zip(*posted, strict=True), zip(*stage, strict=True), strict=True
    ):
        printed, measured = statistics.median(theirs), statistics.median(ours)
        allowed = ALLOWED_LONG if printed > LONG_S else ALLOWED_SHORT
        assert measured == pytest.approx(printed, rel=allowed), (cell, theirs, ours)
