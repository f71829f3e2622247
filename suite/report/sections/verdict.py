"""The verdict in sentences: who wins how often, from where on, by how much, and how sure that is.

Names what can't be judged as plainly as what can.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import FEWEST, Ratio, Verdict, VerdictName
from suite.cells.traits import WITH_VERDICTS
from suite.input_limits import RANGES
from suite.report.text.crossovers import EAGER, name_sweep, word_crossover, word_reach
from suite.report.text.names import name_cells
from suite.report.text.units import (
    Quantity,
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
    compared = [one for other in analysis.leading for one in tell_crossovers(analysis, other)]
    return compared if analysis.others else list(_tell_reaches(analysis))


def tell_comparison(analysis: Analysis, other: str) -> str:
    """One comparison in one sentence: ``Of 60 cells cuda is faster than cpu in 31 and slower in …``."""
    found = [one.verdicts[other] for one in analysis.work]
    counts = Counter(one.name for one in found if isinstance(one, Verdict))
    against = f"{other} against {analysis.base}"
    if not found:
        return f"{against}: no cell of work was chosen, so there is no winner."
    if not counts:
        return f"{against}: no verdicts; {_count_hints(analysis, other)}."
    silent = len(found) - counts.total()
    rest = f"; {show_things(silent, 'more cell')} without a verdict" if silent else ""
    judged = counts.total() - counts["INVALID"]
    if not judged:
        every = show_things(counts.total(), "comparison")
        all_of = f"all {every} are" if counts.total() > 1 else "the only comparison is"
        return f"{against}: {all_of} INVALID{rest}."
    parts = [f"{n.lower()} in {counts[n]}" for n in ("EQUIVALENT", "INCONCLUSIVE") if counts[n]]
    invalid = (
        f"; {show_things(counts['INVALID'], 'more cell')} INVALID" if counts["INVALID"] else ""
    )
    cells = f"Of {show_things(judged, 'cell')} of work"
    end = f"{invalid}{rest}."
    if not counts["FASTER"] + counts["SLOWER"]:
        shown = f"{cells} {other} is shown to differ from {analysis.base} in none"
        return f"{shown}: {', '.join(parts)}{end}"
    scripts = [one for one in analysis.work if one.staged]
    return (
        f"{cells} {other} is faster than {analysis.base} in {counts['FASTER']} and slower in "
        f"{counts['SLOWER']}{''.join(f', {part}' for part in parts)}{end}"
        f"{_count_apart(counts, scripts, other)}"
    )


def _count_apart(counts: Counter[VerdictName], scripts: Sequence[CellAnalysis], other: str) -> str:
    """The same without the cells that are steps of a script, start-up and all, where there are others too."""
    found = [one.verdicts[other] for one in scripts]
    apart = Counter(one.name for one in found if isinstance(one, Verdict))
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
    found = [one.verdicts[other] for one in analysis.work]
    open_ = [one for one in found if isinstance(one, Verdict) and one.name == "INCONCLUSIVE"]
    if not open_:
        return
    each = sorted(math.inf if one.blocks is None else one.blocks for one in open_)
    wanted = each[(len(each) - 1) // 2]
    if wanted > RANGES["blocks"].most:
        yield "More blocks would not settle most of the inconclusive cells: the noise is too large."
        return
    done = min(len(one.blocks) for one in analysis.arms.values())
    # The calibration took about as long as a block.
    block_s = math.fsum(one.total_s for one in analysis.spent.values()) / (done + 1)
    settled = sum(one <= wanted for one in each)
    half = f"Of the {len(open_)} inconclusive cells {settled}"
    if settled == len(open_):
        half = f"All {settled} inconclusive cells" if settled > 1 else "The inconclusive cell"
    yield (
        f"{half} should be settled by BLOCKS={wanted} instead of {done}, in about "
        f"{show_duration((wanted - done) * block_s)} more."
    )


def tell_crossovers(analysis: Analysis, other: str) -> list[str]:
    """Who wins along the main sweeps, by verdicts alone; those without any share a sentence."""
    told, silent = [], []
    for sweep in analysis.main_sweeps:
        if not analysis.compares(sweep, other):
            continue
        one, name = sweep.crossovers[other], name_sweep(sweep, analysis.sweeps)
        if one.wins or one.loses or one.equal:
            words = word_crossover(one, sweep.axis, other, analysis.base)
            told.append(f"In {name} {words}{f' ({EAGER})' if sweep.eager else ''}.")
        else:
            silent.append(name)
    is_judged = any(isinstance(one.verdicts[other], Verdict) for one in analysis.work)
    if silent and is_judged:
        among = f" between {other} and {analysis.base}" if len(analysis.others) > 1 else ""
        told.append(f"No clear winner{among} at any size in {', '.join(silent)}.")
    return told


def tell_extremes(analysis: Analysis, other: str) -> list[str]:
    """The largest win and the largest loss among the cells that are called faster or slower, and what is
    typical of several; of those that take a script apart, start-up and all, where there are no others."""
    names = name_cells(analysis.cells)
    plain = [one for one in analysis.work if not one.staged]
    called = _list_called(plain or analysis.work, other, judged=True)
    told = []
    for way, kind in (("FASTER", "win"), ("SLOWER", "loss")):
        if ratios := called.get(way):
            cell, ratio = _pick_end(way, ratios)
            shown = show_ratio(ratio, other=other, base=analysis.base)
            sizes = [abs(math.log(one.value)) for one in ratios.values()]
            median = show_times(math.exp(statistics.median(sizes)))
            several = f", in the median of {len(sizes)} such cells {median}×"
            typical = several if len(sizes) >= FEWEST else ""
            told.append(f"largest {kind} is at {names[cell]}: {shown}{typical}")
    apart = "Scripts apart, " if 0 < len(plain) < len(analysis.work) else ""
    return [f"{apart}{other}'s {'; its '.join(told)}."] if told else []


def find_ends(
    cells: Iterable[CellAnalysis], base: str, other: str, *, judged: bool
) -> dict[str, tuple[str, Quantity]]:
    """By FASTER and SLOWER the cell that is so by most and its ratio in words: of those that a verdict
    carries, or where nothing is ``judged`` by the ratios alone."""
    called = _list_called(cells, other, judged=judged)
    ends = {way: _pick_end(way, called[way]) for way in ("FASTER", "SLOWER") if way in called}
    return {
        way: (cell, show_ratio(one, other=other, base=base)) for way, (cell, one) in ends.items()
    }


def _list_called(
    cells: Iterable[CellAnalysis], other: str, *, judged: bool
) -> dict[str, dict[str, Ratio]]:
    called: dict[str, dict[str, Ratio]] = {}
    for one in cells:
        verdict, ratio = one.verdicts[other], one.ratios[other]
        if isinstance(ratio, Ratio):
            hint = "" if judged else "SLOWER" if ratio.value > 1 else "FASTER"
            way = verdict.name if isinstance(verdict, Verdict) else hint
            called.setdefault(way, {})[one.id] = ratio
    return called


def _pick_end(way: str, ratios: Mapping[str, Ratio]) -> tuple[str, Ratio]:
    pick = min if way == "FASTER" else max
    return pick(ratios.items(), key=lambda one: (one[1].value, one[0]))


def _tell_alone(analysis: Analysis) -> str:
    """Why there is no winner."""
    # Without what was looked at, which stands further below.
    whys = {arm: why.partition(": ")[0] for arm, why in analysis.campaign.not_run.items()}
    reasons = [f"{arm}: {why}" for arm, why in whys.items()]
    because = f" ({'; '.join(reasons)})" if reasons else ""
    return (
        f"Only {analysis.base} was measured{because}, so there is nothing to compare: these "
        "are times and rates, not verdicts."
    )


def _tell_reaches(analysis: Analysis) -> Iterable[str]:
    """How far the one arm comes along the main sweeps."""
    for sweep in analysis.main_sweeps:
        reach = sweep.reaches.get(analysis.base)
        if reach is not None:
            name = name_sweep(sweep, analysis.sweeps)
            yield f"In {name} {analysis.base} reaches {word_reach(reach)}."


def tell_sureness(analysis: Analysis) -> Iterable[str]:
    """How well the times are known, and what this machine's own noise hides."""
    fewest = min(len(one.blocks) for one in analysis.arms.values())
    widths = [
        math.sqrt(found.high / found.low) - 1
        for one in analysis.cells
        for result in one.arms.values()
        if (found := result.estimate) and found.low and found.high and not result.invalid
    ]
    if fewest < FEWEST:
        yield f"With fewer than {FEWEST} blocks there are values but no intervals."
    if not widths:
        return
    width = 100 * statistics.median(widths)
    times = show_things(len(widths), "measured time")
    yield f"Median uncertainty of the {times}: ±{width:.2g} % (95 % CI)."
    # What makes a twin fail is no noise; the opening says what not to rely on then.
    failed = any(one.flagged for one in analysis.controls.twins)
    if analysis.others and analysis.noise_floor is not None and not failed:
        yield (
            f"Repeats of a cell differ by under {show_share(analysis.noise_floor)} in 19 of 20 cases (the "
            "noise floor); only significant differences that exceed "
            f"{show_share(analysis.margin)} count."
        )
    if analysis.campaign.profile not in WITH_VERDICTS:
        yield f"The intervals of the profile {analysis.campaign.profile} are provisional."


def _count_hints(analysis: Analysis, other: str) -> str:
    """What ratios alone suggest, where nothing is judged."""
    ratios: Sequence[Ratio] = [
        found for one in analysis.work if isinstance(found := one.ratios[other], Ratio)
    ]
    if not any(one.low is not None for one in ratios):
        return "a ratio without an interval is not even a hint"
    faster = sum(one.high is not None and one.high < 1 for one in ratios)
    slower = sum(one.low is not None and one.low > 1 for one in ratios)
    return (
        f"intervals that exclude 1 are hints, not findings: of {show_things(len(ratios), 'cell')} "
        f"faster in {faster}, slower in {slower}"
    )
