"""Campaigns made of recorded ones are read, and are like them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.campaign.summarise import summarise
from suite.analysis.documents.read import load_campaign
from tests import synthetic
from tests.bench.replay import ARMS, GPU, Replay, hear, plant, run_blocks, tell_truth
from tests.bench.truth.tally import load

AS_RECORDED = Replay(folder=GPU, arms={arm: arm for arm in ARMS})


@pytest.mark.parametrize("replay", [Replay(), AS_RECORDED], ids=["cpu", "gpu"])
def test_a_replay_is_a_campaign_that_is_read_from_its_folder(
    tmp_path: Path, replay: Replay
) -> None:
    planned = plant(replay, 1, [0.2], 5)
    campaign, documents = replace(planned, whole=True).campaign(blocks=3, seed=1)
    read = load_campaign(synthetic.write_campaign(tmp_path, campaign, documents))
    whole = {cell.id: cell.verdict for cell in analyse(read).cells}
    brief = {
        cell.id: cell.verdict for cell in analyse(load(*planned.campaign(blocks=3, seed=1))).cells
    }
    assert whole == brief
    assert sum(verdict is not None for verdict in whole.values()) == len(replay.names)


def test_a_replays_values_are_the_recorded_ones() -> None:
    replay = plant(Replay(), 1, [0.2], 5)
    silent = replace(replay, noise=lambda of, *_: dict.fromkeys(of.source(ARMS[0]).names, 0.0))
    summary = summarise(load(*silent.campaign(blocks=3, seed=1)))
    truth = tell_truth(replay)
    ratios = {c.cell.id: c.comparisons[ARMS[1]].ratio for c in summary.cells}
    assert {name: ratio.value for name, ratio in ratios.items() if ratio} == pytest.approx(truth)
    assert sum(value != 1 for value in truth.values()) == 5
    recorded = summarise(load_campaign(replay.folder))
    values = {cell.cell.id: cell.arms["cpu"].value for cell in recorded.cells}
    assert {cell.cell.id: cell.arms["cpu"].value for cell in summary.cells} == pytest.approx(values)


def test_the_same_seed_is_the_same_campaign_however_many_blocks_and_cells() -> None:
    replay = Replay()
    short, long = (
        {document.name: document for document in replay.campaign(blocks=blocks, seed=3)[1]}
        for blocks in (3, 4)
    )
    assert short.items() <= long.items()
    campaign = replay.plan(blocks=3, seed=3)
    (some,) = replay.document(campaign, "cpu", 2, cells={"overhead.fence"}).cells
    assert some in short["cpu-02.json"].cells
    assert hear(replay, run_blocks(3), 3).verdicts != hear(replay, run_blocks(3), 4).verdicts
