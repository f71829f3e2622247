"""Whether cells reproduce: seldom wrong where nothing changed, and seen where something did."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from suite.analysis.analyse import compare_again
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.several import Versus
from suite.analysis.several.recheck import draw_cells
from suite.cells.cell import Work
from suite.errors import UsageError
from suite.model import Check
from tests import synthetic
from tests.bench.rates import Rate
from tests.bench.truth.tally import is_at_most
from tests.fakes.hosts import SILENT, TYPICAL, Host
from tests.rendering import study

WORK = Work(amount=1.0, unit="call")
FIVE = [synthetic.make_cell("made", f"cell{n}", {}, WORK) for n in range(5)]


def measure(
    seed: int, blocks: int, factor: float = 1.0, host: Host = TYPICAL, **change: object
) -> Analysis:
    """A campaign of five cells on the CPU; usually on a machine with 1 % between invocations."""
    campaign = synthetic.make_campaign(arms=["cpu"], cells=FIVE, blocks=blocks, seed=seed)
    campaign = replace(campaign, id=f"made-up-{seed}")
    truth = synthetic.slow_down(factor)
    documents = synthetic.make_documents(campaign, truth=truth, host=host, calibration=False)
    if change:
        documents = [synthetic.change_cell(one, FIVE[0].id, **change) for one in documents]
    return study(campaign, documents)


def differing(versus: Versus) -> set[str]:
    differing = {cell for pair in versus.pairs for cell in pair.differing}
    assert versus.holds == (not differing)
    return differing


@pytest.mark.method
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_what_did_not_change_is_seldom_said_to_have(blocks: int) -> None:
    tries = 80
    wrong = [
        not compare_again(measure(seed, blocks), measure(1000 + seed, 5), "").holds
        for seed in range(tries)
    ]
    assert is_at_most(Rate(hits=sum(wrong), tries=tries), 0.05)


@pytest.mark.parametrize(("blocks", "factor"), [(1, 1.3), (2, 0.7), (5, 1.3)])
def test_what_changed_is_found_whichever_way(blocks: int, factor: float) -> None:
    for seed in range(2):
        found = compare_again(measure(seed, blocks), measure(1000 + seed, 5, factor), "")
        assert differing(found) == {one.id for one in FIVE}


def test_another_result_or_no_number_does_not_reproduce() -> None:
    before = measure(1, 5)
    for change in (
        {"check": Check(what="a sum", value=41.0, tolerance=1e-6)},
        {"outcome": "failed", "reason": "wrong result: it is off", "samples_s": []},
    ):
        found = compare_again(before, measure(2, 5, **change), "")
        assert differing(found) == {FIVE[0].id}
        (missing,) = [one.no_ratio for one in found.pairs[0].cells.values() if one.no_ratio]
        assert missing.code in {"other-results", "no-number"}


def test_the_larger_noise_floor_is_the_margin() -> None:
    before, now = measure(1, 5), measure(2, 5, 1.1)
    noisy = structs.replace(now, noise_floor=0.2)
    assert compare_again(before, noisy, "").pairs[0].margin == 0.2
    assert compare_again(before, noisy, "").holds
    assert compare_again(before, now, "").pairs[0].margin == 0.02
    assert not compare_again(before, now, "").holds


def test_without_any_spread_the_margin_decides() -> None:
    before, near, far = (
        measure(seed, 3, factor, SILENT) for seed, factor in enumerate((1.0, 1.01, 1.03))
    )
    assert compare_again(before, near, "").holds
    assert not compare_again(before, far, "").holds


def test_the_draw_takes_what_has_a_number_on_every_arm_asked_for() -> None:
    analysis = measure(1, 5, outcome="failed", reason="it broke", samples_s=[])
    drawn = draw_cells(analysis, ["cpu"], "seed")
    assert sorted(drawn) == [one.id for one in FIVE[1:]]
    assert draw_cells(analysis, ["cpu"], "seed", 2) == draw_cells(analysis, ["cpu"], "seed", 2)
    draws = {tuple(draw_cells(analysis, ["cpu"], str(seed), 2)) for seed in range(20)}
    assert len(draws) > 5
    nothing = structs.replace(analysis, cells=analysis.cells[:1])
    with pytest.raises(UsageError, match="has a number on cpu"):
        draw_cells(nothing, ["cpu"], "seed", 2)
