"""The kinds of campaigns on which the report's claims are tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tests.bench.truth import early, reasons, winners
from tests.bench.truth.tally import Tally

_slow = partial(winners.try_effects, size=0.15, slow=0.30)
"""Some invocation takes 30 % longer."""

KINDS: Mapping[str, tuple[int, Callable[[Tally, int], None]]] = {
    "null": (30, winners.try_null),
    "effects of 15 %": (6, partial(winners.try_effects, size=0.15)),
    "effects of 20 %": (6, partial(winners.try_effects, size=0.20)),
    "effects of 20 %, a rough machine": (
        6,
        partial(winners.try_effects, size=0.20, host=winners.ROUGH),
    ),
    "slow: one of 20": (5, partial(_slow, blocks=10)),
    "slow: one of 10": (5, partial(_slow, blocks=5)),
    "slow: one of 10 stays slow": (3, partial(_slow, blocks=5, lasts=True)),
    "crossovers": (12, winners.try_crossovers),
    "provisional": (6, winners.try_provisional),
    "roles": (2, winners.try_roles),
    "settling": (4, winners.try_settling),
    **{
        f"calls: K of {base} and {other}": (3, partial(winners.try_calls, base=base, other=other))
        for base, other in ((1, 1), (1, 10), (1, 100), (1, 1000), (1000, 1))
    },
    "causes": (1, reasons.try_causes),
    "controls that fail": (1, reasons.try_controls),
    "early: null": (12, early.try_null),
    "early: planted": (4, early.try_planted),
    **{f"early: {kind}": (4, partial(early.try_replay, kind=kind)) for kind in early.RECORDED},
}
"""By a name, of which the first word chooses it: how many campaigns the tests try by default, and what counts
the claims of the one with a seed."""


def try_kind(name: str, campaigns: int = 0) -> Tally:
    """What is claimed in so many campaigns of a kind; in as many as the tests try: none given."""
    count, trial = KINDS[name]
    tally = Tally()
    for seed in range(campaigns or count):
        trial(tally, seed)
    return tally
