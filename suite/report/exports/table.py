"""``cells.csv``: one row a cell and arm, for programs; unscaled numbers, an empty field for none."""

from __future__ import annotations

import csv
import io
from typing import Any

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.report.render.plain import show_plainly
from suite.report.text.units import name_rate
from suite.report.text.wording import tell, word, word_invalid, word_missing, word_verdict

_COLUMNS = (
    *("id", "scenario", "case", "arm", "outcome", "reason"),
    *("value", "low", "high", "n", "unit", "rate", "rate_unit"),
    *("first_call_value", "first_call_low", "first_call_high", "first_call_n"),
    *("ratio", "ratio_low", "ratio_high", "ratio_n"),
    *("verdict", "verdict_reason", "invalid", "notes"),
)


def render_csv(analysis: Analysis) -> str:
    """The table as text; the axes of all cells stand in columns of their own, at the end."""
    axes = list(dict.fromkeys(axis for one in analysis.cells for axis in one.params))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*_COLUMNS, *(guard_formula(f"axis_{axis}") for axis in axes)])
    for one in analysis.cells:
        for arm, result in one.arms.items():
            row = _describe(one, arm, result)
            values = [*map(row.get, _COLUMNS), *map(one.params.get, axes)]
            writer.writerow([guard_formula(v) if isinstance(v, str) else v for v in values])
    return buffer.getvalue()


def guard_formula(text: str) -> str:
    """The text for a spreadsheet's cell: one that would be taken for a formula gets a quote.

    Source: OWASP, "CSV Injection"; a leading ``=``, ``+``, ``-``, ``@``, tab or return starts one.
    """
    shown = show_plainly(text, limit=2000)
    return (
        f"'{shown}" if shown.lstrip()[:1] in {"=", "+", "-", "@"} or text[:1].isspace() else shown
    )


def _describe(one: CellAnalysis, arm: str, result: ArmResult) -> dict[str, Any]:
    compared, first = one.comparisons.get(arm), result.first_call
    ratio, verdict = (compared.ratio, compared.verdict) if compared else (None, None)
    no_verdict = compared.no_verdict if compared else None
    row: dict[str, Any] = {name: getattr(one, name) for name in ("id", "scenario", "case")}
    for name in ("outcome", "value", "low", "high", "n", "unit", "rate"):
        row[name] = getattr(result, name)
    for name in ("value", "low", "high", "n"):
        row[f"first_call_{name}"] = getattr(first, name, None)
        row["ratio" if name == "value" else f"ratio_{name}"] = getattr(ratio, name, None)
    return row | {
        "arm": arm,
        "reason": word_missing(result),
        "rate_unit": name_rate(result.work.unit),
        "verdict": verdict.name if verdict else None,
        "verdict_reason": word_verdict(verdict) if verdict else no_verdict and word(no_verdict),
        "invalid": word_invalid(result.invalid) or None,
        "notes": "; ".join(tell(result.flags)),
    }
