"""The picture of the tf.data triple: input alone, compute alone, both together, by pipeline."""

from __future__ import annotations

from collections.abc import Mapping

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.report.pictures.captions import explain_marks, mark_time, tell_missing, title_picture
from suite.report.pictures.picture import PIPELINES, Dots, Mark, Picture, Row, Rows
from suite.report.text.names import sort_cells
from suite.report.text.units import show_seconds

PARTS: Mapping[str, str] = {
    "input": "input alone",
    "compute": "compute alone",
    "together": "together",
    "trivial": "with a trivial model",
}
"""The rows of a pipeline, top to bottom; ``compute`` is the training cell."""

AXIS = "pipeline"
"""What tells the pipelines apart."""

_CAPTION = (
    "Time of one batch on a logarithmic scale. Where both together take as long as the input alone the "
    "model waits for its data, and a faster device changes nothing; where they take as long as computing "
    "alone the input is hidden."
)

_COUNTED = frozenset({"element", "example"})
"""Units of work of which a batch is so many."""


def depict_pipelines(analysis: Analysis) -> Picture | None:
    """The parts of every pipeline as times of a batch; None where there is nothing to draw."""
    by_id = {one.id: one for one in analysis.cells}
    parts = {one.id: _name_part(one) for one in analysis.cells if AXIS in one.params}
    triple = [one for one in analysis.cells if parts.get(one.id)]
    links = [name for one in triple for name in one.compute]
    compute = next((by_id[name] for name in links if name in by_id), None)
    names = list(dict.fromkeys(str(one.params[AXIS]) for one in sort_cells(triple)))
    groups = []
    for name in names:
        cells = {parts[c.id]: c for c in triple if str(c.params[AXIS]) == name}
        if compute is not None:
            cells["compute"] = compute
        rows = [
            Row(label=label, marks=_mark_row(cells[part]))
            for part, label in PARTS.items()
            if part in cells
        ]
        groups.append(Rows(title=name, rows=tuple(rows)))
    every = [mark for group in groups for row in group.rows for _, mark in row.marks]
    if not every:
        return None
    missing = [
        f"{arm}, {group.title}, {row.label}"
        for group in groups
        for row in group.rows
        for arm in analysis.arms
        if arm not in dict(row.marks)
    ]
    drawn = [*triple, *([compute] if compute else [])]
    return title_picture(
        analysis,
        PIPELINES,
        f"The input pipeline: {_state(analysis, groups)}",
        Dots(unit="s", x_label="time of one batch", groups=tuple(groups)),
        caption=[_CAPTION, *explain_marks(every), *tell_missing(missing)],
        told=[*_describe(groups), *tell_missing(missing)],
        tables=dict.fromkeys(one.scenario for one in drawn),
    )


def _name_part(cell: CellAnalysis) -> str:
    """Which part of a pipeline and what takes from it a cell is; empty: it is none."""
    if cell.role != "input":
        return ""
    if cell.pinned:
        return "input"
    return "together" if cell.compute else "trivial"


def _mark_row(one: CellAnalysis) -> tuple[tuple[str, Mark], ...]:
    batch = one.params.get("batch")
    marks = []
    for arm, result in one.arms.items():
        mark = _mark_batch(result, batch if isinstance(batch, int) else None)
        if mark is not None:
            marks.append((arm, mark))
    return tuple(marks)


def _mark_batch(result: ArmResult, batch: int | None) -> Mark | None:
    """The time of one batch: a call may work through several."""
    mark = mark_time(result)
    work = result.work
    if mark is None or batch is None or work.unit not in _COUNTED or work.amount <= 0:
        return mark
    return mark.scale(batch / work.amount)


def _state(analysis: Analysis, groups: list[Rows]) -> str:
    """Where the input costs most: ``cpu with numpy_function takes 35 times its computing``."""
    worst: tuple[float, str] | None = None
    for group in groups:
        rows = {row.label: dict(row.marks) for row in group.rows}
        for arm in analysis.arms:
            together = rows.get(PARTS["together"], {}).get(arm)
            compute = rows.get(PARTS["compute"], {}).get(arm)
            if together is None or compute is None or together.struck or compute.struck:
                continue
            times = together.value / compute.value
            text = (
                f"with the {group.title} pipeline a batch on {arm} takes {times:.3g} times as "
                "long as its computing"
            )
            worst = max(worst or (times, text), (times, text))
    return worst[1] if worst else "who waits for whom"


def _describe(groups: list[Rows]) -> list[str]:
    return [
        f"{group.title}: "
        + "; ".join(
            f"{row.label} "
            + ", ".join(
                f"{arm} {show_seconds(mark.value)}{' (invalid)' if mark.struck else ''}"
                for arm, mark in row.marks
            )
            for row in group.rows
            if row.marks
        )
        + "."
        for group in groups
        if any(row.marks for row in group.rows)
    ]
