"""The picture of the tf.data triple: input alone, compute alone, both together, by pipeline."""

from __future__ import annotations

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.report.pictures.captions import mark_time, title_picture
from suite.report.pictures.picture import PIPELINES, Dots, Mark, Panel, Picture
from suite.report.text.names import sort_cells
from suite.report.text.texts import TEXTS

AXIS = "pipeline"
"""What tells the pipelines apart."""

_COUNTED = frozenset({"element", "example"})
"""Units of work of which a batch is so many."""


def depict_pipelines(analysis: Analysis) -> Picture | None:
    """The parts of every pipeline as times of a batch; None where there is nothing to draw."""
    by_id = {cell.id: cell for cell in analysis.cells}
    triple = [cell for cell in analysis.cells if AXIS in cell.params and _name_part(cell)]
    links = [name for cell in triple for name in cell.compute]
    compute = next((by_id[name] for name in links if name in by_id), None)
    panels = []
    for pipeline in dict.fromkeys(str(cell.params[AXIS]) for cell in sort_cells(triple)):
        cells = {_name_part(cell): cell for cell in triple if str(cell.params[AXIS]) == pipeline}
        if compute is not None:
            cells["compute"] = compute
        rows = {label: cells[part] for part, label in TEXTS["pipeline"].items() if part in cells}
        marks = {
            arm: tuple(_mark_batch(cell, arm) for cell in rows.values()) for arm in analysis.arms
        }
        panels.append(Panel(title=pipeline, places=tuple(rows), marks=marks))
    if not any(panel.drawn for panel in panels):
        return None
    return title_picture(
        analysis,
        PIPELINES,
        f"The input pipeline: {_state(analysis)}",
        Dots(label="time of one batch", panels=tuple(panels)),
        caption=[TEXTS["pictures"]["pipelines"]],
        missing=[
            f"{arm}, {panel.title}, {label}"
            for panel in panels
            for index, label in enumerate(panel.places)
            for arm, marks in panel.marks.items()
            if marks[index] is None
        ],
        tables=dict.fromkeys(cell.scenario for cell in (*triple, *([compute] if compute else []))),
    )


def _name_part(cell: CellAnalysis) -> str:
    """Which part of a pipeline and what takes from it a cell is; empty: it is none."""
    if cell.role != "input":
        return ""
    if cell.on_cpu:
        return "input"
    return "together" if cell.compute else "trivial"


def _mark_batch(cell: CellAnalysis, arm: str) -> Mark | None:
    """The time of one batch: a call may work through several."""
    result, batch = cell.arms[arm], cell.params.get("batch")
    work = result.work
    if not isinstance(batch, int) or work.unit not in _COUNTED or work.amount <= 0:
        return mark_time(result)
    return mark_time(result, lambda seconds: seconds * (batch / work.amount))


def _state(analysis: Analysis) -> str:
    """Where the input costs most: ``cpu with numpy_function takes 35 times its computing``."""
    alone = {
        (part.cell, part.arm): part.number.value
        for part in analysis.find("pipeline", of="model alone")
    }
    names = {cell.id: str(cell.params.get(AXIS)) for cell in analysis.cells}
    slower = [
        (whole.number.value / alone[whole.cell, whole.arm], names[whole.cell], whole.arm)
        for whole in analysis.find("pipeline", of="together")
        if alone.get((whole.cell, whole.arm))
    ]
    if not slower:
        return "who waits for whom"
    times, pipeline, arm = max(slower)
    return (
        f"with the {pipeline} pipeline a batch on {arm} takes {times:.3g} times as long as its "
        "computing"
    )
