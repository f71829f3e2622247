"""A statement of the training loop beside the step, run every so many turns only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from suite.model.why import Cause, Statement, Try, Watched
from suite.worker.why.intervention import Intervention, is_worth, thin_to

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun

_VALIDATES = re.compile(r"\b(evaluate|test_on_batch|predict\w*|val\w*|test\w*)\b", re.IGNORECASE)
_KEEPS = re.compile(r"save|checkpoint|write|dump|summary|plot|figure|imshow", re.IGNORECASE)


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    for each in watched.statements:
        every = thin_to(each.calls)
        if each.is_step or not is_worth(watched, each.seconds):
            continue
        fix = every is not None
        yield Try(
            name=f"statement@{each.line}",
            intervention="statement",
            target=f"{each.line}:{every or 10**9}",
            cause=_find_cause(each),
            kind="fix" if fix else "ceiling",
            line=each.line,
            text=f"every {every} turns of the loop only: {each.text}"
            if fix
            else f"without: {each.text}",
            waits="sleep" in each.text,
        )


def _find_cause(statement: Statement) -> Cause:
    """What a statement is about, by its text."""
    if _KEEPS.search(statement.text):
        return "callback"
    return "validation" if _VALIDATES.search(statement.text) else "fetch"


def _install(run: ScriptRun, target: str) -> None:
    line, _, every = target.partition(":")
    run.tree.thin(int(line), int(every))
    run.applied()


STATEMENT = Intervention(name="statement", propose=_propose, install=_install)
