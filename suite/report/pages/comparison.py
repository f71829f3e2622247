"""The report over several campaigns: what differs first, then the tables; and the same for programs.

No clock, no network, no facts of this machine: the same campaigns give the same bytes.
"""

from __future__ import annotations

import shlex
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis, Comparison, tell_ratio
from suite.analysis.result.numbers import FEWEST, LEVEL, OTHER_LEVEL, WORK_LEVEL, Verdict
from suite.analysis.result.several import Column, Pair, Tally, Versus
from suite.cells.traits import PROFILES
from suite.report.pages import page_parts
from suite.report.sections.environment import SOMEWHERE, compare_facts, show_facts, write_facts
from suite.report.sections.opening import name_machine
from suite.report.sections.tables.cells import show_comparison, show_time, show_verdict
from suite.report.sections.tables.families import Columns, write_family_tables
from suite.report.text.page import NO_NUMBER, Cell, Page, Runs, Strong, say_none
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    end_sentence,
    join_first,
    show_p,
    show_relative,
    show_share,
    show_things,
)
from suite.report.text.wording import (
    NO_VERDICTS,
    count_verdicts,
    name_banners,
    tell,
    word,
    word_invalid,
)

_INSTANCES = (
    "This compares the machines as they were when they were measured. A statement about types "
    f"of machines needs at least {FEWEST} instances of each: ROWS=type."
)

_CELLS_SHOWN = 5
"""So many missing cells are named in the first lines; the tables have the rest."""

_SEED_SHOWN = 12
"""So many characters of a hash tell it from any other."""


def compose_versus(versus: Versus, analyses: Sequence[Analysis]) -> Page:
    """The report over several campaigns, in no format yet."""
    again = versus.seed is not None
    flags = [flag for analysis in analyses for flag in analysis.flags]
    if again:
        drawn = show_things(len(versus.pairs[0].cells), "cell")
        title = f"{drawn} of {versus.campaigns[0].id} measured again"
        said = [describe_again(versus), *_explain_again(versus, analyses)]
    else:
        title = f"{len(analyses)} campaigns side by side"
        said = []
    page = page_parts.begin_page(title, versus, flags, said)
    if versus.bound is not None:
        _write_bound(page, versus, analyses)
    if not again:
        page.bullets(_describe_pair(pair, pair.work) for pair in versus.pairs if pair.work)
        page.paragraph(" ".join([*_explain_means(versus.pairs), _INSTANCES]))
    columns = [
        Column(run=run, arm=arm)
        for run, analysis in enumerate(analyses, start=1)
        for arm in analysis.arms
    ]
    _write_campaigns(page, analyses)
    _write_differences(page, {c.name: show_facts(analyses[c.run - 1].arms[c.arm]) for c in columns})
    page.heading("Tables")
    page.paragraph(
        "A column is an arm of a campaign, by its number in the table above. "
        "A time is the geometric mean over invocations of the mean time per call, ± half of its 95 % "
        "confidence interval (CI). Ratios between campaigns are Welch's, on logarithms."
    )
    for pair in () if again else versus.pairs:
        page.paragraph(_explain(pair))
    cells = {cell.id: cell for analysis in analyses for cell in analysis.cells}
    shown = [cell for name, cell in cells.items() if name in versus.pairs[0].cells]
    write_family_tables(
        page,
        shown,
        shown,
        caption="Table: {}. Time per call and its 95 % CI.".format,
        columns=partial(_list_columns, versus, analyses, columns),
    )
    folders = " ".join(f"{SOMEWHERE}/{analysis.campaign.folder}" for analysis in analyses)
    pairs = " ".join(f"{pair.other.name}/{pair.base.name}" for pair in versus.pairs)
    slower = "" if versus.bound is None else f" SLOWER={100 * versus.bound:g}"
    command = f'make compare RUN="{folders}" PAIRS="{pairs}"{slower}'
    what = "From the campaigns' documents alone, byte for byte, by:"
    if again:
        what = "Both campaigns in full, side by side:"
        command = f'make compare RUN="{folders}" ROWS=cell'
    page_parts.end_page(page, {what: command})
    return page


def describe_again(versus: Versus) -> str:
    """Whether the cells that were measured again reproduce, in a sentence."""
    drawn = versus.pairs[0].cells
    failed = list(dict.fromkeys(cell for pair in versus.pairs for cell in pair.differing))
    of = f"{len(drawn) - len(failed)} of {show_things(len(drawn), 'cell')}"
    doubts = [
        *(["a control failed"] if versus.failed else []),
        *(["values are copied"] if versus.copied else []),
    ]
    if not failed and doubts:
        return f"Undecided, because {' and '.join(doubts)}: {of} agree within what noise explains."
    if not failed:
        return f"Reproduced: {of} within what noise explains."
    return f"NOT REPRODUCED: {of} within what noise explains, and not {', '.join(failed)}."


def _explain_again(versus: Versus, analyses: Sequence[Analysis]) -> list[str]:
    unknown = " (not every campaign knows its own)" if None in versus.noise_floors else ""
    ratios = [row.ratio for pair in versus.pairs for row in pair.cells.values() if row.ratio]
    widths = [ratio.high / ratio.value - 1 for ratio in ratios if ratio.high is not None]
    margin = versus.pairs[0].margin
    reach = f"{100 * max(margin, statistics.median(widths)):.0f} %" if widths else "any size"
    few = any(len(arm.blocks) < FEWEST for analysis in analyses for arm in analysis.arms.values())
    seed = (versus.seed or "")[:_SEED_SHOWN]
    rule = "A cell differs where Welch's t test, adjusted by Holm for all cells and arms, gives"
    beyond = f"{show_share(margin)}, the larger of 2 % and the campaigns' noise floors{unknown}"
    return [
        f"A hash over all samples of the campaign ({seed}) drew the cells, so that nobody chose them.",
        f"{rule} p under {LEVEL} and the times differ by over {beyond}.",
        *(["A campaign has under three invocations, so both are taken to have one spread."] * few),
        f"In the median cell, a difference under {reach} would not have been seen.",
        *map(end_sentence, tell(versus.pairs[0].flags)),
    ]


def _write_bound(page: Page, versus: Versus, analyses: Sequence[Analysis]) -> None:
    """Whether cells are slower than they may be: what is missing first, then the counts and the cells."""
    bound = f"{100 * (versus.bound or 0.0):g} %"
    slower, passed, undecided = map(versus.pick, ("slower", "passed", "undecided"))
    every = [*slower, *passed, *undecided]
    if (versus.failed or versus.copied) and not slower:
        page.paragraph("Because of this, the comparison does not pass.")
    _write_missing(page, versus)
    verdict = f"{show_things(len(slower), 'slowdown')}." if slower else "No slowdown shown."
    if not every:
        verdict = "No cell of work could be judged."
    counted = (
        f" Of {show_things(len(every), 'comparison')} of cells of work: {len(slower)} shown to be "
        f"slower by over {bound}, {len(passed)} shown not to be, {len(undecided)} undecided."
    )
    within = {pair.interleaved for pair in versus.pairs}
    tests = {False: "Welch's one-sided t test", True: "a one-sided paired t test"}
    test = " (between campaigns) or ".join(tests[kind] for kind in sorted(within))
    rule = (
        f" Shown to be slower: p under {LEVEL} by {test}, adjusted by Holm for all of "
        f"them, on all arms. Shown not to be: the 90 % interval ends under {bound}."
    )
    drift = (
        " The campaigns were not interleaved: the intervals do not cover drift between them."
        if False in within
        else ""
    )
    page.paragraph(Strong(verdict), counted, rule, drift)
    page.bullets(
        f"{pair.name}: not every campaign knows its noise floor, so that what "
        "noise makes may be more than the bound."
        for pair in versus.pairs
        if not pair.floor_known and not pair.interleaved
    )
    page.bullets(
        f"{pair.name}: the campaigns' noise is larger than the bound; only "
        f"what is slower by over {show_share(limit)} is shown to be."
        for pair in versus.pairs
        for limit in {row.bound.limit for row in pair.cells.values() if row.bound}
        if limit > (versus.bound or 0.0)
    )
    _write_bounded(page, f"slower by over {bound}", slower)
    _write_bounded(page, "undecided", undecided)
    work = {cell.id for analysis in analyses for cell in analysis.work}
    missing = Counter(
        word(why)
        for pair in versus.pairs
        for cell, row in pair.cells.items()
        if cell in work and not row.bound
        if (why := row.no_verdict or next(iter(row.invalid), None) or row.no_ratio)
    )
    page.bullets(
        [
            *(
                f"{show_things(number, 'comparison')} of cells of work not judged ({why})."
                for why, number in missing.items()
            ),
        ]
    )
    _write_settling(page, undecided, analyses)


def _write_missing(page: Page, versus: Versus) -> None:
    """The arms and cells of the base that the others do not have: nothing passes without them."""
    if versus.lacking:
        page.paragraph(
            Strong(f"Missing: {', '.join(versus.lacking)}."),
            " The first campaign has the arm, so that the comparison does not pass without it; "
            "PAIRS names others.",
        )
    for pair in versus.pairs:
        if pair.lost:
            cells = join_first(_CELLS_SHOWN, pair.lost)
            page.paragraph(
                Strong(
                    f"Missing: {show_things(len(pair.lost), 'cell')} of work of {pair.other.name}."
                ),
                f" {pair.base.name} has numbers, and it has none, or too few, for the same work: {cells}. "
                "The comparison does not pass without them.",
            )


def _write_settling(
    page: Page,
    undecided: Sequence[tuple[Pair, str, Comparison]],
    analyses: Sequence[Analysis],
) -> None:
    """What would settle the undecided ones."""
    rows = [(pair, cell, row.bound.blocks) for pair, cell, row in undecided if row.bound]
    open_ = [(pair, cell, blocks) for pair, cell, blocks in rows if blocks]
    if open_:
        blocks = max(blocks for *_, blocks in open_)
        once = all(pair.interleaved for pair, *_ in open_)
        page.paragraph(
            f"To settle {len(open_)} of the undecided, measure these cells again, {blocks} blocks each, once"
            f"{'' if once else ' for each side'}; the command says beforehand how long it takes:"
        )
        only = dict.fromkeys(cell for _, cell, _ in open_)
        columns = [column for pair, *_ in open_ for column in (pair.base, pair.other)]
        arms = {column.arm: analyses[column.run - 1].arms[column.arm] for column in columns}
        # As ARMS takes them: an arm against itself is named twice, one on several GPUs once.
        spread = dict.fromkeys(arm.plain for arm in arms.values() if arm.device)
        kinds = [*(arm.plain for arm in arms.values() if not arm.device), *spread]
        profiles = {analyses[column.run - 1].campaign.profile for column in columns}
        # One that is read in earlier campaigns alone is none to measure by.
        profile = max(profiles & {*PROFILES}, key=PROFILES.index, default="standard")
        page.code(
            f"make bench PROFILE={profile} BLOCKS={blocks} ARMS={shlex.quote(' '.join(kinds))} "
            f"{'GPU=all ' if spread else ''}ONLY={shlex.quote(' '.join(only))}"
        )
    if hopeless := len(undecided) - len(open_):
        page.paragraph(
            end_sentence(f"no reasonable number of blocks would settle {hopeless} of the undecided")
        )


def _write_bounded(page: Page, what: str, cells: Sequence[tuple[Pair, str, Comparison]]) -> None:
    can_settle = any(cell.bound and cell.bound.blocks for *_, cell in cells)
    rows = [
        {
            "cell": cell,
            "arm": pair.other.name,
            "against": pair.base.name,
            "is": show_relative(row.ratio),
            "adjusted p": show_p(row.bound.p),
        }
        | ({"blocks to settle": str(row.bound.blocks or "")} if can_settle else {})
        for pair, cell, row in cells
        if row.ratio and row.bound
    ]
    page.table(f"Table: {what}.", rows)


def _describe_pair(pair: Pair, tally: Tally) -> Runs:
    """One comparison: its wins and losses, their mean and the largest of them, and how far all cells are
    off."""
    sentences = [_count_work(pair, tally)]
    for cells, what in ((tally.faster, "win"), (tally.slower, "loss")):
        if cells:
            ratio = show_relative(pair.sound[cells[0]])
            sentences.append(f"Largest {what}: {cells[0]}, {ratio}.")
    if tally.mean:
        mean, number = show_relative(tally.mean), len(tally.averaged)
        sentences.append(f"Geometric mean of the ratios of {number} cells of work: {mean}.")
    if pair.distance_median is not None and pair.distance_p95 is not None:
        sentences.append(
            f"Over {show_things(len(pair.sound), 'cell')} of any kind |ratio − 1| is "
            f"{show_share(pair.distance_median)} in the median and "
            f"{show_share(pair.distance_p95)} at the 95th percentile."
        )
    return Strong(pair.name), f": {' '.join([*sentences, *map(end_sentence, tell(pair.flags))])}"


def _count_work(pair: Pair, tally: Tally) -> str:
    """How many cells of work have which verdict; of a plan without work, how many cells."""
    cells, what = (
        (tally.cells, " of work") if tally.cells else (tuple(pair.cells), ", none of work")
    )
    counted, number = count_verdicts(pair.verdicts[cell] for cell in cells)
    if not number:
        return f"{NO_VERDICTS}."
    silent = len(cells) - number
    rest = f"; {show_things(silent, 'more cell')} without a verdict" if silent else ""
    return f"{counted} of {show_things(number, 'cell')}{what}{rest}."


def _explain_means(pairs: Iterable[Pair]) -> list[str]:
    """What a geometric mean is of, and what its interval, where there are any."""
    means = [pair.work.mean for pair in pairs if pair.work and pair.work.mean]
    there = {"mean": bool(means), "interval": any(mean.low is not None for mean in means)}
    return [TEXTS["wins"][name] for name, is_there in there.items() if is_there]


def _explain(pair: Pair) -> str:
    """What the verdicts of one comparison rest on."""
    if absence := page_parts.explain_absence(pair.verdicts.values(), f" of {pair.name}"):
        return absence
    test = "paired t test" if pair.interleaved else "Welch's t test"
    floor = (
        ""
        if pair.floor_known
        else f" Not every campaign knows its noise floor, so the margin may be too small at "
        f"{show_share(pair.margin)}."
    )
    way = "".join(f" {end_sentence(text)}" for text in tell(pair.flags))
    width = (
        "what the campaign's twins show beyond their own intervals"
        if pair.interleaved
        else "the campaigns' noise floors"
    )
    return (
        f"Verdicts of {pair.name}: faster or slower where {test}, adjusted by Holm for "
        f"cells of work and for all others apart, gives p under {WORK_LEVEL} or {OTHER_LEVEL} "
        f"and the estimate lies beyond {show_share(pair.margin)}, the larger of 2 % and {width}.{floor}{way}"
    )


def _write_campaigns(page: Page, analyses: Sequence[Analysis]) -> None:
    """The table of the campaigns, and why one of them is INVALID."""
    floors = [
        "unknown" if (floor := analysis.noise_floor) is None else f"{100 * floor:.1f} %"
        for analysis in analyses
    ]
    rows = [
        {
            "number": str(number),
            "campaign": " — ".join(
                filter(None, [analysis.campaign.id, " · ".join(name_banners(analysis.flags))])
            ),
            "machine": name_machine(analysis.machine),
            "profile": analysis.campaign.profile,
            "blocks": ", ".join(f"{n}: {len(arm.blocks)}" for n, arm in analysis.arms.items()),
            "begun": analysis.campaign.created.isoformat(),
            "noise floor": floors[number - 1],
        }
        for number, analysis in enumerate(analyses, start=1)
    ]
    page.table("Table: the campaigns.", rows)
    for number, analysis in enumerate(analyses, start=1):
        if analysis.invalid:
            why = word_invalid(analysis.invalid)
            page.paragraph(Strong(f"Campaign {number} is INVALID"), f": {why}.")


def _write_differences(page: Page, facts: Mapping[str, Mapping[str, str]]) -> None:
    """The facts that are not the same in all columns: whatever differs may be the cause."""
    page.heading("What differs")
    same, differing = compare_facts(facts)
    if not differing:
        page.paragraph("No recorded fact.")
        return
    caption = f"Table: facts that differ; {len(same)} others are the same in all."
    write_facts(page, caption, differing, facts)


def _list_columns(
    versus: Versus,
    analyses: Sequence[Analysis],
    columns: Sequence[Column],
    cells: Sequence[CellAnalysis],
) -> Columns:
    unplanned = say_none("the cell is not in the plan of this campaign")
    for column in columns:
        results = analyses[column.run - 1].results(column.arm)
        times = [results.get(cell.id) for cell in cells]
        yield f"{column.name}, time per call", [show_time(t) if t else unplanned for t in times]
    for pair in versus.pairs:
        name, verdicts = pair.other.name, pair.verdicts
        yield pair.name, [_show_pair(pair, cell.id) for cell in cells]
        if versus.seed is not None:
            answers = ["NO" if cell.id in pair.differing else "yes" for cell in cells]
            yield f"{name} reproduces", list(map(Cell, answers))
        elif any(isinstance(verdict, Verdict) for verdict in verdicts.values()):
            yield f"{name} is", [show_verdict(verdicts[cell.id]) for cell in cells]


def _show_pair(pair: Pair, identity: str) -> Cell:
    row, other, base = pair.cells[identity], pair.other.name, pair.base.name
    cell = show_comparison(tell_ratio(row), other=other, base=base, invalid=[row.invalid])
    beside = tell(row.beside) if cell.text != NO_NUMBER else ()
    return replace(cell, notes=(*cell.notes, *beside))
