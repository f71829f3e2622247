"""What was found, for programs: the analysis as it is, with the sentence beside every code.

Unscaled numbers, seconds and bytes; every null has its reason beside it.  What is read back are the codes
and values; the sentences are for readers.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import Evidence
from suite.analysis.result.several import Versus
from suite.flags import Flag, raise_flag
from suite.report.text.evidence import word_evidence
from suite.report.text.wording import (
    NO_EXTRA,
    NO_HIDDEN,
    NO_INPUT,
    NO_INTERVAL,
    NO_TWINS,
    word,
    word_invalid,
)

_SHORT = re.compile(r"[\[{]\n[^\[\]{}]{1,140}[\]}]")
"""A list or an object that fits on a line, and stands on one."""

_CONTROLS = {
    "twins": NO_TWINS,
    "cuda_hidden": NO_HIDDEN,
    "again": "no arm was measured against itself",
    "extra_work": NO_EXTRA,
    "input_only": NO_INPUT,
}
"""Why a control is not there."""


def render_json(found: Analysis | Versus) -> str:
    """The file as text with a final newline; keys in a fixed order."""
    content = msgspec.to_builtins(found)
    _add_words(content)
    if isinstance(found, Analysis):
        _add_reasons(content, found)
    return lay_out(content)


def lay_out(content: Any) -> str:
    """The content of such a file as its text, which has one form only.

    Raises:
        ValueError: it holds a number that is none.
    """
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    return _SHORT.sub(lambda found: re.sub(r"\n *", " ", found[0]), text) + "\n"


def summary_schema() -> dict[str, Any]:
    """The JSON Schema of the files."""
    references, definitions = msgspec.json.schema_components(
        [Analysis, Versus], ref_template="#/$defs/{name}"
    )
    for name, definition in definitions.items():
        definition["description"] = " ".join(definition.get("description", "").split())
        if name in {"Flag", "Evidence"}:
            definition["properties"]["text"] = {"type": "string"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The analysis of a campaign, or a comparison of campaigns",
        "anyOf": list(references),
        "$defs": definitions,
    }


def _add_words(value: Any) -> None:
    """Puts beside every code within its sentence, as ``text``."""
    if isinstance(value, list | tuple):
        for one in value:
            _add_words(one)
    elif isinstance(value, dict) and "severity" in value:
        value["text"] = word(Flag(**value))
    elif isinstance(value, dict) and "code" in value and value.keys() <= {"code", "values"}:
        value["text"] = word_evidence(Evidence(**value))
    elif isinstance(value, dict):
        for one in value.values():
            _add_words(one)


def _add_reasons(content: dict[str, Any], found: Analysis) -> None:
    """Says of what is null, or empty where nobody would think so, why it is; and what is INVALID."""
    for cell, one in zip(content["cells"], found.cells, strict=True):
        first = next(iter(one.comparisons.values()), None)
        alone = None if first else raise_flag("one-arm")
        flags = {
            "ratio": first.no_ratio if first else alone,
            "verdict": first.no_verdict if first else alone,
        }
        reasons = {name: word(flag) for name, flag in flags.items() if flag}
        if reasons:
            cell["absent"] = reasons
        for arm, result in one.arms.items():
            if result.invalid:
                cell["arms"][arm]["invalid"] = word_invalid(result.invalid)
    controls = content["controls"]
    controls["absent"] = {name: why for name, why in _CONTROLS.items() if not controls[name]}
    absent = {}
    if found.noise_floor is None:
        absent["noise_floor"] = NO_TWINS
    if found.noise_unexplained is None:
        absent["noise_unexplained"] = NO_TWINS if found.noise_floor is None else NO_INTERVAL
    if absent:
        content["absent"] = absent
