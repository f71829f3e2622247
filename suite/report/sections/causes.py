"""The sections that say why: a cause for every cell that the GPU loses, and what would help.

Words only; what is true is decided in `explain` and `advice`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from suite.analysis.campaign.summarise import Summary
from suite.analysis.causes.advice import Help
from suite.analysis.causes.explain import Case, Cause
from suite.analysis.causes.insight import Insight
from suite.analysis.causes.rules import RULES
from suite.report.text.evidence import CHANGES, word_advice, word_evidence
from suite.report.text.markup import escape
from suite.report.text.names import Show, name_cells, name_place
from suite.report.text.page import Page
from suite.report.text.units import show_gain, show_ratio, show_share, show_things

LONGEST = 900
"""Characters of an evidence in a table's cell."""


def tell_causes(insight: Insight, show: Show) -> list[str]:
    """The sentences for the report's opening: what explains the losses, and what helps most."""
    sentences = []
    gpu = show(insight.catalogue.gpu or "")
    losses = [case for case in insight.cases if case.loses]
    if losses:
        first = Counter(case.causes[0].rule for case in losses)
        parts = [f"{rule} in {first[rule]}" for rule in RULES if first[rule]]
        parts.sort(key=lambda part: -int(part.rsplit(" ", 1)[1]))
        cells = show_things(len(losses), "cell")
        sentences.append(f"Why {gpu} loses {cells}: first of all {', '.join(parts)}.")
    helping = [
        f"{CHANGES[one.kind]} ({_show_gain(one)})" for one in _find_best(insight, by_case=False)
    ]
    if helping:
        sentences.append(f"What would help, at best: {'; '.join(helping)}.")
    for one in insight.misled:
        if one.reverses:
            fixed = "".join(f", {axis}={value}" for axis, value in one.other.fixed.items())
            sentences.append(
                f"The script of people who ask ({show(one.other.case.title + fixed)}) names the wrong "
                f"winner of {show(name_place(one.other))} and {show(name_place(one.base))}."
            )
            break
    return sentences


def write_causes(page: Page, summary: Summary, insight: Insight) -> None:
    """The section "Why the CPU wins where it does"; absent where there are not both arms."""
    if not insight.two_arms:
        return
    cpu, gpu = (escape(arm or "") for arm in (insight.catalogue.cpu, insight.catalogue.gpu))
    page.heading("Why the CPU wins where it does")
    losses = [case for case in insight.cases if case.loses]
    wasted = [case for case in insight.cases if not case.loses]
    if not losses:
        arms = [insight.catalogue.cpu or "", insight.catalogue.gpu or ""]
        judged = any(
            all(one.arms[arm].estimate and not one.arms[arm].invalid for arm in arms)
            for one in summary.cells
        )
        page.paragraph(
            f"{gpu} loses no cell that could be judged." if judged else "No cell could be judged."
        )
    if insight.cases:
        page.paragraph(
            "The cause that explains most of a cell's time stands first, with the share that it "
            "explains. Confirmed: an independent witness agrees, which is another cell that leaves "
            "the cause out, or the measured price of it. Suspected: there is none, or it does not "
            "agree. A gain is measured, a unit of work against the same unit."
        )
    names = name_cells([one.cell for one in summary.cells], escape)[0]
    if losses:
        provisional = any(case.provisional for case in losses)
        note = " Provisional: the cell has no verdict, only a ratio." if provisional else ""
        page.table(
            f"Table: every cell in which {gpu} is slower than {cpu}, and why.{note}",
            ["cell", f"{gpu} against {cpu}", "cause", "evidence", "advice, and what it gained"],
            [_list_case(case, names, cpu, gpu) for case in losses],
        )
    if wasted:
        page.heading(f"Where {gpu} does not lose, and is mostly idle", level=3)
        page.table(
            f"Table: cells in which {gpu} reaches under a tenth of its own best rate at the "
            "precision.",
            ["cell", f"{gpu} against {cpu}", "of its best", "cause", "evidence"],
            [
                [
                    names[case.cell.cell.id],
                    _show_ratio(case, cpu, gpu),
                    show_share(case.use or 0.0, 1.0),
                    _name_causes(case.causes),
                    _word_evidence(case.causes),
                ]
                for case in wasted
            ],
            right=(2,),
        )


def write_advice(page: Page, summary: Summary, insight: Insight) -> None:
    """The section "What would help most": every measured pair, in the fixed order."""
    if not insight.advice:
        return
    page.heading("What would help most")
    names = name_cells([one.cell for one in summary.cells], escape)[0]
    arm = escape(insight.advice[0].arm)
    shown = _find_best(insight, by_case=True)
    page.paragraph(
        f"Measured on {arm}, cell against cell, a unit of work against the same unit. What did not "
        "help is shown too."
    )
    page.table(
        f"Table: what helps on {arm}, and by how much.",
        ["change", "from", "to", "takes", "helps"],
        [
            [
                CHANGES[one.kind],
                names.get(one.cell, escape(one.cell)),
                escape(word_evidence(one.gain.how)),
                _show_gain(one),
                "yes" if one.helps else "no",
            ]
            for one in shown
        ],
    )
    if len(shown) < len(insight.advice):
        page.paragraph(
            f"Of each kind and case the largest gain; all {len(insight.advice)} stand in "
            "`summary.json`."
        )
    hopeless = sum(case.hopeless for case in insight.cases)
    if hopeless:
        page.paragraph(
            f"The CPU is the right device for {hopeless} of the cells above: the GPU wins at "
            "no variant of the same work that was measured."
        )


def _list_case(case: Case, names: Mapping[str, str], cpu: str, gpu: str) -> list[str]:
    ratio = _show_ratio(case, cpu, gpu) + (" (provisional)" if case.provisional else "")
    advice = escape(word_advice(case, case.causes[0]))
    gains = [cause.gain for cause in case.causes if cause.gain is not None]
    # What helps where the GPU wins all the same at no variant would be no help.
    if gains and not case.hopeless:
        ratio_of = gains[0].ratio
        times = show_gain(ratio_of.value, ratio_of.low, ratio_of.high)
        advice += f": {times} a unit of work {escape(word_evidence(gains[0].how))}"
    if case.winner is not None and case.winner is not case.cell:
        advice += f"; {gpu} wins at {names[case.winner.cell.id]}"
    return [
        names[case.cell.cell.id],
        ratio,
        _name_causes(case.causes),
        _word_evidence(case.causes),
        advice,
    ]


def _name_causes(causes: Sequence[Cause]) -> str:
    """``overhead, 91.0 %, confirmed; then too small, suspected``."""
    parts = []
    for cause in causes:
        share = f", {show_share(cause.share, 1.0)}" if cause.share is not None else ""
        known = "confirmed" if cause.confirmed else "suspected"
        parts.append(cause.rule if cause.rule == "unknown" else f"{cause.rule}{share}, {known}")
    return "; then ".join(parts)


def _word_evidence(causes: Sequence[Cause]) -> str:
    if len(causes) == 1:
        return escape(word_evidence(*causes[0].evidence), limit=LONGEST)
    return " ".join(
        f"{one.rule}: {escape(word_evidence(*one.evidence), limit=LONGEST)}." for one in causes
    )


def _show_ratio(case: Case, cpu: str, gpu: str) -> str:
    ratio = case.ratio
    return show_ratio(ratio.value, ratio.low, ratio.high, other=gpu, base=cpu)


def _show_gain(one: Help) -> str:
    ratio = one.gain.ratio
    return show_gain(ratio.value, ratio.low, ratio.high)


def _find_best(insight: Insight, *, by_case: bool) -> list[Help]:
    """Of each kind, and each case if asked, what helped most; in the fixed order of the kinds.

    Of all cases together only what helps at all.
    """
    best: dict[tuple[str, str], Help] = {}
    for one in insight.advice:
        key = one.kind, one.cell.partition("/")[0] if by_case else ""
        if (by_case or one.helps) and (
            key not in best or best[key].gain.ratio.value < one.gain.ratio.value
        ):
            best[key] = one
    return list(best.values())
