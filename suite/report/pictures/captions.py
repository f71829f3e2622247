"""What several pictures have in common: marks of results, and sentences on what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult
from suite.analysis.result.numbers import FEWEST, derive_rate
from suite.analysis.result.why import Answer
from suite.report.pictures.picture import Content, Dots, Mark, Picture, Ratios, Sweeps
from suite.report.text.wording import name_banners


def title_picture(
    analysis: Analysis | Answer,
    name: str,
    title: str,
    content: Content,
    *,
    caption: Iterable[str],
    missing: Iterable[str] = (),
    tables: Iterable[str] = (),
) -> Picture:
    """A picture of an analysis; ``caption`` are the sentences that say how to read it.

    ``missing`` are the numbers that there are not, such as ``cpu at n = 10000``.
    """
    panels = content.panels if isinstance(content, Sweeps | Ratios | Dots) else ()
    aids = _explain_marks([mark for panel in panels for mark in panel.drawn]) if panels else []
    lost = [f"No number: {names}."] if (names := "; ".join(missing)) else []
    return Picture(
        name=name,
        title=title,
        caption=" ".join([*caption, *aids, *lost]),
        tables=tuple(tables),
        arms=tuple(analysis.arms),
        banner=" · ".join(name_banners(analysis.flags)),
        content=content,
    )


def mark_time(
    result: ArmResult, turn: Callable[[float], float | None] = lambda seconds: seconds
) -> Mark | None:
    """An arm's time of a cell, in seconds a call, or what that is turned into; None: there is none."""
    value, low, high = (
        None if seconds is None else turn(seconds)
        for seconds in (result.value, result.low, result.high)
    )
    if value is None:
        return None
    if low is not None and high is not None:
        low, high = min(low, high), max(low, high)
    return Mark(value=value, low=low, high=high, struck=bool(result.invalid))


def mark_rate(result: ArmResult) -> Mark | None:
    """An arm's rate in a cell, in work a second; None also where there is no work to count."""
    return mark_time(result, lambda seconds: derive_rate(result.work.amount, seconds))


def _explain_marks(marks: Sequence[Mark]) -> list[str]:
    """How to read these marks: their intervals, and those that are invalid."""
    bare = sum(mark.low is None or mark.high is None for mark in marks)
    sentences = {
        "Bars are 95 % CIs.": bare < len(marks),
        f"There are no intervals: fewer than {FEWEST} blocks.": bare == len(marks),
        "A mark without a bar has no interval.": 0 < bare < len(marks),
        "Hollow, crossed marks are INVALID: not to be believed.": any(m.struck for m in marks),
    }
    return [sentence for sentence, holds in sentences.items() if holds]
