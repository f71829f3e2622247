"""Surveys of several GPUs: drawn up, run round by round, stopped, gone on with."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.documents.read import load_campaign
from suite.cells.cell import Cell
from suite.errors import GpuError, UsageError
from suite.host.campaign.arms import Arms, known_arms
from suite.host.campaign.conductor import Conductor
from suite.host.campaign.listener import Listener, Progress
from suite.host.campaign.request import Request
from suite.host.campaign.store import Store
from suite.host.engine import Card, GpuRequest, Job, Slice
from suite.host.gpu.choice import name_gpus
from suite.host.machine.machine import find_cores
from suite.host.survey.halting import Halted, HaltingEngine
from suite.host.survey.plan import Part, keep_whole_rounds, plan_survey, share_cpus
from suite.host.survey.rounds import AT_ONCE, Surveyor, order_turns, step_at_once
from suite.model import Document, SuiteIdentity, Survey
from suite.worker import scenarios
from tests.fakes.engine import FakeEngine, Life, Script, Worker, fake_image, record

ARMS = known_arms()

CELLS = [cell for cell in scenarios.cells() if cell.id in {"overhead.fence", "overhead.eager_op"}]


def arms_of(*gpus: str, cpu: bool = True) -> dict[str, Arms]:
    run = (ARMS["cpu"], ARMS["cuda"]) if cpu else (ARMS["cuda"],)
    return {
        gpu: Arms(
            run=run,
            gpu={
                arm.name: GpuRequest(driver="cdi", devices=(gpu,)) if arm.gpu else None
                for arm in run
            },
            not_run={},
        )
        for gpu in gpus
    }


def draw(*gpus: str, **request: Any) -> tuple[Survey, list[Part]]:
    shares = {gpu: (place,) for place, gpu in enumerate(gpus)}
    given: dict[str, Any] = {"profile": "smoke", "label": "box", "seed": 5, "blocks": 2, **request}
    return plan_survey(Request(**given), arms_of(*gpus), shares, CELLS)


@pytest.fixture(autouse=True)
def _identity(suite_identity: SuiteIdentity) -> None:
    """No git."""


class Ears:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.progress: list[Progress] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def show(self, progress: Progress) -> None:
        self.progress.append(progress)


class House:
    """Folders of a test's own, and one scripted engine for each campaign."""

    def __init__(self, results: Path, scripts: dict[str, Sequence[Script]] | None = None) -> None:
        self.results = results
        self.scripts = scripts or {}
        self.engines: dict[str, FakeEngine] = {}
        self.plans: list[Survey] = []
        self.order: list[str] = []
        self.reports = 0
        self.made: dict[str, Conductor] = {}

    def make(self, part: Part, listener: Listener) -> tuple[Conductor, HaltingEngine]:
        name = f"{part.gpu}{' at once' if part.at_once else ''}"
        worker = Worker(cells={cell.id: cell for cell in CELLS})
        fake = FakeEngine(*self.scripts.get(name, ()), otherwise=self._noting(name, worker))
        self.engines[name] = fake
        engine = HaltingEngine(fake)
        folder = self.results / part.campaign.id
        store = Store(folder) if folder.exists() else Store.create(self.results, part.campaign.id)
        conductor = Conductor(
            engine,
            store,
            part.campaign,
            part.arms,
            {image: fake_image(image) for image in ("cpu", "cuda")},
            cpus=part.cpus,
            budget_s=None,
            listener=listener,
            collate=lambda: None,
            interim_look=lambda: (0, 0, True),
            disturbed=lambda _: None,
        )
        self.made[name] = conductor
        return conductor, engine

    def _noting(self, name: str, worker: Worker) -> Script:
        def live(job: Job) -> Life:
            self.order.append(name)
            return worker(job)

        return live

    def keep(self, survey: Survey) -> None:
        self.plans.append(survey)

    def keep_part(self, part: Part) -> None:
        assert not self.made, "a campaign was begun before every plan was kept"

    def report(self) -> None:
        self.reports += 1

    def documents(self, parts: Sequence[Part]) -> dict[str, list[Document]]:
        loaded = {p.campaign.id: load_campaign(self.results / p.campaign.id) for p in parts}
        return {name: [*one.documents, *one.controls] for name, one in loaded.items()}


def run(house: House, survey: Survey, parts: Sequence[Part], **given: Any) -> tuple[Survey, Ears]:
    ears = Ears()
    resumed = given.pop("resumed", {})
    surveyor = Surveyor(survey, parts, house, listener=ears, **{"budget_s": None, **given})
    return surveyor.run(resumed), ears


def test_gpus_are_named_as_requests_name_them() -> None:
    cut = Card(index=1, mig=True, slices=(Slice(index=0, uuid="a"), Slice(index=1, uuid="b")))
    assert list(name_gpus([Card(index=0), cut])) == ["0", "1:0", "1:1"]


def test_cpus_are_shared_by_whole_cores_on_each_gpus_side() -> None:
    # Two sockets of four cores with two threads each: n and n + 8 are one core.
    cores = [(n, n + 8) for n in range(8)]
    left = (*range(4), *range(8, 12))
    right = (*range(4, 8), *range(12, 16))
    shares = share_cpus(cores, {"0": left, "1": right, "2": left, "3": right})
    assert shares == {
        "0": (0, 1, 8, 9),
        "2": (2, 3, 10, 11),
        "1": (4, 5, 12, 13),
        "3": (6, 7, 14, 15),
    }


@pytest.mark.parametrize(
    "near",
    [
        {"0": None, "1": None, "2": None},
        {"0": (0, 1), "1": (0, 1), "2": (0, 1, 2, 3, 4, 5, 6, 7)},
        {"0": (90,), "1": (0,), "2": (1,)},
    ],
    ids=["unknown", "overlapping", "a side without a core"],
)
def test_where_the_sides_can_t_serve_all_the_cores_are_dealt_out_equally(near: Any) -> None:
    shares = share_cpus([(n,) for n in range(8)], near)
    assert sorted(map(len, shares.values())) == [2, 2, 2]
    assert len({cpu for share in shares.values() for cpu in share}) == 6


def test_fewer_cores_than_gpus_are_refused() -> None:
    with pytest.raises(UsageError, match="3 GPUs at work at once, and there are 2 CPU cores"):
        share_cpus([(0,), (1,)], {"0": None, "1": None, "2": None})


def test_threads_of_a_core_are_found_and_strangers_stay_single(tmp_path: Path) -> None:
    for cpu, siblings in ((0, "0,2"), (2, "0,2")):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
    assert find_cores((2, 0, 5), tmp_path) == [(0, 2), (5,)]


def test_the_plan_is_one_campaign_alone_and_one_at_once_for_each_gpu() -> None:
    survey, parts = draw("0", "1")
    assert [(p.gpu, p.at_once) for p in parts] == [
        ("0", False),
        ("1", False),
        ("0", True),
        ("1", True),
    ]
    # The processor is the same beside every GPU.
    assert [p.campaign.arms for p in parts] == [["cpu", "cuda"], ["cuda"], ["cuda"], ["cuda"]]
    assert {p.campaign.seed for p in parts} == {5} == {survey.seed}
    assert {p.campaign.survey for p in parts} == {survey.id}
    assert [p.campaign.at_once for p in parts] == [1, 1, 2, 2]
    assert [p.campaign.calibrated_by for p in parts] == [
        None,
        None,
        parts[0].campaign.id,
        parts[1].campaign.id,
    ]
    assert [p.cpus for p in parts] == [None, None, (0,), (1,)]
    assert survey.cpus == {"0": "0", "1": "1"}
    assert [m.campaign for m in survey.members] == [p.campaign.id for p in parts]
    assert survey.command.endswith("SEED=5")


def test_what_a_survey_takes_is_told_with_its_cost(tmp_path: Path) -> None:
    survey, parts = draw("0", "1", price=30.0)
    assert [p.campaign.price for p in parts] == [30.0, 30.0, None, None]
    _, ears = run(House(tmp_path), survey, parts)
    before = [p.campaign.prediction.before_s for p in parts]
    cost = 30.0 * (before[0] + before[1] + max(before[2:])) / 3600
    (said,) = [line for line in ears.lines if line.startswith("a survey of 2 GPUs in 2 rounds")]
    assert f"USD {cost:.2f} in all" in said
    assert any(line.startswith("round 1 of 2 done; about ") for line in ears.lines)


def test_a_label_may_be_as_long_as_any_and_no_longer() -> None:
    _, parts = draw("0", "1", label="x" * 60)
    assert parts[3].campaign.label == "x" * 60 + "-gpu1-at-once"
    for label in ("x" * 61, ""):
        with pytest.raises(UsageError, match="LABEL="):
            draw("0", "1", label=label)


def test_no_campaign_of_a_survey_looks_whether_to_go_on() -> None:
    _, parts = draw("0", "1", profile="standard", blocks=None)
    assert {(p.campaign.blocks, p.campaign.most_blocks) for p in parts} == {(5, 5)}


def test_a_round_has_every_turn_once_in_an_order_of_its_own() -> None:
    survey, _ = draw("0", "1", "2")
    orders = [order_turns(survey, number) for number in range(1, 13)]
    assert all(sorted(one) == ["0", "1", "2", AT_ONCE] for one in orders)
    assert len({tuple(one) for one in orders}) > 3
    assert orders == [order_turns(survey, number) for number in range(1, 13)]


def test_a_survey_goes_round_by_round(tmp_path: Path) -> None:
    house = House(tmp_path)
    survey, parts = draw("0", "1")
    run(house, survey, parts)
    # Calibrations first: two arms of GPU 0, one of GPU 1, none at once.
    assert house.order[:3] == ["0", "0", "1"]
    per_round = 2 + 1 + 1 + 1
    assert len(house.order) == 3 + 2 * per_round
    for number in (1, 2):
        turns = house.order[3 + (number - 1) * per_round : 3 + number * per_round]
        assert sorted(turns) == ["0", "0", "0 at once", "1", "1 at once"]
    assert house.reports == 2
    for part in parts:
        loaded = load_campaign(tmp_path / part.campaign.id)
        blocks = [d.invocation.block for d in loaded.documents if d.invocation.arm == "cuda"]
        assert blocks == ([1, 2] if part.at_once else [0, 1, 2])


def test_at_once_takes_its_calls_from_the_same_gpu_alone_and_its_share_of_the_machine(
    tmp_path: Path,
) -> None:
    house = House(tmp_path)
    run(house, *draw("0", "1"))
    for gpu in ("0", "1"):
        alone, busy = house.made[gpu].campaign, house.made[f"{gpu} at once"].campaign
        assert busy.calls == {"cuda": alone.calls["cuda"]}
        jobs = house.engines[f"{gpu} at once"].jobs
        assert {job.cpus for job in jobs} == {(int(gpu),)}
        assert {job.gpu.devices for job in jobs if job.gpu} == {(gpu,)}
        memory = {job.memory_bytes for job in house.engines[gpu].jobs}
        assert {job.memory_bytes for job in jobs} == {sum(m for m in memory if m) // 2}


def test_all_are_at_work_at_the_same_time(tmp_path: Path) -> None:
    # Each begins its cells only when the other has been started, too: one by one would hang.
    both = threading.Barrier(2, timeout=20)

    def meet(job: Job) -> Life:
        both.wait()
        return Worker(cells={cell.id: cell for cell in CELLS})(job)

    house = House(tmp_path, {"0 at once": [meet], "1 at once": [meet]})
    run(house, *draw("0", "1", blocks=1))
    assert not both.broken


def test_trouble_of_one_stops_all_and_is_told(tmp_path: Path) -> None:
    begun = threading.Event()
    stopped = threading.Event()

    def refuse(_: Job) -> Life:
        assert begun.wait(20)
        return Life(words=[record("refused", reason="the GPU is gone")], code=4)

    def go_on(_: Job) -> Life:
        def words() -> Any:
            begun.set()
            yield from Worker(cells={cell.id: cell for cell in CELLS}).greeting(gpu=True)
            # Until somebody stops it; the fake's stop is only seen between words.
            while not house.engines["1 at once"].runs[0]._stopped:
                stopped.wait(0.01)
            yield record("bye")

        return Life(words=words())

    house = House(tmp_path, {"0 at once": [refuse], "1 at once": [go_on]})
    survey, parts = draw("0", "1", blocks=1)
    with pytest.raises(GpuError, match="the GPU is gone"):
        run(house, survey, parts)
    assert all(engine.closed() for engine in house.engines.values())
    documents = house.documents(parts)
    left = [d for d in documents[parts[3].campaign.id] if d.invocation.block == 1]
    assert [d.invocation.status for d in left] == ["interrupted"]


def test_an_interrupt_stops_all(monkeypatch: pytest.MonkeyPatch) -> None:
    halted = []

    class Engine:
        def halt(self) -> None:
            halted.append(self)

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("suite.host.survey.rounds.wait", interrupt)

    def steps() -> Any:
        yield 1

    with pytest.raises(KeyboardInterrupt):
        step_at_once([(steps(), Engine()), (steps(), Engine())])  # type: ignore[list-item]
    assert len(halted) == 2


def test_a_halted_engine_starts_nothing_and_ends_what_runs() -> None:
    fake = FakeEngine()
    engine = HaltingEngine(fake)
    _, parts = draw("0", "1")
    job = Job(
        image=fake_image("cuda"),
        arguments=("measure", "--gpu", "overhead.fence"),
        cpus=(0,),
        labels={"campaign": parts[0].campaign.id},
    )
    running = engine.start(job)
    assert running.next_line(1) is not None
    engine.halt()
    with pytest.raises(Halted):
        running.next_line(1)
    assert ("stop", "fake-1") in fake.log
    with pytest.raises(Halted):
        engine.start(job)
    running.close()
    assert fake.closed()
    # Only what still ran is stopped.
    engine.halt()
    assert fake.log.count(("stop", "fake-1")) == 1


def test_a_budget_stops_before_the_round_that_would_cross_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instants = iter([0.0, 10.0, 10.0, 70.0, 70.0, 70.0, 130.0, 130.0])
    monkeypatch.setattr("suite.host.survey.rounds.monotonic", lambda: next(instants))
    house = House(tmp_path)
    survey, ears = run(house, *draw("0", "1", blocks=5), budget_s=150.0)
    assert house.reports == 2
    assert survey.stopped is not None
    assert "after round 2" in survey.stopped
    assert house.plans[-1].stopped == survey.stopped
    assert any("stopped after round 2" in line for line in ears.lines)


def test_lines_say_which_gpu_they_are_about(tmp_path: Path) -> None:
    _, ears = run(House(tmp_path), *draw("0", "1", blocks=1))
    assert any(line.startswith("GPU 1 alone: calibrated") for line in ears.lines)
    shown = {progress.arm for progress in ears.progress}
    assert {"GPU 0 alone cpu", "GPU 1 alone cuda", "GPU 0 at once cuda"} <= shown
    # One line of progress for all that are at work at once.
    assert "GPU 1 at once cuda" not in shown


def test_a_survey_that_goes_on_runs_what_is_missing_and_no_lonely_block_at_once(
    tmp_path: Path,
) -> None:
    survey, parts = draw("0", "1")
    run(House(tmp_path), survey, parts)
    # Block 2 at once of GPU 1 was never written; of GPU 0 it was.
    (tmp_path / parts[3].campaign.id / "cuda-02.json").unlink()
    house = House(tmp_path)
    kept = keep_whole_rounds(parts, house.documents(parts))
    assert {d.invocation.block for d in kept[parts[2].campaign.id]} == {1}
    run(house, survey, parts, resumed=kept)
    assert sorted(house.order) == ["0 at once", "1 at once"]


def test_steps_at_once_run_in_threads_of_their_own() -> None:
    names: list[str] = []

    def steps() -> Any:
        names.append(threading.current_thread().name)
        yield 1

    step_at_once([(steps(), HaltingEngine(FakeEngine())) for _ in range(2)])
    assert threading.main_thread().name not in names
    assert len(names) == 2


def test_files_written_at_once_keep_the_umask(tmp_path: Path) -> None:
    import os

    before = os.umask(0o022)
    try:
        store = Store(tmp_path)
        with ThreadPoolExecutor(8) as pool:
            for number in range(200):
                pool.submit(store.write_reports, {f"{number}.md": "text"})
        now = os.umask(0o022)
        assert now == 0o022
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}
    finally:
        os.umask(before)


def test_cells_without_a_gpu_arm_are_refused() -> None:
    cell: Cell = replace(CELLS[0], by_host=True)
    with pytest.raises(UsageError, match="no cell"):
        plan_survey(
            Request(profile="smoke", label="box"), arms_of("0", "1"), {"0": (0,), "1": (1,)}, [cell]
        )
