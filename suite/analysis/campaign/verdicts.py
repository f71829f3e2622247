"""What a campaign's table of observations says: verdicts, controls and the noise floor.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from suite.analysis.campaign.consistency import find_refused
from suite.analysis.campaign.invocation_value import Readings
from suite.analysis.campaign.validity import find_cell_disturbance, find_whole_disturbance
from suite.analysis.compare import compare
from suite.analysis.observations import Observation, select, values_by_block
from suite.analysis.result.campaign import Controls, ExtraWork, Family
from suite.analysis.result.cells import ArmResult, Comparison
from suite.analysis.result.numbers import MARGIN, OTHER_LEVEL, Verdict
from suite.analysis.statistics.ratio import find_paired_ratio
from suite.cells.cell import Cell
from suite.model import Campaign, CellResult, Document, version_of

FLOOR_SHARE = 95.0
"""The noise floor is this percentile of the twins' |ratio - 1|."""

Table = Sequence[Observation]


def conclude(
    campaign: Campaign,
    table: Table,
    controls: Mapping[str, Table],
    *,
    results: Mapping[str, Mapping[str, Mapping[int, CellResult]]],
    arm_results: Mapping[str, Mapping[str, ArmResult]],
    share: float | None = None,
) -> tuple[Controls, dict[str, dict[str, Comparison]]]:
    """What a campaign says about itself; and by arm, the first one excepted, and by cell its time over the
    first arm's, and what that means.

    Args:
        campaign: the plan.
        table: the observations of its arms.
        controls: those of its control arms, by arm.
        results: by cell, arm and block, among what its documents have: where the work was seen.
        arm_results: what is known of each cell, by cell and arm.
        share: what this look may spend of the levels; None: all.
    """
    arms = {arm: select(table, arm=arm) for arm in campaign.arms}
    twins = tuple(
        _compare_control(arm.of, arms[arm.of], arm.name, controls[arm.name])
        for arm in campaign.every_arm
        if arm.control == "twin" and arm.of is not None and arm.name in controls
    )
    margin = find_margin(twins)
    base, *others = campaign.arms
    comparisons = {
        other: compare(
            arms[base],
            arms[other],
            margin=margin,
            refused=find_refused(arm_results, base, other),
            share=share,
            among=count_pairs(campaign, base, other),
        )
        for other in others
    }
    controlled = Controls(
        twins=twins,
        cuda_hidden=_find_hidden(campaign, arms, controls),
        again=tuple(
            _make_family(base, other, comparisons[other])
            for other in others
            if campaign.arm(other).control == "again" and campaign.arm(other).of == base
        ),
        extra_work=tuple(_compare_extra(campaign, arms)),
        input_only=_find_input_only(
            campaign.cells,
            results,
            # Pipelines of another version may differ.
            {
                other: compared
                for other, compared in comparisons.items()
                if _is_alike(campaign, base, other)
            },
        ),
    )
    return controlled, comparisons


def count_pairs(campaign: Campaign, base: str, other: str) -> int:
    """How many comparisons have the chance of a false verdict together with that of two arms: of versions
    every two in their list, whichever are told; of any others that one alone."""
    lists = (arms for arms in campaign.version_groups if {base, other} <= {*arms})
    return math.comb(len(next(lists, (base, other))), 2)


def _is_alike(campaign: Campaign, base: str, other: str) -> bool:
    """Whether two arms are of the same version, so that what no device has a part in must not differ."""
    return version_of(campaign.arm(base)) == version_of(campaign.arm(other))


def _make_family(base: str, other: str, comparisons: Mapping[str, Comparison]) -> Family:
    """The comparisons of a control that have a ratio, and those that have a verdict."""
    return Family(
        base=base,
        other=other,
        ratios={cell: found.ratio for cell, found in comparisons.items() if found.ratio},
        verdicts={cell: found.verdict for cell, found in comparisons.items() if found.verdict},
    )


def _compare_control(arm: str, base: Table, control: str, rows: Table) -> Family:
    """A control's values against an arm of the plan, over the cells that are not INVALID: one family."""
    sound = [row for row in base if not row.invalid]
    comparisons = compare(sound, rows, margin=MARGIN, level=OTHER_LEVEL, any_profile=True)
    return _make_family(arm, control, comparisons)


def _find_hidden(
    campaign: Campaign, arms: Mapping[str, Table], controls: Mapping[str, Table]
) -> Family | None:
    hidden = next((arm.name for arm in campaign.every_arm if arm.control == "hidden"), None)
    plain = (arm for arm in campaign.every_arm if arm.control is None and not arm.gpu)
    cpu = next((arm for arm in plain if hidden and _is_alike(campaign, arm.name, hidden)), None)
    if cpu is None or hidden is None or hidden not in {*controls, *arms}:
        return None
    rows = controls.get(hidden) or [row for row in arms.get(hidden, ()) if not row.invalid]
    return _compare_control(cpu.name, arms[cpu.name], hidden, rows)


def _compare_extra(campaign: Campaign, arms: Mapping[str, Table]) -> Iterable[ExtraWork]:
    for cell in campaign.cells:
        honest = find_honest(cell, campaign.cells)
        if honest is None:
            continue
        twin, truth = honest
        for arm, table in arms.items():
            own, other = select(table, cell=cell.id), select(table, cell=twin.id)
            if any(row.invalid for row in (*own, *other)):
                continue
            base, values = values_by_block(other), values_by_block(own)
            ratio = find_paired_ratio(base, values)
            meant = find_paired_ratio({block: truth * s for block, s in base.items()}, values)
            if ratio is not None and meant is not None:
                yield ExtraWork(
                    arm=arm, cell=cell.id, honest=twin.id, ratio=ratio, truth=truth, p=meant.p
                )


def _find_input_only(
    cells: Iterable[Cell],
    results: Mapping[str, Mapping[str, Mapping[int, CellResult]]],
    comparisons: Mapping[str, Mapping[str, Comparison]],
) -> dict[str, dict[str, Verdict]]:
    input_only = {}
    for cell in cells:
        every = (result for blocks in results[cell.id].values() for result in blocks.values())
        placements = [result.placement for result in every if result.outcome == "measured"]
        if is_input_only(cell, placements):
            verdicts = {arm: compared[cell.id].verdict for arm, compared in comparisons.items()}
            sound = {
                arm: verdict
                for arm, verdict in verdicts.items()
                if verdict is not None and verdict.name != "INVALID"
            }
            if sound:
                input_only[cell.id] = sound
    return input_only


def find_floor(families: Iterable[Family]) -> float | None:
    """The noise floor: the 95th percentile of |ratio - 1| over all twin cells of all arms.

    Linear between order statistics (numpy's default).  None: there is no twin cell.
    """
    off = [abs(ratio.value - 1) for family in families for ratio in family.ratios.values()]
    return float(np.percentile(off, FLOOR_SHARE)) if off else None


def find_excess(families: Iterable[Family]) -> float | None:
    """What twins show beyond what their own intervals know of: the 95th percentile, over all twin
    cells of all arms that have an interval, of how far it misses a ratio of 1; 0 where it contains 1.

    A noisy cell differs from its twin by as much as its interval says, and its verdict takes that
    into account; only what the intervals miss has to be added for every cell.  By construction one
    in twenty misses by accident, which the percentile leaves out.  None: no twin has an interval.
    """
    misses = [
        max(0.0, ratio.low - 1, 1 / ratio.high - 1)
        for family in families
        for ratio in family.ratios.values()
        if ratio.low is not None and ratio.high is not None
    ]
    return float(np.percentile(misses, FLOOR_SHARE)) if misses else None


def find_margin(twins: Sequence[Family]) -> float:
    """What a difference must exceed to count: the larger of 2 % and what the twins' intervals miss."""
    return max(MARGIN, find_excess(twins) or 0.0)


def find_honest(cell: Cell, cells: Iterable[Cell]) -> tuple[Cell, float] | None:
    """The honest twin of a known-extra-work cell and the true ratio of their work; None: no such cell."""
    names = [link.to for link in cell.links.get("honest", ())]
    twin = next((cell for cell in cells if cell.id in names), None)
    return None if twin is None or cell.extra_work is None else (twin, 1 + cell.extra_work)


def is_input_only(cell: Cell, placements: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a cell's work was seen on CPUs alone, on whichever arm: a pipeline without a model.

    ``placements`` are the nodes by device of every measured invocation on every arm; a cell whose
    placement nobody saw is none.
    """
    every = list(placements)
    return (
        cell.role == "input"
        and bool(every)
        and all(nodes and all("GPU" not in device for device in nodes) for nodes in every)
    )


def read_control(
    documents: Mapping[int, Document], read: Readings
) -> Iterable[tuple[str, int, float]]:
    """The values of a control arm, disturbed ones left out: cell, block and seconds per call."""
    for block, document in documents.items():
        for result in document.cells if find_whole_disturbance(document) is None else ():
            if result.outcome == "measured" and find_cell_disturbance(result) is None:
                yield result.id, block, read[document.invocation.arm, block, result.id].value
