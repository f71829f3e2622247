"""What a worker's container is and may use, in the SDK's words."""

from __future__ import annotations

from typing import Any

import docker.types

from suite.host.engine import LABEL, Job
from suite.host.gpu.request import CAPABILITIES, choose_variables

USER = "10001:10001"
"""Who the worker is inside: nobody that any host knows."""

_TMP_BYTES = 2**30
_HOME_BYTES = 256 * 2**20
_LOG_BYTES = 512 * 2**20
"""Of each of two files.  Both streams share them, and where standard error fills them faster than the engine
reads them out, records are lost with the file that is turned over (seen at 64 MiB with 200 MiB of errors).
A runaway still can't fill the disk."""


def describe_container(job: Job, owner: str) -> dict[str, Any]:
    """What the container is; ``owner`` is the token of the process that runs it."""
    return {
        "command": list(job.arguments),
        "user": USER,
        "labels": {**job.labels, LABEL: "run", f"{LABEL}.owner": owner},
        "environment": {
            **choose_variables(job.gpu),
            **job.environment,
            **{volume.variable: volume.target for volume in job.volumes},
        },
        # Else what docker's client is configured with would be in it, such as a proxy's password.
        "use_config_proxy": False,
    }


def container_limits(job: Job, *, memlock: bool) -> dict[str, Any]:
    """What the container may use, in the SDK's words; ``memlock``: ask for unlimited pinned memory.

    CPUs are a set and never a quota, since TensorFlow sizes its thread pools by affinity; memory
    includes swap, so that a cell fails instead of crawling.
    """
    limits: dict[str, Any] = {
        "init": True,
        "network_mode": "none",
        "read_only": True,
        "tmpfs": {
            "/tmp": f"rw,nosuid,nodev,size={_TMP_BYTES},mode=1777",  # noqa: S108 - inside
            "/home/crossover": f"rw,nosuid,nodev,size={_HOME_BYTES},mode=1777",
        },
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        # TensorFlow starts several threads a CPU; this stops a runaway, never a large machine.
        "pids_limit": max(4096, 64 * len(job.cpus)),
        "shm_size": 2**30,
        "log_config": docker.types.LogConfig(
            type="json-file", config={"max-size": str(_LOG_BYTES), "max-file": "2"}
        ),
    }
    if job.volumes:
        # A fresh one takes its owner from the image's folder.
        limits["mounts"] = [
            docker.types.Mount(target=volume.target, source=volume.name, type="volume")
            for volume in job.volumes
        ]
    if job.cpus:
        limits["cpuset_cpus"] = ",".join(str(cpu) for cpu in job.cpus)
    if job.memory_bytes is not None:
        limits["mem_limit"] = limits["memswap_limit"] = job.memory_bytes
    if job.gpu is not None:
        # The devices are named, so that no other is taken.
        how = {"driver": "cdi"} if job.gpu.driver == "cdi" else {"capabilities": [CAPABILITIES]}
        asked = docker.types.DeviceRequest(device_ids=list(job.gpu.devices), **how)
        limits["device_requests"] = [asked]
        if memlock:
            limits["ulimits"] = [docker.types.Ulimit(name="memlock", soft=-1, hard=-1)]
    return limits
