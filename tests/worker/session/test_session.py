"""What becomes of a cell: measured, skipped or failed, each with what it owes its reader."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from suite import codec
from suite.cells.cell import Work
from suite.cells.scenario import Ops
from suite.model import FIRST_CALL, CellResult, Check
from suite.worker.loop import counters, trace
from suite.worker.loop.measure import Loop
from suite.worker.scenario.scenario import Inapplicable, Prepared, WrongResult
from suite.worker.session.cell import Request
from suite.worker.session.session import Runner
from tests.fakes.device import SECOND, FakeDevice, FakeTensorFlow
from tests.fakes.scenarios import make_up

MATMUL, CONV = (Ops(groups=((name,),)) for name in ("MatMul", "Conv2D"))
CUT = "a" * 100 + " … " + "z" * 500
"""What is told of a reason that is far longer."""

pytestmark = pytest.mark.usefixtures("tensorflow")


@dataclass
class Bench:
    """A made-up scenario on a fake device, with a record of what was done to it."""

    device: FakeDevice = field(default_factory=FakeDevice)
    done: list[str] = field(default_factory=list)
    check: Callable[[Any], Check] = lambda _: Check(what="fine", value=4.0, tolerance=0.0)
    brief: Callable[[Any], Check] | None = None
    trouble: BaseException | None = None
    enqueues: bool = True
    on: Any = "arm"
    proof: Ops | None = MATMUL
    warm_start: Callable[[], object] | None = None
    retraces: bool = False
    before: Callable[[], object] = lambda: None
    """What a step does first."""

    def prepare(self, *, device: str, n: int) -> Prepared:
        self.done.append(f"prepare {n} on {device}")
        if self.trouble is not None:
            raise self.trouble
        self.device.calls = 0

        def checked(result: Any) -> Check:
            self.done.append(f"check {result}")
            return self.check(result)

        def step() -> int:
            self.before()
            return self.device.step()

        return Prepared(
            step=step,
            check=checked,
            brief=self.brief,
            enqueues=self.enqueues,
            warm_start=self.warm_start,
            retraces=self.retraces,
            close=lambda: self.done.append("close"),
        )

    def request(self, n: int = 1, *, calls: int | None = None, **fields: Any) -> Request:
        scenario = make_up(
            [{"n": n}],
            work=Work(amount=float(n), unit="call"),
            prepare=self.prepare,
            proof=self.proof,
            device=self.on,
            **fields,
        )
        return Request(scenario=scenario, cell=scenario.cells()[0], calls=calls)

    def runner(self, device: str = "/CPU:0", budget_s: float = 2.0) -> Runner:
        return Runner(
            loop=Loop(
                clock=self.device.clock, cpu_clock=self.device.cpu_clock, fence=self.device.fence
            ),
            device=device,
            warmup_s=0.05,
            measure_s=0.1,
            budget_s=budget_s,
            stages={"import": 2.5},
        )

    def run(self, request: Request | None = None, **fields: Any) -> CellResult:
        result = self.runner(**fields).run(request or self.request())
        # Whatever comes of a cell has to fit into a record.
        assert json.loads(codec.dump_record(result))["id"] == result.id
        return result


def assert_no_numbers(result: CellResult) -> None:
    assert result.samples_s == []
    assert result.warmup_s == []
    assert result.first_call_s is None
    assert result.calls_per_sample is None
    assert result.placement == {}


def test_a_cell_is_measured_checked_and_closed_in_that_order(tensorflow: FakeTensorFlow) -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000, first_ns=SECOND // 5))
    result = bench.run()
    assert (result.outcome, result.reason) == ("measured", None)
    assert bench.done == ["prepare 1 on /CPU:0", f"check {bench.device.calls}", "close"]
    assert (result.work, result.params) == (Work(amount=1.0, unit="call"), {"n": 1})
    assert result.check == Check(what="fine", value=4.0, tolerance=0.0)
    assert result.placement == {"CPU:0": 1}
    assert result.started is not None
    assert result.ended is not None
    assert result.started <= result.ended
    # The first call stands apart and in no sample.
    assert result.first_call_s == 0.201
    assert {*result.warmup_s, *result.samples_s} == {0.001}
    assert result.absent["peak_memory_bytes"] == "TensorFlow does not count the CPU's memory"
    assert (tensorflow.sessions_cleared, tensorflow.statistics_reset) == (1, 0)


def test_a_frozen_k_is_used_as_it_is() -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000))
    assert bench.run(bench.request(calls=3)).calls_per_sample == 3
    assert bench.run(bench.request()).calls_per_sample == 12


@pytest.mark.parametrize("held_up", [1, 2, 3, 4])
def test_a_search_for_k_that_was_held_up_is_made_good_before_the_samples(held_up: int) -> None:
    """Every sample of the climb, of the warm-up, and the first one after it: the block that finds K may
    count."""
    waits = lambda call: 60_000_000 if 1 < call < 2 + held_up else 0  # noqa: E731
    result = Bench(device=FakeDevice(call_ns=375_000, waits=waits)).run()
    assert result.calls_per_sample == 32
    assert {round(seconds, 12) for seconds in result.samples_s} == {0.000375}
    assert result.labels == []


def test_a_frozen_k_stays_however_fast_the_calls_are() -> None:
    """All blocks and arms have samples of one kind, whichever was the fastest."""
    bench = Bench(device=FakeDevice(call_ns=1_000))
    assert bench.run(bench.request(calls=3)).calls_per_sample == 3


def test_what_is_kept_going_is_ready_and_at_rest_before_its_long_samples() -> None:
    bench = Bench()
    loop = Loop(
        clock=bench.device.clock,
        cpu_clock=bench.device.cpu_clock,
        fence=bench.device.fence,
        least_s=0.25,
    )
    runner = Runner(
        loop=loop, device="/CPU:0", warmup_s=0.0, measure_s=3.0, budget_s=60.0, rest_s=0.01
    )
    result = runner.run(bench.request())
    assert result.outcome == "measured"
    assert len(result.warmup_s) == 1
    calls = result.calls_per_sample or 0
    assert all(calls * sample >= 0.25 for sample in result.samples_s)
    assert calls * sum(result.samples_s) >= 3.0
    assert not result.labels
    assert list(result.spent_s).index("rest") < list(result.spent_s).index("measure")
    assert list(result.spent_s).index("calibrate") < list(result.spent_s).index("rest")
    assert 0.01 <= result.spent_s["rest"] < result.spent_s["measure"]
    assert "rest" not in Bench().run().spent_s


def test_seconds_are_itemised_by_kind() -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000))
    result = bench.run()
    kinds = ["prepare", "first_call", "placement", "hygiene", "calibrate"]
    assert list(result.spent_s) == [*kinds, "warmup", "measure", "check"]
    for kind, samples in (("warmup", result.warmup_s), ("measure", result.samples_s)):
        spent = sum(samples) * (result.calls_per_sample or 0)
        assert result.spent_s[kind] == pytest.approx(spent)
    assert "calibrate" not in bench.run(bench.request(calls=3)).spent_s


def raising(error: BaseException) -> Callable[..., Any]:
    def refuse(*_: object, **_named: object) -> None:
        raise error

    return refuse


@pytest.mark.parametrize(
    ("fields", "outcome", "reason"),
    [
        (
            {"check": raising(WrongResult("it is off by 7"))},
            "failed",
            "wrong result: it is off by 7",
        ),
        ({"check": lambda _: 1 / 0}, "failed", "ZeroDivisionError: division by zero"),
        ({"warm_start": lambda: 1 / 0}, "failed", "ZeroDivisionError: division by zero"),
        ({"proof": CONV}, "failed", "placement not proven: no Conv2D node was executed in a graph"),
        ({"trouble": Inapplicable("needs bfloat16")}, "skipped", "needs bfloat16"),
        # Whatever it raises, in one line and not too long.
        ({"trouble": KeyError("no\n   such layer")}, "failed", "KeyError: 'no\\n such layer'"),
        ({"trouble": ValueError("a" * 5_000 + "z" * 5_000)}, "failed", f"ValueError: {CUT}"),
    ],
)
def test_a_cell_that_goes_wrong_has_its_reason_and_no_number(
    fields: dict[str, Any],
    outcome: str,
    reason: str,
    tensorflow: FakeTensorFlow,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bench = Bench(**fields)
    result = bench.run()
    assert (result.outcome, result.reason) == (outcome, reason)
    assert_no_numbers(result)
    assert ("Traceback" in capsys.readouterr().err) == ("Error: " in reason)
    # It leaves a clean session, and what was prepared is closed.
    assert bench.done[-1] == ("prepare 1 on /CPU:0" if bench.trouble else "close")
    assert tensorflow.sessions_cleared == 1


def test_work_of_the_cpu_is_looked_for_there_on_every_arm(tensorflow: FakeTensorFlow) -> None:
    assert Bench(on="cpu").run(device="/GPU:0").outcome == "measured"
    assert Bench(on="arm").run(device="/GPU:0").outcome == "failed"


def test_a_person_who_interrupts_is_not_a_cells_failure() -> None:
    bench = Bench(trouble=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        bench.run()


def test_a_cell_over_budget_is_skipped_after_its_first_calls_with_the_prediction() -> None:
    bench = Bench(device=FakeDevice(call_ns=SECOND // 10))
    result = bench.run(budget_s=0.2)
    assert result.outcome == "skipped"
    # Three samples of a tenth of a second each, and what it took so far by this machine's own clock.
    assert (result.reason or "").startswith("would take 0.3")
    assert (result.reason or "").endswith("s here; the profile's budget for this cell is 0.2 s")
    assert_no_numbers(result)
    assert bench.device.calls == 3
    assert bench.done == ["prepare 1 on /CPU:0", "close"]


def test_cells_that_people_asked_about_have_four_budgets() -> None:
    bench = Bench(device=FakeDevice(call_ns=SECOND // 10))
    result = bench.run(bench.request(long_budget=True), budget_s=0.1)
    assert result.outcome == "measured"
    assert len(result.samples_s) == 3
    slower = Bench(device=FakeDevice(call_ns=SECOND // 10))
    result = slower.run(slower.request(long_budget=True), budget_s=0.07)
    assert (result.reason or "").endswith("the profile's budget for this cell is 0.28 s")


def test_a_hopeless_size_and_those_behind_it_are_never_entered() -> None:
    bench = Bench(device=FakeDevice(call_ns=100_000_000))
    runner = bench.runner()
    assert runner.run(bench.request(1, sweep="n")).outcome == "measured"
    bench.done.clear()
    first, second = (runner.run(bench.request(n, sweep="n")) for n in (12, 120))
    assert (first.outcome, second.outcome) == ("skipped", "skipped")
    # 1.2 s a call: the first and the one that finds K, which is the sample; and a little, by this machine's
    # own clock, for the check.
    assert (first.reason or "").startswith("would take 2.4")
    assert (first.reason or "").endswith(" s here; the profile's budget for this cell is 2 s")
    assert (second.reason or "").startswith("would take 24")
    assert bench.done == []
    assert_no_numbers(first)


def test_a_block_neither_predicts_nor_judges_again_what_the_calibration_let_pass() -> None:
    bench = Bench(device=FakeDevice(call_ns=SECOND))
    runner = bench.runner()
    assert runner.run(bench.request(1, sweep="n", calls=1)).outcome == "measured"
    assert runner.forecast.sizes == {}
    runner.forecast.remember(bench.request(1, sweep="n").cell, 100.0, 0.0)
    assert runner.run(bench.request(8, sweep="n", calls=1)).outcome == "measured"


@pytest.mark.parametrize(
    ("calls", "call_s", "sampled", "every"),
    [
        # While calibrating: the call that finds K is the sample, or three follow it.
        (None, 0.3, 1, 2),
        (None, 0.08, 3, 6),
        # In a block, where the calibration has told how long a call takes.
        (1, 0.2, 1, 2),
        (1, 0.08, 3, 4),
    ],
)
def test_a_slow_cells_first_call_is_its_warm_up(
    calls: int | None, call_s: float, sampled: int, every: int
) -> None:
    bench = Bench(device=FakeDevice(call_ns=round(call_s * SECOND)))
    request = bench.request(calls=calls)
    result = bench.run(replace(request, usual_s=call_s) if calls else request)
    assert (result.outcome, result.calls_per_sample) == ("measured", 1)
    assert (result.warmup_status, result.warmup_s, result.labels) == (FIRST_CALL, [], [])
    assert result.first_call_s == call_s
    assert result.samples_s == [call_s] * sampled
    assert bench.device.calls == every
    # The first call is booked as what it was; the last result is the checked one.
    assert result.spent_s["warmup"] == pytest.approx(call_s)
    assert result.spent_s["measure"] == pytest.approx(call_s * sampled)
    assert bench.done[1] == f"check {every}"
    assert result.evidence != {} or counters.read() == {}


def test_a_brief_check_stands_for_the_full_one_where_it_has_held() -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000))
    runner = replace(bench.runner(), brief=True)
    # What has no brief one is checked in full.
    assert runner.run(bench.request()).check == Check(what="fine", value=4.0, tolerance=0.0)
    bench.brief = lambda last: Check(what=f"call {last}")
    result = runner.run(bench.request())
    assert result.check == Check(what=f"call {bench.device.calls}", brief=True)
    assert bench.run().check == Check(what="fine", value=4.0, tolerance=0.0)
    bench.brief = raising(WrongResult("it is off by 7"))
    result = runner.run(bench.request())
    assert (result.outcome, result.reason) == ("failed", "wrong result: it is off by 7")


def test_one_shot_is_one_cold_sample() -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000, first_ns=SECOND))
    result = bench.run(bench.request(one_shot=True))
    # Its only call is the sample.
    assert result.spent_s["measure"] == 1.001
    assert result.spent_s["first_call"] < 1.0
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

    def warm_start() -> None:
        watched.append(tensorflow.watching)
        bench.device.step()
        bench.device.leave_work(7 * SECOND)

    bench.warm_start = warm_start
    result = bench.run(bench.request(one_shot=True))
    assert (result.outcome, result.samples_s) == ("measured", [0.001])
    assert (result.first_call_s, result.warmup_status) == (None, "run-up")
    assert result.absent["first_call_s"] == "calls that were not timed came before the sample"
    assert watched == [True]
    # Its seconds are the invocation's all the same.
    assert set(result.spent_s) >= {"prepare", "first_call", "check"}
    assert bench.done == ["prepare 1 on /CPU:0", "check 2", "close"]


@pytest.mark.parametrize("retraces", [True, False])
@pytest.mark.parametrize("strays", [True, False])
def test_a_step_that_is_traced_at_every_call_is_watched_again(
    tensorflow: FakeTensorFlow, *, retraces: bool, strays: bool
) -> None:
    watched: list[int] = []
    bench = Bench(device=FakeDevice(call_ns=1_000_000), retraces=retraces)

    def note() -> None:
        if tensorflow.watching:
            watched.append(bench.device.calls)
        elif strays:
            # What is traced later is placed elsewhere.
            tensorflow.nodes = [("MatMul", "/device:GPU:0", "late")]

    bench.before = note
    result = bench.run()
    if retraces and strays:
        assert result.outcome == "failed"
        assert result.reason == (
            "placement not proven: work that belongs on CPU:0 ran elsewhere: MatMul late on GPU:0"
        )
        assert_no_numbers(result)
    else:
        assert (result.outcome, result.placement) == ("measured", {"CPU:0": 1})
    assert watched == ([0, bench.device.calls - 1] if retraces else [0])


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
    # 1.2 s and 0.1 s beyond the least, times nine; and all of that from there on.  The checks take real time.
    budget = "s here; the profile's budget for this cell is 2 s"
    assert re.fullmatch(rf"would take 2\.1\d? {budget}", skipped[0].reason or "")
    assert re.fullmatch(rf"would take 11\.\d {budget}", skipped[1].reason or "")
    assert bench.done == []


@pytest.mark.parametrize(("fields", "stage"), [({}, "import"), ({"startup": "import"}, "first")])
def test_a_stage_of_the_start_up_is_what_the_start_up_took(
    fields: dict[str, Any], stage: str
) -> None:
    bench = Bench()
    request = bench.request(one_shot=True, **fields)
    cell = replace(request.cell, id=f"made.up/stage={stage}", params={"stage": stage})
    scenario = replace(request.scenario, prepare=None)
    result = bench.run(Request(scenario=scenario, cell=cell, calls=None))
    assert (result.outcome, result.samples_s, result.calls_per_sample) == ("measured", [2.5], 1)
    assert (bench.done, bench.device.calls) == ([], 0)
    assert [*result.absent] == ["first_call_s", "enqueue_fraction", "peak_memory_bytes", "check"]


@pytest.mark.parametrize(
    ("device", "reason"), [("/CPU:0", "a CPU's step blocks"), ("/GPU:0", "the step blocks")]
)
def test_the_enqueue_fraction_is_null_with_its_reason_where_the_step_blocks(
    device: str, reason: str, tensorflow: FakeTensorFlow
) -> None:
    tensorflow.nodes = [("MatMul", f"/device:{device[1:]}", "product")]
    result = Bench(enqueues=device == "/CPU:0").run(device=device)
    assert (result.enqueue_fraction, result.absent["enqueue_fraction"]) == (None, reason)


@pytest.mark.parametrize(("enqueue_ns", "labels"), [(90_000, []), (2_000_000, ["dispatch-bound"])])
def test_a_gpu_that_waits_for_its_cpu_is_labelled(
    enqueue_ns: int, labels: list[str], on_gpu: FakeTensorFlow
) -> None:
    bench = Bench(device=FakeDevice(call_ns=100_000, enqueue_ns=enqueue_ns))
    result = bench.run(device="/GPU:0")
    assert result.enqueue_fraction == pytest.approx(enqueue_ns / (enqueue_ns + 100_000))
    assert result.labels == labels


WAITING = FakeDevice(call_ns=1_000_000, waits=lambda call: 6_000_000 if call == 180 else 0)
"""One of the samples, of twelve calls each, waits for half as long as it computes."""


def test_a_sample_that_waited_is_replaced_on_a_cpu() -> None:
    result = Bench(device=replace(WAITING)).run()
    assert result.replaced_s == [pytest.approx(0.0015)]
    assert result.replaced_cpu_s == [0.001]
    assert {*result.samples_s, *result.cpu_s} == {0.001}
    assert len(result.cpu_s) == len(result.samples_s)


def test_a_sample_that_waited_stays_on_a_gpu(on_gpu: FakeTensorFlow) -> None:
    bench = Bench(device=replace(WAITING))
    result = bench.run(device="/GPU:0")
    assert max(result.samples_s) == pytest.approx(0.0015)
    assert result.replaced_s == []
    assert len(result.cpu_s) == len(result.samples_s)
    assert on_gpu.statistics_reset == 1


def test_the_peak_of_memory_is_the_cells_and_not_its_checks(on_gpu: FakeTensorFlow) -> None:
    before = on_gpu.peak_bytes

    def check(_: Any) -> Check:
        on_gpu.peak_bytes = 9 * before
        return Check(what="trained another model")

    assert Bench(check=check).run(device="/GPU:0").peak_memory_bytes == before
    assert on_gpu.statistics_reset == 1


@pytest.mark.parametrize(
    ("drift", "calls", "labels"),
    [
        (0.0, 20, []),
        (0.0, 2, ["short samples"]),
        (0.01, 2, ["warm-up cap", "short samples"]),
    ],
)
def test_what_the_worker_has_against_a_number_is_a_label(
    drift: float, calls: int, labels: list[str]
) -> None:
    bench = Bench(device=FakeDevice(call_ns=1_000_000, drift=drift))
    assert bench.run(bench.request(calls=calls)).labels == labels


def test_only_the_calibration_of_work_on_a_gpu_is_traced(
    on_gpu: FakeTensorFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench()
    result = bench.run(device="/GPU:0")
    assert result.trace == {"busy_share": 0.5}
    assert list(result.spent_s).index("trace") == list(result.spent_s).index("check") - 1
    for other in (bench.request(calls=3), bench.request(one_shot=True)):
        assert bench.run(other, device="/GPU:0").trace == {}
    assert Bench(on="cpu", proof=None).run().trace == {}
    # A missing one says why and costs no number.
    monkeypatch.setattr(trace, "trace", raising(trace.NoTrace("no counters for you")))
    result = bench.run(device="/GPU:0")
    assert result.outcome == "measured"
    assert (result.trace, result.absent["trace"]) == ({}, "no counters for you")
