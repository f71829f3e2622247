"""The sections that say why: a cause for every cell that the GPU loses, and recommendations.

Words only; what is true is decided in `explain` and `improvements`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.findings import Cause, Finding, RuleName, Standing, Waterfall
from suite.report.text.evidence import CPU_IS_RIGHT, word_evidence
from suite.report.text.findings import Columns, format_number, show_evidence, write_findings
from suite.report.text.names import name_cells
from suite.report.text.page import Cell, Page, Row
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    join_first,
    show_relative,
    show_seconds,
    show_share,
    show_things,
)


def describe_losses(analysis: Analysis) -> Iterator[str]:
    """What explains the cells that the GPU loses by a verdict."""
    losses = [
        cell
        for cell in analysis.work
        if cell.standing and cell.standing.loses and not cell.standing.provisional
    ]
    if not losses:
        return
    first = Counter(cell.causes[0].rule for cell in losses)
    sure = Counter(cell.causes[0].rule for cell in losses if cell.causes[0].confirmed)
    rules = sorted(filter(first.get, get_args(RuleName)), key=lambda rule: -first[rule])
    parts = [_count_confirmed(rule, first[rule], sure[rule]) for rule in rules]
    by = ", by the largest cause" if len(parts) > 1 else ""
    cells = show_things(len(losses), "cell")
    yield f"Why {analysis.gpu or ''} loses {cells}{by}: {'; '.join(parts)}."


def _count_confirmed(rule: RuleName, cells: int, sure: int) -> str:
    """``overhead (the time to start operations) in 14, 9 confirmed``; what is unknown can't be confirmed."""
    if rule == "unknown":
        return f"{rule} in {cells}"
    many = "all" if sure == cells > 1 else str(sure) if sure else "none"
    return f"{rule} ({TEXTS['meanings'][rule]}) in {cells}, {many} confirmed"


MOST_TOLD = 4
"""Changes on the first screen."""


def describe_improvements(analysis: Analysis) -> Iterator[str]:
    """What makes an arm itself faster, the largest gains first; what it costs stands with all others."""
    on_cpu = {cell.id for cell in analysis.cells if cell.on_cpu and analysis.gpu}
    arm = analysis.gpu or analysis.cpu or ""
    helping = [
        change
        for change in analysis.find("change", arm=arm, verdict="faster")
        if change.cell not in on_cpu
    ]
    if helping:
        names = name_cells(analysis.cells)
        helping.sort(key=lambda change: -change.number.value)
        changes = join_first(MOST_TOLD, [_describe_change(change, names) for change in helping])
        yield f"What speeds up {arm}, against itself and per unit of work: {changes}."


def _describe_change(change: Finding, names: Mapping[str, str]) -> str:
    what, where, effect, *_ = change.evidence
    way = f"{names.get(change.cell, change.cell)} → {word_evidence(where, names=names)}"
    training = effect.values.get("effect") == "training"
    besides = f"; {TEXTS['effects']['training']}" if training else ""
    return f"{word_evidence(what)} ({way}: {format_number(change)}{besides})"


def describe_naive_gaps(analysis: Analysis) -> Iterator[str]:
    """Where scripts, or their timing in a warm process, name the wrong winner: against the CPU arm, or else
    against the CPU beside the GPU."""
    for posted, how in ((True, "Timed as posted"), (False, "Timed as posted, in a warm process")):
        scripts = {
            waterfall.steps[0].cell: waterfall
            for waterfall in analysis.waterfalls
            if waterfall.posted == posted
        }
        gaps = [gap for gap in analysis.find("gap") if gap.cell in scripts]
        wrong: dict[str, list[Finding]] = {}
        for gap in gaps:
            if gap.verdict == "wrong-winner":
                wrong.setdefault(scripts[gap.cell].title, []).append(gap)
        if wrong:
            every = show_things(len({scripts[gap.cell].title for gap in gaps}), "script")
            names = "names" if len(wrong) == 1 else "name"
            listed = (f"{title}{_list_sizes(wrongs, scripts)}" for title, wrongs in wrong.items())
            yield f"{how}, {len(wrong)} of {every} {names} the wrong winner: {'; '.join(listed)}."


def _list_sizes(gaps: Sequence[Finding], scripts: Mapping[str, Waterfall]) -> str:
    """At which sizes a script misleads; of comparisons with both CPUs those with the CPU arm."""
    arms = [gap for gap in gaps if gap.against != gap.arm]
    against = [] if arms else ["against the CPU of its own process"]
    sizes = (
        " ".join(f"{axis}={value}" for axis, value in scripts[gap.cell].fixed.items())
        for gap in arms or gaps
    )
    inside = "; ".join(filter(None, [", ".join(filter(None, sizes)), *against]))
    return f" ({inside})" if inside else ""


def write_causes(page: Page, analysis: Analysis) -> None:
    """The section "Why the CPU wins where it does"; absent where there are not both arms."""
    cpu, gpu = analysis.cpu, analysis.gpu
    if cpu is None or gpu is None:
        return
    page.heading("Why the CPU wins where it does")
    cases = [(cell, cell.standing) for cell in analysis.cells if cell.standing]
    every = [case for case in cases if case[1].loses]
    losses = _choose_told(every)
    if not every:
        pairs = ((cell.arms[cpu], cell.arms[gpu]) for cell in analysis.cells)
        judged = any(all(a.value is not None and not a.invalid for a in pair) for pair in pairs)
        page.paragraph(
            f"{gpu} loses no cell that could be judged." if judged else "No cell could be judged."
        )
    elif not losses:
        page.paragraph(f"{gpu} loses no cell of work that could be judged.")
    if cases:
        page.paragraph(TEXTS["about"]["causes"].format(gpu=gpu, cpu=cpu))
    _write_losses(page, analysis, "causes", losses)


def write_other_causes(page: Page, analysis: Analysis) -> None:
    """The appendix's parts on other cells that lose, and on those that waste the GPU; absent without any."""
    cpu, gpu = analysis.cpu or "", analysis.gpu or ""
    names = name_cells(analysis.cells)
    cases = [(cell, cell.standing) for cell in analysis.cells if cell.standing]
    every = [case for case in cases if case[1].loses]
    told = {cell.id for cell, _ in _choose_told(every)}
    others = [case for case in every if case[0].id not in told]
    if others:
        page.heading("Why the CPU wins in scripts, and where nothing is work", level=3)
        _write_losses(page, analysis, "other-causes", others)
    wasted: list[Row] = [
        {
            "cell": names[cell.id],
            f"{gpu} against {cpu}": show_relative(standing.ratio),
            "of its best": show_share(standing.use or 0.0),
            "cause": _name_causes(cell.causes, names),
        }
        for cell, standing in cases
        if not standing.loses
    ]
    if wasted:
        page.heading(f"Where {gpu} is not shown to lose, but is far below its best rate", level=3)
        page.table(TEXTS["captions"]["far-below"].format(gpu=gpu), wasted)


_Case = tuple[CellAnalysis, Standing]


def _choose_told(losses: Sequence[_Case]) -> list[_Case]:
    """Those of work, and of these the ones that are no stage of a script where there are such."""
    work = [case for case in losses if case[0].role == "work"]
    return [case for case in work if not case[0].staged] or work


def _write_losses(page: Page, analysis: Analysis, caption: str, losses: Sequence[_Case]) -> None:
    cpu, gpu = analysis.cpu or "", analysis.gpu or ""
    names = name_cells(analysis.cells)
    provisional = any(standing.provisional for _, standing in losses)
    page.table(
        TEXTS["captions"][caption].format(
            gpu=gpu,
            cpu=cpu,
            provisional=" Provisional: the cell has no verdict, only a ratio." * provisional,
        ),
        [_list_case(cell, standing, names, cpu, gpu) for cell, standing in losses],
    )


def write_advice(page: Page, analysis: Analysis) -> None:
    """The section "Recommendations": every change that was measured to help, or to make it slower."""
    changes = analysis.find("change")
    if not changes:
        return
    page.heading("Recommendations")
    names = name_cells(analysis.cells)
    provisional = any(change.provisional for change in changes)
    page.paragraph(
        TEXTS["about"]["changes"].format(
            margin=show_share(analysis.margin),
            provisionally=", provisionally, as the profile gives no verdicts" * provisional,
        )
    )
    for arm in dict.fromkeys(change.arm for change in changes):
        for verdict, does, place in (("faster", "helps", 3), ("slower", "is slower", 4)):
            columns: Columns = {
                "change": show_evidence(0, names),
                "what it costs": show_evidence(2, names),
                "from": lambda row: names.get(row[0].cell, row[0].cell),
                "to": show_evidence(1, names),
                "gain": lambda row: format_number(row[0]),
                f"{does} in": show_evidence(place, names),
            }
            caption = TEXTS["captions"][verdict].format(arm=arm)
            shown = analysis.find("change", arm=arm, verdict=verdict)
            write_findings(page, caption, shown, columns)
        neither = analysis.find("change", arm=arm, verdict="")
        if neither:
            listed = "; ".join(word_evidence(change.evidence[0]) for change in neither)
            page.paragraph(f"Neither shown to help nor to harm on {arm}: {listed}.")


def _list_case(
    cell: CellAnalysis, standing: Standing, names: Mapping[str, str], cpu: str, gpu: str
) -> Row:
    # Without the arms' names, which stand in the column's head.
    ratio = show_relative(standing.ratio)
    advice = CPU_IS_RIGHT if standing.hopeless else TEXTS["advice"][cell.causes[0].rule]
    gains = [cause.gain for cause in cell.causes if cause.gain is not None]
    # What helps where the GPU wins all the same at no variant would be no help.
    if gains and not standing.hopeless:
        times = format_number(gains[0])
        advice += f": {times} a unit of work {word_evidence(*gains[0].evidence)}"
    if standing.winner is not None and standing.winner != cell.id:
        advice += f"; {gpu} wins at {names[standing.winner]}"
    return {
        "cell": names[cell.id],
        f"{gpu} against {cpu}": ratio.amid(after=" (provisional)" * standing.provisional),
        "cause": _name_causes(cell.causes, names),
        "recommendation, and what it gains": advice,
    }


def _name_causes(causes: Sequence[Cause], names: Mapping[str, str]) -> Cell:
    """``overhead, 1.20 ± 0.01 ms, 91.0 %, confirmed; then transfer, suspected``; the evidence is below."""
    parts = []
    for cause in causes:
        sure = "confirmed" if cause.confirmed else "suspected"
        words = [
            cause.rule,
            show_seconds(cause.seconds) if cause.seconds else "",
            "" if cause.share is None else show_share(cause.share),
            "" if cause.rule == "unknown" else sure,
        ]
        parts.append(", ".join(filter(None, words)))
    notes = (f"{cause.rule}: {word_evidence(*cause.evidence, names=names)}" for cause in causes)
    return Cell("; then ".join(parts), tuple(notes))
