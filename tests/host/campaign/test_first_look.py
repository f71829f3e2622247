"""The look after the block that finds K: when it is made, and what is left where it ends the campaign."""

from __future__ import annotations

import pytest

from suite.errors import UnsoundError
from tests.host.campaign.stage import BOTH, Stage

FIRST = ["cpu-01", "cuda-01"]


def test_it_is_made_once_when_every_arm_has_its_k_and_before_the_time_is_told(
    stage: Stage,
) -> None:
    stage.run(arms=BOTH, blocks=2)
    assert stage.first_looks == [FIRST]
    assert stage.said("block 1 of 2 done; ") == 1


def test_it_ends_the_campaign_which_goes_on_where_the_machine_will_do(stage: Stage) -> None:
    stage.unsound = "the machine is unsound: a quota"
    with pytest.raises(UnsoundError):
        stage.run(arms=BOTH, blocks=3)
    assert stage.documents() == FIRST
    assert stage.said("block 1 of 3 done") == 0
    assert stage.engine.closed()
    plan = stage.load().campaign
    assert plan.stopped == stage.unsound
    assert plan.prediction.calibrated_s is None
    assert f"The campaign ended early: {stage.unsound}." in stage.report()

    stage.unsound = ""
    campaign = stage.go_on()
    assert len(stage.turns) == 4
    assert campaign.stopped is None
    assert campaign.prediction.calibrated_s is not None
    assert campaign == stage.load().campaign
