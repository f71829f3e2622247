"""Machines ranked by what work costs on them, with no more said than the intervals carry.  Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from msgspec.structs import asdict, replace

from suite.analysis.ablation.catalogue import divide
from suite.analysis.ablation.cost import HOUR_S, MILLION
from suite.analysis.numbers.estimate import estimate
from suite.analysis.numbers.ratio import compare_campaigns
from suite.analysis.numbers.settled import hand_over
from suite.analysis.numbers.verdict import adjust, is_beyond
from suite.analysis.result.campaign import SCHEMA, Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import LEVEL, MARGIN, Ratio
from suite.analysis.result.shortlist import (
    OLD_DAYS,
    Choice,
    Entry,
    Offer,
    Ranking,
    Shortlist,
)
from suite.analysis.several.admission import admit, group_instances
from suite.analysis.several.machines import Machine, find_cell, find_sweep, group_types
from suite.errors import UsageError
from suite.flags import pick

MOST_TABLES = 3


@dataclass(frozen=True, kw_only=True)
class _Row:
    """An entry with its values: seconds for a unit on the fastest device, and what a million cost."""

    machine: Machine
    entry: Entry
    times: Mapping[int, float]
    costs: Mapping[int, float]


def rank_machines(
    analyses: Sequence[Analysis],
    offers: Sequence[Offer] = (),
    *,
    asked: dt.date,
    workload: str | None = None,
) -> Shortlist:
    """The machines of some campaigns, by what a million units of work cost on each.

    Args:
        analyses: in the order in which they were named.
        offers: what types of machines cost; of the others the campaigns' own prices count.
        asked: the day by which a price is old.
        workload: a cell's id or a part of it; none: the first, middle and last size of a main sweep.

    Raises:
        UsageError: no cell is meant, or too many; or the prices are in several currencies.
    """
    if not analyses:
        raise UsageError("a shortlist needs campaigns", 'such as RUNS="results/X results/Y"')
    admitted, excluded = admit(analyses)
    cells = _choose_cells(admitted, workload)
    machines = group_types(group_instances(admitted), {one.type for one in offers})
    choices = [(one, offer) for one in machines for offer in one.price(offers)]
    currencies = {offer.currency for _, offer in choices if offer}
    if len(currencies) > 1:
        many = " and ".join(sorted(currencies))
        raise UsageError(f"the prices are in {many}", "give all of them in one currency")
    # Numbered as the first table has them.
    choices = [choices[entry.choice - 1] for entry in _rank(cells[0], choices).entries]
    found = Shortlist(
        schema=SCHEMA,
        workload=workload,
        asked=asked,
        choices=tuple(_describe(*choice, asked) for choice in choices),
        rankings=tuple(_rank(cell, choices) for cell in cells),
        excluded=tuple(excluded),
    )
    return hand_over(found)


def _choose_cells(analyses: Sequence[Analysis], workload: str | None) -> list[CellAnalysis]:
    every = {cell.id: cell for one in analyses for cell in one.cells}
    if workload is not None:
        words = set(workload.split("/"))
        named = [cell for name, cell in every.items() if words <= set(name.split("/"))]
        chosen = [every[workload]] if workload in every else named
        if not 1 <= len(chosen) <= MOST_TABLES:
            near = ", ".join(cell.id for cell in chosen) or "none"
            raise UsageError(
                f"WORKLOAD={workload}: it has to mean 1 to {MOST_TABLES} cells, and means {near}",
                "name other axes, or more of them; `make list` has every cell",
            )
        return chosen
    sweeps = [sweep for one in analyses for sweep in one.main_sweeps]
    if not sweeps:
        raise UsageError("the campaigns have no sweep to choose from", "name a cell: WORKLOAD=…")
    sweep = max(sweeps, key=lambda one: (one.unit == "example", len(one.cells)))
    held = {name: sum(find_cell(one, name) is not None for one in analyses) for name in sweep.cells}
    common = [name for name, times in held.items() if times == max(held.values())]
    return [every[n] for n in dict.fromkeys((common[0], common[len(common) // 2], common[-1]))]


def _describe(machine: Machine, offer: Offer | None, asked: dt.date) -> Choice:
    analyses = machine.analyses
    return Choice(
        type=machine.type,
        labelled=machine.labelled,
        machine=analyses[0].machine,
        instances=machine.campaigns,
        known=machine.known,
        offer=offer,
        old=offer is not None and (asked - offer.date).days > OLD_DAYS,
        failed=machine.failed,
        flags=tuple(f for one in analyses for f in pick(one.flags, "caution")),
    )


def _rank(cell: CellAnalysis, choices: Sequence[tuple[Machine, Offer | None]]) -> Ranking:
    work = next(iter(cell.arms.values())).work
    example = work.unit in {"example", "element"} and cell.kind.startswith("training")
    every = [a for machine, _ in choices for a in machine.analyses]
    amount = work.amount if example else 1.0
    rows = [_measure(n, *choice, cell.id, amount) for n, choice in enumerate(choices, start=1)]
    return Ranking(
        cell=cell.id,
        unit="example" if example else "call",
        amount=1.0 if example else work.amount,
        work="example" if example else work.unit,
        axis=next((sweep.axis for a in every if (sweep := find_sweep(a, cell.id))), None),
        entries=tuple(_settle(rows)),
    )


def _measure(number: int, machine: Machine, offer: Offer | None, cell: str, amount: float) -> _Row:
    times = machine.time(cell, amount)
    claim = machine.claim(cell, times)
    devices = sorted(claim.seconds, key=lambda device: claim.seconds[device].value)
    fastest = times[devices[0]] if devices else {}
    costs = divide(fastest, HOUR_S / (MILLION * offer.hourly)) if offer else {}
    sure = claim.ratio is None or _differ(claim.ratio, machine)
    entry = Entry(
        **asdict(claim),
        choice=number,
        crossover=machine.cross(cell),
        cheapest=tuple(devices[:1] if sure else devices),
        cost=estimate(list(costs.values())) if costs else None,
    )
    return _Row(machine=machine, entry=entry, times=fastest, costs=costs)


def _settle(rows: Sequence[_Row]) -> list[Entry]:
    """The entries, the cheapest first, with ranks, ties, and which none beats."""
    # Without a rank: no price, no interval, or a control that failed.
    bound = {r.entry.choice: c.value for r in rows if (c := r.entry.cost) and c.low is not None}
    ranked = [row for row in rows if row.entry.choice in bound and not row.machine.failed]
    ranked.sort(key=lambda row: bound[row.entry.choice])
    cheaper = _beat({row.entry.choice: (row.machine, row.costs) for row in ranked})
    faster = _beat({row.entry.choice: (row.machine, row.times) for row in ranked})
    apart = {*cheaper, *(pair[::-1] for pair in cheaper)}
    settled = []
    for row in ranked:
        mine, first = row.entry.choice, ranked[0]
        others = [one.entry.choice for one in ranked if one is not row]
        beaten = [one for one in others if (one, mine) in cheaper]
        settled.append(
            replace(
                row.entry,
                rank=1 + len(beaten),
                ties=tuple(sorted(one for one in others if (one, mine) not in apart)),
                best=not any((one, mine) in faster for one in beaten),
                against=None if row is first else _compare(first, row),
            )
        )
    return [*settled, *(row.entry for row in rows if row not in ranked)]


def _compare(base: _Row, other: _Row) -> Ratio | None:
    """How many times as much the other costs, by Welch; at another price of one machine exactly so."""
    ratio = compare_campaigns(base.costs.values(), other.costs.values())
    if ratio and base.machine is other.machine:
        return Ratio(value=ratio.value, low=ratio.value, high=ratio.value, n=ratio.n)
    return ratio


def _beat(rows: Mapping[int, tuple[Machine, Mapping[int, float]]]) -> set[tuple[int, int]]:
    """The pairs of which the first has less than the second beyond doubt: Welch's tests, by Holm."""
    found, tested = set(), []
    for (one, (first, base)), (other, (second, values)) in combinations(rows.items(), 2):
        ratio = compare_campaigns(base.values(), values.values())
        pair = (one, other) if ratio and ratio.value > 1 else (other, one)
        if first is second:
            # The same values at two prices, or at no price: nothing is uncertain about them.
            found |= {pair} if values != base else set()
        elif ratio and ratio.p is not None:
            tested.append((pair, ratio, ratio.p, (first, second)))
    adjusted = adjust([p for _, _, p, _ in tested])
    for (pair, ratio, _, machines), p in zip(tested, adjusted, strict=True):
        if _differ(replace(ratio, p=p), *machines):
            found.add(pair)
    return found


def _differ(ratio: Ratio, *machines: Machine) -> bool:
    """Whether two things differ: significant, and beyond what these machines' noise makes."""
    margin = max(MARGIN, *(one.noise for one in machines))
    return ratio.p is not None and ratio.p < LEVEL and is_beyond(ratio.value, margin)
