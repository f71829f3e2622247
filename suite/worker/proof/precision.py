"""Precisions: which of them a device computes by itself, and TF32's switch, which only this file turns on.

TensorFlow multiplies bf16 and fp16 on any device; where the device has no such arithmetic it converts
and emulates, and the time is that of the emulation (docs/decisions/0014).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from suite.worker.proof.facts import cpu_flags
from suite.worker.scenario.scenario import Inapplicable

STORED: Mapping[str, str] = {
    "fp32": "float32",
    "tf32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
}
"""The type in which a precision's operands and product are stored."""

CAPABILITIES: Mapping[str, tuple[int, int]] = {"tf32": (8, 0), "bf16": (8, 0), "fp16": (7, 0)}
"""The first compute capability whose tensor cores have the precision: Volta for fp16, Ampere for the
others (CUDA C++ Programming Guide, "Compute Capabilities")."""

INSTRUCTIONS: Mapping[str, tuple[str, ...]] = {
    "bf16": ("avx512_bf16", "amx_bf16"),
    "fp16": ("avx512_fp16", "amx_fp16"),
}
"""The CPU flags of which one is enough for oneDNN to multiply in the precision without converting to
float32 first.  TensorFlow has oneDNN on x86 only, so that no flag of another architecture stands here."""


def explain_lack(
    precision: str, *, capability: tuple[int, int] | None, flags: Collection[str]
) -> str | None:
    """Why a device lacks a precision; None: it has it.

    Args:
        precision: one of `STORED`.
        capability: the GPU's compute capability; None: the device is the CPU.
        flags: the CPU's flags.

    Raises:
        ValueError: there is no such precision.
    """
    if precision not in STORED:
        raise ValueError(f"no such precision: {precision}")
    if precision == "fp32":
        return None
    if capability is not None:
        least = CAPABILITIES[precision]
        if capability >= least:
            return None
        return (
            f"GPUs have {precision} from compute capability {_dotted(least)} on; "
            f"this one has {_dotted(capability)}"
        )
    if precision not in INSTRUCTIONS:
        return f"a CPU has no {precision}: TensorFlow would compute in fp32"
    if set(INSTRUCTIONS[precision]) & set(flags):
        return None
    return (
        f"this CPU has no arithmetic for {precision} (none of {', '.join(INSTRUCTIONS[precision])}): "
        "TensorFlow would emulate it"
    )


def demand(precision: str, device: str) -> None:
    """Lets a cell go on only where its device has the precision.

    Args:
        precision: one of `STORED`.
        device: ``/CPU:0`` or ``/GPU:0``.

    Raises:
        Inapplicable: it does not; the text says why.
    """
    if precision == "fp32":
        return
    capability = None if device == "/CPU:0" else _capability()
    lack = explain_lack(precision, capability=capability, flags=cpu_flags())
    if lack is not None:
        raise Inapplicable(lack)


def switch(precision: str) -> Callable[[], None]:
    """Turns TF32 on for a cell of that precision; for another it does nothing.

    The switch is the process's, and kernels read it when they run: whoever calls this does so when
    nothing more can fail before the cell's ``close``, which has to call what this returns.

    Returns:
        what turns it off again.
    """
    if precision != "tf32":
        return lambda: None
    import tensorflow as tf

    set_it = tf.config.experimental.enable_tensor_float_32_execution
    set_it(True)
    return lambda: set_it(False)


def find_default(device: str) -> str:
    """The precision in which TensorFlow multiplies float32 matrices on a device as this process is set up:
    a script that leaves TF32's switch alone gets TF32 from Ampere on."""
    import tensorflow as tf

    on = device != "/CPU:0" and tf.config.experimental.tensor_float_32_execution_enabled()
    return "tf32" if on and _capability() >= CAPABILITIES["tf32"] else "fp32"


def _capability() -> tuple[int, int]:
    """The compute capability of the GPU that TensorFlow uses here; (0, 0) where it won't tell."""
    import tensorflow as tf

    (gpu,) = tf.config.get_visible_devices("GPU")
    capability: Any = tf.config.experimental.get_device_details(gpu).get("compute_capability")
    return (0, 0) if capability is None else (int(capability[0]), int(capability[1]))


def _dotted(capability: tuple[int, int]) -> str:
    return "unknown" if capability == (0, 0) else f"{capability[0]}.{capability[1]}"
