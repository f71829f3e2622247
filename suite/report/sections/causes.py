"""The sections that say why: a cause for every cell that the GPU loses, and recommendations.

Words only; what is true is decided in `explain` and `improvements`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.findings import Cause, Improvement, Standing
from suite.report.text.evidence import CAUSES, CHANGES, word_advice, word_evidence
from suite.report.text.names import name_cells, name_place
from suite.report.text.page import Cell, Code, Page
from suite.report.text.units import (
    Quantity,
    show_gain,
    show_relative,
    show_seconds,
    show_share,
    show_things,
)


def tell_causes(analysis: Analysis) -> list[str]:
    """The sentences for the report's opening: what explains the losses, and what helps most."""
    sentences = []
    gpu = analysis.gpu or ""
    losses = [
        one
        for one in analysis.work
        if one.standing and one.standing.loses and not one.standing.provisional
    ]
    if losses:
        first = Counter(one.causes[0].rule for one in losses)
        sure = Counter(one.causes[0].rule for one in losses if one.causes[0].confirmed)
        rules = sorted(filter(first.get, CAUSES), key=lambda rule: -first[rule])
        parts = [f"{rule} in {first[rule]} ({sure[rule]} confirmed)" for rule in rules]
        cells = show_things(len(losses), "cell")
        above = "the largest cause is " if len(parts) > 1 else ""
        meaning = CAUSES[rules[0]].meaning
        meant = f"; {rules[0]} is {meaning}" if meaning else ""
        sentences.append(f"Why {gpu} loses {cells}: {above}{', '.join(parts)}{meant}.")
    helping = [
        f"{CHANGES[one.kind]} ({_word_change(one, analysis)}: {_show_gain(one)})"
        for one in _find_best(analysis, by_case=False)
        # What is no longer timed makes nothing faster.
        if one.kind != "warm-timing"
    ]
    if helping:
        arm = analysis.advice[0].arm
        sentences.append(f"What helps {arm} most, against itself: {'; '.join(helping)}.")
    return sentences + list(_tell_naive_gap(analysis))


def _tell_naive_gap(analysis: Analysis) -> Iterator[str]:
    """Where a script, or its timing in a warm process, names the wrong winner."""
    found: dict[tuple[bool, str, str], dict[str, list[str]]] = {}
    for one in analysis.misled:
        if one.reverses:
            base = "its own CPU" if one.base.arm == one.other.arm else name_place(one.base)
            key = one.posted, name_place(one.other), base
            fixed = " ".join(f"{axis}={value}" for axis, value in one.fixed.items())
            found.setdefault(key, {}).setdefault(one.title, []).append(fixed)
    for (posted, other, base), titles in found.items():
        how = "Timed as posted" if posted else "Timed as posted, in a warm process"
        number = sum(map(len, titles.values()))
        many = show_things(number, "script") + (" names" if number == 1 else " name")
        named = "; ".join(
            ": ".join(filter(None, [title, ", ".join(filter(None, fixed))]))
            for title, fixed in titles.items()
        )
        yield f"{how}, {many} the wrong winner, {other} or {base}: {named}."


def write_causes(page: Page, analysis: Analysis) -> None:
    """The section "Why the CPU wins where it does"; absent where there are not both arms."""
    if analysis.cpu is None or analysis.gpu is None:
        return
    cpu, gpu = analysis.cpu, analysis.gpu
    page.heading("Why the CPU wins where it does")
    cases = [(one, one.standing) for one in analysis.cells if one.standing]
    losses = [case for case in cases if case[1].loses]
    wasted = [case for case in cases if not case[1].loses]
    if not losses:
        arms = [analysis.cpu, analysis.gpu]
        judged = any(
            all(one.arms[arm].value is not None and not one.arms[arm].invalid for arm in arms)
            for one in analysis.cells
        )
        page.paragraph(
            f"{gpu} loses no cell that could be judged." if judged else "No cell could be judged."
        )
    if cases:
        page.paragraph(
            f"The extra time of {gpu} over {cpu} is broken down by cells that each leave out one "
            "part. The cause that explains most comes first, with its seconds per call and its "
            "share; what nothing explains is unknown. Confirmed: it explains over a quarter, and "
            "an independent measurement agrees, such as its cost in a cell of its own, or a trace. "
            "Suspected: there is none, or it does not agree. The evidence stands in the footnotes. "
            "Gains are measured, per unit of work."
        )
    names = name_cells(analysis.cells)[0]
    if losses:
        provisional = any(standing.provisional for _, standing in losses)
        note = " Provisional: the cell has no verdict, only a ratio." if provisional else ""
        page.table(
            f"Table: every cell in which {gpu} is slower than {cpu}, and why.{note}",
            [
                "cell",
                f"{gpu} against {cpu}",
                "cause",
                "recommendation, and what it gains",
            ],
            [_list_case(one, standing, names, gpu) for one, standing in losses],
        )
    if wasted:
        page.heading(f"Where {gpu} does not lose, but is far below its best rate", level=3)
        page.table(
            f"Table: cells in which {gpu} reaches under a tenth of its own best rate at the "
            "precision; the shares are of what they take beyond that rate.",
            ["cell", f"{gpu} against {cpu}", "of its best", "cause"],
            [
                [
                    names[one.id],
                    _show_ratio(standing),
                    show_share(standing.use or 0.0),
                    _name_causes(one.causes, names),
                ]
                for one, standing in wasted
            ],
        )


def write_advice(page: Page, analysis: Analysis) -> None:
    """The section "Recommendations": every measured pair, in the fixed order."""
    if not analysis.advice:
        return
    page.heading("Recommendations")
    names = name_cells(analysis.cells)[0]
    arm = analysis.advice[0].arm
    shown = _find_best(analysis, by_case=True)
    page.paragraph(
        f"Measured on {arm}, cell against cell, per unit of work. What did not help is shown too."
    )
    page.table(
        f"Table: what helps on {arm}, and by how much.",
        ["change", "from", "to", "gain", "helps"],
        [
            [
                CHANGES[one.kind],
                names.get(one.cell, one.cell),
                word_evidence(one.gain.how),
                _show_gain(one),
                "yes" if one.helps else "no",
            ]
            for one in shown
        ],
    )
    if len(shown) < len(analysis.advice):
        page.paragraph(
            f"The largest gain of each kind and case; all {len(analysis.advice)} are in ",
            *(Code("summary.json"), "."),
        )
    hopeless = sum(one.standing.hopeless for one in analysis.cells if one.standing)
    if hopeless:
        page.paragraph(
            f"The CPU is the right device for {hopeless} of the cells above: the GPU wins at "
            "no measured variant of the same work."
        )


def _list_case(
    one: CellAnalysis, standing: Standing, names: Mapping[str, str], gpu: str
) -> list[str | Cell]:
    ratio = _show_ratio(standing)
    ratio = ratio.amid(after=" (provisional)") if standing.provisional else ratio
    advice = word_advice(standing, one.causes[0])
    gains = [cause.gain for cause in one.causes if cause.gain is not None]
    # What helps where the GPU wins all the same at no variant would be no help.
    if gains and not standing.hopeless:
        ratio_of = gains[0].ratio
        times = show_gain(ratio_of.value, ratio_of.low, ratio_of.high)
        advice += f": {times} a unit of work {word_evidence(gains[0].how)}"
    if standing.winner is not None and standing.winner != one.id:
        advice += f"; {gpu} wins at {names[standing.winner]}"
    return [
        names[one.id],
        ratio,
        _name_causes(one.causes, names),
        advice,
    ]


def _name_causes(causes: Sequence[Cause], names: Mapping[str, str]) -> Cell:
    """``overhead, 1.20 ± 0.01 ms, 91.0 %, confirmed; then transfer, suspected``; the evidence is below."""
    parts = []
    for cause in causes:
        told: list[str] = [cause.rule]
        if cause.seconds is not None:
            told.append(show_seconds(cause.seconds.value, cause.seconds.low, cause.seconds.high))
        if cause.share is not None:
            told.append(show_share(cause.share))
        if cause.rule != "unknown":
            told.append("confirmed" if cause.confirmed else "suspected")
        parts.append(", ".join(told))
    notes = (f"{one.rule}: {word_evidence(*one.evidence, names=names)}" for one in causes)
    return Cell("; then ".join(parts), tuple(notes))


def _show_ratio(standing: Standing) -> Quantity:
    """The ratio without the arms' names, which stand in the column's head."""
    ratio = standing.ratio
    return show_relative(ratio.value, ratio.low, ratio.high)


def _show_gain(one: Improvement) -> Quantity:
    ratio = one.gain.ratio
    return show_gain(ratio.value, ratio.low, ratio.high)


def _word_change(one: Improvement, analysis: Analysis) -> str:
    """What is different, and what it was before where that is a size: ``batch 4096 instead of 8``."""
    how = one.gain.how
    params = next((cell.params for cell in analysis.cells if cell.id == one.cell), {})
    before = params.get(str(how.values.get("axis")))
    return word_evidence(how) + (f" instead of {before}" if before is not None else "")


def _find_best(analysis: Analysis, *, by_case: bool) -> list[Improvement]:
    """Of each kind, and each case if asked, what helped most; in the fixed order of the kinds.

    Of all cases together only what helps at all.
    """
    best: dict[tuple[str, str], Improvement] = {}
    for one in analysis.advice:
        key = one.kind, one.cell.partition("/")[0] if by_case else ""
        if (by_case or one.helps) and (
            key not in best or best[key].gain.ratio.value < one.gain.ratio.value
        ):
            best[key] = one
    return list(best.values())
