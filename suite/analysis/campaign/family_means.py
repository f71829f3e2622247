"""What is typical of a family's cells: the geometric mean of their ratios, and how often who wins.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from suite.analysis.result.campaign import FamilyMean
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.statistics.ratio import find_mean_ratio


def find_means(arms: Iterable[str], cells: Iterable[CellAnalysis]) -> Iterator[FamilyMean]:
    """The means of every family with cells of work, in the plan's order, by arm but the first; stages of
    scripts are a family of their own.

    The mean is `find_mean_ratio`'s, paired by block, over the cells with a ratio and no INVALID arm.  Its
    interval is Student's t over blocks, since the cells of a block share its machine's mood.
    """
    base, *others = arms
    groups: dict[tuple[str, bool], list[CellAnalysis]] = {}
    for cell in cells:
        if cell.role == "work":
            groups.setdefault((cell.scenario, cell.staged), []).append(cell)
    for (family, staged), group in groups.items():
        for other in others:
            counts = Counter(
                verdict.name for cell in group if (verdict := cell.comparisons[other].verdict)
            )
            counted = [
                (cell.arms[base].values, cell.arms[other].values)
                for cell in group
                if cell.comparisons[other].ratio
                and not (cell.arms[base].invalid or cell.arms[other].invalid)
            ]
            yield FamilyMean(
                family=family,
                staged=staged,
                arm=other,
                cells=len(group),
                counted=len(counted),
                ratio=find_mean_ratio(counted, paired=True),
                wins=counts["FASTER"],
                loses=counts["SLOWER"],
                equal=counts["EQUIVALENT"],
                undecided=counts["INCONCLUSIVE"],
            )
