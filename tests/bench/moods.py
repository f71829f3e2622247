"""Another machine than any that was recorded: how its invocations, blocks and boots differ.  Made up.

Different in kind from `tests.fakes.hosts`, whose cells are independent and all alike: here blocks remember
each other, a boot settles each cell on one of two levels, neighbours hit whatever runs at that moment, on
whichever arm, a block grows warm, a coarse timer makes equals of times, and one cell is far noisier than
the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from suite.host.campaign import plan
from suite.model import Campaign
from tests.bench.replay import Replay, draw
from tests.fakes.hosts import Array


@dataclass(frozen=True, kw_only=True)
class Moods:
    """A machine; all sizes are of the logarithm of a time.

    ``between`` and ``heavy``: the usual cell's spread between invocations (those of cells are lognormal
    around it), and the degrees of freedom of Student's t that it is drawn from.  ``memory`` and ``mood``: the
    correlation of a block's mood with that of the block before, and its deviation; each family of cells has
    its own.  ``boots``: the distance of a boot's two levels, in a third of the cells, of which the upper one
    is had by one boot in three.  ``bursts`` hit so many runs of three to twelve neighbouring cells a block,
    by 10 to 70 %.  ``ramp``: what the last cell of a block is slower by than the first.  ``tick``: times are
    multiples of it, a share of the cell's own.  ``odd``: the spread of one cell over the usual one.
    """

    between: float = 0.012
    heavy: float = 4.0
    memory: float = 0.8
    mood: float = 0.03
    boots: float = 0.05
    bursts: float = 2.0
    ramp: float = 0.04
    tick: float = 0.002
    odd: float = 10.0

    def __call__(
        self, replay: Replay, campaign: Campaign, arm: str, block: int, repeat: int
    ) -> Mapping[str, float]:
        """By cell, the logarithm of what an invocation takes over the truth."""
        names = replay.source(arm).names
        seed = campaign.seed
        scale, two = _draw_cells(self, seed, names)
        own = draw(seed, arm, block, repeat)
        level = scale * own.standard_t(self.heavy, len(names)) / math.sqrt(2)
        level += two * (own.random(len(names)) < 1 / 3)
        moods = _draw_moods(self, seed, block)
        level += [moods[name.partition(".")[0]] for name in names]
        places, bursts, most = _schedule(self, campaign, block, repeat)
        for at, name in enumerate(names):
            if (place := places.get((arm, name))) is not None:
                level[at] += self.ramp * place / most + bursts[place]
        ticks: Array = np.maximum(1, np.round(np.exp(level) / self.tick))
        return dict(zip(names, np.log(self.tick * ticks).tolist(), strict=True))


@lru_cache(maxsize=8)
def _draw_cells(moods: Moods, seed: int, names: tuple[str, ...]) -> tuple[Array, Array]:
    """By cell its spread, and the distance of its two levels, 0 where it has one."""
    own = draw(seed, "cells")
    scale = moods.between * np.exp(own.normal(0.0, 0.6, len(names)))
    scale[own.integers(len(names))] = moods.odd * moods.between
    two = moods.boots * (own.random(len(names)) < 1 / 3)
    return scale, two


@lru_cache(maxsize=64)
def _draw_moods(moods: Moods, seed: int, block: int) -> Mapping[str, float]:
    """By family of cells the block's mood, as all of its arms have it."""
    families = ("matmul", "mlp", "tfdata", "overhead", "asked")
    found = {}
    for family in families:
        own = draw(seed, "mood", family)
        mood = own.normal()
        for _ in range(block):
            mood = moods.memory * mood + math.sqrt(1 - moods.memory**2) * own.normal()
        found[family] = moods.mood * mood
    return found


def _schedule(
    moods: Moods, campaign: Campaign, block: int, repeat: int
) -> tuple[Mapping[tuple[str, str], int], Array, int]:
    """Where in the block each cell of each arm runs, and what neighbours add at each place."""
    # Where all cells run, so that whatever rests moves no burst.
    campaign = replace(campaign, looks=[])
    order = [
        (arm, cell.id)
        for arm in plan.order_arms(campaign, block)
        for cell in plan.order_cells(campaign, arm, block, repeat)
    ]
    own = draw(campaign.seed, "bursts", block, repeat)
    added = np.zeros(len(order))
    for _ in range(own.poisson(moods.bursts)):
        begin, length = own.integers(len(order)), own.integers(3, 13)
        added[begin : begin + length] += own.uniform(0.1, 0.5)
    return {where: place for place, where in enumerate(order)}, added, len(order)
