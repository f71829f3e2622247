"""What is asked of NVIDIA's management library about a GPU, by the names that telemetry has for it.

Does not import the library: it is handed in, so that a value that one version can't tell is one reading
that fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from suite import wire

NO_PERMISSION = 4

SLICED = 2
MODES = {0: "none", 1: "passthrough", SLICED: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
"""NVML's virtualization modes; ``vgpu`` is a slice, seen from the virtual machine that has it."""


def normalise_pci(address: str) -> str | None:
    """A PCI address as the kernel writes it; the library gives its domain eight digits."""
    found = re.fullmatch(r"([0-9a-f]+):([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", address.lower())
    if found is None:
        return None
    return f"{int(found[1], 16):04x}:{found[2]}:{found[3]}.{found[4] or 0}"


def _held_s(library: Any, handle: Any, policy: int) -> float:
    """Seconds for which the clocks were held back by a policy (the library counts nanoseconds)."""
    return float(library.nvmlDeviceGetViolationStatus(handle, policy).violationTime) / 1e9


def _is_silent(library: Any, index: int) -> bool:
    """Whether a GPU that the driver counts does not answer; one that may not be seen is none of these."""
    try:
        library.nvmlDeviceGetHandleByIndex(index)
    except library.NVMLError as error:
        return getattr(error, "value", None) != NO_PERMISSION
    return False


def _is_licensed(library: Any, handle: Any) -> bool | None:
    """Whether a slice has a licence for any of the features that need one; None: it needs none."""
    if library.nvmlDeviceGetVirtualizationMode(handle) != SLICED:
        return None
    features = library.nvmlDeviceGetGridLicensableFeatures(handle)
    states = [one.featureState for one in features.gridLicensableFeatures]
    known = states[: features.licensableFeaturesCount]
    return any(known) if known and features.isGridLicenseSupported else None


def _cuda(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def read_text(value: Any) -> str:
    """A text of the library's."""
    # Older versions of the library give bytes.
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


Read = Callable[[Any, Any], float | None]
"""One reading, given the library and the GPU's handle."""

SERIES: Mapping[str, Read] = {
    "gpu.clock_sm_mhz": lambda n, gpu: n.nvmlDeviceGetClockInfo(gpu, n.NVML_CLOCK_SM),
    "gpu.clock_memory_mhz": lambda n, gpu: n.nvmlDeviceGetClockInfo(gpu, n.NVML_CLOCK_MEM),
    "gpu.power_w": lambda n, gpu: n.nvmlDeviceGetPowerUsage(gpu) / 1e3,
    "gpu.temperature_c": lambda n, gpu: n.nvmlDeviceGetTemperature(gpu, n.NVML_TEMPERATURE_GPU),
    "gpu.utilization_percent": lambda n, gpu: n.nvmlDeviceGetUtilizationRates(gpu).gpu,
    "gpu.memory_used_bytes": lambda n, gpu: n.nvmlDeviceGetMemoryInfo(gpu).used,
    "gpu.reasons_bits": lambda n, gpu: n.nvmlDeviceGetCurrentClocksThrottleReasons(gpu),
    "gpu.energy_j": lambda n, gpu: n.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1e3,
    "gpu.held_by_power_s": lambda n, gpu: _held_s(n, gpu, n.NVML_PERF_POLICY_POWER),
    "gpu.held_by_heat_s": lambda n, gpu: _held_s(n, gpu, n.NVML_PERF_POLICY_THERMAL),
    "gpu.pcie_generation": lambda n, gpu: n.nvmlDeviceGetCurrPcieLinkGeneration(gpu),
    "gpu.pcie_width": lambda n, gpu: n.nvmlDeviceGetCurrPcieLinkWidth(gpu),
}
"""What is sampled; the last part of a name is its unit.  ``energy_j`` and ``held_by_*_s`` count from
when the driver was loaded, so that nothing between two samples is missed."""

FACTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "driver.version": lambda n, _: read_text(n.nvmlSystemGetDriverVersion()),
    "driver.cuda": lambda n, _: _cuda(n.nvmlSystemGetCudaDriverVersion()),
    "gpu.count": lambda n, _: n.nvmlDeviceGetCount(),
    "gpu.silent": lambda n, _: sum(_is_silent(n, i) for i in range(n.nvmlDeviceGetCount())),
    "gpu.name": lambda n, gpu: read_text(n.nvmlDeviceGetName(gpu)),
    "gpu.uuid": lambda n, gpu: wire.hash_uuid(read_text(n.nvmlDeviceGetUUID(gpu))),
    "gpu.pci": lambda n, gpu: normalise_pci(read_text(n.nvmlDeviceGetPciInfo(gpu).busId)),
    "gpu.vbios": lambda n, gpu: read_text(n.nvmlDeviceGetVbiosVersion(gpu)),
    "gpu.capability": lambda n, gpu: ".".join(map(str, n.nvmlDeviceGetCudaComputeCapability(gpu))),
    "gpu.memory_bytes": lambda n, gpu: n.nvmlDeviceGetMemoryInfo(gpu).total,
    "gpu.power_limit_w": lambda n, gpu: n.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1e3,
    "gpu.power_limit_default_w": lambda n, gpu: (
        n.nvmlDeviceGetPowerManagementDefaultLimit(gpu) / 1e3
    ),
    "gpu.power_limit_most_w": lambda n, gpu: (
        n.nvmlDeviceGetPowerManagementLimitConstraints(gpu)[1] / 1e3
    ),
    "gpu.clock_sm_most_mhz": lambda n, gpu: n.nvmlDeviceGetMaxClockInfo(gpu, n.NVML_CLOCK_SM),
    "gpu.clock_default_mhz": lambda n, gpu: n.nvmlDeviceGetDefaultApplicationsClock(
        gpu, n.NVML_CLOCK_GRAPHICS
    ),
    "gpu.clock_memory_most_mhz": lambda n, gpu: n.nvmlDeviceGetMaxClockInfo(gpu, n.NVML_CLOCK_MEM),
    "gpu.pcie_generation_most": lambda n, gpu: n.nvmlDeviceGetMaxPcieLinkGeneration(gpu),
    "gpu.pcie_width_most": lambda n, gpu: n.nvmlDeviceGetMaxPcieLinkWidth(gpu),
    "gpu.persistence": lambda n, gpu: bool(n.nvmlDeviceGetPersistenceMode(gpu)),
    "gpu.ecc": lambda n, gpu: bool(n.nvmlDeviceGetEccMode(gpu)[0]),
    "gpu.mig": lambda n, gpu: bool(n.nvmlDeviceGetMigMode(gpu)[0]),
    "gpu.compute_mode": lambda n, gpu: int(n.nvmlDeviceGetComputeMode(gpu)),
    "gpu.virtualization": lambda n, gpu: MODES.get(n.nvmlDeviceGetVirtualizationMode(gpu)),
    "gpu.licensed": _is_licensed,
    "gpu.memory_errors": lambda n, gpu: n.nvmlDeviceGetTotalEccErrors(
        gpu, n.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, n.NVML_VOLATILE_ECC
    ),
    "gpu.remapping_failed": lambda n, gpu: bool(n.nvmlDeviceGetRemappedRows(gpu)[3]),
}
"""What does not change while it is looked at.  No serial number; the UUID as a hash.

``gpu.silent`` are the GPUs that the driver counts and that do not answer; ``gpu.memory_errors`` those
that ECC could not correct since the driver was loaded, and ``gpu.remapping_failed`` says that no spare rows
are left to take their place."""
