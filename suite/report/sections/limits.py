"""The sections about what a device could do and what it costs.  Words only."""

from __future__ import annotations

from collections.abc import Iterable

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import Finding, Tag
from suite.analysis.result.limits import PRODUCT
from suite.analysis.result.numbers import Verdict
from suite.flags import Flag, pick
from suite.report.text.evidence import word_evidence
from suite.report.text.findings import (
    Columns,
    format_number,
    format_share,
    show_number,
    write_findings,
)
from suite.report.text.names import name_cells
from suite.report.text.page import Cell, Page, Strong, say_none
from suite.report.text.texts import TEXTS
from suite.report.text.units import show_money, show_times
from suite.report.text.wording import word, word_in_cell

_BANDS, _NONE = TEXTS["bands"], TEXTS["no-figure"]

LEAST_MONEY = 0.01
"""What a campaign cost is not told more closely."""


def describe_limits(analysis: Analysis) -> Iterable[str]:
    """A sentence for the report's opening: how near the GPU comes to what it is sold for."""
    for best in analysis.find("best", arm=analysis.gpu or ""):
        device, part = (_read_device(best, name) for name in ("device", "part"))
        if best.of == "memory" or (part and best.share is None) or not (part or device):
            continue
        if not part:
            yield (
                f"Whether {device} is as fast as it should be is unknown: no published figures are known "
                "for it."
            )
            return
        band = f"; beside published figures: {_BANDS[best.verdict]}" if best.verdict else ""
        yield (
            f"{best.arm} ({part}) reaches {format_number(best)} at {best.of.partition(' ')[0]}: "
            f"{format_share(best)} of its theoretical peak{band}."
        )
        return


ASK = (
    *("type-differs", "link-below-type", "below-expected"),
    *("errors-corrected", "memory-replaced", "link-replays", "xid"),
)
"""The codes of what is not as it should be on such a machine, or befell its GPU: told before any answer."""

CAUSES = ("power-limited", "clock-low")
"""The codes of what makes a GPU slower than it need be: told with rates below what is expected."""


def describe_shortfalls(analysis: Analysis) -> Iterable[str]:
    """What the machine lacks of what such a one should give, and what befell its GPU meanwhile."""
    return (f"{word(flag)}." for flag in analysis.hardware if _is_shortfall(analysis, flag))


def _is_shortfall(analysis: Analysis, flag: Flag) -> bool:
    below = any(
        other.where == flag.where and other.code == "below-expected" for other in analysis.hardware
    )
    return flag.code in ASK or (below and flag.code in CAUSES)


def describe_hardware(analysis: Analysis) -> Iterable[str]:
    """What there is to say of the GPUs, but for what is said already: of an unsound machine, and what it
    lacks."""
    unsound = {
        (flag.code, flag.where.get("arm")) for flag in analysis.flags if flag.scope == "machine"
    }
    for flag in analysis.hardware:
        told = (flag.code, flag.where["arm"]) in unsound or _is_shortfall(analysis, flag)
        if not told:
            yield f"{word(flag)}."


def describe_impossible(analysis: Analysis) -> list[str]:
    """How many numbers can't be right, before a word of who wins."""
    impossible = pick(analysis.limits, "invalid")
    if not impossible:
        return []
    count = len(impossible)
    many = "one number is" if count == 1 else f"{count} numbers are"
    what = "better than the hardware can do, and left out of every comparison"
    first = "" if count == 1 else "; the first"
    return [f"NOT PLAUSIBLE: {many} {what}{first}: {word_in_cell(impossible[0])}."]


def describe_cost(analysis: Analysis) -> str:
    """What the cheapest million examples cost, and what the campaign did."""
    price = analysis.price
    if price is None:
        return "What it cost is unknown: no PRICE was given."
    spent = price.hourly * analysis.campaign.prediction.actual_s / 3600
    least = f"under {price.currency} {LEAST_MONEY}"
    cost = show_money(spent, price.currency) if spent >= LEAST_MONEY else least
    text = (
        f"At {show_money(price.hourly, price.currency)} an hour for the machine, whichever arm runs"
    )
    if spent:
        text += f", the campaign cost {cost}"
    costs = analysis.find("cost", of="examples")
    if not costs:
        return f"{text}."
    # Of equal ones the arm that comes first in the alphabet.
    cheapest = min(costs, key=lambda cost: (cost.number.value, cost.arm))
    there = [cost for cost in costs if cost.cell == cheapest.cell]
    each = ", ".join(
        f"{format_number(cost)} on {cost.arm}"
        for cost in sorted(there, key=lambda cost: cost.number.value)
    )
    name = name_cells(analysis.cells)[cheapest.cell]
    text += f"; a million examples cost least at {name}: {each}."
    turns = analysis.find("price-ratio", cell=cheapest.cell)
    cell = next(cell for cell in analysis.cells if cell.id == cheapest.cell)
    judged = any(isinstance(v, Verdict) and v.names_winner for v in cell.verdicts.values())
    if turns and judged:
        text += (
            f" There a machine with the GPU may cost up to {show_times(turns[0].number)} times as much as "
            "one with the CPU alone."
        )
    return text


def write_limit_flags(page: Page, analysis: Analysis) -> None:
    """What the limits say against believing the numbers, or the machine."""
    impossible, slow = pick(analysis.limits, "invalid"), pick(analysis.limits, "caution")
    more, below = (
        Strong("More than the hardware can do."),
        Strong("Far below what others measured."),
    )
    page.bullets(
        [
            *((more, f" {word_in_cell(flag)}.") for flag in impossible),
            *((below, f" {word(flag)}.") for flag in slow),
        ]
    )


def write_limits(page: Page, analysis: Analysis) -> None:
    """The section "Hardware limits"; absent where no product and no sum has a number."""
    expected = analysis.find("expected")
    if not expected:
        return
    page.heading("Hardware limits")
    page.paragraph(TEXTS["about"]["limits"])
    page.bullets([f"{_describe_place(analysis, arm)}." for arm in {row.arm: 0 for row in expected}])
    names = name_cells(analysis.cells)
    columns: Columns = {
        "arm": lambda row: row[0].arm,
        "what": lambda row: row[0].of,
        "measured": lambda row: format_number(row[0]),
        "at": lambda row: names[row[0].cell],
        "of peak": _show_share_of_peak,
        "expected here": _show_expected,
        "share": lambda row: (
            say_none(_tell_unknown(row)) if row[0].share is None else format_share(row[0])
        ),
        "judged": lambda row: (
            TEXTS["judged"][row[0].verdict]
            if row[0].verdict
            else Cell("unknown", (_tell_unknown(row),))
        ),
    }
    write_findings(
        page,
        TEXTS["captions"]["best"],
        [*expected, *analysis.find("best"), *analysis.find("published")],
        columns,
        by=lambda row: (row.arm, row.of),
    )


def _describe_place(analysis: Analysis, arm: str) -> str:
    """What an arm's numbers were made on: the device, the part whose figures are its own, and the type."""
    best = next(iter(analysis.find("best", arm=arm)), None)
    device, part = (_read_device(best, name) if best else "" for name in ("device", "part"))
    known = f"its figures are those of the {part}" if part else _NONE["part"]
    text = f"{arm}: {device or 'an unnamed device'}; {known}"
    if not any(row.arm == arm and row.of.startswith("copy") for row in analysis.find("expected")):
        return text
    facts = analysis.arms[arm].facts
    kind, stated = (
        facts.get(f"engine.machine.{name}", (None,))[0] for name in ("type", "type_stated")
    )
    if kind is None:
        return f"{text}; the type of the machine is not known (TYPE says it)"
    return f"{text}; the machine is a {kind}, as {'TYPE' if stated else 'its cloud'} says"


def _find(row: list[Finding], tag: Tag) -> list[Finding]:
    return [finding for finding in row if finding.tag == tag]


def _show_share_of_peak(row: list[Finding]) -> str | Cell:
    best = _find(row, "best")
    if best and best[0].share is not None:
        return format_share(best[0])
    return say_none(_NONE["peak" if not best or _read_device(best[0], "part") else "part"])


def _show_expected(row: list[Finding]) -> str | Cell:
    """The figures' ends and their sources; each figure, and how near it was, in a footnote."""
    if not row[0].evidence:
        return say_none(_tell_unknown(row))
    each = (
        f"{_BANDS[finding.verdict]}, {format_share(finding)} of {word_evidence(*finding.evidence)}"
        for finding in _find(row, "published")
    )
    return Cell(word_evidence(row[0].evidence[0]), tuple(filter(None, ("; ".join(each),))))


def _tell_unknown(row: list[Finding]) -> str:
    """Why it can't be told whether a rate is what it should be."""
    best = _find(row, "best")
    if row[0].evidence:
        return word_evidence(*row[0].evidence[1:])
    return _NONE["published" if not best or _read_device(best[0], "part") else "part"]


def write_uses(page: Page, analysis: Analysis) -> None:
    """The appendix's part on how much of its arm's best a product reaches, and of its roofline where one is
    known; without what is 0.0 % on every arm."""
    names = name_cells(analysis.cells)
    products = {cell.id for cell in analysis.cells if cell.kind == PRODUCT and not cell.staged}
    products &= {use.cell for use in analysis.find("use") if round(use.share or 0.0, 3)}
    uses = [use for use in analysis.find("use") if use.cell in products]
    roofs = [roof for roof in analysis.find("of-roofline") if roof.cell in products]
    if not uses:
        return
    page.heading("Shares of the best rate", level=3)
    columns: Columns = {"cell": lambda row: names[row[0].cell]}
    for arm in dict.fromkeys(use.arm for use in uses):
        own = show_number("use", arm=arm, missing=_NONE["number"])
        columns |= {f"{arm}, of its best": own}
        if any(roof.arm == arm for roof in roofs):
            roof = show_number("of-roofline", arm=arm, missing=_NONE["roofline"])
            columns |= {f"{arm}, of the roofline": roof}
    write_findings(
        page,
        TEXTS["captions"]["uses"],
        [*uses, *roofs],
        columns,
        by=lambda use: use.cell,
    )


def write_costs(page: Page, analysis: Analysis) -> None:
    """The section "Cost"; absent where no price was given."""
    price, costs = analysis.price, analysis.find("cost")
    if price is None or not costs:
        return
    page.heading("Cost")
    hourly = show_money(price.hourly, price.currency)
    page.paragraph(TEXTS["about"]["cost"].format(price=hourly))
    names = name_cells(analysis.cells)
    arms = list(dict.fromkeys(cost.arm for cost in costs if cost.of == "steps"))
    columns: Columns = {"cell": lambda row: names[row[0].cell]}
    for arm in arms:
        number = show_number("cost", of="examples", arm=arm, missing=_NONE["number"])
        columns |= {f"{arm}, a million examples": number}
    if len(arms) > 1:
        columns["break-even price ratio"] = show_number("price-ratio", missing=_NONE["number"])
    write_findings(
        page,
        TEXTS["captions"]["costs"],
        [*costs, *analysis.find("price-ratio")],
        columns,
        by=lambda cost: cost.cell,
    )


def write_step_costs(page: Page, analysis: Analysis) -> None:
    """The appendix's part on what a million steps cost; absent where no price was given."""
    costs = analysis.find("cost", of="steps")
    if not costs:
        return
    page.heading("Cost of steps", level=3)
    names = name_cells(analysis.cells)
    columns: Columns = {"cell": lambda row: names[row[0].cell]}
    for arm in dict.fromkeys(cost.arm for cost in costs):
        number = show_number("cost", arm=arm, missing=_NONE["number"])
        columns |= {f"{arm}, a million steps": number}
    caption = TEXTS["captions"]["step-costs"]
    write_findings(page, caption, costs, columns, by=lambda cost: cost.cell)


def _read_device(best: Finding, name: str) -> str:
    """What the documents call the device of a best rate (``device``), or the published figures (``part``)."""
    return str(best.evidence[0].values.get(name, ""))
