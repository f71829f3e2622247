"""The picture of why a script is slow: a step today, with each change, with the best ones, and at most."""

from __future__ import annotations

from collections.abc import Iterator

from suite.analysis.result.numbers import Estimate
from suite.analysis.result.why import Answer, ArmSpeed, Tried
from suite.report.pictures.captions import title_picture
from suite.report.pictures.picture import WHY, Dots, Mark, Panel, Picture
from suite.report.text.texts import TEXTS
from suite.report.text.units import join_words, show_seconds

_MOST = 7
"""Changes of an arm that are drawn, and ceilings: the best of each."""

_WORDS = TEXTS["why-picture"]


def depict_why(answer: Answer) -> Picture | None:
    """A panel an arm; None where no arm has times of both the script and a change."""
    panels = tuple(
        Panel(title=arm, places=tuple(rows), marks={arm: tuple(rows.values())})
        for arm, speed in answer.arms.items()
        if speed.standing != "simulated" and len(rows := dict(_list_rows(answer, arm, speed))) > 1
    )
    if not panels:
        return None
    return title_picture(
        answer,
        WHY,
        _name_best(answer),
        Dots(label="time of a training step", panels=panels),
        caption=[_WORDS["caption"], _WORDS["joint"]],
    )


def _list_rows(answer: Answer, arm: str, speed: ArmSpeed) -> Iterator[tuple[str, Mark]]:
    """The rows of an arm, from top to bottom; only changes of the script as it is, each on its own."""
    if (step := speed.step) is None:
        return
    yield _WORDS["today"], Mark(value=step.value, low=step.low, high=step.high)
    gains = [
        (gain, tried)
        for tried in answer.tried
        if tried.arm == arm and not tried.on and (gain := tried.gain)
    ]
    gains.sort(key=lambda pair: -pair[0].value)
    for gain, tried in [pair for pair in gains if pair[1].kind == "fix"][:_MOST]:
        yield _name(tried), _divide(step, gain)
    if together := answer.together.get(arm):
        words = _WORDS["together"].format(tries=join_words(together.tries))
        yield words, _divide(step, together.gain)
    for gain, tried in [pair for pair in gains if pair[1].kind == "ceiling"][-_MOST:]:
        yield _WORDS["ceiling"].format(text=_name(tried)), _divide(step, gain)


def _divide(step: Estimate, gain: Estimate) -> Mark:
    """A step's time after a gain, as sure as the gain is."""
    low, high = gain.high and step.value / gain.high, gain.low and step.value / gain.low
    return Mark(value=step.value / gain.value, low=low, high=high)


def _name(tried: Tried) -> str:
    return tried.text if tried.line is None else f"line {tried.line}: {tried.text}"


def _name_best(answer: Answer) -> str:
    """What to see: the largest gain that changes give together, or one alone."""
    best = {
        arm: (together.gain, join_words(together.tries))
        for arm, together in answer.together.items()
    }
    for cause in answer.causes:
        if cause.fix and not cause.on:
            best.setdefault(cause.arm, (cause.fix.gain, cause.fix.name))
    if not best:
        return _WORDS["nothing"].format(script=answer.script)
    arm, (gain, what) = max(best.items(), key=lambda item: item[1][0].value)
    step = answer.arms[arm].step
    before = step.value if step else 0.0
    after = show_seconds(before / gain.value)
    return _WORDS["better"].format(
        script=answer.script, before=show_seconds(before), arm=arm, after=after, what=what
    )
