"""Runs the worker in containers of a docker engine, here or elsewhere.

This folder is the only one that imports docker; this file is its door, and no exception of the SDK comes
out of it.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from suite.errors import GpuError
from suite.host.docker import build, leftovers
from suite.host.docker.connection import Refused, ask_who, connect, docker_endpoint
from suite.host.docker.gpu import GpuSearch
from suite.host.docker.leftovers import discard_volume
from suite.host.docker.run import DockerRun, fill_volume, start_run
from suite.host.engine import Card, EngineKind, GpuRequest, GpuSupport, Job, Say, Stock, Volume
from suite.host.gpu.choice import FIRST
from suite.host.machine.deadlines import PROBE_S
from suite.host.machine.machine import cpus_allowed, own_token
from suite.host.provision.custom_image import CUSTOM, add_digest, overlay_on
from suite.host.provision.image_table import ImageSpec, demand_wheels, find_spec
from suite.host.provision.images import add_packages, follow, is_pinned
from suite.model import Image, Isolation, Scalar
from suite.procfs import read_version


class DockerEngine:
    """A docker engine (see ``engine.Engine``).

    ``base_image`` replaces the pinned base; None: BASE_IMAGE, where it is set.  ``cuda_image`` is
    CUDA_IMAGE: what the suite is laid on in place of the CUDA image from the lock.  ``patience_s``:
    how long each of its answers is waited for; None: as long as a campaign should.
    """

    name = "docker"
    """Also where podman answers in its place."""

    isolation: Isolation = "container"

    def __init__(
        self,
        base_image: str | None = None,
        *,
        cuda_image: str | None = None,
        patience_s: float | None = None,
    ) -> None:
        """Connects.

        Raises:
            EngineError: there is none, it does not answer, or this user may not talk to it.
        """
        self._base_image = base_image or os.environ.get("BASE_IMAGE") or None
        self._cuda_image = cuda_image
        self._probe_s = patience_s or PROBE_S
        self._daemon = connect(docker_endpoint(), patience_s)
        weakref.finalize(self, self._daemon.api.close)
        self._owner = own_token()
        self._memlock: str = "not asked for"
        self._description = ask_who(self._daemon)
        self.kind: EngineKind = self._description.kind
        self.is_here: bool | None = self._description.is_here
        self.data_root: str | None = self._description.store if self.is_here else None

    @property
    def _gpu_search(self) -> GpuSearch:
        return GpuSearch(self._description, self._ask)

    def close(self) -> None:
        """Lets go of the connections; otherwise that happens with the engine's last reference."""
        self._daemon.api.close()

    def describe(self) -> dict[str, Scalar]:
        """See ``engine.Engine``."""
        return {**self._description.list_facts(), "memlock": self._memlock}

    def cpus(self) -> tuple[int, ...]:
        """See ``engine.Engine``; an engine elsewhere says only how many it has."""
        return cpus_allowed() if self.is_here else self._description.cpus

    def memory_bytes(self) -> int | None:
        """See ``engine.Engine``."""
        return int(self._description.info.get("MemTotal") or 0) or None

    def take_stock(self, name: str) -> Stock:
        """See ``engine.Engine``."""
        return build.take_stock(self._daemon, self._find_spec(name))

    def reach_base(self, reference: str) -> bool | None:
        """See ``engine.Engine``."""
        laid = self._cuda_image is not None and reference.startswith(self._cuda_image)
        return build.reach_base(self._daemon, reference, laid=laid)

    def look_at_leftovers(self) -> None:
        """See ``engine.Engine``."""
        leftovers.look(self._daemon, time.time())

    def has_probe_image(self) -> bool:
        """See ``engine.Engine``."""
        base = self._find_spec("cpu").base
        return bool(leftovers.list_images(self._daemon) or leftovers.find_image(self._daemon, base))

    def gpu_support(self) -> GpuSupport:
        """See ``engine.Engine``."""
        return self._description.gpu_support

    def demand(self, names: Iterable[str], progress: Say) -> None:
        """See ``engine.Engine``.

        Raises:
            UsageError: there is no image of one of these names.
        """
        architecture = self._description.info.get("Architecture")
        specs = []
        for name in names:
            if name == CUSTOM:
                self.settle_custom(progress)
            specs.append(self._find_spec(name))
            if architecture and not specs[-1].laid:
                demand_wheels(specs[-1], str(architecture))
        build.demand_images(self._daemon, specs, progress, self.data_root)

    def provide(
        self, name: str, progress: Say, *, packages: Path | None = None, fresh: bool = False
    ) -> Image:
        """See ``engine.Engine``; ``fresh`` builds past every cache.

        Raises:
            UsageError: there is no image of that name.
        """
        if name == CUSTOM:
            self.settle_custom(progress)
        how: dict[str, Any] = {"data_root": self.data_root, "fresh": fresh}
        image = build.provide_image(self._daemon, self._find_spec(name), progress, **how)
        if packages is None:
            return image
        spec = add_packages(name, image, packages)
        added = build.provide_image(self._daemon, spec, progress, **how)
        return replace(added, base=image.base, lock=image.lock)

    def settle_custom(self, progress: Say) -> str | None:
        """See ``engine.Engine``."""
        if self._cuda_image is None:
            return None
        spec = self._find_spec(CUSTOM)
        if not is_pinned(spec.base):
            build.ensure_base(self._daemon, spec, progress, self.data_root)
        return self._find_spec(CUSTOM).base

    def _find_spec(self, name: str) -> ImageSpec:
        """What an image is to be made from, as it was asked for and by what is known here now."""
        spec = find_spec(name)
        if self._cuda_image is None or name != CUSTOM:
            return follow(spec, self._base_image)
        digests = leftovers.find_digests(self._daemon, self._cuda_image)
        return overlay_on(spec, add_digest(self._cuda_image, digests))

    def find_gpu(self, wanted: str | None) -> GpuRequest:
        """See ``engine.Engine``.

        Asks with a trivial container of an image that is here already (else of the base, which is
        pulled), since the engine refuses only at start; then looks for the device inside, since
        some accept the request and do nothing.
        """
        return self._gpu_search.find(wanted or FIRST)

    def list_gpus(self) -> tuple[Card, ...]:
        """See ``engine.Engine``."""
        return self._gpu_search.list_cards()

    def _probe_image(self) -> str:
        known = leftovers.list_images(self._daemon)
        if known:
            return str(known[0]["Id"])
        return build.ensure_base(self._daemon, self._find_spec("cpu"), lambda _line: None, None)

    def _ask(self, code: str, gpu: GpuRequest | None) -> tuple[list[str], str]:
        """What a trivial container that runs this Python prints, by lines, and how it ended."""
        job = Job(
            image=Image(
                id=self._probe_image(), content=None, base="", digests=[], lock="", origin="probe"
            ),
            arguments=("-c", code),
            cpus=(),
            gpu=gpu,
        )
        run = self.start(job, entrypoint=("python3",))
        deadline = time.monotonic() + self._probe_s
        try:
            lines = list(iter(lambda: run.next_line(deadline - time.monotonic()), None))
        except TimeoutError as error:
            run.close()
            raise GpuError(
                f"a trivial container did not answer within {self._probe_s:.0f} s",
                "`nvidia-smi` must work on the engine's machine, outside any container",
            ) from error
        except BaseException:
            run.abandon()
            raise
        return lines, run.close().phrase

    def start(self, job: Job, *, entrypoint: tuple[str, ...] = ()) -> DockerRun:
        """See ``engine.Engine``; ``entrypoint`` replaces the image's own.

        Raises:
            GpuError: the engine refused the GPU.
        """
        self._description.refuse_unbound(job.cpus)
        if job.gpu is not None:
            self._gpu_search.refuse_deaf()
        memlock = job.gpu is not None and self._memlock != "refused"
        how: dict[str, Any] = {"owner": self._owner, "kind": self.kind, "entrypoint": entrypoint}
        try:
            run = start_run(self._daemon, job, memlock=memlock, **how)
        except Refused:
            # An engine that itself has no right to lift the limit can't give it away.
            self._memlock = "refused"
            return self.start(job, entrypoint=entrypoint)
        if memlock:
            self._memlock = "unlimited"
        return run

    def fill(self, volume: Volume, archive: bytes, image: Image) -> None:
        """See ``engine.Engine``."""
        fill_volume(self._daemon, volume, archive, image, owner=self._owner)

    def remove_volume(self, volume: Volume) -> None:
        """See ``engine.Engine``."""
        discard_volume(self._daemon, volume.name)

    def claim(self) -> str | None:
        """See ``engine.Engine``: the mark is a volume, which only one can make."""
        return leftovers.claim(self._daemon, self._owner, time.time())

    def release(self) -> None:
        """See ``engine.Engine``."""
        leftovers.release(self._daemon, self._owner)

    def sweep_leftovers(self) -> int:
        """See ``engine.Engine``; also running ones, where their owner is proven to be dead.

        Raises:
            EngineError: the engine does not answer.
        """
        driver = read_version() if self.is_here else None
        return leftovers.sweep(self._daemon, time.time(), kernel_driver=driver)

    def remove_everything(self) -> dict[str, int]:
        """Removes every container, image and volume with this project's label; how many of each.

        Raises:
            EngineError: the engine does not answer, or refuses.
        """
        return leftovers.remove_everything(self._daemon)

    def make_base(self, python: str, progress: Say) -> str:
        """The stand-in base with that Python, made now or reused; its id.

        Raises:
            EngineError: it can't be made here, or the engine refused it.
        """
        return build.make_base(self._daemon, python, progress)
