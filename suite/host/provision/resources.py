"""What an invocation is given of its engine's machine, decided as values: CPUs, memory, scratch space for
cells that read files, and CUDA's compile cache for arms with a GPU.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from suite.cells.cell import Cell
from suite.errors import UsageError
from suite.host.engine import Engine, GpuRequest, Volume
from suite.host.machine.machine import find_cores
from suite.host.provision.images import identify_packages
from suite.model import Campaign, Image
from suite.procfs import write_cpus

MEMORY_SHARE = 0.9
"""A container may use this share of the engine's memory: what it takes beyond must kill it, and not
the machine."""


def allow_cpus(engine: Engine, wanted: tuple[int, ...] | None) -> tuple[int, ...]:
    """The CPUs to use: those wanted, or all that the engine has for us.

    Raises:
        UsageError: one that is wanted is not among them.
    """
    available = engine.cpus()
    missing = sorted(set(wanted or ()) - set(available))
    if missing:
        raise UsageError(
            f"CPUS={write_cpus(wanted or ())}: CPU {write_cpus(missing)} is not available; "
            f"available: {write_cpus(available)}",
            "name some of those, or leave CPUS out",
        )
    return wanted or available


def count_bindable(engine: Engine, wanted: tuple[int, ...] | None) -> int:
    """How many CPUs there are to bind a run to; 0 where the engine would drop the binding in silence.

    Raises:
        UsageError: as `allow_cpus`.
    """
    cpus = allow_cpus(engine, wanted)
    return 0 if engine.describe().get("binds.cpus") is False else len(cpus)


def choose_cpus(engine: Engine, cpus: tuple[int, ...], count: int | None) -> tuple[int, ...]:
    """The first ``count`` of these CPUs (None: all), core by core with all threads of each, as a smaller
    machine of the kind has them; in the order of their numbers where the engine's machine can't be seen."""
    if count is None:
        return cpus
    cores = find_cores(cpus) if engine.is_here else [cpus]
    return tuple(sorted([cpu for core in cores for cpu in core][:count]))


def allow_memory(engine: Engine) -> int | None:
    """The bytes that a container may use; None: this engine can't bound them."""
    memory = engine.memory_bytes()
    if not memory or engine.isolation != "container":
        return None
    return int(memory * MEMORY_SHARE)


SCRATCH_TARGET = "/scratch"
"""The image makes this folder for the worker's user."""

SCRATCH_VARIABLE = "CROSSOVER_SCRATCH"
"""As the worker's."""

CACHE_TARGET = "/cuda-cache"
"""The image makes this folder for the worker's user."""

CACHE_VARIABLE = "CUDA_CACHE_PATH"
"""As CUDA's, and the worker's."""

CACHE_SETTINGS: Mapping[str, str] = {
    # CUDA's most.  TensorFlow's kernels are too many for its usual 1 GiB to be trusted with them.
    "CUDA_CACHE_MAXSIZE": str(4 * 2**30),
    # 0 is "not disabled"; said, because vendors' images disable it.
    "CUDA_CACHE_DISABLE": "0",
}
"""CUDA's settings that make a compile cache last from one process to the next."""

UNKNOWN_DRIVER = "unknown"


def compile_cache(image: Image, gpu: GpuRequest) -> Volume:
    """The compile cache of an image under a driver, the same for every campaign.

    By what the image holds beside the suite, which compiles nothing of its own: a suite of another
    day finds the cache filled.  CUDA looks a kernel up by its code and by the driver, so that a cache
    in the wrong place would cost time, and never a wrong kernel.
    """
    packages = identify_packages(image.base, image.lock)
    driver = gpu.kernel_driver or UNKNOWN_DRIVER
    return Volume(
        name=f"crossover-{packages[:16]}-compile-cache-{driver}",
        target=CACHE_TARGET,
        variable=CACHE_VARIABLE,
        purpose="compile-cache",
        lasting=True,
        labels={"packages": packages, "driver": driver},
    )


def campaign_volumes(campaign: Campaign, cells: Iterable[Cell]) -> tuple[Volume, ...]:
    """The volumes that runs of these cells need and that go with the campaign: its scratch space, in
    which all its invocations read the same files."""
    if not any(cell.reads_files for cell in cells):
        return ()
    scratch = Volume(
        name=name_volume(campaign, "scratch"),
        target=SCRATCH_TARGET,
        variable=SCRATCH_VARIABLE,
        purpose="scratch",
    )
    return (scratch,)


def name_volume(campaign: Campaign, purpose: str) -> str:
    """What an engine calls a volume of a campaign, whose own name may hold letters that no engine takes."""
    return f"crossover-{hashlib.sha256(campaign.id.encode()).hexdigest()[:16]}-{purpose}"


def choose_lasting(*, image: Image, gpu: GpuRequest | None) -> tuple[Volume, ...]:
    """The lasting volumes that a run in that image is given; ``gpu`` is how it is given its GPU (None: it has
    none, and compiles nothing for one)."""
    return (compile_cache(image, gpu),) if gpu is not None else ()


def choose_environment(gpu: GpuRequest | None) -> dict[str, str]:
    """The environment variables that a run is given beside those that name its volumes."""
    return dict(CACHE_SETTINGS) if gpu is not None else {"CUDA_VISIBLE_DEVICES": "-1"}
