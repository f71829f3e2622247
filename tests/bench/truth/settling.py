"""Whether as many blocks as the opening asks for settle half of what was inconclusive."""

from __future__ import annotations

import re

import numpy as np

from tests.bench.truth.campaigns import Planted
from tests.bench.truth.claims import CONTROLS
from tests.bench.truth.tally import Tally, tell, work_cells
from tests.bench.truth.winners import ROUGH, choose_effects, tell_effects

WANTED = re.compile(r"settled by BLOCKS=(\d+)")


def try_settling(tally: Tally, seed: int) -> None:
    """A noisy campaign of five blocks, half of them with effects, and another of as many as it asks for."""
    work = {one.id for one in work_cells()}
    draw = np.random.default_rng([seed, 77])
    effects: dict[str, float] = {}
    for size in (0.04, 0.06, 0.10, 0.15) if seed % 2 else ():
        effects |= choose_effects(draw, size, 12)
    planted = Planted(seconds=tell_effects(effects), host=ROUGH)
    told = tell(planted, seed=3000 + seed)
    wanted = [int(match[1]) for one in told.opening if (match := WANTED.search(one))]
    # More blocks don't mend a control that fails, which on such a machine a sound one can.
    if not any(map(told.places, CONTROLS)):
        tally.add("the opening says what would settle it", len(wanted) == 1)
    if wanted:
        later = tell(planted, seed=9000 + seed, blocks=wanted[0])
        open_ = work & {name for name, one in told.verdicts.items() if one == "INCONCLUSIVE"}
        settled = [later.verdicts[name] != "INCONCLUSIVE" for name in sorted(open_)]
        tally.add("inconclusive, and settled by the blocks asked for", *settled)
