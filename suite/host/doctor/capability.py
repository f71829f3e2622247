"""The doctor's check of whether the TensorFlow that would run has code for the GPU."""

from __future__ import annotations

from suite.errors import OTHER_BUILD, TOO_OLD, CrossoverError, GpuError
from suite.host.doctor.cards import ELSEWHERE, NO_GPU, NOT_ASKED, pick_known, read_branch
from suite.host.doctor.finding import Finding, Unknown, no, not_applicable, yes
from suite.host.doctor.probe import Probe
from suite.host.gpu.commands import OLD_FOR_PTX, reword
from suite.host.gpu.smi import Row
from suite.host.gpu.vgpu import newer_image
from suite.host.provision.images import ARM
from suite.slices import read_virtual_gpu

OLDEST_CAPABILITY, PTX_CAPABILITY, TOO_NEW_CAPABILITY = 6.0, 9.0, 10.0
"""TensorFlow 2.21 holds machine code for compute capability 6.0, 7.0, 8.0, 8.9 and, in what nvcc built,
9.0; its 1,149 one-kernel modules (the operations by elements) are PTX for 9.0, of which a campaign needs
some 24.  CUDA 12.5, which it was built with, can't compile for 10.0 and later."""

PTX_DRIVER = 555
"""The wheel's PTX is of version 8.5 (read out of its library), which is CUDA 12.5's.  A driver compiles
no newer PTX than that of its own CUDA; TensorFlow then warns, and goes on with wrong results."""


def check_capability(probe: Probe) -> Finding:
    """Whether the TensorFlow that would run has code for this GPU."""
    if not probe.wants_gpu():
        return not_applicable(NOT_ASKED)
    if probe.is_elsewhere():
        raise Unknown(f"{ELSEWHERE}: see tensorflow instead")
    if not probe.shows_gpu():
        return not_applicable(NO_GPU)
    row, _ = pick_known(probe)
    if row.capability is None:
        raise Unknown("nvidia-smi does not say the compute capability")
    try:
        custom = probe.other_tensorflow()
    except CrossoverError as error:
        raise Unknown("which TensorFlow would run can't be told (see images)") from error
    if custom is not None:
        return yes(
            f"compute capability {row.capability}; {custom} has its own TensorFlow, which "
            "reports support at start-up",
            capability=row.capability,
        )
    engine = probe.try_engine()
    if probe.architecture() in ARM:
        raise Unknown(
            f"compute capability {row.capability}; which TensorFlow would run on it is not known (see "
            "architecture)"
        )
    kind = "docker" if engine is None else engine.kind
    return _hold_against_lock(row.capability, row, reword(OTHER_BUILD, kind))


def _hold_against_lock(number: float, row: Row, other_build: str) -> Finding:
    """What the locked TensorFlow does on a GPU of this compute capability."""
    branch = read_branch(row)
    what, remedy, unless = f"compute capability {number}", other_build, ""
    if number >= TOO_NEW_CAPABILITY:
        what += " (Blackwell or later): the locked TensorFlow can't run on it"
    elif number < OLDEST_CAPABILITY:
        what += f" is older than the locked TensorFlow has code for ({OLDEST_CAPABILITY} and later)"
        remedy = TOO_OLD
    elif number >= PTX_CAPABILITY and branch is not None and branch < PTX_DRIVER:
        what += (
            ": the locked TensorFlow brings some of its kernels for it as CUDA 12.5's PTX, which "
            f"driver {row.driver} is too old to compile: their results are wrong, with a warning alone"
        )
        virtual = read_virtual_gpu(row.card.name)
        remedy, unless = newer_image(PTX_DRIVER) if virtual else OLD_FOR_PTX, "tensorflow"
    else:
        return yes(f"{what}: TensorFlow holds code for it", capability=number)
    return no(what, remedy, stops=GpuError.exit_status, unless=unless, capability=number)
