"""A statement of the training loop beside the step, run every so many turns only."""

from __future__ import annotations

import re

from suite.model.why import Cause, Watched
from suite.worker.why.intervention import NEVER, Intervention, Offers, is_worth, thin_to
from suite.worker.why.run import ScriptRun

_VALIDATES = re.compile(r"\b(evaluate|test_on_batch|predict\w*|val\w*|test\w*)\b", re.IGNORECASE)
_KEEPS = re.compile(r"save|checkpoint|write|dump|summary|plot|figure|imshow", re.IGNORECASE)
_RARE = re.compile(r"if\b.*%")
"""What runs in some turns only, as it stands."""


def _find(watched: Watched) -> Offers:
    worth = [each for each in watched.statements if is_worth(watched, each.seconds)]
    makes = [each for each in worth if each.makes]
    if makes:
        heaviest = max(makes, key=lambda each: each.seconds)
        yield {
            "target": ",".join(f"{each.line}" for each in makes),
            "text": f"what the step takes made in the first turn only: {heaviest.text}",
            "line": heaviest.line,
            "cause": "input",
            "kind": "ceiling",
            "waits": "sleep" in heaviest.text,
            "training": "otherwise",
        }
    for each in worth:
        if each.is_step or each.changes:
            continue
        number = re.search(r"%\s*(\d+)", each.text)
        rare = int(number[1]) if number else 1
        every = thin_to(each.calls / rare) if number or not _RARE.match(each.text) else None
        text = f"without: {each.text}"
        if every is not None:
            what = f"% {every * rare} for % {rare}" if number else f"if step % {every} == 0:"
            text = f"every {every * rare} turns only ({what}): {each.text}"
        yield {
            "target": f"{each.line}{f':{every}' if every else ''}",
            "text": text,
            "line": each.line,
            "cause": _find_cause(each.text),
            "kind": "fix" if every else "ceiling",
            "waits": "sleep" in each.text,
        }


def _find_cause(text: str) -> Cause:
    """What a statement is about, by its text."""
    if _KEEPS.search(text):
        return "callback"
    return "validation" if _VALIDATES.search(text) else "fetch"


def _install(run: ScriptRun, target: str) -> None:
    lines, _, every = target.partition(":")
    for line in lines.split(","):
        run.tree.thin(int(line), int(every or NEVER))
    run.applied()


STATEMENT = Intervention("statement", "fetch", _find, _install)
