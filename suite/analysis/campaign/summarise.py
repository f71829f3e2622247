"""The analysis of one campaign: per cell and arm a number or the reason why there is none.

Brings the evidence together; `conclude` draws the verdicts from it.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec import structs

from suite.analysis.campaign.consistency import (
    counted_documents,
    find_checked,
    find_disagreement,
    find_missing,
    find_refused,
    flag_arms,
    flag_campaign,
    flag_cell,
    flag_cold,
    flag_labels,
    take_counted,
)
from suite.analysis.campaign.health import find_health
from suite.analysis.campaign.invocation_value import (
    Readings,
    add_outliers,
    flag_readings,
    read_each,
)
from suite.analysis.campaign.plausibility import Place, find_impossible, find_places
from suite.analysis.campaign.proof import withhold_unproven
from suite.analysis.campaign.slow_invocations import find_off_pace
from suite.analysis.campaign.validity import (
    MOST_SET_ASIDE,
    exclude,
    find_cell_disturbance,
    find_whole_disturbance,
    is_contended,
    judge_campaign,
)
from suite.analysis.campaign.verdicts import conclude, find_margin, read_control
from suite.analysis.documents.busy import find_idle
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.documents.telemetry import join_document
from suite.analysis.observations import Observation, observe_cell
from suite.analysis.result.arms import Health
from suite.analysis.result.campaign import Controls, Rested
from suite.analysis.result.cells import Amount, ArmResult, Checked, Comparison
from suite.analysis.result.numbers import Estimate, derive_rate
from suite.analysis.statistics.estimate import estimate
from suite.analysis.statistics.spending import find_share
from suite.cells.cell import Cell, Work
from suite.flags import Flag, find_invalid, raise_flag
from suite.model import Campaign, CellResult, Document

UNIT = "s"
"""Every value is in seconds per call."""


@dataclass(frozen=True, kw_only=True)
class CellSummary:
    """One cell of the plan on every arm, in the plan's order.

    ``results`` are by arm and block what the documents that count have of it.  ``comparisons`` hold by
    arm, the first one excepted, its time over the first arm's, and what that means.
    """

    cell: Cell
    results: Mapping[str, Mapping[int, CellResult]]
    arms: Mapping[str, ArmResult]
    comparisons: Mapping[str, Comparison]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The analysis of a campaign.

    ``counted`` are the documents of its blocks by arm and block, the last repeat of each.  ``flags``
    are those of the whole campaign, and of every invocation that does not count; ``places`` is what
    each arm's numbers were made on, ``table`` the observations of its arms.
    """

    loaded: LoadedCampaign
    counted: Mapping[str, Mapping[int, Document]]
    places: Mapping[str, Place]
    table: Sequence[Observation]
    cells: tuple[CellSummary, ...]
    flags: tuple[Flag, ...]
    controls: Controls
    _refused: dict[tuple[str, str], Mapping[str, Flag]] = field(
        init=False, default_factory=dict, compare=False
    )

    @property
    def campaign(self) -> Campaign:
        """The plan that was carried out."""
        return self.loaded.campaign

    @cached_property
    def health(self) -> Mapping[str, Health]:
        """By arm what became of its GPU's memory and link."""
        return find_health(self.loaded)

    @property
    def margin(self) -> float:
        """What a difference must exceed to count."""
        return find_margin(self.controls.twins)

    @property
    def share(self) -> float | None:
        """What this look spends of every level, as `find_share` has it."""
        return _find_share(self.loaded)

    def find_refused(self, base: str, other: str) -> Mapping[str, Flag]:
        """Why two arms must not be compared, by cell, of those whose results differ between them."""
        pair = base, other
        if pair not in self._refused:
            self._refused[pair] = find_refused(
                {cell.cell.id: cell.arms for cell in self.cells}, *pair
            )
        return self._refused[pair]

    @property
    def base(self) -> str:
        """The arm that the others are compared with: the plan's first."""
        return self.campaign.arms[0]


def find_rested(summary: Summary) -> tuple[Rested, ...]:
    """How many cells rested from which of the measured blocks on, wherever their number changes."""
    measured = sorted({block for blocks in summary.counted.values() for block in blocks})
    counts = [(block, len({*summary.campaign.resting(block)})) for block in measured]
    before = [0, *(count for _, count in counts)]
    return tuple(
        Rested(block=block, cells=count)
        for (block, count), last in zip(counts, before, strict=False)
        if count != last
    )


def _find_share(loaded: LoadedCampaign) -> float | None:
    last = max((document.invocation.block for document in loaded.documents), default=0)
    return find_share(loaded.campaign, last, early=loaded.early)


def summarise(loaded: LoadedCampaign) -> Summary:
    """The analysis of a loaded campaign; deterministic."""
    loaded = withhold_unproven(loaded.change(join_document))
    campaign = loaded.campaign
    counted = counted_documents(loaded)
    flags = flag_arms(loaded)
    excluded = exclude(loaded)
    invalid = judge_campaign(loaded, excluded)
    off_pace = find_off_pace(counted)
    aside = {flag.where["block"] for flag in off_pace}
    counted = {
        arm: {block: document for block, document in documents.items() if block not in aside}
        for arm, documents in counted.items()
    }
    places = find_places(campaign, counted)
    read = _read(counted)
    results: dict[str, dict[str, dict[int, CellResult]]] = {
        cell.id: {arm: {} for arm in campaign.arms} for cell in campaign.cells
    }
    for arm, documents in counted.items():
        for block, document in documents.items():
            for of_cell in document.cells:
                results[of_cell.id][arm][block] = of_cell
    arms_by_cell: dict[str, dict[str, ArmResult]] = {}
    table: list[Observation] = []
    for cell in campaign.cells:
        by_arm = results[cell.id]
        checked = {arm: find_checked(of_arm) for arm, of_arm in by_arm.items()}
        disagreements = _find_disagreements(campaign, checked)
        arms = arms_by_cell[cell.id] = {
            arm: _summarise_arm(
                campaign,
                cell,
                arm,
                results=by_arm[arm],
                documents=counted[arm],
                read=read,
                flags=flags[arm],
                check=checked[arm],
                disagreement=disagreements[arm],
                invalid=invalid,
                place=places[arm],
            )
            for arm in campaign.arms
        }
        for arm, result in arms.items():
            table += observe_cell(
                result, counted[arm], **_place(campaign, cell, arm), flags=result.flags
            )
    controls = [document for document in loaded.controls if document.invocation.block not in aside]
    counted_controls = take_counted(campaign, controls)
    read_controls = _read(counted_controls)
    cells = {cell.id: cell for cell in campaign.cells}
    own_controls, comparisons = conclude(
        campaign,
        table,
        {
            arm: [
                Observation(
                    **_place(campaign, cells[name], arm),
                    block=block,
                    seconds=seconds,
                    work=cells[name].work.amount,
                    unit=cells[name].work.unit,
                )
                for name, block, seconds in read_control(documents, read_controls)
            ]
            for arm, documents in counted_controls.items()
        },
        results=results,
        arm_results=arms_by_cell,
        share=_find_share(loaded),
    )
    return Summary(
        loaded=loaded,
        counted=counted,
        places=places,
        table=table,
        cells=tuple(
            CellSummary(
                cell=cell,
                results=results[cell.id],
                arms=arms_by_cell[cell.id],
                comparisons={arm: compared[cell.id] for arm, compared in comparisons.items()},
            )
            for cell in campaign.cells
        ),
        flags=(
            *flag_campaign(loaded),
            *find_idle(campaign, counted),
            *invalid,
            *excluded,
            *off_pace,
        ),
        controls=own_controls,
    )


def _find_disagreements(
    campaign: Campaign, checked: Mapping[str, Checked | None]
) -> dict[str, Flag | None]:
    """By arm why its numbers of a cell are not all of the same work, or not of that of its rivals.

    Rivals have to agree.  A version that computes otherwise than another keeps its numbers, if all of its
    blocks agree, and must not be compared with that one (`Summary.find_refused`).
    """
    versions = {arm for group in campaign.version_groups for arm in group[1:]}
    common = find_disagreement({arm: c for arm, c in checked.items() if arm not in versions})
    return {
        arm: find_disagreement({arm: check}) if arm in versions else common
        for arm, check in checked.items()
    }


def _read(counted: Mapping[str, Mapping[int, Document]]) -> Readings:
    """What is measured in these documents, read all at once."""
    measured = [
        ((arm, block, cell.id), cell)
        for arm, documents in counted.items()
        for block, document in documents.items()
        for cell in document.cells
        if cell.outcome == "measured"
    ]
    places, cells = [place for place, _ in measured], [cell for _, cell in measured]
    return dict(zip(places, read_each(cells), strict=True))


def _summarise_arm(
    campaign: Campaign,
    cell: Cell,
    arm: str,
    *,
    results: dict[int, CellResult],
    documents: dict[int, Document],
    read: Readings,
    flags: Sequence[Flag],
    check: Checked | None,
    disagreement: Flag | None,
    invalid: tuple[Flag, ...],
    place: Place,
) -> ArmResult:
    measured = {block: result for block, result in results.items() if result.outcome == "measured"}
    on_gpu = any(name.startswith("GPU") for result in results.values() for name in result.placement)
    if not measured:
        outcome, missing = find_missing(campaign, cell, arm, results, documents)
        return ArmResult(
            **_spread(None),
            outcome=outcome,
            work=_take_work(cell.work),
            flags=(missing,),
            on_gpu=on_gpu,
        )
    planned = campaign.calls.get(arm, {}).get(cell.id)
    where = {"arm": arm, "cell": cell.id}
    raised = [*flags, *flag_cell(where, results, planned)]
    cold = flag_cold(arm, documents)
    raised += cold if cell.one_shot and not cell.by_host else []
    disturbances: dict[str, list[int]] = {}
    for block, result in measured.items():
        code = find_whole_disturbance(documents[block]) or find_cell_disturbance(result)
        if code is not None:
            disturbances.setdefault(code, []).append(block)
    out = {block for blocks in disturbances.values() for block in blocks}
    kept = measured
    if disturbances and not invalid and not find_invalid(flags):
        few = len(out) <= MOST_SET_ASIDE * len(measured)
        own = tuple(
            raise_flag(
                *(code, {**where, "blocks": tuple(blocks)}),
                severity="excluded" if few else "invalid",
                scope="cell",
            )
            for code, blocks in disturbances.items()
        )
        if few:
            kept = {block: result for block, result in measured.items() if block not in out}
            raised += own
        else:
            invalid = own
    raised += flag_labels(where, measured)
    # Numbers of different work are no numbers, so nobody reads them.
    readings = {} if disagreement else {block: read[arm, block, cell.id] for block in kept}
    if readings:
        raised += flag_readings(where, readings, one_shot=cell.one_shot)
    contended = [block for block in readings if is_contended(documents[block])]
    if contended:
        here = {**where, "blocks": tuple(contended)}
        raised.append(raise_flag("contended-machine", here, of=len(readings)))
    value = estimate([reading.value for reading in readings.values()]) if readings else None
    # One block that can't be is enough: nobody knows what the others are of.
    beyond = (find_impossible(arm, cell, place, reading.value) for reading in readings.values())
    impossible = next(filter(None, beyond), None)
    invalid = (impossible,) if impossible else invalid
    firsts = [result.first_call_s for result in kept.values() if result.first_call_s is not None]
    first = estimate(firsts) if firsts and not disagreement else None
    work = next(result.work for result in measured.values() if result.work)
    own = value.flags if value else ()
    return ArmResult(
        **_spread(value),
        outcome="measured",
        work=_take_work(work),
        rate=derive_rate(work.amount, value.value) if value else None,
        first_call=first and structs.replace(first, flags=(*first.flags, *cold)),
        flags=(*own, *invalid, *raised, *([disagreement] if disagreement else [])),
        values={block: reading.value for block, reading in readings.items()},
        steady=Counter(reading.steady for reading in readings.values()),
        outliers=add_outliers(readings.values()) if readings else None,
        calls=tuple(sorted({result.calls_per_sample or 0 for result in measured.values()})),
        check=check,
        on_gpu=on_gpu,
        mean_power_w=_mean_power(results[block] for block in readings),
        peak_memory_bytes=max(
            (bytes_ for block in readings if (bytes_ := results[block].peak_memory_bytes)),
            default=None,
        ),
    )


def _spread(value: Estimate | None) -> dict[str, Any]:
    """The fields of a number of an arm, or of none."""
    ends = {name: getattr(value, name, None) for name in ("value", "low", "high")}
    return {**ends, "n": value.n if value else 0, "unit": UNIT}


def _take_work(work: Work) -> Amount:
    return Amount(amount=work.amount, unit=work.unit, bytes=work.bytes)


def _mean_power(results: Iterable[CellResult]) -> float | None:
    powers = (result.evidence.get("gpu.mean_power_w") for result in results)
    positive = [power for power in powers if power is not None and power > 0]
    return statistics.fmean(positive) if positive else None


def _place(campaign: Campaign, cell: Cell, arm: str) -> dict[str, Any]:
    """The columns of an observation that the plan tells; of the machine `observe` knows more."""
    return {
        "campaign": campaign.id,
        "created": campaign.created,
        "label": campaign.label,
        "suite": campaign.suite.content,
        "arm": arm,
        "cell": cell.id,
        "family": cell.scenario,
        "profile": campaign.profile,
        "role": cell.role,
    }
