"""The conclusions for programs: the parts of ``summary.json`` that are not about one cell.

Unscaled numbers; every null has its reason beside it, under ``absent``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from suite.analysis.campaign.conclude import ONE_ARM, Conclusions
from suite.analysis.campaign.controls import ExtraWork, Family
from suite.analysis.campaign.software import find_builds, find_differing
from suite.analysis.campaign.summarise import Summary
from suite.analysis.campaign.timing import find_timing_costs
from suite.analysis.numbers.estimate import Estimate
from suite.analysis.numbers.ratio import Ratio
from suite.analysis.numbers.verdict import MARGIN, Verdict
from suite.flags import Flag
from suite.report.text.evidence import word_evidence
from suite.report.text.wording import (
    NO_EXTRA,
    NO_HIDDEN,
    NO_INPUT,
    NO_INTERVAL,
    NO_SWEEP,
    NO_TWINS,
    tell,
    word,
    word_invalid,
    word_verdict,
)


def describe_findings(summary: Summary) -> dict[str, Any]:
    """Crossovers, noise floor, margin, controls, and what was set aside."""
    conclusions = summary.conclusions
    crossovers = list(_describe_crossovers(summary))
    absent = {}
    if not crossovers:
        absent["crossovers"] = NO_SWEEP if summary.others else word(ONE_ARM)
    if conclusions.floor is None:
        absent["noise_floor"] = NO_TWINS
    if conclusions.excess is None:
        absent["noise_unexplained"] = NO_TWINS if conclusions.floor is None else NO_INTERVAL
    return {
        "crossovers": crossovers or None,
        "noise_floor": conclusions.floor,
        "noise_unexplained": conclusions.excess,
        "margin": conclusions.margin,
        "controls": _describe_controls(conclusions),
        "timing_costs": find_timing_costs(summary),
        "software_differs": find_differing(find_builds(summary), summary.base),
        "invalid": word_invalid(summary.invalid) or None,
        "set_aside": [
            {
                **one.where,
                "code": one.code,
                "reason": word(one),
                "repeated": one.values["repeated"],
            }
            for one in summary.excluded
        ],
        "absent": absent | ({} if summary.invalid else {"invalid": "the campaign is valid"}),
    }


def describe_estimate(found: Estimate | Ratio) -> dict[str, Any]:
    """An estimate or a ratio; the notes say why an end is null."""
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "notes": tell(found.flags),
    }


def describe_comparison(ratio: Ratio | Flag, verdict: Verdict | Flag) -> dict[str, Any]:
    """A ratio, or the reason why there is none, and what it means."""
    found = describe_estimate(ratio) if isinstance(ratio, Ratio) else {"absent": word(ratio)}
    return {**found, **describe_verdict(verdict)}


def describe_verdict(found: Verdict | Flag) -> dict[str, Any]:
    """A verdict, or null and the reason why there is none."""
    if isinstance(found, Flag):
        return {"verdict": None, "code": None, "reason": word(found), "p_holm": None}
    return {
        "verdict": found.name,
        "code": found.code,
        "reason": word_verdict(found),
        "p_holm": found.p,
    }


def _describe_crossovers(summary: Summary) -> Iterable[dict[str, Any]]:
    for other, found in summary.conclusions.crossovers.items():
        for sweep, crossover in found:
            faster = (other, summary.base) if crossover.rising else (summary.base, other)
            yield {
                "of": [other, summary.base],
                "scenario": sweep.scenario,
                "case": sweep.case,
                "axis": sweep.axis,
                "fixed": dict(sweep.fixed),
                "answer": crossover.answer,
                "low": crossover.low,
                "high": crossover.high,
                "size": crossover.size,
                "faster_above": faster[0] if crossover.answer == "crosses" else None,
                "reason": word_evidence(crossover.reason) if crossover.reason else None,
            }


def _describe_controls(conclusions: Conclusions) -> dict[str, Any]:
    controls: dict[str, Any] = {
        "twins": [_describe_family(one) for one in conclusions.twins] or None,
        "cuda_hidden": _describe_family(conclusions.hidden) if conclusions.hidden else None,
        "again": [_describe_family(one) for one in conclusions.again] or None,
        "extra_work": [_describe_extra(one) for one in conclusions.extra] or None,
        "input_only": {
            cell: {arm: describe_verdict(one) for arm, one in arms.items()}
            for cell, arms in conclusions.input_only.items()
        }
        or None,
    }
    reasons = {
        "twins": NO_TWINS,
        "cuda_hidden": NO_HIDDEN,
        "again": "no arm was measured against itself",
        "extra_work": NO_EXTRA,
        "input_only": NO_INPUT,
    }
    controls["absent"] = {name: text for name, text in reasons.items() if controls[name] is None}
    return controls


def _describe_family(family: Family) -> dict[str, Any]:
    faster, slower = family.signs
    counts = Counter(one.name for one in family.verdicts.values())
    return {
        "of": [family.other, family.base],
        "cells": len(family.ratios),
        "faster": faster,
        "slower": slower,
        "margin": MARGIN,
        "verdicts": dict(sorted(counts.items())),
        "flagged": family.flagged,
        "ratios": {name: describe_estimate(one) for name, one in family.ratios.items()},
    }


def _describe_extra(extra: ExtraWork) -> dict[str, Any]:
    return {
        "arm": extra.arm,
        "cell": extra.cell,
        "honest": extra.honest,
        "truth": extra.truth,
        **describe_estimate(extra.ratio),
        "holds": extra.holds,
    }
