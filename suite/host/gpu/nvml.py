"""NVIDIA's management library: the only file that says pynvml, and what is asked of it, by the names that
telemetry has.

Every call can fail, on any GPU, at any time; a value that is not available is None and its reason is kept.
Does not import CUDA, so that it can't disturb who measures.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from suite import codec
from suite.host.engine import Card, Slice
from suite.model import Scalar

NO_PERMISSION = 4
TIMEOUT = 10

SLICED = 2
MODES = {0: "none", 1: "passthrough", SLICED: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
"""NVML's virtualization modes; ``vgpu`` is a slice, seen from the virtual machine that has it."""


def normalise_pci(address: str) -> str | None:
    """A PCI address as the kernel writes it; the library gives its domain eight digits."""
    found = re.fullmatch(r"([0-9a-f]+):([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", address.lower())
    if found is None:
        return None
    return f"{int(found[1], 16):04x}:{found[2]}:{found[3]}.{found[4] or 0}"


def _number_device(library: Any, handle: Any) -> str:
    """The numbers of a GPU's kind and of its board, which tell variants of one name apart: ``2236:1482``.

    Each has its vendor's number in the lower half.
    """
    pci = library.nvmlDeviceGetPciInfo(handle)
    return f"{pci.pciDeviceId >> 16:04x}:{pci.pciSubSystemId >> 16:04x}"


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
    states = [feature.featureState for feature in features.gridLicensableFeatures]
    known = states[: features.licensableFeaturesCount]
    return any(known) if known and features.isGridLicenseSupported else None


def _count_ecc(library: Any, handle: Any, kind: str, since: str) -> int:
    """How many errors ECC met: ``CORRECTED`` or ``UNCORRECTED``, ``VOLATILE`` (since the driver was loaded)
    or ``AGGREGATE`` (ever)."""
    which = getattr(library, f"NVML_MEMORY_ERROR_TYPE_{kind}")
    return int(
        library.nvmlDeviceGetTotalEccErrors(handle, which, getattr(library, f"NVML_{since}_ECC"))
    )


def _count_retired(library: Any, handle: Any) -> int:
    """Pages of memory that are retired, or will be; cards before Ampere have these in the place of rows."""
    names = ("MULTIPLE_SINGLE_BIT_ECC_ERRORS", "DOUBLE_BIT_ECC_ERROR")
    causes = [getattr(library, f"NVML_PAGE_RETIREMENT_CAUSE_{name}") for name in names]
    return sum(len(library.nvmlDeviceGetRetiredPages(handle, cause)) for cause in causes)


def _is_sram_worn(library: Any, handle: Any) -> bool:
    """Whether the caches and registers had more errors than NVIDIA lets pass."""
    status = library.c_nvmlEccSramErrorStatus_v1_t()
    library.nvmlDeviceGetSramEccErrorStatus(handle, ctypes.byref(status))
    return bool(status.bThresholdExceeded)


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

Ask = Callable[[Any, Any], Any]
"""One question, given the library and the GPU's handle."""

HEALTH: Mapping[str, Ask] = {
    "gpu.memory_errors": lambda n, gpu: _count_ecc(n, gpu, "UNCORRECTED", "VOLATILE"),
    "gpu.memory_errors_ever": lambda n, gpu: _count_ecc(n, gpu, "UNCORRECTED", "AGGREGATE"),
    "gpu.corrected_errors": lambda n, gpu: _count_ecc(n, gpu, "CORRECTED", "VOLATILE"),
    "gpu.corrected_errors_ever": lambda n, gpu: _count_ecc(n, gpu, "CORRECTED", "AGGREGATE"),
    "gpu.rows_remapped": lambda n, gpu: sum(n.nvmlDeviceGetRemappedRows(gpu)[:2]),
    "gpu.remapping_pending": lambda n, gpu: bool(n.nvmlDeviceGetRemappedRows(gpu)[2]),
    "gpu.remapping_failed": lambda n, gpu: bool(n.nvmlDeviceGetRemappedRows(gpu)[3]),
    "gpu.pages_retired": _count_retired,
    "gpu.retirement_pending": lambda n, gpu: bool(n.nvmlDeviceGetRetiredPagesPendingStatus(gpu)),
    "gpu.sram_worn": _is_sram_worn,
    "gpu.pcie_replays": lambda n, gpu: n.nvmlDeviceGetPcieReplayCounter(gpu),
}
"""What is read at the first look and again at the last, so that growth shows.

Of ECC's errors those that it could not correct (``memory_errors``) and those that it did, since the driver
was loaded and ``ever``; rows that spare ones took the place of, on cards before Ampere pages that were
retired; ``pending`` wait for a reset of the GPU, ``remapping_failed`` says that no spare rows are left."""

XIDS = "gpu.xids"
"""The numbers of the driver's messages on the GPU that came meanwhile, in their order, or ``none``."""

_MOST_EVENTS = 64
"""No more of them are taken at one look; a driver that sends them without end must not hold it up."""

FACTS: Mapping[str, Ask] = {
    "driver.version": lambda n, _: read_text(n.nvmlSystemGetDriverVersion()),
    "driver.cuda": lambda n, _: _cuda(n.nvmlSystemGetCudaDriverVersion()),
    "gpu.count": lambda n, _: n.nvmlDeviceGetCount(),
    "gpu.silent": lambda n, _: sum(_is_silent(n, i) for i in range(n.nvmlDeviceGetCount())),
    "gpu.name": lambda n, gpu: read_text(n.nvmlDeviceGetName(gpu)),
    "gpu.uuid": lambda n, gpu: codec.hash_uuid(read_text(n.nvmlDeviceGetUUID(gpu))),
    "gpu.pci": lambda n, gpu: normalise_pci(read_text(n.nvmlDeviceGetPciInfo(gpu).busId)),
    "gpu.pci_device": _number_device,
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
    **HEALTH,
}
"""What does not change while it is looked at, and ``HEALTH`` at the first look.  No serial number; the UUID
as a hash.

``gpu.silent`` are the GPUs that the driver counts and that do not answer."""


Owner = Callable[[int], bool | None]
"""Whether a process is one of the worker's; None: unknown."""

LASTING = frozenset({1, 2, 3, 4, 6, 13})
"""Errors that will be the same next time: uninitialised, invalid argument, not supported, no
permission, not found, function not found.  What fails so is not called again."""

PROCESSES = ("gpu.own_processes", "gpu.other_processes", "gpu.own_processes_elsewhere")
"""How many processes compute on the GPU: the worker's, others', and the worker's on other GPUs."""


OF_THE_SLICE = frozenset(
    {"gpu.name", "gpu.uuid", "gpu.memory_bytes", "gpu.memory_used_bytes", *PROCESSES[:2]}
)
"""What of a MIG instance is asked of itself; all else is asked of its GPU, whose clock, heat and link
to the machine it shares."""

OF_THE_WHOLE = frozenset({"gpu.power_w", "gpu.energy_j", "gpu.utilization_percent"})
"""What would be taken for the instance's own, and is not: other instances have their part in it."""

WHOLE = "told of the whole GPU alone, of which this MIG instance is a part"


class NoLibrary(Exception):
    """There is no NVIDIA library to ask, or no such GPU; the text says which."""


def load_library() -> Any:
    """The library, ready to be asked.

    Raises:
        NoLibrary: its Python part, or the driver's own, is not here, or does not start.
    """
    try:
        library: Any = importlib.import_module("pynvml")
    except ImportError as error:
        raise NoLibrary(f"nvidia-ml-py is not installed: {error}") from error
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        raise NoLibrary(f"NVIDIA's library does not start: {_say(error)}") from error
    return library


def list_gpus(library: Any) -> tuple[Card, ...]:
    """The library's GPUs in its order; a value that is not available is None.

    Raises:
        NoLibrary: it does not say how many there are.
    """
    try:
        count = library.nvmlDeviceGetCount()
    except library.NVMLError as error:
        raise NoLibrary(f"NVIDIA's library does not list its GPUs: {_say(error)}") from error
    return tuple(_describe(library, index) for index in range(count))


def _describe(library: Any, index: int) -> Card:
    try:
        gpu = library.nvmlDeviceGetHandleByIndex(index)
    except library.NVMLError:
        return Card(index=index)  # as one that has fallen off the bus: it keeps its place

    def ask(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except library.NVMLError:
            return None

    return Card(
        index=index,
        name=ask(lambda: read_text(library.nvmlDeviceGetName(gpu))),
        uuid=ask(lambda: read_text(library.nvmlDeviceGetUUID(gpu))),
        pci=ask(lambda: normalise_pci(read_text(library.nvmlDeviceGetPciInfo(gpu).busId))),
        mig=ask(lambda: bool(library.nvmlDeviceGetMigMode(gpu)[0])),
        slices=tuple(_slices(library, gpu)),
    )


def _slices(library: Any, gpu: Any) -> Iterator[Slice]:
    """The MIG instances of a GPU; numbers that none has are left out, and keep their place."""
    with suppress(library.NVMLError):
        for index in range(library.nvmlDeviceGetMaxMigDeviceCount(gpu)):
            with suppress(library.NVMLError):
                handle = library.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index)
                uuid = read_text(library.nvmlDeviceGetUUID(handle))
                yield Slice(
                    index=index, uuid=uuid, name=read_text(library.nvmlDeviceGetName(handle))
                )


class Gpu:
    """One GPU or MIG instance, by the library's own index or UUID, or by both numbers: ``0``,
    ``GPU-…``, ``0:1``, ``MIG-…``; CDI's names, too.

    ``absent`` grows: by name the reason of the first failure.
    """

    def __init__(self, library: Any, wanted: str) -> None:
        """Finds it.

        Raises:
            NoLibrary: there is no such GPU.
        """
        self._library = library
        self.absent: dict[str, str] = {}
        self._given_up: set[str] = set()
        try:
            self._handle, self._slice = _open(library, wanted.rpartition("=")[2])
            self._index: int | None = int(library.nvmlDeviceGetIndex(self._handle))
        except library.NVMLError as error:
            raise NoLibrary(f"NVIDIA's library has no such GPU: {_say(error)}") from error
        if self._slice is not None:
            self._given_up |= OF_THE_WHOLE
            self.absent |= dict.fromkeys(OF_THE_WHOLE, WHOLE)
        # Only what comes after is recorded.
        self._events = self._ask(XIDS, _register)
        if self._events is None:
            self._given_up.add(XIDS)
        self._xids: dict[int, None] = {}

    def facts(self) -> dict[str, Scalar]:
        """What does not change, and its health now; None where it is not available."""
        return {name: self._ask(name, read) for name, read in FACTS.items()}

    def last_facts(self) -> dict[str, Scalar]:
        """Its health once more, ``gpu.at_end.…``, and the driver's messages since it was found."""
        self._hear()
        last = {
            name.replace("gpu.", "gpu.at_end.", 1): self._ask(name, read)
            for name, read in HEALTH.items()
        }
        # Of a look that failed nobody knows whether there were any; what came before it did come.
        none = None if XIDS in self.absent else "none"
        return {**last, XIDS: ",".join(map(str, self._xids)) or none}

    def sample(self, is_own: Owner) -> dict[str, float | None]:
        """Every series' value now."""
        self._hear()
        values = {name: self._ask(name, read) for name, read in SERIES.items()}
        return {**values, **self._count_processes(is_own)}

    def _hear(self) -> None:
        """Takes the driver's messages that have come, without waiting for any."""
        for _ in range(_MOST_EVENTS):
            message = self._ask(XIDS, lambda n, _gpu: _take_message(n, self._events))
            if message is None:
                return
            self._xids[message] = None

    def _ask(self, name: str, read: Ask) -> Any:
        if name in self._given_up:
            return None
        part = self._slice is not None and name in OF_THE_SLICE
        try:
            return read(self._library, self._slice if part else self._handle)
        except self._library.NVMLError as error:
            self.absent.setdefault(name, _say(error))
            if getattr(error, "value", None) in LASTING:
                self._given_up.add(name)
        except Exception as error:  # noqa: BLE001  another version than this was written for
            self.absent.setdefault(name, f"this nvidia-ml-py can't say: {error}")
            self._given_up.add(name)
        return None

    def _count_processes(self, is_own: Owner) -> dict[str, float | None]:
        here = self._ask(PROCESSES[0], lambda n, gpu: self._owners(n, gpu, is_own))
        if here is None:
            self.absent.setdefault(PROCESSES[1], self.absent.get(PROCESSES[0], "not told"))
            return dict.fromkeys(PROCESSES)
        own, others, unclear = here
        if unclear:
            self.absent.setdefault(PROCESSES[1], "some processes could not be told apart")
        elsewhere = self._ask(PROCESSES[2], lambda n, _: self._count_elsewhere(n, is_own, own))
        # Others that are seen are there, whoever else could not be told apart.
        counts = (own, others if others or not unclear else None, elsewhere)
        return dict(zip(PROCESSES, counts, strict=True))

    def _owners(self, library: Any, handle: Any, is_own: Owner) -> tuple[int, int, int]:
        """How many processes compute there: own ones, others, and such as can't be told apart."""
        own = [
            is_own(process.pid) for process in library.nvmlDeviceGetComputeRunningProcesses(handle)
        ]
        return own.count(True), own.count(False), own.count(None)

    def _count_elsewhere(self, library: Any, is_own: Owner, own: int) -> int:
        others = [i for i in range(library.nvmlDeviceGetCount()) if i != self._index]
        found = sum(
            self._owners(library, library.nvmlDeviceGetHandleByIndex(i), is_own)[0] for i in others
        )
        if self._slice is not None:
            # The whole GPU's list holds those of all its instances.
            found += max(0, self._owners(library, self._handle, is_own)[0] - own)
        return found


def _register(library: Any, handle: Any) -> Any:
    """A set of events that gets the driver's messages on a GPU from now on."""
    events = library.nvmlEventSetCreate()
    library.nvmlDeviceRegisterEvents(handle, library.nvmlEventTypeXidCriticalError, events)
    return events


def _take_message(library: Any, events: Any) -> int | None:
    """The number of the next message; None: there is none yet."""
    try:
        return int(library.nvmlEventSetWait(events, 0).eventData)
    except library.NVMLError as error:
        if getattr(error, "value", None) == TIMEOUT:
            return None
        raise


def _open(library: Any, name: str) -> tuple[Any, Any | None]:
    """The handles of a GPU and, where one was named, of its MIG instance."""
    number, _, part = name.partition(":")
    if number.isdigit():
        gpu = library.nvmlDeviceGetHandleByIndex(int(number))
        if not part:
            return gpu, None
        return gpu, library.nvmlDeviceGetMigDeviceHandleByIndex(gpu, int(part))
    found = library.nvmlDeviceGetHandleByUUID(name)
    if name.startswith("MIG-"):
        return library.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(found), found
    return found, None


def _say(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
