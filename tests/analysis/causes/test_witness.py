"""What a trace of the calibration says to a cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite.analysis.ablation.trace import find_traces
from suite.analysis.campaign.summarise import Summary
from suite.analysis.causes.insight import find_insight
from suite.analysis.causes.rules import Suspicion
from suite.analysis.causes.witness import attest, cite_trace
from suite.analysis.result.findings import RuleName
from suite.analysis.result.numbers import cite
from suite.model import Document
from suite.report.text.evidence import word_evidence
from tests import synthetic
from tests.fakes import machines
from tests.flagging import codes
from tests.rendering import sum_up

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


def suspect(rule: RuleName, share: float | None = 0.6) -> Suspicion:
    return Suspicion(rule=rule, share=share, confirmed=False, evidence=(cite("is-price"),))


@pytest.mark.parametrize(
    ("rule", "trace", "agrees"),
    [
        ("overhead", IDLE, True),
        ("overhead", BUSY, False),
        ("input", IDLE, True),
        ("fallback", BUSY, False),
        ("transfer", COPYING, True),
        ("transfer", IDLE, False),
        ("too small", IDLE, False),
        ("start-up", IDLE, False),
    ],
)
def test_a_trace_confirms_what_it_shows(
    rule: RuleName, trace: dict[str, float], agrees: bool
) -> None:
    found = attest(suspect(rule), trace)
    assert found.confirmed is agrees
    assert codes(found.evidence) == ["is-price", "trace"]


def test_a_trace_takes_no_confirmation_away_and_none_says_nothing() -> None:
    known = replace(suspect("overhead"), confirmed=True)
    assert attest(known, BUSY).confirmed
    assert attest(suspect("overhead"), None) == suspect("overhead")


def test_a_trace_in_words() -> None:
    assert word_evidence(cite_trace(COPYING)) == (
        "a trace of 20 calls saw the GPU busy 60.0 % of the time, copying 40.0 % (2 copies a call), "
        "14 kernels a call, 400 µs without work at most"
    )


def traced(block: int) -> Summary:
    """A campaign whose GPU loses by overhead, of which one invocation has a trace."""
    gpu = replace(machines.GPU, fixed=2e-3, example=0.2e-6, call=1.5e-3)
    campaign, documents = machines.make_campaign(cpu=machines.CPU, gpu=gpu)
    like = next(one for one in documents if one.invocation.arm == "cuda")
    seen = synthetic.change_cell(like, STEP, trace=IDLE)
    seen = replace(seen, invocation=replace(seen.invocation, block=block))
    kept: list[Document] = [
        one for one in documents if (one.invocation.arm, one.invocation.block) != ("cuda", block)
    ]
    return sum_up(campaign, [*kept, seen])


def test_the_report_hears_the_calibrations_trace_and_no_other() -> None:
    summary = traced(0)
    assert find_traces(summary)["cuda"] == {STEP: IDLE}
    case = next(one for one in find_insight(summary).cases if one.cell.cell.id == STEP)
    (seen,) = [one for one in case.causes[0].evidence if one.code == "trace"]
    assert seen.values == {"calls": 20.0, "busy": 0.12, "kernels": 14.0, "gap": 4e-4}
    assert not any(find_traces(traced(1)).values())
