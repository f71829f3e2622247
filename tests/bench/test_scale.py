"""The benchmarks of scale still run, on as little as they take."""

from __future__ import annotations

import re

import pytest

from tests.commands import run_python

pytestmark = [pytest.mark.method, pytest.mark.processes]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["10"], r"   10 documents, .* MiB resident"),
        (["archive", "40"], r"    40 documents, .*; a cell's history .* MiB resident"),
        (["fleet", "3"], r"    3 campaigns, 18 documents.*; archive \d+ KiB a campaign"),
    ],
)
def test_a_benchmark_of_scale_tells_its_figures(words: list[str], told: str) -> None:
    done = run_python("-m", "tests.bench.scale", *words)
    assert done.returncode == 0, done.stderr
    assert re.search(told, " ".join(done.stdout.split("\n")))
