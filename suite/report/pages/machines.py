"""The report over several campaigns with machines as rows: a table a workload, and the facts behind the rows.

No clock, no network, no facts of this machine: the same campaigns give the same bytes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import FEWEST, Estimate, derive_rate
from suite.analysis.result.several import OLD_DAYS, Choice, Device, Entry, Ranking, Unpriced, Versus
from suite.report.pages import page_parts
from suite.report.pictures.picture import Mark, Picture, Point, Scatter
from suite.report.sections.environment import SOMEWHERE, show_facts
from suite.report.text.names import list_shared, name_cells
from suite.report.text.page import NO_NUMBER, Cell, Page, Row, Runs, Strong, say_none
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    Quantity,
    name_rate,
    show_bytes,
    show_money,
    show_rate,
    show_relative,
    show_seconds,
    show_size,
    show_things,
)
from suite.report.text.wording import name_banners, word

DEVICES: Mapping[Device, str] = {"cpu": "CPU", "gpu": "GPU"}

_CAUTIONS: Mapping[str, str] = {"far-below-published": "far below published figures"}

_EXPLAINED: Mapping[Unpriced, str] = {
    "types": "the campaigns of a machine contradict each other about its type",
    "contradiction": "the campaigns of a machine contradict each other about its price",
    "currency": "a campaign's own PRICE is in another currency than those of PRICES, and does not count",
}
"""Why a machine has no price though there is one."""

_SCALES: Mapping[float, str] = {1e6: "a million", 1e9: "a billion", 1e12: "a trillion"}
"""How much work an amount of money is for: one scale a table, so that people can read every row."""

_CENT = 0.01

_MOST_LINES = 24
"""More lines in a picture hide what they join."""

Tie = tuple[str, str]
"""Two machines by their letters."""

_RULES = (
    Strong("rank"),
    (
        ": one more than the number of machines that cost less beyond doubt (without any price: that are "
        "faster); those that the intervals do not separate are ties. ★: no other machine is cheaper beyond "
        "doubt and as fast, within the margin. Beyond doubt is a difference with p under 0.05 by Welch's t "
        "test, adjusted by Holm for all pairs of the table, and of more than the margin: 2 %, or the "
        "campaigns' noise floors. Machines were not measured in the same blocks: ratios between them are not "
        "interleaved, and their intervals do not cover drift. Every interval is a 95 % CI."
    ),
)

_OWN = re.compile(r"(_s|bytes|machine\.(id|type)|uuid|pci|containers?)$|^outside\.sampler")
"""Facts that differ between any two machines, and explain nothing."""


def compose_machines(
    versus: Versus, analyses: Sequence[Analysis], pictures: Sequence[Picture] = ()
) -> Page:
    """The page, in no format yet."""
    by_id = {analysis.campaign.id: analysis for analysis in reversed(analyses)}
    used = [
        by_id[name] for choice in versus.choices for group in choice.instances for name in group
    ]
    cells = {cell.id: cell for analysis in analyses for cell in analysis.cells}
    among = [cells[ranking.cell] for ranking in versus.rankings]
    names, shared = name_cells(among), list_shared(among)
    count = len({choice.instances for choice in versus.choices})
    page = page_parts.begin_page(
        f"{show_things(count, 'machine')} by what work costs",
        versus,
        [flag for analysis in used or analyses for flag in analysis.flags],
        ["What work costs, or takes, on each machine, by its faster device; workload by workload:"]
        if used
        else ["No machine is left to compare: all campaigns are excluded."],
    )
    rankings = versus.rankings if used else ()
    openings = (_open(versus, ranking, names[ranking.cell]) for ranking in rankings)
    page.bullets([*openings, *_describe_wins(versus), *_describe_unranked(versus)])
    if shared and used:
        page.paragraph(f"The same in all workloads: {'; '.join(shared.values())}.")
    for ranking in rankings:
        _write_ranking(page, versus, ranking, names[ranking.cell])
    if used:
        page.paragraph(*_RULES)
    for picture in pictures:
        page.figure(picture.name, alt=picture.alt, caption=picture.caption)
    if used:
        _write_instances(page, versus)
        _write_differences(page, versus, by_id)
    page.bullets(
        f"Number {flag.where['run']}, {flag.where['campaign']}, is excluded: {word(flag)}."
        for flag in versus.excluded
    )
    folders = " ".join(f"{SOMEWHERE}/{analysis.campaign.folder}" for analysis in analyses)
    workload = f" CELL={shlex.quote(versus.workload)}" if versus.workload else ""
    prices = f" PRICES={SOMEWHERE}/prices.toml" if versus.listed else ""
    sources = "the campaigns' documents" + (
        " and the file of prices" if versus.listed else " alone"
    )
    old = (
        f", with prices as old as on {versus.asked}" if any(c.offer for c in versus.choices) else ""
    )
    when = f"From {sources}{old}, by:"
    command = f'make compare RUN="{folders}" ROWS={versus.rows}{workload}{prices}'
    page_parts.end_page(page, {when: command})
    return page


def depict_machines(versus: Versus) -> list[Picture]:
    """What machines cost against what they reach, by workload; what they reach where none has a
    price; nothing of a single one."""
    return [
        picture
        for number, ranking in enumerate(versus.rankings, start=1)
        if (picture := _depict(versus, ranking, number)) is not None
    ]


def _depict(versus: Versus, ranking: Ranking, number: int) -> Picture | None:
    scale, amount = find_scale(ranking)
    points: dict[str, Point] = {}
    for entry in ranking.entries:
        choice = versus.choices[entry.choice - 1]
        struck = bool(choice.failed)
        rate, cost = _mark_rate(ranking, entry, struck=struck), _scale_cost(entry, scale)
        if rate is None or (ranking.priced and cost is None):
            continue
        up = Mark(value=cost.value, low=cost.low, high=cost.high, struck=struck) if cost else None
        letter = name_letter(entry.choice)
        points[letter] = Point(name=_call(choice), across=rate, up=up, best=entry.best)
    if len(points) < 2:
        return None
    pairs = [(entry.choice, tie) for entry in ranking.entries for tie in entry.ties]
    ties = [(name_letter(first), name_letter(second)) for first, second in pairs if first < second]
    best_ties = [pair for pair in ties if all(points[letter].best for letter in pair)]
    drawn = next((of for of in (ties, best_ties) if len(of) <= _MOST_LINES), [])
    currency = next((choice.offer.currency for choice in versus.choices if choice.offer), "")
    banners = name_banners([flag for choice in versus.choices for flag in choice.flags])
    title = f"{ranking.cell}: {'cost against rate' if ranking.priced else 'rate'}"
    return Picture(
        name=f"compare-{number}",
        title=title,
        caption=" ".join(_explain_picture(ranking, points, drawn, ties)),
        tables=(ranking.cell,),
        arms=(),
        banner=" · ".join(banners),
        content=Scatter(
            points=points,
            ties=tuple(drawn),
            across=name_rate(ranking.work),
            up=f"{currency} for {amount} {ranking.unit}s" if ranking.priced else "",
        ),
    )


def _mark_rate(ranking: Ranking, entry: Entry, *, struck: bool) -> Mark | None:
    """The rate on the faster device; None where it has no time there, or there is no work to count."""
    time = entry.fastest
    value, low, high = (
        end and derive_rate(ranking.amount, end)
        for end in ((time.value, time.high, time.low) if time else (None, None, None))
    )
    return Mark(value=value, low=low, high=high, struck=struck) if value else None


def _explain_picture(
    ranking: Ranking, points: Mapping[str, Point], drawn: Sequence[Tie], ties: Sequence[Tie]
) -> Iterable[str]:
    """How to read a picture of machines, of whose ties these are drawn: only what is in it."""
    what = "cost" if ranking.priced else "rate"
    ranked = [name_letter(entry.choice) for entry in ranking.entries if entry.rank]
    unranked = [letter for letter in points if letter not in ranked]
    letters = [name_letter(entry.choice) for entry in ranking.entries]
    there = {
        f"marks-{what}": True,
        "intervals": any(point.across.low is not None for point in points.values()),
        f"best-{what}": any(point.best for point in points.values()),
        "ties": bool(drawn),
        "differ": bool(drawn) and len(drawn) == len(ties),
        "best-ties": bool(drawn) and len(drawn) < len(ties),
        "crowded": len(ties) > 0 and not drawn,
        "no-ties": len(ranked) > 1 and not ties,
        "unranked": bool(unranked),
        "struck": any(point.across.struck for point in points.values()),
        "undrawn": len(points) < len(letters),
    }
    values = {
        "what": what,
        "unranked": ", ".join(unranked),
        "undrawn": ", ".join(letter for letter in letters if letter not in points),
        "lacking": "a price or a time" if ranking.priced else "a time",
    }
    return (
        TEXTS["machines"][name].format(**values) for name, is_there in there.items() if is_there
    )


def find_scale(ranking: Ranking) -> tuple[float, str]:
    """For how much work money is told in a table: enough for the cheapest ranked row to cost a cent."""
    ranked = [entry for entry in ranking.entries if entry.rank] or ranking.entries
    costs = [entry.cost.value for entry in ranked if entry.cost]
    least = min(costs, default=1.0)
    enough = (scale for scale in _SCALES if least * scale / 1e6 >= _CENT)
    scale = next(enough, max(_SCALES))
    return scale, _SCALES[scale]


def _scale_cost(entry: Entry, scale: float) -> Estimate | None:
    cost = entry.cost
    if cost is None:
        return None
    ends = [end if end is None else end * scale / 1e6 for end in (cost.value, cost.low, cost.high)]
    return Estimate(value=ends[0] or cost.value, low=ends[1], high=ends[2], n=cost.n)


def _open(versus: Versus, ranking: Ranking, name: str) -> Runs:
    """Who is cheapest in a workload; without any price, fastest."""
    first = next((entry for entry in ranking.entries if entry.rank), None)
    if first is None:
        return (f"{name}: no machine can be ranked.",)
    choice = versus.choices[first.choice - 1]
    scale, amount = find_scale(ranking)
    ties = (
        f"; the intervals do not separate it from {list_letters(first.ties)}" if first.ties else ""
    )
    count = show_things(len(choice.instances), "instance")
    called = Strong(f"{name_letter(first.choice)} {_call(choice)}")
    time = first.fastest
    if ranking.priced:
        cost = f"{_show_cost(versus, first, scale)} for {amount} {ranking.unit}s"
        old = (
            f", at a price of {choice.offer.date}, over {OLD_DAYS} days old,"
            if choice.offer and choice.old
            else ""
        )
        sentence = f" ({count}) costs least, {cost}{old} on the {_name_devices(first)}{ties}."
    else:
        took = show_seconds(time) if time else NO_NUMBER
        why = [_EXPLAINED[row.unpriced] for row in versus.choices if row.unpriced]
        none = "; ".join(dict.fromkeys(["no machine has a price", *why]))
        sentence = f" ({count}) is fastest, {took} for one {ranking.unit}{ties}; {none}."
    return f"{name}: ", called, sentence


def _describe_wins(versus: Versus) -> Iterable[Runs]:
    """In how many of the workloads each machine beats the baseline, which is no baseline without a rank."""
    groups: dict[tuple[int, int, int], list[int]] = {}
    for number, choice in enumerate(versus.choices, start=1):
        counts = len(choice.wins), len(choice.losses), len(choice.ties)
        if any(counts):
            groups.setdefault(counts, []).append(number)
    if versus.baseline is None or not groups:
        return
    priced = any(ranking.priced for ranking in versus.rankings)
    words = ("cheaper", "costlier") if priced else ("faster", "slower")
    said = [
        ", ".join(f"{what} in {n}" for what, n in zip((*words, "a tie"), counts, strict=True) if n)
        + f": {list_letters(numbers)}"
        for counts, numbers in sorted(groups.items(), key=lambda group: (-group[0][0], group[0][1]))
    ]
    base = versus.choices[versus.baseline - 1]
    first = versus.campaigns[0].id in {name for group in base.instances for name in group}
    which = "the first named" if first else "the first named that is not excluded"
    name = f"{name_letter(versus.baseline)} {_call(base)}"
    workloads = show_things(len(versus.rankings), "workload")
    yield "Against ", Strong(name), f", {which}, in {workloads}: {'; '.join(said)}."


def _describe_unranked(versus: Versus) -> Iterable[str | Runs]:
    unranked = [e.choice for e in versus.rankings[0].entries if e.rank is None]
    if unranked:
        why = "for lack of a price, an interval or controls that held"
        yield f"Not ranked: {list_letters(unranked)}, {why}."
    if versus.excluded:
        yield f"Excluded: {show_things(len(versus.excluded), 'campaign')}; the reasons are below."


def _write_ranking(page: Page, versus: Versus, ranking: Ranking, name: str) -> None:
    page.heading(name)
    scale, amount = find_scale(ranking)
    head, priced = f"{amount} {ranking.unit}s", ranking.priced
    none = say_none("it has no price, or no time")
    rows: list[Row] = []
    for entry in ranking.entries:
        choice = versus.choices[entry.choice - 1]
        money = _show_cost(versus, entry, scale)
        cost = money and money.amid(after=f", {_name_devices(entry)}")
        rows.append(
            {
                "machine": _describe(choice, entry),
                "rank": _show_rank(entry),
                **({head: cost or none, "price an hour": _show_price(choice)} if priced else {}),
                f"{name_rate(ranking.work)}, CPU / GPU": _show_rates(ranking, entry),
                "GPU against CPU": _show_ratio(entry),
                f"GPU wins from {ranking.axis or ''}".rstrip(): _show_crossover(entry),
                "sound": _judge(versus, choice),
            }
        )
    order = "cheapest" if ranking.priced else "fastest"
    page.table(f"Table: {name}, the {order} machine first.", rows)


def _call(choice: Choice) -> str:
    """What a machine is called: its type on these terms, or its processor."""
    if not choice.types:
        return choice.machine.cpu or "processor not recorded"
    name = " or ".join(choice.types)
    return f"{name}, {choice.offer.terms}" if choice.offer else name


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
        if choice.unpriced:
            return say_none(_EXPLAINED[choice.unpriced])
        name = " or ".join(choice.types) or "a machine without a type"
        return say_none(f"no price is known for {name}")
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


def _show_ratio(entry: Entry) -> Cell:
    """The GPU against the CPU, in words."""
    ratio = entry.ratio
    if ratio is None:
        return say_none("CPU and GPU do not both have a time")
    low, high = ratio.low, ratio.high
    unsure = " ?" if low is None or high is None or low <= 1 <= high else ""
    return Cell(show_relative(ratio).amid(after=unsure))


def _show_crossover(entry: Entry) -> str:
    crossover = entry.crossover
    if crossover is None:
        return "no pair"
    if crossover.answer == "crosses" and crossover.low is not None and crossover.high is not None:
        between = f"between {show_size(crossover.low)} and {show_size(crossover.high)}"
        return between if crossover.rising else f"only up to {between}"
    words = {"always": "every size", "never": "no size", "equal": "no size: equal"}
    return words.get(crossover.answer, "?")


def _show_cost(versus: Versus, entry: Entry, scale: float) -> Quantity | None:
    """What so much work costs; None where it has no price, or no time."""
    offer, cost = versus.choices[entry.choice - 1].offer, _scale_cost(entry, scale)
    return show_money(cost, offer.currency) if offer and cost else None


def _name_devices(entry: Entry) -> str:
    return " or ".join(DEVICES[device] for device in entry.cheapest)


def _judge(versus: Versus, choice: Choice) -> str:
    """Whether a machine's numbers are sound; what all have is told over the table."""
    common = set.intersection(*(set(name_banners(choice.flags)) for choice in versus.choices))
    doubts = [*(page_parts.FAILED[code] for code in choice.failed), *name_banners(choice.flags)]
    doubts += [_CAUTIONS[flag.code] for flag in choice.flags if flag.code in _CAUTIONS]
    doubtful = ", ".join(doubt for doubt in dict.fromkeys(doubts) if doubt not in common)
    return f"NO: {doubtful}" if choice.failed else f"yes, but {doubtful}" if doubtful else "yes"


def _show_rank(entry: Entry) -> str:
    if entry.rank is None:
        return "not ranked"
    ties = f" ties with {list_letters(entry.ties)}" if entry.ties else ""
    return f"{entry.rank}{' ★' if entry.best else ''}{ties}"


def _write_instances(page: Page, versus: Versus) -> None:
    """How many instances stand behind each row, and who says its price."""
    page.heading("What stands behind the rows")
    page.paragraph(
        f"A row is about one instance, unless it says that {FEWEST} or more of a type were measured: then "
        "the instance is the unit, and the interval holds what instances differ by. Instances are told "
        "apart by hashes of machine and GPU in the documents; several campaigns of one count together. "
        "“±5 % needs” says with how many instances in all the 95 % intervals of a type's times and ratio "
        "would reach 5 % to either side, by the spread between those that were measured. It is a guide: "
        "three instances tell that spread to within a factor of 0.5 to 6."
    )
    rows = []
    for number, choice in enumerate(versus.choices, start=1):
        offer = choice.offer
        unit = show_things(len(choice.instances), "instance")
        rows.append(
            {
                "machine": name_letter(number),
                "instances": unit if choice.known else f"{unit}, of an unknown machine",
                "campaigns": "; ".join(" + ".join(group) for group in choice.instances),
                "price by": f"{offer.source}, {offer.date.isoformat()}" if offer else "nobody",
            }
        )
    page.table("Table: instances, campaigns and prices.", rows)
    merged = dict.fromkeys(g for choice in versus.choices for g in choice.instances if len(g) > 1)
    page.bullets(f"{' and '.join(g)} are of one instance, and count as one." for g in merged)


def _write_differences(page: Page, versus: Versus, by_id: Mapping[str, Analysis]) -> None:
    """The facts that are not the same on all machines; whatever differs may be the cause."""
    page.heading("What differs between the machines")
    facts: dict[str, dict[str, list[str]]] = {}
    for number, choice in enumerate(versus.choices, start=1):
        values_by_fact: dict[str, dict[str, None]] = {}
        for analysis in (by_id[name] for group in choice.instances for name in group):
            # Of what both arms tell, the CPU's: an image for a GPU differs from it everywhere alike.
            arms = [analysis.arms[arm] for arm in (analysis.gpu, analysis.cpu) if arm]
            for name, value in dict(chain(*(show_facts(arm).items() for arm in arms))).items():
                values_by_fact.setdefault(name, {})[value] = None
        for name, values in values_by_fact.items():
            letters = facts.setdefault(name, {}).setdefault(" or ".join(values), [])
            letters.append(name_letter(number))
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


def name_letter(number: int) -> str:
    """What a machine is called by in tables: A, B, …, Z, A1, …."""
    turn, place = divmod(number - 1, 26)
    return f"{chr(ord('A') + place)}{turn or ''}"


def list_letters(numbers: Iterable[int]) -> str:
    """Several of these."""
    return ", ".join(map(name_letter, numbers))
