"""What becomes of a cell: measured, skipped or failed, each with what it owes its reader."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from suite import wire
from suite.cells.cell import Work
from suite.cells.scenario import Ops, Point, Results, Scenario
from suite.model import CellResult, Check
from suite.worker.loop import trace
from suite.worker.loop.measure import Loop
from suite.worker.scenario.scenario import Inapplicable, Prepared, WrongResult
from suite.worker.session.cell import Account, Request, Times
from suite.worker.session.session import Runner
from tests.fakes.device import SECOND, FakeDevice, FakeTensorFlow

TIMES = Times(warmup_s=0.05, measure_s=0.1, budget_s=2.0)
MATMUL = Ops(groups=(("MatMul",),))


@pytest.fixture(autouse=True)
def tensorflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTensorFlow]:
    """TensorFlow's place, for the hygiene between cells; and an unfrozen collector afterwards."""
    # The profiler is TensorFlow's own; test_trace reads what it says.
    monkeypatch.setattr(trace, "trace", lambda _step, _fence, _call_s: {"busy_share": 0.5})
    yield FakeTensorFlow([("MatMul", "/device:CPU:0", "product")]).install(monkeypatch)
    gc.unfreeze()


@dataclass
class Bench:
    """A made-up scenario on a fake device, with a record of what was done to it."""

    device: FakeDevice = field(default_factory=FakeDevice)
    done: list[str] = field(default_factory=list)
    check: Callable[[Any], Check] = lambda _: Check(what="fine", value=4.0, tolerance=0.0)
    trouble: BaseException | None = None
    enqueues: bool = True
    on: Any = "arm"
    proof: Ops | None = MATMUL
    call_ns: Callable[[int], int] | None = None
    run_up: Callable[[], object] | None = None

    def prepare(self, *, device: str, n: int) -> Prepared:
        self.done.append(f"prepare {n} on {device}")
        if self.trouble is not None:
            raise self.trouble
        if self.call_ns is not None:
            self.device.call_ns = self.call_ns(n)
        self.device.calls = 0

        def checked(result: Any) -> Check:
            self.done.append(f"check {result}")
            return self.check(result)

        return Prepared(
            step=self.device.step,
            check=checked,
            proof=self.proof,
            on=self.on,
            enqueues=self.enqueues,
            run_up=self.run_up,
            close=lambda: self.done.append("close"),
        )

    def request(
        self, n: int = 1, *, calls: int | None = None, asked_about: bool = False, **fields: Any
    ) -> Request:
        scenario = Scenario(
            family="made",
            case="up",
            about="Made up.",
            question="What does {n} take?",
            axes=("n",),
            points=(Point(params={"n": n}, profiles=("smoke",), asked_about=asked_about),),
            work=lambda n: Work(amount=float(n), unit="call"),
            prepare=self.prepare,
            role="work",
            kin="made up",
            proof=Results(),
            **fields,
        )
        return Request(scenario=scenario, cell=scenario.cells()[0], calls=calls)

    def runner(self, device: str = "/CPU:0", times: Times = TIMES) -> Runner:
        loop = Loop(clock=self.device.clock, fence=self.device.fence)
        return Runner(loop, device, times, {"import": 2.5})

    def run(self, request: Request | None = None, **fields: Any) -> CellResult:
        result = self.runner(**fields).run(request or self.request())
        # Whatever comes of a cell has to fit into a record.
        assert json.loads(wire.dump_record(result))["id"] == result.id
        return result


def assert_no_numbers(result: CellResult) -> None:
    assert result.samples_s == []
    assert result.warmup_s == []
    assert result.first_call_s is None
    assert result.calls_per_sample is None
    assert result.placement == {}


def test_a_cell_is_measured_checked_and_closed_in_that_order() -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000, first_ns=SECOND // 5))
    result = bench.run()
    assert result.outcome == "measured"
    assert result.reason is None
    assert bench.done == ["prepare 1 on /CPU:0", f"check {bench.device.calls}", "close"]
    assert (result.work, result.params) == (Work(amount=1.0, unit="call"), {"n": 1})
    assert result.check == Check(what="fine", value=4.0, tolerance=0.0)
    assert result.placement == {"CPU:0": 1}
    assert result.started is not None
    assert result.ended is not None
    assert result.started <= result.ended


def test_the_first_call_stands_apart_and_in_no_sample() -> None:
    result = Bench(device=FakeDevice(call_ns=1_000_000, first_ns=SECOND // 5)).run()
    assert result.first_call_s == 0.201
    assert {*result.warmup_s, *result.samples_s} == {0.001}


def test_work_that_preparing_left_behind_is_not_in_the_first_call() -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000))
    runner = bench.runner()
    bench.device.leave_work(7 * SECOND)
    assert runner.run(bench.request(calls=10)).first_call_s == 0.001


def test_a_frozen_k_is_used_as_it_is() -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000))
    assert bench.run(bench.request(calls=3)).calls_per_sample == 3
    assert bench.run(bench.request()).calls_per_sample == 12


def test_seconds_are_itemised_by_kind() -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000))
    result = bench.run()
    kinds = ["prepare", "first_call", "placement", "hygiene", "calibrate"]
    assert list(result.spent_s) == [*kinds, "warmup", "measure", "check"]
    assert result.spent_s["warmup"] == pytest.approx(
        sum(result.warmup_s) * (result.calls_per_sample or 0)
    )
    assert result.spent_s["measure"] == pytest.approx(
        sum(result.samples_s) * (result.calls_per_sample or 0)
    )
    assert "calibrate" not in bench.run(bench.request(calls=3)).spent_s


def test_each_cell_leaves_a_clean_session(tensorflow: FakeTensorFlow) -> None:
    bench = Bench()
    bench.run()
    bench.trouble = ValueError("no")
    bench.run()
    assert tensorflow.sessions_cleared == 2
    assert tensorflow.statistics_reset == 0


def test_a_wrong_result_is_a_failure_without_a_number() -> None:
    def refuse(_: Any) -> Check:
        raise WrongResult("the product is off by 7")

    bench = Bench(check=refuse)
    result = bench.run()
    assert result.outcome == "failed"
    assert result.reason == "wrong result: the product is off by 7"
    assert_no_numbers(result)
    assert bench.done[-1] == "close"


def test_unproven_placement_is_a_failure_without_a_number(tensorflow: FakeTensorFlow) -> None:
    tensorflow.nodes = []
    bench = Bench()
    result = bench.run()
    assert result.outcome == "failed"
    assert result.reason == "placement not proven: no MatMul node was executed in a graph"
    assert_no_numbers(result)
    assert bench.done == ["prepare 1 on /CPU:0", "close"]
    assert bench.device.calls == 1


def test_work_of_the_cpu_is_looked_for_there_on_every_arm(tensorflow: FakeTensorFlow) -> None:
    assert Bench(on="cpu").run(device="/GPU:0").outcome == "measured"
    assert Bench(on="arm").run(device="/GPU:0").outcome == "failed"
    tensorflow.nodes = [("MatMul", "/device:GPU:0", "product")]
    assert Bench(on="arm").run(device="/GPU:0").outcome == "measured"


def test_what_a_device_can_not_do_is_skipped_for_that_reason() -> None:
    bench = Bench(trouble=Inapplicable("needs bfloat16"))
    result = bench.run()
    assert (result.outcome, result.reason) == ("skipped", "needs bfloat16")
    assert_no_numbers(result)


def test_whatever_a_cell_raises_is_its_own_failure(capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(trouble=KeyError("no\n   such layer"))
    result = bench.run()
    assert (result.outcome, result.reason) == ("failed", "KeyError: 'no\\n such layer'")
    assert "Traceback" in capsys.readouterr().err
    assert_no_numbers(result)


def test_a_step_that_raises_is_closed_and_its_text_shortened() -> None:
    bench = Bench(check=lambda _: 1 / 0)  # type: ignore[arg-type,return-value]
    result = bench.run()
    assert result.reason == "ZeroDivisionError: division by zero"
    assert bench.done[-1] == "close"
    long = Bench(trouble=ValueError("x" * 10_000)).run()
    assert long.reason == "ValueError: " + "x" * 500


def test_a_person_who_interrupts_is_not_a_cells_failure() -> None:
    bench = Bench(trouble=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        bench.run()


def test_a_cell_over_budget_is_skipped_after_its_first_calls_with_the_prediction() -> None:
    bench = Bench(device=FakeDevice(call_ns=SECOND))
    result = bench.run()
    assert result.outcome == "skipped"
    # One warm-up sample and three others, of a second each.
    assert result.reason == "would take 4 s here; the profile's budget for this cell is 2 s"
    assert_no_numbers(result)
    assert bench.device.calls == 2
    assert bench.done == ["prepare 1 on /CPU:0", "close"]


def test_cells_that_people_asked_about_have_four_budgets() -> None:
    bench = Bench(device=FakeDevice(call_ns=SECOND))
    result = bench.run(bench.request(asked_about=True))
    assert result.outcome == "measured"
    assert len(result.samples_s) == 3
    slower = Bench(device=FakeDevice(call_ns=3 * SECOND))
    result = slower.run(slower.request(asked_about=True))
    assert result.outcome == "skipped"
    assert (result.reason or "").endswith("the profile's budget for this cell is 8 s")


def test_a_block_does_not_judge_again_what_the_calibration_let_pass() -> None:
    bench = Bench(device=FakeDevice(call_ns=SECOND))
    assert bench.run(bench.request(calls=1)).outcome == "measured"


def test_a_hopeless_size_is_never_entered() -> None:
    bench = Bench(device=FakeDevice(call_ns=100_000_000))
    runner = bench.runner()
    assert runner.run(bench.request(1, sweep="n")).outcome == "measured"
    bench.done.clear()
    result = runner.run(bench.request(8, sweep="n"))
    assert result.outcome == "skipped"
    # 0.8 s a call: the first, the one that finds K, one of warm-up and three samples; and a little,
    # by this machine's own clock, for the check.
    assert (result.reason or "").startswith("would take 4.8")
    assert (result.reason or "").endswith(" s here; the profile's budget for this cell is 2 s")
    assert bench.done == []
    assert_no_numbers(result)


def test_a_prediction_carries_on_to_the_sizes_behind_it() -> None:
    bench = Bench(device=FakeDevice(call_ns=100_000_000))
    runner = bench.runner()
    runner.run(bench.request(1, sweep="n"))
    bench.done.clear()
    skipped = [runner.run(bench.request(n, sweep="n")) for n in (8, 80)]
    assert [result.outcome for result in skipped] == ["skipped"] * 2
    assert "would take 48 s" in (skipped[1].reason or "")
    assert bench.done == []


def test_what_one_size_showed_over_budget_keeps_the_next_from_being_entered() -> None:
    bench = Bench(device=FakeDevice(call_ns=SECOND))
    runner = bench.runner()
    assert runner.run(bench.request(1, sweep="n")).outcome == "skipped"
    bench.done.clear()
    assert runner.run(bench.request(2, sweep="n")).outcome == "skipped"
    assert bench.done == []


def test_sizes_ruled_by_overhead_foretell_nothing() -> None:
    bench = Bench(call_ns=lambda n: 900_000)
    runner = bench.runner()
    for n in (1, 10_000):
        assert runner.run(bench.request(n, sweep="n")).outcome == "measured"


def test_a_block_neither_predicts_nor_refuses() -> None:
    bench = Bench(device=FakeDevice(call_ns=100_000_000))
    runner = bench.runner()
    runner.run(bench.request(1, sweep="n", calls=1))
    assert runner.forecast.seen == {}
    runner.forecast.remember(bench.request(1, sweep="n").cell, 100.0, 0.0)
    assert runner.run(bench.request(8, sweep="n", calls=1)).outcome == "measured"


def test_one_shot_is_one_cold_sample() -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000, first_ns=SECOND))
    result = bench.run(bench.request(one_shot=True))
    assert result.outcome == "measured"
    assert result.samples_s == [1.001]
    assert result.first_call_s == 1.001
    assert (result.warmup_s, result.warmup_status) == ([], "cold")
    assert result.calls_per_sample == 1
    assert bench.device.calls == 1
    assert bench.done == ["prepare 1 on /CPU:0", "check 1", "close"]


def test_a_run_up_is_neither_timed_nor_a_first_call(tensorflow: FakeTensorFlow) -> None:
    watched = []
    bench = Bench(device=FakeDevice(call_ns=1_000_000, first_ns=SECOND))

    def run_up() -> None:
        watched.append(tensorflow.watching)
        bench.device.step()
        bench.device.leave_work(7 * SECOND)

    bench.run_up = run_up
    result = bench.run(bench.request(one_shot=True))
    assert (result.outcome, result.samples_s) == ("measured", [0.001])
    assert (result.first_call_s, result.warmup_status) == (None, "run-up")
    assert result.absent["first_call_s"] == "calls that were not timed came before the sample"
    assert watched == [True]
    # Its seconds are the invocation's all the same.
    assert set(result.spent_s) >= {"prepare", "first_call", "check"}
    assert bench.done == ["prepare 1 on /CPU:0", "check 2", "close"]


def test_a_run_up_that_fails_is_the_cells_failure() -> None:
    bench = Bench()
    bench.run_up = lambda: 1 / 0
    result = bench.run(bench.request(one_shot=True))
    assert result.reason == "ZeroDivisionError: division by zero"
    assert bench.done[-1] == "close"


def test_a_one_shot_size_that_one_call_would_break_is_never_entered() -> None:
    bench = Bench(device=FakeDevice(call_ns=100_000_000, first_ns=SECOND))
    runner = bench.runner()
    # Only what exceeds the least first call grows with the work: 1.1 s, 1.2 s, 2.2 s.
    for n, call_ns in ((1, 100_000_000), (2, 200_000_000)):
        bench.device.call_ns = call_ns
        assert runner.run(bench.request(n, sweep="n", one_shot=True)).outcome == "measured"
    bench.done.clear()
    skipped = [runner.run(bench.request(n, sweep="n", one_shot=True)) for n in (20, 200)]
    assert [result.outcome for result in skipped] == ["skipped"] * 2
    # 1.2 s and 0.1 s beyond the least, times nine; and all of that from there on.
    assert skipped[0].reason == "would take 2.1 s here; the profile's budget for this cell is 2 s"
    assert "would take 11.1 s" in (skipped[1].reason or "")
    assert bench.done == []


def test_a_stage_of_the_start_up_is_what_the_start_up_took() -> None:
    bench = Bench()
    cell = replace(
        bench.request().cell, id="made.up/stage=import", params={"stage": "import"}, one_shot=True
    )
    scenario = replace(bench.request().scenario, prepare=None)
    result = bench.run(Request(scenario=scenario, cell=cell, calls=None))
    assert (result.outcome, result.samples_s, result.calls_per_sample) == ("measured", [2.5], 1)
    assert bench.done == []
    assert bench.device.calls == 0


def test_a_scenario_can_name_the_stage_that_it_is() -> None:
    bench = Bench()
    request = bench.request(startup="import", one_shot=True)
    cell = replace(request.cell, id="made.up/stage=first", params={"stage": "first"})
    scenario = replace(request.scenario, prepare=None)
    result = bench.run(Request(scenario=scenario, cell=cell, calls=None))
    assert (result.outcome, result.samples_s, result.calls_per_sample) == ("measured", [2.5], 1)


def test_the_enqueue_fraction_is_null_with_its_reason_where_the_step_blocks(
    tensorflow: FakeTensorFlow,
) -> None:
    on_cpu = Bench().run()
    assert on_cpu.enqueue_fraction is None
    assert on_cpu.absent["enqueue_fraction"] == "a CPU's step blocks"
    tensorflow.nodes = [("MatMul", "/device:GPU:0", "product")]
    blocking = Bench(enqueues=False).run(device="/GPU:0")
    assert blocking.enqueue_fraction is None
    assert blocking.absent["enqueue_fraction"] == "the step blocks"


@pytest.mark.parametrize(("enqueue_ns", "labels"), [(90_000, []), (2_000_000, ["dispatch-bound"])])
def test_a_gpu_that_waits_for_its_cpu_is_labelled(
    enqueue_ns: int, labels: list[str], tensorflow: FakeTensorFlow
) -> None:
    tensorflow.nodes = [("MatMul", "/device:GPU:0", "product")]
    bench = Bench(device=FakeDevice(call_ns=100_000, enqueue_ns=enqueue_ns))
    result = bench.run(device="/GPU:0")
    assert result.enqueue_fraction == pytest.approx(enqueue_ns / (enqueue_ns + 100_000))
    assert result.labels == labels
    assert result.peak_memory_bytes == tensorflow.peak_bytes
    assert tensorflow.statistics_reset == 1


def test_the_peak_of_memory_is_the_cells_and_not_its_checks(tensorflow: FakeTensorFlow) -> None:
    tensorflow.nodes = [("MatMul", "/device:GPU:0", "product")]
    before = tensorflow.peak_bytes

    def check(_: Any) -> Check:
        tensorflow.peak_bytes = 9 * before
        return Check(what="trained another model")

    assert Bench(check=check).run(device="/GPU:0").peak_memory_bytes == before


def test_a_cells_memory_on_the_cpu_is_absent_for_a_reason() -> None:
    result = Bench().run()
    assert result.peak_memory_bytes is None
    assert result.absent["peak_memory_bytes"] == "TensorFlow does not count the CPU's memory"


def test_the_cap_on_warm_up_is_a_label() -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000, drift=0.01))
    result = bench.run(bench.request(calls=2))
    assert result.warmup_status == "cap"
    assert "warm-up cap" in result.labels


def test_samples_that_came_out_shorter_than_the_floor_are_labelled() -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000))
    assert bench.run(bench.request(calls=2)).labels == ["short samples"]
    assert bench.run(bench.request(calls=20)).labels == []


def test_an_account_books_time_also_when_the_block_raises() -> None:
    account = Account()
    with pytest.raises(ZeroDivisionError), account.of("check"):
        raise ZeroDivisionError
    assert account.spent_s["check"] >= 0
    account.add("check", 2.0)
    account.add("warmup", 1.0)
    assert account.spent_s["check"] >= 2.0
    assert account.spent_s["warmup"] == 1.0


def test_only_the_calibration_of_work_on_a_gpu_is_traced(tensorflow: FakeTensorFlow) -> None:
    assert Bench().run().trace == {}
    tensorflow.nodes = [("MatMul", "/device:GPU:0", "product")]
    bench = Bench()
    result = bench.run(device="/GPU:0")
    assert result.trace == {"busy_share": 0.5}
    assert list(result.spent_s).index("trace") == list(result.spent_s).index("check") - 1
    assert bench.run(bench.request(calls=3), device="/GPU:0").trace == {}
    assert bench.run(bench.request(one_shot=True), device="/GPU:0").trace == {}


def test_a_missing_trace_says_why_and_costs_no_number(
    tensorflow: FakeTensorFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise trace.NoTrace("no counters for you")

    monkeypatch.setattr(trace, "trace", refuse)
    tensorflow.nodes = [("MatMul", "/device:GPU:0", "product")]
    result = Bench().run(device="/GPU:0")
    assert result.outcome == "measured"
    assert (result.trace, result.absent["trace"]) == ({}, "no counters for you")
