"""What the first screen, the verdicts and the causes say, held to how often it has to be true.

Few campaigns by default, which refute a gross fault only; ``TRUTH_CAMPAIGNS=200 nox -s method`` runs as
many of every kind as the bounds are meant for.
"""

from __future__ import annotations

import os
from functools import cache, partial
from statistics import mean
from typing import Literal

import pytest

from tests.bench.truth.kinds import try_kind
from tests.bench.truth.tally import is_at_least, is_at_most

ASKED = int(os.environ.get("TRUTH_CAMPAIGNS", "0"))


run = cache(partial(try_kind, campaigns=ASKED))
"""What the tests of one kind of campaigns share."""

Side = Literal["at most", "at least"]
Bound = tuple[str, str, Side, float]
BOUNDS: tuple[Bound, ...] = (
    ("null", "any of these", "at most", 0.05),
    ("null", "a crossover is in summary.json", "at most", 0.05),
    ("null", "a row of the brief names a winner", "at most", 0.05),
    ("null", "the opening names a cause of a loss", "at most", 0.05),
    ("null", "any false verdict", "at most", 0.05),
    ("null", "any false verdict of work", "at most", 0.05),
    ("null", "any false verdict of twins", "at most", 0.10),
    ("null", "a block is measured again", "at most", 0.05),
    ("null", "something is decided, and no verdict says so", "at most", 0.0),
    ("null", "bimodal, though it is not", "at most", 0.001),
    ("null", "extra work is said to hold where none would hold as well", "at most", 0.0),
    # All comparisons of a campaign's scripts are one family, at this level.
    ("null", "the script misleads, though nothing differs", "at most", 0.01),
    ("null", "cells can't be compared that nobody meant to", "at most", 0.0),
    ("effects of 20 %", "found", "at least", 0.95),
    ("effects of 20 %", "wrong direction", "at most", 0.0),
    ("effects of 20 %", "any false verdict", "at most", 0.05),
    (
        "effects of 20 %",
        "a row of the brief names a winner of a cell without an effect",
        "at most",
        0.05,
    ),
    ("effects of 20 %", "the decision is untrue", "at most", 0.05),
    ("effects of 20 %", "the decision says other than the verdicts", "at most", 0.0),
    ("effects of 20 %", "coverage", "at least", 0.93),
    ("slow: one of 20", "found", "at least", 0.70),
    ("slow: one of 20", "any false verdict", "at most", 0.05),
    ("slow: one of 20", "the opening tells of the slow invocation", "at least", 0.95),
    ("slow: one of 20", "a block is measured again", "at least", 0.95),
    ("slow: one of 20", "another block than the slow one", "at most", 0.0),
    ("slow: one of 20", "coverage", "at least", 0.93),
    ("slow: one of 10", "found", "at least", 0.70),
    ("slow: one of 10", "any false verdict", "at most", 0.05),
    ("slow: one of 10", "the opening tells of the slow invocation", "at least", 0.95),
    ("slow: one of 10", "a block is measured again", "at least", 0.95),
    ("slow: one of 10", "another block than the slow one", "at most", 0.0),
    ("slow: one of 10", "coverage", "at least", 0.93),
    ("slow: one of 10 stays slow", "found", "at least", 0.70),
    ("slow: one of 10 stays slow", "any false verdict", "at most", 0.05),
    ("slow: one of 10 stays slow", "coverage", "at least", 0.93),
    ("calls: K of 1 and 100", "coverage", "at least", 0.93),
    ("calls: K of 1 and 100", "any of these", "at most", 0.05),
    ("calls: K of 1 and 100", "bimodal, though it is not", "at most", 0.001),
    ("calls: K of 1000 and 1", "coverage", "at least", 0.93),
    ("provisional", "a provisional profile speaks of findings", "at most", 0.0),
    ("settling", "the opening says what would settle it", "at least", 1.0),
    ("settling", "inconclusive, and settled by the blocks asked for", "at least", 0.50),
    ("crossovers", "the range holds the truth", "at least", 0.90),
    ("crossovers", "the wrong arm wins above it", "at most", 0.0),
    ("crossovers", "the decision is untrue", "at most", 0.05),
    ("crossovers", "the decision says other than the verdicts", "at most", 0.0),
    ("crossovers", "the interval that is named holds the truth", "at least", 0.90),
    ("crossovers", "a sweep that crosses is said not to", "at most", 0.02),
    ("roles", "a row is no work", "at most", 0.0),
    ("roles", "other than the work is counted", "at most", 0.0),
    ("roles", "verdicts of work depend on the prices beside them", "at most", 0.0),
    ("causes", "named first", "at least", 0.95),
    ("causes", "named first, of asked cells", "at least", 0.95),
    ("causes", "named first, of idle cells that do not lose", "at least", 0.95),
    ("causes", "confirmed and wrong", "at most", 0.02),
    ("causes", "confirmed, first and wrong", "at most", 0.02),
    ("causes", "shares of one cell add up to more than 1", "at most", 0.0),
    ("causes", "more than two asked cells unknown", "at most", 0.0),
    ("causes", "the CPU is wrongly called the right device", "at most", 0.02),
    *(
        (f"early: {kind}", "any false word at any look", "at most", 0.05)
        for kind in ("null", "null recorded", "null moods", "null gpu")
    ),
    *(
        (f"early: {kind}", what, side, share)
        for kind in ("planted", "recorded mixed", "moods mixed", "gpu as it was")
        for what, side, share in (
            ("the full campaign's word", "at least", 0.95),
            ("a campaign with a word that is reversed", "at most", 0.05),
            ("winners held", "at least", 0.5),
        )
    ),
    ("controls that fail", "told before any winner", "at least", 1.0),
    ("controls that fail", "a control of no cells is told to hold", "at most", 0.0),
    ("controls that fail", "a sound control is told to have failed", "at most", 0.05),
)
"""The trial, what is counted in it, and its bound."""


@pytest.mark.parametrize(
    ("trial", "what", "side", "share"), BOUNDS, ids=[f"{bound[0]}: {bound[1]}" for bound in BOUNDS]
)
def test_what_is_said_is_true(trial: str, what: str, side: Side, share: float) -> None:
    rate = run(trial)[what]
    holds = {"at most": is_at_most, "at least": is_at_least}[side]
    assert holds(rate, share), f"{rate.hits} of {rate.tries}, and {side} {100 * share:.0f} %"


@pytest.mark.parametrize("trial", ["calls: K of 1 and 100", "calls: K of 1000 and 1"])
def test_the_number_of_calls_moves_no_ratio(trial: str) -> None:
    assert abs(mean(run(trial).sizes["bias"])) < 0.01
