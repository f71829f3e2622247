"""What one container says, record by record: what is taken, what is garbage, and how long it may take."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from suite import codec
from suite.errors import EngineError, GpuError
from suite.host.campaign import durations
from suite.host.campaign.document_builder import SAME_CLOCK
from suite.host.engine import GpuRequest, Job
from tests.fakes.engine import GPU_FACTS, Life, Script, Word, record
from tests.host.campaign.flow import Flow, result, unmeasured

NAMED = "GPU-11111111-aaaa-4bbb-8ccc-000000000001"
OTHER = "22222222-aaaa-4bbb-8ccc-000000000002"


def named(flow: Flow, uuid: str | None) -> Script:
    """A container whose CUDA says that it has this GPU."""
    told = {**GPU_FACTS, "gpu.0.uuid": uuid and codec.hash_uuid(uuid)}
    return replace(flow.worker, gpu_facts=told)


def test_another_gpu_than_the_one_named_gives_no_number(tmp_path: Path) -> None:
    flow = Flow(tmp_path, arm="cuda", gpu=GpuRequest(driver="nvidia", devices=("0",), uuid=NAMED))
    with pytest.raises(GpuError, match="another GPU than the one named") as caught:
        flow.run(named(flow, OTHER))
    assert "`nvidia-smi -L`" in caught.value.remedy
    assert NAMED not in caught.value.what
    assert flow.engine.closed()
    assert set(unmeasured(flow.kept[-1])) == set(flow.order)


def test_the_gpu_that_was_named_is_measured(tmp_path: Path) -> None:
    for uuid, found in ((NAMED, NAMED), (NAMED, None), (None, OTHER)):
        gpu = GpuRequest(driver="nvidia", devices=("0",), uuid=uuid)
        flow = Flow(tmp_path / f"{uuid}-{found}", arm="cuda", gpu=gpu)
        assert unmeasured(flow.run(named(flow, found))) == {}


@pytest.mark.parametrize(
    ("last", "kind", "status", "remedy"),
    [
        (record("refused", reason="no GPU in here"), GpuError, 4, ""),
        (record("unfit", reason="it lacks tf.thing"), EngineError, 3, "CUDA_IMAGE"),
    ],
    ids=["refused", "unfit"],
)
def test_a_worker_that_can_not_be_its_arm_ends_the_campaign_with_its_reason(
    last: str, kind: type[EngineError], status: int, remedy: str, on_gpu: Flow
) -> None:
    words = [on_gpu.worker.greeting()[0], last]
    with pytest.raises(kind, match=json.loads(last)["reason"]) as caught:
        on_gpu.run(lambda _: Life(words=words, code=status))
    assert caught.value.exit_status == status
    assert caught.value.remedy
    assert remedy in caught.value.remedy
    assert on_gpu.engine.closed()
    assert on_gpu.kept[-1].invocation.status == "interrupted"


def test_a_cell_that_hangs_is_stopped_at_its_deadline(flow: Flow) -> None:
    hung = flow.order[1]
    document = flow.run(flow.worker.meets(hung, TimeoutError()))
    assert unmeasured(document) == {hung: "failed"}
    said = f"the deadline for the cell {hung} has passed"
    assert said in (result(document, hung).reason or "")
    assert document.invocation.containers[0].status == said
    assert flow.engine.log[:3] == [("start", "fake-1"), ("stop", "fake-1"), ("close", "fake-1")]


def test_a_start_that_hangs_is_stopped_and_tried_again(flow: Flow) -> None:
    document = flow.run(lambda _: Life(words=[TimeoutError()]))
    assert unmeasured(document) == {}
    assert document.invocation.containers[0].status == "the deadline for the start has passed"
    assert ("stop", "fake-1") in flow.engine.log


def test_each_wait_ends_by_its_own_deadline(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    flow.run()
    cell = durations.cell_deadline_s(flow.campaign, flow.cells[0])
    between = durations.CELL_DEADLINE_FLOOR_S
    # Four waits until the first cell has begun, one in each cell, one between any two.
    expected = [durations.START_DEADLINE_S] * 4 + [cell, between] * 5 + [between]
    assert flow.engine.runs[0].timeouts == expected


@pytest.mark.parametrize(
    "garbage",
    [
        "Segmentation fault",
        "[1, 2]",
        '{"record": "confession"}',
        '{"record": "cell", "cell": {"id": "made.a"}}',
        '{"record": "cell_started", "id": "never.asked"}',
        '{"record": "facts", "facts": {"a": NaN}, "seconds": 1.0}',
        '{"record": "facts", "facts": {}, "seconds": "long"}',
        '{"record": "hello"}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:40],
)
def test_garbage_costs_the_cell_in_flight_and_stops_its_container(garbage: str, flow: Flow) -> None:
    lost = flow.order[2]
    document = flow.run(flow.worker.meets(lost, garbage))
    assert unmeasured(document) == {lost: "failed"}
    reason = result(document, lost).reason or ""
    assert reason.startswith("its container died: ")
    assert 30 < len(reason) < 700
    assert flow.engine.log[:3] == [("start", "fake-1"), ("stop", "fake-1"), ("close", "fake-1")]


@pytest.mark.parametrize(
    "fields",
    [
        {"samples_s": [float("nan")]},
        {"samples_s": []},
        {"outcome": "wonderful"},
        {"outcome": "pending", "samples_s": []},
        {"started": "2026-11-21T10:00:00"},
        {"params": {"n": 7}},
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
    outcome = json.loads(flow.worker.cell_lines(lost)[1])
    outcome["cell"].update(fields)
    begun = flow.worker.until(lost, begun=True)
    document = flow.run(lambda job: Life(words=[*begun(job), json.dumps(outcome)]))
    assert unmeasured(document) == {lost: "failed"}


def test_cells_out_of_turn_are_garbage(flow: Flow) -> None:
    first, second, *_ = flow.order
    begun = flow.worker.until(first, begun=True)
    start, outcome = flow.worker.cell_lines(second)
    for words in ([start, outcome], [outcome]):
        document = flow.run(lambda job, words=words: Life(words=[*begun(job), *words]))
        assert unmeasured(document) == {first: "failed"}
        assert second in (result(document, first).reason or "")


def test_an_image_of_another_schema_is_told_with_both_numbers(flow: Flow) -> None:
    hello = codec.dump_record({**json.loads(flow.worker.greeting()[0]), "schema": 99})
    document = flow.run(otherwise=lambda job: Life(words=[hello, *flow.worker.words(job)[1:]]))
    assert unmeasured(document) == dict.fromkeys(flow.order, "failed")
    assert f"speaks schema 99, this is {codec.SCHEMA}" in (document.cells[0].reason or "")
    assert len(flow.engine.jobs) == 3


def set_back(by: timedelta, line: str) -> str:
    """What the worker says, by a clock that is so far behind."""
    words = json.loads(line)
    if words["record"] == "hello":
        words["at"] = (datetime.fromisoformat(words["at"]) - by).isoformat()
    if words["record"] == "cell":
        cell = words["cell"]
        cell["started"], cell["ended"] = (
            (datetime.fromisoformat(cell[name]) - by).isoformat() for name in ("started", "ended")
        )
        now = datetime.fromisoformat(cell["ended"]).timestamp()
        cell["evidence"] = {"from_s": now - 0.5, "to_s": now, "own_cpus": 1.0}
    return json.dumps(words)


@pytest.mark.parametrize("hours", [1.0, -1.0])
def test_instants_of_a_clock_that_was_set_between_are_put_where_they_belong(
    hours: float, flow: Flow
) -> None:
    by = timedelta(hours=hours)
    began = datetime.now(timezone.utc)
    document = flow.run(
        lambda job: Life(words=[set_back(by, one) for one in flow.worker.words(job)])
    )
    assert unmeasured(document) == {}
    ended = datetime.now(timezone.utc)
    for cell in document.cells:
        if not cell.evidence:
            continue  # measured from outside
        assert cell.started is not None
        assert cell.ended is not None
        assert began - SAME_CLOCK <= cell.started <= cell.ended <= ended + SAME_CLOCK
        assert cell.evidence["to_s"] == pytest.approx(cell.ended.timestamp())
        assert cell.evidence["to_s"] - cell.evidence["from_s"] == pytest.approx(0.5)
        assert cell.evidence["own_cpus"] == 1.0


def test_news_that_comes_late_moves_nothing(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the host was paused, or the network to the engine was gone for a while."""
    away, clock = [0.0], time.monotonic

    def words(job: Job) -> Iterator[Word]:
        for number, line in enumerate(flow.worker.words(job)):
            away[0] += 100.0 if number > 3 else 0.0
            yield line

    monkeypatch.setattr(time, "monotonic", lambda: clock() + away[0])
    began = datetime.now(timezone.utc)
    document = flow.run(lambda job: Life(words=words(job)))
    moved = [one.started - began for one in document.cells if one.started is not None]
    assert max(moved) < timedelta(seconds=50)
