"""From a campaign's runs to the answer: causes, shares, what to write, and what it gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import structs

from suite import __version__
from suite.analysis.ablation.cost import find_price
from suite.analysis.campaign.consistency import flag_campaign
from suite.analysis.campaign.environment import find_machine
from suite.analysis.campaign.plausibility import read_text, take_first
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.observations import HOUR_S
from suite.analysis.result import why as result
from suite.analysis.result.numbers import FEWEST, Estimate
from suite.analysis.statistics.estimate import estimate
from suite.analysis.statistics.ratio import find_welch_ratio
from suite.analysis.statistics.rounding import hand_over, share_fields
from suite.analysis.why.levels import LEAST, NAMED, Course, Judged, Level, follow
from suite.analysis.why.training import ORDER, ROUNDING, compare_training
from suite.model import container_seconds
from suite.model.why import Script, Try, Watched

NOISY = 1.5
"""Where equal runs differ by more, the machine is why nothing could be decided."""

WIDEST = 1000.0
"""An interval whose ends are further apart says that nothing is known."""

HIDDEN = 2.0
"""Where a gain as high as this could hide in the noise of what only wall time sees, nobody can say."""


def answer(loaded: LoadedCampaign) -> result.Answer:
    """The answer of a campaign about a script; deterministic.

    Raises:
        DocumentError: a run's notes are not what a run tells.
    """
    courses, plan = follow(loaded), loaded.campaign
    script: Script = plan.script  # type: ignore[attr-defined]  # or it had not been followed
    causes = [cause for course in courses.values() for cause in _name_causes(course)]
    arms = {arm: _describe_arm(loaded, course, causes) for arm, course in courses.items()}
    timed = [course for course in courses.values() if course.seconds and not course.simulated]
    ratios, batches = {}, {course.gpu: _list_batches(course) for course in reversed(timed)}
    for base, other in ((timed[0], other) for other in timed[1:] if timed[0].arm == plan.arms[0]):
        ratios[other.arm] = _compare(base.seconds, other.seconds)
        causes += [*_name_device(base, other), *_name_device(other, base)]
    cpu, gpu = batches.get(False, {}), batches.get(True, {})
    causes.sort(key=lambda cause: -cause.share)
    by_batch = {batch: _compare(cpu[batch], gpu[batch]) for batch in sorted(cpu.keys() & gpu)}
    slower = max((batch for batch, ratio in by_batch.items() if ratio.most >= 1), default=0)
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
        "causes": tuple(cause for cause in causes if cause.share >= LEAST),
        "tried": tuple(tried for course in courses.values() for tried in _list_tried(course)),
        "together": dict(_find_together(timed)),
        "ratios": ratios,
        "by_batch": by_batch,
        "gpu_wins_from": min((batch for batch in by_batch if batch > slower), default=None),
        "price": find_price(plan),
    }
    return hand_over(result.Answer(**share_fields(plan, result.Answer) | found))


# --- Causes -------------------------------------------------------------------------------------------


def _name_causes(course: Course) -> list[result.Named]:
    """What time is lost to on an arm, however little: none where a try that applies had no run."""
    causes: list[result.Named] = []
    left, lefts = 1.0, dict[tuple[str, ...], float]()
    for level in () if course.simulated else course.levels:
        if level.missing:
            break
        lefts[level.on] = left
        for cause in dict.fromkeys(tried.change.cause for tried in level.helping):
            helping = [tried for tried in level.helping if tried.change.cause == cause]
            named = _name_cause(course.arm, level, helping, left)
            twin = next((c for c in causes if c.cause == cause and not (c.fix and named.fix)), None)
            if twin is not None and named.fix:
                # A fix of what only a ceiling has shown so far.
                causes.remove(twin)
                share = max(twin.share, named.share)
                named = structs.replace(named, share=share, ceilings=twin.ceilings)
            for at, first in enumerate(causes):
                if first.cause == cause and first.fix and named.fix:
                    # What the first fix takes away of it; the next row has the next one's.
                    share = lefts[first.on] * (1 - 1 / first.fix.gain.value)
                    causes[at] = structs.replace(first, share=min(share, first.share))
            if named.fix or not twin:
                causes.append(named)
        left *= math.exp(-level.pick.size) if level.pick else 1.0
    return causes


def _name_cause(arm: str, level: Level, helping: Sequence[Judged], left: float) -> result.Named:
    """One cause by what helps against it; ``left`` is the share of the unchanged script's time that the fixes
    before have left."""
    best = max(helping, key=lambda tried: tried.size)
    fix = next((tried for tried in helping if tried.kind == "fix"), None)
    ceilings = [
        tried
        for tried in sorted(level.tries, key=lambda tried: tried.size)
        if (tried.kind, tried.change.cause) == ("ceiling", best.change.cause)
        and tried.size >= (fix.size if fix else math.log(NAMED))
    ]
    # What trains otherwise than it should shows a cause where nothing else does.
    ceilings = [tried for tried in ceilings if not tried.withdrawn] or ceilings
    return result.Named(
        cause=best.change.cause,
        arm=arm,
        line=(fix or best).change.line,
        share=left * (1 - math.exp(-best.size)),
        fix=_describe(fix) if fix else None,
        ceilings=tuple(map(_describe, ceilings)),
        on=level.on,
    )


def _describe(tried: Judged) -> result.Change:
    training = tried.training if tried.kind == "fix" else None
    told: dict[str, object] = {"gain": tried.gain and _tell(tried.gain.wall), "training": training}
    return result.Change(**share_fields(tried.change, result.Change) | told)


def _tell(found: Estimate) -> Estimate:
    """What a reader gets of it: the value and the pairs, and from three of these on its interval."""
    low, high = found.low, found.high
    if found.n < FEWEST or not low or not high or high > WIDEST * low:
        low = high = None
    return Estimate(value=found.value, low=low, high=high, n=found.n)


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
    training = compare_training(change, fast.select(), slow.select(), gain.value)
    told = {"gain": gain, "training": training or change.training}
    fix = result.Change(**share_fields(change, result.Change) | told)
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
    first = next(iter(course.select()), course.watched)
    if first is None or first.seconds is None:
        failed = next(iter(course.runs), None)
        reason = failed.reason if failed else loaded.campaign.not_run.get(arm.name, "no-run")
        return structs.replace(bare, reason=reason, unproven=failed and failed.unproven)
    seconds = course.seconds or [first.seconds]
    told, step = first.evidence, estimate(seconds)
    epoch_s = told.get("epoch_steps", 0.0) * step.value
    seen = (course.watched and course.watched.notes.watched) or Watched(clock="")
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
    if course.levels[-1].missing:
        return "undecided"
    tries = course.levels[-1].tries
    if any(t.gain and t.gain.work is None and t.gain.wall.most > HIDDEN for t in tries):
        return "noisy"
    standings = {tried.standing for tried in tries}
    if standings <= {"no gain", "no effect", "failed", "otherwise"} and standings != {"failed"}:
        return "nothing"
    return "noisy" if max(course.seconds) > NOISY * min(course.seconds) else "undecided"


def _list_batches(course: Course) -> dict[int, list[float]]:
    """By examples a step the seconds that the work of one step of the unchanged script takes, where three
    runs tell."""
    scales = {change.name: change.scale for change in course.tries if change.scale > 1}
    cases = {1.0: course.select()}
    cases |= {of: [r for r in course.select(name) if r.applied] for name, of in scales.items()}
    batch = _find_batch(course)
    return {
        round(batch * scale): [run.seconds for run in runs if run.seconds]
        for scale, runs in cases.items()
        if batch and len(runs) >= FEWEST
    }


def _find_batch(course: Course) -> int | None:
    """The examples of a step: where a larger batch would be set, or as they were seen anywhere."""
    seen = course.watched and course.watched.notes.watched
    counts = seen.counts if seen else {}
    places = [f"batch:{change.line}" for change in course.tries if change.scale > 1]
    names = [name for name in (*places, "batch", *counts) if name in counts]
    return next((round(counts[name]) for name in names if name.startswith("batch")), None)


# --- Tries --------------------------------------------------------------------------------------------


def _list_tried(course: Course) -> Iterator[result.Tried]:
    """All that applies, in the order in which it was tried."""
    for level in course.levels:
        for tried in level.tries:
            standing, gain = tried.standing, tried.gain
            if level.pick and tried is not level.pick and standing in {"undecided", "helps"}:
                standing = "superseded"
            if tried.withdrawn and standing != "no gain":
                standing = "withdrawn"
            if standing == "not tried" and level.on:
                continue
            of_change = share_fields(tried.change, result.Tried)
            of_try = {
                "arm": course.arm,
                "standing": standing,
                "gain": gain and _tell(gain.wall),
                "cpu_gain": gain and gain.cpu.value,
            }
            yield result.Tried(**of_change | share_fields(tried, result.Tried) | of_try)


def _find_together(courses: Sequence[Course]) -> Iterator[tuple[str, result.Together]]:
    """What the fixes that were kept give at once, where enough pairs show it."""
    for course in courses:
        kept = [level.pick for level in course.levels if level.pick]
        if kept and (gain := course.together) and gain.wall.n >= FEWEST:
            made = [tried.training for tried in kept if tried.training]
            together = result.Together(
                tries=course.levels[-1].on,
                gain=_tell(gain.wall),
                training=max(made, key=ORDER.index) if len(made) == len(kept) else None,
                step=estimate(course.seconds).value / gain.wall.value,
            )
            yield course.arm, together
