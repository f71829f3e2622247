"""What the report says: the sections in the order in which a reader needs them, in no format yet.

No clock, no network, no facts of this machine: the same analysis gives the same bytes.
"""

from __future__ import annotations

import math

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import OTHER_LEVEL, WORK_LEVEL, Verdict
from suite.report.pages.brief import write_brief
from suite.report.pages.gallery import write_pictures
from suite.report.pages.page_parts import explain_absence
from suite.report.sections.causes import write_advice, write_causes, write_other_causes
from suite.report.sections.controls import write_steadiness, write_timing_costs
from suite.report.sections.deciding import write_deciding
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
    describe_shortfalls,
    write_costs,
    write_limit_flags,
    write_limits,
    write_step_costs,
    write_uses,
)
from suite.report.sections.opening import describe_machine, name_devices
from suite.report.sections.steps import (
    write_break_evens,
    write_feeding,
    write_parts,
    write_pipelines,
)
from suite.report.sections.sustained import describe_sustained, write_sustained
from suite.report.sections.tables.cells import (
    write_first_calls,
    write_marks,
    write_other_tables,
    write_tables,
)
from suite.report.sections.telemetry import describe_arms, write_energy
from suite.report.sections.tools import describe_tools, write_tools
from suite.report.sections.validity import write_placement, write_times, write_trust
from suite.report.sections.verdict import write_crossovers
from suite.report.sections.versions import write_part_rows, write_versions
from suite.report.sections.waterfalls import write_gaps, write_waterfalls
from suite.report.text.page import Code, Page
from suite.report.text.texts import TEXTS
from suite.report.text.units import end_sentence, show_level, show_margin, show_share
from suite.report.text.wording import UNKNOWN_FLOOR, name_banners, word


def compose(analysis: Analysis, undrawn: str | None = None) -> Page:
    """The whole report, which begins with the brief, uncut; ``undrawn`` is that of the brief."""
    page = Page(name_banners(analysis.flags))
    write_brief(page, analysis, undrawn)
    write_causes(page, analysis)
    write_advice(page, analysis)
    write_gaps(page, analysis)
    write_pipelines(page, analysis)
    write_feeding(page, analysis)
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
    write_sustained(page, analysis)
    write_tools(page, analysis)
    write_costs(page, analysis)
    page.heading("Validity")
    write_limit_flags(page, analysis)
    write_trust(page, analysis)
    page.heading("Environment")
    if devices := name_devices(analysis):
        page.paragraph(devices)
    write_environment(page, analysis)
    page.heading("How to reproduce it")
    write_repeating(page, analysis)
    write_marks(page, analysis.share)
    page.appendix("report.html", TEXTS["about"]["besides"])
    write_part_rows(page, analysis)
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


def compose_first(analysis: Analysis) -> Page:
    """What a terminal shows of a first block: is this the machine that was ordered, and first answers."""
    page = Page()
    facts = show_facts(analysis.arms[analysis.base])
    cores, quota = (facts.get(name, "unknown") for name in ("cpu.cores_usable", "cpu.quota"))
    machine = f"{describe_machine(analysis)}; cores {cores}, CPU quota {quota}"
    page.paragraph(f"Is this the machine you ordered? {machine}.")
    unsound = [f"UNSOUND: {word(flag)}." for flag in analysis.flags]
    page.bullets(
        [
            *describe_arms(analysis),
            *describe_impossible(analysis),
            *describe_shortfalls(analysis),
            *describe_hardware(analysis),
            *describe_tools(analysis),
            *describe_limits(analysis),
            *describe_sustained(analysis),
            *(unsound or ["Nothing was found that makes it unsound."]),
        ]
    )
    page.paragraph("Provisional, from one invocation per arm:")
    if analysis.rivals or not analysis.others:
        write_deciding(page, analysis)
    write_versions(page, analysis, None)
    return page


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
        level=show_level(WORK_LEVEL, analysis.share),
        other_level=show_level(OTHER_LEVEL, analysis.share),
        margin=show_margin(analysis.margin, analysis.share),
    )
    listed = (
        len(steps.arms)
        for steps in analysis.version_steps
        if {analysis.base, other} <= {*steps.arms}
    )
    if count := next(listed, None):
        words += " " + TEXTS["about"]["listed"].format(pairs=math.comb(count, 2))
    if analysis.share is not None:
        words += " " + TEXTS["about"]["sequential"].format(share=show_share(analysis.share))
    return words + (f" {end_sentence(UNKNOWN_FLOOR)}" if analysis.noise_floor is None else "")
