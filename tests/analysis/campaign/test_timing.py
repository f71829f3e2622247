"""What an empty fence costs of a sample."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.campaign.summarise import Summary
from suite.analysis.campaign.time_spent import find_timing_costs
from tests import synthetic
from tests.rendering import render_whole, sum_up

CELLS = [one for one in synthetic.make_cells() if one.scenario == "overhead"]
CAMPAIGN = synthetic.make_campaign(arms=["cpu"], blocks=3, cells=CELLS)
FENCE = CELLS[0].id


def summarise_with(fences: dict[int, object], **fields: object) -> Summary:
    """A campaign whose invocations found these prices of a fence, by block."""
    documents = []
    for one in synthetic.make_documents(CAMPAIGN):
        fence = fences.get(one.invocation.block)
        facts = one.facts if fence is None else {**one.facts, "fence_s": fence}
        changed = replace(one, facts=facts)  # type: ignore[arg-type]
        documents.append(synthetic.change_cell(changed, FENCE, **fields))
    return sum_up(CAMPAIGN, documents)


def cost(summary: Summary) -> dict[str, float]:
    return find_timing_costs(CELLS, summary.counted["cpu"].values())


def test_the_dearest_block_counts_and_the_calibration_does_not() -> None:
    fences: dict[int, object] = {0: 1.0, 1: 1e-6, 2: 4e-6, 3: 2e-6}
    summary = summarise_with(fences, calls_per_sample=10, samples_s=[9.0, 1e-4, 1e-9])
    assert cost(summary)[FENCE] == pytest.approx(4e-6 / 1e-3)


def test_one_shot_cells_are_exempt() -> None:
    exempt = {one.id for one in CELLS if one.one_shot}
    assert exempt
    assert not exempt & set(cost(summarise_with({1: 1e-6})))


@pytest.mark.parametrize("unknown", [{}, {1: None}, {1: "dear"}, {1: True}])
def test_an_unknown_price_is_not_nothing(unknown: dict[int, object]) -> None:
    nothing = summarise_with(unknown)
    assert cost(nothing) == {}
    text = render_whole(analyse(nothing.loaded))
    assert "no document says what an empty fence costs" in text


@pytest.mark.parametrize(("fence", "some"), [(1e-9, False), (1e-3, True)])
def test_the_report_counts_what_cost_too_much(fence: float, some: bool) -> None:
    summary = summarise_with({1: fence}, calls_per_sample=10, samples_s=[1e-2])
    text = render_whole(analyse(summary.loaded))
    (line,) = [one for one in text.splitlines() if "of a sample." in one and " costs more " in one]
    assert ("0 of " not in line) == some
