"""Why a script is slow and what to write: one screen, and behind it all that was tried.

A share, a gain and a standing are the analysis's; nothing is decided here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from suite.analysis.result.receipt import TryReceipt, Turn
from suite.analysis.result.why import Answer, ArmSpeed, Change, Tried
from suite.report.pictures.why import depict_why
from suite.report.sections.environment import SOMEWHERE
from suite.report.sections.opening import name_machine
from suite.report.text.evidence import word_evidence
from suite.report.text.page import NO_NUMBER, Cell, Page, Row, Strong
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    Known,
    join_first,
    join_words,
    show_duration,
    show_gain,
    show_money,
    show_percent,
    show_relative,
    show_seconds,
    show_things,
    show_times,
    show_whole,
)
from suite.report.text.wording import name_banners

_WORDS, _CAUSES = TEXTS["why"], TEXTS["why-causes"]

_MOST = 4
"""Tries of one kind that a screen names; the table has all."""


def compose_why(answer: Answer, undrawn: str | None = None) -> Page:
    """``why.md`` and ``why.html``; ``undrawn`` is why there is no picture."""
    page = _begin(answer)
    page.bullets((Strong(_describe_end(answer, arm)),) for arm in answer.arms)
    page.table(_WORDS["causes"], _list_causes(answer))
    _write_rest(page, answer, room=len(answer.tried))
    picture = depict_why(answer)
    if picture is not None and undrawn is not None:
        page.paragraph(undrawn)
    elif picture is not None:
        page.figure(picture.name, alt=picture.alt, caption=picture.caption)
    page.heading("All that was tried")
    page.paragraph(_WORDS["about-tried"])
    page.table(_WORDS["tried"], _list_tries(answer, answer.tried))
    page.table(_WORDS["timed"], _list_speeds(answer))
    page.footnotes()
    page.heading("How to reproduce it")
    _write_identity(page, answer)
    page.paragraph(_WORDS["rebuild"])
    page.code(f"make report RUN={SOMEWHERE}/{answer.folder}")
    page.paragraph(_WORDS["evidence"])
    page.code(f"make defend RUN={SOMEWHERE}/{answer.folder} CELL=try")
    page.paragraph(_WORDS["lines" if answer.text is None else "text"])
    return page


def compose_why_screen(answer: Answer) -> Page:
    """What a terminal shows of it."""
    page = _begin(answer)
    for arm, speed in answer.arms.items():
        if speed.standing != "named":
            page.paragraph(Strong(_describe_end(answer, arm)))
    for row in _list_causes(answer):
        why, *rest = (text for text in row.values() if text != NO_NUMBER)
        page.paragraph(Strong(f"{why}. {'; '.join(map(str, rest))}"))
    _write_rest(page, answer, room=_MOST)
    return page


def compose_try(answer: Answer, receipt: TryReceipt) -> Page:
    """The evidence behind one try: every run that its gain rests on, and where it lies."""
    page = Page(name_banners(answer.flags))
    page.title(f"How do you know? {receipt.cell}")
    _write_identity(page, answer)
    own = (tried for tried in answer.tried if tried.name == receipt.cell)
    page.table(_WORDS["claim"], _list_tries(answer, own))
    turns = receipt.runs
    page.table(_WORDS["pairs"], [_show_pair(turns, *pair) for pair in receipt.pairs])
    page.table(_WORDS["runs"], [_show_run(number, turn) for number, turn in turns.items()])
    page.footnotes()
    return page


def _show_pair(turns: Mapping[int, Turn], before: int, after: int) -> Row:
    without, beside = turns[before], turns[after]
    clocks = {
        "wall time": (without.value, beside.value),
        "CPU time": (without.seen.get("cpu_s"), beside.seen.get("cpu_s")),
    }
    return {
        "run without": show_whole(before),
        "its changes": without.case,
        "run with": show_whole(after),
        "its changes then": beside.case,
        "arm": beside.arm,
        **{head: show_gain(a / b) if a and b else NO_NUMBER for head, (a, b) in clocks.items()},
    }


def _show_run(number: int, turn: Turn) -> Row:
    norms = [f"{norm:.9g}" for name, norm in turn.seen.items() if name.startswith("norm.")]
    return {
        "run": show_whole(number),
        "arm": turn.arm,
        "round": show_whole(turn.block),
        "changes": turn.case,
        "wall time a step": _show_time(turn.value),
        "CPU time a step": _show_time(turn.seen.get("cpu_s")),
        "steps": show_whole(turn.calls or 0),
        "took effect": show_whole(int(turn.seen.get("applied", 0))),
        "norms of the weights": ", ".join(norms) or NO_NUMBER,
        "outcome": turn.outcome,
        "document": f"{turn.document} {turn.digest[:16]}",
    }


def _begin(answer: Answer) -> Page:
    page = Page(name_banners(answer.flags), whole="why.md")
    page.title(_WORDS["title"].format(script=answer.script))
    page.paragraph(" ".join(_describe_times(answer)))
    return page


def _write_rest(page: Page, answer: Answer, room: int) -> None:
    page.bullets(
        (Strong(f"{topic}:"), f" {text}") for topic, text in _describe_rest(answer, room) if text
    )


# --- Words for an arm, a time, a change ---------------------------------------------------------------


def _name_arm(answer: Answer, arm: str) -> str:
    """``the CPU`` or ``the GPU``; the arm's own name where several are of that kind."""
    gpu = answer.arms[arm].gpu
    alone = [speed.gpu for speed in answer.arms.values()].count(gpu) == 1
    return f"the {'GPU' if gpu else 'CPU'}" if alone else arm


def _show_time(seconds: Known | None) -> str:
    return show_seconds(seconds) if seconds else NO_NUMBER


def _word_reason(reason: str) -> str:
    """Why nothing is known: by its code, or as a run had it."""
    return TEXTS["why-reasons"].get(reason, reason)


def _add_reason(tried: Tried) -> str:
    """Why nothing is known of a try, in brackets behind its name; empty: something is."""
    return f" ({_word_reason(tried.reason)})" if tried.reason else ""


def _word_training(speed: ArmSpeed, training: str | None) -> str:
    """What a change makes of the training, and after how many steps the weights were compared."""
    after = f" after {show_things(speed.compared_after, 'step')}" if speed.compared_after else ""
    return TEXTS["why-training"][training or "unseen"].format(after=after)


def _describe_change(change: Change | Tried) -> str:
    return change.text + (f" (needs {change.needs})" if change.needs else "")


def _number(answer: Answer, arm: str, tries: Sequence[str]) -> str:
    """Changes by their rows in the table of causes, or else by their names."""
    rows = {
        cause.fix.name: f"{number}"
        for number, cause in enumerate(answer.causes, 1)
        if cause.fix and cause.arm == arm
    }
    return join_words([rows.get(name, name) for name in tries])


# --- What came out ------------------------------------------------------------------------------------


def _describe_times(answer: Answer) -> Iterator[str]:
    """How long a step takes on each arm of this machine, and what comes besides."""
    speeds = answer.arms.items()
    timed = {arm: speed for arm, speed in speeds if speed.step and speed.standing != "simulated"}
    versions = dict.fromkeys(speed.tensorflow for _, speed in speeds if speed.tensorflow)
    machine = "; ".join([name_machine(answer.machine), *(f"TensorFlow {v}" for v in versions)])
    steps = [
        _WORDS["each-step"].format(
            step=_show_time(speed.step),
            arm=_name_arm(answer, arm),
            setup=_show_time(speed.setup_s),
            first=_show_time(speed.first_step_s),
        )
        for arm, speed in timed.items()
    ]
    yield _WORDS["step" if steps else "machine"].format(machine=machine, steps="; ".join(steps))
    base = _name_arm(answer, next(iter(answer.arms)))
    for arm, ratio in answer.ratios.items():
        name = _name_arm(answer, arm)
        yield _WORDS["ratio"].format(gain=show_relative(ratio), arm=name, base=base)


def _describe_end(answer: Answer, arm: str) -> str:
    """How the question ended on an arm."""
    speed, causes = answer.arms[arm], answer.find_causes(arm)
    named = [f"{show_percent(cause.share)} to {_CAUSES[cause.cause]}" for cause in causes]
    other = [cause.fix.name.removeprefix("arm:") for cause in causes if cause.fix]
    code: str = speed.standing
    # Where nothing helps, the one cause that is left is that another arm is faster.
    if code == "nothing" and causes:
        code = "nothing-slower"
    elif code == "nothing" and ("otherwise", arm) in {(t.standing, t.arm) for t in answer.tried}:
        code = "nothing-same"
    reason = _word_reason(speed.reason).rstrip(".")
    if speed.unproven is not None:
        code, reason = "unproven", word_evidence(speed.unproven)
    return TEXTS["why-standing"][code].format(
        arm=_name_arm(answer, arm),
        named=", then ".join(named),
        faster="".join(_name_arm(answer, arm) for arm in other if code == "nothing-slower"),
        times="" if speed.repeats is None else show_times(speed.repeats),
        reason=reason,
    )


def _list_causes(answer: Answer) -> Iterator[Row]:
    """A row a cause, the heaviest first: what to write, what it gives, and what becomes of the training."""
    for number, cause in enumerate(answer.causes, 1):
        fix, gives, training = cause.fix, NO_NUMBER, NO_NUMBER
        line, write = cause.line, _WORDS["no-line"]
        if fix is not None:
            line, write = fix.line, _describe_change(fix)
            training = _word_training(answer.arms[cause.arm], fix.training)
            on = f" on top of {_number(answer, cause.arm, cause.on)}" if cause.on else ""
            gives = f"{show_gain(fix.gain)}{on}"
        elif cause.ceilings:
            gives = f"at most {show_gain(cause.ceilings[0].gain)}"
        share, arm = show_percent(cause.share), _name_arm(answer, cause.arm)
        yield {
            "why": f"{number}. {cause.cause}, {share} on {arm}",
            "write": write if line is None else f"Line {line}: {write}",
            "gives": gives,
            "the training": training,
        }


def _describe_rest(answer: Answer, room: int) -> Iterator[tuple[str, str]]:
    """By topic what else there is to say, the most important first: a screen may end before the last."""
    yield "Together", "; ".join(_describe_together(answer))
    ceilings = [
        _WORDS["ceiling"].format(
            gain=show_gain(ceiling.gain),
            cause=cause.cause,
            arm=_name_arm(answer, cause.arm),
            text=ceiling.text,
        )
        for cause in answer.causes
        for ceiling in cause.ceilings
    ]
    yield "At most", join_first(room, ceilings)
    notes = dict.fromkeys(note for speed in answer.arms.values() for note in speed.notes)
    yield "Note", "; ".join(notes)
    yield "Ended early", answer.stopped or ""
    yield "CPU or GPU", _describe_batches(answer)
    yield "Cost", _describe_cost(answer)
    for standing, topic in TEXTS["why-tried"].items():
        yield topic, join_first(room, list(_list_standing(answer, standing)))
    rest = [
        f"{show_percent(speed.unknown)} of the time on {_name_arm(answer, arm)}"
        for arm, speed in answer.arms.items()
        if speed.unknown and speed.standing == "named"
    ]
    yield "The rest", _WORDS["unknown"].format(rest=join_words(rest)) if rest else ""
    runs = sum(speed.runs for speed in answer.arms.values())
    spent = math.fsum(speed.spent_s for speed in answer.arms.values())
    yield "Measured", f"{show_things(runs, 'run')} of the script in {show_duration(spent)}"


def _describe_together(answer: Answer) -> Iterator[str]:
    for arm, together in answer.together.items():
        if len(together.tries) > 1:
            yield _WORDS["together"].format(
                tries=_number(answer, arm, together.tries),
                gain=show_gain(together.gain),
                step=show_seconds(together.step),
                arm=_name_arm(answer, arm),
                training=_word_training(answer.arms[arm], together.training),
            )


def _describe_batches(answer: Answer) -> str:
    """From which batch on the GPU wins, or how the two stand at those that both had."""
    if answer.gpu_wins_from is not None:
        return _WORDS["wins-from"].format(batch=answer.gpu_wins_from)
    at = [f"{show_relative(ratio)} at batch {batch}" for batch, ratio in answer.by_batch.items()]
    return _WORDS["wins-unknown"].format(at=join_words(at)) if at else ""


def _describe_cost(answer: Answer) -> str:
    if (price := answer.price) is None:
        return ""
    costs = [
        f"{show_money(speed.epoch_cost, price.currency)} on {_name_arm(answer, arm)}"
        for arm, speed in answer.arms.items()
        if speed.epoch_cost and speed.standing != "simulated"
    ]
    return _WORDS["cost" if costs else "no-cost"].format(
        costs=" and ".join(costs), hourly=show_money(price.hourly, price.currency)
    )


def _list_standing(answer: Answer, standing: str) -> Iterator[str]:
    """The tries of a standing by name, each with its gain or its reason; not those that a cause names."""
    named = {(cause.arm, cause.fix.name) for cause in answer.causes if cause.fix}
    for tried in answer.tried:
        told = (tried.arm, tried.name) in named or (tried.kind, standing) == ("ceiling", "helps")
        if tried.standing == standing and not told:
            timed = answer.arms[tried.arm].standing != "simulated"
            where = f" on {tried.arm}" if len(answer.arms) > 1 else ""
            where += f" on top of {join_words(tried.on)}" if tried.on else ""
            gain = f" {show_gain(tried.gain)}" if tried.gain and timed else _add_reason(tried)
            yield f"{tried.name}{where}{gain}"


# --- Tables -------------------------------------------------------------------------------------------


def _list_tries(answer: Answer, tries: Iterable[Tried]) -> Iterator[Row]:
    for tried in tries:
        gain = tried.gain
        unreal = answer.arms[tried.arm].standing == "simulated" and gain is not None
        notes = (TEXTS["why-standing"]["no-time"],) if unreal else ()
        yield {
            "try": tried.name,
            "arm": tried.arm,
            "line": NO_NUMBER if tried.line is None else show_whole(tried.line),
            "what it changes": _describe_change(tried),
            "on top of": join_words(tried.on) if tried.on else "",
            "wall time": Cell(show_gain(gain) if gain else NO_NUMBER, notes, struck=unreal),
            "pairs": show_whole(gain.n) if gain else NO_NUMBER,
            "CPU time": NO_NUMBER if tried.cpu_gain is None else show_gain(tried.cpu_gain),
            "the training": _word_training(answer.arms[tried.arm], tried.training)
            if tried.training
            else NO_NUMBER,
            "came out": f"{tried.kind}: {tried.standing}{_add_reason(tried)}",
        }


def _list_speeds(answer: Answer) -> Iterator[Row]:
    for arm, speed in answer.arms.items():
        at = "" if speed.line is None else f", line {speed.line}"
        counts = {"steps an epoch": speed.epoch_steps, "batch": speed.batch, "runs": speed.runs}
        yield {
            "arm": arm,
            "step": _show_time(speed.step),
            "set-up": _show_time(speed.setup_s),
            "first step": _show_time(speed.first_step_s),
            "epoch": _show_time(speed.epoch_s),
            **{head: show_whole(n) if n else NO_NUMBER for head, n in counts.items()},
            "timed steps": "{} to {}".format(*speed.window) if speed.window else NO_NUMBER,
            "counted by": TEXTS["why-clocks"].get(speed.clock, NO_NUMBER) + at,
        }


def _write_identity(page: Page, answer: Answer) -> None:
    """Which script was asked about, and the command that asks again."""
    page.paragraph(
        _WORDS["identity"].format(
            script=" ".join([answer.script, *answer.arguments]),
            hash=answer.hash,
            created=answer.created.isoformat(),
            budget=show_duration(answer.budget_s),
            version=answer.suite.version,
            commit=answer.suite.commit or "unknown",
        )
    )
    page.code(answer.command)
