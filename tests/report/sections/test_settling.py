"""What would settle the open cells, and what lies between a script and the fair number: said and not said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from suite.analysis.result.arms import Spent
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import set_down
from suite.analysis.result.numbers import Ratio, Verdict, VerdictName, cite
from suite.report.sections.verdict import tell_settling
from tests.analysis.causes.test_insight import SLICES
from tests.fakes import machines
from tests.fakes.hosts import QUIET
from tests.fakes.machines import CPU, GPU, Device
from tests.rendering import render_markdown, study
from tests.report.campaigns import analyse_made

OPEN = "INCONCLUSIVE"


def decide(*verdicts: tuple[VerdictName, int | None]) -> Analysis:
    """Three blocks of two arms that took an hour; the first cells have these verdicts, all others FASTER."""
    summary = analyse_made()
    every = [*verdicts, *[("FASTER", None)] * len(summary.cells)]
    cells = [
        structs.replace(
            one,
            comparisons={
                "cuda": set_down(
                    Ratio(value=1.0, low=0.9, high=1.1, n=3),
                    Verdict(name=name, reason=cite("not-significant", p=0.2), p=0.2, blocks=blocks),
                )
            },
        )
        for one, (name, blocks) in zip(summary.cells, every, strict=False)
    ]
    spent = dict.fromkeys(summary.arms, Spent(total_s=1800.0, kinds={}))
    return structs.replace(summary, cells=tuple(cells), spent=spent)


@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        ([], []),
        ([("EQUIVALENT", None)], []),
        # A block of both takes a quarter of the hour: there was a calibration, too.
        (
            [(OPEN, 5)],
            [
                "The inconclusive cell should be settled by BLOCKS=5 instead of 3, about 30 min 00 s more."
            ],
        ),
        (
            [(OPEN, None), (OPEN, 4), (OPEN, 20)],
            [
                (
                    "Half of the inconclusive cells should be settled by BLOCKS=20 instead of 3, about "
                    "4 h 15 min more."
                )
            ],
        ),
        (
            [(OPEN, None), (OPEN, 4), (OPEN, None)],
            [
                "More blocks would not settle most of the inconclusive cells: the noise is too large."
            ],
        ),
    ],
)
def test_what_would_settle_half_of_what_is_open(
    verdicts: Sequence[tuple[VerdictName, int | None]], told: list[str]
) -> None:
    assert list(tell_settling(decide(*verdicts), "cuda")) == told


def write(gpu: Device | None, *, posted: bool = True) -> str:
    """The report of the script in slices; ``posted``: its first stage is the script itself."""
    cells = [
        replace(one, process="asked.slices") if posted and one.params["stage"] == "naive" else one
        for one in SLICES
    ]
    return render_markdown(study(*machines.make_campaign(cells, cpu=CPU, gpu=gpu, host=QUIET)))


@pytest.mark.parametrize(
    ("gpu", "posted", "said", "unsaid"),
    [
        (
            replace(GPU, start=1.0),
            True,
            [
                "On cuda, against cpu, the script says 52.2× slower",
                "the wrong winner. The gap consists of: ",
            ],
            ["as asked, in a warm process", "a difference where none is shown"],
        ),
        (
            replace(GPU, start=1.0),
            False,
            ["On cuda, against cpu, as asked, in a warm process, it is 52.2× slower"],
            ["the script says", "The script prints", "GPU time"],
        ),
        (
            replace(CPU, start=1.0),
            True,
            ["a difference where none is shown", "% tracing no longer timed"],
            ["the wrong winner"],
        ),
        (
            replace(CPU),
            True,
            ["neither tells them apart."],
            ["the wrong winner", "The gap consists of"],
        ),
        (
            None,
            True,
            ['prints a "GPU time" that is the CPU\'s'],
            ["the script says", "The gap consists of"],
        ),
        (None, False, ["as asked, in a warm process"], ["GPU time", "the script prints"]),
    ],
)
def test_what_a_script_says_and_what_is_so(
    gpu: Device | None, *, posted: bool, said: list[str], unsaid: list[str]
) -> None:
    text = write(gpu, posted=posted)
    assert [one for one in said if one not in text] == []
    assert [one for one in unsaid if one in text] == []
