"""The analysis of one campaign: per cell and arm a number or the reason why there is none.

Decides nothing about winning: ratios and intervals, but no verdicts yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.model import Campaign, Cell, CellResult, Document, OutcomeName, Work
from suite.report.doubts import (
    counted_documents,
    doubt_arms,
    doubt_cell,
    explain_missing,
    find_disagreement,
)
from suite.report.load import LoadedCampaign
from suite.report.statistics import Estimate, Ratio, compare, estimate, reduce_invocation

NO_VERDICTS = "this version of the suite gives intervals but no verdicts"
NOT_LOOKED_FOR = "this version of the suite does not look for it"
NO_PAIR = "no ratio: one of the two arms has no number"
NO_COMMON_BLOCK = "no ratio: no block has a number on both arms"


@dataclass(frozen=True, kw_only=True)
class ArmResult:
    """What a campaign knows of one cell on one arm.

    ``estimate`` is in seconds per call; where it is None, ``reason`` says why.  ``first_call`` is
    the cell's cold first call in seconds, never pooled with the samples.  ``notes`` are the doubts
    about the number.  ``values`` are the invocations' values by block.
    """

    arm: str
    outcome: OutcomeName
    reason: str | None
    estimate: Estimate | None
    first_call: Estimate | None
    work: Work
    notes: tuple[str, ...]
    values: Mapping[int, float]


@dataclass(frozen=True, kw_only=True)
class CellSummary:
    """One cell of the plan on every arm, in the plan's order.

    ``ratios`` holds by arm, the first one excepted, its time over the first arm's, or the reason
    why there is no ratio.
    """

    cell: Cell
    arms: Mapping[str, ArmResult]
    ratios: Mapping[str, Ratio | str]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The analysis of a campaign; ``counted`` are its documents that count, by arm and block."""

    loaded: LoadedCampaign
    counted: Mapping[str, Mapping[int, Document]]
    cells: tuple[CellSummary, ...]

    @property
    def campaign(self) -> Campaign:
        """The plan that was carried out."""
        return self.loaded.campaign

    @property
    def base(self) -> str:
        """The arm that the others are compared with: the plan's first."""
        return self.campaign.arms[0]

    @property
    def others(self) -> list[str]:
        """The arms that are compared with the first."""
        return self.campaign.arms[1:]

    @property
    def banners(self) -> tuple[str, ...]:
        """What has to stand in the title and over every table, in capitals."""
        isolations = {document.invocation.isolation for document in self.loaded.documents}
        found = ["SIMULATED"] if self.campaign.simulated else []
        return (*found, *(["NOT CONTAINERIZED"] if "none" in isolations else []))


def summarise(loaded: LoadedCampaign) -> Summary:
    """The analysis of a loaded campaign; deterministic."""
    counted = counted_documents(loaded)
    doubts = doubt_arms(loaded)
    results = {
        arm: {
            block: {one.id: one for one in document.cells} for block, document in documents.items()
        }
        for arm, documents in counted.items()
    }
    cells = []
    for cell in loaded.campaign.cells:
        found = {
            arm: {block: by_id[cell.id] for block, by_id in blocks.items() if cell.id in by_id}
            for arm, blocks in results.items()
        }
        disagreement = find_disagreement(found)
        arms = {
            arm: _summarise_arm(
                loaded.campaign,
                cell,
                arm,
                results=found[arm],
                documents=counted[arm],
                doubts=doubts[arm],
                disagreement=disagreement,
            )
            for arm in loaded.campaign.arms
        }
        base, *others = loaded.campaign.arms
        ratios = {other: _compare(arms[base], arms[other]) for other in others}
        cells.append(CellSummary(cell=cell, arms=arms, ratios=ratios))
    return Summary(loaded=loaded, counted=counted, cells=tuple(cells))


def _summarise_arm(
    campaign: Campaign,
    cell: Cell,
    arm: str,
    *,
    results: dict[int, CellResult],
    documents: dict[int, Document],
    doubts: tuple[str, ...],
    disagreement: str | None,
) -> ArmResult:
    measured = {block: one for block, one in results.items() if one.outcome == "measured"}
    values = {block: reduce_invocation(one.samples_s) for block, one in measured.items()}
    firsts = [one.first_call_s for one in measured.values() if one.first_call_s is not None]
    if not measured:
        outcome, reason = _find_reason(campaign, cell, arm, results, documents)
        return ArmResult(
            arm=arm,
            outcome=outcome,
            reason=f"{arm}: {reason}",
            estimate=None,
            first_call=None,
            work=cell.work,
            notes=(),
            values={},
        )
    planned = campaign.calls.get(arm, {}).get(cell.id)
    notes = [*doubts, *doubt_cell(arm, results, planned)]
    return ArmResult(
        arm=arm,
        outcome="measured",
        reason=disagreement,
        estimate=None if disagreement else estimate(list(values.values())),
        first_call=estimate(firsts) if firsts and not disagreement else None,
        work=next(one.work for one in measured.values() if one.work),
        notes=tuple(notes),
        values={} if disagreement else values,
    )


def _find_reason(
    campaign: Campaign,
    cell: Cell,
    arm: str,
    results: dict[int, CellResult],
    documents: dict[int, Document],
) -> tuple[OutcomeName, str]:
    """Why an arm has no number for a cell: the outcome that says most, and all reasons."""
    if results:
        outcomes = [one.outcome for one in results.values()]
        worst = next(name for name in ("failed", "skipped", "pending") if name in outcomes)
        reason = explain_missing(results, documents)
        return worst, "pending: not reached yet" if reason == "pending" else reason
    if cell.arms and arm not in cell.arms:
        return "skipped", f"skipped: means something on {', '.join(cell.arms)} only"
    excluded = campaign.excluded.get(arm, {}).get(cell.id)
    if excluded is not None:
        return excluded.outcome, f"{excluded.outcome} in the calibration: {excluded.reason}"
    if documents:
        return "pending", "pending: no block has tried it"
    return "pending", "pending: no block has run on this arm"


def _compare(base: ArmResult, other: ArmResult) -> Ratio | str:
    if base.estimate is None or other.estimate is None:
        return NO_PAIR
    return compare(base.values, other.values) or NO_COMMON_BLOCK
