"""The sections that say why: a cause for every cell that the GPU loses, and recommendations.

Words only; what is true is decided in `explain` and `improvements`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.findings import Cause, Finding, Standing, Waterfall
from suite.report.text.evidence import word_evidence
from suite.report.text.findings import Columns, format_number, show_evidence, write_findings
from suite.report.text.names import name_cells
from suite.report.text.page import Cell, Page, Row
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    show_margin,
    show_relative,
    show_seconds,
    show_share,
    show_things,
)

OTHERWISE = f" ({TEXTS['effects']['training']})"
"""What stands beside whatever another batch or precision gains."""


def describe_change(change: Finding, names: Mapping[str, str]) -> str:
    """``prefetch instead of none (mlp.train → on: 2.0× faster)``, and whether it changes the training."""
    where = word_evidence(change.evidence[1], names=names)
    way = f"{names.get(change.cell, change.cell)} → {where}"
    return f"{name_change(change)} ({way}: {format_number(change)})"


def name_change(change: Finding) -> str:
    """What a change is called, and whether it changes the training."""
    what, _, effect, *_ = change.evidence
    return word_evidence(what) + OTHERWISE * (effect.values.get("effect") == "training")


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
    """At which sizes a script misleads, and by changes of which kinds where not by its timing alone; of
    comparisons with both CPUs those with the CPU arm."""
    arms = [gap for gap in gaps if gap.against != gap.arm]
    against = [] if arms else ["against the CPU of its own process"]
    sizes = (
        " ".join(f"{axis}={value}" for axis, value in scripts[gap.cell].fixed.items())
        for gap in arms or gaps
    )
    more = dict.fromkeys(
        word_evidence(between)
        for gap in arms or gaps
        for between in gap.evidence[1:]
        if between.values["effects"] != ("timing",)
    )
    inside = "; ".join(filter(None, [", ".join(filter(None, sizes)), *against, *more]))
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
    # The shares of a step's parts have a table of their own.
    apart = {step.cell for step in analysis.find("step", arm=gpu)}
    wasted: list[Row] = [
        {
            "cell": names[cell.id],
            f"{gpu} against {cpu}": show_relative(standing.ratio),
            "of its best": show_share(standing.use or 0.0),
            "cause": _name_causes(cell.causes, names, numbers=cell.id not in apart),
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
            margin=show_margin(analysis.margin, analysis.share),
            provisionally=", provisionally, as the profile gives no verdicts" * provisional,
        )
    )
    for arm in dict.fromkeys(change.arm for change in changes):
        for verdict, does, place in (("faster", "helps", 3), ("slower", "is slower", 4)):
            columns: Columns = {
                "change": show_evidence(0, names),
                "from": lambda row: names.get(row[0].cell, row[0].cell),
                "to": show_evidence(1, names),
                "gain": lambda row: format_number(row[0]),
                "what it changes and costs": show_evidence(2, names),
                f"{does} in": show_evidence(place, names),
            }
            caption = TEXTS["captions"][verdict].format(arm=arm)
            shown = analysis.find("change", arm=arm, verdict=verdict)
            write_findings(page, caption, shown, columns)
        neither = analysis.find("change", arm=arm, verdict="")
        if neither:
            listed = "; ".join(map(name_change, neither))
            page.paragraph(f"Neither shown to help nor to harm on {arm}: {listed}.")


def _list_case(
    cell: CellAnalysis, standing: Standing, names: Mapping[str, str], cpu: str, gpu: str
) -> Row:
    # Without the arms' names, which stand in the column's head.
    ratio = show_relative(standing.ratio)
    words = TEXTS["standing"]
    right = words["larger" if standing.winner else "hopeless"]
    advice = right if standing.hopeless else TEXTS["advice"][cell.causes[0].rule]
    # What helps where the GPU wins all the same at no variant would be no help.
    gains = [] if standing.hopeless else _list_gains(cell.causes)
    if gains:
        advice += f"; measured per unit of work: {'; '.join(gains)}"
    if standing.winner is not None and standing.winner != cell.id:
        advice += f"; {gpu} wins at {names[standing.winner]}{OTHERWISE * standing.winner_otherwise}"
    if standing.untried:
        advice += f"; {words['untried'].format(axes=' or '.join(standing.untried))}"
    return {
        "cell": names[cell.id],
        f"{gpu} against {cpu}": ratio.amid(after=" (provisional)" * standing.provisional),
        "cause": _name_causes(cell.causes, names),
        "recommendation, and what it gains": advice,
    }


def _list_gains(causes: Sequence[Cause]) -> list[str]:
    """What the first remedies gain: of what keeps the results, and then of what changes the training."""
    same = [cause.gain for cause in causes if cause.gain is not None]
    otherwise = [cause.otherwise for cause in causes if cause.otherwise is not None]
    return [
        f"{format_number(gain)} {word_evidence(*gain.evidence)}{mark}"
        for gains, mark in ((same, ""), (otherwise, OTHERWISE))
        for gain in gains[:1]
    ]


def _name_causes(
    causes: Sequence[Cause], names: Mapping[str, str], *, numbers: bool = True
) -> Cell:
    """``overhead, 1.20 ± 0.01 ms, 91.0 %, confirmed; then transfer, suspected``; the evidence is below."""
    parts = []
    for cause in causes:
        sure = "confirmed" if cause.confirmed else "suspected"
        words = [
            cause.rule,
            show_seconds(cause.seconds) if numbers and cause.seconds else "",
            show_share(cause.share) if numbers and cause.share is not None else "",
            "" if cause.rule == "unknown" else sure,
        ]
        parts.append(", ".join(filter(None, words)))
    notes = (f"{cause.rule}: {word_evidence(*cause.evidence, names=names)}" for cause in causes)
    return Cell("; then ".join(parts), tuple(notes))
