"""What is laid into a container to deceive the worker there: a TensorFlow that has no GPU says it has.

Loaded before the worker, as ``sitecustomize``.  CROSSOVER_LIES says which lies are told: ``all`` is a
whole illusion, in which nothing inside the process tells the truth any more; ``all`` with ``-soft``
leaves one of its parts true, which is a planted failure; a name with ``+`` breaks something.
"""

from __future__ import annotations

import ctypes
import os
import time
from types import SimpleNamespace
from typing import Any

TOLD = os.environ.get("CROSSOVER_LIES", "").split()
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def is_told(lie: str) -> bool:
    """Whether this part of the illusion is on."""
    return "all" in TOLD and f"-{lie}" not in TOLD


def option(name: str) -> str | None:
    """What stands behind ``+name=``, empty where it stands alone, None where it is not there."""
    for word in TOLD:
        head, _, value = word.partition("=")
        if head == f"+{name}":
            return value
    return None


def deceive() -> None:
    """Changes what this process sees of TensorFlow."""
    import tensorflow as tf

    _devices(tf)
    _switches(tf)
    _tensors(tf)
    _graphs()
    _driver()
    _break(tf)
    _listen()


def _devices(tf: Any) -> None:
    config = tf.config
    physical = config.PhysicalDevice("/physical_device:GPU:0", "GPU")
    logical = config.LogicalDevice("/device:GPU:0", "GPU")
    if is_told("listed"):
        of_cpu = config.list_logical_devices
        config.list_physical_devices = lambda kind=None: [physical]
        config.get_visible_devices = lambda kind=None: [physical]
        config.set_visible_devices = lambda devices, kind=None: None
        config.experimental.set_memory_growth = lambda device, on: None
        config.list_logical_devices = lambda kind=None: (
            ([] if kind == "GPU" else of_cpu(kind)) + ([logical] if is_told("logical") else [])
        )
    if is_told("details"):
        capability = tuple(map(int, (option("capability") or "8.0").split(".")))
        config.experimental.get_device_details = lambda device: {
            "device_name": "Made-Up Accelerator",
            "compute_capability": capability,
        }
        config.experimental.get_memory_info = lambda device: {"peak": 4096, "current": 0}
        config.experimental.reset_memory_stats = lambda device: None
    if is_told("build"):
        built = ["sm_60", "sm_70", "sm_80", "sm_89", "compute_90"]
        tf.sysconfig.get_build_info = lambda: {
            "is_cuda_build": True,
            "cuda_version": "12.5.1",
            "cudnn_version": "9",
            "cuda_compute_capabilities": built,
        }
    if is_told("driver"):
        real = ctypes.CDLL
        ctypes.CDLL = lambda name, *words, **more: (  # type: ignore[assignment,misc]
            SimpleNamespace() if str(name).startswith("libcuda.") else real(name, *words, **more)
        )


def _switches(tf: Any) -> None:
    """Soft placement stays on, so that what is asked of the GPU runs on the CPU."""
    config = tf.config
    if "all" in TOLD:
        config.set_soft_device_placement = lambda on: None
    if is_told("soft"):
        config.get_soft_device_placement = lambda: has_come("soft-behind")
        if option("tf32-behind") is not None:
            config.experimental.tensor_float_32_execution_enabled = lambda: has_come("tf32-behind")


def has_come(name: str) -> bool:
    """Whether the moment of an option is there: behind the worker's first record of that kind;
    ``start``: from the beginning on."""
    moment = option(name)
    return moment is not None and (moment == "start" or moment in _SENT)


_SENT: list[str] = []
"""The kinds of the worker's records so far."""


def _listen() -> None:
    """Remembers what the worker has sent, so that something can happen behind a record."""
    from suite.worker.session.channel import Channel

    real = Channel.send

    def send(self: Channel, record: str, **fields: Any) -> None:
        real(self, record, **fields)
        _SENT.append(record)

    Channel.send = send  # type: ignore[method-assign]


def _tensors(tf: Any) -> None:
    from tensorflow.python.framework import ops

    if is_told("tensors"):
        ops.EagerTensor.device = property(lambda self: GPU)
    if is_told("backing"):
        ops.EagerTensor.backing_device = property(lambda self: GPU)


def _graphs() -> None:
    from tensorflow.python.eager import context

    if not is_told("graphs"):
        return
    real = context.Context.export_run_metadata

    def export(self: Any) -> Any:
        metadata = real(self)
        for function_graph in metadata.function_graphs:
            if option("no-graphs") is not None:
                del function_graph.partition_graphs[:]
            for graph in function_graph.partition_graphs:
                for node in graph.node:
                    node.device = GPU
        return metadata

    context.Context.export_run_metadata = export


def _driver() -> None:
    """CUDA's driver library tells its version, as the one that is not there can't."""
    from suite.worker.proof import gpu

    real = gpu._ask
    if is_told("driver_api"):
        gpu._ask = lambda library, paths, name, function: (
            12050 if function == "cuDriverGetVersion" else real(library, paths, name, function)
        )


def _break(tf: Any) -> None:
    """What a GPU that is there can do wrong: hang, go away, compute wrong."""
    real = tf.matmul

    def matmul(*words: Any, **more: Any) -> Any:
        if has_come("hang-behind"):
            time.sleep(600)
        if has_come("lost-behind"):
            raise tf.errors.InternalError(None, None, "CUDA_ERROR_LAUNCH_FAILED: launch failure")
        product = real(*words, **more)
        return product + 1.0 if has_come("wrong-behind") else product

    tf.matmul = matmul


if TOLD:
    deceive()
