"""What training costs on each arm, and what a GPU may cost before the answer turns.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.report.catalogue import Catalogue, count_steps, name_case, name_unit
from suite.report.compare import Ratio, compare
from suite.report.statistics import Estimate, estimate

HOUR_S = 3600.0
MILLION = 1e6

PRICED = ("mlp.train", "mlp.width", "mlp.loop", "mlp.infer", "asked.fit", "tfdata.triple")
"""Cases whose steps or examples somebody pays for by the million."""


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
    """The costs of every cell that trains or infers, warm ones only, in the plan's order."""
    found = []
    for one in catalogue.cells.values():
        counts = name_case(one.cell) in PRICED and name_unit(one.cell) == "example"
        if not counts or one.cell.one_shot or one.cell.params.get("on") == "cpu":
            continue
        if one.cell.params.get("part", "together") != "together":
            continue
        amount, steps = one.cell.work.amount, count_steps(one.cell)
        values = {arm: catalogue.values(one, arm) for arm in catalogue.arms}
        by_arm = {arm: list(by_block.values()) for arm, by_block in values.items() if by_block}
        if not by_arm or amount <= 0:
            continue
        second = price.hourly / HOUR_S * MILLION
        cpu, gpu = catalogue.values(one, catalogue.cpu), catalogue.values(one, catalogue.gpu)
        found.append(
            Cost(
                cell=one.cell.id,
                steps={arm: _scale(seconds, second / steps) for arm, seconds in by_arm.items()},
                examples={arm: _scale(seconds, second / amount) for arm, seconds in by_arm.items()},
                turns=compare(gpu, cpu) if cpu and gpu else None,
            )
        )
    return found


def _scale(seconds: list[float], factor: float) -> Estimate:
    return estimate([factor * one for one in seconds])
