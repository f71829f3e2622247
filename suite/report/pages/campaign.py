"""What the report says: the sections in the order in which a reader needs them, in no format yet.

No clock, no network, no facts of this machine: the same analysis gives the same bytes.
"""

from __future__ import annotations

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import OTHER_LEVEL, WORK_LEVEL, Verdict
from suite.report.pages.gallery import write_pictures
from suite.report.pages.page_parts import explain_absence
from suite.report.sections.causes import write_advice, write_causes, write_other_causes
from suite.report.sections.controls import write_steadiness, write_timing_costs
from suite.report.sections.environment import (
    show_facts,
    write_all_facts,
    write_environment,
    write_repeating,
)
from suite.report.sections.limits import (
    describe_hardware,
    describe_impossible,
    describe_limits,
    write_costs,
    write_limit_flags,
    write_limits,
    write_step_costs,
    write_uses,
)
from suite.report.sections.opening import (
    answer,
    list_by_family,
    name_devices,
    name_machine,
    tell_when,
    warn,
)
from suite.report.sections.steps import write_break_evens, write_parts, write_pipelines
from suite.report.sections.tables.cells import (
    gives_verdicts,
    write_first_calls,
    write_marks,
    write_other_tables,
    write_tables,
)
from suite.report.sections.telemetry import describe_arms, write_energy
from suite.report.sections.validity import write_placement, write_times, write_trust
from suite.report.sections.verdict import write_crossovers
from suite.report.sections.waterfalls import write_gaps, write_waterfalls
from suite.report.text.page import Code, Page, Strong
from suite.report.text.texts import TEXTS
from suite.report.text.units import end_sentence, show_share
from suite.report.text.wording import UNKNOWN_FLOOR, name_banners, word


def compose(analysis: Analysis, undrawn: str | None = None) -> Page:
    """The whole report; ``undrawn`` is why its pictures are not there, None where they are."""
    page = Page(name_banners(analysis.flags))
    others = ", ".join(analysis.others)
    base = analysis.base
    page.title(f"Crossover: {others} against {base}" if others else f"Crossover: {base} alone")
    _explain_banners(page, analysis)
    page.paragraph(
        f"Machine: {name_machine(analysis.machine)}. {tell_when(analysis)}{name_devices(analysis)}"
    )
    _write_answers(page, analysis)
    rows = list_by_family(analysis)
    own = any("on=arm" in words for row in rows for words in row.values())
    meaning = "; on=arm: on the arm's own device, and not pinned to the CPU" if own else ""
    page.table(f"Table: {_name_families(analysis)}{meaning}.", rows)
    write_causes(page, analysis)
    write_advice(page, analysis)
    write_gaps(page, analysis)
    write_pipelines(page, analysis)
    write_pictures(page, analysis, undrawn)
    page.heading("Tables")
    defend = Code("make defend RUN=folder CELL=receipt")
    page.paragraph(TEXTS["about"]["tables"], defend, " shows the evidence behind a row.")
    for view in (analysis, *analysis.by_gpu):
        for other in view.others:
            page.paragraph(_explain_verdicts(view, other))
    write_crossovers(page, analysis)
    write_tables(page, analysis)
    write_limits(page, analysis)
    write_costs(page, analysis)
    page.heading("Validity")
    write_limit_flags(page, analysis)
    write_trust(page, analysis)
    page.heading("Environment")
    write_environment(page, analysis)
    page.heading("How to reproduce it")
    write_repeating(page, analysis)
    write_marks(page)
    page.appendix("report.html", TEXTS["about"]["besides"])
    write_other_causes(page, analysis)
    write_waterfalls(page, analysis)
    write_parts(page, analysis)
    write_other_tables(page, analysis)
    write_first_calls(page, analysis)
    write_break_evens(page, analysis)
    write_uses(page, analysis)
    write_step_costs(page, analysis)
    write_energy(page, analysis)
    write_steadiness(page, analysis)
    write_timing_costs(page, analysis)
    write_times(page, analysis)
    write_placement(page, analysis)
    write_all_facts(page, analysis)
    page.footnotes()
    return page


def compose_brief(analysis: Analysis, undrawn: str | None = None) -> Page:
    """What a terminal shows of it."""
    page = Page(name_banners(analysis.flags))
    page.title("Crossover")
    page.paragraph(name_machine(analysis.machine))
    _write_answers(page, analysis)
    page.table(end_sentence(_name_families(analysis)), list_by_family(analysis, named=False))
    if undrawn:
        page.paragraph(undrawn)
    return page


def compose_first(analysis: Analysis) -> Page:
    """What a terminal shows of a calibration: is this the machine that was ordered, and first answers."""
    page = Page()
    facts = show_facts(analysis.arms[analysis.base])
    cores, quota = (facts.get(name, "unknown") for name in ("cpu.cores_usable", "cpu.quota"))
    machine = f"{name_machine(analysis.machine)}; cores {cores}, CPU quota {quota}"
    page.paragraph(f"Is this the machine you ordered? {machine}.")
    unsound = [f"UNSOUND: {word(flag)}." for flag in analysis.flags]
    page.bullets(
        [
            *describe_arms(analysis),
            *describe_impossible(analysis),
            *describe_hardware(analysis),
            *describe_limits(analysis),
            *(unsound or ["Nothing was found that makes it unsound."]),
        ]
    )
    page.paragraph("Provisional, from one uncounted invocation per arm:")
    page.table(end_sentence(_name_families(analysis)), list_by_family(analysis, named=False))
    return page


def _write_answers(page: Page, analysis: Analysis) -> None:
    """The first screen: what must not be missed, then an answer to each question under its word."""
    for warning in warn(analysis):
        page.paragraph(warning)
    page.bullets(
        (Strong(f"{topic}:"), f" {' '.join(sentences)}")
        for topic, sentences in answer(analysis).items()
    )


def _name_families(analysis: Analysis) -> str:
    """The title of the small table."""
    title = "what was measured, by family"
    if not analysis.others:
        return title
    judged = any(gives_verdicts(analysis, other) for other in analysis.others)
    having = "that have a verdict" if judged else "by the ratios alone"
    return f"{title}; losses and wins against {analysis.base}, of cells of work {having}"


def _explain_verdicts(analysis: Analysis, other: str) -> str:
    """What the verdicts of one comparison rest on, or why there are none."""
    name = f"{other} against {analysis.base}"
    if absence := explain_absence((cell.verdicts[other] for cell in analysis.cells), f" of {name}"):
        return absence
    verdicts = (cell.verdicts[other] for cell in analysis.work)
    tested = sum(isinstance(v, Verdict) and v.p is not None for v in verdicts)
    if not tested:
        return f"Verdicts of {name}: every comparison is invalid, or has no spread to judge it by."
    words = TEXTS["about"]["verdicts"].format(
        comparison=name,
        tested=tested,
        level=WORK_LEVEL,
        other_level=OTHER_LEVEL,
        margin=show_share(analysis.margin),
    )
    return words + (f" {end_sentence(UNKNOWN_FLOOR)}" if analysis.noise_floor is None else "")


_NOT_A_FINDING = "Too many of its invocations were disturbed (below): nothing here is a finding."


def _explain_banners(page: Page, analysis: Analysis) -> None:
    for flag in analysis.flags:
        for banner in name_banners([flag]):
            why = _NOT_A_FINDING if flag.severity == "invalid" else f"{word(flag)}."
            page.paragraph(Strong(f"{banner}."), f" {why}")
