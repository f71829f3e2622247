"""What an empty fence costs of a sample."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.campaign.accounting import find_timing_costs
from suite.analysis.campaign.summarise import Summary, summarise
from suite.analysis.documents.read import LoadedCampaign
from suite.model import Document
from tests import synthetic
from tests.rendering import render_markdown


def summarise_with(fences: dict[int, object], **fields: object) -> Summary:
    """A campaign of one arm whose invocations found these prices of a fence, by block."""
    cells = [one for one in synthetic.make_cells() if one.scenario == "overhead"]
    campaign = synthetic.make_campaign(arms=["cpu"], blocks=3, cells=cells)

    def price(document: Document) -> Document:
        fence = fences.get(document.invocation.block)
        facts = document.facts if fence is None else {**document.facts, "fence_s": fence}
        changed = replace(document, facts=facts)  # type: ignore[arg-type]
        return synthetic.change_cell(changed, cells[0].id, **fields)

    documents = [price(one) for one in synthetic.make_documents(campaign)]
    return summarise(LoadedCampaign(folder="x", campaign=campaign, documents=documents))


def test_the_dearest_block_counts_and_the_calibration_does_not() -> None:
    fences: dict[int, object] = {0: 1.0, 1: 1e-6, 2: 4e-6, 3: 2e-6}
    summary = summarise_with(fences, calls_per_sample=10, samples_s=[9.0, 1e-4, 1e-9])
    name = summary.cells[0].cell.id
    assert find_timing_costs(summary.campaign.cells, summary.counted)["cpu"][name] == pytest.approx(
        4e-6 / 1e-3
    )


def test_one_shot_cells_are_exempt_and_an_unknown_price_is_not_nothing() -> None:
    summary = summarise_with({1: 1e-6})
    exempt = {one.cell.id for one in summary.cells if one.cell.one_shot}
    assert exempt
    assert not exempt & set(find_timing_costs(summary.campaign.cells, summary.counted)["cpu"])
    for unknown in ({}, {1: None}, {1: "dear"}, {1: True}):
        nothing = summarise_with(unknown)
        assert find_timing_costs(nothing.campaign.cells, nothing.counted) == {"cpu": {}}
        assert "no document says what an empty fence costs" in render_markdown(
            analyse(nothing.loaded)
        )


def test_the_report_counts_what_cost_too_much() -> None:
    cheap = summarise_with({1: 1e-9}, calls_per_sample=10, samples_s=[1e-2])
    assert "0 of " in _count(cheap)
    dear = summarise_with({1: 1e-3}, calls_per_sample=10, samples_s=[1e-2])
    assert "0 of " not in _count(dear)


def _count(summary: Summary) -> str:
    text = render_markdown(analyse(summary.loaded))
    (line,) = [one for one in text.splitlines() if "of a sample." in one and " cost more " in one]
    return line
