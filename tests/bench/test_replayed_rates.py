"""How often the analysis is right on replays of a recorded campaign, and on a machine of other moods.

In tables: ``python -m tests.bench.replay``.
"""

from __future__ import annotations

import pytest

from tests.bench.replay import RULES, make_kinds, try_campaign
from tests.bench.truth.tally import Tally, is_at_least, is_at_most

CAMPAIGNS = 12
FULL, *SHORTER = RULES


def tally(kind: str, campaigns: int = CAMPAIGNS) -> Tally:
    counted = Tally()
    for seed in range(campaigns):
        try_campaign(counted, make_kinds()[kind](seed), RULES, seed)
    return counted


@pytest.mark.parametrize("kind", ["null recorded", "null moods"])
def test_where_nothing_differs_no_verdict_says_so(kind: str) -> None:
    counted = tally(kind, 2 * CAMPAIGNS)
    for rule in RULES:
        assert is_at_most(counted[f"{rule}: false verdicts"], 0.05), rule
        # Neighbours' bursts make intervals wider than they have to be.
        assert is_at_least(counted[f"{rule}: coverage"], 0.93), rule


@pytest.mark.parametrize(
    ("kind", "share"),
    # Where neighbours' bursts come and go, a cell can be EQUIVALENT at rest and INCONCLUSIVE in all blocks.
    [("recorded 15 %", 0.97), ("recorded mixed", 0.97), ("devices", 0.97), ("moods mixed", 0.9)],
)
def test_effects_are_found_the_right_way_round(kind: str, share: float) -> None:
    counted = tally(kind)
    for rule in RULES:
        assert is_at_least(counted[f"{rule}: coverage"], 0.93), rule
        assert not counted[f"{rule}: wrong way"].hits, rule
    for rule in SHORTER:
        assert not counted[f"{rule}: reversed"].hits, rule
    verdicts, winners = (counted[f"as planned: {what} kept"] for what in ("verdicts", "winners"))
    assert is_at_least(verdicts, share), str(verdicts)
    assert is_at_least(winners, 0.97), str(winners)
