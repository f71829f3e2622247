"""What an intervention is: a change to a script that is tried without touching the script.

Each is a file of its own in ``interventions``: it proposes tries from what was watched, and installs one in
the process that runs the script.  Declared without TensorFlow, so that the host can list and plan them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suite.model.why import Cause, Try, Watched

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun

Propose = Callable[[Watched, bool], Iterable[Try]]
"""From what was watched, and whether the arm has a GPU, the tries that apply; pure."""

Install = Callable[["ScriptRun", str], None]
"""Makes the change in the run's process, TensorFlow imported and the script not begun; the text is the try's
target."""


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """A kind of change, by name; ``needs`` are the names of `suite.worker.why.names` that it patches: where
    this TensorFlow lacks one, the change is not possible here."""

    name: str
    propose: Propose
    install: Install
    needs: tuple[str, ...] = ()


LEAST_SHARE = 0.05
"""Of the watched time: what takes less, by exact timers, is not worth a try."""

EVERY = 50
"""What is done at each step is thinned to each so many."""

NEVER = 10**9
"""Each so many: never."""


def make_try(name: str, cause: Cause, text: str, line: int | None, **more: Any) -> Try:
    """The try ``intervention:target``; a fix, unless ``more`` of `Try`'s fields say otherwise."""
    intervention, _, target = name.partition(":")
    fields: dict[str, Any] = {"kind": "fix", "target": target, "line": line, **more}
    return Try(name=name, intervention=intervention, cause=cause, text=text, **fields)


def is_worth(watched: Watched, seconds: float) -> bool:
    """Whether something that was timed took enough of the time to be tried."""
    return seconds >= LEAST_SHARE * watched.counts.get("seconds", 0.0) > 0.0


def thin_to(calls: float) -> int | None:
    """To each how many-th call something is thinned, so that a window has its true share of them; None: it is
    called too rarely for that.

    The first call is in the warm-up; a divisor of the others, up to 10, leaves a whole number.
    """
    others = int(calls) - 1
    if others >= EVERY:
        return EVERY
    return next((n for n in range(10, 1, -1) if others > 0 and others % n == 0), None) or (
        10 if others > 10 else None
    )
