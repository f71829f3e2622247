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

Kind = Literal["winner", "crossover", "extreme", "count", "cause", "wrong winner"]

PATTERNS: Mapping[Kind, re.Pattern[str]] = {
    "winner": re.compile(r"\bwins\b|\bwinner changes\b|\bfaster (?:at|from|on) (?!0\b)"),
    "crossover": re.compile(r"\bwins at [^;]*; \S+ wins at\b"),
    "extreme": re.compile(
        r"\b(?:largest|biggest) (?:win|loss|speed-up|gain over)\b", re.IGNORECASE
    ),
    "count": re.compile(r"(?:faster|slower)(?: than \S+)? in [1-9]"),
    "cause": re.compile(r"\bWhy \S+ (?:loses|is slower)\b"),
    "wrong winner": re.compile(r"\bwrong winner\b"),
}
"""What a sentence of the opening can claim about who wins and why."""

DENIED = re.compile(
    r"no (?:clear )?winner|nobody can say|can't be named|cannot be named|undecided|not named|no crossover",
    re.IGNORECASE,
)

CONTROLS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(words, re.IGNORECASE)
    for name, words in {
        "twins": r"\brun twice\b",
        "extra work": r"known extra work on \S+ measured",
        "hidden": r"cuda-hidden has no GPU",
        "input only": r"input-only cells? differ",
        "changed": r"\bchanged during\b",
        "slow invocation": r"in block \d+ took",
    }.items()
}
"""What names a control that failed, or an invocation that is unlike the others."""

NOISE = re.compile(r"differ by under (?P<size>[\d.]+) %")

JUDGED = frozenset({"FASTER", "SLOWER"})
DECIDED = frozenset({"crosses", "always", "never", "not monotone"})


@dataclass(frozen=True, kw_only=True)
class Told:
    """A report as its reader has it: the first screen's sentences, and what programs read.

    ``opening`` is what a terminal shows before the table, and report.md before its first table.
    """

    opening: tuple[str, ...]
    first: tuple[str, ...]
    summary: Mapping[str, Any]
    report: str

    def claims(self, kind: Kind) -> list[str]:
        """The sentences of the opening that claim something of a kind."""
        sentences = (sentence for sentence in self.opening if PATTERNS[kind].search(sentence))
        return [each for each in sentences if not DENIED.search(each)]

    def places(self, control: str) -> list[int]:
        """Where in the opening a control that failed is named."""
        return [at for at, sentence in enumerate(self.first) if CONTROLS[control].search(sentence)]

    @property
    def first_winner(self) -> int:
        """Where the first paragraphs first name a winner; behind all of them where they don't."""
        kinds: Iterable[Kind] = ("winner", "extreme", "count")
        at = (
            place
            for place, sentence in enumerate(self.first)
            if any(PATTERNS[kind].search(sentence) for kind in kinds) or "faster than" in sentence
        )
        return next(at, len(self.first))

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

    @property
    def noise(self) -> float | None:
        """Up to what share the opening says that a difference is noise; None: it does not say."""
        matches = (match for sentence in self.opening if (match := NOISE.search(sentence)))
        return next((float(each["size"]) / 100 for each in matches), None)


def listen(reported: Report) -> Told:
    """What a report tells."""
    report = reported.files["report.md"]
    # Each answer stands behind the word that it is found by.
    head = re.sub(r"^- \*\*[^*]+:\*\* ", "", report.partition("Table:")[0], flags=re.MULTILINE)
    first = [
        line for line in head.splitlines() if line and not line.startswith(("#", "Machine:", "**"))
    ]
    screen = reported.terminal.partition("\nfamily ")[0].splitlines()[2:]
    return Told(
        opening=tuple(dict.fromkeys(split([*screen, *first]))),
        first=tuple(split(first)),
        summary=json.loads(reported.files["summary.json"]),
        report=report,
    )


def split(lines: Iterable[str]) -> Iterable[str]:
    """The sentences of some paragraphs."""
    for line in lines:
        yield from (
            sentence.strip()
            for sentence in re.split(r"(?<=[.:!]) (?=[A-Z“])", line)
            if sentence.strip()
        )
