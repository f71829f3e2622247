"""Findings as people read them: one table, one number and one sentence for all that was found."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

from suite.analysis.result.findings import Finding, Tag
from suite.report.text.evidence import word_evidence
from suite.report.text.page import Cell, Page, say_none
from suite.report.text.units import (
    Known,
    Quantity,
    show_count,
    show_gain,
    show_money,
    show_rate,
    show_relative,
    show_seconds,
    show_share,
    show_times,
)

Show = Callable[[list[Finding]], str | Cell]
"""What a column shows of the findings of a row."""

Columns = dict[str, Show]
"""The columns of a table by their heads."""

_RATIOS: Mapping[str, Callable[[Known], Quantity]] = {
    "gain": show_gain,
    "change": show_gain,
    "gap": show_relative,
    "fed": show_times,
    "price-ratio": show_times,
}
_UNITS = {"s": show_seconds, "step": show_count, "CPU": show_count}


def write_findings(
    page: Page,
    caption: str,
    findings: Iterable[Finding],
    columns: Columns,
    by: Callable[[Finding], Hashable] = id,
) -> None:
    """A table of findings: a row for each, or for all that are alike ``by`` something; none without any."""
    rows: dict[Hashable, list[Finding]] = {}
    for finding in findings:
        rows.setdefault(by(finding), []).append(finding)
    page.table(
        caption, [{head: show(row) for head, show in columns.items()} for row in rows.values()]
    )


def format_number(finding: Finding) -> Quantity:
    """A finding's value in its unit, with its interval; without a value its share."""
    if finding.value is None:
        return format_share(finding)
    if finding.unit.endswith("/s"):
        rate = show_rate(finding.value.value, finding.unit.removesuffix("/s"), 1.0)
        return rate or Quantity("", "0", f" {finding.unit}", 0.0)
    if not finding.unit:
        return _RATIOS[finding.tag](finding.value)
    show = _UNITS.get(finding.unit)
    return show(finding.value) if show else show_money(finding.value, finding.unit)


def format_share(finding: Finding) -> Quantity:
    """A finding's share; nothing that rounds to 0 has a sign."""
    share = finding.share or 0.0
    return show_share(share if round(share, 3) else 0.0)


def show_number(
    tag: Tag,
    *,
    of: str = "",
    arm: str = "",
    missing: str = "",
    form: Callable[[Finding], Quantity] = format_number,
) -> Show:
    """The column of a number: of the finding of a row with this tag, ``of`` something, on an arm; what
    stands for one that is ``missing`` says so, or the evidence of the finding."""

    def show(row: list[Finding]) -> str | Cell:
        for finding in row:
            if finding.tag == tag and of in {"", finding.of} and arm in {"", finding.arm}:
                if finding.value is None and finding.share is None:
                    return say_none(word_evidence(*finding.evidence))
                if form is format_share and finding.share is None:
                    break
                number = form(finding)
                more = f", {finding.verdict}" if finding.verdict == "unexplained" else ""
                return number.amid(after=more)
        return say_none(missing)

    return show


def show_evidence(place: int, names: Mapping[str, str]) -> Show:
    """The column of a sentence: the first finding's evidence at this place; cells by their names."""
    return lambda row: word_evidence(row[0].evidence[place], names=names)
