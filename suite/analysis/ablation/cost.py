"""What training costs on each arm, and what a GPU may cost before the answer turns.  Pure."""

from __future__ import annotations

from collections.abc import Iterator

from suite.analysis.ablation.cell_index import CellIndex, Values, divide, name_unit
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.observations import HOUR_S, LARGEST, MILLION
from suite.analysis.result.findings import Finding
from suite.analysis.result.limits import Price
from suite.analysis.statistics.estimate import estimate
from suite.analysis.statistics.ratio import find_paired_ratio
from suite.model import Campaign


def find_price(campaign: Campaign) -> Price | None:
    """What the machine costs; None: nobody said, or it is nothing, by which nobody can divide."""
    if campaign.price and 1 / LARGEST < campaign.price < LARGEST:
        return Price(hourly=campaign.price, currency=campaign.price_currency)
    return None


def find_costs(index: CellIndex, price: Price | None) -> Iterator[Finding]:
    """What a million steps and examples cost of every cell that people pay for by the million, and the
    ratio of prices at which the cheaper machine changes."""
    if price is None:
        return
    second = price.hourly / HOUR_S * MILLION
    gpu, cpu = index.gpu, index.cpu
    for summary in index.cells.values():
        costs = [
            Finding(
                tag="cost",
                arm=arm,
                cell=summary.cell.id,
                of=of,
                value=estimate(list(money.values())),
                unit=price.currency,
            )
            for arm in (index.arms if summary.cell.priced else ())
            for of, seconds in (
                ("steps", index.steps(summary, arm)),
                ("examples", _per_example(index, summary, arm)),
            )
            if (money := divide(seconds, 1 / second))
        ]
        if not any(cost.of == "examples" for cost in costs):
            continue
        yield from costs
        turns = find_paired_ratio(index.values(summary, gpu), index.values(summary, cpu))
        if gpu and cpu and turns:
            yield Finding(
                tag="price-ratio", arm=gpu, cell=summary.cell.id, against=cpu, value=turns
            )


def _per_example(index: CellIndex, summary: CellSummary, arm: str) -> Values:
    """Seconds an example: of a cell that counts something else a step's share."""
    if name_unit(summary.cell) == "example":
        return index.per_work(summary, arm)
    batch = summary.cell.params.get("batch", 0)
    return divide(index.steps(summary, arm), batch) if isinstance(batch, int | float) else {}
