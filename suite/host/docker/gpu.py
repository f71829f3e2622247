"""Asking a docker engine for its GPU: chooses the request, and proves it with trivial containers.

Stands behind ``DockerEngine``'s methods; of docker it needs only that Python
can be run in a container.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from suite.errors import GpuError, NoGpuError
from suite.host.docker.connection import Description
from suite.host.engine import Card, GpuRequest
from suite.host.gpu.choice import Choice, find_choice, find_whole
from suite.host.gpu.refusals import GROUPS, TRY_TOOLKIT, reword
from suite.host.gpu.remedies import RefusedGpu
from suite.host.gpu.request import (
    ALL,
    CDI_KIND,
    CUDA_PROBE,
    GPU_PROBE,
    HARDWARE_PROBE,
    WSL_NODE,
    choose_request,
    list_names,
    request_cdi,
    request_hook,
    unlisted_name,
)
from suite.host.gpu.visible_devices import (
    DRIVER_PROBE,
    machine_cards,
    machine_gpus,
    no_gpu,
    read_probe,
)
from suite.procfs import VERSION_PROBE, find_version, read_version

Ask = Callable[[str, "GpuRequest | None"], tuple[list[str], str]]
"""Runs this Python in a trivial container: what it prints, by lines, and how it ended."""

_WAYS = {"cdi": "CDI", "nvidia": "NVIDIA's hook"}


@dataclass(frozen=True)
class GpuSearch:
    """The search for a GPU on an engine: what is known of that engine, and how to ask it."""

    engine: Description
    ask: Ask

    def find(self, wanted: str) -> GpuRequest:
        """See ``engine.Engine.find_gpu``."""
        if self.engine.is_here and not machine_gpus():
            raise no_gpu()
        self.refuse_deaf()
        # Elsewhere listing takes a container, and a number is what the engine can judge itself.
        cards = self.list_cards() if self.engine.is_here or not wanted.isdigit() else ()
        choice = find_choice(cards, wanted)
        podman = self.engine.podman is not None
        request = choose_request(self.engine.info, choice, podman=podman)
        try:
            request, nodes = self._prove(request, choice)
        except GpuError as error:
            # A hook that wants CDI is there because a GPU is, and what is here is known to have one.
            known = _other(error) == "cdi" or self._may_be_of_here()
            if known or self.ask(HARDWARE_PROBE, None)[0]:
                raise
            raise NoGpuError(
                # No address here: this text may enter a document as the reason for a missing arm.
                "no NVIDIA GPU on the engine's machine: a container there sees none on the PCI "
                "bus nor in the driver's list, and the engine refused a request for one",
                f"if there is one: {error.what}; {error.remedy}",
            ) from error
        if nodes == [WSL_NODE] or request.devices == (ALL,):
            request = self._narrow(request, choice, several=len(cards) > 1)
        name = request.devices[0].removeprefix(CDI_KIND)
        if self.engine.is_here:
            kernel_driver = read_version()
        else:
            # As a container with the GPU sees it.
            kernel_driver = find_version("\n".join(self.ask(VERSION_PROBE, request)[0]))
        return replace(
            request, kernel_driver=kernel_driver, uuid=request.uuid or find_whole(choice, name)
        )

    def list_cards(self) -> tuple[Card, ...]:
        """See ``engine.Engine.list_gpus``; elsewhere a trivial container reads the driver's list
        there, which needs no request for a GPU."""
        if self.engine.is_here:
            return machine_cards()
        return read_probe(self.ask(DRIVER_PROBE, None)[0])

    def refuse_deaf(self) -> None:
        """Raises GpuError for a podman that takes a request for a GPU and drops it."""
        if self.engine.podman is not None and self.engine.podman < (5, 4):
            raise GpuError(
                f"podman {'.'.join(map(str, self.engine.podman))} at "
                f"{self.engine.endpoint.where} takes a request for a GPU and runs without the GPU",
                "podman 5.4 or newer (`podman --version`), or docker: "
                "`DOCKER_HOST=unix:///var/run/docker.sock make bench`",
            )

    def _may_be_of_here(self) -> bool:
        """Whether the GPU is this machine's: the engine is here, or may be and this machine shows one, as
        with Docker Desktop."""
        here = self.engine.is_here
        return here is True or (here is None and bool(machine_gpus()))

    def _prove(self, request: GpuRequest, choice: Choice) -> tuple[GpuRequest, list[str]]:
        """The request that works, this one or the other way's, and the device nodes that it gives.

        Raises:
            GpuError: neither does; where both were tried, both texts are told.
        """
        try:
            return request, self._probe(request)
        except GpuError as first:
            other = self._other_way(request, choice, first)
            if other is None:
                raise
            way = _WAYS[other.driver]
            try:
                return other, self._probe(other)
            except GpuError as second:
                # What the hook wants for CDI is in its own remedy; not so the other way about.
                more = f"; or, for {way}: {second.remedy}" if request.driver == "cdi" else ""
                raise RefusedGpu(
                    f"{first.what}; then asked through {way}: {second.what}",
                    first.remedy + more,
                    first.row if isinstance(first, RefusedGpu) else None,
                ) from second

    def _other_way(self, request: GpuRequest, choice: Choice, error: GpuError) -> GpuRequest | None:
        """What to try after such a refusal; None: nothing else may work."""
        if request.driver != "cdi":
            return request_cdi(unlisted_name(choice)) if _other(error) == "cdi" else None
        if list_names(self.engine.info) or _other(error) != "hook":
            return None
        if self.engine.podman is None:
            return request_hook(choice)
        # WSL's specification has no other name, and podman does not list what it has.
        on_wsl = self.engine.is_here is not False and machine_gpus() == ("dxg",)
        return request_cdi("all") if on_wsl else None

    def _probe(self, request: GpuRequest) -> list[str]:
        """The device nodes that a container gets by it.

        Raises:
            GpuError: the engine refuses the request, or takes it and does nothing.
        """
        seen, phrase = self.ask(GPU_PROBE, request)
        if not seen:
            check = f"check the NVIDIA container toolkit: {reword(TRY_TOOLKIT, self.engine.kind)}"
            raise GpuError(
                f"the engine at {self.engine.endpoint.where} took the request for a GPU "
                f"({request.driver}), and its container sees no device ({phrase}; looked in /dev)",
                GROUPS["snap"][0].remedy if self.engine.kind == "snap" else check,
            )
        return seen

    def _narrow(self, request: GpuRequest, choice: Choice, *, several: bool) -> GpuRequest:
        """The request with what CUDA is to be told where the container gets every GPU there is.

        So it is on WSL, whose one node stands for all of them, whatever was asked for.

        Raises:
            GpuError: CUDA does not see just the GPU that is wanted.
        """
        seen: list[str] = []
        for name in sorted(choice.names, key=lambda name: "-" not in name):  # UUIDs first
            narrowed = replace(request, visible=name)
            seen = self.ask(CUDA_PROBE, narrowed)[0]
            if len(seen) == 1 and choice.fits(seen[0]):
                return replace(narrowed, uuid=f"GPU-{seen[0]}" if "-" in choice.wanted else None)
        if not seen and not several:
            # CUDA does not answer so small a program; TensorFlow's own proof is still to come.
            return replace(request, visible=choice.numbers or choice.wanted)
        raise GpuError(
            f"the engine at {self.engine.endpoint.where} gives every GPU of its machine to a container "
            f"(as on WSL), and CUDA there can't be held to {choice.wanted}: it sees {len(seen)} GPUs with it"
            + (" that are not the one" if len(seen) == 1 else ""),
            "`nvidia-smi -L` lists them; name another with GPU=, by number or UUID",
        )


def _other(error: GpuError) -> str | None:
    """The other way that may work after such a refusal: ``cdi``, or ``hook``."""
    return error.row.instead if isinstance(error, RefusedGpu) and error.row else None
