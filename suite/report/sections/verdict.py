"""The decision in a sentence: from which size on to use which arm, by verdicts alone, and by how much.

Names what is undecided as plainly as what is decided, and what would decide it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from suite.analysis.result.campaign import Analysis, SweepAnalysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import FEWEST, Ratio, Verdict, VerdictName
from suite.cells.traits import WITH_VERDICTS
from suite.input_limits import RANGES
from suite.report.text.crossovers import (
    describe_crossover,
    describe_fixed,
    describe_work,
    name_axis,
    name_size,
    read_size,
    show_runs,
    word_best,
)
from suite.report.text.names import list_values
from suite.report.text.page import Page
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    join_words,
    show_as_fast,
    show_duration,
    show_size,
    show_things,
    show_times,
)

_EACH = "\0"
"""Stands for the arms of a sentence until it is known which have the same one; no name holds it."""


def decide(analysis: Analysis, *, settling: bool) -> list[str]:
    """The decision between rivals: training first, then products, a sentence for each and for each group of
    arms that differ; or what is undecided and what would decide it; or, of one arm, how far it comes.

    ``settling``: with what would decide more of the cells.
    """
    if not analysis.others:
        return _tell_alone(analysis)
    sweeps: dict[str, list[SweepAnalysis]] = {}
    # Rates first: training is what people come for.
    for sweep in sorted(analysis.main_sweeps, key=lambda sweep: sweep.headline == "time"):
        if any(analysis.compares(sweep, other) for other in analysis.rivals):
            sweeps.setdefault(describe_work(sweep), []).append(sweep)
    decided = {work: _decide_work(analysis, alike) for work, alike in sweeps.items()}
    if not any(decided.values()):
        return _tell_undecided(analysis, list(sweeps), settling=settling)
    sentences = [sentence for found in decided.values() for sentence in found]
    if open_ := [work for work, found in decided.items() if not found]:
        sentences.append(f"Nothing is decided for {join_words(open_)}.")
    return sentences


def _decide_work(analysis: Analysis, sweeps: Sequence[SweepAnalysis]) -> list[str]:
    """A sentence for each group of arms of which the verdicts say the same along these sweeps of one kind
    of work; none where they say nothing."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for other in analysis.rivals:
        clauses = tuple(_choose(analysis, sweep, other) for sweep in sweeps)
        if any(clauses):
            alike.setdefault(clauses, []).append(other)
    sentences = [
        _write_sentence(analysis, sweeps, clauses, others) for clauses, others in alike.items()
    ]
    if len(sentences) < 2:
        return sentences
    # Each is about its arms and the first alone, and chooses between no others.
    return [
        f"{_name_all(analysis, others)} against {analysis.base}: {sentence[0].lower()}{sentence[1:]}"
        for sentence, others in zip(sentences, alike.values(), strict=True)
    ]


def _write_sentence(
    analysis: Analysis,
    sweeps: Sequence[SweepAnalysis],
    clauses: Sequence[str],
    others: Sequence[str],
) -> str:
    first = sweeps[0]
    do = TEXTS["decide"].get(f"{first.scenario}.{first.case}", f"Run {describe_work(first)}")
    # What decides where data that come from the host would take longer.
    at_hand = all(sweep.fixed.get("data") == "device" for sweep in sweeps)
    given = TEXTS["work"]["at-hand"] if at_hand else ""
    by_clause: dict[str, list[SweepAnalysis]] = {}
    for sweep, clause in zip(sweeps, clauses, strict=True):
        by_clause.setdefault(clause, []).append(sweep)
    if len(by_clause) == 1:
        (clause,) = by_clause
        every = "networks" if "net" in first.fixed else "sweeps"
        of = f"{len(sweeps)} of {len(sweeps)} {every}" if len(sweeps) > 1 else ""
        inside = ", ".join(filter(None, [of, given]))
        words = f"{do} {clause}" + (f" ({inside})" if inside else "")
    else:
        parts = [
            f"{join_words([describe_fixed(sweep, sweeps) for sweep in alike])} "
            + (clause or "undecided")
            for clause, alike in by_clause.items()
        ]
        words = f"{do}{f' ({given})' if given else ''}: {'; '.join(parts)}"
    named = _name_size(analysis, sweeps, others[0])
    return "; ".join(filter(None, [words.replace(_EACH, _name_any(analysis, others)), named])) + "."


def _name_all(analysis: Analysis, arms: Sequence[str]) -> str:
    """Arms of which the same is said: many neighbours by their ends."""
    if len(arms) > FEWEST and _are_neighbours(analysis, arms):
        return f"each of {arms[0]} to {arms[-1]}"
    return join_words(arms)


def _are_neighbours(analysis: Analysis, arms: Sequence[str]) -> bool:
    first = analysis.rivals.index(arms[0])
    return list(arms) == analysis.rivals[first : first + len(arms)]


def _name_any(analysis: Analysis, arms: Sequence[str]) -> str:
    """Arms of which each was measured alone, to choose one of."""
    *rest, last = arms
    if len(arms) > FEWEST and _are_neighbours(analysis, arms):
        return f"any one of {arms[0]} to {last}"
    return f"{', '.join(rest)} or {last}" if rest else last


def _choose(analysis: Analysis, sweep: SweepAnalysis, other: str) -> str:
    """Where to use which arm along a sweep: ``on cuda from batch 512 on, on cpu up to 128``; empty: no
    verdict says so."""
    crossover, axis, base = sweep.crossovers[other], sweep.axis, analysis.base
    wins, loses = crossover.wins, crossover.loses
    equal, undecided = crossover.equal, crossover.undecided
    if crossover.answer in {"always", "never"}:
        return f"on {_EACH if wins else base} at every {axis} measured"
    if crossover.answer == "equal":
        return f"on {_EACH} or {base}, equivalent at every {axis} measured"
    if not (wins or loses or equal):
        return ""
    every = sorted([*wins, *loses, *equal, *undecided])
    where = f"at {name_axis(axis)}"
    if crossover.answer == "crosses":
        below, above = (base, _EACH) if crossover.rising else (_EACH, base)
        low, high = crossover.low or 0.0, crossover.high or 0.0
        smaller = [size for size in every if size <= low]
        larger = [size for size in every if size >= high]
        upper, lower = (wins, loses) if crossover.rising else (loses, wins)
        # What a verdict does not carry is not said of a whole range.
        above_at = f"{where} {show_runs(upper, every)}"
        if set(larger) <= set(upper):
            above_at = f"from {name_size(axis, high)} on"
        below_at = f"{where} {show_runs(lower, every)}"
        if set(smaller) <= set(lower):
            whole = len(smaller) + len(larger) == len(every)
            below_at = f"at every smaller {axis} measured" if whole else f"up to {show_size(low)}"
        parts = [f"on {above} {above_at}, on {below} {below_at}"]
    else:
        parts = [
            f"on {arm} {where} {show_runs(sizes, every)}"
            for arm, sizes in ((_EACH, wins), (base, loses))
            if sizes
        ]
    if not (wins or loses):
        parts = [f"on {_EACH} or {base}"]
    open_, silent = _split_undecided(analysis, sweep, other)
    parts += [
        f"{what} at {show_runs(sizes, every)}"
        for what, sizes in (("equivalent", equal), ("undecided", open_), ("no verdict", silent))
        if sizes
    ]
    return ", ".join(parts)


def _split_undecided(
    analysis: Analysis, sweep: SweepAnalysis, other: str
) -> tuple[list[float], list[float]]:
    """The sizes at which a verdict leaves it open who wins, and those without one, as where a cell failed."""
    undecided, silent = list[float](), list[float]()
    for cell in analysis.cells:
        size, verdict = read_size(sweep, cell), cell.verdicts[other]
        if size is not None and size in sweep.crossovers[other].undecided:
            judged = isinstance(verdict, Verdict) and verdict.name != "INVALID"
            (undecided if judged else silent).append(size)
    return undecided, silent


def _name_size(analysis: Analysis, sweeps: Sequence[SweepAnalysis], other: str) -> str:
    """By how much at one size, and what that costs: the largest at which every network was measured and a
    verdict names the arm the winner, or else one names the first arm."""
    called: dict[str, dict[float, list[tuple[str, CellAnalysis]]]] = {"FASTER": {}, "SLOWER": {}}
    for sweep in sweeps:
        for cell in analysis.cells:
            size, verdict = read_size(sweep, cell), cell.verdicts[other]
            if size is not None and isinstance(verdict, Verdict) and verdict.name in called:
                name = describe_fixed(sweep, sweeps)
                called[verdict.name].setdefault(size, []).append((name, cell))
    for way, sizes in called.items():
        if sizes:
            most = max(map(len, sizes.values()))
            largest = max(size for size, cells in sizes.items() if len(cells) == most)
            cells = sorted(sizes[largest], key=lambda named: _take_ratio(named[1], other).value)
            return _tell_size(analysis, sweeps[0].axis, largest, cells, other, won=way == "FASTER")
    return ""


def _take_ratio(cell: CellAnalysis, other: str) -> Ratio:
    ratio = cell.ratios[other]
    assert isinstance(ratio, Ratio)  # noqa: S101  a verdict that names a winner has one
    return ratio


def _tell_size(
    analysis: Analysis,
    axis: str,
    size: float,
    cells: Sequence[tuple[str, CellAnalysis]],
    other: str,
    *,
    won: bool,
) -> str:
    """``at batch 512 cuda is 7.9× as fast (7.1–8.8), at 0.13 of cpu's cost per million examples``; of
    several networks the one with the least and the one with the most."""
    winner, loser = (other, analysis.base) if won else (analysis.base, other)
    ends = [cells[0], cells[-1]] if len(cells) > 1 else cells
    # Smallest first, whoever wins.
    ends = ends[::-1] if won else ends
    extremes = (" (the least)", " (the most)") if len(cells) > len(ends) else ("", "")
    times = " and ".join(
        show_as_fast(_take_ratio(cell, other)) + (f" for {name}{extreme}" if name else "")
        for (name, cell), extreme in zip(ends, extremes, strict=False)
    )
    text = f"at {name_size(axis, size)} {winner} is {times}"
    costs = [
        analysis.find("cost", of="examples", cell=cell.id, arm=arm)
        for _, cell in ends
        for arm in (winner, loser)
    ]
    if not all(costs):
        return text
    shares = [
        show_times(own[0].number.value / others[0].number.value)
        for own, others in zip(costs[::2], costs[1::2], strict=True)
    ]
    cost = f"at {' and '.join(shares)} of {loser}'s cost per million examples"
    return f"{text}, {cost} if an hour costs the same"


def tell_early(analysis: Analysis) -> list[str]:
    """Why nothing of the campaign can be decided; nothing: it can."""
    profile, done = analysis.campaign.profile, analysis.blocks_done
    if analysis.invalid:
        return ["Nothing is decided: the campaign is INVALID."]
    if profile not in WITH_VERDICTS:
        return [
            f"Nothing is decided: the profile {profile} gives no verdicts; PROFILE=standard does."
        ]
    if done < FEWEST:
        blocks = show_things(done, "block")
        took = show_duration((FEWEST - done) * analysis.block_s)
        fewer = f" BLOCKS={FEWEST}" if analysis.campaign.blocks < FEWEST else ""
        more = f"RESUME=results/{analysis.campaign.folder}{fewer} goes on, and takes about {took} for these"
        return [
            f"Nothing is decided: {blocks} done, and verdicts take {FEWEST}; {more}.",
            "Until then the ratios are no findings.",
        ]
    return []


def _tell_undecided(analysis: Analysis, works: Sequence[str], *, settling: bool) -> list[str]:
    """What is undecided, why, and what would decide it."""
    if early := tell_early(analysis):
        return early
    where = f" of {join_words(works)}" if works else ""
    counts = [_count(analysis.work, other) for other in analysis.leading]
    if not any(counts):
        return ["Nothing is decided: no cell of work has a verdict."]
    if not works or any(count["FASTER"] + count["SLOWER"] for count in counts):
        lead = [f"Nothing is decided at any size{where}."] if works else []
        return lead + [tell_comparison(analysis, other) for other in analysis.leading]
    what = f"Nothing is decided: no verdict names a winner at any size{where}."
    if all(count.total() == count["INVALID"] > 0 for count in counts):
        what = "Nothing is decided: every comparison is INVALID."
    settled = (
        text for other in analysis.leading for text in tell_settling(analysis, other) if settling
    )
    return [what, *settled]


def _count(cells: Sequence[CellAnalysis], other: str) -> Counter[VerdictName]:
    """How many cells have which verdict on an arm."""
    verdicts = (cell.verdicts[other] for cell in cells)
    return Counter(verdict.name for verdict in verdicts if isinstance(verdict, Verdict))


def tell_comparison(analysis: Analysis, other: str) -> str:
    """One comparison in one sentence: ``Of 60 cells cuda is faster than cpu in 31 and slower in …``."""
    base, work = analysis.base, analysis.work
    counts = _count(work, other)
    if not work:
        return f"{other} against {base}: no cell of work was chosen, so there is no winner."
    silent = len(work) - counts.total()
    parts = [
        *(f"{n.lower()} in {counts[n]}" for n in ("EQUIVALENT", "INCONCLUSIVE") if counts[n]),
        *([f"INVALID in {counts['INVALID']}"] if counts["INVALID"] else []),
        *([f"without a verdict in {silent}"] if silent else []),
    ]
    cells = f"Of {show_things(len(work), 'cell')} of work {other}"
    if not counts["FASTER"] + counts["SLOWER"]:
        return f"{cells} is shown to differ from {base} in none: {', '.join(parts)}."
    won = f"is faster than {base} in {counts['FASTER']} and slower in {counts['SLOWER']}"
    return f"{cells} {', '.join([won, *parts])}."


def tell_settling(analysis: Analysis, other: str) -> Iterable[str]:
    """What would decide half of the cells that nothing is known of: blocks, and their time."""
    if analysis.share is not None:  # what a later look may spend is not what this one could
        return
    done, rested = analysis.blocks_done, analysis.campaign.rested
    verdicts = ((cell.verdicts[other], cell.comparisons[other].ratio) for cell in analysis.work)
    each = sorted(
        math.inf if verdict.blocks is None else verdict.blocks + (done - ratio.n if rested else 0)
        for verdict, ratio in verdicts
        if isinstance(verdict, Verdict) and verdict.name == "INCONCLUSIVE" and ratio
    )
    if not each:
        return
    wanted = each[(len(each) - 1) // 2]
    of = f" of {other}" if len(analysis.leading or analysis.others) > 1 else ""
    if wanted > RANGES["blocks"].most:
        yield f"More blocks would not settle most of the inconclusive cells{of}: the noise is too large."
        return
    settled = sum(blocks <= wanted for blocks in each)
    half = f"Of the {len(each)} inconclusive cells{of} {settled}"
    if settled == len(each):
        half = (
            f"All {settled} inconclusive cells{of}" if settled > 1 else f"The inconclusive cell{of}"
        )
    yield (
        f"{half} should be settled by BLOCKS={wanted} instead of {done}, in about "
        f"{show_duration((wanted - done) * analysis.block_s)} more."
    )


def _tell_alone(analysis: Analysis) -> list[str]:
    """Why there is no winner, and how far the one arm comes."""
    # Without what was looked at, which stands further below.
    whys = {arm: why.partition(": ")[0] for arm, why in analysis.campaign.not_run.items()}
    because = f" ({'; '.join(f'{arm}: {why}' for arm, why in whys.items())})" if whys else ""
    base = analysis.base
    reached = [
        f"{word_best(sweep.reaches[base])} in {describe_work(sweep)}"
        + (f" of {fixed}" if (fixed := describe_fixed(sweep, analysis.main_sweeps)) else "")
        for sweep in analysis.main_sweeps
        if base in sweep.reaches
    ]
    return [
        f"Only {base} was measured{because}, so nothing is compared.",
        *([f"It reaches {'; '.join(reached)}."] if reached else []),
    ]


def write_crossovers(page: Page, analysis: Analysis) -> None:
    """A row a sweep and comparison, of those that the brief does not have; nothing where there is neither."""
    rows = [
        {
            "sweep": f"{sweep.scenario}.{sweep.case}",
            "fixed axes": list_values(sweep.fixed),
            "comparison": f"{other} against {analysis.base}",
            "answer": describe_crossover(sweep, other, analysis.base),
        }
        for other in analysis.rivals
        for sweep in analysis.sweeps
        if not sweep.main and analysis.compares(sweep, other)
    ]
    if not rows:
        return
    page.heading("Other crossovers", level=3)
    page.table(TEXTS["captions"]["crossovers"], rows)


def list_crossovers(analysis: Analysis) -> Iterator[dict[str, str]]:
    """The rows of the small table: a main sweep each in plain words, and at which sizes who wins; arms of
    which the verdicts say the same share a row."""
    for sweep in analysis.main_sweeps:
        alike: dict[tuple[str, ...], list[str]] = {}
        for other in analysis.rivals:
            if analysis.compares(sweep, other):
                alike.setdefault(_list_answers(analysis, sweep, other), []).append(other)
        fixed = describe_fixed(sweep, analysis.main_sweeps)
        name = ", ".join(filter(None, [describe_work(sweep), fixed, f"by {sweep.axis}"]))
        for (loses, wins, rest), others in alike.items():
            several = len(analysis.rivals) > 1
            yield {
                "sweep": name + (f": {_name_all(analysis, others)}" if several else ""),
                f"{analysis.base} wins at": loses,
                f"{'the other arm' if several else analysis.rivals[0]} wins at": wins,
                "equal or undecided at": rest,
            }


def _list_answers(analysis: Analysis, sweep: SweepAnalysis, other: str) -> tuple[str, str, str]:
    crossover = sweep.crossovers[other]
    wins, loses = crossover.wins, crossover.loses
    equal, undecided = crossover.equal, crossover.undecided
    every = sorted([*wins, *loses, *equal, *undecided])
    open_, silent = _split_undecided(analysis, sweep, other)
    rest = [
        f"{show_runs(sizes, every)} ({what})"
        for what, sizes in (("equal", equal), ("undecided", open_), ("no verdict", silent))
        if sizes
    ]
    return (
        show_runs(loses, every) or "none",
        show_runs(wins, every) or "none",
        "; ".join(rest) or "none",
    )
