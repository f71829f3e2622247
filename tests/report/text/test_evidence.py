"""The registry of evidence: every code of the analysis has its sentence, every placeholder its value."""

from __future__ import annotations

import ast
from functools import cache
from string import Formatter
from typing import get_args

import pytest

from suite.analysis.campaign.proof import DEMANDS
from suite.analysis.causes.rules import RULES
from suite.analysis.result.cells import SteadyClass
from suite.analysis.result.findings import Gap, Repaid, RuleName
from suite.analysis.result.limits import Band
from suite.analysis.result.numbers import Evidence, cite
from suite.cells.traits import Effect
from suite.fingerprint import SUITE
from suite.report.text.evidence import word_evidence
from suite.report.text.texts import TEXTS

SENTENCES = TEXTS["sentences"]


@cache
def find_cited() -> list[tuple[str, set[str | None]]]:
    """Every code that the analysis cites, with the names of its values; None: and others."""
    cited: list[tuple[str, set[str | None]]] = []
    for path in (SUITE / "analysis").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "cite":
                parts = ast.walk(node.args[0])
                strings = [part.value for part in parts if isinstance(part, ast.Constant)]
                assert strings, f"{path}:{node.lineno}: no code that stands there"
                names = {keyword.arg for keyword in node.keywords}
                cited += [(str(code), names) for code in strings]
    return cited + [(code, {"fact", "value"}) for _, _, code in DEMANDS]


def list_names(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_every_code_has_its_sentence_and_every_sentence_its_code() -> None:
    assert {code for code, _ in find_cited()} == set(SENTENCES)
    rules = list(get_args(RuleName))
    assert list(TEXTS["meanings"]) == list(TEXTS["advice"]) == list(RULES) == rules
    assert list(TEXTS["effects"]) == list(get_args(Effect))
    assert list(TEXTS["steady"]) == list(get_args(SteadyClass))
    for table, values in (("bands", Band), ("gaps", Gap), ("repaid", Repaid)):
        assert TEXTS[table].keys() <= set(get_args(values))


def test_every_placeholder_has_its_value_and_every_value_its_placeholder() -> None:
    for code, given in find_cited():
        names = list_names(SENTENCES[code])
        assert all(name.isidentifier() for name in names)
        assert given - {None} <= names, code
        needed = list_names(
            "".join(part.partition("]")[2] for part in f"]{SENTENCES[code]}".split("["))
        )
        assert None in given or needed <= given, code


COPY = {"seconds": 2.0, "size": 4096.0, "way": "to the device", "copy": "a"}
BACK = {"size_back": 4.0, "way_back": "back", "copy_back": "b"}


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (
            cite("handover", price=2e-6, own=4e-6, calls=1.0, call="overhead.call"),
            "dispatching a call (overhead.call) takes up to 2.00 µs of 4.00 µs",
        ),
        (
            cite("handover", price=1, own=2, calls=1e4, call="a", nodes=3, operation="b"),
            "dispatching 10,000 calls (a) and 3 operations a step (b) takes up to 1.00 s of 2.00 s",
        ),
        (Evidence(code="copies", values=COPY), "copying 4,096 B to the device (a) takes 2.00 s"),
        (
            Evidence(code="copies", values=COPY | BACK),
            "copying 4,096 B to the device (a), 4 B back (b) takes 2.00 s",
        ),
        (
            cite("left-out", own=2.0, less=1.0, words="with data={device} [x]"),
            "2.00 s, and 1.00 s with data={device} [x]",
        ),
        (
            cite("trace", calls=20.0, busy=0.5, kernels=14.0),
            "a trace of 20 calls shows the GPU busy 50.0 % of the time, 14 kernels a call",
        ),
        (
            cite("repaid", units=1234.5, unit="step"),
            "breaks even after 1,235 steps at the fair number",
        ),
    ],
)
def test_evidence_in_words(evidence: Evidence, words: str) -> None:
    assert word_evidence(evidence) == words


def test_evidence_is_told_in_its_order() -> None:
    pair = cite("is-copy"), cite("first-step", seconds=1.0)
    assert word_evidence(*pair) == (
        "the cell is a copy and nothing else; a process's first step takes 1.00 s by itself"
    )
