"""What stands behind the rows of a shortlist: instances, campaigns, prices, and the facts that differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import FEWEST
from suite.analysis.result.shortlist import Entry, Shortlist
from suite.report.sections.environment import show_facts
from suite.report.text.page import Page
from suite.report.text.units import show_things, show_times
from suite.report.text.wording import word

_OWN = re.compile(r"(_s|bytes|machine\.(id|type)|uuid|pci|containers?)$|^outside\.sampler")
"""Facts that differ between any two machines, and explain nothing."""


def write_instances(page: Page, found: Shortlist, names: Mapping[str, str]) -> None:
    """How many instances stand behind each row, what it costs beside the first, and who says its price."""
    page.heading("What stands behind the rows")
    page.paragraph(
        f"A row is about one instance, unless it says that {FEWEST} or more of a type were measured: then "
        "the instance is the unit, and the interval holds what instances differ by. Instances are told "
        "apart by hashes of machine and GPU in the documents; several campaigns of one count together."
    )
    rows = []
    for number, one in enumerate(found.choices, start=1):
        offer = one.offer
        unit = show_things(len(one.instances), "instance")
        entries = [e for r in found.rankings for e in r.entries if e.choice == number]
        rows.append(
            [
                name_letter(number),
                unit if one.known else f"{unit}, of an unknown machine",
                "; ".join(" + ".join(group) for group in one.instances),
                f"{offer.source}, {offer.date.isoformat()}" if offer else "nobody",
                *map(_show_against, entries),
            ]
        )
    page.table(
        "Table: instances, campaigns and prices; and how many times as much a machine costs as the first.",
        [
            "machine",
            "instances",
            "campaigns",
            "price by",
            *(f"times the first, {names[r.cell]}" for r in found.rankings),
        ],
        rows,
    )
    merged = dict.fromkeys(g for one in found.choices for g in one.instances if len(g) > 1)
    page.bullets(f"{' and '.join(g)} are of one instance, and count as one." for g in merged)
    page.bullets(
        f"Number {one.run}, {one.campaign}, is excluded: {word(one.flag)}."
        for one in found.excluded
    )


def _show_against(entry: Entry) -> str:
    if entry.against:
        return show_times(entry.against.value, entry.against.low, entry.against.high)
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
        [name, "; ".join(f"{value} ({', '.join(who)})" for value, who in values.items())]
        for name, values in sorted(facts.items())
        if len(values) > 1 and not _OWN.search(name)
    ]
    if rows:
        page.table("Table: facts that differ, and of which machines.", ["fact", "value"], rows)
    else:
        page.paragraph("No fact that the documents hold, but for times and sizes.")


def name_letter(number: int) -> str:
    """What a machine is called by in tables: A, B, …, Z, A1, …."""
    turn, place = divmod(number - 1, 26)
    return f"{chr(ord('A') + place)}{turn or ''}"


def list_letters(numbers: Iterable[int]) -> str:
    """Several of these."""
    return ", ".join(map(name_letter, numbers))
