"""What training costs on each arm, and what a GPU may cost before the answer turns.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.analysis.ablation.catalogue import Catalogue, Values, divide, name_unit
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.numbers.estimate import Estimate, estimate
from suite.analysis.numbers.ratio import Ratio, compare

HOUR_S = 3600.0
MILLION = 1e6


@dataclass(frozen=True, kw_only=True)
class Price:
    """What the machine costs an hour; all arms of a campaign share the machine."""

    hourly: float
    currency: str


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a million steps and a million examples of a cell cost, by arm, in the price's currency.

    ``turns`` is the ratio of prices
    at which the answer turns: a machine with this GPU is the cheaper one as long as it costs less
    than so many times one with this CPU alone; None where one of the two arms has no number.
    """

    cell: str
    steps: Mapping[str, Estimate]
    examples: Mapping[str, Estimate]
    turns: Ratio | None


def find_costs(catalogue: Catalogue, price: Price) -> list[Cost]:
    """The costs of every cell that somebody pays for by the million, in the plan's order."""
    found = []
    for one in catalogue.cells.values():
        if not one.cell.priced:
            continue
        second = price.hourly / HOUR_S * MILLION
        steps = {arm: _scale(catalogue.steps(one, arm), second) for arm in catalogue.arms}
        examples = {arm: _scale(_per_example(catalogue, one, arm), second) for arm in steps}
        if not any(examples.values()):
            continue
        cpu, gpu = catalogue.values(one, catalogue.cpu), catalogue.values(one, catalogue.gpu)
        found.append(
            Cost(
                cell=one.cell.id,
                steps={arm: cost for arm, cost in steps.items() if cost},
                examples={arm: cost for arm, cost in examples.items() if cost},
                turns=compare(gpu, cpu) if cpu and gpu else None,
            )
        )
    return found


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
