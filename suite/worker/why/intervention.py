"""What an intervention is: a change to a script that is tried without touching the script.

Each is a file of its own in ``interventions``: it proposes tries from what was watched, and installs one in
the process that runs the script.  Declared without TensorFlow, so that the host can list and plan them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suite.model.why import Try, Watched

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


def is_worth(watched: Watched, seconds: float) -> bool:
    """Whether something that was timed took enough of the time to be tried."""
    return seconds >= LEAST_SHARE * watched.counts.get("seconds", 0.0) > 0.0


def thin_to(calls: int) -> int | None:
    """To each how many-th call something is thinned, so that the window has its true share of them; None: it
    is called too rarely for that.

    The first call is in the warm-up; of the rest, the largest divisor up to 10 leaves a whole number.
    """
    if calls > EVERY:
        return EVERY
    return max((n for n in range(2, 11) if (calls - 1) % n == 0 and calls > 1), default=None) or (
        10 if calls > 10 else None
    )
