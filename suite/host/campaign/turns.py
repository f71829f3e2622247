"""One arm's turn in a block: what it is given on this engine, and where what it said is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.host.campaign.draft import InvocationSpec, Watch
from suite.host.campaign.recorder import Recorder
from suite.host.campaign.store import Store
from suite.host.engine import Engine, GpuRequest
from suite.host.watch.observe import Observe
from suite.model import Campaign, Document, Image


@dataclass(frozen=True)
class Turns:
    """The invocations of a campaign, controls among them, on its engine.

    ``gpus`` says how each arm is given its GPU.  ``observe`` begins to watch an invocation from
    outside; None: nobody does.
    """

    engine: Engine
    store: Store
    gpus: Mapping[str, GpuRequest | None]
    images: Mapping[str, Image]
    cpus: tuple[int, ...]
    memory_bytes: int | None
    observe: Observe | None

    def take(
        self, campaign: Campaign, name: str, block: int, repeat: int, watch: Watch
    ) -> Document:
        """Runs one invocation; its document and its log are written as it goes.

        Raises:
            GpuError, EngineError: as `Recorder.run`.
        """
        arm = campaign.arm(name)
        of_plan = name if name in campaign.arms else str(arm.of)
        spec = InvocationSpec(
            campaign=campaign,
            arm=arm,
            block=block,
            repeat=repeat,
            image=self.images[arm.image],
            gpu=self.gpus[of_plan] if arm.gpu else None,
            cpus=self.cpus,
            memory_bytes=self.memory_bytes,
        )
        recorder = Recorder(
            self.engine,
            spec,
            keep=self.store.write_document,
            watch=watch,
            observe=self.observe,
        )
        try:
            return recorder.run()
        finally:
            for container, diary in recorder.diaries:
                self.store.append_log(f"{name}-{block:02d}", f"--- {container}\n{diary}")
