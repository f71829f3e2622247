"""Campaigns to the machines that they are of: one instance, or three and more of one type, of which each
instance is one observation.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

from suite.analysis.ablation.catalogue import divide
from suite.analysis.numbers.estimate import count_needed, estimate
from suite.analysis.numbers.ratio import compare, compare_campaigns
from suite.analysis.result.campaign import Analysis, SweepAnalysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import FEWEST, Crossover, Estimate
from suite.analysis.result.several import Kind
from suite.analysis.result.shortlist import Claim, Device, Exclusion, Offer
from suite.analysis.several.admission import Instance, admit, group_instances
from suite.flags import Flag, pick, raise_flag

DEVICES: tuple[Device, ...] = ("cpu", "gpu")

Times = Mapping[Device, Mapping[int, float]]
"""The seconds for a unit of work by device, and by block or by instance."""

OWN = "PRICE"
"""Stands for who says what a machine costs where that is the command that measured it."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the rows of a shortlist and the claims of a comparison are about: ``instances``, each with its
    campaigns.

    With several instances these are the unit.  ``labelled``: only its label says of which ``type`` it is.
    """

    type: str | None
    labelled: bool
    known: bool
    instances: tuple[tuple[Analysis, ...], ...]

    @property
    def analyses(self) -> list[Analysis]:
        """Its campaigns."""
        return [one for instance in self.instances for one in instance]

    @property
    def campaigns(self) -> tuple[tuple[str, ...], ...]:
        """Their ids by instance."""
        return tuple(tuple(one.campaign.id for one in instance) for instance in self.instances)

    @property
    def noise(self) -> float:
        """The largest of the noise floors that are known."""
        return max(one.noise_floor or 0.0 for one in self.analyses)

    @property
    def failed(self) -> tuple[str, ...]:
        """Why its numbers are not to be believed: codes of controls that failed, and invalid."""
        found = [code for one in self.analyses for code in one.controls.failed]
        found += ["invalid" for one in self.analyses if one.invalid]
        return tuple(dict.fromkeys(found))

    def time(self, cell: str, amount: float = 1.0) -> Times:
        """The seconds for a unit of work by block (of several campaigns by both), or by instance."""
        return {device: self._time(cell, device, amount) for device in DEVICES}

    def _time(self, cell: str, device: Device, amount: float) -> dict[int, float]:
        found = [_gather(campaigns, cell, device, amount) for campaigns in self.instances]
        if len(found) == 1:
            return found[0]
        return {n: geometric_mean(one.values()) for n, one in enumerate(found, start=1) if one}

    def claim(self, cell: str, times: Times) -> Claim:
        """What these times of a cell say, each of them one observation."""
        seconds = {device: estimate(list(one.values())) for device, one in times.items() if one}
        ratio = compare(times["cpu"], times["gpu"])
        told: list[tuple[str, Estimate]] = [*seconds.items()]
        if ratio:
            told.append(("gpu/cpu", ratio))
        needed = {name: count_needed(one) for name, one in told}
        return Claim(
            seconds=seconds,
            missing={
                device: flag
                for device in DEVICES
                if device not in seconds and (flag := self.explain(cell, device))
            },
            ratio=ratio,
            # The spread of one instance's invocations says nothing of other instances.
            needed={n: one for n, one in needed.items() if one and len(self.instances) > 1},
        )

    def explain(self, cell: str, device: Device) -> Flag | None:
        """Why there is no such time; None: it has no such device, or there is one."""
        for one in self.analyses:
            if name := name_arm(one, device):
                planned = find_cell(one, cell)
                flags = planned.arms[name].flags if planned else (raise_flag("not-planned"),)
                return next(iter((*pick(flags, "missing"), *pick(flags, "invalid"))), None)
        return None

    def cross(self, cell: str) -> Crossover | None:
        """From where on the GPU wins; undecided where its campaigns do not agree."""
        found = [
            sweep.crossovers[one.gpu]
            for one in self.analyses
            if one.gpu and (sweep := find_sweep(one, cell)) and one.gpu in sweep.crossovers
        ]
        if len({(one.answer, one.rising) for one in found}) != 1:
            return Crossover(answer="undecided") if found else None
        lows = [one.low for one in found if one.low is not None]
        highs = [one.high for one in found if one.high is not None]
        low, high = min(lows, default=None), max(highs, default=None)
        return Crossover(answer=found[0].answer, low=low, high=high, rising=found[0].rising)

    def price(self, offers: Iterable[Offer]) -> list[Offer | None]:
        """What it can be had for: by its type, else what its campaigns were told; None: nobody knows."""
        found: list[Offer | None] = [one for one in offers if one.type == self.type]
        told = {p.hourly: (p, one.campaign.created) for one in self.analyses if (p := one.price)}
        if found or len(told) != 1:
            return found or [None]
        ((price, day),) = told.values()
        own = Offer(
            type=self.type or OWN,
            terms=OWN,
            hourly=price.hourly,
            currency=price.currency,
            source=OWN,
            date=day.date(),
        )
        return [own]


def find_kinds(analyses: Sequence[Analysis]) -> tuple[list[Kind], list[Exclusion]]:
    """The types of which enough instances are among the campaigns, the first of them the base of the others;
    and the campaigns that count for none, because they can't stand beside the rest."""
    admitted, excluded = admit(analyses)
    machines = [
        one for one in group_types(group_instances(admitted), set()) if len(one.instances) >= FEWEST
    ]
    cells = list(dict.fromkeys(cell.id for one in admitted for cell in one.cells))
    times = [{cell: one.time(cell) for cell in cells} for one in machines]
    return [
        _describe(one, mine, times[0]) for one, mine in zip(machines, times, strict=True)
    ], excluded


def _describe(machine: Machine, times: dict[str, Times], base: dict[str, Times]) -> Kind:
    against = {}
    for cell, mine in times.items() if times is not base else ():
        ratios = {d: compare_campaigns(base[cell][d].values(), mine[d].values()) for d in DEVICES}
        against[cell] = {device: ratio for device, ratio in ratios.items() if ratio}
    return Kind(
        type=machine.type,
        machine=machine.analyses[0].machine,
        instances=machine.campaigns,
        failed=machine.failed,
        cells={
            cell: machine.claim(cell, mine) for cell, mine in times.items() if any(mine.values())
        },
        against=against,
    )


def group_types(instances: Iterable[Instance], types: set[str]) -> list[Machine]:
    """The instances, of which three or more of one type are one machine.

    Without a type those are alike that are made of the same; one that nobody can tell from others is alone.
    """
    groups: dict[tuple[object, ...], list[Machine]] = {}
    for known, campaigns in instances:
        alike: dict[tuple[object, ...], list[Analysis]] = {}
        for one in campaigns:
            kind, labelled = _find_type(one, types)
            seen = one.machine
            parts = (seen.cpu, round((seen.memory_bytes or 0) / 2**30)) if kind is None else ()
            key = (kind, labelled, known, seen.cpus_used, seen.gpus, *parts)
            alike.setdefault(key, []).append(one)
        for key, found in alike.items():
            kind, labelled = _find_type(found[0], types)
            alone = Machine(type=kind, labelled=labelled, known=known, instances=(tuple(found),))
            groups.setdefault(key, []).append(alone)
    machines = []
    for group in groups.values():
        if group[0].known and len(group) >= FEWEST:
            every = tuple(one.instances[0] for one in group)
            machines.append(replace(group[0], instances=every))
        else:
            machines += group
    return machines


def _find_type(one: Analysis, types: set[str]) -> tuple[str | None, bool]:
    """The type of a campaign's machine, and whether only its label says so."""
    told = [v for arm in one.arms.values() for v in arm.facts.get("engine.machine.type", ()) if v]
    label = one.campaign.label
    return (str(told[0]), False) if told else (label, True) if label in types else (None, False)


def name_arm(one: Analysis, device: Device) -> str | None:
    """What a campaign calls the arm on a device; None: it has none."""
    return one.gpu if device == "gpu" else one.cpu


def find_cell(one: Analysis, cell: str) -> CellAnalysis | None:
    """A campaign's cell; None: it is not in its plan."""
    return next((found for found in one.cells if found.id == cell), None)


def find_sweep(one: Analysis, cell: str) -> SweepAnalysis | None:
    """The sweep that a cell belongs to."""
    return next((sweep for sweep in one.sweeps if cell in sweep.cells), None)


def _gather(
    campaigns: Sequence[Analysis], cell: str, device: Device, amount: float
) -> dict[int, float]:
    found: dict[int, float] = {}
    for number, one in enumerate(campaigns):
        planned, arm = find_cell(one, cell), name_arm(one, device)
        result = planned.arms[arm] if planned and arm else None
        if result and not result.invalid:
            values = divide(result.values, amount).items()
            found |= {1000 * number + block: value for block, value in values}
    return found
