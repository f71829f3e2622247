"""The sentences that a report opens with: who wins, where, how far, how sure."""

from __future__ import annotations

from functools import cache

from suite.analysis.result.campaign import Analysis
from suite.model import Campaign, Document
from suite.report.sections.opening import account, warn
from tests import synthetic
from tests.changes import lose, plant
from tests.rendering import study


@cache
def make_campaign() -> tuple[Campaign, list[Document]]:
    campaign = synthetic.make_campaign(blocks=3)
    return campaign, synthetic.make_documents(campaign, samples=2)


def lose_on_cuda(outcome: str, *whys: str) -> Analysis:
    """A campaign whose first cells have no number on cuda, each for its reason."""
    campaign, documents = make_campaign()
    for cell, why in zip(campaign.cells, whys, strict=False):
        documents = plant(documents, lose(cell.id, outcome, why), "cuda")
    return study(campaign, documents)


def test_an_arm_that_computes_wrongly_is_the_first_thing_said() -> None:
    why = "the loss is 0.495 where NumPy's reference is 0.0063 (step 20)"
    summary = lose_on_cuda("failed", f"wrong result: {why}")
    first = summary.cells[0]
    words = f"cuda GIVES WRONG RESULTS: 1 cell without a number, the first {first.id}: {why}."
    assert warn(summary)[0] == words
    assert not any("WRONG" in sentence for sentence in warn(lose_on_cuda("failed")))
    assert first.arms["cpu"].estimate is not None
    assert first.arms["cuda"].estimate is None


def test_why_cells_were_skipped_stands_behind_their_number() -> None:
    once, twice = (("no memory",), ("no memory", "no time"))
    for whys, words in (
        (once, "1 skipped (matmul.square/n=1000/precision=fp32: no memory)"),
        (twice, "2 skipped (the first: "),
        (twice, ": no memory)"),
    ):
        assert words in " ".join(account(lose_on_cuda("skipped", *whys)))
