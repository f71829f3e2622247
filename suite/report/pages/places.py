"""The report of a survey: how far the GPUs differ, what being busy together costs, and by which cell.

No clock, no network, no facts of this machine: the same campaigns give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from suite.analysis.numbers.verdict import LEVEL, Verdict
from suite.analysis.several.places import ARM, Contrast, Surveyed, middle
from suite.cells.cell import Cell
from suite.flags import Flag
from suite.report.sections.environment import SOMEWHERE
from suite.report.sections.family_tables import Columns, write_family_tables
from suite.report.sections.machine import name_machine
from suite.report.sections.tables import (
    Entry,
    show_comparison,
    show_time,
    show_verdict,
    write_marks,
)
from suite.report.text.markup import escape
from suite.report.text.page import NO_NUMBER, Page
from suite.report.text.units import show_times
from suite.report.text.wording import (
    NO_VERDICTS,
    count_verdicts,
    name_banners,
    tell,
    word,
    word_invalid,
    word_verdict,
)

_NOT_PLANNED = "the cell is not in the plan of this campaign"
_ALONE, _AT_ONCE = "alone", "with all others at work"


def compose_survey(found: Surveyed) -> Page:
    """The report of a survey, in no format yet."""
    survey = found.survey
    page = Page(name_banners(found.flags))
    page.title(f"Crossover: the {len(survey.gpus)} GPUs of one machine")
    page.paragraph(" ".join([*_tell_apart(found), *_tell_crowd(found)]))
    if survey.stopped:
        page.paragraph(f"**Stopped** {escape(survey.stopped)}.")
    if found.lonely:
        rounds = ", ".join(map(str, found.lonely))
        page.paragraph(
            f"The turn at once of round{'s' if len(found.lonely) > 1 else ''} {rounds} does not count: "
            "some GPU did not finish it, so that the others met fewer neighbours."
        )
    _write_campaigns(page, found)
    page.heading("Each GPU alone")
    page.paragraph(
        "A time is the geometric mean over rounds of the median seconds a call, ± half of its 95 % "
        "interval. The spread is the slowest GPU's time over the fastest one's. "
        + _explain_apart(found)
    )
    write_family_tables(
        page,
        found.cells,
        caption="Table: each GPU alone, {}.".format,
        columns=lambda cells: _columns_alone(found, cells),
    )
    page.heading("All at once")
    page.paragraph(_explain_crowd(found))
    write_family_tables(
        page,
        found.cells,
        caption="Table: all GPUs at once, {}.".format,
        columns=lambda cells: _columns_crowd(found, cells),
    )
    page.heading("How to repeat it")
    page.paragraph("The survey, on a machine like this one:")
    page.code(survey.command)
    page.paragraph("This report, from the documents alone and byte for byte:")
    page.code(f"make report RUN={SOMEWHERE}/{survey.id}")
    write_marks(page)
    return page


def render_survey_terminal(found: Surveyed) -> str:
    """A few plain lines for a terminal."""
    title = " — ".join(filter(None, ["Crossover", " · ".join(name_banners(found.flags))]))
    return "\n".join([title, "", *_tell_apart(found), *_tell_crowd(found), ""])


def _tell_apart(found: Surveyed) -> Iterable[str]:
    """How far the GPUs differ, in sentences."""
    if not found.apart:
        yield "Fewer than two GPUs have been measured alone yet: there is nothing to set apart."
        return
    first = next(iter(found.alone))
    yield (
        f"Of the {len(found.cells)} cells, {len(found.on_gpu)} time work on a GPU again and again; "
        "medians and extremes are over these."
    )
    for gpu, one in found.apart.items():
        typical = middle(found.of_gpu(one).values())
        size = "" if typical is None else f", {_off(typical)} in the median cell"
        yield f"GPU {gpu} alone against GPU {first} alone: {_count(one)}{size}."
    worst = max((one for one in _spreads(found) if one[1] in found.on_gpu), default=None)
    if worst is not None:
        factor, name = worst
        yield f"The largest spread between GPUs is {factor:.2f} times, in {escape(name)}."


def _tell_crowd(found: Surveyed) -> Iterable[str]:
    """What being busy together costs, in sentences."""
    sound, number = found.of_gpu(found.pooled), len(found.alone)
    typical = middle(sound.values())
    if typical is None:
        yield "What being busy together costs is not known yet."
        return
    name, worst = max(sound.items(), key=lambda item: item[1].value)
    yield (
        f"With all {number} at work at once a call takes {typical:.2f} times as long as alone in the "
        f"median cell ({_count(found.pooled)}), so that together they do {number / typical:.1f} times "
        f"the work of one."
    )
    yield (
        f"The most is lost in {escape(name)}: {worst.value:.2f} times as long, "
        f"{number / worst.value:.1f} times the work of one."
    )


def _off(ratio: float) -> str:
    """How far a ratio of times is from 1, in words."""
    if abs(ratio - 1) < 0.0005:
        return "as fast"
    return f"{100 * abs(ratio - 1):.1f} % {'more' if ratio > 1 else 'less'} time"


def _count(one: Contrast) -> str:
    counted, number = count_verdicts(one.verdicts.values())
    return f"{counted} of {number} cells" if number else NO_VERDICTS


def _spreads(found: Surveyed) -> Iterable[tuple[float, str]]:
    """The slowest GPU's time over the fastest one's, and the cell, of cells that none has INVALID."""
    for cell in found.cells:
        results = [found.result(one, cell.id) for one in found.alone.values()]
        known = [r.estimate.value for r in results if r and r.estimate and not r.invalid]
        if len(known) == len(results) > 1:
            yield max(known) / min(known), cell.id


def _write_campaigns(page: Page, found: Surveyed) -> None:
    rows = []
    summaries = {one.campaign.id: one for one in found.summaries}
    for member in found.survey.members:
        one = summaries.get(member.campaign)
        how = _AT_ONCE if member.at_once else _ALONE
        cpus = found.survey.cpus.get(member.gpu, "") if member.at_once else "all"
        if one is None:
            rows.append(
                [escape(member.gpu), how, cpus, escape(member.campaign), "not begun", "", ""]
            )
            continue
        floor = one.conclusions.floor
        rows.append(
            [
                escape(member.gpu),
                how,
                escape(cpus),
                escape(member.campaign),
                name_machine(one, escape),
                str(sum(block >= 1 for block in one.counted.get(ARM, {}))),
                "unknown" if floor is None else f"{100 * floor:.1f} %",
            ]
        )
    page.table(
        "Table: the campaigns. Each lies in a folder of that name beside this one, with a report of its own.",
        ["GPU", "measured", "CPUs", "campaign", "machine", "rounds", "noise floor"],
        rows,
    )
    for one in found.summaries:
        if one.invalid:
            why = escape(word_invalid(one.invalid))
            page.paragraph(f"**{escape(one.campaign.id)} is INVALID**: {why}.")


def _explain_apart(found: Surveyed) -> str:
    """What the verdicts on the GPUs alone rest on."""
    if not found.apart:
        return ""
    first = next(iter(found.alone))
    return _explain(
        list(found.apart.values()), f"a GPU is called faster or slower than GPU {first}"
    )


def _explain(contrasts: Sequence[Contrast], what: str) -> str:
    """What the verdicts of some contrasts rest on; ``what`` is what they call faster or slower."""
    verdicts = [v for one in contrasts for v in one.verdicts.values() if isinstance(v, Verdict)]
    if not verdicts:
        missing = [v for one in contrasts for v in one.verdicts.values() if isinstance(v, Flag)]
        every = map(word, missing)
        return f"No verdicts: {'; '.join(map(escape, dict.fromkeys(every))) or 'there is no cell'}."
    margins = sorted({f"{100 * one.margin:.1f} %" for one in contrasts})
    width = margins[0] if len(margins) == 1 else f"{margins[0]} to {margins[-1]}"
    return (
        f"Verdicts: {escape(what)} where a t test paired by round, adjusted by Holm for all cells of "
        f"the comparison, gives p under {LEVEL} and the estimate lies beyond {width}, the largest of "
        "2 % and the noise floors of the campaigns compared."
    )


def _explain_crowd(found: Surveyed) -> str:
    overlap = (
        ""
        if found.overlap is None
        else f" In every round at least {100 * found.overlap:.0f} % of each GPU's measuring had all "
        "others measuring, too."
    )
    cores = (
        ""
        if found.survey.whole_cores
        else " Which CPUs are threads of one core is not known here, so two shares may lie on the same "
        "cores."
    )
    return (
        "Times with all GPUs at work over times of the same GPU alone, each GPU running the same cells "
        "in the same order. Alone a worker may use every CPU; at once each has a share of its own, as "
        "the table above says, so that what is lost can be the processor's as well as the "
        f"machine's memory, links, power or heat.{cores}{overlap} The mean is geometric over the GPUs. "
        + _explain([found.pooled], "the mean over the GPUs is called slower or faster")
    )


def _columns_alone(found: Surveyed, cells: Sequence[Cell]) -> Columns:
    for gpu, summary in found.alone.items():
        times = [
            show_time(one)
            if (one := found.result(summary, cell.id))
            else (NO_NUMBER, (_NOT_PLANNED,))
            for cell in cells
        ]
        yield f"GPU {escape(gpu)}, time a call", times
    if not found.apart:
        return
    spreads = {name: factor for factor, name in _spreads(found)}
    none: Entry = (NO_NUMBER, ("not every GPU has a number",))
    yield (
        "spread",
        [(f"{spreads[c.id]:.3f}", ()) if c.id in spreads else none for c in cells],
    )
    for gpu, contrast in found.apart.items():
        if any(isinstance(v, Verdict) for v in contrast.verdicts.values()):
            yield f"GPU {escape(gpu)} is", [show_verdict(contrast.verdicts[c.id]) for c in cells]


def _columns_crowd(found: Surveyed, cells: Sequence[Cell]) -> Columns:
    for gpu, one in found.crowded.items():
        yield f"GPU {escape(gpu)}, at once over alone", [_show_factor(one, c.id) for c in cells]
    if not found.crowded:
        return
    yield (
        "mean",
        [
            show_comparison(
                found.pooled.ratios[c.id],
                other="at once",
                base="alone",
                invalid=_find_invalid(found, c.id),
            )
            for c in cells
        ],
    )
    number = len(found.alone)
    yield f"{number} at once do", [_show_work(found, c.id, number) for c in cells]
    if any(isinstance(v, Verdict) for v in found.pooled.verdicts.values()):
        yield "at once is", [show_verdict(found.pooled.verdicts[c.id]) for c in cells]


def _show_factor(one: Contrast, identity: str) -> Entry:
    ratio = one.ratios[identity]
    if isinstance(ratio, Flag):
        return NO_NUMBER, (word(ratio),)
    text = show_times(ratio.value, ratio.low, ratio.high)
    verdict = one.verdicts[identity]
    if isinstance(verdict, Verdict) and verdict.name == "INVALID":
        return f"~~{text}~~", (word_verdict(verdict),)
    return text, tuple(tell(ratio.flags))


def _find_invalid(found: Surveyed, identity: str) -> list[Sequence[Flag]]:
    verdict = found.pooled.verdicts[identity]
    return [verdict.flags] if isinstance(verdict, Verdict) and verdict.flags else []


def _show_work(found: Surveyed, identity: str, number: int) -> Entry:
    """How many times the work of one GPU alone they do at once; an INVALID cell has no such number."""
    ratio = found.pooled.sound.get(identity)
    if ratio is None:
        return NO_NUMBER, ("no number of all GPUs that counts",)
    low = None if ratio.high is None else number / ratio.high
    high = None if ratio.low is None else number / ratio.low
    return f"{show_times(number / ratio.value, low, high)} times one", ()
