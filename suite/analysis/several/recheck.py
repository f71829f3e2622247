"""A campaign's cells that are measured again: which are drawn, and whether they reproduce.  Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.numbers.ratio import compare_few
from suite.analysis.numbers.verdict import is_beyond, judge
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import MARGIN, Ratio, Verdict
from suite.analysis.result.several import Rechecked, RecheckedCell
from suite.analysis.several.comparison import compare_cell
from suite.content import hash_lines
from suite.errors import UsageError
from suite.flags import Flag


def hash_samples(loaded: LoadedCampaign) -> str:
    """A hash over every sample of a campaign.

    Whatever else its files say can be chosen, or hidden in a bundle; these nobody chooses.
    """
    return hash_lines(
        f"{one.name} {cell.id} {cell.samples_s!r}" for one in loaded.documents for cell in one.cells
    )


def draw_cells(analysis: Analysis, arms: Sequence[str], number: int, seed: str) -> list[str]:
    """The ids of so many cells, or of all where there are fewer, that have a number on each of these arms.

    Raises:
        UsageError: no cell has one.
    """
    sound = sorted(
        one.id
        for one in analysis.cells
        if all(one.arms[arm].value is not None and not one.arms[arm].invalid for arm in arms)
    )
    if not sound:
        raise UsageError(
            f"no cell of {analysis.campaign.id} has a number on {' and '.join(arms)}",
            "name some of its arms with ARMS=, or another campaign",
        )
    return random.Random(seed).sample(sound, min(number, len(sound)))


def judge_again(before: Analysis, now: Analysis, seed: str) -> Rechecked:
    """What became of the cells of a campaign that another has measured again.

    A cell differs where its times do by Welch's test, adjusted by Holm for all cells and arms together, and
    by more than 2 % and both campaigns' noise floors.
    """
    floors = before.noise_floor, now.noise_floor
    margin = max(MARGIN, *(floor or 0.0 for floor in floors))
    then = {cell.id: cell.arms for cell in before.cells}
    sides = {
        (cell.id, arm): (then[cell.id][arm], cell.arms[arm])
        for cell in now.cells
        for arm in now.arms
    }
    found = {
        place: compare_cell(both, "before", "now", between=compare_few)[0]
        for place, both in sides.items()
    }
    # A reader can doubt any of them, so all are one family.
    ratios = {" ".join(at): one for at, one in found.items() if isinstance(one, Ratio)}
    verdicts = judge(ratios, margin=margin, invalid={}, paired=False)
    return Rechecked(
        before=before.campaign.id,
        now=now.campaign.id,
        seed=seed,
        margin=margin,
        floors=floors,
        cells=tuple(
            RecheckedCell(
                cell=name,
                arm=arm,
                before=first,
                now=second,
                ratio=found[name, arm],
                reproduces=not (first.invalid or second.invalid)
                and _reproduces(found[name, arm], verdicts.get(f"{name} {arm}"), margin),
            )
            for (name, arm), (first, second) in sides.items()
        ),
    )


def _reproduces(ratio: Ratio | Flag, verdict: Verdict | None, margin: float) -> bool:
    if isinstance(ratio, Flag):
        return False
    if verdict is None or ratio.p is None:
        # Without any spread there is no test: then the margin is what noise makes.
        return not is_beyond(ratio.value, margin)
    return not verdict.names_winner
