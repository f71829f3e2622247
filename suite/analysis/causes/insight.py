"""Everything that a campaign says beyond its verdicts: causes, what would help, where time goes.

Only brings together what the other files of this room find.
"""

from __future__ import annotations

from dataclasses import dataclass

from suite.analysis.ablation.catalogue import LARGEST, Catalogue, open_catalogue
from suite.analysis.ablation.cost import find_costs
from suite.analysis.ablation.limits import find_limits
from suite.analysis.ablation.step import decompose_steps, find_break_evens, find_triples
from suite.analysis.ablation.waterfall import build_waterfalls, find_naive_gaps
from suite.analysis.campaign.summarise import Summary
from suite.analysis.causes.explain import Case, explain
from suite.analysis.causes.improvements import find_improvements
from suite.analysis.documents.published import read_figures
from suite.analysis.result.findings import (
    BreakEven,
    Decomposition,
    Improvement,
    NaiveGap,
    Triple,
    Waterfall,
)
from suite.analysis.result.limits import Cost, Limits, Price


@dataclass(frozen=True, kw_only=True)
class Insight:
    """What is found in the cells of a campaign.

    ``cases`` need both arms, and are the plan's order; ``price`` is None where none was given, and
    there are no ``costs`` then.
    """

    catalogue: Catalogue
    cases: tuple[Case, ...]
    advice: tuple[Improvement, ...]
    waterfalls: tuple[Waterfall, ...]
    misled: tuple[NaiveGap, ...]
    steps: tuple[Decomposition, ...]
    triples: tuple[Triple, ...]
    repayments: tuple[BreakEven, ...]
    limits: Limits
    price: Price | None
    costs: tuple[Cost, ...]


def find_insight(summary: Summary) -> Insight:
    """What an analysed campaign says beyond its verdicts; deterministic."""
    catalogue = open_catalogue(summary)
    campaign = summary.campaign
    price = None
    # A machine that costs nothing has no price to divide by.
    if campaign.price and 1 / LARGEST < campaign.price < LARGEST:
        price = Price(hourly=campaign.price, currency=campaign.price_currency)
    waterfalls = build_waterfalls(catalogue)
    return Insight(
        catalogue=catalogue,
        cases=tuple(explain(catalogue)),
        advice=tuple(find_improvements(catalogue)),
        waterfalls=tuple(waterfalls),
        misled=tuple(find_naive_gaps(waterfalls, catalogue)),
        steps=tuple(decompose_steps(catalogue)),
        triples=tuple(find_triples(catalogue)),
        repayments=tuple(find_break_evens(catalogue)),
        limits=find_limits(catalogue, summary.places, read_figures()),
        price=price,
        costs=tuple(find_costs(catalogue, price)) if price else (),
    )
