"""What a docker engine says of itself, and what follows from it: which kind it is, what it can bound.

Asks nothing: it reads the engine's two answers, ``info`` and ``version``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from suite.errors import DELEGATE, EngineError
from suite.host.docker.endpoint import Endpoint
from suite.host.engine import GpuSupport, Job
from suite.host.gpu.request import CDI_KIND, list_names
from suite.host.machine.machine import is_this_machine
from suite.host.machine.refusal import EngineKind
from suite.model import Scalar

CONTAINERD_STORE = "/var/lib/containerd"
"""Where a containerd of the system's has its images, which engines of 29 and later use by default."""

SNAPS_FOLDER = "/var/snap/docker/"
"""Where a docker that was installed as a snap keeps everything."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """An engine by its own words."""

    endpoint: Endpoint
    info: Mapping[str, Any]
    version: Mapping[str, Any]

    @property
    def is_here(self) -> bool | None:
        """See ``engine.Engine``; for how it is proven see ``machine.machine.is_this_machine``."""
        return is_this_machine(self.info) if self.endpoint.kind == "unix" else False

    @property
    def podman(self) -> tuple[int, ...] | None:
        """Podman's version, where it answers in docker's place."""
        for part in self.version.get("Components") or []:
            if "podman" in str(part.get("Name", "")).lower():
                numbers = str(part.get("Version", "")).split("-")[0].split(".")
                return tuple(int(n) for n in numbers if n.isdigit())
        return None

    @property
    def kind(self) -> EngineKind:
        """Which kind of engine it is: each is set up by commands of its own."""
        if self.podman is not None:
            return "podman"
        if self._rootless:
            return "rootless"
        if str(self.info.get("DockerRootDir") or "").startswith(SNAPS_FOLDER):
            return "snap"
        return "desktop" if self.info.get("OperatingSystem") == "Docker Desktop" else "docker"

    @property
    def _rootless(self) -> bool:
        return any("rootless" in str(option) for option in self.info.get("SecurityOptions") or [])

    @property
    def _store_type(self) -> str | None:
        status = self.info.get("DriverStatus") or []
        return dict(entry for entry in status if len(entry) == 2).get("driver-type")

    @property
    def store(self) -> str | None:
        """The folder in which it keeps its images; None: unknown.

        With containerd's image store that is containerd's folder, which lies in the engine's own only
        where the engine starts a containerd for itself, as without root.
        """
        root = str(self.info.get("DockerRootDir") or "") or None
        if not str(self._store_type).startswith("io.containerd.snapshotter"):
            return root
        address = str((self.info.get("Containerd") or {}).get("Address") or "")
        own = self._rootless or "/docker/containerd/" in address
        return f"{root}/containerd/daemon" if own and root else CONTAINERD_STORE

    @property
    def gpu_support(self) -> GpuSupport:
        """What it says about giving GPUs to containers."""
        return GpuSupport(
            devices=tuple(f"{CDI_KIND}{name}" for name in list_names(self.info)),
            cdi_folders=tuple(map(str, self.info.get("CDISpecDirs") or [])),
            runtimes=tuple(sorted(self.info.get("Runtimes") or {})),
        )

    def list_facts(self) -> dict[str, Scalar]:
        """Dotted facts for the document; never an address, host or user name."""
        info = self.info
        security = [str(option) for option in info.get("SecurityOptions") or []]
        return {
            "product": "docker" if self.podman is None else "podman",
            "version": str(info.get("ServerVersion") or "") or None,
            "api": str(self.version.get("ApiVersion") or "") or None,
            "endpoint.kind": self.endpoint.kind,
            "endpoint.here": self.is_here,
            "storage.driver": info.get("Driver"),
            "storage.type": self._store_type,
            "cgroup.version": info.get("CgroupVersion"),
            "cgroup.driver": info.get("CgroupDriver"),
            "os": info.get("OperatingSystem"),
            "kernel": info.get("KernelVersion"),
            "architecture": info.get("Architecture"),
            "cpus": info.get("NCPU"),
            "memory_bytes": info.get("MemTotal"),
            "runtime": info.get("DefaultRuntime"),
            "rootless": self._rootless,
            "binds.cpus": info.get("CPUSet"),
            "binds.memory": info.get("MemoryLimit"),
            "security": " ".join(sorted(security)) or None,
        }

    def list_cpus(self) -> tuple[int, ...]:
        """Its CPUs, of which it says only how many there are."""
        return tuple(range(int(self.info.get("NCPU") or 1)))

    @property
    def memory_bytes(self) -> int | None:
        """The memory of its machine; None where it does not say."""
        return int(self.info.get("MemTotal") or 0) or None

    @property
    def binds_cpus(self) -> bool:
        """Whether a container can be bound to some of the CPUs; not without a cpuset control group."""
        return self.info.get("CPUSet") is not False

    def refuse_unbound(self, job: Job) -> None:
        """Raises EngineError where the engine would take a set of CPUs and drop it in silence."""
        every = set(self.list_cpus())
        if not self.binds_cpus and not every <= set(job.cpus or every):
            raise EngineError(
                f"docker at {self.endpoint.where} can't bind a container to CPUs (no cpuset control "
                "group, as in rootless mode), so that CPUS= would not hold",
                f"leave `CPUS=` out; or {DELEGATE}",
            )
