"""The first block of a campaign: it finds K, and counts."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from suite.analysis.analyse import analyse_folder
from suite.errors import GpuError, UnsoundError
from suite.host.engine import Job
from tests.fakes.engine import Life, asked_arm, is_on_gpu, record
from tests.host.campaign.stage import BOTH, CUDA, Stage
from tests.host.campaign.test_gpu_facts import FULL, compiling
from tests.rendering import render_whole

ENOUGH = (5, 5, True)


def test_what_is_measured_again_after_compiling_is_asked_whether_it_was_disturbed(
    stage: Stage,
) -> None:
    stage.looks = [ENOUGH]
    stage.disturbances = [None, "a storm"]
    ended = stage.run(compiling(0, 700), otherwise=FULL, arms=CUDA, profile="verdict")
    first = ["cuda-01", "cuda-01-r1", "cuda-01-r2"]
    assert stage.documents() == [*first, "cuda-02", "cuda-03"]
    assert stage.said("the first block of cuda is measured again: the GPU's driver had to") == 1
    assert stage.said("cuda block 1 is excluded, and run again: a storm") == 1
    assert ended.stopped is None


def test_kernels_that_k_was_found_in_spite_of_are_not_asked_about_again(stage: Stage) -> None:
    """Who goes on with a campaign whose budget had no time for another first block has its K already."""
    stage.looks = [ENOUGH]
    campaign = stage.run(compiling(0, 700), arms=CUDA, profile="verdict", budget_s=15.0)
    assert stage.documents() == ["cuda-01"]
    assert set(campaign.excluded["cuda"]) == {"made.b"}
    stage.go_on(otherwise=FULL)
    assert stage.documents() == ["cuda-01", "cuda-02", "cuda-03"]


def test_a_gpu_that_is_lost_in_a_repeat_leaves_out_no_arm_that_was_measured(stage: Stage) -> None:
    stage.looks = [ENOUGH]
    turns = 0

    def live(job: Job) -> Life:
        nonlocal turns
        turns += is_on_gpu(job)
        if is_on_gpu(job) and turns == 2:
            return Life(words=[stage.worker.greeting()[0], record("refused", reason="no GPU")])
        return compiling(0, 700)(job)

    with pytest.raises(GpuError, match="the arm cuda is unavailable"):
        stage.run(otherwise=live, arms=BOTH, profile="verdict")
    plan = stage.load().campaign
    assert plan.not_run == {}
    assert (plan.stopped or "").startswith("the arm cuda is unavailable")
    assert "cuda-01" in stage.documents()
    ended = stage.go_on(otherwise=compiling(700, 700, None))
    assert (ended.stopped, ended.not_run, ended.excluded["cuda"]) == (None, {}, {})
    assert {"cpu-03", "cuda-01-r1", "cuda-03"} < {*stage.documents()}


def test_what_a_first_block_gave_up_says_so_in_later_ones(stage: Stage) -> None:
    stage.looks = [ENOUGH]
    slow = replace(stage.worker, outcomes={"made.b": {"outcome": "skipped", "reason": "too slow"}})
    stage.run(slow, profile="verdict")
    reasons = [one.reason for doc in stage.load().documents for one in doc.cells if one.reason]
    assert reasons == ["too slow", *["in the first block: too slow"] * 2]
    report = render_whole(analyse_folder(stage.folder))
    assert " after the first block" in report
    told = [report[at.start() - 60 : at.end() + 60] for at in re.finditer("calibration", report)]
    assert told == []


def test_who_goes_on_with_an_unsound_machine_is_told_so_again(stage: Stage) -> None:
    stage.looks, stage.unsound = [ENOUGH], "the machine is unsound: a quota"
    for _ in range(2):
        with pytest.raises(UnsoundError):
            stage.run(arms=BOTH, profile="verdict") if stage.made is None else stage.go_on()
    assert stage.first_looks == [["cpu-01", "cuda-01"]] * 2
    stage.unsound = ""
    assert stage.go_on().stopped is None
    # With more blocks than that, it is known.
    stage.go_on(blocks=5)
    assert len(stage.first_looks) == 4


def test_whoever_waits_is_told_how_long_from_the_first_cell_that_is_gone_on_with(
    stage: Stage,
) -> None:
    stage.run(profile="verdict", blocks=2)
    stage.progress.clear()
    stage.go_on(blocks=4)
    assert {asked_arm(job) for job in stage.engine.jobs} == {"cpu"}
    assert {block for block, _, _ in stage.progress} == {3, 4}
    assert None not in {left_s for _, _, left_s in stage.progress}
