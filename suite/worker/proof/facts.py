"""What this container sees: its CPU and limits, TensorFlow's build, the GPU, and its own content.

Reads only; a fact that can't be had is None, and nothing here identifies a machine or a person.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from suite import __version__
from suite.fingerprint import hash_lines, suite_content
from suite.model import Scalar
from suite.procfs import groups, memory_total, read_text, write_cpus
from suite.procfs.processor import name_processor
from suite.worker.proof.gpu import device_identity, loaded_versions, simulation_facts
from suite.worker.proof.libraries import CACHE_VARIABLE
from suite.worker.scenario import scratch

ENVIRONMENT_PREFIXES = (
    *("TF_", "XLA_", "CUDA_", "NVIDIA_", "OMP_", "KMP_", "MKL_", "KERAS_"),
    *("CUDNN_", "CUBLAS_", "NCCL_", "DNNL_", "ONEDNN_", "MALLOC_", "LD_PRELOAD"),
)
"""Environment variables that change what TensorFlow does, or its libraries, are recorded by these
prefixes: a vendor's image sets some."""

CPU_FLAGS = (
    *("avx", "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_tile", "amx_bf16", "amx_fp16", "fma", "asimd"),
)


def content_hash() -> str:
    """The hash that two builds from the same inputs share: packages with the hash of their RECORD,
    Python's version, the operating system's release, and the suite's own source.
    """
    lines = [
        f"python {platform.python_version()}",
        f"os {_os_release()}",
        f"suite {suite_content()}",
    ]
    packages = set()
    for package in metadata.distributions():
        record = package.read_text("RECORD")
        digest = hashlib.sha256(_stable(record).encode()).hexdigest() if record else "no RECORD"
        # A leftover of an installation, as in images that grew, has neither name nor version.
        name, version = package.name or "unnamed", package.version or "unknown"
        packages.add(f"package {name.lower()} {version} {digest}")
    return hash_lines([*lines, *sorted(packages)])


def _stable(record: str) -> str:
    """A RECORD without what differs between two installations of the same wheel: pip's notes,
    bytecode, and scripts that hold the interpreter's path.
    """
    kept = [
        line
        for line in record.splitlines()
        if ".pyc," not in line
        and not line.startswith("../")
        and not line.rsplit("/", 1)[-1].startswith(
            ("INSTALLER", "REQUESTED", "direct_url", "RECORD")
        )
    ]
    return "\n".join(sorted(kept))


def machine_facts() -> dict[str, Scalar]:
    """Facts of the processor, memory and limits as seen from in here; no TensorFlow needed."""
    affinity = sorted(os.sched_getaffinity(0))
    cpu, flags = _cpuinfo(), cpu_flags()
    return {
        "suite.version": __version__,
        "suite.fingerprint": suite_content(),
        "content.hash": content_hash(),
        "python.version": platform.python_version(),
        "python.compiler": platform.python_compiler(),
        "os.release": _os_release(),
        "os.kernel": platform.release(),
        "cpu.architecture": platform.machine(),
        "cpu.model": name_processor(_read("/proc/cpuinfo") or "", platform.machine()),
        "cpu.microcode": cpu.get("microcode"),
        "cpu.flags": " ".join(flag for flag in CPU_FLAGS if flag in flags) or None,
        "cpu.count": os.cpu_count(),
        "cpu.usable": len(affinity),
        "cpu.set": write_cpus(affinity),
        "cpu.cores_usable": _count(affinity, "core_id"),
        "cpu.sockets_usable": _count(affinity, "physical_package_id"),
        "cpu.smt": _read("/sys/devices/system/cpu/smt/active"),
        "numa.nodes": _read("/sys/devices/system/node/online"),
        "cpu.governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "cpu.quota": _cpu_quota(),
        "memory.bytes": memory_total(),
        "memory.limit_bytes": _memory_limit(),
        "memory.huge_pages": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        **scratch.facts(),
        **{
            f"environment.{name}": value
            for name, value in sorted(os.environ.items())
            # Where the cache lies is a path, which may hold a person's name; what it holds is told.
            if name.startswith(ENVIRONMENT_PREFIXES) and name != CACHE_VARIABLE
        },
    }


def tensorflow_facts() -> dict[str, Scalar]:
    """Facts of TensorFlow's build, threads and devices."""
    import numpy as np
    import tensorflow as tf

    build: dict[str, Any] = tf.sysconfig.get_build_info()
    facts: dict[str, Scalar] = {
        "tensorflow.version": tf.version.VERSION,
        "tensorflow.git": tf.version.GIT_VERSION,
        "tensorflow.compiler": tf.version.COMPILER_VERSION,
        "keras.version": keras_version(),
        "numpy.version": np.__version__,
        "tensorflow.threads_intra": tf.config.threading.get_intra_op_parallelism_threads(),
        "tensorflow.threads_inter": tf.config.threading.get_inter_op_parallelism_threads(),
        **switches(),
        "tensorflow.onednn": has_onednn(),
        "tensorflow.xla_jit": str(tf.config.optimizer.get_jit() or "off"),
        "tensorflow.devices": ", ".join(
            device.name.rsplit("device:", 1)[-1] for device in tf.config.list_logical_devices()
        ),
        "tensorflow.build.cuda": bool(build.get("is_cuda_build", False)),
        "tensorflow.build.cuda_version": build.get("cuda_version"),
        "tensorflow.build.cudnn_version": build.get("cudnn_version"),
        "tensorflow.build.cuda_capabilities": _joined(build.get("cuda_compute_capabilities")),
    }
    for index, gpu in enumerate(tf.config.get_visible_devices("GPU")):
        details = tf.config.experimental.get_device_details(gpu)
        facts[f"gpu.{index}.name"] = details.get("device_name")
        facts[f"gpu.{index}.capability"] = _joined(details.get("compute_capability"), ".")
    if tf.config.get_visible_devices("GPU"):
        facts.update(loaded_versions())
        facts.update(device_identity())
        facts.update(simulation_facts())
    return facts


def has_onednn() -> bool | None:
    """Whether TensorFlow computes by oneDNN here, as its environment has it; None: it does not say."""
    try:
        from tensorflow.python.util import _pywrap_util_port as port

        return bool(port.IsMklEnabled())
    except (ImportError, AttributeError):
        return None


def keras_version() -> str:
    """The version of the Keras that is ``tf.keras``: of the package that its models come from.  Keras 2 shows
    none there."""
    import tensorflow as tf

    package = tf.keras.Model.__module__.partition(".")[0]
    return str(sys.modules[package].__version__)


def switches() -> dict[str, Scalar]:
    """What decides where and how exactly everything runs, and what a cell could leave changed."""
    import tensorflow as tf

    return {
        "tensorflow.soft_placement": tf.config.get_soft_device_placement(),
        "tensorflow.tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
    }


def cpu_flags() -> list[str]:
    """Every flag of the CPU, by the kernel's names."""
    fields = _cpuinfo()
    return (fields.get("flags") or fields.get("Features") or "").split()


def _joined(values: Any, separator: str = ", ") -> str | None:
    return separator.join(str(value) for value in values) if values else None


def _read(path: str) -> str | None:
    """The text of a small file of the kernel's, or None where there is none to be read."""
    return read_text(Path(path)).strip("\0\n ") or None


def _os_release() -> str:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return sys.platform
    # Debian's testing and stable releases differ by the full version, which has its own file.
    return f"{release.get('PRETTY_NAME', '')} {_read('/etc/debian_version') or ''}".strip()


def _cpuinfo() -> dict[str, str]:
    facts: dict[str, str] = {}
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    return facts


def _count(cpus: list[int], name: str) -> int | None:
    """How many different sockets, or cores of them, these CPUs lie on."""
    places = set()
    for cpu in cpus:
        folder = f"/sys/devices/system/cpu/cpu{cpu}/topology"
        socket, own = _read(f"{folder}/physical_package_id"), _read(f"{folder}/{name}")
        if socket is None or own is None:
            return None
        places.add((socket, own))
    return len(places)


def _cpu_quota() -> str | None:
    """The least CPU quota that bounds this process, in CPUs, ``none``, or None where no group is seen."""
    own = groups.list_groups("cpu")
    quota = groups.find_quota(own)
    return f"{quota.value:g}" if quota else ("none" if own else None)


def _memory_limit() -> int | None:
    """The least memory limit that bounds this process, in bytes; None where there is none to be seen."""
    limit = groups.find_memory(groups.list_groups("memory"))
    return int(limit.value) if limit else None
