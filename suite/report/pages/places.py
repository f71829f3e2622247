"""The report of a survey: how far the GPUs differ, what being busy together costs, and by which cell.

No clock, no network, no facts of this machine: the same campaigns give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis, tell_ratio
from suite.analysis.result.numbers import OTHER_LEVEL, WORK_LEVEL
from suite.analysis.result.several import Contrast, Surveyed
from suite.flags import Flag
from suite.report.pages import frame
from suite.report.sections.environment import SOMEWHERE
from suite.report.sections.opening import name_machine
from suite.report.sections.tables.cells import show_comparison
from suite.report.sections.tables.families import Columns, write_family_tables
from suite.report.text.page import Cell, Page, Strong, say_none
from suite.report.text.units import Quantity, show_share, show_times
from suite.report.text.wording import (
    NO_VERDICTS,
    count_verdicts,
    name_banners,
    tell,
    word,
    word_invalid,
)


def compose_survey(found: Surveyed, analyses: Mapping[str, Analysis]) -> Page:
    """The report of a survey, in no format yet; ``analyses`` are its campaigns', by id."""
    survey = found.survey
    said = [*_tell_apart(found), *_tell_crowd(found)]
    page = frame.begin_page(f"the {len(survey.gpus)} GPUs of one machine", found.flags, said)
    if survey.stopped:
        page.paragraph(Strong("Stopped"), f" {survey.stopped}.")
    if found.unpaired:
        rounds = ", ".join(map(str, found.unpaired))
        page.paragraph(
            f"The turn at once of round{'s' if len(found.unpaired) > 1 else ''} {rounds} does not count: "
            "some GPU did not finish it, so that the others met fewer neighbours."
        )
    there = {name: analyses[name] for name in (*found.alone.values(), *found.at_once.values())}
    _write_campaigns(page, found, there)
    cells = [one for one in frame.list_cells(there.values()) if one.id in found.cells]
    page.heading("Each GPU alone")
    page.paragraph(_explain_apart(found))
    apart = partial(_columns_alone, found, there)
    write_family_tables(page, cells, caption="Table: each GPU alone, {}.".format, columns=apart)
    page.heading("All at once")
    page.paragraph(_explain_crowd(found))
    crowd = partial(_columns_crowd, found)
    write_family_tables(page, cells, caption="Table: all GPUs at once, {}.".format, columns=crowd)
    again = f"make report RUN={SOMEWHERE}/{survey.id}"
    frame.end_page(
        page,
        {
            "The survey, on a machine like this one:": survey.command,
            "This report, from the documents alone and byte for byte:": again,
        },
    )
    return page


def compose_survey_brief(found: Surveyed) -> Page:
    """What a terminal shows of it."""
    page = Page(name_banners(found.flags))
    page.title("Crossover")
    page.bullets([*_tell_apart(found), *_tell_crowd(found)])
    return page


def _tell_apart(found: Surveyed) -> Iterable[str]:
    """How far the GPUs differ, in sentences."""
    if not found.apart:
        yield "Fewer than two GPUs have been measured alone yet: there is nothing to compare."
        return
    first = next(iter(found.alone))
    yield (
        f"Of the {len(found.cells)} cells, {len(found.on_gpu)} time work on a GPU repeatedly; "
        "medians and extremes are over these."
    )
    for gpu, one in found.apart.items():
        size = "" if one.typical is None else f", {_off(one.typical)} in the median cell"
        yield f"GPU {gpu} alone against GPU {first} alone: {_count(one)}{size}."
    spreads = {name: one for name, one in found.spreads.items() if name in found.on_gpu}
    if spreads:
        factor, name = max((factor, name) for name, factor in spreads.items())
        yield f"The largest spread between GPUs is {factor:.2f} times, in {name}."


def _tell_crowd(found: Surveyed) -> Iterable[str]:
    """What being busy together costs, in sentences."""
    sound, number = found.of_gpu(found.pooled), len(found.alone)
    typical = found.pooled.typical
    if typical is None:
        yield "What contention costs is not known yet."
        return
    name, worst = max(sound.items(), key=lambda item: item[1].value)
    yield (
        f"With all {number} busy at once a call takes {typical:.2f} times as long as alone in the "
        f"median cell ({_count(found.pooled)}), so that together they do {number / typical:.1f} times "
        f"the work of one."
    )
    yield (
        f"The largest loss is in {name}: {worst.value:.2f} times as long, "
        f"{number / worst.value:.1f} times the work of one."
    )


def _off(ratio: float) -> str:
    """How far a ratio of times is from 1, in words."""
    if abs(ratio - 1) < 0.0005:
        return "as fast"
    return f"{show_share(abs(ratio - 1))} {'more' if ratio > 1 else 'less'} time"


def _count(one: Contrast) -> str:
    counted, number = count_verdicts(one.verdicts.values())
    return f"{counted} of {number} cells" if number else NO_VERDICTS


def _write_campaigns(page: Page, found: Surveyed, analyses: Mapping[str, Analysis]) -> None:
    rows = []
    for member in found.survey.members:
        one = analyses.get(member.campaign)
        rows.append(
            {
                "GPU": member.gpu,
                "measured": "with all others busy" if member.at_once else "alone",
                "CPUs": found.survey.cpus.get(member.gpu, "") if member.at_once else "all",
                "campaign": member.campaign,
                "machine": name_machine(one.machine) if one else "not begun",
                "rounds": str(len(one.arms[one.gpu_arm].blocks)) if one else "",
                "noise floor": frame.show_floor(one.noise_floor) if one else "",
            }
        )
    frame.write_campaigns(
        page,
        "Table: the campaigns. Each lies in a folder of that name beside this one, with a report of its own.",
        rows,
        analyses,
    )


def _explain_apart(found: Surveyed) -> str:
    """What a number of a GPU alone is, and what the verdicts rest on."""
    spread = "The spread is the slowest GPU's time over the fastest one's."
    named = f"a GPU is called faster or slower than GPU {next(iter(found.alone), '')}"
    verdicts = _explain_verdicts(list(found.apart.values()), named) if found.apart else ""
    return f"{frame.TIME.format('rounds')} {spread} {verdicts}"


def _explain_crowd(found: Surveyed) -> str:
    """What a number of all at once is, and what the verdicts rest on."""
    told = (
        "Times with all GPUs busy over times of the same GPU alone, each GPU running the same cells "
        "in the same order. Alone a worker may use every CPU; at once each has a share of its own, as "
        "the table above says, so that what is lost can be the processor's as well as the "
        "machine's memory, links, power or heat."
    )
    if not found.survey.whole_cores:
        told += (
            " Which CPUs are threads of one core is not known here, so two shares may lie on the same "
            "cores."
        )
    if found.overlap is not None:
        told += (
            f" In every round at least {100 * found.overlap:.0f} % of each GPU's measuring had all "
            "others measuring, too."
        )
    named = "the mean over the GPUs is called slower or faster"
    return f"{told} The mean is geometric over the GPUs. {_explain_verdicts([found.pooled], named)}"


def _explain_verdicts(contrasts: Sequence[Contrast], what: str) -> str:
    """What the verdicts of some contrasts rest on; ``what`` is what they call faster or slower."""
    if absence := frame.explain_absence(v for one in contrasts for v in one.verdicts.values()):
        return absence
    margins = sorted({show_share(one.margin) for one in contrasts})
    width = margins[0] if len(margins) == 1 else f"{margins[0]} to {margins[-1]}"
    return (
        f"Verdicts: {what} where a t test paired by round, adjusted by Holm for cells of "
        f"work and for all others apart, gives p under {WORK_LEVEL} or {OTHER_LEVEL} and "
        f"the estimate lies beyond {width}, the largest of 2 % and the campaigns' noise floors."
    )


def _columns_alone(
    found: Surveyed, analyses: Mapping[str, Analysis], cells: Sequence[CellAnalysis]
) -> Columns:
    for gpu, name in found.alone.items():
        results = analyses[name].results(analyses[name].gpu_arm)
        yield from frame.list_times(f"GPU {gpu}", [results.get(cell.id) for cell in cells])
    if not found.apart:
        return
    spreads = {
        name: Cell(Quantity("", f"{one:.3f}", "", one)) for name, one in found.spreads.items()
    }
    none = say_none("not every GPU has a number")
    yield "spread", [spreads.get(cell.id, none) for cell in cells]
    for gpu, contrast in found.apart.items():
        yield from frame.list_verdicts(f"GPU {gpu}", contrast.verdicts, cells)


def _columns_crowd(found: Surveyed, cells: Sequence[CellAnalysis]) -> Columns:
    for gpu, one in found.contention.items():
        yield f"GPU {gpu}, at once over alone", [_show_factor(one, c.id) for c in cells]
    if not found.contention:
        return
    pooled, number = found.pooled, len(found.alone)
    means = [pooled.cells[cell.id] for cell in cells]
    show_mean = partial(show_comparison, other="at once", base="alone")
    yield "mean", [show_mean(tell_ratio(one), invalid=[one.invalid]) for one in means]
    yield f"{number} at once do", [_show_work(pooled, c.id, number) for c in cells]
    yield from frame.list_verdicts("at once", pooled.verdicts, cells)


def _show_factor(one: Contrast, identity: str) -> Cell:
    found = one.cells[identity]
    ratio = tell_ratio(found)
    if isinstance(ratio, Flag):
        return say_none(word(ratio))
    why = word_invalid(found.invalid)
    return Cell(show_times(ratio), (why,) if why else tuple(tell(ratio.flags)), struck=bool(why))


def _show_work(pooled: Contrast, identity: str, number: int) -> Cell:
    """How many times the work of one GPU alone they do at once; an INVALID cell has no such number."""
    ratio = pooled.sound.get(identity)
    if ratio is None:
        return say_none("no number of all GPUs that counts")
    low = None if ratio.high is None else number / ratio.high
    high = None if ratio.low is None else number / ratio.low
    return Cell(show_times((number / ratio.value, low, high)).amid(after=" times one"))
