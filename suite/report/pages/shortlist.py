"""The shortlist: machines by what work costs on them, a table a workload, and the facts behind the rows.

No clock, no network, no facts of this machine: the same shortlist gives the same bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.shortlist import OLD_DAYS, Choice, Entry, Ranking, Shortlist
from suite.report.pages import frame
from suite.report.pages.instances import (
    DEVICES,
    FAILED,
    list_letters,
    name_letter,
    show_ratio,
    write_differences,
    write_instances,
)
from suite.report.sections.environment import SOMEWHERE
from suite.report.text.names import list_shared, name_cells
from suite.report.text.page import NO_NUMBER, Cell, Page, Row, Runs, Strong, say_none
from suite.report.text.units import (
    Quantity,
    name_rate,
    show_bytes,
    show_money,
    show_rate,
    show_size,
    show_things,
)
from suite.report.text.wording import name_banners, word

_CAUTIONS: Mapping[str, str] = {"far-below-published": "far below published figures"}

_RULES = (
    Strong("rank"),
    (
        ": one more than the number of machines that cost less beyond doubt; those that the intervals "
        "do not separate are ties. ★: no other machine is both cheaper and faster beyond doubt. Beyond "
        "doubt is a difference with p under 0.05 by Welch's t test, adjusted by Holm for all pairs of the "
        "table, and of more than 2 % and than the campaigns' noise floors. Machines were not measured in the "
        "same blocks: ratios between them are not interleaved, and their intervals do not cover drift. Every "
        "interval is a 95 % CI."
    ),
)


def compose_shortlist(found: Shortlist, analyses: Sequence[Analysis]) -> Page:
    """The shortlist, in no format yet."""
    by_id = {one.campaign.id: one for one in reversed(analyses)}
    used = [by_id[name] for one in found.choices for group in one.instances for name in group]
    cells = {cell.id: cell for one in used for cell in one.cells}
    among = [cells[one.cell] for one in found.rankings]
    names, shared = name_cells(among), list_shared(among)
    count = len({one.instances for one in found.choices})
    page = frame.begin_page(
        f"a shortlist of {show_things(count, 'machine')}",
        [flag for one in used for flag in one.flags],
        ["What work costs on each machine, by its faster device; workload by workload:"],
    )
    page.bullets(
        [*(_open(found, one, names[one.cell]) for one in found.rankings), *_tell_others(found)]
    )
    if shared:
        page.paragraph(f"The same in all workloads: {'; '.join(shared.values())}.")
    for ranking in found.rankings:
        _write_ranking(page, found, ranking, names[ranking.cell])
    page.paragraph(*_RULES)
    write_instances(page, found, names)
    write_differences(page, found, by_id)
    folders = " ".join(f"{SOMEWHERE}/{one.campaign.folder}" for one in analyses)
    workload = f" WORKLOAD={shlex.quote(found.workload)}" if found.workload else ""
    command = f'make shortlist RUNS="{folders}"{workload}'
    when = (
        f"From the campaigns' documents and the prices of {found.asked.isoformat()} (PRICES=…), by:"
    )
    frame.end_page(page, {when: command})
    return page


def _open(found: Shortlist, ranking: Ranking, name: str) -> Runs:
    """Who is cheapest in a workload."""
    first = next((one for one in ranking.entries if one.rank), None)
    if first is None:
        return (f"{name}: no machine can be ranked.",)
    choice = found.choices[first.choice - 1]
    cost = f"{_show_cost(found, first)} for a million {ranking.unit}s on the {_name_devices(first)}"
    ties = (
        f"; the intervals do not separate it from {list_letters(first.ties)}" if first.ties else ""
    )
    count = show_things(len(choice.instances), "instance")
    called = Strong(f"{name_letter(first.choice)} {_call(choice)}")
    return f"{name}: ", called, f" ({count}) costs least, {cost}{ties}."


def _tell_others(found: Shortlist) -> Iterable[str]:
    """What is not ranked."""
    unranked = [e.choice for e in found.rankings[0].entries if e.rank is None]
    if unranked:
        why = "for lack of a price, an interval or controls that held"
        yield f"Not ranked: {list_letters(unranked)}, {why}."
    if found.excluded:
        yield f"Excluded: {show_things(len(found.excluded), 'campaign')}; the reasons are below."


def _write_ranking(page: Page, found: Shortlist, ranking: Ranking, name: str) -> None:
    page.heading(name)
    rows: list[Row] = []
    for entry in ranking.entries:
        choice = found.choices[entry.choice - 1]
        money = _show_cost(found, entry)
        cost = money and money.amid(after=f", {_name_devices(entry)}")
        rows.append(
            {
                "machine": _describe(choice, entry),
                "rank": _show_rank(entry),
                f"a million {ranking.unit}s": cost or say_none("it has no price, or no time"),
                "price an hour": _show_price(choice),
                f"{name_rate(ranking.work)}, CPU / GPU": _show_rates(ranking, entry),
                "GPU against CPU": show_ratio(entry),
                f"GPU wins from {ranking.axis or ''}".rstrip(): _show_crossover(entry),
                "sound": _judge(found, choice),
            }
        )
    page.table(f"Table: {name}, the cheapest machine first.", rows)


def _call(choice: Choice) -> str:
    """What a machine is called: its type on these terms, or its processor."""
    if choice.type is None:
        return choice.machine.cpu or "processor not recorded"
    return f"{choice.type}, {choice.offer.terms}" if choice.offer else choice.type


def _describe(choice: Choice, entry: Entry) -> Cell:
    machine = choice.machine
    needed = f" (±5 % needs {max(entry.needed.values())})" if entry.needed else ""
    notes = ("its campaign's label says of which type it is",) if choice.labelled else ()
    parts = [
        f"{name_letter(entry.choice)} {_call(choice)}",
        show_things(len(choice.instances), "instance") + needed,
        f"{machine.cpus_used} vCPUs" if machine.cpus_used else "",
        show_bytes(machine.memory_bytes) if machine.memory_bytes else "",
        ", ".join(machine.gpus) or "no GPU",
    ]
    return Cell("; ".join(filter(None, parts)), notes)


def _show_price(choice: Choice) -> Cell:
    offer = choice.offer
    if offer is None:
        return say_none(f"no price is known for {choice.type or 'a machine without a type'}")
    price = show_money(offer.hourly, offer.currency)
    old = f"of {offer.date.isoformat()}, which is more than {OLD_DAYS} days ago"
    return Cell(price.amid(after=" old"), (old,)) if choice.old else Cell(price)


def _show_rates(ranking: Ranking, entry: Entry) -> Cell:
    shown, notes = [], []
    for device in DEVICES:
        if time := entry.seconds.get(device):
            rate = show_rate(ranking.amount, ranking.work, time.value) or "no rate"
            shown.append(rate.removesuffix(f" {name_rate(ranking.work)}"))
        elif flag := entry.missing.get(device):
            shown.append(NO_NUMBER)
            notes.append(word(flag))
        else:
            shown.append("none")
    return Cell(" / ".join(shown), tuple(notes))


def _show_crossover(entry: Entry) -> str:
    one = entry.crossover
    if one is None:
        return "no pair"
    if one.answer == "crosses" and one.low is not None and one.high is not None:
        between = f"between {show_size(one.low)} and {show_size(one.high)}"
        return between if one.rising else f"only up to {between}"
    words = {"always": "every size", "never": "no size", "equal": "no size: equal"}
    return words.get(one.answer, "?")


def _show_cost(found: Shortlist, entry: Entry) -> Quantity | None:
    """What a million cost; None where it has no price, or no time."""
    offer = found.choices[entry.choice - 1].offer
    return show_money(entry.cost, offer.currency) if offer and entry.cost else None


def _name_devices(entry: Entry) -> str:
    return " or ".join(DEVICES[one] for one in entry.cheapest)


def _judge(found: Shortlist, choice: Choice) -> str:
    """Whether a machine's numbers are sound; what all have is told over the table."""
    common = set.intersection(*(set(name_banners(one.flags)) for one in found.choices))
    doubts = [*(FAILED[code] for code in choice.failed), *name_banners(choice.flags)]
    doubts += [_CAUTIONS[one.code] for one in choice.flags if one.code in _CAUTIONS]
    told = ", ".join(one for one in dict.fromkeys(doubts) if one not in common)
    return f"NO: {told}" if choice.failed else f"yes, but {told}" if told else "yes"


def _show_rank(entry: Entry) -> str:
    if entry.rank is None:
        return "not ranked"
    ties = f" ties with {list_letters(entry.ties)}" if entry.ties else ""
    return f"{entry.rank}{' ★' if entry.best else ''}{ties}"
