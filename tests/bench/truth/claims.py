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
        "extra work": r"known extra work",
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
        found = (one for one in self.opening if PATTERNS[kind].search(one))
        return [one for one in found if not DENIED.search(one)]

    def places(self, control: str) -> list[int]:
        """Where in the opening a control that failed is named."""
        return [at for at, one in enumerate(self.first) if CONTROLS[control].search(one)]

    @property
    def first_winner(self) -> int:
        """Where the first paragraphs first name a winner; behind all of them where they don't."""
        kinds: Iterable[Kind] = ("winner", "extreme", "count")
        at = (
            place
            for place, one in enumerate(self.first)
            if any(PATTERNS[kind].search(one) for kind in kinds) or "faster than" in one
        )
        return next(at, len(self.first))

    @property
    def cells(self) -> dict[str, Mapping[str, Any]]:
        """The cells of summary.json by id."""
        return {one["id"]: one for one in self.summary["cells"]}

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdicts by cell, of cells that have one."""
        return {name: one["verdict"] for name, one in self.cells.items() if one["verdict"]}

    @property
    def judged(self) -> dict[str, str]:
        """The cells that are called faster or slower."""
        return {name: one for name, one in self.verdicts.items() if one in JUDGED}

    @property
    def crossovers(self) -> list[Mapping[str, Any]]:
        """The sweeps of which the report says who wins where."""
        return [one for one in self.answers if one["answer"] in DECIDED]

    @property
    def answers(self) -> list[Mapping[str, Any]]:
        """What every sweep answers, with what it is; what the file leaves out filled in."""
        return [
            {"low": None, "high": None, "rising": True, **sweep, **found}
            for sweep in self.summary.get("crossovers", ())
            for found in sweep["crossovers"].values()
        ]

    @property
    def causes(self) -> dict[str, list[Mapping[str, Any]]]:
        """The causes by cell, the first one first."""
        return {name: one["causes"] for name, one in self.cells.items() if one["causes"]}

    @property
    def noise(self) -> float | None:
        """Up to what share the opening says that a difference is noise; None: it does not say."""
        found = (match for one in self.opening if (match := NOISE.search(one)))
        return next((float(one["size"]) / 100 for one in found), None)


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
        yield from (one.strip() for one in re.split(r"(?<=[.:!]) (?=[A-Z“])", line) if one.strip())
