"""A results folder, and campaigns of made-up cells in it on an engine that lives by scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.analysis.analyse import look_for_odd
from suite.analysis.documents.read import LoadedCampaign, load_campaign
from suite.errors import EngineError, UnsoundError
from suite.host.campaign import plan
from suite.host.campaign.arms import Arms, known_arms
from suite.host.campaign.campaign_runner import CampaignRunner
from suite.host.campaign.listener import AnalysisHooks
from suite.host.campaign.options import Options
from suite.host.campaign.recorder import Means
from suite.host.campaign.request import plan_campaign, resume_plan
from suite.host.campaign.store import Store
from suite.host.engine import GpuRequest, Job
from suite.model import Campaign, Document
from tests.fakes.engine import FakeEngine, Script, Worker, asked_arm, asked_cells, fake_image
from tests.host.campaign.flow import START, make_cells
from tests.rendering import report_folder

REQUEST = GpuRequest(driver="cdi", devices=("0",))
CPU = Arms(run=(known_arms()["cpu"],), not_run={"cuda": "no GPU"})
CUDA = Arms(run=(known_arms()["cuda"],), gpus={None: REQUEST})
BOTH = Arms(run=(*CPU.run, *CUDA.run), gpus={None: REQUEST})
CELLS = [START, *make_cells(*"abcd")]


@dataclass
class Stage:
    """``disturbances`` are what the invocations will come to, ``unsound`` what the first look ends the
    campaign for.

    Every container is said to exist for 10 s.
    """

    results: Path
    worker: Worker = field(
        default_factory=lambda: Worker(cells={cell.id: cell for cell in CELLS}, seconds=10.0)
    )
    lines: list[str] = field(default_factory=list)
    progress: list[tuple[int, str | None, float | None]] = field(default_factory=list)
    """Of each cell that was shown: its block, its id, and how long the campaign goes on."""
    reported: list[int] = field(default_factory=list)
    wanted: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """By cell in how many blocks the looks from the third block on want it, one look after the other; the
    last of them stands for all that follow."""
    looked: list[int] = field(default_factory=list)
    looks: list[tuple[int, int, bool]] = field(default_factory=list)
    """What a sequential profile's looks say in their place: answers that hold, of how many, and whether
    that is enough."""
    disturbances: list[str | None] = field(default_factory=list)
    made: Path | None = None
    unsound: str = ""
    first_looks: list[list[str]] = field(default_factory=list)

    def plan(self, arms: Arms = CPU, **request: Any) -> Campaign:
        given = {"seed": 3, "label": "made-up", "profile": "smoke", **request}
        return plan_campaign(Options(**given), arms, CELLS)

    def run(
        self,
        *scripts: Script | EngineError,
        campaign: Campaign | None = None,
        arms: Arms = CPU,
        otherwise: Script | None = None,
        memory: int | None = 8 * 2**30,
        cpus: tuple[int, ...] | None = None,
        resumed: Sequence[Document] = (),
        budget_s: float | None = None,
        least_blocks: int = 0,
        **request: Any,
    ) -> Campaign:
        """A campaign as asked for, or the given one; its containers live by these scripts first."""
        self.engine = FakeEngine(
            *scripts, otherwise=otherwise or self.worker, gpu=REQUEST, memory=memory
        )
        self.arms, campaign = arms, campaign or self.plan(arms, **request)
        if self.made is None:
            self.made = Store.create(self.results, campaign.id).folder
        images = {arm.image: fake_image(arm.image) for arm in arms.run}
        means = Means(
            engine=self.engine,
            store=Store(self.folder),
            arms=arms,
            images=images,
            cpus=cpus,
            budget_s=budget_s,
            least_blocks=least_blocks,
            listener=self,
            observe=lambda *_: "nobody watches a campaign of the tests",
        )
        return CampaignRunner(
            campaign,
            means,
            AnalysisHooks(
                build_reports=lambda: self.reported.append(len(self.documents())),
                look=self.look,
                disturbed=lambda _: self.disturbances.pop(0) if self.disturbances else None,
                find_odd=lambda: look_for_odd(self.folder),
                check_first=self.look_first,
            ),
        ).run(resumed)

    def go_on(self, *, blocks: int | None = None, **how: Any) -> Campaign:
        """The rest of the campaign in the folder, or more blocks of it, with the arms that it had."""
        loaded = self.load()
        resumed = loaded.every_document
        again = resume_plan(loaded.campaign, resumed, blocks=blocks)
        assert again.stopped is None
        return self.run(campaign=again, arms=self.arms, resumed=resumed, **how)

    def look(self, block: int, most: int) -> tuple[int, int, Mapping[str, int]]:
        assert block < most
        self.looked.append(block)
        if self.looks:
            held, asked, enough = self.looks.pop(0)
            return held, asked, {"made.a": block + (not enough)}
        place = max(0, block - plan.FIRST_LOOK)
        wanted = {
            name: max(blocks[min(place, len(blocks) - 1)], block)
            for name, blocks in self.wanted.items()
        }
        return sum(blocks == block for blocks in wanted.values()), len(wanted), wanted

    def look_first(self) -> None:
        self.first_looks.append(self.documents())
        if self.unsound:
            raise UnsoundError(self.unsound, "another machine")

    def say(self, line: str) -> None:
        self.lines.append(line)

    def show(
        self, document: Document, in_flight: str | None, _blocks: int, left_s: float | None
    ) -> None:
        self.progress.append((document.invocation.block, in_flight, left_s))

    def said(self, words: str) -> int:
        """How many lines that people were told hold these words."""
        return sum(words in line for line in self.lines)

    @property
    def folder(self) -> Path:
        assert self.made is not None
        return self.made

    def load(self) -> LoadedCampaign:
        return load_campaign(self.folder)

    def report(self) -> str:
        return str(report_folder(self.folder).files["report.md"])

    def documents(self) -> list[str]:
        """The names of the invocations' files so far."""
        names = [path.stem for path in self.folder.glob("*.json")]
        return sorted(name for name in names if name != "campaign")

    @property
    def turns(self) -> list[tuple[str, bool]]:
        """Each container's arm, and whether it calibrated."""
        return [turn(job) for job in self.engine.jobs]


def turn(job: Job) -> tuple[str, bool]:
    return asked_arm(job), any(calls is None for _, calls in asked_cells(job))
