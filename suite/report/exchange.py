"""The analysis for programs: ``summary.json`` and ``cells.csv``.

Unscaled numbers, seconds and bytes; every null has its reason beside it.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from suite.report.markup import guard_formula
from suite.report.compare import Ratio
from suite.report.statistics import Estimate
from suite.report.summary import NOT_LOOKED_FOR, ArmResult, CellSummary, Summary
from suite.report.units import derive_rate, name_rate
from suite.wire import SCHEMA

UNIT = "s"
"""Every value here is in seconds per call."""


def render_json(summary: Summary) -> str:
    """``summary.json`` as text with a final newline; keys in a fixed order."""
    campaign = summary.campaign
    content = {
        "schema": SCHEMA,
        "campaign": {
            "id": campaign.id,
            "profile": campaign.profile,
            "seed": campaign.seed,
            "label": campaign.label,
            "simulated": campaign.simulated,
            "blocks": {arm: sorted(blocks) for arm, blocks in summary.counted.items()},
        },
        "banners": list(summary.banners),
        "arms": campaign.arms,
        "not_run": campaign.not_run,
        "ratio_is": "time of the arm over time of the first arm; under 1 the arm is faster",
        "cells": [_describe_cell(summary, one) for one in summary.cells],
        "crossovers": None,
        "noise_floor": None,
        "controls": None,
        "absent": dict.fromkeys(("crossovers", "noise_floor", "controls"), NOT_LOOKED_FOR),
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


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
    *("ratio", "ratio_low", "ratio_high", "ratio_n", "notes"),
)


def _describe_cell(summary: Summary, one: CellSummary) -> dict[str, Any]:
    absent = {"verdict": NO_VERDICTS}
    first = one.ratios.get(summary.others[0]) if summary.others else "there is one arm only"
    if not isinstance(first, Ratio):
        absent["ratio"] = first or NOT_LOOKED_FOR
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
        "ratio_of": [summary.others[0], summary.base] if summary.others else None,
        "ratios": {
            arm: _describe_estimate(found) if isinstance(found, Ratio) else {"reason": found}
            for arm, found in one.ratios.items()
        },
        "verdict": None,
        "causes": [],
        "absent": absent,
    }


def _describe_arm(result: ArmResult) -> dict[str, Any]:
    found = result.estimate
    return {
        "outcome": result.outcome,
        "reason": result.reason,
        "value": found.value if found else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "n": found.n if found else 0,
        "unit": UNIT,
        "rate": derive_rate(result.work.amount, found.value) if found else None,
        "rate_unit": name_rate(result.work.unit),
        "first_call": _describe_estimate(result.first_call) if result.first_call else None,
        "notes": [*(found.notes if found else ()), *result.notes],
    }


def _describe_estimate(found: Estimate | Ratio) -> dict[str, Any]:
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "notes": list(found.notes),
    }


def _describe_row(one: CellSummary, arm: str) -> dict[str, Any]:
    described = _describe_arm(one.arms[arm])
    first = described.pop("first_call") or {}
    ratio = one.ratios.get(arm)
    found = _describe_estimate(ratio) if isinstance(ratio, Ratio) else {}
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
        "notes": "; ".join(described["notes"]),
    }
