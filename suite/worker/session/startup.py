"""The start-up sequence: every invocation's one honest cold figure for each first thing.

Always in the same order (import, devices, kernel, build, clone, deep, step), so that what comes
after never pays for it.  The only file that configures TensorFlow.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from suite.worker.proof.gpu import judge_capability
from suite.worker.proof.libraries import DRIVER, explain_absence, is_loaded


class Refused(Exception):
    """This container can't be the arm that it was asked to be; the text says why."""


def start(imported_s: float = 0.0, *, gpu: bool) -> tuple[dict[str, float], str]:
    """Imports and configures TensorFlow for the arm; runs the first kernel, model and step.

    Args:
        imported_s: seconds that a part of the import has taken already (NumPy's).
        gpu: whether the arm has the GPU; without it none is visible to TensorFlow.

    Returns:
        seconds by stage, and the arm's device, ``/CPU:0`` or ``/GPU:0``.

    Raises:
        Refused: the arm needs a GPU and TensorFlow sees none.
    """
    # Said before the import, because TensorFlow reads it then; its default differs by platform.  An arm that
    # is to be without has it in its environment.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    stages: dict[str, float] = {}
    tf = _timed(stages, "import", _import)
    stages["import"] += imported_s
    try:
        return stages, _run_stages(tf, stages, gpu=gpu)
    except (tf.errors.OpError, RuntimeError) as error:
        if not gpu:
            raise
        # TensorFlow can list a GPU that no longer computes.
        text = " ".join(str(error).split())[:300]
        raise Refused(f"the GPU fails in the start-up sequence: {text}") from error


def _run_stages(tf: Any, stages: dict[str, float], *, gpu: bool) -> str:
    """Everything after the import, each stage timed; returns the arm's device."""
    device = _timed(stages, "devices", lambda: _configure(tf, gpu=gpu))
    # Here, since they need NumPy, whose import is timed as well.
    from suite.worker.scenarios.mlp import build, networks, training

    def timed(stage: str, action: Callable[[], Any]) -> Any:
        def fenced() -> Any:
            result = action()
            tf.test.experimental.sync_devices()
            return result

        return _timed(stages, stage, fenced)

    def kernel() -> None:
        with tf.device(device):
            tf.matmul(tf.ones((2, 2)), tf.ones((2, 2)))

    def clone() -> None:
        build.clone(model, device)

    def deep() -> None:
        networks.build(networks.DEEP, device)

    def first_step() -> None:
        inputs, labels = networks.examples(networks.B, 32)
        trainer = training.Trainer(networks.B, model, device)
        with tf.device(device):
            batch = tf.constant(inputs), tf.constant(labels)
        trainer.step(*batch)

    timed("kernel", kernel)
    model = timed("build", lambda: networks.build(networks.B, device))
    timed("clone", clone)
    timed("deep", deep)
    timed("step", first_step)
    tf.keras.backend.clear_session()
    return str(device)


def demand_gpu(tf: Any) -> None:
    """Raises Refused where TensorFlow lists no GPU that its build can compute on."""
    gpus = tf.config.list_physical_devices("GPU")
    build = tf.sysconfig.get_build_info()
    if not build.get("is_cuda_build", False):
        lists = "TensorFlow lists a GPU" if gpus else "TensorFlow sees no GPU here"
        raise Refused(f"{lists} (its build is for CPU only)")
    if not gpus:
        absence = explain_absence()
        raise Refused("TensorFlow sees no GPU here" + (f": {absence}" if absence else ""))
    details = tf.config.experimental.get_device_details(gpus[0])
    built = build.get("cuda_compute_capabilities") or []
    capability = details.get("compute_capability")
    refused = judge_capability(capability, built) if capability else None
    if refused is not None:
        raise Refused(refused)


def _timed(stages: dict[str, float], stage: str, action: Callable[[], Any]) -> Any:
    began = time.perf_counter_ns()
    result = action()
    stages[stage] = (time.perf_counter_ns() - began) / 1e9
    return result


def _import() -> Any:
    import tensorflow as tf

    # TensorFlow loads Keras lazily; everybody who trains pays for it, so it counts as importing.
    _ = tf.keras.Model
    return tf


def _configure(tf: Any, *, gpu: bool) -> str:
    """The same explicit settings on every arm; initialises the devices."""
    threads = len(os.sched_getaffinity(0))
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.config.experimental.enable_tensor_float_32_execution(False)
    gpus = tf.config.list_physical_devices("GPU")
    if not gpu:
        if gpus:
            tf.config.set_visible_devices([], "GPU")
        tf.config.list_logical_devices()
        return "/CPU:0"
    demand_gpu(tf)
    tf.config.set_visible_devices(gpus[:1], "GPU")
    tf.config.experimental.set_memory_growth(gpus[0], True)
    # With soft placement an operation that has no GPU kernel would quietly run on the CPU.
    tf.config.set_soft_device_placement(False)
    if tf.config.get_soft_device_placement():
        raise Refused("soft placement can't be switched off, so that work could run on the CPU")
    if not tf.config.list_logical_devices("GPU"):
        raise Refused("TensorFlow lists a GPU and can't initialise it")
    if not is_loaded(DRIVER[0]):
        raise Refused(f"TensorFlow lists a GPU without having loaded CUDA's driver ({DRIVER[0]})")
    return "/GPU:0"
