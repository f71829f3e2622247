"""The comparison with another framework says what was put in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import synthetic
from tests.bench import cublas
from tests.fakes.hosts import SILENT


def test_a_share_is_of_the_other_frameworks_rate(tmp_path: Path) -> None:
    campaign = synthetic.make_campaign(blocks=3)
    documents = synthetic.make_documents(campaign, host=SILENT)
    folder = synthetic.write_campaign(tmp_path / "made-up", campaign, documents)
    # On the made-up GPU a product of 1000 takes 400 µs; the other framework takes half of it.
    other = {"framework": "Other 1.0", "seconds": {"fp32": {"1000": 200e-6}}}
    table = cublas.share(folder, other, "cuda").splitlines()
    cells = [cell.strip() for cell in table[-1].strip("|").split("|")]
    assert cells == ["fp32", "1000", "5", "10", "0.50", "0.50 to 0.50"]
    assert len(table) == 3


def test_calls_are_timed_with_their_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    queued = 0.0

    def step() -> None:
        nonlocal queued
        queued += 0.004

    def fence() -> None:
        nonlocal now, queued
        now, queued = now + queued, 0.0

    monkeypatch.setattr(cublas.time, "perf_counter", lambda: now)
    assert cublas.measure_call(step, fence) == pytest.approx(0.004)
