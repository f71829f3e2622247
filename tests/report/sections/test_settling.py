"""What would settle the open cells, and what lies between a script and the fair number: said and not said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from suite.analysis.result.arms import Spent
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis, set_down
from suite.analysis.result.numbers import Ratio, Verdict, VerdictName, cite
from suite.cells.traits import ProfileName
from suite.report.sections.verdict import tell_settling
from tests.analysis.causes.test_insight import SLICES
from tests.fakes import machines
from tests.fakes.hosts import QUIET
from tests.fakes.machines import CPU, GPU, Device
from tests.rendering import render_markdown, study
from tests.report.campaigns import analyse_made, change_cells

OPEN = "INCONCLUSIVE"
SETTLED = "should be settled by BLOCKS={} instead of 3"
HIDDEN = "the noise is too large"


def decide(*verdicts: tuple[VerdictName, int | None]) -> Analysis:
    """Three blocks of two arms that took an hour; the first cells have these verdicts, all others FASTER."""
    summary = analyse_made()
    every = [*verdicts, *[("FASTER", None)] * len(summary.cells)]

    def judge(place: int, _: CellAnalysis) -> dict[str, object]:
        name, blocks = every[place]
        reason = cite("not-significant", p=0.2)
        verdict = Verdict(name=name, reason=reason, p=0.2, blocks=blocks)
        return {
            "comparisons": {"cuda": set_down(Ratio(value=1.0, low=0.9, high=1.1, n=3), verdict)}
        }

    spent = dict.fromkeys(summary.arms, Spent(total_s=1800.0, kinds={}))
    return structs.replace(change_cells(summary, judge), spent=spent)


@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        ([], []),
        ([("EQUIVALENT", None)], []),
        # A block of both takes a quarter of the hour: there was a calibration, too.
        ([(OPEN, 5)], [f"The inconclusive cell {SETTLED.format(5)}, in about 30 min 00 s more."]),
        (
            [(OPEN, None), (OPEN, 4), (OPEN, 20)],
            [f"Of the 3 inconclusive cells 2 {SETTLED.format(20)}, in about 4 h 15 min more."],
        ),
        (
            [(OPEN, 4), (OPEN, 20), (OPEN, 20)],
            [f"All 3 inconclusive cells {SETTLED.format(20)}, in about 4 h 15 min more."],
        ),
        (
            [(OPEN, None), (OPEN, 4), (OPEN, None)],
            [f"More blocks would not settle most of the inconclusive cells: {HIDDEN}."],
        ),
    ],
)
def test_what_would_settle_half_of_what_is_open(
    verdicts: Sequence[tuple[VerdictName, int | None]], told: list[str]
) -> None:
    assert list(tell_settling(decide(*verdicts), "cuda")) == told


def write(gpu: Device | None, *, posted: bool = True, profile: ProfileName = "standard") -> str:
    """The report of the script in slices; ``posted``: its first stage is the script itself."""
    cells = [
        replace(one, process="asked.slices") if posted and one.params["stage"] == "naive" else one
        for one in SLICES
    ]
    made = machines.make_campaign(cells, cpu=CPU, gpu=gpu, host=QUIET, profile=profile)
    return render_markdown(study(*made))


WORDS = {
    "script": "the script says",
    "script-loses": "On cuda, against cpu, the script says 52.2× slower",
    "warm": "as asked, in a warm process",
    "warm-loses": "On cuda, against cpu, as asked, in a warm process, it is 52.2× slower",
    "wrong": "the wrong winner",
    "wrong-between": "the wrong winner. Largest proven shares of the gap: ",
    "between": "Largest proven shares of the gap",
    "tracing": "% tracing no longer timed",
    "provisional": "provisional, without a verdict.",
    "invents": "a difference where none is shown",
    "alike": "neither tells them apart.",
    "prints": 'prints a "GPU time" that is the CPU\'s',
    "time": "GPU time",
    "The-prints": "The script prints",
    "the-prints": "the script prints",
}
LATE = replace(GPU, start=1.0)


@pytest.mark.parametrize(
    ("gpu", "posted", "said", "unsaid"),
    [
        (LATE, True, "script-loses wrong-between", "warm invents"),
        (LATE, False, "warm-loses", "script The-prints time"),
        (replace(CPU, start=1.0), True, "invents tracing", "wrong"),
        (CPU, True, "alike", "wrong between"),
        (None, True, "prints", "script between"),
        (None, False, "warm", "time the-prints"),
    ],
)
def test_what_a_script_says_and_what_is_so(
    gpu: Device | None, *, posted: bool, said: str, unsaid: str
) -> None:
    text = write(gpu, posted=posted)
    assert [one for one in said.split() if WORDS[one] not in text] == []
    assert [one for one in unsaid.split() if WORDS[one] in text] == []


def test_without_verdicts_no_script_names_the_wrong_winner() -> None:
    text = write(LATE, profile="quick")
    assert "the script says 52.2× slower" in text
    assert WORDS["provisional"] in text
    assert [one for one in ("wrong", "invents", "alike") if WORDS[one] in text] == []
    assert WORDS["provisional"] not in write(LATE)
