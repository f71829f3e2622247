"""Instances and types of machines: what stands behind the rows of a shortlist, and what a comparison says
of the types in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import FEWEST
from suite.analysis.result.several import Kind, Versus
from suite.analysis.result.shortlist import Claim, Device, Entry, Shortlist
from suite.report.sections.environment import show_facts
from suite.report.sections.tables.families import Columns, write_columns
from suite.report.text.names import sort_cells
from suite.report.text.page import Cell, Page, Runs, Strong, say_none
from suite.report.text.units import (
    show_count,
    show_relative,
    show_seconds,
    show_things,
    show_times,
)
from suite.report.text.wording import tell, word

DEVICES: Mapping[Device, str] = {"cpu": "CPU", "gpu": "GPU"}

FAILED: Mapping[str, str] = {
    "twins": "an arm differs from its twin",
    "again": "an arm differs from itself",
    "hidden": "the image differs without its GPU",
    "extra-work": "known extra work was not seen",
    "input-only": "input-only cells differ",
    "invalid": "INVALID",
}
"""Why a machine's numbers are not to be believed."""

NEEDED = (
    "“±5 % needs” says with how many instances in all the 95 % intervals of a type's times and ratio would "
    "reach 5 % to either side, by the spread between those that were measured. It is a guide: three "
    "instances tell that spread to within a factor of 0.5 to 6."
)
"""What is meant by how many instances a claim needs."""

_KINDS = (
    "An instance is one observation here: the geometric mean over its invocations, and the ratio of two of "
    "these. The 95 % intervals are Student's t over the instances, on logarithms, and hold what instances "
    "differ by; those between types are Welch's. Each stands for itself: no verdict is drawn from them, and "
    f"nothing is adjusted for how many there are. {NEEDED}"
)

_OWN = re.compile(r"(_s|bytes|machine\.(id|type)|uuid|pci|containers?)$|^outside\.sampler")
"""Facts that differ between any two machines, and explain nothing."""


def write_instances(page: Page, found: Shortlist, names: Mapping[str, str]) -> None:
    """How many instances stand behind each row, what it costs beside the first, and who says its price."""
    page.heading("What stands behind the rows")
    page.paragraph(
        f"A row is about one instance, unless it says that {FEWEST} or more of a type were measured: then "
        "the instance is the unit, and the interval holds what instances differ by. Instances are told "
        "apart by hashes of machine and GPU in the documents; several campaigns of one count together. "
        + NEEDED
    )
    rows = []
    for number, one in enumerate(found.choices, start=1):
        offer = one.offer
        unit = show_things(len(one.instances), "instance")
        rows.append(
            {
                "machine": name_letter(number),
                "instances": unit if one.known else f"{unit}, of an unknown machine",
                "campaigns": "; ".join(" + ".join(group) for group in one.instances),
                "price by": f"{offer.source}, {offer.date.isoformat()}" if offer else "nobody",
                **{
                    f"times the first, {names[ranking.cell]}": _show_against(entry)
                    for ranking in found.rankings
                    for entry in ranking.entries
                    if entry.choice == number
                },
            }
        )
    page.table(
        "Table: instances, campaigns and prices; and how many times as much a machine costs as the first.",
        rows,
    )
    merged = dict.fromkeys(g for one in found.choices for g in one.instances if len(g) > 1)
    page.bullets(f"{' and '.join(g)} are of one instance, and count as one." for g in merged)
    page.bullets(
        f"Number {one.run}, {one.campaign}, is excluded: {word(one.flag)}."
        for one in found.excluded
    )


def show_ratio(claim: Claim) -> Cell:
    """The GPU against the CPU, in words."""
    ratio = claim.ratio
    if ratio is None:
        return say_none("CPU and GPU do not both have a time")
    low, high = ratio.low, ratio.high
    unsure = " ?" if low is None or high is None or low <= 1 <= high else ""
    return Cell(show_relative(ratio).amid(after=unsure))


def _show_against(entry: Entry) -> str:
    if entry.against:
        return show_times(entry.against)
    return "the first" if entry.rank else "not ranked"


def write_differences(page: Page, found: Shortlist, by_id: Mapping[str, Analysis]) -> None:
    """The facts that are not the same on all machines; whatever differs may be the cause."""
    page.heading("What differs between the machines")
    facts: dict[str, dict[str, list[str]]] = {}
    for number, choice in enumerate(found.choices, start=1):
        told: dict[str, dict[str, None]] = {}
        for one in (by_id[name] for group in choice.instances for name in group):
            arms = [one.arms[arm] for arm in (one.cpu, one.gpu) if arm]
            # Of what both arms tell, the CPU's: an image for a GPU differs from it everywhere alike.
            shown = {n: v for arm in reversed(arms) for n, v in show_facts(arm).items()}
            for name, value in shown.items():
                told.setdefault(name, {})[value] = None
        for name, values in told.items():
            facts.setdefault(name, {}).setdefault(" or ".join(values), []).append(
                name_letter(number)
            )
    rows = [
        {
            "fact": name,
            "value": "; ".join(f"{value} ({', '.join(who)})" for value, who in values.items()),
        }
        for name, values in sorted(facts.items())
        if len(values) > 1 and not _OWN.search(name)
    ]
    page.table("Table: facts that differ, and of which machines.", rows)
    if not rows:
        page.paragraph("No fact that the documents hold, but for times and sizes.")


def write_kinds(page: Page, versus: Versus, cells: Sequence[CellAnalysis]) -> None:
    """What holds of each type of machines of which enough instances are among the campaigns."""
    if not versus.kinds and len(versus.campaigns) < FEWEST:
        return
    if versus.kinds or versus.excluded:
        page.heading("Types of machines")
    page.bullets(
        f"Number {one.run}, {one.campaign}, counts for no type: {word(one.flag)}."
        for one in versus.excluded
    )
    page.bullets(_tell_kind(n, one) for n, one in enumerate(versus.kinds, start=1))
    if versus.kinds:
        page.paragraph(_KINDS)
        told = {name for one in versus.kinds for name in one.cells}
        kin = sort_cells([one for one in cells if one.id in told])
        columns = _list_kinds(versus.kinds, [one.id for one in kin])
        write_columns(page, "Table: types of machines, over their instances.", cells, kin, columns)


def _tell_kind(number: int, kind: Kind) -> Runs:
    """Its instances, what its claims take, and why they are not to be believed."""
    name = kind.type or kind.machine.cpu or "processor not recorded"
    parts = [
        show_things(len(kind.instances), "instance"),
        ", ".join(kind.machine.gpus) or "no GPU",
        f"campaigns {', '.join(' + '.join(one) for one in kind.instances)}",
    ]
    needed = [n for one in kind.cells.values() for n in one.needed.values()]
    if needed:
        parts.append(f"±5 % needs {min(needed)} to {max(needed)} instances, by cell")
    failed = ", ".join(FAILED[code] for code in kind.failed)
    doubt = (" ", Strong(f"Its numbers are not sound: {failed}.")) if failed else ()
    return Strong(f"{name_letter(number)} {name}"), f": {'; '.join(parts)}.", *doubt


_FEW = f"fewer than {FEWEST} of its instances have a number"


def _list_kinds(kinds: Sequence[Kind], cells: Sequence[str]) -> Columns:
    for number, kind in enumerate(kinds, start=1):
        name = name_letter(number)
        claims = [kind.cells.get(cell) or Claim() for cell in cells]
        for device, called in DEVICES.items():
            if any(device in one.seconds for one in claims):
                yield (
                    f"{name}, {called}, time per call",
                    [_show_time(one, device) for one in claims],
                )
        if any(one.ratio for one in claims):
            yield f"{name}, GPU against CPU", [show_ratio(one) for one in claims]
        most = [max(one.needed.values(), default=None) for one in claims]
        needed = [Cell(show_count(one)) if one else say_none(_FEW) for one in most]
        yield f"{name}, instances that ±5 % needs", needed
        for device, called in DEVICES.items():
            ratios = [kind.against.get(cell, {}).get(device) for cell in cells]
            if any(ratios):
                none = say_none("not both types have a number")
                shown = [Cell(show_relative(one)) if one else none for one in ratios]
                yield f"{name} against {name_letter(1)}, {called}", shown


def _show_time(claim: Claim, device: Device) -> Cell:
    found, why = claim.seconds.get(device), claim.missing.get(device)
    if found is None:
        return say_none(word(why)) if why else say_none("no instance has a number")
    notes = (_FEW,) if found.n < FEWEST else tuple(tell(found.flags))
    return Cell(show_seconds(found), notes)


def name_letter(number: int) -> str:
    """What a machine is called by in tables: A, B, …, Z, A1, …."""
    turn, place = divmod(number - 1, 26)
    return f"{chr(ord('A') + place)}{turn or ''}"


def list_letters(numbers: Iterable[int]) -> str:
    """Several of these."""
    return ", ".join(map(name_letter, numbers))
