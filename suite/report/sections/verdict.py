"""The verdict in sentences: who wins how often, from where on, by how much, and how sure that is.

Names what can't be judged as plainly as what can.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import (
    FEWEST,
    OTHER_LEVEL,
    WORK_LEVEL,
    Ratio,
    Verdict,
    VerdictName,
)
from suite.cells.traits import WITH_VERDICTS
from suite.input_limits import RANGES
from suite.report.text.crossovers import describe_crossover, name_sweep, word_reach
from suite.report.text.names import list_values, name_cells
from suite.report.text.page import Page
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    show_duration,
    show_ratio,
    show_share,
    show_things,
    show_times,
)


def tell_verdicts(analysis: Analysis, *, settling: bool) -> list[str]:
    """The comparisons with the first arm, each in a sentence; or why there is nothing to compare.

    ``settling``: with what would decide more of the cells.
    """
    sentences = []
    for other in analysis.others:
        sentences.append(tell_comparison(analysis, other))
        sentences += tell_settling(analysis, other) if settling else []
    return sentences or [_tell_alone(analysis)]


def tell_sizes(analysis: Analysis) -> list[str]:
    """Who wins along the main sweeps, for each comparison (of several GPUs the first's); or how far the one
    arm comes."""
    if analysis.others:
        return [text for other in analysis.leading for text in tell_crossovers(analysis, other)]
    base = analysis.base
    return [
        f"In {name_sweep(sweep, analysis.sweeps)} {base} reaches {word_reach(sweep.reaches[base])}."
        for sweep in analysis.main_sweeps
        if base in sweep.reaches
    ]


def _count(cells: Sequence[CellAnalysis], other: str) -> Counter[VerdictName]:
    """How many cells have which verdict on an arm."""
    verdicts = (cell.verdicts[other] for cell in cells)
    return Counter(verdict.name for verdict in verdicts if isinstance(verdict, Verdict))


def tell_comparison(analysis: Analysis, other: str) -> str:
    """One comparison in one sentence: ``Of 60 cells cuda is faster than cpu in 31 and slower in …``."""
    base, work = analysis.base, analysis.work
    counts = _count(work, other)
    against = f"{other} against {base}"
    if not work:
        return f"{against}: no cell of work was chosen, so there is no winner."
    if not counts:
        return f"{against}: no verdicts; {_count_hints(analysis, other)}."
    silent = len(work) - counts.total()
    rest = f"; {show_things(silent, 'more cell')} without a verdict" if silent else ""
    invalid = counts["INVALID"]
    judged = counts.total() - invalid
    if not judged:
        all_of = f"all {invalid} comparisons are" if invalid > 1 else "the only comparison is"
        return f"{against}: {all_of} INVALID{rest}."
    parts = [f"{n.lower()} in {counts[n]}" for n in ("EQUIVALENT", "INCONCLUSIVE") if counts[n]]
    more = f"; {show_things(invalid, 'more cell')} INVALID" if invalid else ""
    cells, end = f"Of {show_things(judged, 'cell')} of work {other}", f"{more}{rest}."
    if not counts["FASTER"] + counts["SLOWER"]:
        return f"{cells} is shown to differ from {base} in none: {', '.join(parts)}{end}"
    said = [f"is faster than {base} in {counts['FASTER']} and slower in {counts['SLOWER']}", *parts]
    apart = _count([cell for cell in work if cell.staged], other)
    return f"{cells} {', '.join(said)}{end}{_count_apart(counts, apart)}"


def _count_apart(counts: Counter[VerdictName], apart: Counter[VerdictName]) -> str:
    """The counts without the cells that are steps of a script, start-up and all, where there are others
    too."""
    rest = counts - apart
    taken = apart.total() - apart["INVALID"]
    if not taken or not rest.total() - rest["INVALID"]:
        return ""
    which = f"{taken} that are steps" if taken > 1 else "one that is a step"
    return (
        f" Without the {which} of people's scripts it is faster in {rest['FASTER']} and slower in "
        f"{rest['SLOWER']}."
    )


def tell_settling(analysis: Analysis, other: str) -> Iterable[str]:
    """What would decide half of the cells that nothing is known of: blocks, and their time."""
    verdicts = (cell.verdicts[other] for cell in analysis.work)
    each = sorted(
        math.inf if verdict.blocks is None else verdict.blocks
        for verdict in verdicts
        if isinstance(verdict, Verdict) and verdict.name == "INCONCLUSIVE"
    )
    if not each:
        return
    wanted = each[(len(each) - 1) // 2]
    if wanted > RANGES["blocks"].most:
        yield "More blocks would not settle most of the inconclusive cells: the noise is too large."
        return
    done = min(len(details.blocks) for details in analysis.arms.values())
    # The calibration took about as long as a block.
    block_s = math.fsum(spent.total_s for spent in analysis.spent.values()) / (done + 1)
    settled = sum(blocks <= wanted for blocks in each)
    half = f"Of the {len(each)} inconclusive cells {settled}"
    if settled == len(each):
        half = f"All {settled} inconclusive cells" if settled > 1 else "The inconclusive cell"
    yield (
        f"{half} should be settled by BLOCKS={wanted} instead of {done}, in about "
        f"{show_duration((wanted - done) * block_s)} more."
    )


def tell_crossovers(analysis: Analysis, other: str) -> list[str]:
    """Who wins along the main sweeps, by verdicts alone; those without any share a sentence."""
    sentences, silent = [], []
    for sweep in analysis.main_sweeps:
        if not analysis.compares(sweep, other):
            continue
        crossover, name = sweep.crossovers[other], name_sweep(sweep, analysis.sweeps)
        if crossover.wins or crossover.loses or crossover.equal:
            sentences.append(f"In {name} {describe_crossover(sweep, other, analysis.base)}.")
        else:
            silent.append(name)
    if silent and _count(analysis.work, other):
        among = f" between {other} and {analysis.base}" if len(analysis.others) > 1 else ""
        sentences.append(f"No clear winner{among} at any size in {', '.join(silent)}.")
    return sentences


def write_crossovers(page: Page, analysis: Analysis) -> None:
    """A row a sweep and comparison; nothing where there is neither."""
    rows = [
        {
            "sweep": f"{sweep.scenario}.{sweep.case}",
            "fixed axes": list_values(sweep.fixed),
            "comparison": f"{other} against {analysis.base}",
            "answer": describe_crossover(sweep, other, analysis.base),
        }
        for other in analysis.others
        for sweep in analysis.sweeps
        if analysis.compares(sweep, other)
    ]
    if not rows:
        return
    page.heading("Crossovers", level=3)
    page.table(
        TEXTS["captions"]["crossovers"],
        rows,
    )


def tell_extremes(analysis: Analysis, other: str) -> list[str]:
    """The largest win and the largest loss among the cells that are called faster or slower, and what is
    typical of several; of those that take a script apart, start-up and all, where there are no others."""
    names = name_cells(analysis.cells)
    plain = [cell for cell in analysis.work if not cell.staged]
    called = list_called(plain or analysis.work, other, judged=True)
    parts = []
    for way, kind in (("FASTER", "win"), ("SLOWER", "loss")):
        if ratios := called.get(way):
            cell, ratio = ratios[0]
            shown = show_ratio(ratio, other=other, base=analysis.base)
            median = math.exp(statistics.median(abs(math.log(r.value)) for _, r in ratios))
            several = f", in the median of {len(ratios)} such cells {show_times(median)}×"
            typical = several if len(ratios) >= FEWEST else ""
            parts.append(f"largest {kind} is at {names[cell]}: {shown}{typical}")
    apart = "Scripts apart, " if 0 < len(plain) < len(analysis.work) else ""
    return [f"{apart}{other}'s {'; its '.join(parts)}."] if parts else []


def list_called(
    cells: Iterable[CellAnalysis], other: str, *, judged: bool
) -> dict[str, list[tuple[str, Ratio]]]:
    """By FASTER and SLOWER the cells that are called so, with their ratios, that by most first: by their
    verdicts, or where nothing is ``judged`` by the ratios alone."""
    called: dict[str, list[tuple[str, Ratio]]] = {}
    for cell in cells:
        verdict, ratio = cell.verdicts[other], cell.ratios[other]
        if isinstance(ratio, Ratio):
            hint = "" if judged else "SLOWER" if ratio.value > 1 else "FASTER"
            way = verdict.name if isinstance(verdict, Verdict) else hint
            called.setdefault(way, []).append((cell.id, ratio))
    for way, ratios in called.items():
        ratios.sort(key=lambda item: (item[1].value, item[0]), reverse=way == "SLOWER")
    return called


def _tell_alone(analysis: Analysis) -> str:
    """Why there is no winner."""
    # Without what was looked at, which stands further below.
    whys = {arm: why.partition(": ")[0] for arm, why in analysis.campaign.not_run.items()}
    because = f" ({'; '.join(f'{arm}: {why}' for arm, why in whys.items())})" if whys else ""
    return (
        f"Only {analysis.base} was measured{because}, so there is nothing to compare: these "
        "are times and rates, not verdicts."
    )


def tell_sureness(analysis: Analysis) -> Iterable[str]:
    """How well the times are known, and what this machine's own noise hides."""
    widths = [
        math.sqrt(time.high / time.low) - 1
        for cell in analysis.cells
        for result in cell.arms.values()
        if (time := result.estimate) and time.low and time.high and not result.invalid
    ]
    if min(len(details.blocks) for details in analysis.arms.values()) < FEWEST:
        yield f"With fewer than {FEWEST} blocks there are values but no intervals."
    if not widths:
        return
    width = 100 * statistics.median(widths)
    times = show_things(len(widths), "measured time")
    yield f"Median uncertainty of the {times}: ±{width:.2g} % (95 % CI)."
    # What makes a twin fail is no noise; the opening says what not to rely on then.
    failed = any(family.flagged for family in analysis.controls.twins)
    judged = analysis.others and analysis.campaign.profile in WITH_VERDICTS
    if judged and analysis.noise_floor is not None and not failed:
        yield TEXTS["counts"]["what"].format(
            level=WORK_LEVEL,
            other_level=OTHER_LEVEL,
            margin=show_share(analysis.margin),
            floor=show_share(analysis.noise_floor),
        )
    if analysis.campaign.profile not in WITH_VERDICTS:
        yield f"The intervals of the profile {analysis.campaign.profile} are provisional."


def _count_hints(analysis: Analysis, other: str) -> str:
    """What ratios alone suggest, where nothing is judged."""
    every = (cell.ratios[other] for cell in analysis.work)
    ratios = [ratio for ratio in every if isinstance(ratio, Ratio)]
    if not any(ratio.low is not None for ratio in ratios):
        return "a ratio without an interval is not even a hint"
    faster = sum(ratio.high is not None and ratio.high < 1 for ratio in ratios)
    slower = sum(ratio.low is not None and ratio.low > 1 for ratio in ratios)
    return (
        f"intervals that exclude 1 are hints, not findings: of {show_things(len(ratios), 'cell')} "
        f"faster in {faster}, slower in {slower}"
    )
