"""The sections about what a device could do and what it costs.  Words only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.limits import ANY, PRODUCT, Cost, Limit, Published, Utilization
from suite.flags import pick
from suite.report.text.names import name_cells
from suite.report.text.page import NO_NUMBER, Cell, Column, Page, Row, Strong, say_none, show_known
from suite.report.text.units import show_money, show_rate, show_share, show_times
from suite.report.text.wording import BANDS, word, word_in_cell

_NO_PART = "no figures are known for a device of exactly this name"
_NO_PEAK = "no theoretical peak is known for this"
_NO_FIGURE = "no published figure of a similar size is known"
_NO_NUMBER_HERE = "no number on one of the arms that this needs"
_NO_ROOFLINE = (
    "no roofline: the memory's bandwidth was not measured, or the cell is no square product"
)


LEAST_MONEY = 0.01
"""What a campaign cost is not told more closely."""


def tell_limits(analysis: Analysis) -> Iterable[str]:
    """A sentence for the report's opening: how near the GPU comes to what it is sold for."""
    for one in analysis.limits.limits:
        if one.arm != analysis.gpu or one.what != "products":
            continue
        if one.part is None and one.device is not None:
            yield (
                f"Whether {one.device} is as fast as it should be is unknown: no published figures are known "
                "for it."
            )
            return
        if one.part is not None and one.share_of_peak is not None:
            band = f"; beside published figures: {BANDS[one.band]}" if one.band else ""
            yield (
                f"{one.arm} ({one.part.name}) reaches {_show_rate(one)} at {one.precision}: "
                f"{show_share(one.share_of_peak)} of its theoretical peak{band}."
            )
            return


def tell_hardware(analysis: Analysis) -> Iterable[str]:
    """What there is to say of the GPUs, but for what is said of an unsound machine already."""
    unsound = {(one.code, one.where.get("arm")) for one in analysis.flags if one.scope == "machine"}
    for one in analysis.hardware:
        if (one.code, one.where["arm"]) not in unsound:
            yield f"{word(one)}."


def tell_impossible(analysis: Analysis) -> list[str]:
    """How many numbers can't be right, before a word of who wins."""
    impossible = pick(analysis.limits.flags, "invalid")
    if not impossible:
        return []
    count = len(impossible)
    many = "one number is" if count == 1 else f"{count} numbers are"
    first = "" if count == 1 else "; the first"
    what = (
        f"NOT PLAUSIBLE: {many} better than the hardware can do, and left out of every comparison"
    )
    return [f"{what}{first}: {word_in_cell(impossible[0])}."]


def tell_cost(analysis: Analysis) -> str:
    """What the cheapest million examples cost, and what the campaign did."""
    price = analysis.price
    if price is None:
        return "What it cost is unknown: no PRICE was given."
    hourly = show_money(price.hourly, price.currency)
    spent = price.hourly * analysis.campaign.prediction.actual_s / 3600
    least = f"under {price.currency} {LEAST_MONEY}"
    cost = show_money(spent, price.currency) if spent >= LEAST_MONEY else least
    told = f"At {hourly} an hour"
    if spent:
        told += f" it cost {cost}"
    found = [
        (estimate.value, arm, one)
        for one in analysis.costs
        for arm, estimate in one.examples.items()
    ]
    if not found:
        return f"{told}."
    _, _, best = min(found, key=lambda one: one[:2])
    examples = sorted(best.examples.items(), key=lambda pair: pair[1].value)
    each = ", ".join(f"{show_money(one, price.currency)} on {arm}" for arm, one in examples)
    name = name_cells(analysis.cells)[best.cell]
    return f"{told}; a million examples cost least at {name}: {each}."


def write_limit_flags(page: Page, analysis: Analysis) -> None:
    """What the limits say against believing the numbers, or the machine."""
    flags = analysis.limits.flags
    impossible = (
        ("More than the hardware can do", word_in_cell(one)) for one in pick(flags, "invalid")
    )
    slow = (("Far below what others measured", word(one)) for one in pick(flags, "caution"))
    page.bullets((Strong(f"{what}."), f" {why}.") for what, why in (*impossible, *slow))


def write_limits(page: Page, analysis: Analysis) -> None:
    """The section "Hardware limits"; absent where no product and no sum has a number."""
    limits = analysis.limits
    if not limits.limits:
        return
    page.heading("Hardware limits")
    page.paragraph(
        "Published figures are bands: stacks, power limits and versions differ. In band is from "
        "15 % under to 10 % over a figure of the same precision and similar size; under 60 % needs "
        "explaining; above the theoretical peak the number is wrong."
    )
    if limits.unknown:
        names = ", ".join(one or "an unnamed device" for one in limits.unknown)
        page.paragraph(f"No published figures are known for {names}; parts match by exact name.")
    names_of = name_cells(analysis.cells)
    page.table(
        "Table: the best that each arm reached, beside what is published for its device.",
        [_list_limit(one, names_of) for one in limits.limits],
    )
    products = {one.id for one in analysis.cells if one.kind == PRODUCT and not one.staged}
    uses = [one for one in limits.uses if one.cell in products]
    if uses:
        _write_utilizations(page, uses, names_of)


def write_costs(page: Page, analysis: Analysis) -> None:
    """The section "Cost"; absent where no price was given."""
    price = analysis.price
    if price is None or not analysis.costs:
        return
    currency = price.currency
    page.heading("Cost")
    page.paragraph(
        f"At {show_money(price.hourly, currency)} an hour for this machine, whichever "
        "arm runs on it. The GPU is cheaper as long as a machine with it costs less than the break-even "
        "price ratio times what a machine with this CPU alone costs."
    )
    names = name_cells(analysis.cells)
    arms = list(dict.fromkeys(arm for one in analysis.costs for arm in one.steps))
    page.table(
        "Table: what a million steps and a million examples cost, and its 95 % CI.",
        [_list_cost(one, arms, names, currency) for one in analysis.costs],
    )


def _list_limit(one: Limit, names: Mapping[str, str]) -> Row:
    unknown = _NO_PART if one.part is None else None
    compared = "; ".join(map(_word_comparison, one.comparisons))
    return {
        "arm": one.arm,
        "device": one.device or "without a name",
        "what": "memory" if one.precision == ANY else f"{one.precision} {one.what}",
        "best": _show_rate(one),
        "at": names[one.cell],
        "of peak": show_known(one.share_of_peak, show_share, unknown or _NO_PEAK),
        "published": compared or say_none(unknown or _NO_FIGURE),
    }


def _word_comparison(one: Published) -> str:
    figure = one.figure
    unit = figure.unit.partition("/")[0]
    low, high = (show_rate(value, unit, 1.0) for value in (figure.low, figure.high))
    value = low if low == high else f"{low} to {high}"
    caveat = f"; {figure.caveat}" if figure.caveat else ""
    share = show_share(one.share)
    return f"{BANDS[one.band]}, {share} of {value} ({figure.source}, {figure.date}{caveat})"


def _write_utilizations(page: Page, uses: list[Utilization], names: Mapping[str, str]) -> None:
    """How much of each arm's own best a product reaches, and of its roofline where one is known."""
    cells = list(dict.fromkeys(one.cell for one in uses))
    columns: list[Column] = [("cell", [names[cell] for cell in cells])]
    for arm in dict.fromkeys(one.arm for one in uses):
        found = {one.cell: one for one in uses if one.arm == arm}
        there = [found.get(cell) for cell in cells]
        shares = [one.share if one else None for one in there]
        shown = [show_known(one, show_share, _NO_NUMBER_HERE) for one in shares]
        columns.append((f"{arm}, of its best", shown))
        if any(one.share_of_roof is not None for one in found.values()):
            roofs = [one.share_of_roof if one else None for one in there]
            shown = [show_known(one, show_share, _NO_ROOFLINE) for one in roofs]
            columns.append((f"{arm}, of the roofline", shown))
    page.columns(
        "Table: the share that each product reaches of its arm's best rate at its precision and, where "
        "the memory's bandwidth was measured, of the roofline that it sets.",
        columns,
    )


def _list_cost(one: Cost, arms: list[str], names: Mapping[str, str], currency: str) -> Row:
    none = say_none(_NO_NUMBER_HERE)
    row: dict[str, str | Cell] = {"cell": names[one.cell]}
    for arm in arms:
        for what, by_arm in (("steps", one.steps), ("examples", one.examples)):
            found = by_arm.get(arm)
            row[f"{arm}, a million {what}"] = show_money(found, currency) if found else none
    if len(arms) > 1:
        row["break-even price ratio"] = show_times(one.turns) if one.turns else none
    return row


def _show_rate(one: Limit) -> str:
    return show_rate(one.rate.value, one.unit, 1.0) or NO_NUMBER
