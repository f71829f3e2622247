"""What a docker engine has, looked up without building, fetching or running anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suite.host.docker import build
from suite.host.docker.connect import Daemon
from suite.host.docker.errors import Refused
from suite.host.docker.volumes import LASTING, list_volumes
from suite.host.engine import GpuSupport, Stock
from suite.host.provision.images import Recipe, identify_base


def take_stock(daemon: Daemon, recipe: Recipe) -> Stock:
    """What the engine has of that recipe's image.

    Raises:
        EngineError: it does not answer.
    """
    base = recipe.base
    here = build.find_image(daemon, base)
    identity = identify_base(recipe) or here
    image, room, recorded = None, recipe.free_bytes, ("", "")
    if identity is not None:
        plan = build.plan_on(daemon, recipe, identity)
        known = build.list_images(daemon)
        image = build.find_built(plan, known)
        recorded = (plan.base, plan.lock)
        has_all = (
            here if recipe.lock is None else build.has_layers(plan, [i["Labels"] for i in known])
        )
        room = 0 if image or has_all else room
    caches = list_volumes(daemon, LASTING) if image else ()
    return Stock(
        name=recipe.name,
        image=image,
        base=base,
        base_here=here is not None,
        room_bytes=room,
        from_lock=recipe.lock is not None,
        recorded=recorded,
        caches=tuple(sorted(one["Name"] for one in caches)),
    )


def reach_base(daemon: Daemon, reference: str, *, laid: bool) -> bool | None:
    """Whether the registry of a base image answers the engine for it; None: this engine can't be
    asked that, as podman.  ``laid`` as in `build.refuse_base`.

    Raises:
        EngineError: the registry refuses or is out of reach; names the ways out.
    """
    try:
        with daemon.calls("asking the registry for the base image"):
            daemon.api.inspect_distribution(reference)
    except Refused as refused:
        if refused.missing and "page not found" in refused.text.lower():
            return None
        raise build.refuse_base(daemon, reference, refused.text, laid=laid) from refused
    return True


CONTAINERD_STORE = "/var/lib/containerd"
"""Where a containerd of the system's has its images, which engines of 29 and later use by default."""


def find_store(info: Mapping[str, Any]) -> str | None:
    """The folder in which the engine that gives this ``info`` keeps its images; None: not told.

    With containerd's image store that is containerd's folder, which lies in the engine's own only
    where the engine starts a containerd for itself, as without root.
    """
    root = str(info.get("DockerRootDir") or "") or None
    status = [tuple(entry) for entry in info.get("DriverStatus") or []]
    by_containerd = any(
        entry[0] == "driver-type" and str(entry[-1]).startswith("io.containerd.snapshotter")
        for entry in status
        if entry
    )
    if not by_containerd:
        return root
    address = str((info.get("Containerd") or {}).get("Address") or "")
    rootless = any("rootless" in str(option) for option in info.get("SecurityOptions") or [])
    own = rootless or "/docker/containerd/" in address
    return f"{root}/containerd/daemon" if own and root else CONTAINERD_STORE


def gpu_support(info: Mapping[str, Any]) -> GpuSupport:
    """What the engine that gives this ``info`` says about giving GPUs to containers."""
    devices = [str(one.get("ID", "")) for one in info.get("DiscoveredDevices") or []]
    return GpuSupport(
        devices=tuple(one for one in devices if one.startswith("nvidia.com/gpu=")),
        cdi_folders=tuple(map(str, info.get("CDISpecDirs") or [])),
        runtimes=tuple(sorted(info.get("Runtimes") or {})),
    )
