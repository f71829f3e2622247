"""The picture of why a script is slow: a step today, with each change, with the best ones, and at most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from suite.analysis.result.numbers import Estimate
from suite.analysis.result.why import Answer
from suite.report.pictures.captions import title_picture
from suite.report.pictures.picture import WHY, Dots, Mark, Panel, Picture
from suite.report.text.texts import TEXTS
from suite.report.text.units import join_words, show_seconds

_MOST = 12
"""Rows that fit on half a page; the table has all."""

_WORDS = TEXTS["why-picture"]


def depict_why(answer: Answer) -> Picture | None:
    """A row for each change, with a mark an arm; None where no arm has times of the script and a change."""
    timed = {
        arm: step
        for arm, speed in answer.arms.items()
        if (step := speed.step) and speed.standing != "simulated"
    }
    rows: dict[str, dict[str, Mark]] = {}
    for label, arm, mark in _list_marks(answer, timed):
        if len(rows) < _MOST or label in rows:
            rows.setdefault(label, {})[arm] = mark
    if len(rows) < 2:
        return None
    marks = {arm: tuple(row.get(arm) for row in rows.values()) for arm in timed}
    panel = Panel(title=answer.script, places=tuple(rows), marks=marks)
    return title_picture(
        answer,
        WHY,
        _name_best(answer, timed),
        Dots(label=_WORDS["axis"], panels=(panel,)),
        caption=[_WORDS["caption"], _WORDS["joint"]],
    )


def _list_marks(answer: Answer, timed: Mapping[str, Estimate]) -> Iterator[tuple[str, str, Mark]]:
    """What stands in which row, of which arm: today, the ceilings, the best together, and changes of the
    script as it is, the best first."""
    for arm, step in timed.items():
        yield _WORDS["today"], arm, Mark(value=step.value, low=step.low, high=step.high)
    for arm, together in answer.together.items():
        if arm in timed and len(together.tries) > 1:
            label = _WORDS["together"].format(tries=join_words(together.tries))
            yield label, arm, _divide(timed[arm], together.gain)
    gains = [
        (gain, tried)
        for tried in answer.tried
        if (gain := tried.gain) and tried.arm in timed and not tried.on
    ]
    for gain, tried in sorted(gains, key=lambda pair: -pair[0].value):
        label = tried.text if tried.line is None else f"line {tried.line}: {tried.text}"
        label = label if tried.kind == "fix" else _WORDS["ceiling"].format(text=label)
        yield label, tried.arm, _divide(timed[tried.arm], gain)


def _divide(step: Estimate, gain: Estimate) -> Mark:
    """A step's time after a gain, as sure as the gain is."""
    low, high = gain.high and step.value / gain.high, gain.low and step.value / gain.low
    return Mark(value=step.value / gain.value, low=low, high=high)


def _name_best(answer: Answer, timed: Mapping[str, Estimate]) -> str:
    """What to see: the largest gain that changes give together, or one alone."""
    best = [(of.gain.value, arm, join_words(of.tries)) for arm, of in answer.together.items()]
    best += [
        (cause.fix.gain.value, cause.arm, cause.fix.name)
        for cause in answer.causes
        if cause.fix and not cause.on
    ]
    best = [(gain, arm, what) for gain, arm, what in best if arm in timed]
    if not best:
        nothing = all(speed.standing == "nothing" for speed in answer.arms.values())
        return _WORDS["nothing" if nothing else "open"].format(script=answer.script)
    gain, arm, what = max(best)
    return _WORDS["better"].format(
        script=answer.script,
        before=show_seconds(timed[arm].value),
        arm=arm,
        after=show_seconds(timed[arm].value / gain),
        what=what,
    )
