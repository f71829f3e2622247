"""The line that says why, out of what real tools say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import msgspec
import pytest

from suite.cli.fleet.reasons import find_reason, word_remedy
from suite.fingerprint import SUITE

LOGS = msgspec.toml.decode(Path(__file__).with_name("logs.toml").read_bytes())["log"]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log["what"][:30])
def test_the_decisive_line_is_the_reason(log: dict[str, str]) -> None:
    reason = find_reason(log["text"])
    assert log["what"] in " ".join(reason.what.split())
    assert log.get("remedy", "") in reason.remedy


@pytest.mark.parametrize(
    ("suite", "fleet"),
    [
        (
            "make room there, and RESUME=… goes on with a campaign",
            "make room there, and run the same command again: it goes on where it was",
        ),
        (
            "Put the original file back, or measure again what it held (RESUME=…).",
            "Put the original file back, or measure again what it held (run the same command again).",
        ),
        (
            "begin anew: `make bench RESUME=results/X` goes on; CDI prevents it",
            "begin anew: run the same command again: it goes on where it was; CDI prevents it",
        ),
        (
            "use another machine; or RESUME without STOP_IF to continue on this one",
            "use another machine; or run the same command again without STOP_IF to continue on this one",
        ),
        (
            "make room there, or name another folder with RESULTS=",
            "make room there, or use a folder elsewhere",
        ),
        ("wait for it to end (WAIT=30m does), or stop it", None),
    ],
)
def test_what_to_do_is_what_a_fleet_takes(suite: str, fleet: str | None) -> None:
    """`fleet/bench` refuses RESUME and RESULTS: it finds its folder, and the campaign in it, by itself."""
    assert word_remedy(suite) == (fleet or suite)


def test_no_text_of_the_suite_sends_a_fleet_to_what_it_refuses() -> None:
    """Every text in the code that names one of the two."""
    refused = re.compile(r"\bRESUME\b|\bRESULTS=")
    sources = [path.read_text(encoding="utf-8") for path in SUITE.rglob("*.py")]
    texts = {
        node.value
        for source in sources
        if refused.search(source) and "def word_remedy" not in source
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    named = {text for text in texts if refused.search(text)}
    assert "make room there, and RESUME=… goes on with a campaign" in named
    assert not [text for text in named if refused.search(word_remedy(text))]
