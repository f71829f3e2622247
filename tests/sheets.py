"""Sheets of requirements, and campaigns of known truth to judge by them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from msgspec import structs

from suite.analysis.acceptance.judge import judge_campaign
from suite.analysis.acceptance.selection import Selection
from suite.analysis.acceptance.sheet import Sheet, parse_sheet
from suite.analysis.result.acceptance import Acceptance
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.analysis.result.findings import Finding
from suite.analysis.statistics.estimate import estimate
from suite.analysis.statistics.ratio import find_paired_ratio
from suite.report.text.names import choose_cells
from suite.worker import scenarios
from tests import synthetic
from tests.fakes.hosts import Host, draw_levels
from tests.rendering import study

PRODUCTS = [synthetic.make_product(n) for n in (1000, 10, 100)]
STEPS = [synthetic.make_step(batch) for batch in (8, 512)]
FENCE = next(cell for cell in synthetic.make_cells() if cell.id == "overhead.fence")
CELLS = [*PRODUCTS, *STEPS, FENCE]
PRODUCT, STEP = PRODUCTS[0].id, STEPS[1].id
PRICE = 3.6
"""An hour's, so that a second costs a thousandth."""

CATALOGUE = [cell.id for cell in scenarios.cells()]

Times = Mapping[tuple[str, str], Sequence[float]]
"""The values of a cell on an arm, by block."""


def read(*requirements: str, head: str = "") -> Sheet:
    """A sheet of these requirements, each a ``[[require]]`` of its own."""
    text = head + "".join(f"[[require]]\n{each}\n" for each in requirements)
    return parse_sheet("contract.toml", text.encode())


def judge(analysis: Analysis, *requirements: str, **others: Analysis) -> Acceptance:
    """What a campaign is against these requirements; ``others`` by the name that they have there."""
    return judge_sheet(analysis, read(*requirements), others)


def judge_sheet(analysis: Analysis, sheet: Sheet, others: Mapping[str, Analysis]) -> Acceptance:
    selection = Selection(
        name=sheet.name, analysis=analysis, catalogue=CATALOGUE, choose=choose_cells
    )
    return judge_campaign(sheet, selection, "5" * 64, others)


@cache
def _study_template() -> Analysis:
    plan = replace(
        synthetic.make_campaign(cells=CELLS, blocks=3), price=PRICE, price_currency="USD"
    )
    documents = synthetic.make_documents(plan, samples=3, host=synthetic.QUIET)
    return study(plan, documents)


def draw_times(
    host: Host, draw: np.random.Generator, truths: Mapping[tuple[str, str], float], blocks: int
) -> Times:
    """The values of so many blocks, of these true seconds."""
    levels = np.exp(draw_levels(host, draw, cells=len(truths), blocks=blocks))
    rows = zip(truths.items(), levels.tolist(), strict=True)
    return {place: [truth * level for level in of] for (place, truth), of in rows}


def make(times: Times, blocks: int, name: str = "made-up", **fields: object) -> Analysis:
    """The analysis of a campaign whose cells have the first so many of these values."""
    template = _study_template()
    cells = tuple(_put(cell, times, blocks) for cell in template.cells)
    arms = {
        arm: structs.replace(about, blocks=dict.fromkeys(range(1, blocks + 1), "complete"))
        for arm, about in template.arms.items()
    }
    plan = structs.replace(template.campaign, id=name, folder=name, blocks=blocks)
    results = {cell.id: cell for cell in cells}
    costs = tuple(
        structs.replace(row, value=_price(results[row.cell].arms[row.arm]))
        for row in template.find("cost", of="examples")
        if row.of == "examples"
    )
    changed: dict[str, object] = {"cells": cells, "arms": arms, "campaign": plan, "findings": costs}
    return structs.replace(template, **{**changed, **fields})


def _put(cell: CellAnalysis, times: Times, blocks: int) -> CellAnalysis:
    arms = {
        arm: _put_values(result, times[cell.id, arm][:blocks])
        if (cell.id, arm) in times
        else result
        for arm, result in cell.arms.items()
    }
    base, other = (arms[arm].values for arm in ("cpu", "cuda"))
    ratio = find_paired_ratio(base, other)
    compared = structs.replace(cell.comparisons["cuda"], ratio=ratio)
    return structs.replace(cell, arms=arms, comparisons={"cuda": compared})


def _put_values(result: ArmResult, values: Sequence[float]) -> ArmResult:
    found = estimate(values)
    return structs.replace(
        result,
        value=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        rate=result.work.amount / found.value,
        flags=(),
        values=dict(enumerate(values, start=1)),
    )


def _price(result: ArmResult) -> object:
    return estimate([PRICE / 3600 * 1e6 * s / result.work.amount for s in result.values.values()])


def spread(middle: float, deviation: float, blocks: int) -> list[float]:
    """Values whose logarithms have exactly this mean and standard deviation."""
    steps = [i - (blocks - 1) / 2 for i in range(blocks)]
    scale = deviation / math.sqrt(math.fsum(s * s for s in steps) / (blocks - 1))
    return [middle * math.exp(scale * step) for step in steps]


def make_plain(
    blocks: int = 10, deviation: float = 0.01, name: str = "made-up", **fields: object
) -> Analysis:
    """A campaign in which every cell takes what `synthetic.plain_truth` says, with this spread."""
    times = {
        (cell.id, arm): spread(synthetic.plain_truth(cell, arm), deviation * more, blocks)
        for cell in CELLS
        for arm, more in (("cpu", 1.0), ("cuda", 2.0))
    }
    return make(times, blocks, name, **fields)


def expect(of: str, value: float, low: float, high: float, verdict: str = "in") -> Finding:
    """What is expected, as the analysis finds it, of a product on the GPU."""
    from suite.analysis.result.numbers import cite

    ends = {"low": low, "source": "a source"} | ({"high": high} if high != low else {})
    return Finding(
        tag="expected",
        arm="cuda",
        cell=PRODUCT,
        of=of,
        unit="FLOP/s",
        value=estimate(spread(value, 0.005, 10)),
        verdict=verdict,  # type: ignore[arg-type]
        evidence=(cite("product-figure", date="2026", **ends),),
    )
