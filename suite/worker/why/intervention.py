"""What an intervention is: a change to a script that is tried without touching the script.

Each is a file of its own in ``interventions``: it proposes tries from what was watched, and installs one in
the process that runs the script.  Declared without TensorFlow, so that the host can list and plan them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from suite.model.why import Cause, Kind, Stage, Training, Try, Watched

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun

Offers = Iterator[dict[str, Any]]
"""Fields of `Try`: ``text`` and ``line`` at least, and what is not as the intervention declares it."""

_SHARED = ("kind", "training", "needs", "waits", "on_gpu", "late")


@dataclass(frozen=True)
class Intervention:
    """A kind of change, by the name that its tries begin with, with the fields of `Try` that they share.

    ``find`` gives the tries that apply to what was watched; pure.  ``install`` makes the change in the run's
    process, TensorFlow imported and the script not begun; the text is the try's target.
    """

    name: str
    cause: Cause
    find: Callable[[Watched], Offers]
    install: Callable[[ScriptRun, str], None]
    kind: Kind = "fix"
    training: Training = "unchanged"
    needs: str = ""
    waits: bool = False
    on_gpu: bool = False
    late: bool = False

    def propose(self, watched: Watched, on_gpu: bool) -> Iterator[Try]:
        """The tries that apply, named ``intervention:target``, on an arm with a GPU or without."""
        shared = {name: getattr(self, name) for name in _SHARED}
        if "random" in watched.settings and self.training == "rounding":
            # What is traced otherwise draws other random numbers.
            shared["training"] = "distribution"
        for offer in self.find(watched) if on_gpu or not self.on_gpu else ():
            name = ":".join(filter(None, (self.name, offer.get("target"))))
            fields = {"name": name, "intervention": self.name, "cause": self.cause}
            yield Try(**(fields | shared | offer))


LEAST_SHARE = 0.05
"""Of the watched time: what takes less, by exact timers, is not worth a try."""

EVERY = 50
"""What is done at each step is thinned to each so many."""

NEVER = 10**9
"""Each so many: never."""


def split_chains(watched: Watched) -> list[list[Stage]]:
    """The stages of each data set."""
    return [list(chain) for _, chain in groupby(watched.stages, lambda stage: stage.dataset)]


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
    divisors = [n for n in range(10, 1, -1) if others > 0 and others % n == 0]
    return divisors[0] if divisors else 10 if others > 10 else None
