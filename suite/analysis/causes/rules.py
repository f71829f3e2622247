"""Why a GPU can be slow: the causes as data, and what a finding of one consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from suite.analysis.ablation.gains import Gain

RuleName = Literal["overhead", "transfer", "input", "fallback", "start-up", "too small", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A cause that can explain a slow cell: when it fires, what that takes, and what to do about it.

    ``threshold`` is the share of the cell's time from which on it fires ("too small": the share of
    the device's best rate under which it does).
    """

    name: RuleName
    fires: str
    needs: str
    threshold: float
    advice: str


RULES: Mapping[RuleName, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            name="fallback",
            fires="an operation of the step runs on the CPU, and the step without it takes at "
            "least 10 % less",
            needs="the same step without it, or the devices that its nodes were seen on",
            threshold=0.10,
            advice="take the operation that runs on the CPU out of the step",
        ),
        Rule(
            name="input",
            fires="the step takes hardly longer (10 %) than its input alone, or a trivial model "
            "behind the same pipeline is no faster (5 %)",
            needs="the input alone, or a trivial model behind the same pipeline; without either, "
            "the same step without its pipeline taking at most half",
            threshold=0.50,
            advice="make the pipeline faster: prefetch, map in parallel, no Python in it",
        ),
        Rule(
            name="transfer",
            fires="at least 30 % of the step go away when the data is on the device already",
            needs="the same step with its data on the device; the copies' own times confirm it",
            threshold=0.30,
            advice="keep the data on the device, or copy it ahead",
        ),
        Rule(
            name="start-up",
            fires="at least half of the time goes into starting and setting up, not into the work",
            needs="the same work when warm and set up",
            threshold=0.50,
            advice="time after a warm-up and without the set-up, or run long enough to repay it",
        ),
        Rule(
            name="overhead",
            fires="the time is flat (10 %) over a factor of 8 in size, the step is dispatch-bound, "
            "or handing over takes at least half of it",
            needs="other sizes of the same work, or the prices of calls and operations",
            threshold=0.50,
            advice="give each call more work: a larger batch, several steps a call, one compiled "
            "graph",
        ),
        Rule(
            name="too small",
            fires="the rate is under 10 % of this device's own best at this precision",
            needs="a larger size of the same work",
            threshold=0.10,
            advice="use larger sizes: at this one most of the device is idle",
        ),
        Rule(
            name="unknown",
            fires="none of the others does",
            needs="nothing",
            threshold=0.0,
            advice="look at a profiler's trace of this cell",
        ),
    )
}
"""In the order in which causes of equal weight are named."""


@dataclass(frozen=True, kw_only=True)
class Suspicion:
    """What speaks for a cause: the ``share`` of the cell's time that it explains, and how we know.

    ``share`` None: it is there, and no cell says what it costs.  ``rest`` is a share that contains
    whatever other causes name more precisely.  ``confirmed``: an independent witness agrees.
    """

    rule: RuleName
    share: float | None
    confirmed: bool
    evidence: str
    rest: float | None = None
    gain: Gain | None = None
