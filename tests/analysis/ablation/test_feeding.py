"""How many CPUs feed a step: campaigns whose truth is made up, and what is said of them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from suite.analysis.ablation.feeding import Rung, find_fewest, find_ratio
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import Evidence, cite
from suite.cells.cell import Cell
from suite.host.campaign.plan import fit_cells
from suite.model import Document
from suite.report.exports.summary import render_json
from suite.report.pages.brief import compose_screen
from suite.report.render.terminal import render_lines
from suite.worker import scenarios
from tests import synthetic
from tests.fakes.hosts import QUIET
from tests.rendering import render_markdown, study

LADDER = [cell for cell in scenarios.cells() if cell.cpus is not None]
STEP_S = 2e-3
BUSY = cite("feed-shared")

Slower = Mapping[int, float]
"""By a number of CPUs how many times as long a step takes behind its pipeline; elsewhere as long."""


def climb(
    cpus: int,
    slower: Slower,
    *,
    arms: Sequence[str] = ("cuda",),
    blocks: int = 10,
    most: int | None = None,
    **how: Any,
) -> tuple[Any, list[Document]]:
    """A campaign on a machine with so many CPUs, of the cells that there are up to ``most`` of them."""

    def last(cell: Cell, _: str) -> float:
        if cell.params["part"] == "input":
            return STEP_S / (cell.cpus or 1)
        return STEP_S * (
            slower.get(cell.cpus or 0, 1.0) if cell.params["part"] == "together" else 1
        )

    cells = [cell for cell in fit_cells(LADDER, cpus) if (cell.cpus or 0) <= (most or cpus)]
    campaign = synthetic.make_campaign(arms=arms, blocks=blocks, cells=cells, profile="full")
    documents = synthetic.make_documents(campaign, truth=last, host=QUIET, **how)
    limits = {"cpus": f"0-{cpus - 1}", "cpu_count": cpus}
    return campaign, [
        replace(each, invocation=replace(each.invocation, limits=limits)) for each in documents
    ]


def tell(analysis: Analysis, arm: str = "cuda") -> tuple[Evidence, ...]:
    (fewest,) = analysis.find("feeding", arm=arm)
    return fewest.evidence


EVERY = dict.fromkeys((1, 2, 4, 6, 8, 16), 2.0)

CASES: Mapping[str, tuple[int, Slower, Evidence]] = {
    "4 of 16": (16, {1: 4.0, 2: 2.0}, cite("feed-from", cpus=4, short=2)),
    "all of 16": (16, {**EVERY, 16: 1.0}, cite("feed-from", cpus=16, short=8)),
    "never": (16, EVERY, cite("feed-never", cpus=16)),
    "never with one": (1, EVERY, cite("feed-never", cpus=1)),
    "one": (16, {}, cite("feed-fewest", cpus=1)),
    "one of one": (1, {}, cite("feed-fewest", cpus=1)),
    "a range": (
        16,
        {1: 4.0, 2: 2.0, 4: 1.1, 8: 1.1},
        cite("feed-between", cpus=16, short=2, between=("4", "8")),
    ),
    "no lower end": (4, {1: 1.1}, cite("feed-at-most", cpus=2, between=("1",))),
    "undecided at the end": (4, {1: 2.0, 2: 2.0, 4: 1.1}, cite("feed-undecided", cpus=4, short=2)),
    "undecided throughout": (2, {1: 1.1, 2: 1.1}, cite("feed-undecided", cpus=2)),
    "2 CPUs": (2, {1: 2.0}, cite("feed-from", cpus=2, short=1)),
    "6 CPUs": (6, {1: 4.0, 2: 2.0, 4: 1.3}, cite("feed-from", cpus=6, short=4)),
}


@pytest.mark.parametrize("name", CASES)
def test_from_how_many_cpus_on_a_step_is_fed(name: str) -> None:
    cpus, slower, expected = CASES[name]
    analysis = study(*climb(cpus, slower))
    assert tell(analysis) == (expected,)
    (fewest,) = analysis.find("feeding")
    verdicts = {"feed-never": "not here", "feed-undecided": "undecided"}
    assert fewest.verdict == verdicts.get(expected.code, "from")
    if fewest.verdict == "from":
        assert fewest.number.value == expected.values["cpus"]
        assert fewest.number.low == expected.values.get("short", 0)
    else:
        assert fewest.value is None
    rungs = {row.beside.value: row for row in analysis.find("fed", of="ratio") if row.beside}
    counts = [1, 2, 4, 8, 16]
    assert list(rungs) == [n for n in counts if n <= cpus] + ([cpus] if cpus not in counts else [])
    for n, row in rungs.items():
        assert row.number.value == pytest.approx(slower.get(int(n), 1.0), rel=0.02)
        assert row.share == pytest.approx(max(0.0, 1 - 1 / row.number.value))


def test_that_more_cpus_feed_better_is_not_taken_for_granted() -> None:
    analysis = study(*climb(8, {1: 2.0, 4: 1.5}))
    assert tell(analysis) == (
        cite("feed-from", cpus=8, short=4),
        cite("feed-fell-back", better=("2",), worse=4),
    )
    said = render_markdown(analysis)
    assert "with 2 a step was not input-bound, and with 4 it was" in said


def test_fewer_than_there_are_say_nothing_of_the_rest() -> None:
    assert tell(study(*climb(16, EVERY, most=2))) == (cite("feed-not-yet", cpus=2),)


def test_the_interval_holds_for_all_numbers_of_cpus_at_once() -> None:
    alone, many = (
        study(*climb(cpus, {}, most=1)).find("fed", of="ratio")[0].number for cpus in (1, 16)
    )
    assert (alone.low, alone.high) == (many.low, many.high)
    one_of_five = study(*climb(16, {})).find("fed", of="ratio")[0].number
    assert one_of_five.value == pytest.approx(alone.value, rel=0.01)
    assert one_of_five.low is not None
    assert one_of_five.high is not None
    assert alone.low is not None
    assert alone.high is not None
    # Student's t of 9 degrees of freedom: 3.69 at 99 %, 2.26 at 95 %.
    assert one_of_five.high / one_of_five.low > alone.high / alone.low


TRUTHS: Sequence[Slower] = (
    {1: 1.11, 2: 1.11, 4: 1.11, 8: 1.11, 16: 1.11},
    {1: 1.09, 2: 1.09, 4: 1.09, 8: 1.09, 16: 1.09},
    {1: 3.0, 2: 1.3, 4: 1.12, 8: 1.08, 16: 1.0},
    {1: 1.0, 2: 1.0, 4: 1.15, 8: 1.0, 16: 1.11},
)


@pytest.mark.parametrize("truth", TRUTHS, ids=range(len(TRUTHS)))
def test_what_is_said_of_a_whole_ladder_is_false_in_one_of_twenty_at_most(truth: Slower) -> None:
    draw, false, runs = random.Random(34), 0, 300
    bound = [cpus for cpus, ratio in truth.items() if ratio > 1.1]
    for _ in range(runs):
        rungs = []
        for cpus, ratio in truth.items():
            alone = {block: draw.lognormvariate(0.0, 0.03) for block in range(5)}
            whole = {
                block: ratio * s * draw.lognormvariate(0.0, 0.03) for block, s in alone.items()
            }
            found = find_ratio(alone, whole, len(truth))
            rungs.append(Rung(cpus=cpus, cell=f"{cpus}", parts={}, ratio=found))
        fewest = find_fewest(rungs, "cuda", gpu=True, cpus=16)
        if fewest.value is not None:
            false += any(cpus >= fewest.value.value for cpus in bound)
            false += bool(fewest.value.low) and fewest.value.low not in bound
        false += fewest.verdict == "not here" and 16 not in bound
    assert false <= 0.05 * runs


def test_two_blocks_decide_nothing_and_it_is_said_why() -> None:
    assert tell(study(*climb(2, {1: 9.0}, blocks=2))) == (
        cite("feed-undecided", cpus=2),
        cite("feed-few-blocks", fewest=3),
    )


def test_a_number_that_is_missing_is_no_number_of_cpus_that_is_enough() -> None:
    campaign, documents = climb(8, {1: 4.0, 2: 2.0})
    (lost,) = [c.id for c in campaign.cells if (c.cpus, c.params["part"]) == (4, "step")]
    gone = [synthetic.lose_cell(d, lost, "failed", "its container died") for d in documents]
    analysis = study(campaign, gone)
    assert tell(analysis) == (cite("feed-between", cpus=8, short=2, between=("4",)),)
    assert "the step alone or the step behind its pipeline has no number" in render_markdown(
        analysis
    )


def test_a_process_with_other_cpus_than_were_asked_for_has_no_number() -> None:
    campaign, documents = climb(4, {1: 4.0, 2: 2.0})

    def unbind(document: Document) -> Document:
        """As an engine leaves it that drops a cpuset in silence."""
        containers = [
            replace(each, facts={"cpu.usable": 4} if each.facts else {})
            for each in document.invocation.containers
        ]
        return replace(document, invocation=replace(document.invocation, containers=containers))

    analysis = study(campaign, map(unbind, documents))
    assert analysis.troubled
    assert tell(analysis) == (cite("feed-at-most", cpus=4, between=("1", "2")),)
    assert "its process could use 4 CPUs; asked for: 1" in render_markdown(analysis)


def test_on_a_cpu_the_step_shares_what_feeds_it() -> None:
    analysis = study(*climb(4, {1: 2.0}, arms=("cpu", "cuda")))
    assert tell(analysis, "cpu") == (cite("feed-from", cpus=2, short=1), BUSY)
    assert tell(analysis, "cuda") == (cite("feed-from", cpus=2, short=1),)


def test_the_report_says_it_in_a_sentence_and_a_table() -> None:
    said = render_markdown(study(*climb(16, {1: 4.0, 2: 2.0})))
    assert "## How many CPUs feed a step?" in said
    assert "cuda: from 4 CPUs on a step is not input-bound, and with 2 CPUs it is." in said
    row = next(line for line in said.splitlines() if line.startswith("| 2 ") and "cuda" in line)
    assert "input-bound" in row
    assert "| 50.1 % |" in row
    screen = render_lines(compose_screen(study(*climb(2, {1: 2.0}))))
    assert "CPUs that feed a step: cuda: from 2 CPUs on a step is not input-bound" in screen
    never = render_markdown(study(*climb(2, EVERY)))
    assert "cuda: not with what there is here: with 2 CPUs, which is all, a step is still" in never
    one = render_markdown(study(*climb(2, {})))
    assert "cuda: one CPU is enough: a step is input-bound with no number of CPUs" in one


def test_programs_read_it_as_any_finding() -> None:
    content = json.loads(render_json(study(*climb(2, {1: 2.0}))))
    found = [row for row in content["findings"] if row["tag"] in {"fed", "feeding"}]
    assert [row["of"] for row in found[:4]] == ["ratio", "input alone", "step alone", "together"]
    (fewest,) = (row for row in found if row["tag"] == "feeding")
    assert (fewest["value"]["value"], fewest["value"]["low"], fewest["unit"]) == (2, 1, "CPU")
    assert fewest["evidence"][0]["text"].startswith("from 2 CPUs on")


def test_nothing_is_said_where_it_was_not_measured() -> None:
    campaign = synthetic.make_campaign()
    analysis = study(campaign, synthetic.make_documents(campaign))
    assert not analysis.find("fed")
    assert "CPUs feed" not in render_markdown(analysis)
    # An arm of the plan that did not run.
    campaign, documents = climb(2, {}, arms=("cpu", "cuda"))
    ran = [document for document in documents if document.invocation.arm == "cpu"]
    assert {row.arm for row in study(campaign, ran).find("feeding")} == {"cpu"}
