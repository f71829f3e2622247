"""What every kind of campaign does with an invocation: it is run, its document and its log are written as it
goes, and the plan holds what it took.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from suite.errors import GpuError, UnsoundError
from suite.host.campaign import plan
from suite.host.campaign.arms import Arms
from suite.host.campaign.document_builder import DocumentBuilder
from suite.host.campaign.durations import Budget
from suite.host.campaign.invocation_runner import Ask, InvocationRunner
from suite.host.campaign.listener import Listener
from suite.host.campaign.store import Store
from suite.host.engine import Engine, Volume
from suite.host.provision.resources import allow_cpus, allow_memory
from suite.host.telemetry.observer import Observe
from suite.model import SIMULATED, Campaign, Document, Image, name_invocation


@dataclass(frozen=True, kw_only=True)
class Means:
    """What a campaign runs by: its engine, arms and their images by name, and where it is kept and shown.

    ``cpus`` None: all that the engine has.  ``observe`` begins to watch an invocation from outside.
    """

    engine: Engine
    store: Store
    arms: Arms
    images: Mapping[str, Image]
    cpus: tuple[int, ...] | None
    budget_s: float | None
    listener: Listener
    observe: Observe


class Recorder:
    """A campaign that has been planned, and how its invocations are run and kept.

    A kind of campaign says which there are (`run_blocks`), what is asked of their containers (`ask`), how to
    `show` one under way, and which ``volumes`` go with the campaign.
    """

    def __init__(self, campaign: Campaign, means: Means) -> None:
        self.engine, self.store, self.means = means.engine, means.store, means
        self.campaign = plan.forget_versions(campaign, means.images)
        self.arms = [*campaign.arms, *plan.control_arms(campaign)]
        self.cpus = allow_cpus(self.engine, means.cpus)
        self.memory_bytes = allow_memory(self.engine)
        self.budget = Budget(means.budget_s)
        self.listener = means.listener
        self.refused: GpuError | None = None

    def run(self, resumed: Sequence[Document] = ()) -> Campaign:
        """Runs every invocation that ``resumed`` does not hold complete; writes as it goes.

        Returns:
            the plan as it is at the end.

        Raises:
            GpuError, EngineError, UnsoundError: as engine, worker or first look refuse; what was measured
                is kept.  An arm that is left out since it was refused raises after the others.
        """
        try:
            self.run_blocks(resumed)
        except (GpuError, UnsoundError) as error:
            # The report then says why there is no more; who goes on with it begins with that arm again.
            self.write_plan(stopped=error.what)
            raise
        finally:
            for volume in self.volumes:
                self.engine.remove_volume(volume)
        if self.refused is not None:
            raise self.refused
        return self.campaign

    def run_blocks(self, resumed: Sequence[Document]) -> None:
        """Runs the invocations; raises as `run`."""
        raise NotImplementedError

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """Those that go with the campaign."""
        raise NotImplementedError

    def ask(self, arm: str, block: int) -> Ask:
        """What is asked of the containers of an invocation."""
        raise NotImplementedError

    def show(self, document: Document, in_flight: str | None) -> None:
        """An invocation is further on."""
        raise NotImplementedError

    def record(self, name: str, block: int, repeat: int = 0) -> Document:
        """One invocation; its document and its log are written as it goes."""
        arm, means = self.campaign.arm(name), self.means
        builder = DocumentBuilder(
            self.engine,
            self.campaign,
            arm,
            block,
            repeat=repeat,
            image=means.images[arm.image],
            gpu=means.arms.gpus[arm.device] if arm.gpu else None,
            cpus=self.cpus,
            memory_bytes=self.memory_bytes,
            keep=self.store.write_document,
            show=self.show,
        )
        runner = InvocationRunner(self.engine, builder, means.observe, self.ask(name, block))
        try:
            document = runner.run()
        finally:
            for container, text in runner.stderr:
                self.store.append_log(name_invocation(name, block), f"--- {container}\n{text}")
        self.budget.book(document)
        if document.facts.get(SIMULATED) is True and not self.campaign.simulated:
            self.write_plan(simulated=True)
        return document

    def write_plan(self, **changes: Any) -> None:
        """Writes the plan with these changes, and with the time that it has taken so far."""
        campaign = replace(self.campaign, **changes)
        prediction = replace(campaign.prediction, actual_s=self.budget.spent_s)
        self.campaign = replace(campaign, prediction=prediction)
        self.store.write_plan(self.campaign)
