"""How often what a report claims is true: counts, bounds, and one campaign's way through the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from scipy.stats import binom

from suite.analysis.analyse import analyse
from suite.analysis.campaign.consistency import counted_documents
from suite.analysis.campaign.slow_invocations import find_odd
from suite.analysis.documents.read import LoadedCampaign
from suite.cells.cell import Cell
from suite.cells.traits import ProfileName
from suite.model import Campaign, Document
from suite.report.produce import build_report
from tests.bench.rates import Rate
from tests.bench.truth.campaigns import (
    Planted,
    make_documents,
    make_plan,
    measure_again,
    plan_cells,
)
from tests.bench.truth.claims import Told, listen

DOUBT = 0.05
"""A bound is refuted where its being true would make such a count, or a worse one, so unlikely."""


@dataclass
class Tally:
    """Hits and tries by what is counted, sizes of what was measured, and the sentences that were false."""

    hits: dict[str, list[bool]] = field(default_factory=dict)
    sizes: dict[str, list[float]] = field(default_factory=dict)
    false: list[str] = field(default_factory=list)

    def add(self, what: str, *outcomes: bool) -> None:
        """Counts these; none: nothing was tried."""
        if outcomes:
            self.hits.setdefault(what, []).extend(map(bool, outcomes))

    def blame(self, what: str, sentences: Iterable[str]) -> None:
        """Counts a campaign, as a hit where it has such a sentence."""
        false = list(dict.fromkeys(sentences))
        self.add(what, bool(false))
        self.false += false

    def __getitem__(self, what: str) -> Rate:
        """The rate of what was counted; nobody has tried it: 0 of 0."""
        outcomes = self.hits.get(what, [])
        return Rate(hits=sum(outcomes), tries=len(outcomes))


def is_at_most(rate: Rate, share: float) -> bool:
    """Whether the count leaves it open that the rate is at most this; 0 of 0 leaves nothing open."""
    return rate.tries > 0 and bool(binom.sf(rate.hits - 1, rate.tries, share) > DOUBT)


def is_at_least(rate: Rate, share: float) -> bool:
    """The same of at least this."""
    return rate.tries > 0 and bool(binom.cdf(rate.hits, rate.tries, share) > DOUBT)


def _find_odd(campaign: Campaign, documents: Sequence[Document]) -> tuple[str, int, float] | None:
    return find_odd(counted_documents(load(campaign, documents)))


def load(campaign: Campaign, documents: Sequence[Document]) -> LoadedCampaign:
    """The documents as they are read back from the campaign's folder."""
    own = [document for document in documents if document.invocation.arm in campaign.arms]
    controls = [document for document in documents if document.invocation.arm not in campaign.arms]
    for some in (own, controls):
        some.sort(
            key=lambda document: (
                document.invocation.arm,
                document.invocation.block,
                document.invocation.repeat,
            )
        )
    return LoadedCampaign(folder=campaign.id, campaign=campaign, documents=own, controls=controls)


def tell(
    planted: Planted,
    *,
    seed: int,
    blocks: int = 5,
    profile: ProfileName = "standard",
    also: tuple[str, ...] = (),
    without: frozenset[str] = frozenset(),
) -> Told:
    """What the report of such a campaign says; the files in between are left out for speed alone.

    ``without`` are the roles whose cells were not measured.
    """
    campaign = make_plan(blocks=blocks, seed=seed, profile=profile, calls=planted.calls, also=also)
    documents = make_documents(campaign, planted)
    campaign, documents = measure_again(campaign, documents, planted, _find_odd)
    if without:
        campaign, documents = leave_out(campaign, documents, without)
    loaded = load(campaign, documents)
    return listen(build_report(analyse(loaded), pictures=False))


def leave_out(
    campaign: Campaign, documents: Iterable[Document], roles: frozenset[str]
) -> tuple[Campaign, list[Document]]:
    """The same campaign, and the same times, without the cells of some roles."""
    kept = {cell.id for cell in campaign.cells if cell.role not in roles}
    fewer = replace(
        campaign,
        cells=[cell for cell in campaign.cells if cell.id in kept],
        controls=[name for name in campaign.controls if name in kept],
        calls={
            arm: {name: calls for name, calls in by_cell.items() if name in kept}
            for arm, by_cell in campaign.calls.items()
        },
    )
    return fewer, [
        replace(document, cells=[cell for cell in document.cells if cell.id in kept])
        for document in documents
    ]


def work_cells(*, warm: bool = False) -> list[Cell]:
    """The cells that a headline may count: work on the arm's device, on both arms."""
    cells = [cell for cell in plan_cells() if cell.role == "work" and not cell.arms]
    return [cell for cell in cells if not (warm and cell.one_shot)]
