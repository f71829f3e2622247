"""How made-up machines behave: the noise, modes, drifts and steps of every synthetic campaign.

Logarithms of times throughout, with the truth at 0; `synthetic` makes documents of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, kw_only=True)
class Host:
    """How a made-up machine behaves; all sizes are of the logarithm of a time.

    ``between`` and ``within`` are standard deviations, between invocations and between the samples
    of one.  ``spikes`` is the share of samples that are 1.1 to 2.7 times as slow.  ``modes`` is the
    distance of two levels, one of which every invocation falls into; ``drift`` what each block is
    slower by than the one before, on all arms.  Within an invocation ``warming`` is what the first
    sample is slower by, decaying; ``slowdown`` what all are slower by from the middle on; ``late``
    the same for the last tenth; ``restless`` the standard deviation of the levels among which it
    jumps for ever.
    """

    between: float
    within: float
    spikes: float = 0.0
    modes: float = 0.0
    drift: float = 0.0
    warming: float = 0.0
    slowdown: float = 0.0
    late: float = 0.0
    restless: float = 0.0

    @property
    def offset(self) -> float:
        """What the steady level is above the true one on the average over invocations."""
        return self.modes / 2 + self.slowdown


QUIET = Host(between=0.002, within=0.002)
TYPICAL = Host(between=0.01, within=0.02)
SILENT = Host(between=0.0, within=0.0)
HOSTS = {
    "quiet": QUIET,
    "typical": TYPICAL,
    "bimodal": replace(TYPICAL, modes=0.05),
    "drifting": replace(TYPICAL, drift=0.01),
    "warming up": replace(TYPICAL, within=0.01, warming=0.5),
    "slowing down": replace(TYPICAL, within=0.01, slowdown=0.036),
    "stepping late": replace(TYPICAL, within=0.01, late=0.05),
    "never steady": replace(TYPICAL, within=0.01, restless=0.1),
}

WARMUP, SAMPLES = 30, 70
"""Samples of a cell in an invocation of the standard profile, at 10 ms each."""


def draw_levels(host: Host, draw: np.random.Generator, *, cells: int, blocks: int) -> Array:
    """Logarithms of the levels of one arm's invocations, the truth being 0: cells by blocks."""
    levels = draw.normal(0.0, host.between, (cells, blocks))
    levels += host.modes * draw.integers(0, 2, (cells, blocks))
    levels += host.drift * (np.arange(blocks) - (blocks - 1) / 2)
    return levels


def draw_series(host: Host, draw: np.random.Generator, levels: Array, count: int) -> Array:
    """Logarithms of ``count`` samples, warm-up included, of invocations with these levels."""
    series = levels[..., np.newaxis] + draw.normal(0.0, host.within, (*levels.shape, count))
    return series + draw_shape(host, draw, levels.shape, count)


def draw_shape(host: Host, draw: np.random.Generator, shape: tuple[int, ...], count: int) -> Array:
    """What a machine adds to the level and the noise of its samples, on logarithms."""
    index = np.arange(count)
    added = np.zeros((*shape, count))
    added += host.warming * np.exp(-index / 6)
    added += host.slowdown * (index >= count // 2)
    added += host.late * (index >= count - count // 10)
    if host.restless:
        jumps = draw.normal(0.0, host.restless, (*shape, count // 8 + 1))
        added += np.repeat(jumps, 8, axis=-1)[..., :count]
    if host.spikes:
        hit = draw.random((*shape, count)) < host.spikes
        added += hit * draw.uniform(0.1, 1.0, (*shape, count))
    return added
