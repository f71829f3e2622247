"""What is left of a rate when work goes on.  Words only."""

from __future__ import annotations

from collections.abc import Iterator

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.sustained import Ends, Sustained
from suite.report.text.evidence import word_evidence
from suite.report.text.page import NO_NUMBER, Page, Row
from suite.report.text.texts import TEXTS
from suite.report.text.units import show_duration, show_rate, show_share
from suite.report.text.wording import word, word_held

DIPPED = 0.9
"""What was lower for a while is told of, though it came back."""


def describe_falls(analysis: Analysis) -> Iterator[str]:
    """What falls far when it is hot, which must not be missed."""
    for kept in analysis.sustained:
        for flag in kept.flags:
            yield f"{word(flag)}."


def describe_sustained(analysis: Analysis) -> Iterator[str]:
    """A sentence on every arm that kept work going: what is left of each rate, or why nobody knows."""
    by_arm: dict[str, list[Sustained]] = {}
    for kept in analysis.sustained:
        by_arm.setdefault(kept.arm, []).append(kept)
    for arm, every in by_arm.items():
        whole = max(kept.seconds or kept.planned_s for kept in every)
        words = "; ".join(f"{TEXTS['kept-going'][kept.what]} {_describe(kept)}" for kept in every)
        yield f"{arm}: kept going for {show_duration(whole)}, {words}."


def _describe(kept: Sustained) -> str:
    if kept.left is None or kept.shape is None:
        return f"have no number ({_explain(kept)})"
    fell, dipped = show_duration(kept.fell_at_s or 0.0), ""
    if kept.shape != "fell" and kept.lowest is not None and kept.lowest < DIPPED:
        dipped = TEXTS["shapes"]["dipped"].format(lowest=show_share(kept.lowest))
    words = TEXTS["shapes"][kept.shape]
    return f"{words.format(left=_show_left(kept), fell=fell, held=word_held(kept.held))}{dipped}"


def _explain(kept: Sustained) -> str:
    reason = kept.reason if isinstance(kept.reason, str) else word_evidence(kept.reason)
    return f"{kept.outcome}: {reason}" if reason else kept.outcome


def _show_left(kept: Sustained) -> str:
    left = kept.left
    if left is None:
        return NO_NUMBER
    if left.low is None or left.high is None:
        return show_share(left.value)
    return f"{show_share(left.value)} ({show_share(left.low)} to {show_share(left.high)})"


def write_sustained(page: Page, analysis: Analysis) -> None:
    """The section on what is left when hot; absent where nothing was kept going."""
    if not analysis.sustained:
        return
    page.heading("What is left when hot")
    seconds = show_duration(max(kept.planned_s for kept in analysis.sustained))
    page.paragraph(TEXTS["about"]["hot"].format(seconds=seconds))
    measured = [kept for kept in analysis.sustained if kept.left is not None]
    page.table(TEXTS["captions"]["hot"], [_tabulate(kept) for kept in measured])
    page.bullets(
        [
            f"{kept.arm}: {TEXTS['kept-going'][kept.what]} have no number: {_explain(kept)}."
            for kept in analysis.sustained
            if kept.left is None
        ]
    )


def _tabulate(kept: Sustained) -> Row:
    return {
        "arm": kept.arm,
        "kept going": f"{TEXTS['kept-going'][kept.what]}, {show_duration(kept.seconds)}",
        "first 2 s": _show_rate(kept, begin=True),
        "at the end": f"{_show_rate(kept, begin=False)} (last {show_duration(kept.end_s)})",
        "left": _show_left(kept),
        "lowest": NO_NUMBER if kept.lowest is None else show_share(kept.lowest),
        "fell after": NO_NUMBER if kept.fell_at_s is None else show_duration(kept.fell_at_s),
        "held by": word_held(kept.held) or NO_NUMBER,
        "clock": _show_ends(kept.clock_mhz, "MHz"),
        "power": _show_ends(kept.power_w, "W"),
        "temperature": _show_ends(kept.temperature_c, "°C"),
    }


def _show_rate(kept: Sustained, *, begin: bool) -> str:
    rate = kept.begin if begin else kept.end
    return NO_NUMBER if rate is None else show_rate(rate, kept.unit, 1.0) or NO_NUMBER


def _show_ends(ends: Ends, unit: str) -> str:
    """``1,590 to 900 MHz``; what is not known is said to be."""
    if ends.begin is None and ends.end is None:
        return "unknown"
    begin, end = ("unknown" if v is None else f"{v:,.0f}" for v in (ends.begin, ends.end))
    return f"{begin} to {end} {unit}"
