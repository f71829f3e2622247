"""What others published of a script stands beside its times here: where both are known, and nowhere else."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from suite.analysis.documents.elsewhere import ELSEWHERE, read_elsewhere
from suite.analysis.result.campaign import Analysis
from suite.cells.cell import Cell
from suite.errors import DocumentError
from suite.report.exports.summary import render_json
from suite.worker import scenarios
from tests import synthetic
from tests.changes import in_cell, plant, tell
from tests.fakes.hosts import QUIET, SILENT, Host
from tests.rendering import render_whole, study

STAGES = [cell for cell in scenarios.cells() if cell.case == "dropout"]
SCRIPT, LATER = (cell.id for cell in STAGES[:2])
PUBLISHED = "published of it"
TIMES = {
    "cpu": {"script": 14.0, "epoch-2": 6.0},
    "cuda": {"script": 8.0, "epoch-2": 0.75},
}
"""Seconds of the epochs, by arm; all else takes an example 20 µs, and 2 µs on the GPU."""


def take(cell: Cell, arm: str) -> float:
    example = 20e-6 if arm == "cpu" else 2e-6
    return TIMES[arm].get(str(cell.params.get("stage")), cell.work.amount * example)


def analyse(
    cells: Sequence[Cell] = STAGES,
    *,
    arms: Sequence[str] = ("cpu", "cuda"),
    host: Host = SILENT,
    lost: str | None = None,
) -> Analysis:
    campaign = synthetic.make_campaign(arms=arms, cells=list(cells), profile="full")
    documents = synthetic.make_documents(campaign, truth=take, host=host, calibration=False)
    if lost is not None:
        documents = plant(
            documents, in_cell(lost, outcome="failed", reason="none", samples_s=[]), "cuda"
        )
    return study(campaign, plant(documents, tell({"gpu.0.name": "NVIDIA L4"}), "cuda"))


def read_table(analysis: Analysis) -> list[list[str]]:
    """The rows of the table, without the spaces that align them."""
    ((rows,),) = [re.findall(rf"{PUBLISHED}.*\n\n.*\n.*\n((?:\|.*\n)+)", render_whole(analysis))]
    cells = ([cell.strip() for cell in row[1:-1].split("|")] for row in rows.splitlines())
    return [[re.sub(" +", " ", cell) for cell in row] for row in cells]


def test_the_script_here_stands_above_what_others_published_of_it() -> None:
    own, others = (rows := read_table(analyse()))[:2], rows[2:]
    assert [row[0].partition(":")[0] for row in own] == ["cpu", "cuda"]
    assert own[1][0] == "cuda: NVIDIA L4"
    # A step is a 500th of the second epoch; 20 epochs are the first and 19 times that.
    assert [row[2].partition(" ")[0] for row in own] == ["12.0", "1.50"]
    assert [row[4].partition(" ")[0] for row in own] == ["128", "22.2"]
    assert {row[5] for row in own} == {"this campaign"}
    assert len(others) == len(read_elsewhere()) == 6
    assert others[0] == [
        *("AMD EPYC 7282", "TensorFlow 2.14 (Keras 2)", "12.4 ms", "20", "113 s"),
        "keras-team/keras issue 19953, 2024-07-05",
    ]


def test_its_times_here_have_intervals_over_the_blocks() -> None:
    analysis = analyse(host=QUIET)
    found = {own.arm: own for own in analysis.find("posted")}
    assert {own.cell for own in found.values()} == {LATER}
    for arm, (first, later) in ((arm, times.values()) for arm, times in TIMES.items()):
        own = found[arm]
        assert own.beside
        for number, truth in ((own.number, later / 500), (own.beside, first + 19 * later)):
            assert number.value == pytest.approx(truth, rel=0.05)
            assert number.least < number.value < number.most
            assert number.n == 5
    content = json.loads(render_json(analysis))
    assert content["elsewhere"][0]["step_s"] == 12.3829e-3


def test_a_whole_is_added_up_within_its_block() -> None:
    campaign = synthetic.make_campaign(arms=("cpu",), cells=STAGES[:2], profile="full", blocks=3)
    documents = [
        synthetic.make_document(
            campaign,
            "cpu",
            block,
            truth=lambda cell, _, block=block: 30.0 - block if cell.id == SCRIPT else block / 19,
            host=SILENT,
        )
        for block in (1, 2, 3)
    ]
    (own,) = study(campaign, documents).find("posted")
    assert own.beside
    assert own.beside.value == pytest.approx(30.0)
    assert own.beside.most - own.beside.least < 1e-6
    assert own.number.value == pytest.approx(math.prod((1, 2, 3)) ** (1 / 3) / 19 / 500)


@pytest.mark.parametrize("lost", [SCRIPT, LATER])
def test_an_arm_without_the_script_or_its_later_epoch_has_no_row(lost: str) -> None:
    assert [row[0].partition(":")[0] for row in read_table(analyse(lost=lost))][:2] == [
        "cpu",
        "AMD EPYC 7282",
    ]


@pytest.mark.parametrize(
    "cells",
    [
        [cell for cell in scenarios.cells() if cell.name == "asked.slices"],
        [cell for cell in STAGES if cell.id != SCRIPT],
        [cell for cell in STAGES if cell.id != LATER],
    ],
    ids=["another script", "no first epoch", "no later one"],
)
def test_without_the_script_nothing_is_published_of_it(cells: Sequence[Cell]) -> None:
    analysis = analyse(cells)
    assert analysis.elsewhere == ()
    assert PUBLISHED not in render_whole(analysis)
    assert "elsewhere" not in json.loads(render_json(analysis))


def test_on_one_arm_it_stands_there_too() -> None:
    assert len(read_table(analyse(arms=("cpu",)))) == 1 + 6


def test_every_published_time_is_of_a_script_of_the_suite_and_can_be() -> None:
    cases = {cell.case: cell for cell in scenarios.cells() if cell.process is not None}
    rows = read_elsewhere()
    assert len({(row.script, row.machine, row.software) for row in rows}) == len(rows)
    for row in rows:
        work = cases[row.script].work
        assert work.steps
        assert row.source
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row.date)
        # A lost digit would show: the whole is about its steps, with a start that a minute holds.
        steps = row.step_s * work.steps * row.epochs
        assert 0.8 * steps < row.whole_s < steps + 60
    for script in {row.script for row in rows}:
        assert len({row.epochs for row in rows if row.script == script}) == 1


@pytest.mark.parametrize(
    "text", ["", "[[timing]]\nscript = 'x'\n", "timing = 1", "[[timings]]", "\xff"]
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / ELSEWHERE.name
    path.write_text(text, encoding="latin-1")
    with pytest.raises(DocumentError) as caught:
        read_elsewhere(path)
    assert "does not say what was published" in caught.value.what
