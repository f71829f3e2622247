"""Several campaigns with machines as rows, by what work costs on them; no more said than the intervals carry.

A row is one instance of a machine, or with types as rows three and more instances of a type, of which
each is then one observation.  Pure.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, NamedTuple

from msgspec import structs

from suite.analysis.compare import Rows, compare_pairs
from suite.analysis.observations import (
    Observation,
    observe,
    pool,
    select,
    values_by_block,
)
from suite.analysis.result.campaign import SCHEMA, Analysis, SweepAnalysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import FEWEST, LEVEL, MARGIN, Crossover
from suite.analysis.result.several import (
    OLD_DAYS,
    Choice,
    Device,
    Entry,
    Offer,
    Ranking,
    Unpriced,
    Versus,
    list_failed,
)
from suite.analysis.several.eligibility import Instance, admit, find_copies, group_instances
from suite.analysis.statistics.estimate import count_needed, estimate
from suite.analysis.statistics.rounding import hand_over
from suite.errors import UsageError
from suite.flags import Flag, pick, raise_flag

DEVICES: tuple[Device, ...] = ("cpu", "gpu")

OWN = "PRICE"
"""Stands for who says what a machine costs where that is the command that measured it."""

MOST_TABLES = 3

_BLOCKS = 1000
"""More blocks than a campaign has: tells those of an instance's campaigns apart."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a row is about: ``instances``, each with its campaigns.

    With several instances these are the unit.  ``types`` are what it is called: one name, unless its
    campaigns contradict each other; ``labelled``: only its label says so.
    """

    types: tuple[str, ...]
    labelled: bool
    known: bool
    instances: tuple[tuple[Analysis, ...], ...]

    @property
    def analyses(self) -> list[Analysis]:
        """Its campaigns."""
        return [analysis for instance in self.instances for analysis in instance]

    @property
    def noise(self) -> float:
        """The largest of the noise floors that are known."""
        return max(analysis.noise_floor or 0.0 for analysis in self.analyses)

    @property
    def failed(self) -> tuple[str, ...]:
        """Why its numbers are not to be believed: codes of controls that failed, and invalid."""
        codes = [code for analysis in self.analyses for code in analysis.controls.failed]
        codes += ["invalid" for analysis in self.analyses if analysis.invalid]
        return tuple(dict.fromkeys(codes))

    def observe(self, cell: str, *, by_example: bool) -> list[Observation]:
        """The rows of a cell that are not INVALID, the arms called by their device.

        A block is told apart from those of the instance's other campaigns; of several instances each is one
        row, whose block is its number.  Work is in examples, or else a call.
        """
        table = []
        for number, analyses in enumerate(self.instances, start=1):
            rows = []
            for turn, analysis in enumerate(analyses):
                devices = {analysis.cpu: "cpu", analysis.gpu: "gpu"}
                rows += [
                    replace(
                        row,
                        arm=devices[row.arm],
                        block=None if row.block is None else _BLOCKS * turn + row.block,
                        work=row.work if by_example else 1.0,
                    )
                    for row in observe(analysis, {cell})
                    if row.arm in devices and not row.invalid
                ]
            table += pool(rows, number) if len(self.instances) > 1 else rows
        return [row for row in table if row.seconds_per_work is not None]

    def explain(self, cell: str, device: Device) -> Flag | None:
        """Why there is no such time; None: it has no such device, or there is one."""
        for analysis in self.analyses:
            if name := analysis.gpu if device == "gpu" else analysis.cpu:
                result = analysis.results(name).get(cell)
                flags = result.flags if result else (raise_flag("not-planned"),)
                return next(iter((*pick(flags, "missing"), *pick(flags, "invalid"))), None)
        return None

    def cross(self, cell: str) -> Crossover | None:
        """From where on the GPU wins; undecided where its campaigns do not agree."""
        sweeps = [(analysis.gpu or "", find_sweep(analysis, cell)) for analysis in self.analyses]
        crossovers = [s.crossovers[gpu] for gpu, s in sweeps if s and gpu in s.crossovers]
        if len({(crossover.answer, crossover.rising) for crossover in crossovers}) != 1:
            return Crossover(answer="undecided") if crossovers else None
        lows = [crossover.low for crossover in crossovers if crossover.low is not None]
        highs = [crossover.high for crossover in crossovers if crossover.high is not None]
        low, high = min(lows, default=None), max(highs, default=None)
        return Crossover(
            answer=crossovers[0].answer, low=low, high=high, rising=crossovers[0].rising
        )

    def price(self, offers: Sequence[Offer]) -> Sequence[tuple[Offer | None, Unpriced | None]]:
        """What it can be had for: by its type, else what its campaigns were told; or why that is no price.

        Beside prices that somebody gives for others, only one in their currency counts.
        """
        if len(self.types) > 1:
            return [(None, "types")]
        if listed := [offer for offer in offers if (offer.type,) == self.types]:
            return [(offer, None) for offer in listed]
        priced = [analysis for analysis in self.analyses if analysis.price]
        prices = {analysis.price for analysis in priced if analysis.price}
        if len(prices) != 1:
            return [(None, "contradiction" if prices else None)]
        (price,) = prices
        if offers and price.currency not in {offer.currency for offer in offers}:
            return [(None, "currency")]
        own = Offer(
            type=self.types[0] if self.types else OWN,
            terms=OWN,
            hourly=price.hourly,
            currency=price.currency,
            source=OWN,
            date=max(analysis.campaign.created for analysis in priced).date(),
        )
        return [(own, None)]


Priced = tuple[Machine, Offer | None]


class _Row(NamedTuple):
    """An entry with the observations behind it, on the fastest device and at the choice's price."""

    machine: Machine
    entry: Entry
    rows: Rows


def compare_machines(
    analyses: Sequence[Analysis],
    offers: Sequence[Offer] = (),
    *,
    asked: dt.date,
    rows: Literal["machine", "type"] = "type",
    workload: str | None = None,
) -> Versus:
    """The machines of some campaigns, by what a million units of work cost on each.

    Args:
        analyses: in the order in which they were named.
        offers: what types of machines cost; of the others the campaigns' own prices count, in the same
            currency.
        asked: the day by which a price is old.
        rows: each instance by itself, or three and more of a type as one row.
        workload: a cell's id or a part of it; none: the first, middle and last size of a main sweep.

    Raises:
        UsageError: no cell is meant, or too many; or the prices are in several currencies.
    """
    copies = find_copies(analyses)
    admitted, excluded = admit(analyses, copies)
    cells = _choose_cells(admitted or analyses, workload)
    machines = [
        _make_machine(instance, {offer.type for offer in offers})
        for instance in group_instances(admitted)
    ]
    if rows == "type":
        machines = group_types(machines)
    prices = [(machine, *price) for machine in machines for price in machine.price(offers)]
    currencies = {offer.currency for _, offer, _ in prices if offer}
    if len(currencies) > 1:
        many = " and ".join(sorted(currencies))
        raise UsageError(
            f"the prices are in {many}",
            "give all of them in one currency with PRICES=, or compare without prices: ROWS=cell",
        )
    # Numbered as the first table has them.
    first = _rank(cells[0], [(machine, offer) for machine, offer, _ in prices])
    prices = [prices[entry.choice - 1] for entry in first.entries]
    choices = [(machine, offer) for machine, offer, _ in prices]
    rankings = tuple(_rank(cell, choices) for cell in cells)
    described = list(enumerate((_describe(*price, asked) for price in prices), start=1))
    baseline = next(
        (
            number
            for analysis in admitted
            for number, choice in described
            if any(analysis.campaign.id in group for group in choice.instances)
        ),
        None,
    )
    versus = Versus(
        schema=SCHEMA,
        rows=rows,
        campaigns=tuple(analysis.campaign for analysis in analyses),
        noise_floors=tuple(analysis.noise_floor for analysis in analyses),
        failed=list_failed(analyses),
        copied=copies,
        asked=asked,
        listed=bool(offers),
        workload=workload,
        choices=tuple(_count(choice, n, baseline, rankings) for n, choice in described),
        baseline=baseline,
        rankings=rankings,
        excluded=tuple(excluded),
    )
    return hand_over(versus)


def choose_rows(analyses: Sequence[Analysis]) -> Literal["cell", "type"]:
    """Cells, where the campaigns are of one machine; types of machines, where several are known."""
    instances = [campaigns for known, campaigns in group_instances(analyses) if known]
    return "type" if len(instances) > 1 else "cell"


def group_types(machines: Iterable[Machine]) -> list[Machine]:
    """The machines, of which three or more of one type are one.

    Without a type those are alike that are made of the same; one that nobody can tell from others is alone.
    """
    groups: dict[tuple[object, ...], list[Machine]] = {}
    for machine in machines:
        facts = machine.analyses[0].machine
        parts = () if machine.types else (facts.cpu, round((facts.memory_bytes or 0) / 2**30))
        key = (machine.types, machine.labelled, machine.known, facts.cpus_used, facts.gpus, *parts)
        groups.setdefault(key, []).append(machine)
    grouped = []
    for group in groups.values():
        if group[0].known and len(group) >= FEWEST and len(group[0].types) < 2:
            every = tuple(machine.instances[0] for machine in group)
            grouped.append(replace(group[0], instances=every))
        else:
            grouped += group
    return grouped


def _make_machine(instance: Instance, types: set[str]) -> Machine:
    """An instance, whatever its campaigns call it: the documents' word counts before a label's."""
    known, analyses = instance
    types_told = [
        str(value)
        for analysis in analyses
        for arm in analysis.arms.values()
        for value in arm.facts.get("engine.machine.type", ())
        if value
    ]
    labels = [label for analysis in analyses if (label := analysis.campaign.label) in types]
    return Machine(
        types=tuple(dict.fromkeys(types_told or labels)),
        labelled=not types_told and bool(labels),
        known=known,
        instances=(tuple(analyses),),
    )


def find_sweep(analysis: Analysis, cell: str) -> SweepAnalysis | None:
    """The sweep that a cell belongs to."""
    return next((sweep for sweep in analysis.sweeps if cell in sweep.cells), None)


def _choose_cells(analyses: Sequence[Analysis], workload: str | None) -> list[CellAnalysis]:
    every = {cell.id: cell for analysis in analyses for cell in analysis.cells}
    if workload is not None:
        words = set(workload.split("/"))
        named = [cell for name, cell in every.items() if words <= set(name.split("/"))]
        chosen = [every[workload]] if workload in every else named
        if not 1 <= len(chosen) <= MOST_TABLES:
            near = ", ".join(cell.id for cell in chosen) or "none"
            raise UsageError(
                f"CELL={workload}: it has to mean 1 to {MOST_TABLES} cells, and means {near}",
                "name other axes, or more of them; `make list` has every cell",
            )
        return chosen
    sweeps = [sweep for analysis in analyses for sweep in analysis.main_sweeps]
    if not sweeps:
        raise UsageError("the campaigns have no sweep to choose from", "name a cell: CELL=…")
    sweep = max(sweeps, key=lambda sweep: (sweep.unit == "example", len(sweep.cells)))
    held = Counter(cell.id for analysis in analyses for cell in analysis.cells)
    most = max(held[name] for name in sweep.cells)
    common = [name for name in sweep.cells if held[name] == most]
    return [every[n] for n in dict.fromkeys((common[0], common[len(common) // 2], common[-1]))]


def _describe(
    machine: Machine,
    offer: Offer | None,
    unpriced: Unpriced | None,
    asked: dt.date,
) -> Choice:
    analyses = machine.analyses
    return Choice(
        types=machine.types,
        labelled=machine.labelled,
        machine=analyses[0].machine,
        instances=tuple(
            tuple(analysis.campaign.id for analysis in group) for group in machine.instances
        ),
        known=machine.known,
        offer=offer,
        unpriced=unpriced,
        old=offer is not None and (asked - offer.date).days > OLD_DAYS,
        failed=machine.failed,
        flags=tuple(flag for analysis in analyses for flag in pick(analysis.flags, "caution")),
    )


def _count(
    choice: Choice, number: int, baseline: int | None, rankings: Sequence[Ranking]
) -> Choice:
    """The choice with the cells in which it wins against the baseline, loses, or does neither."""
    cells: dict[str, list[str]] = {"wins": [], "losses": [], "ties": []}
    priced = any(ranking.priced for ranking in rankings)
    for ranking in rankings:
        ranked = {entry.choice: entry for entry in ranking.entries if entry.rank}
        pair = {number, baseline}
        if number == baseline or not pair <= ranked.keys() or ranking.priced != priced:
            continue
        # Of two that are no tie the first in the table is the better one.
        first = next(choice for choice in ranked if choice in pair)
        tied = baseline in ranked[number].ties
        cells["ties" if tied else "wins" if first == number else "losses"].append(ranking.cell)
    return structs.replace(choice, **{name: tuple(of) for name, of in cells.items()})


def _rank(cell: CellAnalysis, choices: Sequence[Priced]) -> Ranking:
    work = next(iter(cell.arms.values())).work
    by_example = work.unit in {"example", "element"} and cell.kind.startswith("training")
    every = [analysis for machine, _ in choices for analysis in machine.analyses]
    rows = [
        _measure(number, *choice, cell.id, by_example=by_example)
        for number, choice in enumerate(choices, start=1)
    ]
    priced = any(row.entry.cost for row in rows)
    return Ranking(
        cell=cell.id,
        unit="example" if by_example else "call",
        amount=1.0 if by_example else work.amount,
        work="example" if by_example else work.unit,
        axis=next(
            (sweep.axis for reading in every if (sweep := find_sweep(reading, cell.id))), None
        ),
        priced=priced,
        entries=tuple(_settle(rows, priced=priced)),
    )


def _measure(
    number: int, machine: Machine, offer: Offer | None, cell: str, *, by_example: bool
) -> _Row:
    table = machine.observe(cell, by_example=by_example)
    by_device = {device: select(table, arm=device) for device in DEVICES}
    times = {
        device: values_by_block(rows, lambda row: row.seconds_per_work)
        for device, rows in by_device.items()
    }
    seconds = {
        device: estimate(list(values.values())) for device, values in times.items() if values
    }
    compared = compare_pairs(
        {"gpu/cpu": (by_device["cpu"], by_device["gpu"])},
        margin=max(MARGIN, machine.noise),
        level=LEVEL,
        any_profile=True,
        measure=lambda row: row.seconds_per_work,
    )["gpu/cpu"]
    ratio = compared.ratio
    sure = ratio is None or (compared.verdict is not None and compared.verdict.names_winner)
    claims = [*seconds.items(), *([("gpu/cpu", ratio)] if ratio else [])]
    devices = sorted(seconds, key=lambda device: seconds[device].value)
    rows = by_device[devices[0]] if devices else []
    rows = [replace(row, price_hourly=offer.hourly if offer else None) for row in rows]
    costs = values_by_block(rows, lambda row: row.cost)
    entry = Entry(
        choice=number,
        seconds=seconds,
        missing={
            device: flag
            for device in DEVICES
            if device not in seconds and (flag := machine.explain(cell, device))
        },
        ratio=ratio,
        # The spread of one instance's invocations says nothing of other instances.
        needed={
            name: needed
            for name, claim in claims
            if len(machine.instances) > 1 and (needed := count_needed(claim))
        },
        crossover=machine.cross(cell),
        cheapest=tuple(devices[:1] if sure else devices),
        cost=estimate(list(costs.values())) if costs else None,
    )
    return _Row(machine, entry, rows)


def _settle(rows: Sequence[_Row], *, priced: bool) -> list[Entry]:
    """The entries, the cheapest first (without any price the fastest), with ranks, ties and stars."""
    # Without a rank: no number or no interval, or a control that failed.
    scores = {
        row.entry.choice: score.value
        for row in rows
        if (score := row.entry.cost if priced else row.entry.fastest)
        and score.low is not None
        and not row.machine.failed
    }
    ranked = [row for row in rows if row.entry.choice in scores]
    ranked.sort(key=lambda row: scores[row.entry.choice])
    less = _find_less(ranked, priced=priced)
    settled = []
    for row in ranked:
        mine = row.entry.choice
        beaten = [other for other in ranked if (other.entry.choice, mine) in less]
        ties = (choice for choice in scores if not {(choice, mine), (mine, choice)} & less)
        settled.append(
            structs.replace(
                row.entry,
                rank=1 + len(beaten),
                ties=tuple(sorted(choice for choice in ties if choice != mine)),
                best=not any(_is_as_fast(other, row) for other in beaten),
            )
        )
    return [*settled, *(row.entry for row in rows if row.entry.choice not in scores)]


def _find_less(rows: Sequence[_Row], *, priced: bool) -> set[tuple[int, int]]:
    """The pairs of which the first is cheaper, or faster, than the second beyond doubt: one family."""
    less, pairs, margins = set(), {}, {}
    for first, second in combinations(rows, 2):
        key = first.entry.choice, second.entry.choice
        if first.machine is second.machine:
            # The same values at two prices: nothing is uncertain about them.
            costs = [row.entry.cost.value if row.entry.cost else 0.0 for row in (first, second)]
            less |= {key} if costs[0] < costs[1] else {key[::-1]} if costs[1] < costs[0] else set()
        else:
            pairs[key] = first.rows, second.rows
            margins[key] = _find_margin(first, second)
    compared = compare_pairs(
        pairs,
        margin=margins,
        paired=False,
        level=LEVEL,
        any_profile=True,
        measure=(lambda row: row.cost) if priced else (lambda row: row.seconds_per_work),
    )
    for key, comparison in compared.items():
        if comparison.verdict and comparison.verdict.names_winner:
            less.add(key if comparison.verdict.name == "SLOWER" else key[::-1])
    return less


def _find_margin(first: _Row, second: _Row) -> float:
    return max(MARGIN, first.machine.noise, second.machine.noise)


def _is_as_fast(first: _Row, second: _Row) -> bool:
    """Whether a machine is as fast as another, within the margin."""
    times = [min(time.value for time in row.entry.seconds.values()) for row in (first, second)]
    return times[0] <= (1 + _find_margin(first, second)) * times[1]
