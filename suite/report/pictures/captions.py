"""What several pictures have in common: marks of results, and sentences on what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult
from suite.analysis.result.numbers import FEWEST, derive_rate
from suite.report.pictures.picture import Content, Mark, Picture
from suite.report.text.wording import name_banners


def title_picture(
    analysis: Analysis,
    name: str,
    title: str,
    content: Content,
    *,
    caption: Iterable[str],
    told: Iterable[str],
    tables: Iterable[str] = (),
) -> Picture:
    """A picture of an analysis; ``caption`` and ``told`` are sentences, those that say what it shows."""
    return Picture(
        name=name,
        title=title,
        caption=" ".join(caption),
        alt=" ".join([f"{title}.", *told]),
        tables=tuple(tables),
        arms=tuple(analysis.arms),
        banner=" · ".join(name_banners(analysis.flags)),
        content=content,
    )


def mark_time(result: ArmResult) -> Mark | None:
    """An arm's time of a cell, in seconds a call."""
    found = result.estimate
    if found is None:
        return None
    return Mark(value=found.value, low=found.low, high=found.high, struck=bool(result.invalid))


def mark_rate(result: ArmResult) -> Mark | None:
    """An arm's rate in a cell, in work a second; None also where there is no work to count."""
    rate = result.rate
    if rate is None:
        return None
    low, high = (
        derive_rate(result.work.amount, end) if end is not None else None
        for end in (result.high, result.low)
    )
    return Mark(value=rate, low=low, high=high, struck=bool(result.invalid))


def explain_marks(marks: Iterable[Mark | None]) -> list[str]:
    """How to read these marks: their intervals, and those that are invalid."""
    seen = [mark for mark in marks if mark is not None]
    bare = [mark for mark in seen if mark.low is None or mark.high is None]
    sentences = []
    if len(bare) < len(seen):
        sentences.append("Bars are 95 % CIs.")
    if bare and len(bare) == len(seen):
        sentences.append(f"There are no intervals: fewer than {FEWEST} blocks.")
    elif bare:
        sentences.append("A mark without a bar has no interval.")
    if any(mark.struck for mark in seen):
        sentences.append("Hollow, crossed marks are INVALID: not to be believed.")
    return sentences


def tell_missing(missing: Sequence[str]) -> list[str]:
    """``No number: cpu at n = 10000.``; nothing where none is missing."""
    return [f"No number: {'; '.join(missing)}."] if missing else []
