"""``cells.csv``: the table of observations, which docs/guide.md describes column by column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import lru_cache
from operator import attrgetter

from suite.analysis.observations import COLUMNS, observe
from suite.analysis.result.campaign import Analysis
from suite.report.render.plain import show_privately

Entry = str | int | float | None
"""What stands in a row; None: missing."""

_TAKE = attrgetter(*COLUMNS)


def list_rows(analysis: Analysis) -> Iterator[dict[str, Entry]]:
    """The rows by column; flags are their codes, separated by spaces, ``invalid`` before those that make the
    number so."""
    for row in observe(analysis):
        words = ["invalid"] * bool(row.invalid) + [flag.code for flag in row.flags]
        yield {
            **dict(zip(COLUMNS, _TAKE(row), strict=True)),
            "created": row.created.isoformat(),
            "flags": " ".join(dict.fromkeys(words)) or None,
        }


def render_csv(analysis: Analysis) -> str:
    """The table as CSV that no spreadsheet takes for formulas; an empty field where something is missing."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in list_rows(analysis):
        writer.writerow([guard_formula(v) if isinstance(v, str) else v for v in row.values()])
    return buffer.getvalue()


def export_csv(analysis: Analysis) -> dict[str, bytes]:
    """The file for those who want it elsewhere."""
    return {f"{analysis.campaign.folder}.csv": render_csv(analysis).encode()}


@lru_cache(maxsize=1024)  # a table says the same in most of its rows
def guard_formula(text: str) -> str:
    """The text for a spreadsheet's cell: one that would be taken for a formula gets a quote.

    Source: OWASP, "CSV Injection"; a leading ``=``, ``+``, ``-``, ``@``, tab or return starts one.
    """
    shown = show_privately(text, limit=2000)
    return (
        f"'{shown}" if shown.lstrip()[:1] in {"=", "+", "-", "@"} or text[:1].isspace() else shown
    )
