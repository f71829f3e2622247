"""The section that tells where a step's time goes, who waits for whom, and when the GPU breaks even.

Words only.
"""

from __future__ import annotations

from collections.abc import Mapping

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import PARTS, BreakEven, Decomposition, PartName, Triple
from suite.report.text.evidence import word_evidence
from suite.report.text.names import name_cells
from suite.report.text.page import Cell, Page, Row, say_none, show_known
from suite.report.text.units import show_count, show_seconds, show_share

_NOT_ALONE = "not measured on its own in this campaign"

_BOUNDS = {"input": "input-bound", "compute": "compute-bound", "both": "balanced"}


def write_steps(page: Page, analysis: Analysis) -> None:
    """The section "Where a step's time goes"; absent where no step could be taken apart."""
    if not (analysis.steps or analysis.triples):
        return
    page.heading("Where a step's time goes")
    names = name_cells(analysis.cells)
    if analysis.steps:
        _write_parts(page, analysis, names)
    if analysis.triples:
        _write_triples(page, analysis)
    if analysis.repayments:
        _write_repayments(page, analysis, names)


def _write_parts(page: Page, analysis: Analysis, names: Mapping[str, str]) -> None:
    page.paragraph(
        "Compute and dispatch are the step with its data at hand; dispatch is its measured cost "
        "in a cell of its own. Transfer is the extra time with its data on the host, as far "
        "as copies of that size explain it. Input is what is left, at most what the pipeline takes "
        "alone. What these do not explain is the rest; over 20 % it is unexplained."
    )
    rows: list[Row] = []
    for one in analysis.steps:
        # Adding zero takes the sign from what rounds to nothing.
        rest = show_share(round(one.rest / one.whole, 3) + 0.0)
        rest = rest.amid(after=", unexplained") if one.unexplained else rest
        rows.append(
            {
                "cell": names[one.cell],
                "arm": one.arm,
                "a step": show_seconds(one.whole),
                **{str(name): _show_part(one, name) for name in PARTS},
                "rest": rest,
            }
        )
    page.table("Table: the parts of a training step, as shares of it.", rows)


def _show_part(one: Decomposition, name: PartName) -> str | Cell:
    part = one.parts[name]
    if part is None:
        return say_none(word_evidence(one.absent[name]))
    return show_share(part / one.whole)


def _write_triples(page: Page, analysis: Analysis) -> None:
    page.heading("The input pipeline and the model behind it", level=3)
    page.table(
        "Table: a step of network A at batch 512 behind each pipeline. Hidden: the share of the "
        "shorter part that runs behind the longer one.",
        map(_list_triple, analysis.triples),
    )
    page.bullets(_tell_triple(one) for one in analysis.triples if one.bound == "input")


def _list_triple(one: Triple) -> Row:
    bound = _BOUNDS[one.bound] if one.bound else "unknown"
    return {
        "pipeline": one.pipeline,
        "arm": one.arm,
        "input alone": show_known(one.input_s, show_seconds, _NOT_ALONE),
        "model alone": show_known(one.compute_s, show_seconds, _NOT_ALONE),
        "together": show_seconds(one.together),
        "hidden": show_known(one.overlap, show_share, _NOT_ALONE),
        "bound by": f"{bound}: {word_evidence(one.evidence)}",
    }


def _tell_triple(one: Triple) -> str:
    text = f"{one.pipeline} on {one.arm} is input-bound"
    if one.compute_s is not None:
        waiting = max(0.0, 1 - one.compute_s / one.together.value)
        text += f": {show_share(waiting)} of the step is spent waiting for input"
    return f"{text} ({word_evidence(one.evidence)})."


def _write_repayments(page: Page, analysis: Analysis, names: Mapping[str, str]) -> None:
    cpu, gpu = analysis.cpu or "", analysis.gpu or ""
    page.heading(f"When {gpu} breaks even", level=3)
    page.table(
        f"Table: the first call (tracing and compiling) on each device, what each step saves on {gpu}, "
        f"and after how many steps the longer first call is amortized.",
        [_list_break_even(one, names, cpu, gpu) for one in analysis.repayments],
    )


def _list_break_even(one: BreakEven, names: Mapping[str, str], cpu: str, gpu: str) -> Row:
    saved = show_seconds(abs(one.saving_s))
    lost = one.saving_s < 0
    after = (
        "never: it saves nothing"
        if one.never
        else "not shown: the interval includes both a saving and a loss"
    )
    if one.steps is not None:
        after = show_count(one.steps)
        after = after.amid(after=" step" if after == "1" else " steps")
    elif one.saving_s > 0 and one.first_call_s <= one.cpu_first_call_s:
        after = "immediately: its first call takes no longer"
    return {
        "cell": names[one.cell],
        f"first call, {cpu}": show_seconds(one.cpu_first_call_s),
        f"first call, {gpu}": show_seconds(one.first_call_s),
        "saved per step": saved.amid("none, ", " lost") if lost else saved,
        "breaks even after": after,
    }
