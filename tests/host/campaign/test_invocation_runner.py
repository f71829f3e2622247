"""One invocation against containers that live and die by scripts: what is lost, and what never is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.campaign.time_spent import find_deaths
from suite.clock import Span
from suite.errors import EngineError, GpuError, Interrupted
from suite.host.campaign.arms import known_arms
from suite.host.campaign.document_builder import is_complete
from suite.host.engine import LABEL, Job
from suite.host.machine.identity import describe_machine
from suite.host.machine.machine import describe_binding, find_cores
from suite.host.provision import resources
from suite.model import Document, Excluded, Telemetry
from suite.worker.scenarios.overhead import STAGES
from tests import synthetic
from tests.fakes.engine import Life, Script, asked_arm, asked_cells, fake_image, record
from tests.host.campaign.flow import FINDS, START, Flow, make_cells, result, unmeasured

STOPPED = [("start", "fake-1"), ("abandon", "fake-1")]
GONE = EngineError("the engine has gone", "start it")
FULL = EngineError("no space", "prune")


def test_all_goes_well(flow: Flow) -> None:
    document = flow.run()
    assert [cell.id for cell in document.cells] == flow.order
    assert unmeasured(document) == {}
    assert is_complete(document, flow.campaign)
    assert not is_complete(document, replace(flow.campaign, cells=[*flow.cells, START]))
    assert document.invocation.ended is not None
    (container,) = document.invocation.containers
    assert (container.id, container.status) == ("fake-1", "exit code 0")
    assert container.start_s is not None
    assert {cell.container for cell in document.cells} == {"fake-1"}
    assert flow.engine.log == [("start", "fake-1"), ("close", "fake-1")]
    # What the worker tells of itself, and what the engine does.
    assert document.facts["cpu.model"] == "Made-Up Processor"
    assert document.invocation.image.content == "f" * 64
    assert "invocation.image.content" not in document.absent
    assert document.invocation.engine == {
        "name": "docker",
        "version": "0.0-fake",
        "endpoint": "none",
        **describe_machine(),
        **describe_binding(),
        "gpu.request": "none",
        "gpu.compile_cache": "none",
    }
    assert set(document.spent_s) == {"container_start", *STAGES, "clone", "facts", "writing"}
    assert document.spent_s["import"] == 2.0


def test_a_type_that_a_person_states_stands_before_the_clouds(flow: Flow) -> None:
    flow.campaign = replace(flow.campaign, settings={"type": "g5.xlarge"})
    engine = flow.run().invocation.engine
    told = describe_machine()["machine.type"]
    assert (engine["machine.type"], engine["machine.type_stated"]) == ("g5.xlarge", True)
    assert engine["machine.type_told"] == told


def test_the_worker_is_asked_for_the_cells_in_their_order_under_the_limits(flow: Flow) -> None:
    flow.campaign = replace(flow.campaign, calls={"cpu": dict.fromkeys(flow.order, 9)})
    document = flow.run()
    (job,) = flow.engine.jobs
    assert asked_cells(job) == [(identity, 9) for identity in flow.order]
    assert asked_arm(job) == "cpu"
    assert (job.image, job.cpus, job.memory_bytes) == (fake_image("cpu"), (0, 1, 3), 2**30)
    assert (job.gpu, job.environment) == (None, {"CUDA_VISIBLE_DEVICES": "-1"})
    assert job.labels == {f"{LABEL}.campaign": flow.campaign.id, f"{LABEL}.invocation": "cpu-1"}
    limits = {"cpus": "0-1,3", "cpu_count": 3, "memory_bytes": 2**30}
    assert document.invocation.limits == limits
    assert {cell.calls_per_sample for cell in document.cells} == {9}


def test_a_place_on_disk_is_given_to_those_that_read_files(tmp_path: Path) -> None:
    cells = make_cells(*"abc")
    first, second, third = Flow(tmp_path / "order", cells=cells).order
    flow = Flow(tmp_path, cells=[replace(one, reads_files=one.id == first) for one in cells])
    flow.run(flow.worker.dies_in(second))
    before, after = flow.engine.jobs
    assert [volume.purpose for volume in before.volumes] == ["scratch"]
    # What is left when the first container has died reads none.
    assert flow.asked[1] == [third]
    assert after.volumes == ()


def test_the_document_is_kept_after_every_cell(flow: Flow) -> None:
    flow.run()
    done = [sum(cell.outcome != "pending" for cell in kept.cells) for kept in flow.kept]
    # One for each cell, one when the container has ended, one at the end.
    assert done == [1, 2, 3, 4, 5, 5, 5]
    assert [kept.invocation.status for kept in flow.kept] == ["running"] * 6 + ["complete"]
    assert not is_complete(flow.kept[-2], flow.campaign)
    assert flow.shown == flow.order


@pytest.mark.parametrize(
    ("index", "end", "reason"),
    [
        (0, {"code": 137, "out_of_memory": True}, "out of memory (limit 1.00 GiB)"),
        (2, {"code": 139}, "killed by SIGSEGV (a crash in native code)"),
        (4, {"code": 0}, "exit code 0"),
        (4, {"code": None}, "could not be killed"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_a_container_that_dies_in_a_cell_costs_that_cell_alone(
    index: int, end: dict[str, Any], reason: str, flow: Flow
) -> None:
    lost = flow.order[index]
    document = flow.run(flow.worker.dies_in(lost, diary="noise\nlibfoo: no more\n\n", **end))
    assert unmeasured(document) == {lost: "failed"}
    failed = result(document, lost)
    assert failed.reason == f"its container died: {reason}; its last words: libfoo: no more"
    assert (failed.container, failed.samples_s) == ("fake-1", [])
    assert document.invocation.status == "complete"
    # A fresh container took what was left, in the same order; after the last cell nothing was.
    rest = flow.order[index + 1 :]
    assert flow.asked == [flow.order, rest][: 1 + bool(rest)]
    listed = [(one.id, one.status) for one in document.invocation.containers]
    assert listed == [("fake-1", reason), ("fake-2", "exit code 0")][: 1 + bool(rest)]
    assert {result(document, identity).container for identity in rest} <= {"fake-2"}
    assert flow.engine.closed()


def test_containers_that_die_before_the_first_cell_are_tried_three_times(flow: Flow) -> None:
    words = flow.worker.greeting()[:1]
    dead = Life(words=words, code=1, diary="ImportError: libcudart\n")
    document = flow.run(otherwise=lambda _: dead)
    assert len(flow.engine.jobs) == len(document.invocation.containers) == 3
    assert unmeasured(document) == dict.fromkeys(flow.order, "failed")
    reason = "no container survived long enough to begin it: exit code 1; its last words: "
    assert {cell.reason for cell in document.cells} == {reason + "ImportError: libcudart"}
    assert document.invocation.status == "complete"
    assert document.absent["invocation.image.content"]


@pytest.mark.parametrize("index", [1, 5])
def test_a_container_that_dies_between_cells_costs_nothing(index: int, flow: Flow) -> None:
    def dies(job: Job) -> Life:
        return Life(words=flow.worker.words(job)[: 3 + 2 * index], code=137)

    document = flow.run(dies)
    assert unmeasured(document) == {}
    # Behind the last cell nothing is left for another.
    assert flow.asked == [flow.order, flow.order[index:]][: 1 + (index < 5)]
    assert document.invocation.containers[0].status == "killed by SIGKILL"


def test_only_deaths_in_a_row_are_counted(flow: Flow) -> None:
    def silent(_: Job) -> Life:
        return Life(words=[], code=1)

    first, *others = map(flow.worker.dies_in, flow.order)
    document = flow.run(silent, silent, first, silent, silent, *others)
    assert unmeasured(document) == dict.fromkeys(flow.order, "failed")
    assert [cell.container for cell in document.cells] == [f"fake-{n}" for n in (3, 6, 7, 8, 9)]


def test_a_first_block_gives_a_cell_up_that_kills_twice(first: Flow, tmp_path: Path) -> None:
    lost = first.order[2]
    document = first.run(first.worker.dies_in(lost))
    # Its K is what it is to find.
    assert {calls for job in first.engine.jobs for _, calls in asked_cells(job)} == {None}
    assert unmeasured(document) == {}
    assert first.asked == [first.order, first.order[2:]]
    assert result(document, lost).container == "fake-2"
    again = Flow(tmp_path / "again", fields=FINDS)
    deadly = again.worker.dies_in(lost, out_of_memory=True)
    document = again.run(deadly, deadly)
    assert unmeasured(document) == {lost: "failed"}
    assert "out of memory" in (result(document, lost).reason or "")
    assert [len(cells) for cells in again.asked] == [5, 3, 2]


def interrupted(flow: Flow, measured: int) -> Document:
    """The last document that was kept, as far as it had come."""
    document = flow.kept[-1]
    assert document.invocation.status == "interrupted"
    assert document.invocation.ended is not None
    assert list(unmeasured(document).items()) == [(i, "pending") for i in flow.order[measured:]]
    assert not is_complete(document, flow.campaign)
    return document


def test_an_engine_that_goes_away_in_a_run_leaves_what_was_measured(
    flow: Flow, tmp_path: Path
) -> None:
    with pytest.raises(EngineError, match="has gone"):
        flow.run(flow.worker.meets(flow.order[2], GONE))
    (container,) = interrupted(flow, 2).invocation.containers
    assert container.status == "stopped by the host"
    assert flow.engine.log == STOPPED
    # Of the GPU's trouble the other arms know nothing: nobody leaves the engine.
    flow = Flow(tmp_path / "gpu")
    with pytest.raises(GpuError, match="lost"):
        flow.run(flow.worker.meets(flow.order[2], GpuError("the GPU is lost", "look")))
    assert flow.engine.log == [("start", "fake-1"), ("close", "fake-1")]
    # It can't even say how the container ended, nor remove it.
    flow = Flow(tmp_path / "mute")
    with pytest.raises(EngineError, match="has gone") as caught:
        flow.run(
            flow.worker.dies_before(flow.order[2], farewell=GONE, left="fake-1 was left behind")
        )
    assert interrupted(flow, 2).invocation.containers[0].status == "stopped by the host"
    assert flow.engine.log == [("start", "fake-1"), ("close", "fake-1"), ("abandon", "fake-1")]
    assert caught.value.remedy == "start it; fake-1 was left behind"


def test_an_engine_that_refuses_to_start_leaves_what_was_measured(flow: Flow) -> None:
    with pytest.raises(EngineError, match="no space"):
        flow.run(flow.worker.dies_before(flow.order[3]), FULL)
    assert len(interrupted(flow, 3).invocation.containers) == 1


SEEN = Telemetry(started=synthetic.CREATED, at_s=[0.0], series={"gpu.power_w": [300.0]})


class Watching:
    """An observation that remembers which containers it was told to follow."""

    def __init__(self, seen: Telemetry | str = SEEN) -> None:
        self.seen = seen
        self.asked: list[tuple[object, ...]] = []
        self.followed: list[str] = []
        self.ends = 0

    def __call__(self, *words: object) -> Watching:
        self.asked.append(words)
        return self

    def follow(self, running: Any) -> None:
        self.followed.append(running.id)

    def end(self, _span: Span) -> Telemetry | str:
        self.ends += 1
        return self.seen


def test_a_person_who_interrupts_stops_the_container_and_keeps_the_rest(flow: Flow) -> None:
    flow.observe = Watching()
    end = {"diary": "so far\n", "left": "the container fake-1 was left behind"}
    with pytest.raises(Interrupted) as caught:
        flow.run(flow.worker.meets(flow.order[2], KeyboardInterrupt(), **end))
    # What is left behind is told, and how to remove it.
    assert (caught.value.exit_status, caught.value.remedy) == (130, end["left"])
    assert interrupted(flow, 2).telemetry == SEEN
    assert flow.engine.log == STOPPED
    assert flow.runner.stderr == [("fake-1", "so far\n")]


def test_the_hosts_own_cell_is_measured_from_outside_and_once(tmp_path: Path) -> None:
    flow = Flow(tmp_path, cells=[START, *make_cells("a", "b")])
    document = flow.run(flow.worker.dies_in(flow.order[0]))
    assert START.id not in flow.asked[0]
    start, first = result(document, START.id), document.invocation.containers[0]
    assert (start.outcome, start.samples_s) == ("measured", [first.start_s])
    assert (start.calls_per_sample, start.container) == (1, "fake-1")
    assert start.started == first.started


def test_what_the_first_block_excluded_is_not_asked_for_again(tmp_path: Path) -> None:
    excluded = {"made.b": Excluded(outcome="failed", reason="would take an hour")}
    flow = Flow(tmp_path, fields={"excluded": {"cpu": excluded, "cuda": {}}})
    document = flow.run()
    assert sorted(flow.asked[0]) == ["made.a", "made.c", "made.d", "made.e"]
    assert unmeasured(document) == {"made.b": "failed"}
    assert result(document, "made.b").reason == "in the first block: would take an hour"
    assert document.invocation.status == "complete"


def test_where_all_is_excluded_no_container_is_started_and_that_is_no_failure(
    tmp_path: Path,
) -> None:
    cells = make_cells("a", "b")
    why = {cell.id: Excluded(outcome="skipped", reason="no") for cell in cells}
    flow = Flow(tmp_path, cells=[*cells, START], fields={"excluded": {"cpu": why}})
    document = flow.run()
    assert flow.engine.jobs == []
    assert unmeasured(document) == dict.fromkeys([START.id, *why], "skipped")
    assert document.invocation.status == "complete"


def test_an_invocation_is_watched_with_every_one_of_its_containers(flow: Flow) -> None:
    watching = flow.observe = Watching()
    dies = flow.worker.dies_in(flow.order[2], diary="first\n")
    document = flow.run(dies, lambda job: flow.worker(job).but(diary="second\n"))
    assert watching.asked == [(known_arms()["cpu"], None, (0, 1, 3))]
    assert (watching.followed, watching.ends) == (["fake-1", "fake-2"], 1)
    assert document.telemetry == SEEN
    assert "telemetry" not in document.absent
    assert flow.kept[0].telemetry is None
    assert flow.kept[0].absent["telemetry"]
    # And what each said last is there for the log.
    assert flow.runner.stderr == [("fake-1", "first\n"), ("fake-2", "second\n")]


def test_why_nothing_was_seen_stands_in_the_telemetrys_place(flow: Flow) -> None:
    flow.observe = Watching("the sampler hung")
    document = flow.run()
    assert document.telemetry is None
    assert document.absent["telemetry"] == "the sampler hung"


def with_scripts(folder: Path, **fields: Any) -> Flow:
    """Two ordinary cells, and the cells of two scripts between and behind them."""
    a, b, *posted = make_cells("a", "b", "x1", "x2", "y1")
    x1, x2, y1 = (
        replace(one, process=process, one_shot=True)
        for one, process in zip(posted, ("x", "x", "y"), strict=True)
    )
    return Flow(folder, cells=[x1, a, x2, y1, b], **fields)


def test_each_script_has_a_container_of_its_own_behind_all_other_cells(tmp_path: Path) -> None:
    flow = with_scripts(tmp_path)
    names = {one.id: one for one in flow.cells}
    document = flow.run()
    assert unmeasured(document) == {}
    first, *scripts = flow.asked
    assert {names[identity].process for identity in first} == {None}
    assert len(first) == 2
    # The cells of one stand in the plan's order, however the invocation's is drawn.
    by_process = {names[ids[0]].process: ids for ids in scripts}
    x1, _, x2, y1, _ = (one.id for one in flow.cells)
    assert by_process == {"x": [x1, x2], "y": [y1]}
    assert [job.arguments[0] for job in flow.engine.jobs] == ["measure", "script", "script"]
    # A script is asked for as it is: nothing of it is warmed up, or called several times.
    assert flow.engine.jobs[1].arguments[1:] == tuple(scripts[0])
    processes = [one.process for one in document.invocation.containers]
    assert processes[0] is None
    assert set(processes) == {None, "x", "y"}
    assert find_deaths([document]) == []


def test_what_is_said_of_an_invocation_is_no_script_s(tmp_path: Path) -> None:
    flow = with_scripts(tmp_path)

    def life(job: Job) -> Life:
        soft = job.arguments[0] == "script"
        facts = record("facts", facts={"tensorflow.soft_placement": soft}, seconds=0.1)
        hello, start, _, *cells = flow.worker.words(job)
        return Life(words=[hello, start, facts, *cells])

    document = flow.run(otherwise=life)
    assert document.facts["tensorflow.soft_placement"] is False
    first, *scripts = document.invocation.containers
    assert first.facts == {}
    assert [one.facts for one in scripts] == [{"tensorflow.soft_placement": True}] * 2


@pytest.mark.parametrize("fields", [FINDS, {}])
def test_a_script_that_dies_costs_all_of_its_cells_and_no_other(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    flow = with_scripts(tmp_path, fields=fields)
    x1, _, x2, _, _ = (one.id for one in flow.cells)

    def life(job: Job) -> Life:
        if x1 in job.arguments:
            return flow.worker.dies_in(x1)(job)
        return flow.worker(job)

    document = flow.run(otherwise=life)
    assert set(unmeasured(document)) == {x1, x2}
    # A block that finds K tries it once more.
    assert sum(x1 in asked for asked in flow.asked) == (2 if fields else 1)
    (death, *_) = find_deaths([document])
    assert death.replaced == bool(fields)


def bind(folder: Path, **fields: Any) -> Flow:
    """An ordinary cell, and one each with one CPU, two, and the three that there are."""
    usual, *some = make_cells("usual", "one", "two", "three")
    bound = [replace(c, process=f"cpus={n}", cpus=n) for n, c in enumerate(some, start=1)]
    return Flow(folder, cells=[usual, *bound], **fields)


def see_cpus(flow: Flow, *, usable: int | None = None) -> Script:
    """A worker that sees what it is given, or always so many CPUs."""

    def life(job: Job) -> Life:
        hello, start, _, *cells = flow.worker.words(job)
        seen = len(job.cpus) if usable is None else usable
        facts = record("facts", facts={"cpu.usable": seen}, seconds=0.1)
        return Life(words=[hello, start, facts, *cells])

    return life


@pytest.mark.parametrize(
    ("here", "siblings", "two"),
    [(True, {0: "0,3", 1: "1", 3: "0,3"}, (0, 3)), (True, {}, (0, 1)), (False, {0: "0,3"}, (0, 1))],
)
def test_a_process_has_the_first_of_the_cpus_core_by_core(
    here: bool,
    siblings: dict[int, str],
    two: tuple[int, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = tmp_path / "root"
    for cpu, listed in siblings.items():
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(listed, encoding="utf-8")
    monkeypatch.setattr(resources, "find_cores", lambda cpus: find_cores(cpus, root))
    flow = bind(tmp_path / "flow")
    document = flow.run(otherwise=see_cpus(flow), here=here)
    assert unmeasured(document) == {}
    given = {flow.asked[place][0]: job.cpus for place, job in enumerate(flow.engine.jobs)}
    assert given == {
        "made.usual": (0, 1, 3),
        "made.one": (0,),
        "made.two": two,
        "made.three": (0, 1, 3),
    }
    # What a document says of the machine is of the process that had all of it.
    assert document.facts["cpu.usable"] == 3
    seen = {c.process: c.facts.get("cpu.usable", 3) for c in document.invocation.containers}
    assert seen == {None: 3, "cpus=1": 1, "cpus=2": 2, "cpus=3": 3}


def test_a_process_that_sees_other_cpus_has_no_number(tmp_path: Path) -> None:
    flow = bind(tmp_path)
    document = flow.run(otherwise=see_cpus(flow, usable=3))
    assert unmeasured(document) == {"made.one": "failed", "made.two": "failed"}
    reason = "its process could use 3 CPUs; asked for: 1"
    assert result(document, "made.one").reason == reason
    assert result(document, "made.one").samples_s == []


def test_a_cell_that_dies_on_some_cpus_takes_no_other_with_it(tmp_path: Path) -> None:
    first, second = (replace(c, process="cpus=1", cpus=1) for c in make_cells("x", "y"))
    flow = Flow(tmp_path, cells=[first, second])
    dies = flow.worker.dies_in(flow.order[0])
    assert unmeasured(flow.run(dies, otherwise=see_cpus(flow))) == {flow.order[0]: "failed"}
