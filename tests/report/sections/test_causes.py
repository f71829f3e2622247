"""What the table of causes says of a loss: no judgement that nothing measured bears out, no number twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import structs

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.findings import Cause, RuleName, Standing
from suite.analysis.result.numbers import Estimate, Ratio, cite
from suite.report.text.texts import TEXTS
from tests.rendering import render_markdown, render_whole
from tests.report.campaigns import analyse_explained, analyse_made, change_cells

LOST = Standing(
    ratio=Ratio(value=2.0, low=1.9, high=2.1, n=5), loses=True, provisional=False, hopeless=False
)
RIGHT = "the CPU is the right device"
FASTER = "the CPU is the faster one at this size"
UNTRIED = "no larger batch was measured"
PROFILE = "profile this cell"
SAID = (RIGHT, FASTER, UNTRIED, PROFILE)


def explain(
    analysis: Analysis, cell_id: str, standing: Standing, rule: RuleName = "overhead"
) -> Analysis:
    """The analysis in which this cell alone needs an explanation."""
    cause = Cause(
        rule=rule,
        confirmed=False,
        provisional=False,
        evidence=(cite("rest", share=1.0) if rule == "unknown" else cite("is-price"),),
        seconds=Estimate(value=1.25e-3, low=None, high=None, n=2),
        share=0.875,
    )

    def change(_: int, cell: CellAnalysis) -> Mapping[str, Any]:
        here = cell.id == cell_id
        return {"standing": standing if here else None, "causes": (cause,) if here else ()}

    return change_cells(analysis, change)


@pytest.mark.parametrize(
    ("standing", "rule", "said"),
    [
        ({"hopeless": True}, "overhead", [RIGHT]),
        ({"hopeless": True, "winner": "larger"}, "overhead", [FASTER]),
        ({"untried": ("batch",)}, "overhead", [UNTRIED]),
        ({"winner": "larger"}, "overhead", []),
        ({}, "overhead", []),
        ({}, "unknown", [PROFILE]),
        ({"untried": ("batch",)}, "unknown", [UNTRIED, PROFILE]),
    ],
)
def test_what_is_advised_is_what_the_standing_says(
    standing: Mapping[str, Any], rule: RuleName, said: list[str]
) -> None:
    analysis = analyse_made()
    first, *_, last = analysis.work
    fields = dict(standing)
    if "winner" in fields:
        fields["winner"] = last.id
    text = render_markdown(explain(analysis, first.id, structs.replace(LOST, **fields), rule=rule))
    assert [words for words in SAID if words in text] == said
    assert (
        "cuda wins at" in text.partition("## Recommendations")[0].partition("Why the CPU")[2]
    ) == ("winner" in fields)


@pytest.mark.parametrize("is_step", [True, False])
def test_the_shares_of_a_step_stand_in_the_table_of_its_parts_alone(is_step: bool) -> None:
    analysis = analyse_explained()
    steps = {step.cell for step in analysis.find("step", arm="cuda")}
    name = next(cell.id for cell in analysis.work if (cell.id in steps) == is_step)
    wasted = structs.replace(LOST, loses=False, use=0.01)
    text = render_whole(explain(analysis, name, wasted, rule="input"))
    assert ("input, 1.25 ms, 87.5 %, suspected" in text) == (not is_step)
    assert ("| input, suspected" in text) == is_step


def test_no_evidence_words_a_share_of_a_step() -> None:
    """Its parts' table has them; what stands here is a share of something else, or seen by a profiler."""
    worded = {code for code, text in TEXTS["sentences"].items() if ":share}" in text}
    of_ratios = {"significant", "within-noise"}
    assert worded - of_ratios == {"rest", "of-best", "trace", "wakes"}
