"""Where a step's time goes, who waits for whom, and when the GPU breaks even.

Words only.
"""

from __future__ import annotations

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import NEAR, PARTS, Finding
from suite.report.text.evidence import word_evidence
from suite.report.text.findings import Columns, format_share, show_number, write_findings
from suite.report.text.names import name_cells
from suite.report.text.page import Page
from suite.report.text.texts import TEXTS
from suite.report.text.units import Quantity, show_count, show_percent, show_seconds

_NOT_ALONE = "not measured on its own in this campaign"


def write_parts(page: Page, analysis: Analysis) -> None:
    """The appendix's part on where a step's time goes; absent where no step could be taken apart."""
    if not analysis.find("step"):
        return
    page.heading("Where a step's time goes", level=3)
    names = name_cells(analysis.cells)
    page.paragraph(TEXTS["about"]["steps"])
    page.bullets(
        f"{wakes.arm}: {word_evidence(*wakes.evidence, names=names)}."
        for wakes in analysis.find("wakes")
    )
    columns: Columns = {
        "cell": lambda row: names[row[0].cell],
        "arm": lambda row: row[0].arm,
        "a step": show_number("step"),
        **{of: show_number("part", of=of, form=format_share) for of in (*PARTS, "rest")},
    }
    write_findings(
        page,
        TEXTS["captions"]["parts"],
        [*analysis.find("step"), *analysis.find("part")],
        columns,
        by=lambda part: (part.cell, part.arm),
    )


def write_pipelines(page: Page, analysis: Analysis) -> None:
    """The section on input pipelines and the model behind each; absent without one."""
    pipelines = analysis.find("pipeline")
    if not pipelines:
        return
    page.heading("The input pipeline and the model behind it")
    params = {cell.id: cell.params for cell in analysis.cells}

    def describe_bound(row: list[Finding]) -> str:
        bound = TEXTS["bounds"][row[0].verdict or "unknown"]
        return f"{bound}: {word_evidence(*row[0].evidence)}"

    columns: Columns = {
        "pipeline": lambda row: str(params[row[0].cell].get("pipeline")),
        "arm": lambda row: row[0].arm,
        "input alone": show_number("pipeline", of="input alone", missing=_NOT_ALONE),
        "model alone": show_number("pipeline", of="model alone", missing=_NOT_ALONE),
        "together": show_number("pipeline", of="together"),
        "hidden": show_number("pipeline", of="together", form=format_share, missing=_NOT_ALONE),
        "bound by": describe_bound,
    }
    write_findings(
        page,
        TEXTS["captions"]["pipelines"],
        pipelines,
        columns,
        by=lambda part: (part.cell, part.arm),
    )


def describe_feeding(analysis: Analysis) -> list[str]:
    """From how many CPUs on a step is not input-bound, a sentence for each arm on which it was measured."""
    fewest = analysis.find("feeding")
    return [f"{finding.arm}: {word_evidence(*finding.evidence)}." for finding in fewest]


def write_feeding(page: Page, analysis: Analysis) -> None:
    """The section on how many CPUs feed a step; absent where they were not measured apart."""
    answers = describe_feeding(analysis)
    if not answers:
        return
    page.heading("How many CPUs feed a step?")
    page.paragraph(TEXTS["about"]["feeding"].format(near=show_percent(NEAR)))
    page.bullets(answers)
    columns: Columns = {
        "CPUs": lambda row: show_count(row[0].beside or 0.0),
        "arm": lambda row: row[0].arm,
        **{
            part: show_number("fed", of=part, missing=_NOT_ALONE)
            for part in ("input alone", "step alone", "together")
        },
        "times as long": show_number("fed", of="ratio"),
        "lost": show_number("fed", of="ratio", form=format_share),
        "the step is": lambda row: TEXTS["fed"][row[0].verdict or "unknown"],
    }
    write_findings(
        page,
        TEXTS["captions"]["feeding"],
        analysis.find("fed"),
        columns,
        by=lambda part: (part.cell, part.arm),
    )


def write_break_evens(page: Page, analysis: Analysis) -> None:
    """The appendix's part on when the GPU's longer first call is repaid; absent where there is none."""
    if not analysis.find("break-even"):
        return
    names = name_cells(analysis.cells)
    cpu, gpu = analysis.cpu or "", analysis.gpu or ""
    page.heading(f"When {gpu} breaks even", level=3)
    arms = {cell.id: cell.arms for cell in analysis.cells}

    def show_first(row: list[Finding], arm: str) -> str:
        first = arms[row[0].cell][arm].first_call
        return show_seconds(first.value) if first else ""

    def show_saving(row: list[Finding]) -> Quantity:
        seconds = row[0].beside.value if row[0].beside else 0.0
        saved = show_seconds(abs(seconds))
        return saved.amid("none, ", " lost") if seconds < 0 else saved

    def describe_steps(row: list[Finding]) -> str:
        if row[0].value is None:
            return TEXTS["repaid"][row[0].verdict]
        steps = show_count(row[0].value)
        return steps.amid(after=" step" if steps == "1" else " steps")

    columns: Columns = {
        "cell": lambda row: names[row[0].cell],
        f"first call, {cpu}": lambda row: show_first(row, cpu),
        f"first call, {gpu}": lambda row: show_first(row, gpu),
        "saved per step": show_saving,
        "breaks even after": describe_steps,
    }
    write_findings(
        page,
        TEXTS["captions"]["break-even"].format(gpu=gpu),
        analysis.find("break-even"),
        columns,
    )
