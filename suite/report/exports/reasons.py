"""The insight for programs: the parts of ``summary.json`` that say why.

Unscaled numbers in seconds, bytes and FLOP; every null has its reason beside it, under ``absent``.
"""

from __future__ import annotations

from typing import Any

from suite.analysis.ablation.gains import Gain
from suite.analysis.ablation.limits import Comparison, Limit
from suite.analysis.ablation.step import Decomposition, Repayment, Triple
from suite.analysis.ablation.waterfall import Misled, Step, Waterfall
from suite.analysis.causes.advice import KINDS
from suite.analysis.causes.explain import Case
from suite.analysis.causes.insight import Insight
from suite.analysis.causes.rules import RULES
from suite.analysis.documents.published import Figure
from suite.analysis.numbers.ratio import Ratio
from suite.flags import pick
from suite.report.exports.findings import describe_estimate
from suite.report.text.evidence import CHANGES, RULE_TEXTS, word_advice, word_evidence
from suite.report.text.names import name_place
from suite.report.text.wording import BANDS, NAMELESS, word, word_in_cell

ONE_ARM = "there are not both a CPU and a GPU arm"
NO_WATERFALL = "no case has a number for two of its stages"
NO_STEP = "no training step was measured with its data on the device"
NO_PAIR = "no two cells show what would help"
NO_PRICE = "no price was given (PRICE)"
NO_TRAINING = "no cell that trains or infers has a number"


_NEVER = "never: a step saves nothing"
_NOT_SHOWN = "not shown: the interval of what a step saves holds nothing, too"


def describe_causes(case: Case | None) -> list[dict[str, Any]]:
    """A cell's causes, the heaviest first; none where it needs no explanation."""
    if case is None:
        return []
    return [
        {
            "rule": cause.rule,
            "confirmed": cause.confirmed,
            "provisional": cause.provisional,
            "share": cause.share,
            "evidence": word_evidence(*cause.evidence),
            "advice": word_advice(case, cause),
            "gain": _describe_gain(cause.gain) if cause.gain else None,
        }
        for cause in case.causes
    ]


def describe_insight(insight: Insight) -> dict[str, Any]:
    """The rules, what would help, waterfalls, decomposition, limits and cost."""
    absent = {}
    if not insight.advice:
        absent["advice"] = NO_PAIR
    if not insight.waterfalls:
        absent["waterfalls"] = NO_WATERFALL
    if not insight.steps and not insight.triples:
        absent["decomposition"] = NO_STEP
    if insight.price is None:
        absent["cost"] = NO_PRICE
    elif not insight.costs:
        absent["cost"] = NO_TRAINING
    return {
        "rules": {
            rule: {"fires": text.fires, "needs": text.needs, "threshold": RULES[rule]}
            for rule, text in RULE_TEXTS.items()
        },
        "advice": _describe_advice(insight) or None,
        "waterfalls": [_describe_waterfall(one) for one in insight.waterfalls] or None,
        "misled": [_describe_misled(one) for one in insight.misled],
        "decomposition": _describe_decomposition(insight)
        if insight.steps or insight.triples
        else None,
        "limits": _describe_limits(insight),
        "cost": _describe_cost(insight) if insight.costs else None,
        "absent": absent,
    }


def _describe_gain(gain: Gain) -> dict[str, Any]:
    return {"words": word_evidence(gain.how), "at": gain.at, **describe_estimate(gain.ratio)}


def _describe_advice(insight: Insight) -> list[dict[str, Any]]:
    return [
        {
            "kind": CHANGES[kind],
            "measured": [
                {
                    "arm": one.arm,
                    "cell": one.cell,
                    "helps": one.helps,
                    "gain": _describe_gain(one.gain),
                }
                for one in insight.advice
                if one.kind == kind
            ],
        }
        for kind in KINDS
        if any(one.kind == kind for one in insight.advice)
    ]


def _describe_waterfall(one: Waterfall) -> dict[str, Any]:
    largest = one.largest
    return {
        "case": one.case.name,
        "arm": one.arm,
        "on": "cpu" if one.pinned else "arm",
        "fixed": dict(one.fixed),
        "unit": f"s a {one.case.unit}",
        "steps": [_describe_step(step) for step in one.steps],
        "factor": describe_estimate(one.factor),
        "largest": largest.cell if largest else None,
        "absent": {} if largest else {"largest": "no step takes anything away"},
    }


def _describe_step(step: Step) -> dict[str, Any]:
    return {
        "cell": step.cell,
        "changes": list(step.changes),
        "causes": list(step.rules),
        **describe_estimate(step.value),
        "factor": describe_estimate(step.factor) if step.factor else None,
    }


def _describe_misled(one: Misled) -> dict[str, Any]:
    return {
        "case": one.other.case.name,
        "fixed": dict(one.other.fixed),
        "of": [name_place(one.other), name_place(one.base)],
        "naive": describe_estimate(one.naive),
        "fair": describe_estimate(one.fair),
        "factor": one.factor,
        "reverses": one.reverses,
        "invents": one.invents,
    }


def _describe_decomposition(insight: Insight) -> dict[str, Any]:
    return {
        "steps": [_describe_parts(one) for one in insight.steps],
        "triples": [_describe_triple(one) for one in insight.triples],
        "repaid": [_describe_repayment(one) for one in insight.repayments],
    }


def _describe_parts(one: Decomposition) -> dict[str, Any]:
    return {
        "cell": one.cell,
        "arm": one.arm,
        "value": one.whole,
        **{str(name): seconds for name, seconds in one.parts.items()},
        "rest": one.rest,
        "unexplained": one.unexplained,
        "absent": {name: word_evidence(why) for name, why in one.absent.items()},
    }


def _describe_triple(one: Triple) -> dict[str, Any]:
    known = {
        "input": one.input_s,
        "compute": one.compute_s,
        "trivial": one.trivial_s,
        "overlap": one.overlap,
        "bound": one.bound,
    }
    return {
        "pipeline": one.pipeline,
        "arm": one.arm,
        "together": describe_estimate(one.together),
        **known,
        "evidence": word_evidence(one.evidence),
        "absent": {name: "not measured" for name, value in known.items() if value is None},
    }


def _describe_repayment(one: Repayment) -> dict[str, Any]:
    return {
        "cell": one.cell,
        "first_call": one.first_call_s,
        "saving": one.saving_s,
        "steps": describe_estimate(one.steps) if one.steps else None,
        "absent": {} if one.steps else {"steps": _NEVER if one.never else _NOT_SHOWN},
    }


def _describe_limits(insight: Insight) -> dict[str, Any]:
    limits = insight.limits
    return {
        "best": [_describe_limit(one) for one in limits.limits],
        "cells": [
            {
                "cell": one.cell,
                "arm": one.arm,
                "share_of_best": one.share,
                "best": one.best,
                "share_of_peak": one.share_of_peak,
                "share_of_roof": one.share_of_roof,
            }
            for one in limits.uses
        ],
        "errors": [word_in_cell(one) for one in pick(limits.flags, "invalid")],
        "warnings": [word(one) for one in pick(limits.flags, "caution")],
        "unknown": [one or NAMELESS for one in limits.unknown],
    }


def _describe_limit(one: Limit) -> dict[str, Any]:
    absent = {}
    if one.part is None:
        absent["part"] = "no figures are published here under this device's exact name"
    if one.peak is None:
        absent["peak"] = absent.get("part", "no theoretical peak is among the figures")
    if one.band is None:
        absent["band"] = absent.get("part", "no published figure of a similar size")
    return {
        "arm": one.arm,
        "device": one.device,
        "part": one.part.name if one.part else None,
        "what": one.what,
        "precision": one.precision,
        "cell": one.cell,
        "rate": describe_estimate(one.rate),
        "unit": f"{one.unit}/s",
        "peak": _describe_figure(one.peak) if one.peak else None,
        "share_of_peak": one.share_of_peak,
        "band": BANDS[one.band] if one.band else None,
        "published": [_describe_comparison(found) for found in one.comparisons],
        "absent": absent,
    }


def _describe_comparison(one: Comparison) -> dict[str, Any]:
    figure = _describe_figure(one.figure)
    return {"cell": one.cell, "share": one.share, "band": BANDS[one.band], "figure": figure}


def _describe_figure(one: Figure) -> dict[str, Any]:
    return {
        "low": one.low,
        "high": one.high,
        "unit": one.unit,
        "n": one.n,
        "source": one.source,
        "date": one.date,
        "caveat": one.caveat,
    }


def _describe_cost(insight: Insight) -> dict[str, Any]:
    price = insight.price
    return {
        "hourly": price.hourly if price else None,
        "currency": price.currency if price else None,
        "cells": [
            {
                "cell": one.cell,
                "million_steps": {a: describe_estimate(e) for a, e in one.steps.items()},
                "million_examples": {a: describe_estimate(e) for a, e in one.examples.items()},
                "turns_at": _describe_ratio(one.turns),
                "absent": {} if one.turns else {"turns_at": ONE_ARM},
            }
            for one in insight.costs
        ],
    }


def _describe_ratio(found: Ratio | None) -> dict[str, Any] | None:
    return describe_estimate(found) if found else None
