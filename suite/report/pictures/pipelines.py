"""The picture of the tf.data triple: input alone, compute alone, both together, by pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from suite.analysis.campaign.summarise import ArmResult, CellSummary, Summary
from suite.cells.cell import Cell
from suite.report.pictures.captions import explain_marks, mark_time, tell_missing
from suite.report.pictures.picture import Dots, Mark, Picture, Row, Rows
from suite.report.text.markup import show_plainly
from suite.report.text.names import sort_cells
from suite.report.text.units import show_seconds
from suite.report.text.wording import name_banners

PARTS: Mapping[str, str] = {
    "input": "input alone",
    "compute": "compute alone",
    "together": "together",
    "trivial": "with a trivial model",
}
"""The rows of a pipeline, top to bottom; ``compute`` is the training cell."""

COMPUTE = {"net": "A", "data": "device", "precision": "fp32", "execution": "graph"}
"""The training cell that is the triple's computing, at the triple's batch."""

_COUNTED = frozenset({"element", "example"})
"""Units of work of which a batch is so many."""


def depict_pipelines(summary: Summary) -> Picture | None:
    """The parts of every pipeline as times of a batch; None where there is nothing to draw."""
    by_id = {one.cell.id: one for one in summary.cells}
    triple = [
        one for one in summary.campaign.cells if (one.scenario, one.case) == ("tfdata", "triple")
    ]
    names = list(dict.fromkeys(str(one.params.get("pipeline")) for one in sort_cells(triple)))
    groups = []
    for name in names:
        cells = {str(c.params.get("part")): c for c in triple if c.params.get("pipeline") == name}
        compute = _find_compute(summary, next(iter(cells.values())))
        if compute is not None:
            cells["compute"] = compute
        rows = [
            Row(label=label, marks=_mark_row(by_id[cells[part].id]))
            for part, label in PARTS.items()
            if part in cells
        ]
        groups.append(Rows(title=show_plainly(name), rows=tuple(rows)))
    every = [mark for group in groups for row in group.rows for _, mark in row.marks]
    if not every:
        return None
    missing = [
        f"{show_plainly(arm)}, {group.title}, {row.label}"
        for group in groups
        for row in group.rows
        for arm in summary.campaign.arms
        if arm not in dict(row.marks)
    ]
    computed = any(row.label == PARTS["compute"] for group in groups for row in group.rows)
    title = f"The input pipeline: {_state(summary, groups)}"
    return Picture(
        name="pipelines",
        title=title,
        caption=" ".join(
            [
                (
                    "Time of one batch on a logarithmic scale. Where both together take as long as the "
                    "input alone the model waits for its data, and a faster device changes nothing; "
                    "where they take as long as computing alone the input is hidden."
                ),
                *explain_marks(every),
                *tell_missing(missing),
            ]
        ),
        alt=" ".join([f"{title}.", *_describe(groups), *tell_missing(missing)]),
        tables=("tfdata", "mlp") if computed else ("tfdata",),
        arms=tuple(summary.campaign.arms),
        banner=" · ".join(name_banners(summary.flags)),
        content=Dots(unit="s", x_label="time of one batch", groups=tuple(groups)),
    )


def _find_compute(summary: Summary, cell: Cell) -> Cell | None:
    """The training cell of a triple's batch."""
    wanted = {**COMPUTE, "batch": cell.params.get("batch")}
    for one in summary.campaign.cells:
        if (one.scenario, one.case) == ("mlp", "train") and one.params == wanted:
            return one
    return None


def _mark_row(one: CellSummary) -> tuple[tuple[str, Mark], ...]:
    batch = one.cell.params.get("batch")
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
    share = batch / work.amount
    return replace(
        mark,
        value=mark.value * share,
        low=None if mark.low is None else mark.low * share,
        high=None if mark.high is None else mark.high * share,
    )


def _state(summary: Summary, groups: list[Rows]) -> str:
    """Where the input costs most: ``cpu with numpy_function takes 35 times its computing``."""
    worst: tuple[float, str] | None = None
    for group in groups:
        rows = {row.label: dict(row.marks) for row in group.rows}
        for arm in summary.campaign.arms:
            together = rows.get(PARTS["together"], {}).get(arm)
            compute = rows.get(PARTS["compute"], {}).get(arm)
            if together is None or compute is None or together.struck or compute.struck:
                continue
            times = together.value / compute.value
            text = (
                f"with the {group.title} pipeline a batch on {show_plainly(arm)} takes {times:.3g} times as "
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
                f"{show_plainly(arm)} {show_seconds(mark.value)}{' (invalid)' if mark.struck else ''}"
                for arm, mark in row.marks
            )
            for row in group.rows
            if row.marks
        )
        + "."
        for group in groups
        if any(row.marks for row in group.rows)
    ]
