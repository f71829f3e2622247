"""The picture of the brief: how many times as fast as the first arm every other one is, by size."""

from __future__ import annotations

from dataclasses import replace

from suite.analysis.result.campaign import Analysis, SweepAnalysis
from suite.analysis.result.numbers import Ratio
from suite.report.pictures.captions import title_picture
from suite.report.pictures.picture import RATIOS, Curves, Mark, Picture, Ratios
from suite.report.text.crossovers import describe_fixed, describe_work, read_size
from suite.report.text.texts import TEXTS


def depict_ratios(analysis: Analysis) -> Picture | None:
    """The ratios along the main sweeps, products on the left and training on the right; None where there is
    none."""
    panels: dict[str, dict[str, dict[float, Mark]]] = {}
    axes: dict[str, str] = {}
    for sweep in analysis.main_sweeps:
        work = describe_work(sweep)
        axes[work] = sweep.axis
        for other in analysis.rivals:
            if marks := _list_marks(analysis, sweep, other):
                panels.setdefault(work, {})[_name_line(analysis, sweep, other)] = marks
    if not panels:
        return None
    content = Ratios(
        label=f"times as fast as {analysis.base}",
        panels=tuple(
            Curves(title=work, axis=axes[work], lines=lines) for work, lines in panels.items()
        ),
        over=f"{_name_other(analysis)} faster",
        under=f"{analysis.base} faster",
    )
    picture = title_picture(
        analysis,
        RATIOS,
        f"How many times as fast as {analysis.base}, by size",
        content,
        caption=[
            TEXTS["pictures"]["ratios"].format(base=analysis.base, other=_name_other(analysis))
        ],
        tables=[],
    )
    lines = dict.fromkeys(name for panel in content.panels for name in panel.lines)
    return replace(picture, arms=tuple(lines))


def _name_other(analysis: Analysis) -> str:
    return analysis.rivals[0] if len(analysis.rivals) == 1 else "the other arm"


def _name_line(analysis: Analysis, sweep: SweepAnalysis, other: str) -> str:
    """What tells a line from the others: the network, the arm where there are several, or else its work."""
    arm = other if len(analysis.rivals) > 1 else ""
    fixed = describe_fixed(sweep, analysis.main_sweeps)
    return ", ".join(filter(None, [fixed, arm])) or describe_work(sweep)


def _list_marks(analysis: Analysis, sweep: SweepAnalysis, other: str) -> dict[float, Mark]:
    """By size how many times as fast the arm is: the ratio of times turned round, with its interval."""
    marks = {}
    for cell in analysis.cells:
        size, ratio = read_size(sweep, cell), cell.ratios[other]
        if size is not None and isinstance(ratio, Ratio):
            marks[size] = Mark(
                value=1 / ratio.value,
                low=ratio.high and 1 / ratio.high,
                high=ratio.low and 1 / ratio.low,
                struck=any(cell.arms[arm].invalid for arm in (analysis.base, other)),
            )
    return dict(sorted(marks.items()))
