"""One arm's turn in a block: what it is given on this engine, and where what it said is kept."""

from __future__ import annotations

from collections.abc import Mapping

from suite.host.campaign.arms import Arms
from suite.host.campaign.draft import InvocationSpec, Watch
from suite.host.campaign.recorder import Recorder
from suite.host.campaign.store import Store
from suite.host.engine import Engine
from suite.host.provision.limits import allow_cpus, allow_memory
from suite.host.watch.observe import Observe
from suite.model import Campaign, Document, Image


class Turns:
    """The invocations of a campaign, controls among them, on its engine.

    ``observe`` begins to watch an invocation from outside; None: nobody does.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        campaign: Campaign,
        arms: Arms,
        images: Mapping[str, Image],
        *,
        cpus: tuple[int, ...] | None,
        observe: Observe | None,
    ) -> None:
        self._engine = engine
        self._store = store
        self._gpus = arms.gpu
        self._images = images
        self._cpus = allow_cpus(engine, cpus)
        self._memory_bytes = allow_memory(engine, campaign.at_once)
        self._observe = observe

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
            image=self._images[arm.image],
            gpu=self._gpus[of_plan] if arm.gpu else None,
            cpus=self._cpus,
            memory_bytes=self._memory_bytes,
        )
        recorder = Recorder(
            self._engine,
            spec,
            keep=self._store.write_document,
            watch=watch,
            observe=self._observe,
        )
        try:
            return recorder.run()
        finally:
            for container, diary in recorder.diaries:
                self._store.append_log(f"{name}-{block:02d}", f"--- {container}\n{diary}")
