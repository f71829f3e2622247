"""What a report claims: found in its structured file where there is one, else in its sentences.

The sentences' patterns stand here and nowhere else, so that a report that is worded anew changes this
file alone.  A sentence that denies (`DENIED`) claims nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from suite.report.produce import Report

Kind = Literal["winner", "crossover", "row", "count", "cause", "wrong winner"]

PATTERNS: Mapping[Kind, re.Pattern[str]] = {
    "winner": re.compile(r"^(?:Train|Multiply|Run)\b.* on \S+ (?:from|at)\b|× as fast"),
    "crossover": re.compile(r"\bon \S+ from \S+ (?:= )?\d+ on, on \S+ (?:up to|at every)"),
    "row": re.compile(r"^\|.*\| \S+ wins +\|"),
    "count": re.compile(r"\| (?:[1-9]\d*, \d+|\d+, [1-9]\d*), \d+, \d+ +\|$"),
    "cause": re.compile(r"\blargest in \d+ of \d+ cells?\b"),
    "wrong winner": re.compile(r"\bwrong winner\b"),
}
"""What a sentence or a table's row of the brief can claim about who wins and why."""

DENIED = re.compile(r"^Nothing is decided")

CONTROLS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(words, re.IGNORECASE)
    for name, words in {
        "twins": r"^A CONTROL FAILED:.*\brun twice\b",
        "extra work": r"^A CONTROL FAILED:.*known extra work",
        "hidden": r"^A CONTROL FAILED:.*cuda-hidden has no GPU",
        "input only": r"^A CONTROL FAILED:.*input-only cells? differ",
        "changed": r"^A CONTROL FAILED:.*\bchanged during\b",
        "slow invocation": r"in block \d+ took",
    }.items()
}
"""What names a control that failed, or an invocation that is unlike the others."""

JUDGED = frozenset({"FASTER", "SLOWER"})
DECIDED = frozenset({"crosses", "always", "never", "not monotone"})


@dataclass(frozen=True, kw_only=True)
class Told:
    """A report as its reader has it: what the brief says, and what programs read.

    ``opening`` are the sentences of the brief, ``rows`` those of its tables, and ``first`` the sentences
    before the first table, of which the decision comes last.
    """

    opening: tuple[str, ...]
    rows: tuple[str, ...]
    first: tuple[str, ...]
    summary: Mapping[str, Any]
    report: str

    def claims(self, kind: Kind) -> list[str]:
        """The sentences and rows of the brief that claim something of a kind."""
        lines = (*self.opening, *self.rows)
        return [line for line in lines if PATTERNS[kind].search(line) and not DENIED.search(line)]

    def places(self, control: str) -> list[int]:
        """Where in the opening a control that failed is named."""
        return [at for at, sentence in enumerate(self.first) if CONTROLS[control].search(sentence)]

    @property
    def first_winner(self) -> int:
        """Where the first paragraphs first name a winner; behind all of them where they don't."""
        named = (at for at, line in enumerate(self.first) if PATTERNS["winner"].search(line))
        return next(named, len(self.first))

    @property
    def decision(self) -> list[str]:
        """The sentences that decide."""
        return [line for line in self.opening if re.match(r"(?:Train|Multiply|Run)\b", line)]

    @property
    def cells(self) -> dict[str, Mapping[str, Any]]:
        """The cells of summary.json by id."""
        return {cell["id"]: cell for cell in self.summary["cells"]}

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdicts by cell, of cells that have one."""
        return {name: cell["verdict"] for name, cell in self.cells.items() if cell["verdict"]}

    @property
    def judged(self) -> dict[str, str]:
        """The cells that are called faster or slower."""
        return {name: verdict for name, verdict in self.verdicts.items() if verdict in JUDGED}

    @property
    def crossovers(self) -> list[Mapping[str, Any]]:
        """The sweeps of which the report says who wins where."""
        return [sweep for sweep in self.answers if sweep["answer"] in DECIDED]

    @property
    def answers(self) -> list[Mapping[str, Any]]:
        """What every sweep answers, with what it is; what the file leaves out filled in."""
        return [
            {"low": None, "high": None, "rising": True, **sweep, **crossover}
            for sweep in self.summary.get("crossovers", ())
            for crossover in sweep["crossovers"].values()
        ]

    @property
    def causes(self) -> dict[str, list[Mapping[str, Any]]]:
        """The causes by cell, the first one first."""
        return {name: cell["causes"] for name, cell in self.cells.items() if cell["causes"]}


def listen(reported: Report) -> Told:
    """What a report tells."""
    brief = reported.files["brief.md"]
    lines = [re.sub(r"^- \*\*[^*]+\*\* |\*\*", "", line) for line in brief.splitlines()]
    said = [line for line in lines if line and not line.startswith(("#", "|"))]
    before = next((at for at, line in enumerate(said) if "Table: " in line), len(said))
    return Told(
        opening=tuple(dict.fromkeys(split(said))),
        rows=tuple(line for line in lines if line.startswith("|")),
        first=tuple(split(said[:before])),
        summary=json.loads(reported.files["summary.json"]),
        report=reported.files["report.md"],
    )


def split(lines: Iterable[str]) -> Iterable[str]:
    """The sentences of some paragraphs."""
    for line in lines:
        yield from (
            sentence.strip()
            for sentence in re.split(r"(?<=[.:!]) (?=[A-Z“])", line)
            if sentence.strip()
        )
