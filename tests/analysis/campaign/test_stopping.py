"""Which cells are worth more blocks: by their intervals alone, whichever way they point."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest

from suite.analysis.campaign.stopping import Precision, assess
from suite.analysis.result.numbers import OTHER_LEVEL, Estimate
from suite.analysis.statistics.estimate import estimate
from suite.analysis.statistics.ratio import find_paired_ratio

Made = Mapping[str, tuple[float, float, int]]
"""By cell the logarithm of a value, the standard deviation of a block's, and the number of blocks."""


def make(middle: float, spread: float, n: int) -> Estimate:
    steps = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
    logs = middle + spread * steps / (steps.std(ddof=1) if n > 1 else 1.0)
    ratio = find_paired_ratio(dict.fromkeys(range(n), 1.0), dict(enumerate(np.exp(logs).tolist())))
    assert ratio is not None
    return ratio


def look(
    made: Made,
    block: int,
    *,
    fewest: int = 5,
    most: int = 10,
    values: bool = False,
    spoiled: Mapping[str, int] | None = None,
) -> Precision:
    """The precision of these ratios, or values, of which each has its own spread."""
    families = [{name: make(*of)} for name, of in made.items()]
    ratios = [] if values else [(OTHER_LEVEL, family) for family in families]
    some = families if values else []
    return assess(ratios, some, spoiled=spoiled or {}, block=block, fewest=fewest, most=most)


@pytest.mark.parametrize(
    ("middle", "spread", "block", "wanted"),
    [
        # Narrow, within what is equivalent, or clear: no more.
        (0.06, 0.01, 4, 4),
        (0.0, 0.02, 4, 4),
        (1.0, 0.1, 4, 4),
        # Three blocks agree by chance too often: then only what is far apart is done with.
        (0.0, 0.002, 3, 4),
        (0.5, 0.002, 3, 4),
        (1.0, 0.02, 3, 3),
        # Clear, and without a verdict yet: p is over the family's level.
        (1.0, 0.35, 4, 5),
        # As many blocks as are likely to make it precise, or to decide it.
        (0.0, 0.05, 5, 7),
        (0.15, 0.10, 5, 10),
        # Beyond what the most blocks could tell: no more than the fewest.
        (0.0, 0.30, 4, 5),
        (0.0, 0.30, 5, 5),
        (0.0, 0.30, 7, 7),
        (0.03, 0.20, 6, 6),
    ],
)
def test_a_ratio_is_wanted_until_it_is_narrow_clear_or_hopeless(
    middle: float, spread: float, block: int, wanted: int
) -> None:
    either = {"one": (middle, spread, block), "other": (-middle, spread, block)}
    found = look(either, block)
    assert found.wanted == {"one": wanted, "other": wanted}
    assert found.precise <= {"one", "other"}
    if found.precise:
        assert wanted == block


@pytest.mark.parametrize(
    ("spread", "block", "wanted", "precise"),
    [(0.005, 4, 4, True), (0.005, 3, 4, False), (0.02, 4, 5, False), (0.02, 5, 5, False)],
)
def test_a_value_without_a_ratio_has_the_profiles_blocks_at_most(
    spread: float, block: int, wanted: int, *, precise: bool
) -> None:
    found = look({"one": (-7.0, spread, block)}, block, values=True)
    assert (found.wanted, bool(found.precise)) == ({"one": wanted}, precise)


def test_a_small_spread_among_large_ones_is_not_believed() -> None:
    """One cell of thirty agrees by chance: alone it would rest, and in its family it goes on."""
    draw = np.random.default_rng(3)
    family = {f"{n}": estimate(np.exp(draw.normal(0.0, 0.05, 4)).tolist()) for n in range(29)}
    lucky = estimate([1.0, 1.002, 0.998, 1.0])
    assert assess([], [{"lucky": lucky}], spoiled={}, block=4, fewest=5, most=10).precise == {
        "lucky"
    }
    assert not assess(
        [], [{**family, "lucky": lucky}], spoiled={}, block=4, fewest=5, most=10
    ).precise
    both = [(OTHER_LEVEL, {**family, "lucky": lucky})]
    assert "lucky" not in assess(both, [], spoiled={}, block=4, fewest=5, most=10).precise


def test_a_cell_is_precise_on_all_arms_or_on_none() -> None:
    narrow, wide = make(0.0, 0.01, 5), make(0.0, 0.05, 5)
    families = [(OTHER_LEVEL, {"cell": narrow}), (OTHER_LEVEL, {"cell": wide})]
    found = assess(
        families, [{"cell": wide}, {"gpu only": narrow}], spoiled={}, block=5, fewest=5, most=10
    )
    assert found.precise == {"gpu only"}
    assert found.wanted == {"cell": 7, "gpu only": 5}


def test_before_there_is_an_interval_only_what_the_first_block_sees_is_known() -> None:
    far, near = make(math.log(2.1), 0.0, 1), make(math.log(1.9), 0.0, 1)
    found = assess(
        [(OTHER_LEVEL, {"far": far, "near": near})], [], spoiled={}, block=1, fewest=5, most=10
    )
    assert found == Precision(precise=frozenset(), wanted={"far": 3, "near": 8})


def test_blocks_that_a_cell_lost_are_not_counted_twice() -> None:
    """Of seven blocks it has five, and needs two more than that."""
    found = look({"cell": (0.0, 0.05, 5)}, 7)
    assert found.wanted == {"cell": 9}


@pytest.mark.parametrize(
    ("middle", "spread", "spoiled", "wanted"),
    [(1.0, 0.02, 1, 5), (1.0, 0.02, 2, 10), (1.0, 0.02, 3, 5), (0.1, 0.1, 1, 10), (0.1, 0.1, 3, 5)],
)
def test_a_cell_of_which_too_many_blocks_were_disturbed_goes_on_where_that_mends_it(
    middle: float, spread: float, spoiled: int, wanted: int
) -> None:
    """Of ten blocks two may be: after a third it is INVALID whatever follows, and however wide."""
    seen = look({"a": (middle, spread, 4), "b": (1.0, 0.02, 4)}, 4, spoiled={"a": spoiled})
    assert seen.precise == {"b"}
    assert seen.wanted == {"a": wanted, "b": 4}
