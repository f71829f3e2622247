"""``cells.csv``, and the rows of every table for programs: one a cell and arm; unscaled numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.report.render.plain import show_plainly
from suite.report.text.units import name_rate
from suite.report.text.wording import tell, word, word_invalid, word_missing, word_verdict

Entry = str | int | float | None
"""What stands in a row; None: there is none."""

Row = Mapping[str, Entry]

COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(("id", "scenario", "case", "arm", "outcome", "reason"), str),
    **dict.fromkeys(("value", "low", "high"), float),
    "n": int,
    "unit": str,
    "rate": float,
    "rate_unit": str,
    **dict.fromkeys(("first_call_value", "first_call_low", "first_call_high"), float),
    "first_call_n": int,
    **dict.fromkeys(("ratio", "ratio_low", "ratio_high"), float),
    "ratio_n": int,
    **dict.fromkeys(("verdict", "verdict_reason", "invalid", "notes"), str),
}
"""The columns of a cell on an arm, and what stands in them."""


def render_csv(analysis: Analysis) -> str:
    """The table as text, an empty field for none; the axes of all cells stand at the end."""
    axes = list(dict.fromkeys(axis for one in analysis.cells for axis in one.params))
    return write_table(
        [*COLUMNS, *(f"axis_{axis}" for axis in axes)],
        [
            [*map(describe(one, arm, result).get, COLUMNS), *map(one.params.get, axes)]
            for one in analysis.cells
            for arm, result in one.arms.items()
        ],
    )


def write_table(columns: Sequence[str], rows: Sequence[Sequence[Entry]]) -> str:
    """Rows as CSV that no spreadsheet takes for formulas."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in (columns, *rows):
        writer.writerow([guard_formula(one) if isinstance(one, str) else one for one in row])
    return buffer.getvalue()


def guard_formula(text: str) -> str:
    """The text for a spreadsheet's cell: one that would be taken for a formula gets a quote.

    Source: OWASP, "CSV Injection"; a leading ``=``, ``+``, ``-``, ``@``, tab or return starts one.
    """
    shown = show_plainly(text, limit=2000)
    return (
        f"'{shown}" if shown.lstrip()[:1] in {"=", "+", "-", "@"} or text[:1].isspace() else shown
    )


def describe(one: CellAnalysis, arm: str, result: ArmResult) -> dict[str, Entry]:
    """What a campaign knows of a cell on an arm, by column."""
    compared, first = one.comparisons.get(arm), result.first_call
    ratio, verdict = (compared.ratio, compared.verdict) if compared else (None, None)
    no_verdict = compared.no_verdict if compared else None
    row: dict[str, Entry] = {name: getattr(one, name) for name in ("id", "scenario", "case")}
    for name in ("outcome", "value", "low", "high", "n", "unit", "rate"):
        row[name] = getattr(result, name)
    for name in ("value", "low", "high", "n"):
        row[f"first_call_{name}"] = getattr(first, name, None)
        row["ratio" if name == "value" else f"ratio_{name}"] = getattr(ratio, name, None)
    reason = word(no_verdict) if no_verdict else None
    return row | {
        "arm": arm,
        "reason": word_missing(result),
        "rate_unit": name_rate(result.work.unit),
        "verdict": verdict.name if verdict else None,
        "verdict_reason": word_verdict(verdict) if verdict else reason,
        "invalid": word_invalid(result.invalid) or None,
        "notes": "; ".join(tell(result.flags)),
    }
