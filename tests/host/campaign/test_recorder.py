"""One invocation against containers that live and die by scripts: what is lost, and what never is."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from suite import wire
from suite.analysis.campaign.validity import find_whole_disturbance
from suite.analysis.documents.read import load_campaign, load_document
from suite.cells.cell import Cell, Work
from suite.errors import EngineError, GpuError
from suite.host.campaign import durations, plan
from suite.host.campaign.arms import ARMS
from suite.host.campaign.draft import InvocationSpec
from suite.host.campaign.outcomes import is_complete
from suite.host.campaign.recorder import Recorder
from suite.host.campaign.store import Store
from suite.host.engine import LABEL, GpuRequest, Job
from suite.host.watch.observe import Observe
from suite.model import (
    AT_END,
    Campaign,
    CellResult,
    Document,
    Excluded,
    Telemetry,
    count_compiled,
    document_name,
    facts_of,
)
from suite.worker.scenarios.overhead.startup import STAGES
from tests import synthetic
from tests.fakes.engine import (
    FACTS,
    GPU_FACTS,
    FakeEngine,
    Life,
    Word,
    Worker,
    asked_cells,
    asked_option,
    fake_image,
    record,
)


def make_cells(*names: str) -> list[Cell]:
    return [synthetic.make_cell("made", name, {}, Work(amount=1.0, unit="call")) for name in names]


START = replace(
    synthetic.make_cell("overhead", "container", {}, Work(amount=1.0, unit="start")),
    by_host=True,
    one_shot=True,
)


@dataclass
class Flow:
    """An invocation with everything around it, and every document that it kept on its way."""

    folder: Path
    block: int = 1
    arm: str = "cpu"
    cells: list[Cell] = field(default_factory=lambda: make_cells(*"abcde"))
    kept: list[Document] = field(default_factory=list)
    watched: list[tuple[str, str | None]] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    recorder: Recorder | None = None
    observe: Observe | None = None
    gpu: GpuRequest = field(default_factory=lambda: GpuRequest(driver="cdi", devices=("0",)))

    def __post_init__(self) -> None:
        made = synthetic.make_campaign(arms=("cpu", "cuda"), cells=self.cells, blocks=2)
        self.campaign: Campaign = replace(made, **{"calls": {}, **self.fields})
        self.store = Store.create(self.folder, "campaign")
        self.store.write_plan(self.campaign)
        self.worker = Worker(cells={cell.id: cell for cell in self.cells})
        self.order = [
            cell.id
            for cell in plan.order_cells(self.campaign, self.arm, self.block)
            if not cell.by_host
        ]

    def keep(self, document: Document) -> None:
        """Writes as a campaign does; complete and valid at any moment, or the test fails."""
        self.store.write_document(document)
        path = self.store.folder / document_name(self.arm, self.block)
        assert load_document(path) == document
        assert load_campaign(self.store.folder).documents == [document]
        self.kept.append(document)

    def run(self, engine: FakeEngine) -> Document:
        spec = InvocationSpec(
            campaign=self.campaign,
            arm=ARMS[self.arm],
            block=self.block,
            image=fake_image(ARMS[self.arm].image),
            gpu=self.gpu if ARMS[self.arm].gpu else None,
            cpus=(0, 1, 3),
            memory_bytes=2**30,
        )
        self.recorder = Recorder(
            engine,
            spec,
            keep=self.keep,
            watch=lambda document, cell: self.watched.append((document.invocation.status, cell)),
            observe=self.observe,
        )
        return self.recorder.run()


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    """Block 1 of the CPU arm: five cells in their random order."""
    return Flow(tmp_path)


@pytest.fixture
def calibration(tmp_path: Path) -> Flow:
    """Block 0 of the CPU arm: five cells in the plan's order."""
    return Flow(tmp_path, block=0)


def outcomes(document: Document) -> dict[str, str]:
    return {cell.id: cell.outcome for cell in document.cells}


def result(document: Document, identity: str) -> CellResult:
    (found,) = [cell for cell in document.cells if cell.id == identity]
    return found


def asked(job: Job) -> list[str]:
    return [identity for identity, _ in asked_cells(job)]


def test_all_goes_well(flow: Flow) -> None:
    engine = FakeEngine(otherwise=flow.worker)
    document = flow.run(engine)
    assert outcomes(document) == dict.fromkeys(flow.order, "measured")
    assert [cell.id for cell in document.cells] == flow.order
    assert document.invocation.status == "complete"
    assert document.invocation.ended is not None
    (container,) = document.invocation.containers
    assert (container.id, container.status) == ("fake-1", "exit code 0")
    assert container.start_s is not None
    assert {cell.container for cell in document.cells} == {"fake-1"}
    assert engine.log == [("start", "fake-1"), ("close", "fake-1")]


def test_the_worker_is_asked_for_the_cells_in_their_order_under_the_limits(flow: Flow) -> None:
    flow.campaign = replace(flow.campaign, calls={"cpu": dict.fromkeys(flow.order, 9)})
    engine = FakeEngine(otherwise=flow.worker)
    document = flow.run(engine)
    (job,) = engine.jobs
    assert asked_cells(job) == [(identity, 9) for identity in flow.order]
    assert asked_option(job, "arm") == "cpu"
    assert (job.image, job.cpus, job.memory_bytes, job.gpu) == (
        fake_image("cpu"),
        (0, 1, 3),
        2**30,
        None,
    )
    assert job.environment == {"CUDA_VISIBLE_DEVICES": "-1"}
    assert job.labels == {
        f"{LABEL}.campaign": flow.campaign.id,
        f"{LABEL}.invocation": "cpu-1",
    }
    assert document.invocation.limits == {
        "cpus": "0-1,3",
        "cpu_count": 3,
        "memory_bytes": 2**30,
    }
    assert {cell.calls_per_sample for cell in document.cells} == {9}


def test_a_place_on_disk_is_given_to_those_that_read_files(tmp_path: Path) -> None:
    first, *others = make_cells(*"abc")
    flow = Flow(tmp_path, cells=[replace(first, reads_files=True), *others], block=0)
    engine = FakeEngine(flow.worker.dies_in(others[0].id), otherwise=flow.worker)
    flow.run(engine)
    before, after = engine.jobs
    assert [volume.purpose for volume in before.volumes] == ["scratch"]
    # What is left when the first container has died reads none.
    assert asked(after) == [one.id for one in others]
    assert after.volumes == ()


def test_the_gpu_is_given_to_the_arm_that_needs_it(tmp_path: Path) -> None:
    flow = Flow(tmp_path, arm="cuda")
    engine = FakeEngine(otherwise=flow.worker)
    document = flow.run(engine)
    assert engine.jobs[0].gpu == GpuRequest(driver="cdi", devices=("0",))
    assert "CUDA_VISIBLE_DEVICES" not in engine.jobs[0].environment
    assert document.invocation.engine["gpu.request"] == "cdi"


NAMED = "GPU-11111111-aaaa-4bbb-8ccc-000000000001"
OTHER = "22222222-aaaa-4bbb-8ccc-000000000002"


def named(flow: Flow, *found: str | None) -> FakeEngine:
    """Containers whose CUDA says that it has these GPUs, one after another."""

    def life(uuid: str | None) -> Any:
        def words(job: Job) -> Life:
            lines = flow.worker.words(job)
            at = next(i for i, one in enumerate(lines) if json.loads(one)["record"] == "facts")
            told = json.loads(lines[at])["facts"]
            lines[at] = change(
                lines[at], facts={**told, "gpu.0.uuid": uuid and wire.hash_uuid(uuid)}
            )
            return Life(words=lines)

        return words

    return FakeEngine(*map(life, found))


def test_another_gpu_than_the_one_named_gives_no_number(tmp_path: Path) -> None:
    flow = Flow(tmp_path, arm="cuda", gpu=GpuRequest(driver="nvidia", devices=("0",), uuid=NAMED))
    engine = named(flow, OTHER)
    with pytest.raises(GpuError, match="another GPU than the one named") as caught:
        flow.run(engine)
    assert "`nvidia-smi -L`" in caught.value.remedy
    assert NAMED not in caught.value.what
    assert engine.closed()
    assert "measured" not in outcomes(flow.kept[-1]).values()


@pytest.mark.parametrize(
    ("uuid", "found"),
    [(NAMED, NAMED), (NAMED, None), (None, OTHER)],
    ids=["it", "unsaid", "number"],
)
def test_the_gpu_that_was_named_is_measured(
    uuid: str | None, found: str | None, tmp_path: Path
) -> None:
    flow = Flow(tmp_path, arm="cuda", gpu=GpuRequest(driver="nvidia", devices=("0",), uuid=uuid))
    document = flow.run(named(flow, found))
    assert set(outcomes(document).values()) == {"measured"}


def test_what_the_worker_tells_of_itself_is_in_the_document(flow: Flow) -> None:
    document = flow.run(FakeEngine(otherwise=flow.worker))
    assert document.facts["cpu.model"] == "Made-Up Processor"
    assert document.invocation.image.content == "f" * 64
    assert "invocation.image.content" not in document.absent
    assert document.invocation.engine == {
        "name": "docker",
        "version": "0.0-fake",
        "endpoint": "none",
        "gpu.request": "none",
        "gpu.compile_cache": "none",
    }
    kinds = {"container_start", *STAGES, "facts", "writing"}
    assert set(document.spent_s) == kinds
    assert document.spent_s["import"] == 2.0


def test_the_document_is_kept_after_every_cell(flow: Flow) -> None:
    flow.run(FakeEngine(otherwise=flow.worker))
    done = [sum(cell.outcome != "pending" for cell in kept.cells) for kept in flow.kept]
    # One for each cell, one when the container has ended, one at the end.
    assert done == [1, 2, 3, 4, 5, 5, 5]
    assert [kept.invocation.status for kept in flow.kept] == ["running"] * 6 + ["complete"]
    assert [cell for _, cell in flow.watched if cell is not None] == flow.order


def test_a_cells_outcome_is_on_disk_before_the_next_one_is_waited_for(flow: Flow) -> None:
    path = flow.store.folder / "cpu-01.json"
    counts = []

    def life(job: Job) -> Life:
        def words() -> Any:
            for word in flow.worker.words(job):
                if json.loads(word)["record"] == "cell_started" and path.exists():
                    cells = load_document(path).cells
                    counts.append(sum(cell.outcome == "measured" for cell in cells))
                yield word

        return Life(words=words())

    flow.run(FakeEngine(life))
    assert counts == [1, 2, 3, 4]


@pytest.mark.parametrize("index", [0, 2, 4])
@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"code": 137, "out_of_memory": True}, "out of memory (limit 1.00 GiB)"),
        ({"code": 137}, "killed by SIGKILL"),
        ({"code": 139}, "killed by SIGSEGV (a crash in native code)"),
        ({"code": 3}, "exit code 3"),
        ({"code": 0}, "exit code 0"),
        ({"code": None}, "ended without an exit code"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_a_container_that_dies_in_a_cell_costs_that_cell_alone(
    index: int, end: dict[str, Any], reason: str, flow: Flow
) -> None:
    lost = flow.order[index]
    engine = FakeEngine(
        flow.worker.dies_in(lost, diary="noise\nlibfoo: no more\n\n", **end), otherwise=flow.worker
    )
    document = flow.run(engine)
    assert outcomes(document) == {**dict.fromkeys(flow.order, "measured"), lost: "failed"}
    failed = result(document, lost)
    assert failed.reason == f"its container died: {reason}; its last words: libfoo: no more"
    assert (failed.container, failed.samples_s) == ("fake-1", [])
    assert document.invocation.status == "complete"
    # A fresh container took what was left, in the same order; after the last cell nothing was.
    rest = flow.order[index + 1 :]
    assert [asked(job) for job in engine.jobs] == [flow.order, rest][: 1 + bool(rest)]
    listed = [(one.id, one.status) for one in document.invocation.containers]
    assert listed == [("fake-1", reason), ("fake-2", "exit code 0")][: 1 + bool(rest)]
    assert {result(document, identity).container for identity in rest} <= {"fake-2"}
    assert engine.closed()


@pytest.mark.parametrize("index", [1, 4])
def test_a_container_that_dies_between_cells_costs_nothing(index: int, flow: Flow) -> None:
    engine = FakeEngine(flow.worker.dies_before(flow.order[index]), otherwise=flow.worker)
    document = flow.run(engine)
    assert outcomes(document) == dict.fromkeys(flow.order, "measured")
    assert [asked(job) for job in engine.jobs] == [flow.order, flow.order[index:]]
    assert [one.status for one in document.invocation.containers] == [
        "killed by SIGKILL",
        "exit code 0",
    ]


def test_a_container_that_dies_after_its_last_cell_costs_nothing(flow: Flow) -> None:
    def life(job: Job) -> Life:
        return Life(words=flow.worker.words(job)[:-1], code=1)

    engine = FakeEngine(life)
    assert outcomes(flow.run(engine)) == dict.fromkeys(flow.order, "measured")
    assert len(engine.jobs) == 1


def test_every_cell_can_kill_its_container_and_each_is_told(flow: Flow) -> None:
    engine = FakeEngine(*[flow.worker.dies_in(identity) for identity in flow.order])
    document = flow.run(engine)
    assert outcomes(document) == dict.fromkeys(flow.order, "failed")
    assert [cell.container for cell in document.cells] == [f"fake-{n}" for n in range(1, 6)]
    assert len(document.invocation.containers) == 5


def test_containers_that_die_before_the_first_cell_are_tried_three_times(flow: Flow) -> None:
    def life(job: Job) -> Life:
        return Life(words=flow.worker.greeting()[:1], code=1, diary="ImportError: libcudart\n")

    engine = FakeEngine(otherwise=life)
    document = flow.run(engine)
    assert len(engine.jobs) == 3
    assert len(document.invocation.containers) == 3
    assert outcomes(document) == dict.fromkeys(flow.order, "failed")
    reason = "no container lived long enough to begin it: exit code 1; its last words: "
    assert {cell.reason for cell in document.cells} == {reason + "ImportError: libcudart"}
    assert document.invocation.status == "complete"
    assert document.absent["invocation.image.content"]


def test_only_deaths_in_a_row_are_counted(flow: Flow) -> None:
    def silent(job: Job) -> Life:
        return Life(words=[], code=1)

    first, second, *_ = flow.order
    engine = FakeEngine(
        silent,
        silent,
        flow.worker.dies_in(first),
        silent,
        silent,
        flow.worker.dies_in(second),
        otherwise=flow.worker,
    )
    document = flow.run(engine)
    assert [cell.outcome for cell in document.cells] == ["failed"] * 2 + ["measured"] * 3
    assert len(document.invocation.containers) == 7


def test_a_container_that_ends_in_order_without_a_cell_is_not_tried_for_ever(flow: Flow) -> None:
    def lazy(job: Job) -> Life:
        return Life(words=[*flow.worker.greeting(), record("bye")])

    engine = FakeEngine(otherwise=lazy)
    document = flow.run(engine)
    assert len(engine.jobs) == 3
    assert outcomes(document) == dict.fromkeys(flow.order, "failed")


def test_a_container_that_never_gives_a_begun_cells_outcome_is_not_tried_for_ever(
    flow: Flow,
) -> None:
    def forgetful(job: Job) -> Life:
        begun = record("cell_started", id=asked(job)[0])
        return Life(words=[*flow.worker.greeting(), begun, record("bye")])

    engine = FakeEngine(*[forgetful] * 5)
    document = flow.run(engine)
    assert outcomes(document) == dict.fromkeys(flow.order, "failed")
    assert len(engine.jobs) == 5


def test_a_cell_begun_while_another_is_in_flight_is_no_proper_record(flow: Flow) -> None:
    first, second, *rest = flow.order

    def hasty(job: Job) -> Life:
        lines = flow.worker.until(first, begun=True)(job)
        return Life(words=[*lines, *flow.worker.cell_lines(second)])

    document = flow.run(FakeEngine(hasty, otherwise=flow.worker))
    assert result(document, first).outcome == "failed"
    assert {result(document, identity).outcome for identity in (second, *rest)} == {"measured"}


def test_a_killed_calibration_tries_the_cell_in_flight_once_more(calibration: Flow) -> None:
    lost = calibration.order[2]
    engine = FakeEngine(calibration.worker.dies_in(lost), otherwise=calibration.worker)
    document = calibration.run(engine)
    assert outcomes(document) == dict.fromkeys(calibration.order, "measured")
    assert [asked(job) for job in engine.jobs] == [calibration.order, calibration.order[2:]]
    assert result(document, lost).container == "fake-2"
    assert len(document.invocation.containers) == 2


def test_a_calibration_gives_a_cell_up_that_kills_twice(calibration: Flow) -> None:
    lost = calibration.order[2]
    deadly = calibration.worker.dies_in(lost, out_of_memory=True)
    engine = FakeEngine(deadly, deadly, otherwise=calibration.worker)
    document = calibration.run(engine)
    assert outcomes(document) == {
        **dict.fromkeys(calibration.order, "measured"),
        lost: "failed",
    }
    assert "out of memory" in (result(document, lost).reason or "")
    assert [len(asked(job)) for job in engine.jobs] == [5, 3, 2]


def test_the_calibration_asks_without_k_and_a_block_with_it(calibration: Flow) -> None:
    engine = FakeEngine(otherwise=calibration.worker)
    calibration.run(engine)
    assert asked_cells(engine.jobs[0]) == [(identity, None) for identity in calibration.order]


def test_a_cell_that_hangs_is_stopped_at_its_deadline(flow: Flow) -> None:
    hung = flow.order[1]
    engine = FakeEngine(flow.worker.meets(hung, TimeoutError()), otherwise=flow.worker)
    document = flow.run(engine)
    assert outcomes(document) == {**dict.fromkeys(flow.order, "measured"), hung: "failed"}
    reason = result(document, hung).reason or ""
    assert f"the deadline for the cell {hung} has passed" in reason
    assert engine.log[:3] == [("start", "fake-1"), ("stop", "fake-1"), ("close", "fake-1")]
    assert (
        document.invocation.containers[0].status == f"the deadline for the cell {hung} has passed"
    )


def test_a_start_that_hangs_is_stopped_and_tried_again(flow: Flow) -> None:
    engine = FakeEngine(lambda job: Life(words=[TimeoutError()]), otherwise=flow.worker)
    document = flow.run(engine)
    assert outcomes(document) == dict.fromkeys(flow.order, "measured")
    assert document.invocation.containers[0].status == "the deadline for the start has passed"
    assert ("stop", "fake-1") in engine.log


def test_each_wait_ends_by_its_own_deadline(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    engine = FakeEngine(otherwise=flow.worker)
    flow.run(engine)
    start, cell = (
        durations.START_DEADLINE_S,
        durations.cell_deadline_s(flow.campaign, flow.cells[0]),
    )
    between = durations.CELL_DEADLINE_FLOOR_S
    # Four waits until the first cell has begun, one in each cell, one between any two.
    pairs = [cell, between] * 5
    assert engine.runs[0].timeouts == [start] * 4 + pairs + [between]


def change(line: str, **fields: Any) -> str:
    return wire.dump_record({**json.loads(line), **fields})


@pytest.mark.parametrize(
    "garbage",
    [
        "Segmentation fault",
        "",
        "[1, 2]",
        "{}",
        '{"record": 7}',
        '{"record": "confession"}',
        '{"record": "cell"}',
        '{"record": "cell", "cell": {"id": "made.a"}}',
        '{"record": "cell", "cell": 7}',
        '{"record": "cell_started", "id": "never.asked"}',
        '{"record": "facts", "facts": {"a": NaN}, "seconds": 1.0}',
        '{"record": "facts", "facts": {"a": 1e999}, "seconds": 1.0}',
        '{"record": "facts", "facts": [], "seconds": 1.0}',
        '{"record": "facts", "facts": {"a": []}, "seconds": 1.0}',
        '{"record": "facts", "facts": {}, "seconds": "long"}',
        '{"record": "hello", "schema": "one"}',
        '{"record": "hello"}',
        '{"record": "startup", "stages": 5}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:40],
)
def test_garbage_costs_the_cell_in_flight_and_stops_its_container(garbage: str, flow: Flow) -> None:
    lost = flow.order[2]
    engine = FakeEngine(flow.worker.meets(lost, garbage), otherwise=flow.worker)
    document = flow.run(engine)
    assert outcomes(document) == {**dict.fromkeys(flow.order, "measured"), lost: "failed"}
    reason = result(document, lost).reason or ""
    assert reason.startswith("its container died: ")
    assert 30 < len(reason) < 700
    assert engine.log[:3] == [("start", "fake-1"), ("stop", "fake-1"), ("close", "fake-1")]


@pytest.mark.parametrize(
    "fields",
    [
        {"samples_s": ["a"]},
        {"samples_s": [float("nan")]},
        {"samples_s": [-1.0]},
        {"samples_s": []},
        {"outcome": "wonderful"},
        {"outcome": "pending", "samples_s": []},
        {"started": "yesterday"},
        {"started": "2026-11-21T10:00:00"},
        {"work": {"amount": 1.0}},
        {"params": {"n": 7}},
        {"samples_s": [0.0]},
        {"reason": "measured for a reason"},
        {"outcome": "failed", "samples_s": [], "calls_per_sample": None},
        {"outcome": "skipped", "reason": "but it has samples"},
        {"ended": None},
        {"calls_per_sample": 0},
    ],
    ids=str,
)
def test_a_result_that_no_document_may_hold_is_garbage(fields: dict[str, Any], flow: Flow) -> None:
    lost = flow.order[2]

    def life(job: Job) -> Life:
        before = flow.worker.until(lost, begun=True)(job)
        outcome = json.loads(flow.worker.cell_lines(lost)[1])
        outcome["cell"].update(fields)
        return Life(words=[*before, json.dumps(outcome)])

    document = flow.run(FakeEngine(life, otherwise=flow.worker))
    assert outcomes(document) == {**dict.fromkeys(flow.order, "measured"), lost: "failed"}


def test_an_outcome_out_of_turn_is_garbage(flow: Flow) -> None:
    first, second, *_ = flow.order

    def life(job: Job) -> Life:
        return Life(
            words=[
                *flow.worker.until(first, begun=True)(job),
                flow.worker.cell_lines(second)[1],
            ]
        )

    document = flow.run(FakeEngine(life, otherwise=flow.worker))
    assert f"the outcome of {second} came out of turn" in (result(document, first).reason or "")
    assert result(document, second).outcome == "measured"


def test_an_image_of_another_schema_is_told_with_both_numbers(flow: Flow) -> None:
    def life(job: Job) -> Life:
        hello, *rest = flow.worker.words(job)
        return Life(words=[change(hello, schema=99), *rest])

    engine = FakeEngine(otherwise=life)
    document = flow.run(engine)
    assert outcomes(document) == dict.fromkeys(flow.order, "failed")
    assert f"speaks schema 99, this is {wire.SCHEMA}" in (document.cells[0].reason or "")
    assert len(engine.jobs) == 3


def test_a_worker_that_refuses_its_arm_is_a_gpu_error(tmp_path: Path) -> None:
    flow = Flow(tmp_path, arm="cuda")

    def life(job: Job) -> Life:
        return Life(
            words=[flow.worker.greeting()[0], record("refused", reason="no GPU in here")], code=4
        )

    engine = FakeEngine(life)
    with pytest.raises(GpuError, match="the arm cuda can't be had: no GPU in here") as caught:
        flow.run(engine)
    assert caught.value.exit_status == 4
    assert caught.value.remedy
    assert engine.closed()
    assert flow.kept[-1].invocation.status == "interrupted"


def test_a_tensorflow_that_lacks_something_is_an_engine_error(tmp_path: Path) -> None:
    flow = Flow(tmp_path)

    def life(job: Job) -> Life:
        words = [flow.worker.greeting()[0], record("unfit", reason="it lacks tf.thing")]
        return Life(words=words, code=3)

    engine = FakeEngine(life)
    with pytest.raises(
        EngineError, match=r"the arm cpu can't be run: it lacks tf\.thing"
    ) as caught:
        flow.run(engine)
    assert caught.value.exit_status == 3
    assert "CUDA_IMAGE" in caught.value.remedy
    assert engine.closed()
    assert flow.kept[-1].invocation.status == "interrupted"


def interrupted(flow: Flow, measured: int) -> Document:
    """The last document that was kept, as far as it had come."""
    document = flow.kept[-1]
    assert document.invocation.status == "interrupted"
    assert document.invocation.ended is not None
    done = [cell.id for cell in document.cells if cell.outcome == "measured"]
    assert done == flow.order[:measured]
    assert [cell.outcome for cell in document.cells[measured:]] == ["pending"] * (5 - measured)
    assert not is_complete(document, flow.cells)
    return document


def test_an_engine_that_goes_away_in_a_run_leaves_what_was_measured(flow: Flow) -> None:
    gone = EngineError("the engine has gone", "start it")
    engine = FakeEngine(flow.worker.meets(flow.order[2], gone))
    with pytest.raises(EngineError, match="the engine has gone"):
        flow.run(engine)
    document = interrupted(flow, 2)
    assert document.invocation.containers[0].status == "stopped by the host"
    assert engine.log == [("start", "fake-1"), ("stop", "fake-1"), ("close", "fake-1")]


def test_an_engine_that_can_not_even_say_how_it_ended_leaves_what_was_measured(flow: Flow) -> None:
    gone = EngineError("the engine has gone", "start it")
    engine = FakeEngine(flow.worker.meets(flow.order[2], gone, farewell=gone))
    with pytest.raises(EngineError, match="the engine has gone"):
        flow.run(engine)
    document = interrupted(flow, 2)
    assert document.invocation.containers[0].ended is None


def test_an_engine_that_refuses_to_start_leaves_an_empty_document(flow: Flow) -> None:
    engine = FakeEngine(EngineError("no space", "prune"))
    with pytest.raises(EngineError, match="no space"):
        flow.run(engine)
    assert interrupted(flow, 0).invocation.containers == []


def test_an_engine_that_refuses_the_second_container_leaves_what_the_first_did(flow: Flow) -> None:
    engine = FakeEngine(flow.worker.dies_before(flow.order[3]), EngineError("no space", "prune"))
    with pytest.raises(EngineError, match="no space"):
        flow.run(engine)
    assert len(interrupted(flow, 3).invocation.containers) == 1


def test_a_person_who_interrupts_stops_the_container_and_keeps_the_rest(flow: Flow) -> None:
    engine = FakeEngine(flow.worker.meets(flow.order[2], KeyboardInterrupt(), diary="so far\n"))
    with pytest.raises(KeyboardInterrupt):
        flow.run(engine)
    interrupted(flow, 2)
    assert engine.log == [("start", "fake-1"), ("stop", "fake-1"), ("close", "fake-1")]
    assert flow.recorder is not None
    assert flow.recorder.diaries == [("fake-1", "so far\n")]


def test_an_interrupt_while_a_document_is_written_stops_the_container_too(flow: Flow) -> None:
    keep = flow.keep

    def interrupt(document: Document) -> None:
        keep(document)
        if len(flow.kept) == 2:
            raise KeyboardInterrupt

    flow.keep = interrupt  # type: ignore[method-assign]
    engine = FakeEngine(otherwise=flow.worker)
    with pytest.raises(KeyboardInterrupt):
        flow.run(engine)
    assert engine.log == [("start", "fake-1"), ("stop", "fake-1"), ("close", "fake-1")]
    assert flow.kept[-1].invocation.status == "interrupted"


def test_diaries_of_all_containers_are_there_for_the_log(flow: Flow) -> None:
    engine = FakeEngine(
        flow.worker.dies_in(flow.order[0], diary="first\n"),
        lambda job: flow.worker(job).but(diary="second\n"),
    )
    flow.run(engine)
    assert flow.recorder is not None
    assert flow.recorder.diaries == [("fake-1", "first\n"), ("fake-2", "second\n")]


def test_the_hosts_own_cell_is_measured_from_outside(tmp_path: Path) -> None:
    flow = Flow(tmp_path, cells=[START, *make_cells("a", "b")])
    engine = FakeEngine(otherwise=flow.worker)
    document = flow.run(engine)
    assert START.id not in asked(engine.jobs[0])
    start = result(document, START.id)
    assert start.outcome == "measured"
    assert start.samples_s == [document.invocation.containers[0].start_s]
    assert (start.calls_per_sample, start.container) == (1, "fake-1")
    assert start.started == document.invocation.containers[0].started


def test_the_hosts_own_cell_is_the_first_containers(tmp_path: Path) -> None:
    flow = Flow(tmp_path, cells=[START, *make_cells("a", "b")])
    engine = FakeEngine(flow.worker.dies_in(flow.order[0]), otherwise=flow.worker)
    start = result(flow.run(engine), START.id)
    assert (start.outcome, start.container, len(start.samples_s)) == ("measured", "fake-1", 1)


def test_the_hosts_own_cell_fails_where_no_container_speaks(tmp_path: Path) -> None:
    flow = Flow(tmp_path, cells=[START, *make_cells("a", "b")])
    document = flow.run(FakeEngine(otherwise=lambda job: Life(words=[], code=125)))
    assert outcomes(document) == dict.fromkeys([START.id, *flow.order], "failed")
    assert result(document, START.id).reason == "no container came up"


@pytest.mark.parametrize("outcome", ["skipped", "failed"])
def test_what_the_calibration_excluded_is_not_asked_for_again(outcome: Any, tmp_path: Path) -> None:
    excluded = {"made.b": Excluded(outcome=outcome, reason="would take an hour")}
    flow = Flow(tmp_path, fields={"excluded": {"cpu": excluded, "cuda": {}}})
    engine = FakeEngine(otherwise=flow.worker)
    document = flow.run(engine)
    assert "made.b" not in asked(engine.jobs[0])
    assert len(asked(engine.jobs[0])) == 4
    left_out = result(document, "made.b")
    assert left_out.outcome == outcome
    assert left_out.reason == "in the calibration: would take an hour"
    assert document.invocation.status == "complete"


def test_where_all_is_excluded_no_container_is_started(tmp_path: Path) -> None:
    cells = make_cells("a", "b")
    why = {cell.id: Excluded(outcome="skipped", reason="no") for cell in cells}
    flow = Flow(tmp_path, cells=cells, fields={"excluded": {"cpu": why}})
    engine = FakeEngine()
    document = flow.run(engine)
    assert engine.jobs == []
    assert outcomes(document) == {"made.a": "skipped", "made.b": "skipped"}
    assert document.invocation.status == "complete"


def test_where_all_is_excluded_a_containers_start_is_no_failure(tmp_path: Path) -> None:
    (inside,) = make_cells("a")
    (outside,) = (replace(cell, by_host=True) for cell in make_cells("start"))
    why = {inside.id: Excluded(outcome="skipped", reason="no")}
    flow = Flow(tmp_path, cells=[inside, outside], fields={"excluded": {"cpu": why}})
    document = flow.run(FakeEngine())
    assert set(outcomes(document).values()) == {"skipped"}
    assert "no container was needed" in (result(document, outside.id).reason or "")


def test_what_the_worker_skips_or_fails_arrives_as_it_is(flow: Flow) -> None:
    slow, wrong, *_ = flow.order
    flow.worker.outcomes = {
        slow: {"outcome": "skipped", "reason": "would take 9 s here"},
        wrong: {"outcome": "failed", "reason": "wrong result: off by 7"},
    }
    engine = FakeEngine(otherwise=flow.worker)
    document = flow.run(engine)
    assert (result(document, slow).outcome, result(document, slow).reason) == (
        "skipped",
        "would take 9 s here",
    )
    assert result(document, wrong).reason == "wrong result: off by 7"
    assert len(engine.jobs) == 1


def test_an_invocation_is_complete_when_it_ended_and_holds_every_cell(flow: Flow) -> None:
    document = flow.run(FakeEngine(otherwise=flow.worker))
    assert is_complete(document, flow.cells)
    assert not is_complete(document, [*flow.cells, START])
    assert not is_complete(flow.kept[-2], flow.cells)


def test_an_engine_without_isolation_says_so(flow: Flow) -> None:
    engine = FakeEngine(otherwise=flow.worker, isolation="none")
    assert flow.run(engine).invocation.isolation == "none"


class Watching:
    """An observation that remembers which containers it was told to follow."""

    def __init__(self, seen: Telemetry | str) -> None:
        self.seen = seen
        self.followed: list[str] = []
        self.ends = 0

    def follow(self, running: Any) -> None:
        self.followed.append(running.id)

    def end(self) -> Telemetry | str:
        self.ends += 1
        return self.seen


SEEN = Telemetry(started=synthetic.CREATED, at_s=[0.0], series={"gpu.power_w": [300.0]})


def test_an_invocation_is_watched_with_every_one_of_its_containers(flow: Flow) -> None:
    watching, asked_for = Watching(SEEN), []

    def observe(*words: Any) -> Watching:
        asked_for.append(words)
        return watching

    flow.observe = observe
    engine = FakeEngine(flow.worker.dies_in(flow.order[2]), otherwise=flow.worker)
    document = flow.run(engine)
    assert asked_for == [("cpu", None, (0, 1, 3))]
    assert watching.followed == ["fake-1", "fake-2"]
    assert watching.ends == 1
    assert document.telemetry == SEEN
    assert "telemetry" not in document.absent
    assert flow.kept[0].telemetry is None
    assert flow.kept[0].absent["telemetry"] == "the invocation is not over"


def test_what_was_seen_until_an_interruption_is_kept(flow: Flow) -> None:
    watching = Watching(SEEN)
    flow.observe = lambda *_: watching
    engine = FakeEngine(flow.worker.meets(flow.order[1], KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        flow.run(engine)
    assert flow.kept[-1].invocation.status == "interrupted"
    assert flow.kept[-1].telemetry == SEEN


@pytest.mark.parametrize("late", [True, False])
def test_why_nothing_was_seen_stands_in_the_telemetrys_place(late: bool, flow: Flow) -> None:
    flow.observe = lambda *_: Watching("the sampler hung") if late else "the sampler hung"
    document = flow.run(FakeEngine(otherwise=flow.worker))
    assert document.telemetry is None
    assert document.absent["telemetry"] == "the sampler hung"


def end_of(life: Life, *words: Word, **end: Any) -> Life:
    """The life with other last words than its good-bye."""
    return life.but(words=[*list(life.words)[:-1], *words], **end)


@pytest.mark.parametrize(
    ("words", "end", "said"),
    [
        ((), {"code": 134}, "it was not told: killed by SIGABRT"),
        ((TimeoutError(),), {}, "it was not told: the deadline for the end has passed"),
    ],
    ids=["aborts", "hangs"],
)
def test_a_gpu_that_breaks_behind_the_last_cell_is_not_fine(
    tmp_path: Path, words: tuple[Word, ...], end: dict[str, Any], said: str
) -> None:
    flow = Flow(tmp_path, arm="cuda")
    engine = FakeEngine(otherwise=lambda job: end_of(flow.worker(job), *words, **end))
    document = flow.run(engine)
    assert str(document.facts[AT_END]).startswith(said)
    assert find_whole_disturbance(document) == "gpu-lost"
    # Without a GPU it is an ending like any other: every outcome had been told.
    flow = Flow(tmp_path / "cpu")
    engine = FakeEngine(otherwise=lambda job: end_of(flow.worker(job), *words, **end))
    assert find_whole_disturbance(flow.run(engine)) is None


def test_each_container_keeps_the_facts_in_which_it_differs(tmp_path: Path) -> None:
    flow = Flow(tmp_path, arm="cuda")
    lost = {**FACTS, **GPU_FACTS, "cuda.cache.at_start.files": 0}

    def first(job: Job) -> Life:
        head = flow.worker.until(flow.order[1], begun=True)(job)
        told = record("facts", facts=lost, seconds=0.1)
        gone = record("facts", facts={**lost, AT_END: "gives a wrong result"}, seconds=0.1)
        return Life(words=[*head[:2], told, *head[3:], gone], code=7)

    document = flow.run(FakeEngine(first, otherwise=flow.worker))
    one, two = document.invocation.containers
    assert two.facts == {}
    assert one.facts == {"cuda.cache.at_start.files": 0, AT_END: "gives a wrong result"}
    cell = next(cell for cell in document.cells if cell.container == one.id)
    assert facts_of(document, cell.container)["cuda.cache.at_start.files"] == 0
    assert "cuda.cache.at_start.files" not in facts_of(document, two.id)
    # One container's bad end is not made good by the next one's.
    assert find_whole_disturbance(document) == "gpu-lost"


@pytest.mark.parametrize(
    ("end", "given_up", "compiled"),
    [
        (900, True, True),
        (1, True, True),
        (0, True, False),
        (None, True, False),
        # Nothing was lost to it.
        (900, False, False),
    ],
)
def test_what_the_first_container_compiled_the_second_finds(
    tmp_path: Path, end: int | None, *, given_up: bool, compiled: bool
) -> None:
    flow = Flow(tmp_path, arm="cuda", block=0)
    if given_up:
        # By the container that died, before it did.
        reason = "would take 9 s here; the profile's budget for this cell is 5 s"
        flow.worker.outcomes = {flow.order[0]: {"outcome": "skipped", "reason": reason}}

    def told(start: int | None, **more: int | None) -> str:
        facts = {**FACTS, **GPU_FACTS, "cuda.cache.at_start.files": start, **more}
        return record("facts", facts=facts, seconds=0.1)

    def dies(job: Job) -> Life:
        head = flow.worker.until(flow.order[1], begun=True)(job)
        return Life(words=[*head[:2], told(0), *head[3:]], code=137)

    def goes_on(job: Job) -> Life:
        # What it adds itself is nothing: its own start is no sign of what was compiled.
        *words, bye = flow.worker.words(job)
        last = told(end, **{"cuda.cache.at_end.files": end})
        return Life(words=[*words[:2], told(end), *words[3:], last, bye])

    document = flow.run(FakeEngine(dies, otherwise=goes_on))
    assert len(document.invocation.containers) == 2
    assert document.facts["cuda.cache.at_start.files"] == end
    assert count_compiled(document) == end
    assert plan.has_compiled(document) is compiled
