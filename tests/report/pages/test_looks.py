"""What a terminal shows after a block: what holds by then, and what does not yet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite.analysis.analyse import analyse, count_held
from suite.analysis.documents.read import LoadedCampaign
from suite.cells.traits import ProfileName
from suite.report.pages.brief import compose_look
from suite.report.pages.campaign import compose
from suite.report.render.markdown import render_page
from suite.report.render.terminal import render_lines
from tests.bench.truth import devices
from tests.bench.truth.campaigns import Planted, make_documents, make_plan
from tests.bench.truth.devices import CPU, GPU
from tests.bench.truth.early import follow, say
from tests.bench.truth.tally import load
from tests.bench.truth.winners import same

DEAR = devices.plant(CPU, replace(GPU, eager=60e-6, graph=400e-6))
"""A GPU that is dear to call, and fast."""


def whole() -> LoadedCampaign:
    """The same at its planned end, by fixed levels."""
    plan = make_plan(blocks=5, seed=3)
    return load(plan, make_documents(plan, DEAR))


def test_what_holds_is_said_in_six_lines_and_no_more_is_said_later_than_was() -> None:
    looks = follow(DEAR, 3, 4)
    lines = render_lines(compose_look(looks[0], 10), 6).splitlines()
    assert len(lines) <= 6
    text = " ".join(render_lines(compose_look(looks[0], 10)).split())
    assert text.startswith("By block 3 of at most 10, after ")
    assert "Multiply n × n matrices on cuda from n = 1000 on, on cpu" in text
    assert "Why cpu wins: overhead at " in text
    # What six lines have no room for is cut behind a clause, and the decision last.
    assert lines[1].startswith("Train on cuda from batch 512 on, on cpu at every smaller batch")
    first, last = map(say, (looks[0], looks[-1]))
    assert ("who", "mlp.train/net=A/batch=32/data=device/precision=fp32/execution=graph") in first
    assert not {key for key, word in first.items() if last.get(key, word) != word}
    held, asked = count_held(looks[0])
    assert 0 < held <= asked
    open_ = "the main cause is not yet beyond doubt in " in render_page(compose(looks[0]))
    assert open_ == any(cell.standing.open for cell in looks[0].work if cell.standing and cell.lost)
    assert "not yet beyond doubt" not in render_page(compose(analyse(whole())))


def test_without_a_difference_nothing_holds_yet() -> None:
    looks = follow(Planted(seconds=same), 5, 4)
    text = " ".join(render_lines(compose_look(looks[0], 10)).split())
    assert "Nothing is decided" in text
    assert "Not yet: who wins at " in text
    assert "wins:" not in text
    assert {word for of in map(say, looks) for word in of.values()} <= {"EQUIVALENT"}


@pytest.mark.parametrize(
    ("profile", "early"), [("verdict", False), ("standard", True), ("standard", False)]
)
def test_a_report_tells_the_levels_of_a_look(profile: ProfileName, early: bool) -> None:
    plan = make_plan(blocks=4, seed=3, profile=profile)
    loaded = load(replace(plan, blocks=5, most_blocks=5), make_documents(plan, DEAR))
    analysis = analyse(replace(loaded, early=early))
    text = render_page(compose(analysis))
    sequential = profile == "verdict" or early
    assert analysis.share == (0.2 if sequential else None)
    assert ("gives p under 0.008 (0.002 for all others)" in text) == sequential
    assert ("beyond 10.0 % (2.0 % from 5 blocks on)" in text) == sequential
    assert ("a 98 % CI within ±5.0 %" in text) == sequential
    assert ("the 90 % CI of the ratio lies within" in text) == (not sequential)
    # Blocks cannot be promised by a level that they won't have.
    assert ("settled by BLOCKS=" in text) == (not sequential)
    assert "fewer of cells that rested" not in text
    assert "| blocks | receipt |" not in text
    assert ("looked at after each block" in text) == sequential
