"""A loaded campaign to its analysis: the one door, behind which a report knows nothing of documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Literal

from msgspec import structs

from suite import __version__
from suite.analysis.ablation.cell_index import index_cells
from suite.analysis.ablation.cost import find_costs, find_price
from suite.analysis.ablation.expected import find_expected, flag_expected
from suite.analysis.ablation.feeding import find_feeding
from suite.analysis.ablation.hardware import find_hardware
from suite.analysis.ablation.limits import find_limits, flag_limits
from suite.analysis.ablation.overheads import find_wakes
from suite.analysis.ablation.soundness import find_lasting, find_unsound, take_first_block
from suite.analysis.ablation.step import decompose_steps, find_break_evens, find_pipelines
from suite.analysis.ablation.sustained import find_sustained
from suite.analysis.ablation.tools import find_tools
from suite.analysis.ablation.waterfall import (
    build_waterfalls,
    find_naive_gaps,
    find_posted,
)
from suite.analysis.acceptance.judge import judge_campaign
from suite.analysis.acceptance.selection import Choose, Selection
from suite.analysis.acceptance.sheet import Sheet
from suite.analysis.campaign.consistency import counted_documents
from suite.analysis.campaign.environment import (
    describe_arm,
    find_builds,
    find_differing,
    find_machine,
)
from suite.analysis.campaign.family_means import find_means
from suite.analysis.campaign.proof import withhold_unproven
from suite.analysis.campaign.slow_invocations import find_odd
from suite.analysis.campaign.stopping import SLOW_S, Precision, assess
from suite.analysis.campaign.summarise import CellSummary, Summary, find_rested, summarise
from suite.analysis.campaign.telemetry import find_cost
from suite.analysis.campaign.time_spent import add_up, find_deaths
from suite.analysis.campaign.verdicts import count_pairs, find_excess, find_floor
from suite.analysis.causes.explain import Case, explain
from suite.analysis.causes.improvements import find_improvements
from suite.analysis.documents.elsewhere import read_elsewhere
from suite.analysis.documents.prices import read_prices
from suite.analysis.documents.read import LoadedCampaign, load_campaign
from suite.analysis.result.acceptance import Acceptance
from suite.analysis.result.campaign import SCHEMA, Analysis, Plan, SweepAnalysis
from suite.analysis.result.cells import CellAnalysis, tell_verdict
from suite.analysis.result.numbers import OTHER_LEVEL, WORK_LEVEL, Estimate, Verdict
from suite.analysis.result.several import Versus
from suite.analysis.result.why import Answer
from suite.analysis.several.cells import compare_cells
from suite.analysis.several.gpus import compare_gpus
from suite.analysis.several.machines import choose_rows, compare_machines
from suite.analysis.several.recheck import hash_samples
from suite.analysis.statistics.crossover import find_crossover, find_reach, find_sweeps, pick_main
from suite.analysis.statistics.rounding import hand_over, share_fields
from suite.analysis.versions.change import Versions, compare_arms
from suite.analysis.versions.software import find_software
from suite.analysis.versions.steps import find_steps
from suite.analysis.why.answer import answer
from suite.errors import UsageError
from suite.model import Document
from suite.model.why import Inquiry

Rows = Literal["cell", "machine", "type"]

Each = Callable[[Callable[[Path], Analysis], Sequence[Path]], Iterable[Analysis]]


def study(loaded: LoadedCampaign) -> Analysis | Answer:
    """What a folder answers: of a campaign its analysis, of an inquiry why the script is slow."""
    return answer(loaded) if isinstance(loaded.campaign, Inquiry) else analyse(loaded)


def analyse_folder(folder: Path) -> Analysis:
    """The analysis of a campaign's folder.

    Raises:
        DocumentError: the folder, its plan or one of its documents can't be read or is refused.
        UsageError: it is an inquiry's.
    """
    return analyse(load_campaign(folder))


def compare_folders(
    folders: Sequence[Path],
    *,
    rows: Rows | None = None,
    pairs: Sequence[str] = (),
    bound: float | None = None,
    prices: Path | None = None,
    workload: str | None = None,
    asked: date,
    each: Each = map,
) -> tuple[Versus, list[Analysis]]:
    """Several campaigns beside each other, and the analysis of each.

    Args:
        folders: the campaigns', the first of them the base.
        rows: of what the tables are; None: of cells where the campaigns are of one machine, or where
            ``pairs`` or a ``bound`` are given; of machines where several are known, or ``prices`` or a
            ``workload`` are given.
        pairs: comparisons such as ``2:cuda/1:cpu``; none: every arm against the same arm of the first
            campaign that has it.
        bound: how much slower cells may be, a share.
        prices: a file of prices; None: the campaigns' own.
        workload: a cell's id or a part of it.
        asked: the day by which a price is old.
        each: lays the analysis over the folders as ``map`` does, in their order.

    Raises:
        DocumentError: a campaign or the prices can't be read.
        UsageError: the campaigns can't be compared, or by this.
    """
    cells = {"PAIRS": pairs, "SLOWER": bound is not None, "ROWS=cell": rows == "cell"}
    machines = {
        "PRICES": prices,
        "CELL": workload,
        f"ROWS={rows}": rows in {"machine", "type"},
    }
    of_cells, of_machines = ([n for n, given in of.items() if given] for of in (cells, machines))
    by_cell, by_machine = bool(of_cells), bool(of_machines)
    if of_cells and of_machines:
        raise UsageError(
            f"{' and '.join(of_cells)}: rows are cells; {' and '.join(of_machines)}: rows are machines",
            "leave one of them out, or ask twice",
        )
    offers = read_prices(prices, asked) if prices else []
    analyses = list(each(analyse_folder, folders))
    chosen = rows or ("cell" if by_cell else "type" if by_machine else choose_rows(analyses))
    if chosen == "cell":
        return compare_cells(analyses, pairs, bound=bound), analyses
    versus = compare_machines(analyses, offers, asked=asked, rows=chosen, workload=workload)
    return versus, analyses


def compare_again(before: Analysis, now: Analysis, seed: str) -> Versus:
    """What became of the cells of a campaign, drawn by ``seed``, that another has measured again."""
    return compare_cells([before, now], seed=seed)


def accept_folder(
    folder: Path,
    sheet: Sheet,
    others: Mapping[str, Path],
    *,
    catalogue: Collection[str],
    choose: Choose,
) -> Acceptance:
    """A campaign beside a sheet of requirements; ``others`` are the campaigns that it names, ``catalogue``
    holds the ids of all cells of the suite.

    Raises:
        DocumentError: as `analyse_folder`.
        UsageError: a line of the sheet is refused, or one of the folders is an inquiry's.
    """
    loaded = load_campaign(folder)
    analysis = analyse(loaded)
    # A report's title is of what befell the machine; a contract is of what it is as well.
    lasting = find_lasting(take_first_block(loaded) or loaded)
    others_flags = (flag for flag in analysis.flags if flag.scope != "machine")
    analysis = structs.replace(analysis, flags=(*others_flags, *lasting))
    selection = Selection(name=sheet.name, analysis=analysis, catalogue=catalogue, choose=choose)
    bases = {name: analyse_folder(place) for name, place in others.items()}
    return judge_campaign(sheet, selection, hash_samples(loaded), bases)


def look(folder: Path, block: int, *, fewest: int, most: int) -> Precision:
    """The precision of a campaign after a block, as `assess` has it.

    Raises:
        DocumentError: as `analyse_folder`.
    """
    return find_precision(load_campaign(folder), block, fewest=fewest, most=most)


def find_precision(loaded: LoadedCampaign, block: int, *, fewest: int, most: int) -> Precision:
    """The same of a loaded campaign."""
    ratios: dict[tuple[tuple[str, str], float], dict[str, Estimate]] = {}
    values: dict[object, dict[str, Estimate]] = {}
    spoiled: dict[str, int] = {}
    summary = summarise(loaded)
    campaign = summary.campaign
    # Of versions of an arm that is not the first the ratios to that say too little.
    firsts = [
        (group[0], arm) for group in (campaign.arms, *campaign.version_groups) for arm in group[1:]
    ]
    compared = {pair: compare_arms(summary, *pair) for pair in dict.fromkeys(firsts)}
    for cell in summary.cells:
        name, is_work = cell.cell.id, cell.cell.role == "work"
        for pair, of in compared.items():
            if ratio := of[name].ratio:
                chance = (WORK_LEVEL if is_work else OTHER_LEVEL) / count_pairs(campaign, *pair)
                ratios.setdefault((pair, chance), {})[name] = ratio
        for arm, result in cell.arms.items():
            if result.estimate:
                slow = result.estimate.value > SLOW_S
                kind = arm, is_work, slow, cell.cell.one_shot
                values.setdefault(kind, {})[name] = result.estimate
            disturbed = {b for flag in result.invalid for b in flag.where.get("blocks", ())}
            if disturbed:
                spoiled[name] = max(spoiled.get(name, 0), len(disturbed))
    families = [(chance, family) for (_, chance), family in ratios.items()]
    return assess(
        families, [*values.values()], spoiled=spoiled, block=block, fewest=fewest, most=most
    )


def look_early(folder: Path) -> Analysis:
    """The analysis of a campaign so far, by the sequential rule whatever its profile.

    Raises:
        DocumentError: as `analyse_folder`.
    """
    return analyse(replace(load_campaign(folder), early=True))


def count_held(analysis: Analysis) -> tuple[int, int]:
    """How many answers hold, and how many are asked for: who wins each cell that is asked about, and the main
    cause of each that the GPU loses; none of a number that is INVALID, which no block mends."""
    verdicts = [
        verdict
        for cell in analysis.asked
        for verdict in cell.verdicts.values()
        if isinstance(verdict, Verdict) and verdict.name != "INVALID"
    ]
    losses = [cell.standing for cell in analysis.asked if cell.lost]
    held = sum(verdict.name != "INCONCLUSIVE" for verdict in verdicts)
    held += sum(standing is not None and not standing.open for standing in losses)
    return held, len(verdicts) + len(losses)


def look_for_odd(folder: Path) -> tuple[str, int, float] | None:
    """The oddest invocation of a campaign so far, as `find_odd` has it.

    Raises:
        DocumentError: as `analyse_folder`.
    """
    return find_odd(counted_documents(withhold_unproven(load_campaign(folder))))


def look_first(folder: Path) -> Analysis | None:
    """The analysis of a campaign's first block, with what makes its machine unsound as the only flags; None:
    there is none, or another one has been begun.

    Raises:
        DocumentError: as `analyse_folder`.
    """
    loaded = load_campaign(folder)
    first = take_first_block(loaded)
    if first is None:
        return None
    flags, sustained = tuple(find_lasting(first)), tuple(find_sustained(loaded))
    return hand_over(structs.replace(analyse(first), flags=flags, sustained=sustained))


def analyse(loaded: LoadedCampaign) -> Analysis:
    """The analysis of a loaded campaign; deterministic, and as a reader of its file gets it.

    Raises:
        UsageError: it asks about a script, whose runs are no cells of the suite.
    """
    if isinstance(loaded.campaign, Inquiry):
        raise UsageError(
            f"{loaded.folder} is of `make why`, and a campaign of `make bench` is wanted",
            "`make report`, `check`, `defend` and `bundle` take a folder of `make why`, too",
        )
    summary = summarise(loaded)
    index = index_cells(summary)
    cases = explain(index)
    waterfalls, published = build_waterfalls(index), read_elsewhere()
    posted = tuple(find_posted(waterfalls, index, published))
    campaign, twins = summary.campaign, summary.controls.twins
    builds, everything = find_builds(summary), summary.loaded.every_document
    price, limits = find_price(campaign), find_limits(index, summary.places)
    expected = tuple(find_expected(index, summary.places, limits))
    arms = {arm: describe_arm(summary, arm, builds.get(arm)) for arm in campaign.arms}
    cells = tuple(_analyse_cell(cell, cases.get(cell.cell.id)) for cell in summary.cells)
    sustained = tuple(find_sustained(loaded))
    by_arm: dict[str, list[Document]] = {arm: [] for arm in campaign.arms}
    for document in everything:
        by_arm.setdefault(document.invocation.arm, []).append(document)
    software = find_software(loaded.documents, loaded.packages)
    versions = Versions(summary=summary, index=index, software=software)
    changes = tuple(versions.find_changes())
    analysis = Analysis(
        schema=SCHEMA,
        suite=campaign.suite,
        analysed_by=__version__,
        campaign=Plan(
            **share_fields(campaign, Plan)
            | {"folder": summary.loaded.folder, "rested": find_rested(summary)}
        ),
        machine=find_machine(summary.loaded),
        arms=arms,
        cpu=index.cpu,
        gpu=index.gpu,
        flags=(*summary.flags, *find_unsound(loaded)),
        troubled=_is_troubled(summary) or any(kept.outcome == "failed" for kept in sustained),
        margin=summary.margin,
        share=summary.share,
        noise_floor=find_floor(twins),
        noise_unexplained=find_excess(twins),
        cells=cells,
        means=tuple(find_means(arms, cells)),
        sweeps=tuple(_analyse_sweeps(summary)),
        controls=summary.controls,
        software_differs=tuple(find_differing(builds, campaign)),
        versions=changes,
        version_steps=tuple(find_steps(versions, changes)),
        watching=find_cost(summary),
        spent={arm: add_up(documents) for arm, documents in by_arm.items()},
        deaths=tuple(find_deaths(everything)),
        findings=(
            *find_improvements(index),
            *find_naive_gaps(waterfalls, index),
            *posted,
            *decompose_steps(index),
            *find_wakes(index),
            *find_pipelines(index),
            *find_feeding(index, campaign.gpu_arms, _count_cpus(everything)),
            *find_break_evens(index),
            *limits,
            *expected,
            *find_costs(index, price),
        ),
        waterfalls=tuple(waterfalls),
        elsewhere=tuple(row for row in published if row.script in {own.of for own in posted}),
        limits=tuple(flag_limits(index, summary.places, limits)),
        hardware=(*find_hardware(summary, index), *flag_expected(expected, summary.places)),
        tools=find_tools(summary, index),
        price=price,
        sustained=sustained,
    )
    return hand_over(compare_gpus(analysis, summary))


def _analyse_cell(summary: CellSummary, case: Case | None) -> CellAnalysis:
    cell = summary.cell
    # What makes a side INVALID stands with the arm, and in the verdict.
    comparisons = {
        arm: structs.replace(row, invalid=()) for arm, row in summary.comparisons.items()
    }
    first = next(iter(comparisons.values()), None)
    ratio, verdict = (first.ratio, first.verdict) if first else (None, None)
    return CellAnalysis(
        **share_fields(cell, CellAnalysis)
        | {
            "staged": cell.way is not None,
            "compute": tuple(link.to for link in cell.links.get("compute", ())),
            "arms": summary.arms,
            "comparisons": comparisons,
        },
        ratio=ratio.value if ratio else None,
        ratio_low=ratio.low if ratio else None,
        ratio_high=ratio.high if ratio else None,
        verdict=verdict.name if verdict else None,
        causes=case[1] if case else (),
        standing=case[0] if case else None,
    )


def _analyse_sweeps(summary: Summary) -> list[SweepAnalysis]:
    sweeps = find_sweeps(summary.campaign.cells)
    main = pick_main(sweeps)
    base, *others = summary.campaign.arms
    verdicts = {
        arm: {cell.cell.id: tell_verdict(cell.comparisons[arm]) for cell in summary.cells}
        for arm in others
    }
    results = {
        arm: {cell.cell.id: cell.arms[arm] for cell in summary.cells} for arm in (base, *others)
    }
    return [
        SweepAnalysis(
            **share_fields(sweep, SweepAnalysis)
            | {"cells": tuple(cell.id for cell in sweep.cells)},
            unit=sweep.cells[0].work.unit,
            main=sweep in main,
            # A single operation a call is what the sweep is about.
            eager=all(c.dispatch == "eager" and c.work.launches != 1 for c in sweep.cells),
            crossovers={arm: find_crossover(sweep, found) for arm, found in verdicts.items()},
            reaches={
                arm: reach for arm, found in results.items() if (reach := find_reach(sweep, found))
            },
        )
        for sweep in sweeps
    ]


def _count_cpus(documents: Iterable[Document]) -> int:
    """The CPUs that the invocations had; 0: none says."""
    counts = (document.invocation.limits.get("cpu_count") for document in documents)
    return max((count for count in counts if isinstance(count, int)), default=0)


def _is_troubled(summary: Summary) -> bool:
    """Whether a cell failed in any counted block, its results disagree, or it is INVALID."""
    return any(
        "failed" in {result.outcome, *(turn.outcome for turn in cell.results[arm].values())}
        or bool(result.invalid)
        or (result.outcome == "measured" and result.value is None)
        for cell in summary.cells
        for arm, result in cell.arms.items()
    )
