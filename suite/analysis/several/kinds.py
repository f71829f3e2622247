"""What several campaigns say of types of machines, of which each instance is one observation.  Pure."""

from __future__ import annotations

from collections.abc import Sequence

from suite.analysis.numbers.ratio import compare_campaigns
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import FEWEST
from suite.analysis.result.several import Kind
from suite.analysis.result.shortlist import Exclusion
from suite.analysis.several.admission import admit, group_instances
from suite.analysis.several.machines import DEVICES, Machine, Times, group_types


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
        instances=tuple(tuple(a.campaign.id for a in one) for one in machine.instances),
        failed=machine.failed,
        cells={
            cell: machine.claim(cell, mine) for cell, mine in times.items() if any(mine.values())
        },
        against=against,
    )
