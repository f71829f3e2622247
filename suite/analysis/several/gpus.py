"""The GPUs of one campaign against each other, where it has an arm on each of several.  Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from suite.analysis.campaign.summarise import Summary
from suite.analysis.compare import compare
from suite.analysis.observations import observe, select
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import Comparison
from suite.model import name_kind


def compare_gpus(analysis: Analysis, summary: Summary) -> Analysis:
    """The analysis of a summary, with each GPU's times over those of the first GPU that ran the same image.

    They are paired by block, as all arms are compared with the first; where that is the first GPU, everything
    is told already.
    """
    plan = summary.campaign
    spread = [arm for arm in map(plan.arm, plan.arms) if arm.device is not None]
    if not spread:
        return analysis
    firsts: dict[str, str] = {}
    compared: dict[str, Mapping[str, Comparison]] = {}
    table = observe(analysis)
    for arm in spread:
        first = firsts.setdefault(name_kind(arm), arm.name)
        if first not in {arm.name, analysis.base}:
            base, other = select(table, arm=first), select(table, arm=arm.name)
            compared[arm.name] = compare(
                base,
                other,
                margin=analysis.margin,
                refused=summary.find_refused(first, arm.name),
                share=analysis.share,
            )
    if not compared:
        return analysis
    return structs.replace(
        analysis,
        arms={
            name: structs.replace(arm, first_gpu=firsts[name_kind(plan.arm(name))])
            if name in compared
            else arm
            for name, arm in analysis.arms.items()
        },
        cells=tuple(
            structs.replace(cell, gpus={arm: cells[cell.id] for arm, cells in compared.items()})
            for cell in analysis.cells
        ),
    )
