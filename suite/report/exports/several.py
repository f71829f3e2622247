"""Several campaigns beside each other, for other programs: ``compare.json`` and what a survey found."""

from __future__ import annotations

import json
from typing import Any

from suite.analysis.several.comparison import Contrast, Pair, Versus
from suite.analysis.several.places import Surveyed
from suite.report.exports.exchange import SCHEMA, describe_suites
from suite.report.exports.findings import describe_comparison
from suite.report.text.wording import name_banners, tell, word


def render_versus_json(versus: Versus) -> str:
    """The same for programs, with a final newline: unscaled numbers, times in seconds a call."""
    return _dump(
        {
            "schema": SCHEMA,
            "banners": list(name_banners(versus.flags)),
            "campaigns": [
                {
                    "number": number,
                    "id": one.campaign.id,
                    "profile": one.campaign.profile,
                    "arms": one.campaign.arms,
                    "noise_floor": one.conclusions.floor,
                }
                for number, one in enumerate(versus.summaries, start=1)
            ],
            "ratio_is": "time of the other column over time of the base; under 1 the other is faster",
            "pairs": [_describe_pair(one) for one in versus.pairs],
        }
    )


def _describe_pair(pair: Pair) -> dict[str, Any]:
    distances = pair.distances
    return {
        "other": pair.other.name,
        "base": pair.base.name,
        "interleaved": pair.interleaved,
        "note": next(map(word, pair.flags), None),
        "margin": pair.margin,
        "distance_median": distances[0] if distances else None,
        "distance_p95": distances[1] if distances else None,
        "cells": {
            name: {**one, "doubts": tell(pair.beside[name])}
            for name, one in _describe_cells(pair).items()
        },
    }


def render_survey_json(found: Surveyed) -> str:
    """The same for programs, with a final newline: unscaled numbers, times in seconds a call."""
    survey = found.survey
    content = {
        "schema": SCHEMA,
        **describe_suites(survey.suite),
        "id": survey.id,
        "banners": list(name_banners(found.flags)),
        "gpus": survey.gpus,
        "rounds": survey.rounds,
        "campaigns": [
            {"gpu": one.gpu, "at_once": one.at_once, "id": one.campaign} for one in survey.members
        ],
        "ratio_is": "time over time, of the GPU named over the first one's, or at once over alone; "
        "paired by round; under 1 the former is faster",
        "apart": {gpu: _describe_contrast(one) for gpu, one in found.apart.items()},
        "at_once": {gpu: _describe_contrast(one) for gpu, one in found.crowded.items()},
        "at_once_all": _describe_contrast(found.pooled),
        "rounds_not_at_once": list(found.lonely),
        "overlap": found.overlap,
    }
    if found.overlap is None:
        content["absent"] = {"overlap": "no round has two GPUs at work at once"}
    return _dump(content)


def _describe_contrast(one: Contrast) -> dict[str, Any]:
    return {"margin": one.margin, "cells": _describe_cells(one)}


def _describe_cells(one: Contrast) -> dict[str, dict[str, Any]]:
    return {
        name: describe_comparison(ratio, one.verdicts[name]) for name, ratio in one.ratios.items()
    }


def _dump(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
