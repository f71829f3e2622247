"""The closed lists of what a cell can say of itself."""

from __future__ import annotations

import math
from typing import Literal, get_args

ProfileName = Literal["quick", "smoke", "verdict", "standard", "full", "why"]
"""``quick`` is read in earlier campaigns alone.  ``why`` is no profile of the suite's cells, but of runs of a
person's script (`suite.model.why`)."""

PROFILES: tuple[ProfileName, ...] = get_args(ProfileName)[1:-1]

Profiles = tuple[ProfileName, ...]
"""The profiles that hold a cell: mostly one of them, and all that are larger."""

SMOKE: Profiles = ("smoke", "verdict", "standard", "full")
VERDICT: Profiles = ("verdict", "standard", "full")
STANDARD: Profiles = ("standard", "full")
FULL: Profiles = ("full",)

NOT_VERDICT: Profiles = ("smoke", "standard", "full")
"""Of what no sentence of a first verdict needs, and smoke has so that every path runs."""

Role = Literal["work", "input", "overhead", "control", "reference", "sustained"]
"""What a cell is in the suite for: ``work`` that somebody wants done; ``input``: a pipeline, with a model
behind it or without; ``overhead``: a price that explains the rest; ``control``: its truth is known;
``reference``: what others are held to, such as work pinned to the CPU beside a GPU, or memory;
``sustained``: work that is kept going, once a campaign, to see what is left of its rate."""

Headline = Literal["time", "rate"]
"""What is drawn of a sweep that a report opens with."""

Device = Literal["arm", "cpu", "none"]
"""Where the work has to be seen: the arm's device, the CPU on every arm; ``none``: there is no operation
that could be seen."""

Data = Literal["device", "host", "pipeline", "prefetched", "file"]
"""Where a call's inputs lie; a ``prefetched`` pipeline runs ahead of what takes from it."""

Precision = Literal["fp32", "tf32", "bf16", "fp16"]

Dispatch = Literal["eager", "graph", "xla", "keras"]
"""How a call is handed over; ``keras``: by functions that Keras makes, which are graphs."""

OverheadName = Literal[
    "fence",
    "handover",
    "eager",
    "graph",
    "xla",
    "operation",
    "copy-in",
    "copy-out",
    "memory",
    "start-up",
]
"""What a cell is the price of: waiting, handing over to a thread and back, a call of a dispatch, an operation
inside a graph, a copy to the device or back, moving memory, or a start."""

LinkName = Literal[
    "nearer",
    "fewer",
    "without",
    "input",
    "compute",
    "trivial",
    "feed",
    "prefetched",
    "native",
    "honest",
    "start",
    "warm",
    "plain",
    "own-loop",
    "traced",
    "cached",
    "shorter",
]
"""What another cell is to this one: the same with its data ``nearer``, with ``fewer`` calls handed over,
``without`` the operation that only a CPU has; its ``input`` alone, its ``compute`` alone (data at hand), a
``trivial`` model in its place, another ``feed``; the same ``prefetched``, or without Python (``native``); its
``honest`` twin; the ``start`` that a cold one contains; the same once ``warm``; the ``plain`` cell of the
same work, of which sizes were measured; the same in a loop of one's own (``own-loop``), from a cache
(``cached``), or ``traced`` once for all calls; or with fewer steps an epoch (``shorter``)."""

Effect = Literal["timing", "script", "training"]
"""What a change is to whoever makes it: of the ``timing`` alone, which makes a number right and nothing
faster; of the ``script``, whose results stay what they were; or of the ``training``, which learns otherwise
(another batch, precision or order)."""

EFFECTS: tuple[Effect, ...] = get_args(Effect)

Removed = Literal["overhead", "transfer", "fallback", "start-up"]
"""The cause that a step of a waterfall takes away."""

WITH_VERDICTS: tuple[ProfileName, ...] = ("verdict", "standard", "full")
"""The profiles whose campaigns give verdicts; those of the others are provisional."""

SEQUENTIAL: tuple[ProfileName, ...] = ("verdict",)
"""Of these the ones that look after every block and end as soon as they know enough."""

WITH_CONTROLS: tuple[ProfileName, ...] = ("standard", "full")
"""The others, which nothing that they find ends: they have time for control invocations."""

LONG_BUDGETS = 4.0
"""Cells that people asked about have so many times the profile's budget."""

CALLS_CAP = 100_000
"""The most calls in a sample (K): a step that takes no time at all must not loop for ever."""

CALLS_MARGIN = 1.2
"""K is this much larger than a sample needs, because a later process can be faster."""

LEAST_SAMPLES = 3
"""A cell's samples are so many at least, unless one call takes longer than the measuring time: then one."""


def count_calls(floor_s: float, call_s: float) -> int:
    """K: so many calls of this length fill a sample of ``floor_s`` seconds, with a margin, within the cap."""
    if call_s <= 0:
        return CALLS_CAP
    return max(1, min(math.ceil(CALLS_MARGIN * floor_s / call_s), CALLS_CAP))


def is_slow(call_s: float, warmup_s: float) -> bool:
    """Whether a call takes longer than the warm-up time, so that the first one warms up; without any warm-up
    (``warmup_s`` 0) none does."""
    return 0 < warmup_s < call_s
