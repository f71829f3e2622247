"""Why a script is slow and what to write: one screen, and behind it all that was tried.

A share, a gain and a standing are the analysis's; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator

from suite.analysis.result.numbers import Estimate
from suite.analysis.result.why import Answer, ArmSpeed, Named, Tried
from suite.report.pictures.picture import Picture
from suite.report.pictures.why import depict_why
from suite.report.sections.environment import SOMEWHERE
from suite.report.sections.opening import name_machine
from suite.report.text.page import NO_NUMBER, Cell, Code, Page, Row, Strong
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    join_first,
    join_words,
    show_duration,
    show_gain,
    show_money,
    show_seconds,
    show_share,
    show_things,
    show_times,
    show_whole,
)
from suite.report.text.wording import name_banners

_WORDS, _CAUSES, _LISTED = TEXTS["why"], TEXTS["why-causes"], TEXTS["why-tried"]

_MOST = 4
"""Tries of one kind that a screen names; the table has all."""


def compose_why(answer: Answer, undrawn: str | None = None) -> Page:
    """``why.md`` and ``why.html``; ``undrawn`` is why there is no picture."""
    page = Page(name_banners(answer.flags))
    _write_answer(page, answer, room=len(answer.tried))
    if (picture := depict_why(answer)) is not None:
        _write_picture(page, picture, undrawn)
    page.heading("All that was tried")
    page.paragraph(_WORDS["about-tried"])
    page.table(_WORDS["tried"], _list_tries(answer))
    page.footnotes()
    page.heading("How to reproduce it")
    page.paragraph(_WORDS["identity"].format(**_identify(answer)))
    page.code(answer.command)
    page.paragraph(_WORDS["rebuild"])
    page.code(f"make report RUN={SOMEWHERE}/{answer.folder}")
    page.paragraph(_WORDS["evidence"])
    page.code(f"make defend RUN={SOMEWHERE}/{answer.folder} CELL=try")
    return page


def compose_why_screen(answer: Answer) -> Page:
    """What a terminal shows of it."""
    page = Page(name_banners(answer.flags), whole="why.md")
    _write_answer(page, answer, room=_MOST)
    return page


def name_arm(answer: Answer, arm: str) -> str:
    """``the CPU`` or ``the GPU``; the arm's own name where several are of that kind."""
    gpu = answer.arms[arm].gpu
    alone = [speed.gpu for speed in answer.arms.values()].count(gpu) == 1
    return f"the {'GPU' if gpu else 'CPU'}" if alone else arm


def word_training(speed: ArmSpeed, training: str | None) -> str:
    """What a change makes of the training, and after how many steps the weights were compared."""
    if training is None:
        return NO_NUMBER
    after = f" after {show_things(speed.compared_after, 'step')}" if speed.compared_after else ""
    return TEXTS["why-training"][training].format(after=after)


def _write_answer(page: Page, answer: Answer, room: int) -> None:
    page.title(_WORDS["title"].format(script=answer.script))
    page.paragraph(" ".join(_describe_times(answer)))
    for arm, speed in answer.arms.items():
        page.paragraph(Strong(_decide(answer, arm, speed)))
    page.table(_WORDS["causes"], _list_causes(answer))
    page.bullets(
        (Strong(f"{topic}:"), f" {text}") for topic, text in _describe_rest(answer, room) if text
    )


def _write_picture(page: Page, picture: Picture, undrawn: str | None) -> None:
    if undrawn is not None:
        page.paragraph(undrawn)
    else:
        page.figure(picture.name, alt=picture.alt, caption=picture.caption)


def _describe_times(answer: Answer) -> Iterator[str]:
    """How long a step takes on each arm of this machine, and what comes besides."""
    timed = {
        arm: speed
        for arm, speed in answer.arms.items()
        if speed.step is not None and speed.standing != "simulated"
    }
    versions = dict.fromkeys(s.tensorflow for s in answer.arms.values() if s.tensorflow)
    machine = "; ".join([name_machine(answer.machine), *(f"TensorFlow {v}" for v in versions)])
    if not timed:
        yield f"{machine}."
        return
    steps = [
        f"{show_seconds(speed.step)} on {name_arm(answer, arm)}"
        for arm, speed in timed.items()
        if speed.step
    ]
    yield _WORDS["step"].format(machine=machine, steps=join_words(steps))
    for arm, ratio in answer.ratios.items():
        if arm in timed and next(iter(answer.arms)) in timed:
            yield _WORDS["ratio"].format(
                gain=show_gain(_turn(ratio)),
                arm=name_arm(answer, arm),
                base=name_arm(answer, next(iter(answer.arms))),
            )
    besides = [
        f"{show_duration(speed.setup_s or 0.0)} and {show_duration(speed.first_step_s)} on "
        f"{name_arm(answer, arm)}"
        for arm, speed in timed.items()
        if speed.first_step_s is not None
    ]
    if besides:
        yield _WORDS["besides"].format(besides=join_words(besides))


def _turn(ratio: Estimate) -> tuple[float, float | None, float | None]:
    """A ratio of times the other way round: how many times as fast."""
    return 1 / ratio.value, ratio.high and 1 / ratio.high, ratio.low and 1 / ratio.low


def _decide(answer: Answer, arm: str, speed: ArmSpeed) -> str:
    """How the question ended on an arm."""
    named = [
        f"{show_share(cause.share)} of the time to {_CAUSES[cause.cause]}"
        for cause in answer.find_causes(arm)
    ]
    faster = [
        name_arm(answer, other)
        for other, rival in answer.arms.items()
        if rival.standing != "simulated" and _is_faster(answer, other, arm)
    ]
    code: str = speed.standing
    if code == "nothing" and faster:
        code = "nothing-slower"
    return TEXTS["why-standing"][code].format(
        arm=name_arm(answer, arm),
        named=join_words(named or ["nothing"]),
        faster=join_words(faster or ["nothing"]),
        times="" if speed.repeats is None else show_times(speed.repeats),
        reason=speed.reason.rstrip("."),
    )


def _is_faster(answer: Answer, one: str, other: str) -> bool:
    """Whether an arm is shown to be faster than another, of which one is the first."""
    base = next(iter(answer.arms))
    if other == base and one in answer.ratios:
        return answer.ratios[one].most < 1
    return one == base and other in answer.ratios and answer.ratios[other].least > 1


def _list_causes(answer: Answer) -> Iterator[Row]:
    """A row a cause, the heaviest first: what to write, what it gives, and what becomes of the training."""
    rows = {cause.fix.name: n for n, cause in enumerate(answer.causes, 1) if cause.fix}
    for number, cause in enumerate(answer.causes, 1):
        yield {
            "why": f"{number}. {cause.cause}, {show_share(cause.share)} on {name_arm(answer, cause.arm)}",
            **_tell_fix(answer, cause, rows),
        }


def _tell_fix(answer: Answer, cause: Named, rows: dict[str, int]) -> Row:
    fix, place = cause.fix, "" if cause.line is None else f"line {cause.line}: "
    if fix is None:
        most = cause.ceilings[0] if cause.ceilings else None
        return {
            "write": f"{place}{_WORDS['no-line']}",
            "gives": f"at most {show_gain(most.gain)}" if most else NO_NUMBER,
            "the training": "",
        }
    at = "" if fix.line is None else f"line {fix.line}: "
    on = [f"{rows.get(name, name)}" for name in cause.on]
    return {
        "write": f"{at}{fix.text}" + (f" (needs {fix.needs})" if fix.needs else ""),
        "gives": show_gain(fix.gain) + (f" on top of {join_words(on)}" if on else ""),
        "the training": word_training(answer.arms[cause.arm], fix.training),
    }


def _describe_rest(answer: Answer, room: int) -> Iterator[tuple[str, str]]:
    """By topic what else there is to say."""
    yield "Together", "; ".join(_describe_together(answer))
    yield "At most", "; ".join(
        f"{show_gain(ceiling.gain)} ({cause.cause}: {ceiling.text})"
        for cause in answer.causes
        for ceiling in cause.ceilings[:room]
    )
    yield "Not explained", "; ".join(
        _WORDS["unknown"].format(share=show_share(speed.unknown), arm=name_arm(answer, arm))
        for arm, speed in answer.arms.items()
        if speed.unknown and speed.standing == "named"
    )
    yield "CPU or GPU", _describe_batches(answer)
    yield "Cost", _describe_cost(answer)
    for standing, topic in _LISTED.items():
        yield topic, _list_standing(answer, standing, room)
    yield "Ended early", answer.stopped or ""
    notes = dict.fromkeys(note for speed in answer.arms.values() for note in speed.notes)
    yield "Notes", "; ".join(notes)
    runs = sum(speed.runs for speed in answer.arms.values())
    spent = sum(speed.spent_s for speed in answer.arms.values())
    yield "Measured", f"{show_things(runs, 'run')} of the script in {show_duration(spent)}."


def _describe_together(answer: Answer) -> Iterator[str]:
    for arm, together in answer.together.items():
        if len(together.tries) > 1:
            yield _WORDS["together"].format(
                tries=join_words(together.tries),
                gain=show_gain(together.gain),
                step=show_seconds(together.step),
                arm=name_arm(answer, arm),
                training=word_training(answer.arms[arm], together.training),
            )


def _describe_batches(answer: Answer) -> str:
    """From which batch on the GPU wins, or how the two stand at those that both had."""
    if answer.gpu_wins_from is not None:
        return _WORDS["wins-from"].format(batch=answer.gpu_wins_from)
    at = [
        f"{show_gain(_turn(ratio))} at batch {batch}" for batch, ratio in answer.by_batch.items()
    ]
    return _WORDS["wins-unknown"].format(at=join_words(at)) if at else ""


def _describe_cost(answer: Answer) -> str:
    price = answer.price
    if price is None:
        return ""
    costs = [
        f"{show_money(speed.epoch_cost, price.currency)} on {name_arm(answer, arm)}"
        for arm, speed in answer.arms.items()
        if speed.epoch_cost and speed.standing != "simulated"
    ]
    hourly = show_money(price.hourly, price.currency)
    return _WORDS["cost" if costs else "no-cost"].format(
        costs=join_words(costs or ["nothing"]), hourly=hourly
    )


def _list_standing(answer: Answer, standing: str, room: int) -> str:
    """The tries of a standing by name, each with what there is to say of it; not those that a cause names."""
    chosen = {(cause.arm, cause.fix.name) for cause in answer.causes if cause.fix}
    several = len(answer.arms) > 1
    texts = {
        (tried.arm, tried.name): f"{tried.name}{f' on {tried.arm}' if several else ''}"
        f"{_tell_try(tried)}"
        for tried in answer.tried
        if tried.standing == standing
        and (tried.arm, tried.name) not in chosen
        and (tried.kind == "fix" or standing != "helps")
    }
    return join_first(room, list(texts.values()))


def _tell_try(tried: Tried) -> str:
    if tried.gain is not None and tried.standing in {"helps", "no gain", "undecided"}:
        return f" {show_gain(tried.gain)}"
    return f" ({tried.reason})" if tried.reason else ""


def _list_tries(answer: Answer) -> Iterator[Row]:
    for tried in answer.tried:
        speed, gain = answer.arms[tried.arm], tried.gain
        no_time = speed.standing == "simulated"
        notes = (TEXTS["why-standing"]["no-time"],) if no_time and gain else ()
        yield {
            "try": tried.name,
            "arm": tried.arm,
            "line": NO_NUMBER if tried.line is None else show_whole(tried.line),
            "what it changes": tried.text + (f" (needs {tried.needs})" if tried.needs else ""),
            "on top of": join_words(tried.on) if tried.on else "",
            "wall time": Cell(show_gain(gain) if gain else NO_NUMBER, notes, struck=bool(notes)),
            "pairs": show_whole(gain.n) if gain else NO_NUMBER,
            "CPU time": NO_NUMBER if tried.cpu_gain is None else show_gain(tried.cpu_gain),
            "the training": word_training(speed, tried.training),
            "came out": f"{tried.kind}: {tried.standing}"
            + (f" ({tried.reason})" if tried.reason else ""),
        }


def _identify(answer: Answer) -> dict[str, str]:
    arguments = f" with the arguments {' '.join(answer.arguments)}" if answer.arguments else ""
    return {
        "script": answer.script,
        "arguments": arguments,
        "hash": answer.hash,
        "created": answer.created.isoformat(),
        "version": answer.suite.version,
        "commit": answer.suite.commit or "unknown",
        "budget": show_duration(answer.budget_s),
    }
