"""What training costs on each arm, and what a GPU may cost before the answer turns.  Pure."""

from __future__ import annotations

from collections.abc import Iterator

from suite.analysis.ablation.catalogue import Catalogue, Values, divide, name_unit
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.compare import find_paired_ratio
from suite.analysis.numbers.estimate import estimate
from suite.analysis.observations import HOUR_S, LARGEST, MILLION
from suite.analysis.result.limits import Cost, Price
from suite.analysis.result.numbers import Estimate
from suite.model import Campaign


def find_price(campaign: Campaign) -> Price | None:
    """What the machine costs; None: nobody said, or it is nothing, by which nobody can divide."""
    if campaign.price and 1 / LARGEST < campaign.price < LARGEST:
        return Price(hourly=campaign.price, currency=campaign.price_currency)
    return None


def find_costs(catalogue: Catalogue, price: Price | None) -> Iterator[Cost]:
    """The costs of every cell that somebody pays for by the million, in the plan's order."""
    if price is None:
        return
    second = price.hourly / HOUR_S * MILLION
    for one in catalogue.cells.values():
        if not one.cell.priced:
            continue
        steps = {arm: _scale(catalogue.steps(one, arm), second) for arm in catalogue.arms}
        examples = {arm: _scale(_per_example(catalogue, one, arm), second) for arm in steps}
        if not any(examples.values()):
            continue
        yield Cost(
            cell=one.cell.id,
            steps={arm: cost for arm, cost in steps.items() if cost},
            examples={arm: cost for arm, cost in examples.items() if cost},
            turns=find_paired_ratio(
                catalogue.values(one, catalogue.gpu), catalogue.values(one, catalogue.cpu)
            ),
        )


def _per_example(catalogue: Catalogue, one: CellSummary, arm: str) -> Values:
    """Seconds an example: of a cell that counts something else a step's share."""
    if name_unit(one.cell) == "example":
        return catalogue.per_work(one, arm)
    batch = one.cell.params.get("batch", 0)
    return divide(catalogue.steps(one, arm), batch) if isinstance(batch, int | float) else {}


def _scale(seconds: Values, factor: float) -> Estimate | None:
    """The cost of these seconds; None where there is none that could be worked with."""
    found = divide(seconds, 1 / factor)
    return estimate(list(found.values())) if found else None
