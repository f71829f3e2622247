"""A campaign from its first block to its last, on an engine that lives by scripts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from suite import codec
from suite.analysis.documents.rules import judge_whole
from suite.cells.traits import SEQUENTIAL
from suite.errors import EngineError, GpuError
from suite.host.campaign import plan
from suite.host.campaign.arms import Arms
from suite.host.campaign.listener import describe_look, describe_start
from suite.host.campaign.options import Options
from suite.host.campaign.request import plan_campaign
from suite.host.engine import LABEL, Job
from suite.model import Campaign, Check, InterimLook, container_seconds
from suite.worker import scenarios
from tests.fakes.engine import Life, Script, Worker, asked_arm, asked_cells, is_on_gpu, record
from tests.host.campaign.flow import START
from tests.host.campaign.stage import BOTH, CELLS, CPU, CUDA, Stage

GONE = EngineError("the engine has gone", "start it")


def test_every_invocation_is_run_and_written_in_the_seeds_order(stage: Stage) -> None:
    campaign = stage.run(arms=BOTH, blocks=3)
    blocks = range(1, 4)
    assert stage.documents() == [f"{arm}-0{block}" for arm in ("cpu", "cuda") for block in blocks]
    loaded = stage.load()
    assert loaded.campaign == campaign
    assert {document.invocation.status for document in loaded.documents} == {"complete"}
    # The first block finds K.
    expected = [(arm, block == 1) for block in blocks for arm in plan.order_arms(campaign, block)]
    assert stage.turns == expected
    for document in loaded.documents:
        of = document.invocation
        order = plan.order_cells(campaign, of.arm, of.block)
        assert [cell.id for cell in document.cells] == [cell.id for cell in order]
    assert stage.engine.closed()
    # A report was to be made after every block, and nothing had to be removed.
    assert stage.reported == [2, 4, 6]
    assert stage.engine.removed_volumes == []
    assert json.loads((stage.folder / "campaign.json").read_text()) == codec.plain(campaign)


def test_k_is_found_once_and_the_same_in_every_block(stage: Stage) -> None:
    first, second = (replace(stage.worker, sample_calls=found) for found in (6, 11))
    first = replace(first, outcomes={"made.b": {"outcome": "skipped", "reason": "too slow"}})
    drawn = stage.plan(BOTH, blocks=3)
    turns = {"cpu": first, "cuda": second}
    campaign = stage.run(*map(turns.get, plan.order_arms(drawn, 1)), campaign=drawn, arms=BOTH)
    # What the first block gave up is not tried again.
    assert campaign.excluded["cpu"]["made.b"].reason == "too slow"
    timed = [cell.id for cell in CELLS if cell is not START]
    assert campaign.calls == {
        "cpu": {START.id: 1, **dict.fromkeys((n for n in timed if n != "made.b"), 6)},
        "cuda": {START.id: 1, **dict.fromkeys(timed, 11)},
    }
    for job in stage.engine.jobs[2:]:
        of_arm = {"cpu": 6, "cuda": 11}[asked_arm(job)]
        assert {calls for _, calls in asked_cells(job)} == {of_arm}
    assert {len(asked_cells(job)) for job in stage.engine.jobs[2:]} == {3, 4}
    assert stage.load().campaign.calls == campaign.calls


def test_the_prediction_is_filled_and_people_are_told_as_the_campaign_goes(stage: Stage) -> None:
    prediction = stage.run(blocks=3).prediction
    assert prediction.before_s > 0
    # Of the first block's 10 s, 0.05 s a cell were the search for K, which no other does.
    assert prediction.calibrated_s == pytest.approx(30, abs=1)
    assert prediction.actual_s == pytest.approx(30, abs=1)
    assert prediction.corrected_s == pytest.approx([30, 30, 30], abs=1)
    by_block: dict[int, list[float | None]] = {}
    for block, _, left_s in stage.progress:
        by_block.setdefault(block, []).append(left_s)
    assert set(by_block.pop(1)) == {None}
    assert [times[0] for times in by_block.values()] == pytest.approx([20, 10], abs=1)
    shown = [name for block, name, _ in stage.progress if block == 1 and name]
    assert sorted(shown) == [f"made.{name}" for name in "abcd"]
    assert stage.said("5 cells on cpu") == stage.said("block 2 of 3 done") == 1
    assert stage.said("an estimate until the first block is done") == 1
    campaign = stage.load().campaign
    start = describe_start(replace(campaign, cells=campaign.cells[:1], blocks=1))
    assert start.startswith("1 cell on cpu, 1 block; about ")


@pytest.mark.parametrize(
    ("blocks", "budget_s", "ran"),
    [
        # Two blocks take 20 s; the third would end at 30.
        (3, 29.0, 2),
        # The first block always runs.
        (1, 0.5, 1),
    ],
)
def test_the_budget_begins_no_block_that_would_cross_it(
    blocks: int, budget_s: float, ran: int, stage: Stage
) -> None:
    campaign = stage.run(blocks=blocks, budget_s=budget_s)
    assert len(stage.engine.jobs) == ran
    assert (campaign.stopped or "").startswith(f"after block {ran}:" if ran < blocks else "")
    assert (campaign.stopped is None) is (ran == blocks)
    assert stage.load().campaign.stopped == campaign.stopped
    assert stage.said("stopped after block") == (ran < blocks)


def test_an_interrupted_campaign_goes_on_where_it_stopped(stage: Stage) -> None:
    kill = stage.worker.meets("made.c", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        stage.run(stage.worker, stage.worker, kill, blocks=3)
    loaded = stage.load()
    assert [d.invocation.status for d in loaded.documents] == ["complete"] * 2 + ["interrupted"]
    whole = {name: (stage.folder / name).read_bytes() for name in ("cpu-01.json", "cpu-02.json")}
    campaign = stage.go_on()
    assert stage.turns == [("cpu", False)]
    assert stage.documents() == [f"cpu-0{block}" for block in range(1, 4)]
    assert {name: (stage.folder / name).read_bytes() for name in whole} == whole
    assert campaign.calls == loaded.campaign.calls
    assert {d.invocation.status for d in stage.load().documents} == {"complete"}
    assert campaign.prediction.actual_s == pytest.approx(30, abs=1)
    # Now nothing is left to do, but what is asked for beside it.
    stage.go_on()
    assert stage.turns == []
    assert stage.go_on(blocks=5).blocks == 5
    assert stage.turns == [("cpu", False)] * 2


def test_an_interrupted_first_block_is_measured_again(stage: Stage) -> None:
    with pytest.raises(KeyboardInterrupt):
        stage.run(stage.worker.meets("made.c", KeyboardInterrupt()), blocks=2)
    assert stage.load().campaign.calls == {}
    campaign = stage.go_on()
    assert stage.turns == [("cpu", True), ("cpu", False)]
    assert set(campaign.calls["cpu"]) == {cell.id for cell in CELLS}


BRIEF = Check(what="in brief", brief=True)


@pytest.mark.parametrize("failed_in", [0, 1, 2])
def test_checks_are_brief_once_full_ones_have_held_in_a_block_of_the_arm(
    failed_in: int, stage: Stage
) -> None:
    def live(job: Job) -> Life:
        block = int(job.labels[f"{LABEL}.invocation"].rpartition("-")[2])
        outcomes = {cell.id: {"check": BRIEF} for cell in CELLS if "--brief" in job.arguments}
        if block == failed_in:
            outcomes["made.b"] = {"outcome": "failed", "reason": "it is off by 7"}
        return replace(stage.worker, outcomes=outcomes)(job)

    drawn = stage.plan(BOTH, blocks=2)
    if failed_in == 1:
        # What fails in a block that finds K is not tried again; a recheck finds none.
        drawn = replace(drawn, calibrated_by="a campaign before")
    stage.run(campaign=drawn, arms=BOTH, otherwise=live)
    # One that goes on begins where it was, with what had held by then.
    stage.go_on(blocks=4, otherwise=live)
    brief = {
        arm: [
            next(cell.check.brief for cell in document.cells if cell.check)
            for document in stage.load().documents
            if document.invocation.arm == arm
        ]
        for arm in ("cpu", "cuda")
    }
    # A cell without a full check in a block has all of them checked in full until it has one.
    expected = [False, failed_in != 1, True, True]
    assert brief == {"cpu": expected, "cuda": expected}


def refuse(stage: Stage) -> Script:
    """A container whose worker refuses to be its arm."""
    refused = record("refused", reason="TensorFlow sees no GPU")
    return lambda _: Life(words=[stage.worker.greeting()[0], refused], code=4, diary="no libcuda\n")


def test_an_arm_that_the_worker_refuses_costs_no_other_arm(stage: Stage) -> None:
    drawn, turns = stage.plan(BOTH, blocks=2), {"cpu": stage.worker, "cuda": refuse(stage)}
    with pytest.raises(GpuError, match="the arm cuda is unavailable"):
        stage.run(*map(turns.get, plan.order_arms(drawn, 1)), campaign=drawn, arms=BOTH)
    assert stage.documents() == ["cpu-01", "cpu-02", "cuda-01"]
    assert [one.invocation.status for one in stage.load().documents[:2]] == ["complete"] * 2
    assert "no libcuda" in (stage.folder / "logs" / "cuda-01.log").read_text()
    assert stage.said("the other arms go on") == 1
    assert "cuda WAS NOT MEASURED: the arm cuda is unavailable: TensorFlow sees" in stage.report()
    assert "ended early" not in stage.report()
    # Who mends the machine and goes on gets the arm, and what was said of it is gone.
    assert stage.go_on().not_run == {}
    assert {one.invocation.status for one in stage.load().documents} == {"complete"}
    assert "WAS NOT MEASURED" not in stage.report()


def test_a_campaign_whose_only_arm_is_refused_ends_at_once(stage: Stage) -> None:
    with pytest.raises(GpuError, match="the arm cuda is unavailable"):
        stage.run(refuse(stage), arms=CUDA)
    assert stage.documents() == ["cuda-01"]
    assert "The campaign ended early: the arm cuda is unavailable" in stage.report()


def test_what_was_put_on_disk_goes_with_the_campaign_that_fails(stage: Stage) -> None:
    drawn = stage.plan(blocks=2)
    *others, last = drawn.cells
    drawn = replace(drawn, cells=[*others, replace(last, reads_files=True)])
    with pytest.raises(EngineError):
        stage.run(stage.worker, GONE, campaign=drawn)
    (used,) = {volume for job in stage.engine.jobs for volume in job.volumes}
    assert stage.engine.removed_volumes == [used]


def test_every_containers_diary_is_in_the_log_of_its_invocation(stage: Stage) -> None:
    dying = stage.worker.dies_in("made.b", diary="out of file handles\n")
    stage.run(stage.worker, dying, blocks=2)
    log = (stage.folder / "logs" / "cpu-02.log").read_text()
    assert log == "--- fake-2\nout of file handles\n--- fake-3\n"


def controlled(stage: Stage, arms: Arms = CPU, **request: Any) -> Campaign:
    """A standard campaign whose only cell is one that the controls run."""
    (cell,) = [cell for cell in scenarios.cells() if cell.id == "overhead.eager_op"]
    stage.worker = Worker(cells={cell.id: cell}, seconds=0.0)
    given = {"seed": 3, "label": "made-up", "blocks": 2, **request}
    return plan_campaign(Options(**given), arms, [cell])


def test_every_block_has_each_arms_twin_which_is_that_arm_with_its_k(stage: Stage) -> None:
    ended = stage.run(campaign=controlled(stage))
    twins = ["cpu-twin-01", "cpu-twin-02"]
    assert stage.documents() == ["cpu-01", "cpu-02", *twins]
    # The first block finds K, before a twin takes it over, in whichever order the others run.
    first, second, *rest = stage.turns
    assert (first, second) == (("cpu", True), ("cpu-twin", False))
    assert sorted(rest) == [("cpu", False), ("cpu-twin", False)]
    assert not any(is_on_gpu(job) for job in stage.engine.jobs)
    assert [d.invocation.arm for d in stage.load().controls] == ["cpu-twin", "cpu-twin"]
    # Blocks that were asked for are neither more nor fewer.
    assert (ended.blocks, ended.looks) == (2, [])


def test_the_hidden_gpus_arm_controls_the_image_with_the_first_arms_k(stage: Stage) -> None:
    campaign = controlled(stage, BOTH, blocks=1)
    assert plan.control_arms(campaign) == ["cpu-twin", "cuda-twin", "cuda-hidden"]
    assert campaign.calibrating_arm("cuda-hidden") == "cpu"
    assert campaign.calibrating_arm("cuda-twin") == "cuda"
    stage.run(campaign=campaign, arms=BOTH)
    given = {asked_arm(job): job.gpu is not None for job in stage.engine.jobs}
    on_cpu = ("cpu", "cpu-twin", "cuda-hidden")
    assert given == {**dict.fromkeys(on_cpu, False), "cuda": True, "cuda-twin": True}
    assert plan.control_arms(controlled(stage, profile="verdict")) == []


ALL = [f"made.{name}" for name in "abcd"]


def asked(stage: Stage) -> list[set[str]]:
    """The cells that the containers of the blocks were asked for, without what is seen from outside."""
    return [{name for name, _ in asked_cells(job)} - {START.id} for job in stage.engine.jobs]


def test_cells_rest_when_they_are_not_wanted_and_the_plan_says_so(stage: Stage) -> None:
    stage.wanted = {"made.a": [3], "made.b": [4], "made.c": [7, 8, 6], "made.d": [5]}
    ended = stage.run(profile="standard")
    a, b, c, d = ALL
    assert asked(stage) == [{*ALL}] * 3 + [{b, c, d}, {c, d}, {c}]
    assert (ended.blocks, [look.block for look in ended.looks]) == (6, [3, 4, 5, 6])
    assert [sorted(look.resting) for look in ended.looks[:3]] == [
        [a, START.id],
        [a, b, START.id],
        [a, b, d, START.id],
    ]
    assert [look.enough for look in ended.looks] == [False, False, False, True]
    assert stage.load().campaign == ended
    assert (
        stage.said(
            "1 of 4 cells are precise enough, 2 rest from now on; the others are likely to need 7 blocks"
        )
        == 1
    )
    assert not list(judge_whole(ended, stage.load().documents, []))
    # It was to be seven blocks, then eight, then six.
    assert [f"of {blocks} done" in " ".join(stage.lines) for blocks in (7, 8, 6)] == [True] * 3


@pytest.mark.parametrize(("wanted", "blocks"), [(3, 3), (5, 5), (10, 10), (99, 10)])
def test_a_campaign_ends_when_no_cell_is_wanted_or_at_its_most_blocks(
    wanted: int, blocks: int, stage: Stage
) -> None:
    stage.wanted = {"made.a": [min(wanted, 10)]}
    ended = stage.run(profile="standard")
    assert ended.blocks == blocks
    assert stage.documents() == [f"cpu-{block:02d}" for block in range(1, blocks + 1)]
    # After the first block, which finds K, and after each from the third on that another can follow.
    assert stage.looked == [1, *range(3, min(blocks, 9) + 1)]


def test_who_names_a_number_of_blocks_has_all_cells_in_each(stage: Stage) -> None:
    ended = stage.run(profile="standard", blocks=4)
    assert (ended.blocks, ended.looks, stage.looked) == (4, [], [])
    stage.made = None
    stage.wanted = {"made.a": [3], "made.b": [4]}
    assert stage.run(profile="standard", label="other").blocks == 4
    again = stage.go_on(blocks=6)
    assert [{name for name, _ in asked_cells(job)} for job in stage.engine.jobs] == [{*ALL}] * 2
    assert again.resting(4) == ["made.a", "made.c", "made.d", START.id] or again.resting(4)
    assert again.resting(5) == []


def test_a_campaign_with_resting_cells_goes_on_where_it_stopped(stage: Stage) -> None:
    stage.wanted = {"made.a": [3], "made.b": [5]}
    kill = stage.worker.meets("made.b", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        stage.run(*[stage.worker] * 3, kill, profile="standard")
    assert [look.block for look in stage.load().campaign.looks] == [3]
    ended = stage.go_on()
    assert [{name for name, _ in asked_cells(job)} for job in stage.engine.jobs] == [{"made.b"}] * 2
    assert (ended.blocks, [look.block for look in ended.looks]) == (5, [3, 4, 5])
    stage.go_on()
    assert stage.turns == []


def test_who_names_more_blocks_keeps_what_was_begun(stage: Stage) -> None:
    stage.wanted = {"made.a": [3], "made.b": [10]}
    stage.run(profile="standard")
    # Nobody looks after the last block that there can be.
    assert stage.load().campaign.looks[-1].block == 9
    last = (stage.folder / "cpu-10.json").read_bytes()
    more = stage.go_on(blocks=11)
    assert [{name for name, _ in asked_cells(job)} for job in stage.engine.jobs] == [{*ALL}]
    assert (stage.folder / "cpu-10.json").read_bytes() == last
    assert not list(judge_whole(more, stage.load().documents, []))


def test_who_names_more_blocks_ends_one_that_was_begun_as_it_began(stage: Stage) -> None:
    stage.wanted = {"made.a": [3], "made.b": [6]}
    kill = stage.worker.meets("made.b", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        # Of block 4 one arm is there.
        stage.run(*[stage.worker] * 7, kill, arms=BOTH, profile="standard")
    stage.go_on(blocks=6)
    named = [{name for name, _ in asked_cells(job)} for job in stage.engine.jobs]
    assert named == [{"made.b"}, *[{*ALL}] * 4]


def test_an_arm_whose_cells_all_rest_is_the_same_arm_still(stage: Stage) -> None:
    drawn = stage.plan(BOTH, profile="standard")
    cells = [replace(cell, arms=("gpu",) * (cell.id == "made.b")) for cell in drawn.cells]
    stage.wanted = {"made.a": [3], "made.b": [5]}
    stage.run(campaign=replace(drawn, cells=cells), arms=BOTH)
    assert [asked_arm(job) for job in stage.engine.jobs[6:]] == ["cuda"] * 2
    assert "changed during the campaign" not in stage.report()


def test_the_budget_begins_a_block_of_few_cells_that_fits(stage: Stage) -> None:
    """Ten seconds an invocation, of which cells take 0.17 s each: a block is charged by what it has."""
    stage.wanted = {"made.a": [3], "made.b": [6]}
    ended = stage.run(profile="standard", budget_s=55.0)
    assert (ended.stopped or "").startswith("after block 5")


def test_the_method_was_tried_with_the_blocks_of_every_profile_that_looks() -> None:
    # A sequential profile pays for its looks, and is tried by what it says at them.
    fixed = (of for name, of in plan.PROFILES.items() if name not in SEQUENTIAL)
    looking = {(profile.blocks, profile.most_blocks) for profile in fixed}
    assert {pair for pair in looking if pair[1]} == {(5, 10), (10, 20)}


@pytest.mark.parametrize(
    ("precise", "cells", "sequential", "said"),
    [
        (8, 8, False, "8 of 8 cells are precise enough"),
        (7, 8, False, "7 of 8 cells are precise enough, and more blocks are not likely to make"),
        (8, 8, True, "8 of 8 answers hold; that is enough"),
        (0, 0, True, "nothing is compared, so more blocks would answer nothing"),
    ],
)
def test_a_last_look_says_why_it_is_the_last(
    precise: int, cells: int, sequential: bool, said: str
) -> None:
    look = InterimLook(block=4, precise=precise, cells=cells, enough=True, resting=[])
    words = describe_look(look, 4, sequential=sequential)
    assert words.startswith(said)
    assert ("make others so" in words) == (not sequential and precise < cells)


HELD = (3, 5, False), (4, 5, False), (5, 5, True)


def test_the_profile_verdict_ends_when_it_knows_enough(stage: Stage) -> None:
    stage.looks = list(HELD)
    ended = stage.run(arms=BOTH, profile="verdict")
    assert (ended.calibration, ended.blocks, ended.stopped) == (1, 5, None)
    assert stage.documents() == [f"{arm}-0{n}" for arm in ("cpu", "cuda") for n in range(1, 6)]
    found = [{calls for _, calls in asked_cells(job)} for job in stage.engine.jobs]
    assert found[:2] == [{None}] * 2
    assert None not in set().union(*found[2:])
    # The machine is looked at once, when the first block is there.
    assert stage.first_looks == [["cpu-01", "cuda-01"]]
    assert [(look.block, look.precise) for look in ended.looks] == [(3, 3), (4, 4), (5, 5)]
    assert stage.said("answers hold; another block follows") == 2
    assert stage.said("5 of 5 answers hold; that is enough") == 1
    # Read again, its first block is what calibrated it, and counts.
    loaded = stage.load()
    assert loaded.calibration == 1
    assert {document.invocation.block for document in loaded.documents} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("budget_s", "least", "blocks", "looked"),
    # Each invocation takes 10 s.
    [(10.0, 3, 3, []), (45.0, 3, 4, [3]), (25.0, 0, 2, []), (None, 0, 10, [*range(3, 10)])],
)
def test_a_budget_is_known_to_be_spent_before_the_last_look(
    budget_s: float | None, least: int, blocks: int, looked: list[int], stage: Stage
) -> None:
    stage.looks = [(1, 2, False)] * 9
    ended = stage.run(profile="verdict", budget_s=budget_s, least_blocks=least)
    assert (len(stage.documents()), [look.block for look in ended.looks]) == (blocks, looked)
    # The rest of what may be spent is then the last look's.
    assert (ended.stopped is not None) == (budget_s is not None)


def test_what_a_first_block_gives_up_is_not_tried_again(stage: Stage) -> None:
    stage.looks = [HELD[-1]]
    slow = replace(stage.worker, outcomes={"made.b": {"outcome": "skipped", "reason": "too slow"}})
    ended = stage.run(slow, profile="verdict")
    assert ended.excluded["cpu"]["made.b"].reason == "too slow"
    assert [len(asked_cells(job)) for job in stage.engine.jobs] == [4, 3, 3]


def test_a_cell_whose_container_dies_in_the_block_that_finds_k_is_tried_twice(
    stage: Stage,
) -> None:
    stage.looks = [HELD[-1]]
    ended = stage.run(stage.worker.dies_in("made.b"), profile="verdict")
    assert ended.excluded == {"cpu": {}}
    first = stage.load().documents[0]
    assert {cell.outcome for cell in first.cells} == {"measured"}
    assert len(first.invocation.containers) == 2


def spent(stage: Stage) -> float:
    return sum(map(container_seconds, stage.load().documents))


def test_a_disturbed_invocation_is_set_aside_and_run_again(stage: Stage) -> None:
    stage.disturbances = [None, "a storm", None]
    campaign = stage.run(blocks=2)
    repeated = ["cpu-01", "cpu-02", "cpu-02-r1"]
    assert stage.documents() == repeated
    assert stage.said("run again: a storm") == 1
    assert campaign.prediction.actual_s == pytest.approx(spent(stage))
    first, second = (plan.order_cells(campaign, "cpu", 2, repeat) for repeat in (0, 1))
    assert [cell.id for cell in first] != [cell.id for cell in second]
    # Who goes on with it keeps the repeat.
    again = stage.go_on()
    assert (stage.turns, stage.documents()) == ([], repeated)
    assert again.prediction.actual_s == pytest.approx(campaign.prediction.actual_s)


def test_a_repeat_that_was_not_had_is_had_when_the_campaign_goes_on(stage: Stage) -> None:
    stage.run(blocks=2)
    # As where the campaign was stopped between block 2 and its repeat.
    stage.disturbances = [None, "a storm", None]
    again = stage.go_on()
    assert stage.documents() == ["cpu-01", "cpu-02", "cpu-02-r1"]
    assert again.prediction.actual_s == pytest.approx(spent(stage))


def test_a_repeat_that_would_cross_the_budget_is_not_begun(stage: Stage) -> None:
    # Ten seconds an invocation: block 1, and not its repeat.
    stage.disturbances = ["a storm"] * 9
    stage.run(budget_s=15.0)
    assert stage.documents() == ["cpu-01"]
    assert stage.said("no time to run it again") == 1
