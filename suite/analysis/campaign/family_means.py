"""What is typical of a family's cells: the geometric mean of their ratios, and how often who wins.  Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from suite.analysis.compare import find_paired_ratio
from suite.analysis.result.arms import ArmAnalysis
from suite.analysis.result.campaign import FamilyMean
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import Ratio
from suite.analysis.statistics.estimate import find_moments


def find_means(
    arms: Mapping[str, ArmAnalysis], cells: Sequence[CellAnalysis]
) -> Iterator[FamilyMean]:
    """The means of every family with cells of work, in the plan's order, by arm but the first; stages of
    scripts are a family of their own.

    Of ``B`` blocks that count on both arms and ``C`` cells that have a valid pair in each of these, with
    the seconds ``s`` a call::

        m[b] = (1 / C) Σ_c (ln s_other[c, b] - ln s_base[c, b])
        mean = exp(m̄),   interval = exp(m̄ ± t(0.975, B - 1) sd(m) / √B)

    (Student's t over blocks, since the cells of a block share its machine's mood; Fleming and Wallace 1986
    on why ratios have a geometric mean.)  Under three blocks there is no interval.
    """
    base, *others = arms
    groups: dict[tuple[str, bool], list[CellAnalysis]] = {}
    for cell in cells:
        if cell.role == "work":
            groups.setdefault((cell.scenario, cell.staged), []).append(cell)
    for (family, staged), group in groups.items():
        for other in others:
            counts = Counter(
                found.name for cell in group if (found := cell.comparisons[other].verdict)
            )
            blocks = sorted(arms[base].blocks.keys() & arms[other].blocks.keys())
            counted = [cell for cell in group if _is_whole(cell, (base, other), blocks)]
            yield FamilyMean(
                family=family,
                staged=staged,
                arm=other,
                cells=len(group),
                counted=len(counted),
                ratio=_find_mean(counted, base, other, blocks),
                wins=counts["FASTER"],
                loses=counts["SLOWER"],
                equal=counts["EQUIVALENT"],
                undecided=counts["INCONCLUSIVE"],
            )


def _is_whole(cell: CellAnalysis, arms: Sequence[str], blocks: Sequence[int]) -> bool:
    """Whether the cell has a valid pair in each of the blocks."""
    results = [cell.arms[arm] for arm in arms]
    return cell.comparisons[arms[-1]].ratio is not None and not any(
        result.invalid or set(blocks) - result.values.keys() for result in results
    )


def _find_mean(
    cells: Sequence[CellAnalysis], base: str, other: str, blocks: Sequence[int]
) -> Ratio | None:
    if not cells:
        return None
    sides = (
        {
            block: math.exp(
                find_moments([math.log(cell.arms[arm].values[block]) for cell in cells]).mean
            )
            for block in blocks
        }
        for arm in (base, other)
    )
    return find_paired_ratio(*sides)
