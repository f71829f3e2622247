"""What a worker's container is and may use, in the SDK's words."""

from __future__ import annotations

from typing import Any

import docker.types

from suite.host.docker.volumes import mount_volumes
from suite.host.engine import LABEL, GpuRequest, Job
from suite.host.gpu.request import CAPABILITIES

USER = "10001:10001"
"""Who the worker is inside: nobody that any host knows."""

_TMP_BYTES = 2**30
_HOME_BYTES = 256 * 2**20
_LOG_BYTES = 512 * 2**20
"""Of each of two files.  Both streams share them, and where standard error fills them faster than the engine
reads them out, records are lost with the file that is turned over (seen at 64 MiB with 200 MiB of errors).
A runaway still can't fill the disk."""


def job_labels(job: Job, owner: str) -> dict[str, str]:
    """The labels of a job's container; ``owner`` is the token of the process that runs it."""
    return {**job.labels, LABEL: "run", f"{LABEL}.owner": owner}


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
        limits["mounts"] = mount_volumes(job)
    if job.cpus:
        limits["cpuset_cpus"] = ",".join(str(cpu) for cpu in job.cpus)
    if job.memory_bytes is not None:
        limits["mem_limit"] = limits["memswap_limit"] = job.memory_bytes
    if job.gpu is not None:
        limits["device_requests"] = [device_request(job.gpu)]
        if memlock:
            limits["ulimits"] = [docker.types.Ulimit(name="memlock", soft=-1, hard=-1)]
    return limits


def device_request(gpu: GpuRequest) -> Any:
    """The engine's words for a GPU request; the devices are named, so that no other is taken."""
    if gpu.driver == "cdi":
        return docker.types.DeviceRequest(driver="cdi", device_ids=list(gpu.devices))
    return docker.types.DeviceRequest(device_ids=list(gpu.devices), capabilities=[CAPABILITIES])
