"""A campaign from the request to the last block, on an engine that lives by scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from suite import wire
from suite.analysis.documents.read import load_campaign
from suite.cells.cell import Cell, Work
from suite.content import suite_content
from suite.errors import EngineError, GpuError, NoGpuError, UsageError
from suite.flags import KINDS
from suite.host.campaign import durations, plan
from suite.host.campaign.arms import ARMS, Arms, against_itself, resolve_arms
from suite.host.campaign.conductor import Conductor
from suite.host.campaign.listener import Progress
from suite.host.campaign.request import (
    Request,
    identify_suite,
    machine_label,
    plan_campaign,
    resume_plan,
)
from suite.host.campaign.store import Store
from suite.host.engine import GpuRequest, Job
from suite.host.provision.limits import MEMORY_SHARE
from suite.model import SIMULATED, Campaign, Scalar, SuiteIdentity, container_seconds
from suite.report.produce import collate
from suite.worker import scenarios
from suite.worker.session import cell as cells
from tests import synthetic
from tests.fakes.engine import (
    FACTS,
    GPU_FACTS,
    FakeEngine,
    Life,
    Worker,
    asked_cells,
    asked_option,
    fake_image,
    record,
)

REQUEST = GpuRequest(driver="cdi", devices=("0",))
HERE = Arms(run=(ARMS["cpu"], ARMS["cuda"]), gpu={"cpu": None, "cuda": REQUEST}, not_run={})
CPU = Arms(run=(ARMS["cpu"],), gpu={"cpu": None}, not_run={"cuda": "no GPU"})

START = replace(
    synthetic.make_cell("overhead", "container", {}, Work(amount=1.0, unit="start")),
    by_host=True,
    one_shot=True,
)
CELLS = [
    START,
    *[synthetic.make_cell("made", name, {}, Work(amount=1.0, unit="call")) for name in "abcd"],
]


@dataclass
class Ears:
    """Remembers what a campaign told people."""

    lines: list[str] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.lines.append(line)

    def show(self, progress: Progress) -> None:
        self.progress.append(progress)


@dataclass
class Stage:
    """A results folder, and campaigns of the made-up cells in it."""

    results: Path
    worker: Worker = field(
        default_factory=lambda: Worker(cells={cell.id: cell for cell in CELLS}, seconds=10.0)
    )
    ears: Ears = field(default_factory=Ears)
    collated: list[int] = field(default_factory=list)
    looks: list[tuple[int, int, bool]] = field(default_factory=list)
    disturbances: list[str | None] = field(default_factory=list)
    folder: Path | None = None
    conductor: Conductor | None = None

    def plan_campaign(self, arms: Arms = CPU, **request: Any) -> Campaign:
        return plan_campaign(
            Request(**{"seed": 3, "label": "made-up", "profile": "smoke", **request}), arms, CELLS
        )

    def run(
        self,
        engine: FakeEngine,
        campaign: Campaign | None = None,
        arms: Arms = CPU,
        *,
        resumed: Any = (),
        budget_s: float | None = None,
        cpus: tuple[int, ...] | None = None,
    ) -> Campaign:
        campaign = campaign or self.plan_campaign(arms)
        if self.folder is None:
            self.folder = Store.create(self.results, campaign.id).folder
        store = Store(self.folder)

        def look() -> None:
            # Whenever a report is asked for, one can be made.
            assert collate(store.folder).files["report.md"]
            self.collated.append(len(load_campaign(store.folder).documents))

        self.conductor = Conductor(
            engine,
            store,
            campaign,
            arms,
            {name: fake_image(name) for name in ("cpu", "cuda")},
            cpus=cpus,
            budget_s=budget_s,
            listener=self.ears,
            collate=look,
            interim_look=lambda: self.looks.pop(0),
            disturbed=lambda _: self.disturbances.pop(0) if self.disturbances else None,
        )
        return self.conductor.run(resumed)

    def documents(self) -> list[str]:
        """The files of the invocations so far."""
        assert self.folder is not None
        return sorted(p.name for p in self.folder.glob("*.json") if p.name != "campaign.json")


@pytest.fixture
def stage(tmp_path: Path, suite_identity: SuiteIdentity) -> Stage:
    return Stage(tmp_path / "results")


def turn(job: Job) -> tuple[str, bool]:
    """The arm of a job, and whether it calibrates."""
    return asked_option(job, "arm"), any(calls is None for _, calls in asked_cells(job))


def test_a_machine_without_gpu_runs_the_cpu_arm_and_says_why_not_the_other() -> None:
    engine = FakeEngine(gpu=NoGpuError("no GPU: looked at /dev", "…"))
    arms = resolve_arms(engine, ("auto",), "0")
    assert arms == Arms(
        run=(ARMS["cpu"],), gpu={"cpu": None}, not_run={"cuda": "no GPU: looked at /dev"}
    )


def test_a_machine_with_a_gpu_runs_both_arms() -> None:
    engine = FakeEngine(gpu=REQUEST)
    assert resolve_arms(engine, ("auto",), "1") == HERE
    assert engine.gpus_asked == ["1"]


@pytest.mark.parametrize("wanted", [("auto",), ("cuda",), ("cpu", "cuda")])
def test_a_gpu_that_is_there_and_refused_is_an_error_and_never_a_silent_cpu_run(
    wanted: tuple[str, ...],
) -> None:
    engine = FakeEngine(gpu=GpuError("the engine refuses the GPU", "install the toolkit"))
    with pytest.raises(GpuError, match="refuses the GPU"):
        resolve_arms(engine, wanted, "0")
    assert engine.jobs == []


def test_a_gpu_arm_that_is_named_needs_its_gpu() -> None:
    engine = FakeEngine(gpu=NoGpuError("no GPU here", "ARMS=cpu"))
    with pytest.raises(GpuError, match="no GPU here") as caught:
        resolve_arms(engine, ("cpu", "cuda"), "0")
    assert caught.value.exit_status == 4
    assert caught.value.remedy
    assert (engine.jobs, engine.provided) == ([], [])


def test_arms_without_the_gpu_do_not_ask_for_it() -> None:
    engine = FakeEngine()
    arms = resolve_arms(engine, ("cuda-hidden", "cpu"), "0")
    assert [arm.name for arm in arms.run] == ["cuda-hidden", "cpu"]
    assert engine.gpus_asked == []


@pytest.mark.parametrize(
    "wanted", [("gpu",), ("cpu", "cpu"), (), ("auto", "cpu"), ("cuda", "cpu", "cuda"), ("CPU",)]
)
def test_unknown_and_doubled_arms_are_usage_errors(wanted: tuple[str, ...]) -> None:
    engine = FakeEngine(gpu=REQUEST)
    with pytest.raises(UsageError, match="cpu, cuda, cuda-hidden"):
        resolve_arms(engine, wanted, "0")
    assert engine.gpus_asked == []


def test_a_plan_holds_what_was_asked(suite_identity: SuiteIdentity) -> None:
    wanted = Request(
        profile="quick",
        only=("matmul.*", "overhead.*"),
        blocks=4,
        seed=99,
        label="my-box.1",
        command="make bench PROFILE=quick",
    )
    drawn = plan_campaign(wanted, CPU, scenarios.cells())
    assert re.fullmatch(r"\d{8}T\d{6}Z-my-box\.1-quick", drawn.id)
    assert (drawn.profile, drawn.seed, drawn.label, drawn.blocks) == ("quick", 99, "my-box.1", 4)
    assert drawn.arms == ["cpu"]
    assert drawn.not_run == {"cuda": "no GPU"}
    assert {cell.scenario for cell in drawn.cells} == {"matmul", "overhead"}
    assert (drawn.warmup_s, drawn.measure_s, drawn.budget_s) == (0.2, 0.4, 5.0)
    assert drawn.command == "make bench PROFILE=quick SEED=99"
    assert drawn.suite == suite_identity
    assert drawn.calls == {}
    each = durations.guess_invocation_s(drawn, "cpu")
    assert drawn.prediction.before_s == pytest.approx(5 * each)


@pytest.mark.parametrize("profile", plan.PROFILES)
def test_a_profiles_own_blocks_and_times(profile: Any, suite_identity: SuiteIdentity) -> None:
    drawn = plan_campaign(Request(profile=profile), CPU, scenarios.cells())
    own = plan.PROFILES[profile]
    assert (drawn.blocks, drawn.budget_s) == (own.blocks, own.budget_s)
    assert drawn.label is None
    assert drawn.id.endswith(f"-{machine_label()}-{profile}")
    assert 0 <= drawn.seed < 2**31


def test_without_a_seed_campaigns_differ(suite_identity: SuiteIdentity) -> None:
    seeds = {plan_campaign(Request(), CPU, scenarios.cells()).seed for _ in range(10)}
    assert len(seeds) > 1


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (Request(only=("zzz*",)), "matches no cell"),
        (Request(only=("overhead.container",)), "no cell that was asked for can be measured"),
        (Request(label="a/b"), "can't be part of a folder's name"),
        (Request(label=""), "can't be part of a folder's name"),
        (Request(label="../.."), "can't be part of a folder's name"),
        (Request(label="x" * 61), "can't be part of a folder's name"),
        (Request(label="two words"), "can't be part of a folder's name"),
    ],
)
def test_a_request_that_does_not_fit_together_is_a_usage_error(
    wanted: Request, complaint: str, suite_identity: SuiteIdentity
) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        plan_campaign(wanted, CPU, scenarios.cells())
    assert caught.value.remedy


def test_an_arm_for_which_no_cell_is_left_is_a_usage_error(suite_identity: SuiteIdentity) -> None:
    with pytest.raises(UsageError, match="can be measured on the arm cpu"):
        plan_campaign(Request(only=("*on=cpu*",)), HERE, scenarios.cells())


@pytest.mark.processes
def test_the_suite_knows_itself() -> None:
    identity = identify_suite()
    assert identity.content == suite_content()
    assert identity.commit is None or re.fullmatch(r"[0-9a-f]{40}\+?", identity.commit)


def test_a_machines_label_tells_nothing_and_stays() -> None:
    assert re.fullmatch(r"[0-9a-f]{8}|machine", machine_label())
    assert machine_label() == machine_label()


def test_every_invocation_is_run_and_written(stage: Stage) -> None:
    engine = FakeEngine(otherwise=stage.worker, gpu=REQUEST)
    campaign = stage.run(engine, stage.plan_campaign(HERE, blocks=2), HERE)
    assert stage.documents() == [
        f"{arm}-{block:02d}.json" for arm in ("cpu", "cuda") for block in (0, 1, 2)
    ]
    loaded = load_campaign(stage.folder)  # type: ignore[arg-type]
    assert loaded.campaign == campaign
    assert {document.invocation.status for document in loaded.documents} == {"complete"}
    assert [turn(job) for job in engine.jobs[:2]] == [("cpu", True), ("cuda", True)]
    assert [turn(job)[1] for job in engine.jobs[2:]] == [False] * 4
    assert engine.closed()


def test_arms_and_cells_have_their_turns_in_the_seeds_order(stage: Stage) -> None:
    engine = FakeEngine(otherwise=stage.worker, gpu=REQUEST)
    campaign = stage.run(engine, stage.plan_campaign(HERE, blocks=6), HERE)
    expected = [arm for block in range(1, 7) for arm in plan.order_arms(campaign, block)]
    assert [asked_option(job, "arm") for job in engine.jobs[2:]] == expected
    assert len({tuple(plan.order_arms(campaign, block)) for block in range(1, 7)}) == 2
    for document in load_campaign(stage.folder).documents:  # type: ignore[arg-type]
        of = document.invocation
        order = plan.order_cells(campaign, of.arm, of.block)
        assert [cell.id for cell in document.cells] == [cell.id for cell in order]


def test_k_is_found_once_and_the_same_in_every_block(stage: Stage) -> None:
    found = iter([6, 11])

    def calibrating(job: Job) -> Life:
        return replace(stage.worker, sample_calls=next(found))(job)

    engine = FakeEngine(calibrating, calibrating, otherwise=stage.worker)
    campaign = stage.run(engine, stage.plan_campaign(HERE, blocks=3), HERE)
    timed = [f"made.{name}" for name in "abcd"]
    assert campaign.calls == {
        "cpu": {START.id: 1, **dict.fromkeys(timed, 6)},
        "cuda": {START.id: 1, **dict.fromkeys(timed, 11)},
    }
    for job in engine.jobs[2:]:
        of_arm = {"cpu": 6, "cuda": 11}[asked_option(job, "arm")]
        assert {calls for _, calls in asked_cells(job)} == {of_arm}
    assert load_campaign(stage.folder).campaign.calls == campaign.calls  # type: ignore[arg-type]


def test_what_the_calibration_gave_up_is_not_tried_again(stage: Stage) -> None:
    stage.worker.outcomes = {"made.b": {"outcome": "skipped", "reason": "too slow"}}
    engine = FakeEngine(otherwise=stage.worker)
    campaign = stage.run(engine, stage.plan_campaign(blocks=2))
    assert campaign.excluded["cpu"]["made.b"].reason == "too slow"
    assert [len(asked_cells(job)) for job in engine.jobs] == [4, 3, 3]


def test_the_limits_are_the_engines_unless_asked_otherwise(stage: Stage) -> None:
    engine = FakeEngine(otherwise=stage.worker)
    stage.run(engine)
    assert {(job.cpus, job.memory_bytes) for job in engine.jobs} == {
        ((0, 1), int(8 * 2**30 * MEMORY_SHARE))
    }


def test_cpus_that_were_named_are_the_ones(stage: Stage) -> None:
    engine = FakeEngine(otherwise=stage.worker, memory=None)
    stage.run(engine, cpus=(1,))
    assert {(job.cpus, job.memory_bytes) for job in engine.jobs} == {((1,), None)}


def test_a_report_can_be_made_after_every_block_and_at_the_end(stage: Stage) -> None:
    stage.run(FakeEngine(otherwise=stage.worker), stage.plan_campaign(blocks=3))
    assert stage.collated == [2, 3, 4, 4]


def test_the_prediction_is_filled_as_the_campaign_goes(stage: Stage) -> None:
    campaign = stage.run(FakeEngine(otherwise=stage.worker), stage.plan_campaign(blocks=3))
    prediction = campaign.prediction
    assert prediction.before_s > 0
    assert prediction.calibrated_s is not None
    # Each container is said to exist for 10 s.
    assert prediction.actual_s == pytest.approx(40, abs=1)
    assert prediction.corrected_s == pytest.approx([40, 40, 40], abs=1)
    # Of the calibration's 10 s, 0.15 s a cell were sampling; a block has the profile's 0.15 s.
    assert prediction.calibrated_s == pytest.approx(40, abs=1)


def test_progress_counts_cells_and_the_time_left(stage: Stage) -> None:
    stage.run(FakeEngine(otherwise=stage.worker), stage.plan_campaign(blocks=2))
    progress = stage.ears.progress
    assert {(p.block, p.left_s is None) for p in progress} == {(0, True), (1, False), (2, False)}
    assert next(p.left_s for p in progress if p.block == 1) == pytest.approx(20, abs=1)
    assert all(0 <= p.done <= p.cells == 5 for p in progress)
    assert [p.in_flight for p in progress if p.block == 0 and p.in_flight] == [
        f"made.{name}" for name in "abcd"
    ]
    assert any("5 cells on cpu" in line for line in stage.ears.lines)
    assert any("block 2 of 2 done" in line for line in stage.ears.lines)


def test_the_budget_begins_no_block_that_would_cross_it(stage: Stage) -> None:
    engine = FakeEngine(otherwise=stage.worker)
    # Calibration and two blocks take 30 s; the third would end at 40.
    campaign = stage.run(engine, stage.plan_campaign(blocks=5), budget_s=35.0)
    assert len(engine.jobs) == 3
    assert campaign.stopped is not None
    assert campaign.stopped.startswith("after block 2: the next one was predicted to cross")
    assert load_campaign(stage.folder).campaign.stopped == campaign.stopped  # type: ignore[arg-type]
    assert any("stopped after block 2" in line for line in stage.ears.lines)


def test_the_first_block_always_runs(stage: Stage) -> None:
    engine = FakeEngine(otherwise=stage.worker)
    campaign = stage.run(engine, stage.plan_campaign(blocks=5), budget_s=0.5)
    assert len(engine.jobs) == 2
    assert (campaign.stopped or "").startswith("after block 1")


def test_a_budget_that_is_enough_stops_nothing(stage: Stage) -> None:
    engine = FakeEngine(otherwise=stage.worker)
    campaign = stage.run(engine, stage.plan_campaign(blocks=2), budget_s=31.0)
    assert (len(engine.jobs), campaign.stopped) == (3, None)


def load(stage: Stage) -> Any:
    assert stage.folder is not None
    return load_campaign(stage.folder)


def test_an_interrupted_campaign_goes_on_where_it_stopped(stage: Stage) -> None:
    kill = stage.worker.meets("made.c", KeyboardInterrupt())
    engine = FakeEngine(stage.worker, stage.worker, kill, otherwise=stage.worker)
    with pytest.raises(KeyboardInterrupt):
        stage.run(engine, stage.plan_campaign(blocks=3))
    loaded = load(stage)
    assert [d.invocation.status for d in loaded.documents] == ["complete"] * 2 + ["interrupted"]
    before = {name: (stage.folder / name).read_bytes() for name in stage.documents()}  # type: ignore[operator]

    again = FakeEngine(otherwise=stage.worker)
    campaign = stage.run(again, resume_plan(loaded.campaign, blocks=None), resumed=loaded.documents)
    assert len(again.jobs) == 2
    assert all(not turn(job)[1] for job in again.jobs)
    assert stage.documents() == [f"cpu-0{block}.json" for block in range(4)]
    after = {name: (stage.folder / name).read_bytes() for name in stage.documents()}  # type: ignore[operator]
    changed = [name for name in before if before[name] != after[name]]
    assert changed == ["cpu-02.json"]
    assert campaign.calls == loaded.campaign.calls
    assert {d.invocation.status for d in load(stage).documents} == {"complete"}
    assert campaign.prediction.actual_s == pytest.approx(40, abs=1)


def test_an_interrupted_calibration_is_made_again(stage: Stage) -> None:
    engine = FakeEngine(stage.worker.meets("made.c", KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        stage.run(engine, stage.plan_campaign(blocks=1))
    loaded = load(stage)
    assert loaded.campaign.calls == {}
    again = FakeEngine(otherwise=stage.worker)
    campaign = stage.run(again, resume_plan(loaded.campaign, blocks=None), resumed=loaded.documents)
    assert [turn(job)[1] for job in again.jobs] == [True, False]
    assert set(campaign.calls["cpu"]) == {cell.id for cell in CELLS}


def test_a_complete_campaign_has_nothing_left_to_do(stage: Stage) -> None:
    stage.run(FakeEngine(otherwise=stage.worker), stage.plan_campaign(blocks=2))
    loaded = load(stage)
    again = FakeEngine()
    stage.run(again, resume_plan(loaded.campaign, blocks=None), resumed=loaded.documents)
    assert again.jobs == []


def test_resuming_can_add_blocks(stage: Stage) -> None:
    stage.run(FakeEngine(otherwise=stage.worker), stage.plan_campaign(blocks=1))
    loaded = load(stage)
    again = FakeEngine(otherwise=stage.worker)
    campaign = stage.run(again, resume_plan(loaded.campaign, blocks=3), resumed=loaded.documents)
    assert campaign.blocks == 3
    assert len(again.jobs) == 2


def test_a_resumed_campaigns_budget_is_its_own(stage: Stage) -> None:
    stopped = stage.run(
        FakeEngine(otherwise=stage.worker), stage.plan_campaign(blocks=5), budget_s=25.0
    )
    assert (stopped.stopped or "").startswith("after block 1")
    loaded = load(stage)
    goes_on = resume_plan(loaded.campaign, blocks=None)
    assert goes_on.stopped is None
    again = FakeEngine(otherwise=stage.worker)
    campaign = stage.run(again, goes_on, resumed=loaded.documents, budget_s=25.0)
    # Two blocks of 10 s fit into this command's 25 s.
    assert len(again.jobs) == 2
    assert (campaign.stopped or "").startswith("after block 3")


def test_a_campaign_of_another_suite_is_not_gone_on_with() -> None:
    other = synthetic.make_campaign()
    assert other.suite.content != suite_content()
    with pytest.raises(UsageError, match="begun by another suite") as caught:
        resume_plan(other, blocks=None)
    assert caught.value.remedy


def test_a_campaign_can_not_shrink(stage: Stage) -> None:
    campaign = stage.plan_campaign(blocks=3)
    with pytest.raises(UsageError, match="BLOCKS=2 is fewer"):
        resume_plan(campaign, blocks=2)
    assert resume_plan(campaign, blocks=3) == campaign


def test_an_arm_that_the_worker_refuses_costs_no_other_arm(stage: Stage) -> None:
    def refusing(job: Job) -> Life:
        refused = record("refused", reason="TensorFlow sees no GPU")
        return Life(words=[stage.worker.greeting()[0], refused], code=4, diary="no libcuda\n")

    first = FakeEngine(stage.worker, refusing, otherwise=stage.worker, gpu=REQUEST)
    with pytest.raises(GpuError, match="the arm cuda can't be had"):
        stage.run(first, stage.plan_campaign(HERE, blocks=2), HERE)
    assert [
        (d.invocation.arm, d.invocation.block, d.invocation.status) for d in load(stage).documents
    ] == [
        *(("cpu", block, "complete") for block in range(3)),
        ("cuda", 0, "interrupted"),
    ]
    assert stage.folder is not None
    assert "no libcuda" in (stage.folder / "logs" / "cuda-00.log").read_text()
    assert any("the other arms go on" in line for line in stage.ears.lines)
    collated = collate(stage.folder)
    refusal = "cuda WAS NOT MEASURED: the arm cuda can't be had: TensorFlow sees no GPU"
    assert collated.terminal.count(refusal) == 1
    assert "ended early" not in collated.files["report.md"]
    # Who mends the machine and goes on gets the arm, and what was said of it is gone.
    loaded = load(stage)
    whole = stage.run(
        FakeEngine(otherwise=stage.worker, gpu=REQUEST),
        resume_plan(loaded.campaign, blocks=None),
        HERE,
        resumed=loaded.documents,
    )
    assert whole.not_run == {}
    assert [d.invocation.status for d in load(stage).documents] == ["complete"] * 6
    assert "WAS NOT MEASURED" not in collate(stage.folder).terminal


def test_a_campaign_whose_only_arm_is_refused_ends_at_once(stage: Stage) -> None:
    def refusing(job: Job) -> Life:
        refused = record("refused", reason="TensorFlow sees no GPU")
        return Life(words=[stage.worker.greeting()[0], refused], code=4, diary="")

    engine = FakeEngine(refusing, gpu=REQUEST)
    only = resolve_arms(engine, ["cuda"], "0")
    with pytest.raises(GpuError, match="the arm cuda can't be had"):
        stage.run(engine, stage.plan_campaign(only), only)
    assert load(stage).campaign.stopped is not None
    assert [d.invocation.block for d in load(stage).documents] == [0]


def test_an_engine_that_vanishes_ends_the_campaign_and_leaves_what_was_measured(
    stage: Stage,
) -> None:
    gone = EngineError("the engine has gone", "start it")
    engine = FakeEngine(stage.worker, stage.worker.meets("made.b", gone))
    with pytest.raises(EngineError):
        stage.run(engine, stage.plan_campaign(blocks=2))
    assert [d.invocation.status for d in load(stage).documents] == ["complete", "interrupted"]
    assert stage.folder is not None
    assert collate(stage.folder).files["report.md"]


@pytest.mark.parametrize("dies", [False, True])
def test_what_was_put_on_disk_goes_with_the_campaign_however_it_ends(
    stage: Stage, dies: bool
) -> None:
    campaign = stage.plan_campaign(blocks=2)
    *others, last = campaign.cells
    campaign = replace(campaign, cells=[*others, replace(last, reads_files=True)])
    gone = EngineError("the engine has gone", "start it again")
    engine = FakeEngine(*([stage.worker, gone] if dies else []), otherwise=stage.worker)
    if dies:
        with pytest.raises(EngineError):
            stage.run(engine, campaign)
    else:
        stage.run(engine, campaign)
    used = {volume for job in engine.jobs for volume in job.volumes}
    assert len(used) == 1
    assert engine.removed_volumes == list(used)


def test_a_campaign_that_reads_no_files_removes_nothing(stage: Stage) -> None:
    engine = FakeEngine(otherwise=stage.worker)
    stage.run(engine)
    assert engine.removed_volumes == []


def test_every_containers_diary_is_in_the_log_of_its_invocation(stage: Stage) -> None:
    deadly = stage.worker.dies_in("made.b", diary="out of file handles\n")
    engine = FakeEngine(stage.worker, deadly, otherwise=stage.worker)
    stage.run(engine)
    assert stage.folder is not None
    log = (stage.folder / "logs" / "cpu-01.log").read_text()
    assert log == "--- fake-2\nout of file handles\n--- fake-3\n"


def test_the_plan_on_disk_is_the_one_in_hand(stage: Stage) -> None:
    campaign = stage.run(FakeEngine(otherwise=stage.worker))
    assert stage.folder is not None
    assert json.loads((stage.folder / "campaign.json").read_text()) == wire.plain(campaign)


def test_cells_of_the_other_arm_are_not_asked_for(tmp_path: Path, suite_identity: Any) -> None:
    only_cuda = replace(CELLS[1], id="made.z", case="z", arms=["cuda"])
    cells: list[Cell] = [*CELLS, only_cuda]
    drawn = plan_campaign(Request(profile="smoke", seed=1, label="x"), HERE, cells)
    stage = Stage(tmp_path, worker=Worker(cells={cell.id: cell for cell in cells}))
    engine = FakeEngine(otherwise=stage.worker, gpu=REQUEST)
    stage.run(engine, drawn, HERE)
    assert {
        (asked_option(job, "arm"), "made.z" in dict(asked_cells(job))) for job in engine.jobs
    } == {("cpu", False), ("cuda", True)}


def control_campaign(stage: Stage, arms: Arms = CPU, **request: Any) -> Campaign:
    """A standard campaign whose only cell is one that the controls run."""
    (cell,) = [c for c in scenarios.cells() if c.id == "overhead.eager_op"]
    stage.worker = Worker(cells={cell.id: cell}, seconds=0.0)
    return plan_campaign(
        Request(**{"seed": 3, "label": "made-up", "blocks": 2, **request}), arms, [cell]
    )


def test_every_block_has_each_arms_twin_which_is_that_arm_with_its_k(stage: Stage) -> None:
    campaign = control_campaign(stage)
    engine = FakeEngine(otherwise=stage.worker)
    stage.run(engine, campaign)
    assert stage.documents() == [
        *("cpu-00.json", "cpu-01.json", "cpu-02.json"),
        *("cpu-twin-01.json", "cpu-twin-02.json"),
    ]
    assert {asked_option(job, "arm") for job in engine.jobs} == {"cpu"}
    assert [calls is None for job in engine.jobs for _, calls in asked_cells(job)] == [
        *(True, False, False, False, False)
    ]
    loaded = load(stage)
    assert [d.invocation.arm for d in loaded.controls] == ["cpu-twin", "cpu-twin"]


def test_the_hidden_gpus_arm_controls_the_image_with_the_first_arms_k(stage: Stage) -> None:
    both = Arms(
        run=(ARMS["cpu"], ARMS["cuda"]),
        gpu={"cpu": None, "cuda": GpuRequest(driver="nvidia", devices=("0",))},
        not_run={},
    )
    campaign = control_campaign(stage, both, blocks=1)
    assert plan.control_arms(campaign) == ["cpu-twin", "cuda-twin", "cuda-hidden"]
    assert plan.calibrating_arm(campaign, "cuda-hidden") == "cpu"
    assert plan.calibrating_arm(campaign, "cuda-twin") == "cuda"
    engine = FakeEngine(otherwise=stage.worker)
    stage.run(engine, campaign, both)
    given = {asked_option(job, "arm"): job.gpu is not None for job in engine.jobs}
    assert given == {"cpu": False, "cuda": True, "cuda-hidden": False}


def test_profiles_without_verdicts_have_no_controls(stage: Stage) -> None:
    assert plan.control_arms(control_campaign(stage, profile="quick")) == []


def test_a_look_adds_blocks_until_enough_is_known_and_never_beyond_the_most(stage: Stage) -> None:
    campaign = replace(control_campaign(stage), blocks=1, most_blocks=8)
    stage.looks = [(0, 1, False), (0, 1, False)]
    ended = stage.run(FakeEngine(otherwise=stage.worker), campaign)
    assert (ended.blocks, [look.block for look in ended.looks]) == (8, [1, 6])
    assert "cpu-08.json" in stage.documents()


def test_a_look_that_has_seen_enough_ends_the_campaign(stage: Stage) -> None:
    campaign = replace(control_campaign(stage), blocks=2, most_blocks=8)
    stage.looks = [(1, 1, True)]
    ended = stage.run(FakeEngine(otherwise=stage.worker), campaign)
    assert (ended.blocks, len(ended.looks)) == (2, 1)
    assert "cpu-03.json" not in stage.documents()


def test_blocks_that_were_asked_for_are_neither_more_nor_fewer(stage: Stage) -> None:
    campaign = control_campaign(stage, blocks=2)
    ended = stage.run(FakeEngine(otherwise=stage.worker), campaign)
    assert (ended.blocks, ended.looks) == (2, [])


def test_an_arm_against_itself_is_two_arms_of_one_kind_with_one_k(stage: Stage) -> None:
    twice = against_itself(CPU)
    campaign = control_campaign(stage, twice, profile="smoke", blocks=1)
    engine = FakeEngine(otherwise=stage.worker)
    ended = stage.run(engine, campaign, twice)
    assert stage.documents() == ["cpu-00.json", "cpu-01.json", "cpu-again-01.json"]
    assert {asked_option(job, "arm") for job in engine.jobs} == {"cpu"}
    assert ended.calls["cpu"] == ended.calls["cpu-again"]
    with pytest.raises(UsageError, match="2 were asked for"):
        against_itself(twice)


def test_a_disturbed_invocation_is_set_aside_and_run_again(stage: Stage) -> None:
    stage.disturbances = [None, "the hypervisor took the CPU", None]
    engine = FakeEngine(otherwise=stage.worker)
    campaign = stage.run(engine, stage.plan_campaign(blocks=2))
    assert stage.documents() == ["cpu-00.json", "cpu-01.json", "cpu-02-r1.json", "cpu-02.json"]
    repeat = load_campaign(stage.folder).documents[-1].invocation  # type: ignore[arg-type]
    assert (repeat.block, repeat.repeat) == (2, 1)
    assert any("set aside and run again: the hypervisor" in line for line in stage.ears.lines)
    documents = load_campaign(stage.folder).documents  # type: ignore[arg-type]
    assert campaign.prediction.actual_s == pytest.approx(
        sum(container_seconds(one) for one in documents)
    )
    first, second = (plan.order_cells(campaign, "cpu", 2, repeat) for repeat in (0, 1))
    assert [cell.id for cell in first] != [cell.id for cell in second]


def test_an_invocation_is_run_again_at_most_twice(stage: Stage) -> None:
    stage.disturbances = ["a storm"] * 3
    engine = FakeEngine(otherwise=stage.worker)
    stage.run(engine, stage.plan_campaign(blocks=1))
    assert stage.documents() == ["cpu-00.json", "cpu-01-r1.json", "cpu-01-r2.json", "cpu-01.json"]
    assert sum("run again" in line for line in stage.ears.lines) == 2


OVER = {
    "outcome": "skipped",
    "reason": "would take 9 s here; the profile's budget for this cell is 5 s",
}
"""What the worker says of a cell that lost its budget, as to kernels that are compiled."""


def compiling(
    start: int | None, end: int | None, given_up: Mapping[str, Any] | None = OVER
) -> Worker:
    """A worker whose GPU's compile cache holds so many files before the start, and at the end.

    ``given_up`` is what comes of one of its cells; None: it is measured as the others.
    """
    facts = {**FACTS, **GPU_FACTS, "cuda.cache.at_start.files": start}

    class Compiling(Worker):
        def greeting(self, *, gpu: bool = False) -> list[str]:
            return [*super().greeting(gpu=gpu)[:-1], record("facts", facts=facts, seconds=0.1)]

        def words(self, job: Job) -> list[str]:
            found = {**facts, "cuda.cache.at_end.files": end}
            *others, bye = super().words(job)
            return [*others, record("facts", facts=found, seconds=0.1), bye]

    return Compiling(
        cells={cell.id: cell for cell in CELLS},
        outcomes={"made.b": given_up} if given_up else {},
        seconds=10.0,
    )


def test_a_calibration_that_lost_a_cell_to_compiling_is_made_again_on_a_full_cache(
    stage: Stage,
) -> None:
    cold, warm, twin = (compiling(0, 700), *(compiling(700, 700, None) for _ in range(2)))
    cold.sample_calls, warm.sample_calls = 6, 60
    engine = FakeEngine(cold, warm, otherwise=twin)
    arms = Arms(run=(ARMS["cuda"],), gpu={"cuda": REQUEST}, not_run={})
    campaign = stage.run(engine, stage.plan_campaign(arms), arms)
    assert stage.documents() == ["cuda-00-r1.json", "cuda-00.json", "cuda-01.json"]
    # One-shot cells have one call a sample.
    assert set(campaign.calls["cuda"].values()) == {1, 60}
    # The cell that had been given up is measured after all.
    assert campaign.excluded["cuda"] == {}
    assert campaign.calls["cuda"]["made.b"] == 60
    assert any("is calibrated again" in line for line in stage.ears.lines)


@pytest.mark.parametrize(
    ("start", "end", "again"),
    [
        # However few: what they took can be what the cell lacked.
        (0, 24, True),
        (0, 1, True),
        (0, 0, False),
        # Other programs' kernels, or other cells', lay there already.
        (500, 700, True),
        (700, 701, True),
        (700, 700, False),
        # CUDA throws the oldest away where there is no more room.
        (700, 300, False),
        (None, 700, False),
        (0, None, False),
        (None, None, False),
    ],
)
def test_a_calibration_that_compiled_nothing_or_nobody_knows_what_is_not_made_again(
    stage: Stage, start: int | None, end: int | None, *, again: bool
) -> None:
    arms = Arms(run=(ARMS["cuda"],), gpu={"cuda": REQUEST}, not_run={})
    engine = FakeEngine(compiling(start, end), otherwise=compiling(700, 700))
    stage.run(engine, stage.plan_campaign(arms), arms)
    assert ("cuda-00-r1.json" in stage.documents()) is again
    assert [name for name in stage.documents() if name != "cuda-00-r1.json"] == [
        "cuda-00.json",
        "cuda-01.json",
    ]
    assert any("is calibrated again" in line for line in stage.ears.lines) is again


@pytest.mark.parametrize(
    "given_up",
    [
        # Nothing was lost to it, however much it was.
        None,
        # What a full cache does not mend.
        {"outcome": "skipped", "reason": "needs 80 GB of the GPU's memory"},
        {"outcome": "skipped", "reason": None},
        {"outcome": "failed", "reason": "the loss is over budget"},
        {"outcome": "unsupported", "reason": "no budget for it"},
    ],
)
def test_a_calibration_that_gave_up_nothing_for_its_budget_is_not_made_again(
    stage: Stage, given_up: Mapping[str, Any] | None
) -> None:
    arms = Arms(run=(ARMS["cuda"],), gpu={"cuda": REQUEST}, not_run={})
    engine = FakeEngine(compiling(0, 700, given_up), otherwise=compiling(700, 700, given_up))
    stage.run(engine, stage.plan_campaign(arms), arms)
    assert stage.documents() == ["cuda-00.json", "cuda-01.json"]
    assert not any("is calibrated again" in line for line in stage.ears.lines)


def test_what_the_worker_says_of_a_lost_budget_is_known_for_it() -> None:
    """`OVER` is its text, and the plan looks for a word of it."""
    assert OVER["reason"] == cells._over(9.0, 5.0)


def test_a_second_calibration_is_the_last_however_much_it_compiled(stage: Stage) -> None:
    arms = Arms(run=(ARMS["cuda"],), gpu={"cuda": REQUEST}, not_run={})
    stage.run(FakeEngine(otherwise=compiling(0, 700)), stage.plan_campaign(arms), arms)
    assert stage.documents() == ["cuda-00-r1.json", "cuda-00.json", "cuda-01.json"]


def test_a_second_calibration_that_was_not_had_is_had_when_the_campaign_goes_on(
    stage: Stage,
) -> None:
    arms = Arms(run=(ARMS["cuda"],), gpu={"cuda": REQUEST}, not_run={})
    campaign = stage.plan_campaign(arms)
    full = compiling(700, 700)
    stage.run(FakeEngine(compiling(0, 700), otherwise=full), campaign, arms)
    assert stage.folder is not None
    for name in ("cuda-00-r1.json", "cuda-01.json"):
        (stage.folder / name).unlink()
    kept = load_campaign(stage.folder).documents
    stage.run(FakeEngine(otherwise=full), campaign, arms, resumed=kept)
    assert stage.documents() == ["cuda-00-r1.json", "cuda-00.json", "cuda-01.json"]
    # Now it has been had.
    engine = FakeEngine(otherwise=full)
    stage.run(engine, campaign, arms, resumed=load_campaign(stage.folder).documents)
    assert engine.jobs == []


def test_a_repeat_that_would_cross_the_budget_is_not_begun(stage: Stage) -> None:
    # Ten seconds an invocation: the calibration and block 1, and not its repeat.
    stage.disturbances = ["the quota throttled it"] * 9
    engine = FakeEngine(otherwise=stage.worker)
    stage.run(engine, stage.plan_campaign(), budget_s=25.0)
    assert stage.documents() == ["cpu-00.json", "cpu-01.json"]
    assert any("the budget leaves no time to run it again" in line for line in stage.ears.lines)


def test_a_resumed_campaign_keeps_its_repeats(stage: Stage) -> None:
    stage.disturbances = ["a storm", None, None]
    engine = FakeEngine(otherwise=stage.worker)
    begun = stage.run(engine, stage.plan_campaign(blocks=2))
    before = stage.documents()
    ran = len(engine.jobs)
    kept = load_campaign(stage.folder).documents  # type: ignore[arg-type]
    again = stage.run(engine, resume_plan(begun, blocks=None), resumed=kept)
    assert len(engine.jobs) == ran
    assert stage.documents() == before
    assert again.prediction.actual_s == pytest.approx(begun.prediction.actual_s)


@pytest.mark.parametrize(
    ("blocks", "most", "after"),
    [(5, 10, [5]), (10, 20, [10, 15]), (5, 20, [5, 10, 15]), (7, 20, [7, 12, 17])],
)
def test_the_campaign_looks_where_the_method_was_tried(
    blocks: int, most: int, after: list[int], stage: Stage
) -> None:
    campaign = replace(control_campaign(stage), blocks=blocks, most_blocks=most)
    stage.looks = [(0, 1, False)] * len(after)
    ended = stage.run(FakeEngine(otherwise=stage.worker), campaign)
    assert (ended.blocks, [look.block for look in ended.looks]) == (most, after)


def test_the_method_was_tried_with_the_blocks_of_every_profile_that_looks() -> None:
    looking = {(one.blocks, one.most_blocks) for one in plan.PROFILES.values()}
    assert {pair for pair in looking if pair[0] < pair[1]} == {(5, 10), (10, 20)}


def test_a_repeat_that_was_not_had_is_had_when_the_campaign_goes_on(stage: Stage) -> None:
    engine = FakeEngine(otherwise=stage.worker)
    begun = stage.run(engine, stage.plan_campaign(blocks=2))
    kept = load_campaign(stage.folder).documents  # type: ignore[arg-type]
    # As where the campaign was stopped between block 2 and its repeat.
    stage.disturbances = [None, "a storm", None]
    again = stage.run(engine, resume_plan(begun, blocks=None), resumed=kept)
    assert stage.documents() == ["cpu-00.json", "cpu-01.json", "cpu-02-r1.json", "cpu-02.json"]
    every = load_campaign(stage.folder).documents  # type: ignore[arg-type]
    assert again.prediction.actual_s == pytest.approx(sum(map(container_seconds, every)))


def standing_in(value: Scalar) -> Worker:
    """A worker that says of its GPU's driver whether it is a stand-in."""
    facts = {**FACTS, **GPU_FACTS, SIMULATED: value}

    class StandingIn(Worker):
        def greeting(self, *, gpu: bool = False) -> list[str]:
            told = super().greeting(gpu=gpu)
            return [*told[:-1], record("facts", facts=facts, seconds=0.1)] if gpu else told

    return StandingIn(cells={cell.id: cell for cell in CELLS}, seconds=10.0)


@pytest.mark.parametrize(
    ("value", "simulated"),
    [(True, True), (False, False), (None, False), (1, False), ("true", False)],
)
def test_a_stand_ins_document_makes_the_whole_campaign_simulated(
    stage: Stage, value: Scalar, *, simulated: bool
) -> None:
    """Not the documents alone: who reads the plan and nothing else must not take it for a real one."""
    engine = FakeEngine(otherwise=standing_in(value), gpu=REQUEST)
    drawn = stage.plan_campaign(HERE)
    assert not drawn.simulated
    assert stage.run(engine, drawn, HERE).simulated is simulated
    assert stage.folder is not None
    written = json.loads((stage.folder / "campaign.json").read_text(encoding="utf-8"))
    assert written["simulated"] is simulated
    loaded = load_campaign(stage.folder)
    assert loaded.campaign.simulated is simulated
    # Nothing of the calibration is lost to it, and nothing else of the plan is changed.
    assert loaded.campaign.calls == {
        arm: {START.id: 1, **{f"made.{name}": 6 for name in "abcd"}} for arm in ("cpu", "cuda")
    }
    if simulated:
        assert (
            f"**SIMULATED.** {KINDS['stand-in'].text}." in collate(stage.folder).files["report.md"]
        )


def test_a_campaign_is_known_for_simulated_from_its_first_document_of_a_stand_in(
    stage: Stage,
) -> None:
    """As where it was stopped right after: what comes last is not what says it."""
    seen: list[bool] = []

    def look(job: Job) -> Life:
        assert stage.folder is not None
        seen.append(load_campaign(stage.folder).campaign.simulated)
        return standing_in(True)(job)

    alone = Arms(run=(ARMS["cuda"],), gpu={"cuda": REQUEST}, not_run={})
    stage.run(FakeEngine(otherwise=look), stage.plan_campaign(alone, blocks=2), alone)
    assert seen == [False, True, True]
