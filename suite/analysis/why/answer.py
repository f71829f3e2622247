"""From a campaign's runs to the answer: causes, shares, what to write, and what it gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
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
from suite.analysis.result import why as result
from suite.analysis.result.numbers import FEWEST, Estimate
from suite.analysis.statistics.estimate import estimate
from suite.analysis.statistics.rounding import hand_over, share_fields
from suite.analysis.why.gains import Key
from suite.analysis.why.levels import NAMED, Course, Judged, Level, follow
from suite.analysis.why.training import ORDER, ROUNDING, compare_training
from suite.model import container_seconds
from suite.model.why import Script, Try, Watched

NOISY = 1.5
"""Where equal runs differ by more, the machine is why nothing could be decided."""

HIDDEN = 2.0
"""Where a gain as high as this could hide in the noise of what only wall time sees, nobody can say."""

OUT_OF_TIME = "budget"


def answer(loaded: LoadedCampaign) -> result.Answer:
    """The answer of a campaign about a script; deterministic.

    Raises:
        DocumentError: a run's notes are not what a run tells.
    """
    courses, plan = follow(loaded), loaded.campaign
    script: Script = plan.script  # type: ignore[attr-defined]  # or it had not been followed
    causes = [cause for course in courses.values() for cause in _name_causes(course)]
    arms = {arm: _describe_arm(loaded, course, causes) for arm, course in courses.items()}
    tried = [each for course in courses.values() for each in _list_tried(course)]
    timed = [course for course in courses.values() if course.seconds and not course.simulated]
    ratios = {}
    for base, other in ((timed[0], other) for other in timed[1:] if timed[0].arm == plan.arms[0]):
        ratios[other.arm] = _compare(base.seconds, other.seconds)
        causes += [*_name_device(base, other), *_name_device(other, base)]
    by_batch = _compare_batches({course.gpu: course for course in reversed(timed)})
    not_tried: dict[str, dict[str, str]] = {}
    for each in tried:
        if each.standing == "not tried":
            not_tried.setdefault(each.arm, {})[each.name] = each.reason
    found = {
        "schema": result.SCHEMA,
        "analysed_by": __version__,
        "campaign": plan.id,
        "folder": loaded.folder,
        "script": script.name,
        "hash": script.content,
        "arguments": tuple(script.arguments),
        "text": script.text,
        "machine": find_machine(loaded),
        "flags": tuple(flag_campaign(loaded)),
        "arms": arms,
        "causes": tuple(sorted(causes, key=lambda cause: -cause.share)),
        "tried": tuple(tried),
        "together": dict(_find_together(timed)),
        "ratios": ratios,
        "by_batch": by_batch,
        "gpu_wins_from": _find_winning(by_batch),
        "not_tried": not_tried,
        "price": find_price(plan),
    }
    return hand_over(result.Answer(**share_fields(plan, result.Answer) | found))


# --- Causes -------------------------------------------------------------------------------------------


def _name_causes(course: Course) -> list[result.Named]:
    """The causes of an arm: none where a try that applies had no run."""
    causes: list[result.Named] = []
    left = 1.0
    for level in () if course.simulated else course.levels:
        if level.missing:
            break
        for cause in dict.fromkeys(tried.change.cause for tried in level.helping):
            helping = [tried for tried in level.helping if tried.change.cause == cause]
            named = _name_cause(level, helping, left)
            before = next((other for other in causes if other.cause == cause), None)
            if before and not named.fix:
                # What a fix has left of its cause, at most.
                share, ceilings = before.share + named.share, named.ceilings
                causes[causes.index(before)] = structs.replace(
                    before, share=share, ceilings=ceilings
                )
            elif before and not before.fix:
                share = max(before.share, named.share)
                fields = {"share": share, "ceilings": before.ceilings}
                causes[causes.index(before)] = structs.replace(named, **fields)
            else:
                causes.append(named)
        left *= math.exp(-level.pick.size) if level.pick else 1.0
    return causes


def _name_cause(level: Level, helping: Sequence[Judged], left: float) -> result.Named:
    """One cause by what helps against it; ``left`` is the share of the unchanged script's time that the fixes
    before have left."""
    best = max(helping, key=lambda tried: tried.size)
    fix = next((tried for tried in helping if tried.change.kind == "fix"), None)
    least = fix.size if fix else math.log(NAMED)
    ceilings = [
        tried
        for tried in sorted(level.tries, key=lambda tried: tried.size)
        if (tried.change.kind, tried.change.cause) == ("ceiling", best.change.cause)
        and tried.size >= least
    ]
    return result.Named(
        cause=best.change.cause,
        arm=best.key.arm,
        line=(fix or best).change.line,
        share=left * (1 - math.exp(-best.size)),
        fix=result.Fix(**_describe(fix, result.Fix), training=fix.made) if fix else None,
        ceilings=tuple(result.Ceiling(**_describe(t, result.Ceiling)) for t in ceilings),
        on=level.on,
    )


def _describe(tried: Judged, struct: type[Any]) -> dict[str, Any]:
    fields = share_fields(tried.change, struct) | {"gain": tried.gain and _tell(tried.gain.wall)}
    return {name: value for name, value in fields.items() if name != "training"}


def _tell(found: Estimate) -> Estimate:
    """What a reader gets of it: the value, its interval and the pairs."""
    return Estimate(value=found.value, low=found.low, high=found.high, n=found.n)


def _compare(base: Sequence[float], other: Sequence[float]) -> Estimate:
    """The ratio of two arms' times, which are not measured in pairs."""
    ratio = find_welch_ratio(base, other)
    return _tell(ratio) if ratio else Estimate(value=math.nan, low=None, high=None, n=0)


def _name_device(slow: Course, fast: Course) -> Iterator[result.Named]:
    """That the other arm is faster is a cause of an arm's time, and the other one its fix."""
    gain = _compare(fast.seconds, slow.seconds)
    if gain.low is None or gain.low <= NAMED:
        return
    change = Try(
        name=f"arm:{fast.arm}",
        intervention="arm",
        cause="device",
        kind="fix",
        text=f"ARMS={fast.arm}",
        training="distribution",
    )
    training = compare_training(change, fast.base, slow.base, gain.value) or change.training
    fix = result.Fix(name=change.name, text=change.text, gain=gain, training=training)
    yield result.Named(cause="device", arm=slow.arm, line=None, share=1 - 1 / gain.value, fix=fix)


# --- Arms ---------------------------------------------------------------------------------------------


def _describe_arm(
    loaded: LoadedCampaign, course: Course, named: Sequence[result.Named]
) -> result.ArmSpeed:
    arm, price = loaded.campaign.arm(course.arm), find_price(loaded.campaign)
    documents = [d for d in loaded.documents if d.invocation.arm == course.arm]
    causes = [cause for cause in named if cause.arm == course.arm]
    bare = result.ArmSpeed(
        standing=_find_standing(course, causes),
        gpu=arm.gpu,
        tensorflow=read_text(take_first(documents).get("tensorflow.version")),
        runs=len(course.runs),
        spent_s=math.fsum(map(container_seconds, documents)),
    )
    watched = course.watched
    first = next(iter(course.base), watched)
    if first is None or first.seconds is None:
        failed = next(iter(course.runs), None)
        reason = failed.reason if failed else loaded.campaign.not_run.get(arm.name, "no-run")
        return structs.replace(bare, reason=reason, unproven=failed and failed.unproven)
    seconds = course.seconds or [first.seconds]
    told, step = first.evidence, estimate(seconds)
    epoch_s = told.get("epoch_steps", 0.0) * step.value
    seen = (watched and watched.notes.watched) or Watched(clock="")
    reached = [int(name.removeprefix("norm.")) for name in ROUNDING if name in told]
    return structs.replace(
        bare,
        step=_tell(step),
        epoch_s=epoch_s or None,
        epoch_steps=round(told.get("epoch_steps", 0)) or None,
        epoch_cost=epoch_s / HOUR_S * price.hourly if price and epoch_s else None,
        first_step_s=first.first_step_s,
        setup_s=told.get("setup_s"),
        window=(int(told.get("from_step", 0)), int(told.get("to_step", 0))),
        clock=seen.clock,
        line=seen.line,
        notes=tuple(seen.notes),
        batch=_find_batch(course),
        compared_after=max(reached, default=None),
        unknown=max(0.0, 1 - math.fsum(cause.share for cause in causes)) if causes else None,
        repeats=max(seconds) / min(seconds) if len(seconds) > 1 else None,
    )


def _find_standing(course: Course, causes: Sequence[result.Named]) -> result.Standing:
    if not course.watched:
        return "failed"
    if course.simulated or causes:
        return "simulated" if course.simulated else "named"
    level = course.levels[-1]
    if level.missing:
        return "undecided"
    if any(tried.is_blind and tried.gain.wall.most > HIDDEN for tried in level.tries if tried.gain):
        return "noisy"
    if all(
        tried.standing in {"no gain", "no effect", "failed", "otherwise"} for tried in level.tries
    ):
        return "nothing"
    return "noisy" if max(course.seconds) > NOISY * min(course.seconds) else "undecided"


def _compare_batches(courses: Mapping[bool, Course]) -> dict[int, Estimate]:
    """By examples a step the GPU's time over the CPU's, where both had three runs of it."""
    if len(courses) < 2:
        return {}
    cpu, gpu = (_list_batches(courses[on_gpu]) for on_gpu in (False, True))
    ratios = {batch: _compare(cpu[batch], gpu[batch]) for batch in sorted(cpu.keys() & gpu.keys())}
    return {batch: ratio for batch, ratio in ratios.items() if ratio.n >= FEWEST}


def _list_batches(course: Course) -> dict[int, list[float]]:
    """By examples a step the seconds that the work of one step of the unchanged script takes."""
    batches, batch = {1.0: course.seconds}, _find_batch(course)
    for change in course.tries:
        if change.scale > 1:
            runs = course.select(change.name)
            batches[change.scale] = [run.seconds for run in runs if run.seconds and run.applied]
    return {round(batch * scale): of for scale, of in batches.items() if of} if batch else {}


def _find_batch(course: Course) -> int | None:
    """The examples of a step: where a larger batch would be set, or as they were seen anywhere."""
    seen = course.watched and course.watched.notes.watched
    counts = seen.counts if seen else {}
    places = [
        *(f"batch:{change.line}" for change in course.tries if change.scale > 1),
        "batch",
        *counts,
    ]
    found = (counts[name] for name in places if name in counts and name.startswith("batch"))
    return round(next(found, 0.0)) or None


def _find_winning(by_batch: Mapping[int, Estimate]) -> int | None:
    """The batch from which on the GPU is the faster one at all that are known."""
    winning = None
    for batch in sorted(by_batch, reverse=True):
        if by_batch[batch].most >= 1:
            break
        winning = batch
    return winning


# --- Tries --------------------------------------------------------------------------------------------


def _list_tried(course: Course) -> Iterator[result.Tried]:
    for number, level in enumerate(course.levels):
        for tried in level.tries:
            standing = tried.standing
            if level.pick and tried is not level.pick and standing in {"undecided", "helps"}:
                standing = "superseded"
            if standing == "not tried" and number:
                continue
            of_change = share_fields(tried.change, result.Tried)
            of_try = {
                "arm": course.arm,
                "on": level.on,
                "standing": standing,
                "promised": tried.change.training,
                "gain": tried.gain and _tell(tried.gain.wall),
                "cpu_gain": tried.gain.cpu.value if tried.gain and tried.gain.cpu else None,
                "reason": OUT_OF_TIME if standing == "not tried" else tried.reason,
            }
            yield result.Tried(**of_change | share_fields(tried, result.Tried) | of_try)


def _find_together(courses: Sequence[Course]) -> Iterator[tuple[str, result.Together]]:
    """What the fixes that were kept give at once, where enough pairs show it."""
    for course in courses:
        kept = [level.pick for level in course.levels if level.pick]
        gain = course.gains.get(Key(course.arm, (), course.levels[-1].on))
        if kept and gain and gain.wall.n >= FEWEST:
            yield (
                course.arm,
                result.Together(
                    tries=course.levels[-1].on,
                    gain=_tell(gain.wall),
                    training=max((tried.made for tried in kept), key=ORDER.index),
                    step=estimate(course.seconds).value / gain.wall.value,
                ),
            )
