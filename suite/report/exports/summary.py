"""What was found, for programs: the analysis as it is, with the sentence beside every code.

Unscaled numbers, seconds and bytes; every null has its reason beside it.  What is read back are the codes
and values; the sentences are for readers.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from suite.analysis.result.acceptance import Acceptance
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import Evidence
from suite.analysis.result.several import Versus
from suite.analysis.result.why import Answer
from suite.flags import Flag, raise_flag
from suite.report.text.evidence import word_evidence
from suite.report.text.texts import TEXTS
from suite.report.text.wording import word, word_invalid

NO_INTERVAL = "no twin cell has an interval"
"""Why nobody can say whether the noise floor is explained."""

_SHORT = re.compile(r"[\[{]\n[^\[\]{}]{1,140}[\]}]")
"""A list or an object that fits on a line, and stands on one."""


def render_json(analysis: Analysis | Versus | Answer | Acceptance) -> str:
    """The file as text with a final newline; keys in a fixed order."""
    content = msgspec.to_builtins(analysis)
    _add_words(content)
    if isinstance(analysis, Analysis):
        _add_reasons(content, analysis)
    return lay_out(content)


def lay_out(content: Any) -> str:
    """The content of such a file as its text, which has one form only.

    Raises:
        ValueError: it holds a number that is none.
    """
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    return _SHORT.sub(lambda short: re.sub(r"\n *", " ", short[0]), text) + "\n"


def summary_schema() -> dict[str, Any]:
    """The JSON Schema of the files."""
    return _make_schema(
        "The analysis of a campaign, or a comparison of campaigns", Analysis, Versus
    )


def why_schema() -> dict[str, Any]:
    """The JSON Schema of ``why.json``."""
    return _make_schema("Why a script is slow, and what would help", Answer)


def accept_schema() -> dict[str, Any]:
    """The JSON Schema of ``accept.json``."""
    return _make_schema("A campaign judged against a sheet of requirements", Acceptance)


def _make_schema(title: str, *types: type[msgspec.Struct]) -> dict[str, Any]:
    references, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    for name, definition in definitions.items():
        definition["description"] = " ".join(definition.get("description", "").split())
        if name in {"Flag", "Evidence"}:
            definition["properties"]["text"] = {"type": "string"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "anyOf": list(references),
        "$defs": definitions,
    }


def _add_words(value: Any) -> None:
    """Puts beside every code within its sentence, as ``text``."""
    if isinstance(value, list | tuple):
        for item in value:
            _add_words(item)
    elif isinstance(value, dict) and "severity" in value:
        value["text"] = word(Flag(**value))
    elif isinstance(value, dict) and "code" in value and value.keys() <= {"code", "values"}:
        value["text"] = word_evidence(Evidence(**value))
    elif isinstance(value, dict):
        for item in value.values():
            _add_words(item)


def _add_reasons(content: dict[str, Any], analysis: Analysis) -> None:
    """Says of what is null, or empty where nobody would think so, why it is; and what is INVALID."""
    for written, cell in zip(content["cells"], analysis.cells, strict=True):
        first = next(iter(cell.comparisons.values()), None)
        alone = None if first else raise_flag("one-arm")
        flags = {
            "ratio": first.no_ratio if first else alone,
            "verdict": first.no_verdict if first else alone,
        }
        if reasons := {name: word(flag) for name, flag in flags.items() if flag}:
            written["absent"] = reasons
        for arm, result in cell.arms.items():
            if result.invalid:
                written["arms"][arm]["invalid"] = word_invalid(result.invalid)
    controls, whys = content["controls"], TEXTS["controls"]
    controls["absent"] = {name: why for name, why in whys.items() if not controls[name]}
    no_floor = analysis.noise_floor is None
    absent = {"noise_floor": whys["twins"]} if no_floor else {}
    if analysis.noise_unexplained is None:
        absent["noise_unexplained"] = whys["twins"] if no_floor else NO_INTERVAL
    if absent:
        content["absent"] = absent
