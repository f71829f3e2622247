"""The analysis for programs: ``summary.json`` and ``cells.csv``.

Unscaled numbers, seconds and bytes; every null has its reason beside it.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import asdict
from typing import Any

from suite import __version__
from suite.analysis.campaign.conclude import ONE_ARM
from suite.analysis.campaign.summarise import ArmResult, CellSummary, Summary
from suite.analysis.causes.explain import Case
from suite.analysis.causes.insight import Insight, find_insight
from suite.analysis.numbers.estimate import derive_rate
from suite.analysis.numbers.ratio import Ratio
from suite.flags import Flag
from suite.model import SuiteIdentity
from suite.report.exports.findings import describe_estimate, describe_findings, describe_verdict
from suite.report.exports.reasons import describe_causes, describe_insight
from suite.report.text.markup import guard_formula
from suite.report.text.units import name_rate
from suite.report.text.wording import name_banners, tell, word, word_invalid, word_missing

SCHEMA = 1
"""The number of ``summary.json``, which has a history of its own."""

UNIT = "s"
"""Every value here is in seconds per call."""


def render_json(summary: Summary, insight: Insight | None = None) -> str:
    """``summary.json`` as text with a final newline; keys in a fixed order.

    ``insight`` is what was found in the campaign already; None: it is found here.
    """
    campaign, banners = summary.campaign, name_banners(summary.flags)
    insight = insight or find_insight(summary)
    cases = {case.cell.cell.id: case for case in insight.cases}
    findings, reasons = describe_findings(summary), describe_insight(insight)
    content = {
        "schema": SCHEMA,
        **describe_suites(campaign.suite),
        "campaign": {
            "id": campaign.id,
            "profile": campaign.profile,
            "seed": campaign.seed,
            "label": campaign.label,
            "simulated": "SIMULATED" in banners,
            "blocks": {arm: sorted(blocks) for arm, blocks in summary.counted.items()},
        },
        "banners": list(banners),
        "arms": campaign.arms,
        "not_run": campaign.not_run,
        "ratio_is": "time of the arm over time of the first arm; under 1 the arm is faster",
        "cells": [_describe_cell(summary, one, cases.get(one.cell.id)) for one in summary.cells],
        **findings,
        **reasons,
        "absent": {**findings["absent"], **reasons["absent"]},
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def describe_suites(measured_by: SuiteIdentity) -> dict[str, Any]:
    """Which suite measured, as the documents have it, and which one analysed.

    The latter by its version alone: with a commit or a hash of the code every rebuild from another
    checkout would give other bytes, though the analysis had not changed.
    """
    return {"suite": asdict(measured_by), "analysed_by": {"version": __version__}}


def render_csv(summary: Summary) -> str:
    """``cells.csv`` as text: one row a cell and arm, an empty field where there is no number.

    The axes of all cells stand in columns of their own, at the end.
    """
    axes = list(dict.fromkeys(axis for one in summary.cells for axis in one.cell.params))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    header = [*_COLUMNS, *(guard_formula(f"axis_{axis}") for axis in axes)]
    writer.writerow(header)
    for one in summary.cells:
        for arm in summary.campaign.arms:
            row = _describe_row(one, arm)
            params = [one.cell.params.get(axis) for axis in axes]
            values = [*(row[name] for name in _COLUMNS), *params]
            writer.writerow([guard_formula(v) if isinstance(v, str) else v for v in values])
    return buffer.getvalue()


_COLUMNS = (
    *("id", "scenario", "case", "arm", "outcome", "reason"),
    *("value", "low", "high", "n", "unit", "rate", "rate_unit"),
    *("first_call_value", "first_call_low", "first_call_high", "first_call_n"),
    *("ratio", "ratio_low", "ratio_high", "ratio_n"),
    *("verdict", "verdict_reason", "invalid", "notes"),
)


def _describe_cell(summary: Summary, one: CellSummary, case: Case | None) -> dict[str, Any]:
    main = summary.others[0] if summary.others else None
    first = one.ratios[main] if main else ONE_ARM
    verdict = describe_verdict(one.verdicts[main] if main else ONE_ARM)
    absent = {} if verdict["verdict"] else {"verdict": verdict["reason"]}
    if isinstance(first, Flag):
        absent["ratio"] = word(first)
    ratio = first if isinstance(first, Ratio) else None
    return {
        "id": one.cell.id,
        "scenario": one.cell.scenario,
        "case": one.cell.case,
        "params": one.cell.params,
        "arms": {arm: _describe_arm(result) for arm, result in one.arms.items()},
        "ratio": ratio.value if ratio else None,
        "ratio_low": ratio.low if ratio else None,
        "ratio_high": ratio.high if ratio else None,
        "ratio_of": [main, summary.base] if main else None,
        "ratios": {
            arm: describe_estimate(found) if isinstance(found, Ratio) else {"reason": word(found)}
            for arm, found in one.ratios.items()
        },
        "verdict": verdict["verdict"],
        "reason": verdict["reason"],
        "verdicts": {arm: describe_verdict(found) for arm, found in one.verdicts.items()},
        "causes": describe_causes(case),
        "absent": absent,
    }


def _describe_arm(result: ArmResult) -> dict[str, Any]:
    found = result.estimate
    kinds = Counter(one.steady.kind for one in result.readings.values())
    return {
        "outcome": result.outcome,
        "reason": word_missing(result),
        "value": found.value if found else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "n": found.n if found else 0,
        "unit": UNIT,
        "rate": derive_rate(result.work.amount, found.value) if found else None,
        "rate_unit": name_rate(result.work.unit),
        "first_call": describe_estimate(result.first_call) if result.first_call else None,
        "steady": dict(sorted(kinds.items())),
        "invalid": word_invalid(result.invalid) or None,
        "notes": tell([*(found.flags if found else ()), *result.flags]),
    }


def _describe_row(one: CellSummary, arm: str) -> dict[str, Any]:
    described = _describe_arm(one.arms[arm])
    del described["steady"]
    first = described.pop("first_call") or {}
    ratio = one.ratios.get(arm)
    found = describe_estimate(ratio) if isinstance(ratio, Ratio) else {}
    verdict = describe_verdict(one.verdicts[arm]) if arm in one.verdicts else {}
    return {
        "id": one.cell.id,
        "scenario": one.cell.scenario,
        "case": one.cell.case,
        "arm": arm,
        **described,
        **{f"first_call_{name}": first.get(name) for name in ("value", "low", "high", "n")},
        "ratio": found.get("value"),
        "ratio_low": found.get("low"),
        "ratio_high": found.get("high"),
        "ratio_n": found.get("n"),
        "verdict": verdict.get("verdict"),
        "verdict_reason": verdict.get("reason"),
        "notes": "; ".join(described["notes"]),
    }
