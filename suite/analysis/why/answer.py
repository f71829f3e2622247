"""From a campaign's runs to the answer: causes, shares, what to write, and what it gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from suite import __version__
from suite.analysis.ablation.cost import find_price
from suite.analysis.campaign.consistency import flag_campaign
from suite.analysis.campaign.environment import find_machine
from suite.analysis.campaign.plausibility import read_text, take_first
from suite.analysis.compare import find_welch_ratio
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.observations import HOUR_S
from suite.analysis.result.numbers import FEWEST, Estimate
from suite.analysis.result.why import (
    SCHEMA,
    Answer,
    ArmSpeed,
    Ceiling,
    Fix,
    Named,
    Standing,
    Together,
    Tried,
)
from suite.analysis.statistics.estimate import estimate
from suite.analysis.statistics.rounding import hand_over
from suite.analysis.why.gains import Key
from suite.analysis.why.levels import NAMED, Judged, Level, Study
from suite.analysis.why.runs import Run
from suite.analysis.why.training import ORDER, ROUNDING, compare_training
from suite.model import container_seconds
from suite.model.why import Try

NOISY = 1.5
"""Where equal runs differ by more, the machine is why nothing could be decided."""

HIDDEN = 2.0
"""Where a gain as high as this could hide in the noise of what only wall time sees, nobody can say."""

OUT_OF_TIME = "budget"


@dataclass(frozen=True)
class _Course:
    """How the search went on one arm."""

    study: Study
    arm: str
    levels: Sequence[Level]

    @property
    def base(self) -> list[Run]:
        """The runs of the unchanged script that came through."""
        return [run for run in self.study.select(self.arm, ()) if run.seconds is not None]

    @property
    def seconds(self) -> list[float]:
        """Theirs, for a step."""
        return [run.seconds for run in self.base if run.seconds]

    @property
    def simulated(self) -> bool:
        return any(run.simulated for run in self.study.runs if run.arm == self.arm)


def answer(loaded: LoadedCampaign) -> Answer:
    """The answer of a campaign about a script; deterministic.

    Raises:
        DocumentError: a run's notes are not what a run tells.
    """
    study = Study(loaded)
    plan, script, price = study.inquiry, study.inquiry.script, find_price(study.inquiry)
    courses = {arm: _Course(study, arm, study.levels(arm)) for arm in plan.arms}
    named = {arm: _name_causes(course) for arm, course in courses.items()}
    arms = {arm: _describe_arm(loaded, course, named[arm]) for arm, course in courses.items()}
    if price:
        hourly = price.hourly / HOUR_S
        arms = {
            arm: structs.replace(speed, epoch_cost=speed.epoch_s and speed.epoch_s * hourly)
            for arm, speed in arms.items()
        }
    compared = [arm for arm, course in courses.items() if course.base and not course.simulated]
    ratios = {
        arm: _tell(ratio)
        for arm in compared
        if arm != plan.arms[0] == compared[0]
        for ratio in [find_welch_ratio(courses[compared[0]].seconds, courses[arm].seconds)]
        if ratio
    }
    for arm in ratios:
        _name_device(courses[plan.arms[0]], courses[arm], named)
    by_batch = _compare_batches(study, courses)
    found = Answer(
        schema=SCHEMA,
        suite=plan.suite,
        analysed_by=__version__,
        campaign=plan.id,
        folder=loaded.folder,
        created=plan.created,
        command=plan.command,
        budget_s=plan.budget_s,
        script=script.name,
        hash=script.content,
        arguments=tuple(script.arguments),
        text=script.text,
        machine=find_machine(loaded),
        flags=tuple(flag_campaign(loaded)),
        arms=arms,
        causes=tuple(
            sorted((cause for of in named.values() for cause in of), key=lambda c: -c.share)
        ),
        tried=tuple(tried for course in courses.values() for tried in _list_tried(course)),
        together=dict(_find_together(courses)),
        ratios=ratios,
        by_batch=by_batch,
        gpu_wins_from=_find_winning(by_batch),
        not_tried={arm: dict(_list_not_tried(course)) for arm, course in courses.items()},
        price=price,
        stopped=plan.stopped,
    )
    return hand_over(found)


# --- Causes -------------------------------------------------------------------------------------------


def _name_causes(course: _Course) -> list[Named]:
    """The causes of an arm: none where a try that applies had no run."""
    causes: list[Named] = []
    left = 1.0
    for level in () if course.simulated else course.levels:
        if level.missing:
            break
        if level.pick:
            causes.append(_name_cause(level, level.pick, level.pick, left))
            left *= math.exp(-level.pick.size)
            continue
        helping = [tried for tried in level.queue if tried.standing == "helps"]
        for cause in dict.fromkeys(tried.change.cause for tried in helping):
            of = [tried for tried in helping if tried.change.cause == cause]
            fix = next((tried for tried in of if tried.change.kind == "fix"), None)
            found = _name_cause(level, max(of, key=lambda tried: tried.size), fix, left)
            before = next((named for named in causes if named.cause == cause), None)
            if before and not fix:
                # What a fix has left of its cause, at most.
                share = before.share + found.share
                whole = structs.replace(before, share=share, ceilings=found.ceilings)
                causes[causes.index(before)] = whole
            else:
                causes.append(found)
    return causes


def _name_cause(level: Level, best: Judged, fix: Judged | None, left: float) -> Named:
    """One cause by the ``best`` of what was tried of it; ``left`` is the share of the unchanged script's time
    that the fixes before have left."""
    least = fix.size if fix else math.log(NAMED)
    ceilings = [
        tried
        for tried in level.tries
        if (tried.change.kind, tried.change.cause) == ("ceiling", best.change.cause)
        and tried.size >= least
    ]
    return Named(
        cause=best.change.cause,
        arm=best.key.arm,
        line=(fix or best).change.line,
        share=left * (1 - math.exp(-best.size)),
        fix=Fix(**_describe(fix), training=fix.made, needs=fix.change.needs) if fix else None,
        ceilings=tuple(
            Ceiling(**_describe(tried)) for tried in sorted(ceilings, key=lambda tried: tried.size)
        ),
        on=level.on,
    )


def _describe(tried: Judged) -> dict[str, Any]:
    change = tried.change
    gain = tried.gain and _tell(tried.gain.wall)
    return {"name": change.name, "text": change.text, "line": change.line, "gain": gain}


def _tell(found: Estimate) -> Estimate:
    """What a reader gets of it: the value, its interval and the pairs."""
    return Estimate(value=found.value, low=found.low, high=found.high, n=found.n)


# --- Arms ---------------------------------------------------------------------------------------------


def _describe_arm(loaded: LoadedCampaign, course: _Course, causes: Sequence[Named]) -> ArmSpeed:
    study, arm = course.study, loaded.campaign.arm(course.arm)
    runs = [run for run in study.runs if run.arm == course.arm]
    documents = [d for d in loaded.documents if d.invocation.arm == course.arm]
    watched, base = study.watched(course.arm), course.base
    bare = ArmSpeed(
        standing=_find_standing(course, causes),
        gpu=arm.gpu,
        tensorflow=read_text(take_first(documents).get("tensorflow.version")),
        runs=len(runs),
        spent_s=math.fsum(map(container_seconds, documents)),
    )
    first = next(iter(base), watched)
    if first is None or first.seconds is None:
        failed = next(iter(runs), None)
        reason = failed.reason if failed else loaded.campaign.not_run.get(arm.name, "no-run")
        return structs.replace(bare, reason=reason, unproven=failed and failed.unproven)
    seconds = course.seconds or [first.seconds]
    step = estimate(seconds)
    told, epoch = first.evidence, int(first.evidence.get("epoch_steps", 0))
    reached = [int(name.removeprefix("norm.")) for name in ROUNDING if name in told]
    seen = watched.notes.watched if watched else None
    scaled = (change for change in study.inquiry.tries.get(arm.name, ()) if change.scale > 1)
    batch = _find_batch(watched, next(scaled, None))
    return structs.replace(
        bare,
        step=_tell(step),
        epoch_s=epoch * step.value or None,
        epoch_steps=epoch or None,
        first_step_s=first.first_step_s,
        setup_s=told.get("setup_s"),
        window=(int(told.get("from_step", 0)), int(told.get("to_step", 0))),
        clock=seen.clock if seen else "",
        line=seen.line if seen else None,
        batch=round(batch) if batch else None,
        compared_after=max(reached, default=None),
        unknown=1 - math.fsum(cause.share for cause in causes) if causes else None,
        repeats=max(seconds) / min(seconds) if len(seconds) > 1 else None,
        notes=tuple(seen.notes) if seen else (),
    )


def _find_standing(course: _Course, causes: Sequence[Named]) -> Standing:
    if not course.base and not course.study.watched(course.arm):
        return "failed"
    if course.simulated:
        return "simulated"
    if causes:
        return "named"
    tries = course.levels[-1].tries
    left = [tried for tried in tries if tried.standing not in {"no gain", "no effect", "failed"}]
    if any(tried.standing == "not tried" for tried in left):
        return "undecided"
    if any(tried.is_blind and tried.gain.wall.most > HIDDEN for tried in tries if tried.gain):
        return "noisy"
    noisy = len(course.seconds) > 1 and max(course.seconds) > NOISY * min(course.seconds)
    return "nothing" if not left else "noisy" if noisy else "undecided"


def _name_device(base: _Course, other: _Course, named: Mapping[str, list[Named]]) -> None:
    """That the slower of two arms is the slower one is a cause of its time, and the other one its fix."""
    for slow, fast in ((base, other), (other, base)):
        ratio = find_welch_ratio(fast.seconds, slow.seconds)
        if ratio is None or ratio.low is None or ratio.low <= NAMED:
            continue
        name = f"arm:{fast.arm}"
        change = Try(
            name=name,
            intervention="arm",
            cause="device",
            kind="fix",
            text=f"ARMS={fast.arm}",
            training="distribution",
        )
        training = compare_training(change, fast.base, slow.base, ratio.value)
        fix = Fix(
            name=name, text=change.text, gain=_tell(ratio), training=training or change.training
        )
        share = 1 - 1 / ratio.value
        named[slow.arm].append(Named(cause="device", arm=slow.arm, line=None, share=share, fix=fix))


def _compare_batches(study: Study, courses: Mapping[str, _Course]) -> dict[int, Estimate]:
    """By examples a step the GPU's time over the CPU's, where both had three runs of it."""
    arms = [study.inquiry.find_arm(gpu=gpu) for gpu in (False, True)]
    if any(arm is None or arm.name not in courses or courses[arm.name].simulated for arm in arms):
        return {}
    cpu, gpu = (_list_batches(study, arm.name) for arm in arms if arm)
    ratios = {
        batch: find_welch_ratio(cpu[batch], gpu[batch]) for batch in sorted(cpu.keys() & gpu.keys())
    }
    return {batch: _tell(ratio) for batch, ratio in ratios.items() if ratio and ratio.n >= FEWEST}


def _list_batches(study: Study, arm: str) -> dict[int, list[float]]:
    """By examples a step the seconds that the work of one step of the unchanged script takes."""
    larger = {
        change.name: change for change in study.inquiry.tries.get(arm, ()) if change.scale > 1
    }
    batches: dict[int, list[float]] = {}
    for case in [(), *((name,) for name in larger)]:
        change = larger["".join(case)] if case else next(iter(larger.values()), None)
        batch = _find_batch(study.watched(arm), change)
        seconds = [
            run.seconds
            for run in study.select(arm, case)
            if run.seconds and run.applied >= len(case)
        ]
        if batch and seconds:
            batches[round(batch * (change.scale if case and change else 1))] = seconds
    return batches


def _find_batch(watched: Run | None, change: Try | None = None) -> float | None:
    """The examples of a step, as they were seen: at the line that a larger batch is set at, or of ``fit``."""
    seen = watched.notes.watched if watched else None
    counts = seen.counts if seen else {}
    line = f"batch:{change.line}" if change else "batch"
    return counts.get(line) or counts.get("batch")


def _find_winning(by_batch: Mapping[int, Estimate]) -> int | None:
    """The batch from which on the GPU is the faster one at all that are known."""
    winning = None
    for batch in sorted(by_batch, reverse=True):
        high = by_batch[batch].high
        if high is None or high >= 1:
            break
        winning = batch
    return winning


# --- Tries --------------------------------------------------------------------------------------------


def _list_tried(course: _Course) -> Iterator[Tried]:
    for number, level in enumerate(course.levels):
        for tried in level.tries:
            change, standing = tried.change, tried.standing
            passed = tried is not level.pick and standing in {"undecided", "helps"}
            if passed and number < len(course.levels) - 1:
                standing = "superseded"
            if standing == "not tried" and number:
                continue
            cpu = tried.gain.cpu if tried.gain else None
            reasons = dict(_list_not_tried(course))
            yield Tried(
                arm=course.arm,
                name=change.name,
                cause=change.cause,
                kind=change.kind,
                text=change.text,
                standing=standing,
                promised=change.training,
                line=change.line,
                needs=change.needs,
                on=level.on,
                gain=_tell(tried.gain.wall) if tried.gain else None,
                cpu_gain=cpu.value if cpu else None,
                applied=tried.applied,
                training=tried.training,
                reason=tried.reason or (reasons[change.name] if standing == "not tried" else ""),
            )


def _list_not_tried(course: _Course) -> Iterator[tuple[str, str]]:
    reasons = course.study.inquiry.not_tried.get(course.arm, {})
    yield from reasons.items()
    for tried in course.levels[0].missing:
        if tried.change.name not in reasons:
            yield tried.change.name, OUT_OF_TIME


def _find_together(courses: Mapping[str, _Course]) -> Iterator[tuple[str, Together]]:
    """What the fixes that were kept give at once, where enough pairs show it."""
    for arm, course in courses.items():
        on, study = course.levels[-1].on, course.study
        gain = study.gains.get(Key(arm, (), on))
        if course.simulated or not on or gain is None or gain.wall.low is None:
            continue
        kept = [level.pick for level in course.levels if level.pick]
        step = estimate(course.seconds)
        yield (
            arm,
            Together(
                tries=on,
                gain=_tell(gain.wall),
                training=max((tried.made for tried in kept), key=ORDER.index),
                step=step.value / gain.wall.value,
            ),
        )
