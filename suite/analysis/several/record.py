"""How often verdicts are false where nothing differs: campaigns of an image against itself, or against a
second build of the same source.  Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.record import Place, Rate, Record, Sameness, Tally, Trial
from suite.errors import UsageError
from suite.flags import pick

SOURCE = ("content", "lock", "base", "origin")
"""What two builds of one source have in common, of what is known of an image."""


def read_trial(analysis: Analysis) -> Trial:
    """What a finished campaign in which nothing differs says.

    Raises:
        UsageError: something can differ in it, or it is not finished, or judges nothing.
    """
    _demand_finished(analysis)
    sameness = _tell_sameness(analysis)
    base, other = analysis.arms
    found = {
        cell.id: verdict
        for cell in analysis.cells
        if (verdict := cell.comparisons[other].verdict) is not None and verdict.name != "INVALID"
    }
    if not found:
        raise _refuse(analysis, "it judges nothing")
    machine, arm = analysis.machine, analysis.arms[base]
    return Trial(
        campaign=analysis.campaign.id,
        place=Place(
            sameness=sameness,
            cpu=machine.cpu or "?",
            cpus=machine.cpus_used or "?",
            gpus=machine.gpus if arm.gpu else (),
            engine=", ".join(str(one) for one in arm.facts.get("engine.product", ("?",))),
            arm=arm.plain,
        ),
        judged=len(found),
        false=tuple(name for name, verdict in found.items() if verdict.names_winner),
    )


def _demand_finished(analysis: Analysis) -> None:
    campaign = analysis.campaign
    if any(flag.code == "simulated" for flag in analysis.flags):
        raise _refuse(analysis, "its numbers are made up")
    excluded = {
        (flag.where["arm"], int(flag.where["block"])) for flag in pick(analysis.flags, "excluded")
    }
    undone = [
        name
        for name, arm in analysis.arms.items()
        for block in range(1, campaign.blocks + 1)
        if arm.blocks.get(block) != "complete" and (name, block) not in excluded
    ]
    if campaign.stopped or undone:
        raise _refuse(analysis, "it is not finished")


def _tell_sameness(analysis: Analysis) -> Sameness:
    if len(analysis.arms) != 2:
        arms = ", ".join(analysis.arms)
        raise _refuse(analysis, f"it does not compare two arms, but has {arms}")
    base, other = analysis.arms.values()
    if not {"id", *SOURCE} <= base.image.keys() & other.image.keys():
        raise _refuse(analysis, "it does not say what its images are")
    ids, others = base.image["id"], other.image["id"]
    varied = [name for name in ("id", *SOURCE) if len({*base.image[name], *other.image[name]}) > 1]
    if base.gpu != other.gpu or set(varied) - {"id"} or len(ids) != 1 or len(others) != 1:
        names = ", ".join(varied) or "GPU"
        raise _refuse(analysis, f"its arms are not the same, but differ in {names}")
    if not varied:
        return "itself"
    if base.image["content"] == (None,):
        raise _refuse(analysis, "nobody knows what its images were built from")
    return "second build"


def _refuse(analysis: Analysis, why: str) -> UsageError:
    return UsageError(
        f"{analysis.campaign.id} tells nothing of false verdicts: {why}",
        "`make aa` measures an arm against itself, to the end and with a profile that judges: standard, full",
    )


def add_up(trials: Mapping[str, Trial]) -> Record:
    """The record of these trials, by the names of their files."""
    every = trials.values()
    places = sorted({one.place for one in every})
    return Record(
        places={place: _tally([one for one in every if one.place == place]) for place in places},
        together=_tally(every) if trials else None,
        false={name: one.false for name, one in trials.items() if one.false},
    )


def _tally(trials: Collection[Trial]) -> Tally:
    return Tally(
        cells=rate(sum(len(one.false) for one in trials), sum(one.judged for one in trials)),
        tables=rate(sum(bool(one.false) for one in trials), len(trials)),
    )


def rate(seen: int, of: int) -> Rate:
    """The share with its exact 95 % CI (Clopper and Pearson 1934)."""
    from scipy.stats import binomtest  # noqa: PLC0415  loading it takes longer than most commands

    interval = binomtest(seen, of).proportion_ci(confidence_level=0.95, method="exact")
    return Rate(seen=seen, of=of, low=float(interval.low), high=float(interval.high))
