"""An invocation that was slow in all its cells: its block is measured again, within bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

import pytest

from suite.analysis.analyse import analyse_folder
from suite.flags import pick
from suite.host.campaign import campaign_runner
from suite.host.engine import LABEL, Job
from suite.model import Again, Campaign, container_seconds
from tests.fakes.engine import Life, Worker
from tests.host.campaign.flow import make_cells
from tests.host.campaign.stage import BOTH, Stage
from tests.rendering import report_folder

CELLS = make_cells(*"abcdefghij")
SLOW = 1.3
TURNS_S = 1000.0
"""What every container takes."""


class Machine:
    """Workers, of which those are slow whose turns are named, such as ``cuda-3``, each the first ``times``
    that it comes."""

    def __init__(self, slow: Collection[str], times: int = 1) -> None:
        self.left = dict.fromkeys(slow, times)
        self.even = Worker(cells={cell.id: cell for cell in CELLS}, seconds=TURNS_S)

    def __call__(self, job: Job) -> Life:
        name = job.labels[f"{LABEL}.invocation"]
        slow = self.left.get(name, 0) > 0
        if slow:
            self.left[name] -= 1
        return replace(self.even, call_s=self.even.call_s * (SLOW if slow else 1.0))(job)


def draw(stage: Stage, blocks: int) -> Campaign:
    drawn = stage.plan(BOTH, blocks=blocks)
    return replace(drawn, cells=CELLS)


def run(
    stage: Stage, *slow: str, blocks: int = 5, times: int = 1, budget_s: float | None = None
) -> Campaign:
    return stage.run(
        campaign=draw(stage, blocks), arms=BOTH, otherwise=Machine(slow, times), budget_s=budget_s
    )


def repeats(stage: Stage) -> list[str]:
    return [name for name in stage.documents() if "-r" in name]


def test_its_block_runs_again_on_all_arms_and_the_plan_and_the_report_say_why(stage: Stage) -> None:
    campaign = run(stage, "cuda-3")
    (again,) = campaign.again
    assert again == Again(arm="cuda", block=3, pace=pytest.approx(SLOW), repeat=1)  # type: ignore[arg-type]
    assert repeats(stage) == ["cpu-03-r1", "cuda-03-r1"]
    loaded = stage.load()
    assert loaded.campaign == campaign
    spent = sum(map(container_seconds, loaded.documents))
    assert campaign.prediction.actual_s == pytest.approx(spent)
    assert stage.said("the block is measured again on all arms") == 1
    report = report_folder(stage.folder)
    analysis = report.analysis
    assert all(sorted(one.blocks) == [1, 2, 3, 4, 5] for one in analysis.arms.values())
    # What has a successor does not speak against the campaign.
    assert not analysis.invalid
    aside = pick(analysis.flags, "excluded")
    assert {(one.code, one.where["arm"], one.values["repeated"]) for one in aside} == {
        ("off-pace-then", "cuda", True),
        ("block-again", "cpu", True),
    }
    assert {one.where["block"]: one.where["repeat"] for one in aside} == {3: 0}
    assert (
        "cuda was off its usual pace in this block; a repeat took its place"
        in report.files["report.md"]
    )


def test_a_new_measurement_that_was_interrupted_is_looked_at_anew(stage: Stage) -> None:
    stage.wanted = {cell.id: [5] for cell in CELLS}
    machine, turns = Machine({"cuda-3"}), Counter[str]()

    def live(job: Job) -> Life:
        turns[name := job.labels[f"{LABEL}.invocation"]] += 1
        cut = turns[name] == 2 and turns.total() == 2 * 5 + 2
        return (machine.even.meets("made.a", KeyboardInterrupt()) if cut else machine)(job)

    drawn = replace(stage.plan(BOTH, profile="standard"), cells=CELLS)
    with pytest.raises(KeyboardInterrupt):
        stage.run(campaign=drawn, arms=BOTH, otherwise=live)
    assert [look.block for look in stage.load().campaign.looks] == [3, 4, 5]
    ended = stage.go_on(otherwise=machine)
    assert [again.block for again in ended.again] == [3]
    assert [look.block for look in ended.looks] == [3, 4, 5, 5]


def test_it_runs_again_within_the_budget_only(stage: Stage) -> None:
    # Five blocks of two arms, and the block again.
    campaign = run(stage, "cpu-2", budget_s=2 * TURNS_S * 6 - 500.0)
    assert (campaign.again, repeats(stage), campaign.stopped) == ([], [], None)
    assert stage.said("no time to measure it again") == 1
    report = stage.report()
    assert "cpu in block 2 took 1.30 times as long" in report
    assert "its block is excluded for all arms" in report
    # Who goes on with it has time for it.
    assert [one.block for one in stage.go_on(otherwise=Machine([])).again] == [2]
    assert repeats(stage) == ["cpu-02-r1", "cuda-02-r1"]


def test_of_more_odd_ones_than_run_again_the_last_is_set_aside(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign_runner, "MOST_AGAIN", 1)
    campaign = run(stage, "cpu-2", "cuda-5", blocks=11)
    (block,) = (again.block for again in campaign.again)
    assert repeats(stage) == [f"{arm}-{block:02d}-r1" for arm in ("cpu", "cuda")]
    analysis = analyse_folder(stage.folder)
    (left,) = {2, 5} - {block}
    counted = sorted({*range(1, 12)} - {left})
    assert all(sorted(arm.blocks) == counted for arm in analysis.arms.values())
    (off,) = [one for one in analysis.flags if one.code == "off-pace"]
    assert off.where["block"] == left
    # Going on with it changes nothing.
    assert (stage.go_on(otherwise=Machine([])).again, stage.turns) == (campaign.again, [])


def test_a_block_that_is_odd_again_is_measured_a_second_time_at_most(stage: Stage) -> None:
    campaign = run(stage, "cuda-3", times=3)
    assert [(one.block, one.repeat) for one in campaign.again] == [(3, 1), (3, 2)]
    assert repeats(stage) == ["cpu-03-r1", "cpu-03-r2", "cuda-03-r1", "cuda-03-r2"]
    analysis = analyse_folder(stage.folder)
    assert all(sorted(one.blocks) == [1, 2, 4, 5] for one in analysis.arms.values())
    told = {(one.code, one.where["arm"], one.where["repeat"]) for one in analysis.excluded}
    assert told == {
        *(("off-pace-then", "cuda", 0), ("off-pace-then", "cuda", 1), ("off-pace", "cuda", 2)),
        *(("block-again", "cpu", 0), ("block-again", "cpu", 1)),
    }


def test_a_measuring_again_that_was_cut_off_goes_on_and_counts_for_no_arm_until_then(
    stage: Stage,
) -> None:
    machine = Machine(["cuda-3"])
    turns = 0

    def life(job: Job) -> Life:
        nonlocal turns
        turns += 1
        # Five blocks, and the first arm of the block again.
        if turns == 10 + 2:
            raise KeyboardInterrupt
        return machine(job)

    with pytest.raises(KeyboardInterrupt):
        stage.run(campaign=draw(stage, 5), arms=BOTH, otherwise=life)
    again = [one.invocation for one in stage.load().documents if one.invocation.repeat]
    (had,) = [one.arm for one in again if one.status == "complete"]
    analysis = analyse_folder(stage.folder)
    other = "cuda" if had == "cpu" else "cpu"
    assert 3 not in analysis.cells[0].arms[other].values
    assert not analysis.invalid
    campaign = stage.go_on(otherwise=Machine([]))
    assert [arm for arm, _ in stage.turns] == [other]
    assert repeats(stage) == ["cpu-03-r1", "cuda-03-r1"]
    assert len(campaign.prediction.corrected_s) == 5
    assert stage.load().campaign.again == campaign.again
