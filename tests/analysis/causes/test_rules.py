"""What a trace of the calibration says to a cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite.analysis.ablation.cell_index import index_cells
from suite.analysis.campaign.summarise import Summary
from suite.analysis.causes.explain import explain
from suite.analysis.causes.parts import Compared, Part
from suite.analysis.causes.rules import RULES, cite_trace, cross_check
from suite.analysis.result.findings import RuleName
from suite.report.text.evidence import word_evidence
from tests import synthetic
from tests.changes import invoke
from tests.fakes import machines
from tests.flagging import codes
from tests.rendering import sum_up

STEPS = machines.choose(machines.make_cells(), "mlp.train", "overhead.")
STEP = "mlp.train/net=A/batch=32/data=device/precision=fp32/execution=graph"
IDLE = {
    "calls": 20.0,
    "call_s": 1e-3,
    "busy_share": 0.12,
    "copy_share": 0.0,
    "kernels": 14.0,
    "copies": 0.0,
    "longest_gap_s": 4e-4,
}
BUSY = {**IDLE, "busy_share": 0.97}
COPYING = {**IDLE, "busy_share": 0.6, "copy_share": 0.4, "copies": 2.0}


def see(rule: RuleName, trace: dict[str, float] | None) -> tuple[bool, bool, list[str]]:
    """How a cause is checked that takes 0.6 ms of a call of 1 ms, which a trace saw."""
    campaign, documents = machines.make_campaign(machines.choose(STEPS, STEP))
    documents = [synthetic.change_cell(document, STEP, samples_s=[1e-3]) for document in documents]
    index = index_cells(sum_up(campaign, documents))
    if trace is not None:
        index = replace(index, traces={"cuda": {STEP: trace}})
    part = Part(
        rule=rule,
        here=Compared(index=index, summary=index.cells[STEP], arms=("cpu", "cuda")),
        times=2.0,
        seconds={"cpu": {1: 0.2e-3}, "cuda": {1: 1.4e-3}},
        evidence=(),
    )
    agrees, refuted, told = cross_check(RULES[rule], [part])
    return agrees, refuted, codes(told)


@pytest.mark.parametrize(
    ("rule", "trace", "agrees", "refuted"),
    [
        ("overhead", IDLE, False, False),
        ("overhead", BUSY, False, False),
        ("input", IDLE, False, False),
        ("input", BUSY, False, True),
        ("fallback", IDLE, True, False),
        ("fallback", {**BUSY, "longest_gap_s": 2e-5}, False, True),
        ("transfer", COPYING, True, False),
        ("transfer", IDLE, False, True),
        ("too small", BUSY, True, False),
        ("too small", {**IDLE, "busy_share": 0.03}, False, True),
        ("start-up", IDLE, False, False),
    ],
)
def test_a_trace_confirms_what_it_shows_and_refutes_what_it_does_not(
    rule: RuleName, trace: dict[str, float], *, agrees: bool, refuted: bool
) -> None:
    assert see(rule, trace) == (agrees, refuted, ["trace"])
    assert see(rule, None) == (False, False, [])


def test_a_trace_in_words() -> None:
    assert word_evidence(cite_trace(COPYING)) == (
        "a trace of 20 calls shows the GPU busy 60.0 % of the time, copying 40.0 % (2 copies a call), "
        "14 kernels a call, idle for 400 µs at most"
    )


def traced(block: int) -> Summary:
    """A campaign whose GPU loses by overhead, of which one invocation has a trace."""
    gpu = replace(machines.GPU, fixed=2e-3, example=0.2e-6, call=1.5e-3)
    campaign, documents = machines.make_campaign(STEPS, cpu=machines.CPU, gpu=gpu)
    like = next(document for document in documents if document.invocation.arm == "cuda")
    document_with_trace = invoke(block=block)(synthetic.change_cell(like, STEP, trace=IDLE))
    kept = [
        document
        for document in documents
        if (document.invocation.arm, document.invocation.block) != ("cuda", block)
    ]
    return sum_up(campaign, [*kept, document_with_trace])


def test_the_report_hears_the_calibrations_trace_and_no_other() -> None:
    summary = traced(0)
    index = index_cells(summary)
    assert index.traces["cuda"] == {STEP: IDLE}
    _, (cause, *_) = explain(index)[STEP]
    (heard,) = [evidence for evidence in cause.evidence if evidence.code == "trace"]
    assert heard.values == {"calls": 20.0, "busy": 0.12, "kernels": 14.0, "gap": 4e-4}
    assert not any(index_cells(traced(1)).traces.values())
