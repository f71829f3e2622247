"""What every kind of campaign does with an invocation: it is run, its document and its log are written as it
goes, and the plan holds what it took.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
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

    ``cpus`` None: all that the engine has.  The budget forbids none of the first ``least_blocks``.
    ``observe`` begins to watch an invocation from outside.
    """

    engine: Engine
    store: Store
    arms: Arms
    images: Mapping[str, Image]
    cpus: tuple[int, ...] | None
    budget_s: float | None
    least_blocks: int = 0
    listener: Listener
    observe: Observe


class Recorder:
    """A campaign that has been planned, and how its invocations are run and kept; whoever has it says which
    there are, and what is asked of their containers."""

    def __init__(self, campaign: Campaign, means: Means) -> None:
        self.means = means
        self.campaign = plan.forget_versions(campaign, means.images)
        self.cpus = allow_cpus(means.engine, means.cpus)
        self.memory_bytes = allow_memory(means.engine)
        self.budget = Budget(means.budget_s)
        self.refused: GpuError | None = None
        """Why an arm was left out; the others go on."""

    @contextlib.contextmanager
    def end_with(self, volumes: Iterable[Volume]) -> Iterator[None]:
        """Within it, invocations are run; at the end these volumes go, and the plan says why it was early.

        Raises:
            GpuError, EngineError, UnsoundError: as engine, worker or first look refuse; what was measured
                is kept.  An arm that is left out since it was refused raises after the others.
        """
        try:
            yield
        except (GpuError, UnsoundError) as error:
            # The report then says why there is no more; who goes on with it begins with that arm again.
            self.write_plan(stopped=error.what)
            raise
        finally:
            for volume in volumes:
                self.means.engine.remove_volume(volume)
        if self.refused is not None:
            raise self.refused

    def record(
        self,
        name: str,
        block: int,
        ask: Ask,
        left_s: Callable[[Document], float | None],
        *,
        repeat: int = 0,
    ) -> Document:
        """One invocation; its document and its log are written as it goes.

        ``left_s`` is what the campaign should take from a document of it on (None: nobody knows yet).
        """
        arm, means = self.campaign.arm(name), self.means
        builder = DocumentBuilder(
            means.engine,
            self.campaign,
            arm,
            block,
            repeat=repeat,
            image=means.images[arm.image],
            gpu=means.arms.gpus[arm.device] if arm.gpu else None,
            cpus=self.cpus,
            memory_bytes=self.memory_bytes,
            keep=means.store.write_document,
            show=lambda document, in_flight: means.listener.show(
                document, in_flight, self.campaign.blocks, left_s(document)
            ),
        )
        runner = InvocationRunner(means.engine, builder, means.observe, ask)
        try:
            document = runner.run()
        finally:
            for container, text in runner.stderr:
                means.store.append_log(name_invocation(name, block), f"--- {container}\n{text}")
        self.budget.book(document)
        if document.facts.get(SIMULATED) is True and not self.campaign.simulated:
            self.write_plan(simulated=True)
        return document

    def write_plan(self, **changes: Any) -> None:
        """Writes the plan with these changes, and with the time that it has taken so far."""
        campaign = replace(self.campaign, **changes)
        prediction = replace(campaign.prediction, actual_s=self.budget.spent_s)
        self.campaign = replace(campaign, prediction=prediction)
        self.means.store.write_plan(self.campaign)
