"""A script's rounds: what is asked of which container, in how much time, and what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.documents.read import LoadedCampaign, load_campaign
from suite.errors import EngineError, GpuError, ScriptError, UsageError
from suite.host.campaign.arms import Arms
from suite.host.campaign.options import Options
from suite.host.campaign.recorder import Means
from suite.host.campaign.store import Store
from suite.host.why import inquiry as inquiries
from suite.host.why.inquiry import ARM_BUDGET_S, InquiryRunner, plan_inquiry
from suite.host.why.script import bring
from suite.model import Document, SuiteIdentity, name_invocation
from suite.model.why import BASE, Inquiry, Round, Try, Watched, list_runs
from tests.fakes.engine import FakeEngine, Life, Script, asked_arm, fake_image, record
from tests.fakes.script_worker import ScriptWorker, asked_runs
from tests.host.campaign.stage import BOTH, CPU, REQUEST

CACHE = Try(
    name="cache:4", intervention="cache", cause="input", kind="fix", text="cache()", target="4"
)
BATCH = Try(
    name="batch:8",
    intervention="batch",
    cause="overhead",
    kind="fix",
    text="batch_size=256",
    target="8",
    scale=8.0,
)


@dataclass
class Asking:
    """A script that is asked about, with ``rounds`` in the place of those that the analysis decides."""

    folder: Path
    worker: ScriptWorker = field(default_factory=ScriptWorker)
    rounds: list[Round] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    proposed: list[tuple[str, bool]] = field(default_factory=list)
    made: Path | None = None

    def run(
        self,
        *scripts: Script | EngineError,
        arms: Arms = CPU,
        engine: FakeEngine | None = None,
        otherwise: Script | None = None,
        **words: str,
    ) -> Inquiry:
        """The inquiry, to its end."""
        (self.folder / "mine").mkdir(exist_ok=True)
        script = self.folder / "mine" / "train.py"
        script.write_text("train()\n")
        options = Options.parse({"script": script, "seed": 3, "label": "made-up", **words})
        brought = bring(options)
        drawn = plan_inquiry(options, arms, brought.script)
        self.engine = engine or FakeEngine(
            *scripts, otherwise=otherwise or self.worker, gpu=REQUEST
        )
        store = Store.create(self.folder / "results", drawn.id)
        self.made = store.folder
        means = Means(
            engine=self.engine,
            store=store,
            arms=arms,
            images={arm.image: fake_image(arm.image) for arm in arms.run},
            cpus=None,
            budget_s=options.budget_s,
            listener=self,
            observe=lambda *_: "nobody watches a scripted engine",
        )
        return InquiryRunner(drawn, means, brought, self.propose, self.next_round).run()

    def propose(self, watched: Watched, gpu: bool) -> Sequence[Try]:
        self.proposed.append((watched.clock, gpu))
        return [CACHE, BATCH]

    def next_round(self, left_s: float) -> Round | None:
        self.left.append(left_s)
        return self.rounds.pop(0) if self.rounds else None

    def say(self, line: str) -> None:
        self.lines.append(line)

    def show(self, *_: Any) -> None:
        pass

    def load(self) -> LoadedCampaign:
        assert self.made is not None
        return load_campaign(self.made)

    def documents(self) -> list[str]:
        return [name_of(document) for document in self.load().documents]


def name_of(document: Document) -> str:
    return name_invocation(document.invocation.arm, document.invocation.block)


@pytest.fixture
def asking(tmp_path: Path, suite_identity: SuiteIdentity) -> Asking:
    return Asking(tmp_path)


def both(*cases: str) -> Round:
    return Round(runs={"cpu": list(cases), "cuda": list(cases)})


def test_the_script_runs_unchanged_and_then_with_each_change_over_the_same_steps(
    asking: Asking,
) -> None:
    asking.rounds = [
        both(BASE, "cache:4", "batch:8"),
        Round(runs={"cuda": [BASE, "cache:4+batch:8"]}),
    ]
    ended = asking.run(arms=BOTH, args="--epochs 3 'a b'")
    assert asking.documents() == ["cpu-01", "cpu-02", "cuda-01", "cuda-02", "cuda-03"]
    assert sorted(asking.proposed) == [("fit", False), ("fit", True)]
    loaded = asking.load().campaign
    assert loaded == ended
    # A number for each run, whichever arm it is on.
    assert ended.cells == list_runs(ended.rounds)
    assert [cell.params["run"] for cell in ended.cells] == list(range(1, 11))
    by_job = {job.labels["io.github.crossover-bench.invocation"]: job for job in asking.engine.jobs}
    first, last = by_job["cpu-1"], by_job["cuda-3"]
    assert first.arguments[:5] == ("why", "--script", "train.py", "--seconds", "3")
    assert first.arguments[-4:] == ("--", "--epochs", "3", "a b")
    assert last.arguments[1] == "--gpu"
    (base,) = asked_runs(first)
    assert (base["watch"], base["window"], base["tries"]) == (True, None, [])
    unchanged, together = asked_runs(last)
    assert (unchanged["watch"], unchanged["window"]) == (False, [40, 340, 1])
    assert together["window"] == [40, 340, 1]
    assert together["tries"] == [
        {"intervention": "cache", "target": "4"},
        {"intervention": "batch", "target": "8"},
    ]
    assert (together["scale"], unchanged["scale"]) == (8.0, 1)
    # All of a round are in one container of each arm.
    assert [asked_arm(job) for job in asking.engine.jobs].count("cpu") == 2
    assert any("a step takes 10 ms; the set-up takes 1 s" in line for line in asking.lines)
    assert any("changes that apply: 2" in line for line in asking.lines)


def test_the_folder_comes_in_once_is_read_only_and_goes_at_the_end(asking: Asking) -> None:
    asking.rounds = [Round(runs={"cpu": [BASE]})]
    ended = asking.run()
    (volume,) = {volume for job in asking.engine.jobs for volume in job.volumes}
    assert (volume.read_only, volume.variable) == (True, "CROSSOVER_SCRIPT")
    assert list(asking.engine.filled) == [volume.name]
    assert asking.engine.removed_volumes == [volume]
    assert asking.engine.closed()
    assert ended.script.name == "train.py"


def test_the_budget_is_four_minutes_an_arm_and_what_is_left_is_told(asking: Asking) -> None:
    assert asking.run(arms=BOTH).budget_s == 2 * ARM_BUDGET_S
    assert asking.left == [pytest.approx(2 * ARM_BUDGET_S, abs=5)]
    assert asked_runs(asking.engine.jobs[0])[0]["limit_s"] == ARM_BUDGET_S


def test_a_run_may_take_some_times_what_the_unchanged_one_took(asking: Asking) -> None:
    asking.rounds = [Round(runs={"cpu": [BASE]})]
    asking.run()
    # The unchanged one took 5 s.
    assert asked_runs(asking.engine.jobs[1])[0]["limit_s"] == 35.0


def test_at_the_end_of_the_budget_nothing_is_begun_and_what_runs_is_cut_off(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(inquiries.time, "monotonic", lambda: now[0])

    def slow(job: Any) -> Life:
        def words() -> Any:
            now[0] += 20
            for word in asking.worker.words(job):
                if '"why.cache:4' in str(word) and "cell_started" in str(word):
                    yield word
                    now[0] += 50
                    raise TimeoutError
                yield word

        return Life(words=words())

    asking.rounds = [Round(runs={"cpu": [BASE, "cache:4", BASE]}), Round(runs={"cpu": [BASE]})]
    asking.run(asking.worker, slow, budget="60s")
    (_, second) = asking.load().documents
    assert [(cell.outcome, cell.reason) for cell in second.cells] == [
        ("measured", None),
        ("skipped", "cut off: the budget is spent"),
        ("skipped", "not begun: the budget is spent"),
    ]
    # Nor is another round asked for.
    assert len(asking.engine.jobs) == 2
    assert asking.left == [60.0]


TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 1\nValueError: mine'


@pytest.mark.parametrize(
    ("worker", "said"),
    [
        (ScriptWorker(error=TRACEBACK), "train.py fails by itself:\nTraceback"),
        (ScriptWorker(error="no training step was seen"), "cpu: no training step was seen"),
        (lambda _: Life(words=[], code=137, out_of_memory=True), "out of memory"),
    ],
)
def test_a_script_that_comes_to_nothing_ends_with_its_own_words(
    worker: Script, said: str, asking: Asking
) -> None:
    with pytest.raises(ScriptError, match=said) as caught:
        asking.run(otherwise=worker)
    assert caught.value.exit_status == 1
    assert asking.documents() == ["cpu-01"]
    assert asking.left == []
    assert asking.engine.removed_volumes


def test_an_arm_on_which_it_comes_to_nothing_has_no_more_runs(asking: Asking) -> None:
    asking.rounds = [both(BASE, "cache:4")]

    def on_cpu_alone(job: Any) -> Life:
        error = TRACEBACK if "--gpu" in job.arguments else None
        return replace(asking.worker, error=error)(job)

    ended = asking.run(arms=BOTH, otherwise=on_cpu_alone)
    assert asking.documents() == ["cpu-01", "cpu-02", "cuda-01"]
    assert ended.rounds[1].runs == {"cpu": [BASE, "cache:4"]}
    assert list(ended.tries) == ["cpu"]


def test_an_arm_that_is_refused_costs_no_other_and_is_told_at_the_end(asking: Asking) -> None:
    asking.rounds = [both(BASE)]

    def without_gpu(job: Any) -> Life:
        if "--gpu" not in job.arguments:
            return asking.worker(job)
        refused = record("refused", reason="TensorFlow sees no GPU")
        return Life(words=[asking.worker.words(job)[0], refused], code=4)

    with pytest.raises(GpuError, match="the arm cuda is unavailable"):
        asking.run(arms=BOTH, otherwise=without_gpu)
    assert {"cpu-01", "cpu-02"} <= set(asking.documents())
    assert "unavailable" in asking.load().campaign.not_run["cuda"]


def test_what_was_measured_before_an_interrupt_is_kept(asking: Asking) -> None:
    asking.rounds = [Round(runs={"cpu": [BASE, "cache:4"]})]
    stops = replace(asking.worker, before={"cache:4": KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        asking.run(asking.worker, stops)
    first, second = asking.load().documents
    assert (first.invocation.status, second.invocation.status) == ("complete", "interrupted")
    assert [cell.outcome for cell in second.cells] == ["measured", "pending"]
    assert asking.engine.removed_volumes


def test_a_run_that_takes_its_container_with_it_costs_no_other(asking: Asking) -> None:
    asking.rounds = [Round(runs={"cpu": [BASE, "cache:4", BASE]})]

    def dies(job: Any) -> Life:
        words = list(asking.worker.words(job))
        at = next(n for n, word in enumerate(words) if "cell_started" in word and "cache:4" in word)
        return Life(words=words[: at + 1], code=137, out_of_memory=True)

    asking.run(asking.worker, dies)
    outcomes = [cell.outcome for cell in asking.load().documents[1].cells]
    assert outcomes == ["measured", "failed", "measured"]


@pytest.mark.parametrize(("here", "said"), [(False, "not proven"), (None, "not proven")])
def test_data_need_an_engine_on_this_machine(
    here: bool | None, said: str, asking: Asking, tmp_path: Path
) -> None:
    (tmp_path / "numbers").mkdir()
    with pytest.raises(UsageError, match=said):
        asking.run(engine=FakeEngine(here=here), data=str(tmp_path / "numbers"))
