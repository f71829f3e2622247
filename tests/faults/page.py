"""What became of the faults, as a table and as the page ``docs/faults.md``."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "faults.md"

HEADS = (
    *("fault", "engine", "times", "cells lost", "left behind", "longest to the end"),
    *("exit status", "message"),
)

_ABOUT = Path(__file__).with_name("about.md").read_text(encoding="utf-8")


_LATER = """
By `nox -s faults -- {count} {seed} --only "{only}" --write` on {day}, of commit {commit}:

{verdict}

"""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a campaign: what must not be (``wrong``), and what the table tells."""

    fault: str
    engine: str
    status: int | None = None
    lost: int = 0
    left: int = 0
    seconds: float = 0.0
    message: str = ""
    wrong: tuple[str, ...] = ()


def render(outcomes: Sequence[Outcome]) -> str:
    """A row for each fault on each engine."""
    rows = []
    for name, engine in sorted({(outcome.fault, outcome.engine) for outcome in outcomes}):
        alike = [
            outcome for outcome in outcomes if (outcome.fault, outcome.engine) == (name, engine)
        ]
        messages = sorted(
            {outcome.message for outcome in alike if outcome.message}, key=lambda m: (len(m), m)
        )
        rows.append(
            [
                name,
                engine,
                len(alike),
                max(outcome.lost for outcome in alike),
                sum(outcome.left for outcome in alike),
                f"{max(outcome.seconds for outcome in alike):.0f} s",
                ", ".join(sorted({str(outcome.status) for outcome in alike})),
                _shorten(messages[0]) if messages else "",
            ]
        )
    return tabulate(rows, headers=HEADS, tablefmt="github") + "\n"


def _shorten(message: str) -> str:
    """A message for a cell of the table, without what is only this machine's."""
    text = re.sub(r"(unix://)?/\S*crossover-\S*?/(?=[\w.-]+\b)", "…/", " ".join(message.split()))
    return (text if len(text) <= 120 else f"{text[:119]}…").replace("|", r"\|")


def write_page(outcomes: Sequence[Outcome], seed: int, soon_s: float, only: str = "") -> None:
    """Writes the page anew; of ``only`` some faults, adds them to the page that is there."""
    words = ("git", "rev-parse", "--short=12", "HEAD")
    commit = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    wrong = [outcome for outcome in outcomes if outcome.wrong]
    held = "All of it held." if not wrong else f"In {len(wrong)} of them something did not hold:"
    told = [
        f"- {outcome.fault} ({outcome.engine}): {_shorten(text)}"
        for outcome in wrong
        for text in outcome.wrong
    ]
    before = PAGE.read_text(encoding="utf-8") if only else ""
    about = (_LATER if only else _ABOUT).format(
        count=len(outcomes),
        seed=seed,
        only=only,
        day=f"{datetime.now(timezone.utc):%Y-%m-%d}",
        commit=commit.strip(),
        soon=soon_s,
        verdict="\n".join([f"**{len(outcomes)} faults. {held}**", *([""] if told else []), *told]),
    )
    PAGE.write_text(before + about + render(outcomes), encoding="utf-8")
