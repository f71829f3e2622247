"""Sheets by the hundred on campaigns of known truth: false answers, and promised blocks that don't decide."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from suite.analysis.result.acceptance import Line
from suite.analysis.result.campaign import Analysis
from tests.bench.rates import Rate, count
from tests.fakes.hosts import QUIET, TYPICAL, Host
from tests.sheets import CELLS, PRICE, STEPS, Times, draw_times, judge_sheet, make, read
from tests.synthetic import plain_truth

ARMS = ("cpu", "cuda")
MOST = 99
"""Blocks that are drawn of a campaign; the first few of them are what is judged."""

AFAR = (0.0005, 0.01, 0.03, 0.3)
"""How far bounds lie from the truth, as standard deviations of a logarithm: from next to it to far off."""

Truths = dict[tuple[str, str], float]


@dataclass
class Drawn:
    """A requirement, and whether it is truly met."""

    text: str
    met: bool


@dataclass
class Study:
    """What came of many sheets: which had a false answer, and which promises were kept."""

    false: list[bool] = field(default_factory=list)
    kept: list[bool] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> Rate:
        return count(self.false)

    @property
    def decided(self) -> Rate:
        return count(self.kept)


def draw_truths(draw: np.random.Generator) -> Truths:
    """What every cell takes on every arm: the GPU is faster or slower, by little or by much."""
    truths = {}
    for cell in CELLS:
        seconds = plain_truth(cell, "cpu")
        truths[cell.id, "cpu"] = seconds
        truths[cell.id, "cuda"] = seconds * math.exp(draw.normal(0, draw.choice([0.02, 0.5])))
    return truths


def draw_requirement(draw: np.random.Generator, truths: Truths, base: Truths) -> Drawn:
    """One of a stranger's requirements, whose bound lies as near to the truth as chance has it."""
    cell = CELLS[draw.integers(len(CELLS))]
    arm = ARMS[draw.integers(2)]
    seconds = truths[cell.id, arm]
    off = math.exp(draw.normal(0, AFAR[draw.integers(len(AFAR))]))
    place = f'cell = "{cell.id}"\narm = "{arm}"\n'
    least = bool(draw.integers(2))
    way = "at least" if least else "at most"
    met = off <= 1 if least else off >= 1
    kind = draw.integers(7)
    if kind == 0:
        noun = {"FLOP": "FLOP/s", "example": "examples/s"}.get(cell.work.unit, "calls/s")
        return Drawn(f'{place}rate = "{way} {cell.work.amount / seconds * off!r} {noun}"', met)
    if kind in {1, 2}:
        return Drawn(f'{place}time = "{way} {seconds * off!r} s"', met)
    if kind == 3:
        step = STEPS[draw.integers(2)]
        cost = 1e6 * truths[step.id, arm] / step.work.amount * PRICE / 3600
        where = f'cell = "{step.id}"\narm = "{arm}"\n'
        return Drawn(f'{where}price = "{way} {cost * off:.17f} USD"', met)
    if kind == 4:
        ratio = truths[cell.id, "cpu"] / truths[cell.id, "cuda"] * off
        side = way.replace(" ", "_")
        text = f'cell = "{cell.id}"\nas_fast_as = {{ arm = "cpu", {side} = "{ratio!r} times" }}'
        return Drawn(text, met)
    if kind == 5:
        slower = seconds / base[cell.id, arm] * off - 1
        if slower > 0:
            text = f'{place}slower_than = {{ base = "Y", by = "{100 * slower!r} %" }}'
            return Drawn(text, seconds / base[cell.id, arm] - 1 <= slower)
    sizes = sorted(step.work.amount for step in STEPS)
    first = sizes[draw.integers(2)]
    text = f'every = "mlp.train/*"\nfaster_from = "batch {first:g}"'
    larger = [step for step in STEPS if step.work.amount >= first]
    return Drawn(text, all(truths[s.id, "cuda"] < truths[s.id, "cpu"] for s in larger))


def judge_sheets(host: Host, sheets: int, blocks: int, seed: int = 1) -> Study:
    """Many sheets, each on a campaign of its own; and those that promise, once more with so many blocks."""
    draw = np.random.default_rng(seed)
    study = Study()
    for _ in range(sheets):
        base = draw_truths(draw)
        truths = {place: s * math.exp(draw.normal(0, 0.03)) for place, s in base.items()}
        drawn = [draw_requirement(draw, truths, base) for _ in range(draw.integers(1, 12))]
        sheet = read(*(each.text for each in drawn))
        before = make(draw_times(host, draw, base, 10), 10, "base", noise_floor=0.0)
        times = draw_times(host, draw, truths, MOST)

        def look(
            blocks: int, times: Times = times, before: Analysis = before, sheet: object = sheet
        ) -> tuple[Line, ...]:
            now = make(times, blocks, noise_floor=0.0)
            return judge_sheet(now, sheet, {"Y": before}).lines  # type: ignore[arg-type]

        lines = look(blocks)
        wrong = [
            (line.answer == "pass" and not each.met) or (line.answer == "fail" and each.met)
            for line, each in zip(lines, drawn, strict=True)
        ]
        study.false.append(any(wrong))
        study.answers += [line.answer for line in lines]
        for at, line in enumerate(lines):
            for place, check in enumerate(line.checks):
                early = check.reason is not None and check.reason.code == "across-early"
                if check.answer == "undecided" and check.blocks and not check.both and not early:
                    later = look(check.blocks)[at].checks[place]
                    study.kept.append(later.answer != "undecided")
    return study


def test_a_few_sheets_say_nothing_false() -> None:
    study = judge_sheets(TYPICAL, sheets=40, blocks=5)
    assert study.wrong.value <= 0.05, str(study.wrong)
    assert len(study.kept) > 10
    assert study.decided.value >= 0.9, str(study.decided)
    assert {*study.answers} == {"pass", "fail", "undecided"}


@pytest.mark.method
@pytest.mark.parametrize(
    ("host", "blocks"), [(TYPICAL, 5), (TYPICAL, 10), (QUIET, 5), (TYPICAL, 3)]
)
def test_a_thousand_sheets_keep_what_they_promise(host: Host, blocks: int) -> None:
    study = judge_sheets(host, sheets=1000, blocks=blocks)
    assert study.wrong.is_at_most(0.05), str(study.wrong)
    assert study.decided.value >= 0.9, str(study.decided)
