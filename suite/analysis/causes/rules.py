"""Why a GPU can be slow: the causes as data, and what a finding of one consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.analysis.result.findings import Gain, RuleName
from suite.analysis.result.numbers import Evidence

RULES: Mapping[RuleName, float] = {
    "fallback": 0.10,
    "input": 0.50,
    "transfer": 0.30,
    "start-up": 0.50,
    "overhead": 0.50,
    "too small": 0.10,
    "unknown": 0.0,
}
"""The causes that can explain a slow cell, each with the share of the cell's time from which on it fires
("too small": the share of the device's best rate under which it does); in the order in which causes of
equal weight are named."""


@dataclass(frozen=True, kw_only=True)
class Suspicion:
    """What speaks for a cause: the ``share`` of the cell's time that it explains, and how we know.

    ``share`` None: it is there, and no cell says what it costs.  ``rest`` is a share that contains
    whatever other causes name more precisely.  ``confirmed``: an independent witness agrees.
    """

    rule: RuleName
    share: float | None
    confirmed: bool
    evidence: tuple[Evidence, ...]
    rest: float | None = None
    gain: Gain | None = None
