"""The gate: is a campaign slower than another, in Markdown for a pull request."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Sequence

from suite.analysis.result.numbers import LEVEL
from suite.analysis.result.several import Gate, Gated
from suite.report.pages import frame
from suite.report.text.page import Page, Strong
from suite.report.text.units import end_sentence, show_relative, show_share, show_things
from suite.report.text.wording import word


def compose_gate(gate: Gate) -> Page:
    """The answer, in no format yet."""
    slower, undecided = gate.pick("slower"), gate.pick("undecided")
    bound = f"{100 * gate.bound:g} %"
    cells = show_things(len(gate.cells), "comparison")
    counted = (
        f"{gate.new.id} against {gate.base.id}: of {cells} of cells of work, "
        f"{len(slower)} are shown to be slower by over {bound}, {len(gate.pick('passed'))} are shown not to "
        f"be, and {len(undecided)} are undecided."
    )
    rule = (
        f"Shown to be slower: p under {LEVEL} by Welch's one-sided t test, adjusted by Holm for all of "
        "them. The campaigns were not interleaved: the intervals do not cover drift between them."
    )
    verdict = f"{show_things(len(slower), 'slowdown')}." if slower else "No slowdown shown."
    page = frame.begin_page("gate", gate.flags, [])
    page.paragraph(Strong(verdict), f" {counted} {rule}")
    noisy = {one.limit for one in gate.cells if one.limit > gate.bound}
    if noisy:
        page.paragraph(
            f"The campaigns' noise raises the limit to {show_share(max(noisy))}: a slowdown has to "
            "exceed that."
        )
    _write_cells(page, f"slower by over {bound}", slower)
    _write_cells(page, "undecided", undecided)
    page.bullets(
        f"{show_things(number, 'comparison')} could not be judged: {why}."
        for why, number in Counter(map(word, gate.missing)).items()
    )
    if gate.again:
        page.paragraph(
            f"To settle {len(gate.again)} of the undecided, measure these cells again, {gate.blocks} blocks "
            f"each, some {math.ceil(gate.minutes)} minutes for both sides together; once for each side:"
        )
        only = dict.fromkeys(one.cell for one in gate.again)
        arms = dict.fromkeys(one.arm for one in gate.again)
        page.code(
            f"make bench BLOCKS={gate.blocks} ARMS={shlex.quote(' '.join(arms))} "
            f"ONLY={shlex.quote(' '.join(only))}"
        )
    hopeless = len(undecided) - len(gate.again)
    if hopeless:
        page.paragraph(
            end_sentence(f"no reasonable number of blocks would settle {hopeless} of the undecided")
        )
    return page


def _write_cells(page: Page, what: str, cells: Sequence[Gated]) -> None:
    can_settle = any(one.blocks for one in cells)
    rows = [
        {
            "cell": one.cell,
            "arm": one.arm,
            "new against base": show_relative(one.ratio),
            "adjusted p": f"{one.p:.2g}",
        }
        | ({"blocks to settle": str(one.blocks or "")} if can_settle else {})
        for one in cells
    ]
    page.table(f"Table: {what}.", rows)
