"""Campaigns of which all blocks are known, as the host would have run them: with cells that rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from suite.analysis.analyse import find_precision
from suite.host.campaign import plan
from suite.model import Campaign, Document
from tests.bench.truth.tally import load


def take_block(campaign: Campaign, documents: Iterable[Document], block: int) -> list[Document]:
    """What is measured in a block: no cell that rests in it."""
    resting = {*campaign.resting(block)}
    return [
        replace(document, cells=[cell for cell in document.cells if cell.id not in resting])
        for document in documents
        if document.invocation.block == block
    ]


def rest(campaign: Campaign, documents: Sequence[Document]) -> tuple[Campaign, list[Document]]:
    """The plan and the documents that the host leaves, of as many blocks as its profile has at most."""
    profile = plan.PROFILES[campaign.profile]
    most = profile.most_blocks
    assert most is not None
    campaign = replace(campaign, blocks=profile.blocks, most_blocks=most, looks=[])
    kept, block = take_block(campaign, documents, 0), 0
    while block < campaign.blocks:
        block += 1
        kept += take_block(campaign, documents, block)
        if plan.FIRST_LOOK <= block < most:
            seen = find_precision(load(campaign, kept), block, fewest=profile.blocks, most=most)
            look = plan.decide_look(
                campaign, block, len(seen.precise), len(seen.wanted), seen.wanted
            )
            blocks = plan.foresee(campaign, block, seen.wanted).blocks
            campaign = replace(campaign, blocks=blocks, looks=[*campaign.looks, look])
    return campaign, kept
