"""A stub of NVIDIA's library: the functions that we call, answering from a profile.

The profiles are made up in the shape of what real GPUs say; no GPU stands behind any of them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

UUIDS = ("GPU-11111111-2222-3333-4444-555555555555", "GPU-99999999-2222-3333-4444-555555555555")
PCI = ("00000000:81:00.0", "00000000:C1:00.0")
FIRST_SLICE = 100
"""The handles of MIG instances begin here."""
SLICE_UUIDS = tuple(f"MIG-{i}aaaaaaa-2222-3333-4444-555555555555" for i in range(7))


class NVMLError(Exception):
    """As the library's: a number, and a text for people."""

    def __init__(self, value: int) -> None:
        super().__init__(
            {
                3: "Not Supported",
                4: "Insufficient Permissions",
                10: "Timeout",
                15: "GPU is lost",
            }.get(value, "Unknown Error")
        )
        self.value = value


@dataclass(kw_only=True)
class Profile:
    """How a GPU behaves: what grows does so by the second, on ``clock``.

    ``failing`` are the names of functions that fail, with this error; ``here`` and ``there`` the
    processes that compute on the first GPU and on the second.  With ``mig`` the first GPU is cut into
    instances of these numbers, and ``here`` is the first of them, ``beside`` the others.  ``reset``:
    what is counted began anew.  ``license_states`` are those of the features that need a licence.
    ``errors`` are those that ECC corrected and that it could not, ``rows`` what is said of remapped ones,
    ``pages`` are retired for single errors and for double ones; ``xids`` come as soon as it behaves so.
    """

    clock_sm_mhz: int = 1980
    power_w: float = 250.0
    temperature_c: int = 55
    reasons: int = 0
    held_by_power: float = 0.0
    held_by_heat: float = 0.0
    failing: dict[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    here: Sequence[int] = (100,)
    beside: Sequence[int] = ()
    there: Sequence[int] = ()
    as_bytes: bool = False
    mig: bool = False
    slices: tuple[int, ...] = ()
    reset: bool = False
    virtualization: int = 1
    license_states: tuple[int, ...] = ()
    errors: tuple[int, int] = (0, 0)
    errors_ever: tuple[int, int] = (0, 0)
    rows: tuple[int, int, int, int] = (0, 0, 0, 0)
    pages: tuple[int, int] = (0, 0)
    retirement_pending: bool = False
    sram_worn: bool = False
    replays: int = 0
    xids: tuple[int, ...] = ()
    names: tuple[str, str] = ("NVIDIA Made-Up 100", "NVIDIA Made-Up 100")


HEALTHY = Profile()
CAPPED = replace(HEALTHY, clock_sm_mhz=1410, power_w=698.0, reasons=0x4, held_by_power=0.6)
HOT = replace(HEALTHY, clock_sm_mhz=900, temperature_c=92, reasons=0x20, held_by_heat=0.3)
BRAKED = replace(HEALTHY, clock_sm_mhz=600, reasons=0x80)
SHARED = replace(HEALTHY, here=(100, 200))
ELSEWHERE = replace(HEALTHY, here=(), there=(100,))
CUT = replace(HEALTHY, mig=True, slices=(1, 3))


def fail(number: int, *names: str) -> dict[str, int]:
    """These functions fail with this error; of their names what makes the difference."""
    return {f"nvmlDeviceGet{name}": number for name in names}


UNDER_LOAD = (
    *("ClockInfo", "PowerUsage", "Temperature", "UtilizationRates", "MemoryInfo"),
    *("CurrentClocksThrottleReasons", "TotalEnergyConsumption", "ViolationStatus"),
    *("CurrPcieLinkGeneration", "CurrPcieLinkWidth", "ComputeRunningProcesses"),
)
OF_THE_CARD = (
    *("MaxClockInfo", "DefaultApplicationsClock", "PowerUsage", "EnforcedPowerLimit"),
    *("PowerManagementDefaultLimit", "PowerManagementLimitConstraints", "Temperature"),
    *("CurrentClocksThrottleReasons", "TotalEnergyConsumption", "ViolationStatus", "EccMode"),
    *("CurrPcieLinkGeneration", "CurrPcieLinkWidth", "MaxPcieLinkGeneration", "MaxPcieLinkWidth"),
    *("TotalEccErrors", "RemappedRows", "MigMode", "RetiredPages", "RetiredPagesPendingStatus"),
    *("SramEccErrorStatus", "PcieReplayCounter"),
)
LOST = replace(HEALTHY, failing=fail(15, *UNDER_LOAD))
"""As a GPU that has fallen off the bus."""
SLICED = replace(
    HEALTHY,
    names=("GRID T4-8Q", "GRID T4-8Q"),
    virtualization=2,
    license_states=(1, 0),
    failing=fail(3, *OF_THE_CARD),
)
"""A vGPU, whose driver says nothing of the card that it is a slice of."""
BEFORE_AMPERE = replace(HEALTHY, failing=fail(3, "RemappedRows", "SramEccErrorStatus"))
"""A T4 or a V100: it retires pages, and has no spare rows."""
AFTER_VOLTA = replace(HEALTHY, failing=fail(3, "RetiredPages", "RetiredPagesPendingStatus"))
DUMB = replace(
    HEALTHY,
    failing=fail(
        *(3, "TotalEnergyConsumption", "ViolationStatus", "PowerUsage"),
        *("ComputeRunningProcesses", "VbiosVersion"),
    ),
    missing=("nvmlDeviceGetCurrPcieLinkWidth",),
)


ALWAYS: Mapping[str, Any] = {
    "nvmlInit": None,
    "nvmlDeviceGetCudaComputeCapability": (9, 0),
    "nvmlDeviceGetCount": 2,
    "nvmlSystemGetCudaDriverVersion": 12040,
    "nvmlDeviceGetEnforcedPowerLimit": 700_000,
    "nvmlDeviceGetPowerManagementDefaultLimit": 700_000,
    "nvmlDeviceGetPowerManagementLimitConstraints": [200_000, 700_000],
    "nvmlDeviceGetDefaultApplicationsClock": 1980,
    "nvmlDeviceGetMaxPcieLinkGeneration": 5,
    "nvmlDeviceGetMaxPcieLinkWidth": 16,
    "nvmlDeviceGetPersistenceMode": 1,
    "nvmlDeviceGetEccMode": [1, 1],
    "nvmlDeviceGetComputeMode": 0,
    "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=40),
    "nvmlDeviceGetCurrPcieLinkGeneration": 5,
    "nvmlDeviceGetCurrPcieLinkWidth": 16,
}
"""The functions that answer the same of every GPU, whatever its profile."""


class SramStatus(ctypes.Structure):
    """As much of the library's structure as is read."""

    _fields_ = (("bThresholdExceeded", ctypes.c_uint),)


class FakeNvml:
    """The library as a module would be."""

    NVMLError = NVMLError
    NVML_CLOCK_GRAPHICS = 0
    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0
    NVML_MEMORY_ERROR_TYPE_CORRECTED = 0
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
    NVML_VOLATILE_ECC = 0
    NVML_AGGREGATE_ECC = 1
    NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS = 0
    NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR = 1
    nvmlEventTypeXidCriticalError = 8  # noqa: N815
    c_nvmlEccSramErrorStatus_v1_t = SramStatus  # noqa: N815
    NVML_PERF_POLICY_POWER = 0
    NVML_PERF_POLICY_THERMAL = 1

    def __init__(
        self,
        profile: Profile,
        clock: Any = lambda: 0.0,
        *,
        later: Profile | None = None,
        after_s: float = 0.0,
    ) -> None:
        """``later`` is how it behaves from so many seconds after the clock's first reading on."""
        self.first = profile
        self.later = later
        self.clock = clock
        self.changes_s = clock() + after_s
        self.calls: list[str] = []
        self.heard: dict[int, int] = {}

    @property
    def profile(self) -> Profile:
        if self.later is not None and self.clock() >= self.changes_s:
            return self.later
        return self.first

    @profile.setter
    def profile(self, profile: Profile) -> None:
        self.first = profile

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("nvml") or name == "nvmlEventTypeXidCriticalError":
            return object.__getattribute__(self, name)
        if name in self.profile.missing:
            raise AttributeError(f"module 'pynvml' has no attribute {name!r}")
        answer = None if name in ALWAYS else object.__getattribute__(self, name)

        def call(*words: Any) -> Any:
            self.calls.append(name)
            if name in self.profile.failing:
                raise NVMLError(self.profile.failing[name])
            return answer(*words) if answer else ALWAYS[name]

        return call

    def _text(self, text: str) -> Any:
        return text.encode() if self.profile.as_bytes else text

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802 - the library's own names
        if index > 1:
            raise NVMLError(2)
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:  # noqa: N802
        if uuid in UUIDS:
            return UUIDS.index(uuid)
        if uuid in SLICE_UUIDS and SLICE_UUIDS.index(uuid) in self.profile.slices:
            return FIRST_SLICE + SLICE_UUIDS.index(uuid)
        raise NVMLError(6)

    def nvmlDeviceGetIndex(self, gpu: int) -> int:  # noqa: N802
        return gpu

    def nvmlDeviceGetPciInfo(self, gpu: int) -> Any:  # noqa: N802
        return SimpleNamespace(
            busId=self._text(PCI[gpu]), pciDeviceId=0x2237_10DE, pciSubSystemId=0x152F_10DE
        )

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu: int) -> int:  # noqa: N802
        return 7 if gpu == 0 and self.profile.mig else 0

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: int, index: int) -> int:  # noqa: N802
        if gpu or index not in self.profile.slices:
            raise NVMLError(6)
        return FIRST_SLICE + index

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, gpu: int) -> int:  # noqa: N802
        if gpu < FIRST_SLICE:
            raise NVMLError(2)
        return 0

    def nvmlSystemGetDriverVersion(self) -> Any:  # noqa: N802
        return self._text("550.90.07")

    def nvmlDeviceGetName(self, gpu: int) -> Any:  # noqa: N802
        if gpu >= FIRST_SLICE:
            return self._text(f"{self.profile.names[0]} MIG 1g.10gb")
        return self._text(self.profile.names[gpu])

    def nvmlDeviceGetUUID(self, gpu: int) -> Any:  # noqa: N802
        return self._text(SLICE_UUIDS[gpu - FIRST_SLICE] if gpu >= FIRST_SLICE else UUIDS[gpu])

    def nvmlDeviceGetVbiosVersion(self, _: int) -> Any:  # noqa: N802
        return self._text("96.00.00.00.01")

    def nvmlDeviceGetMemoryInfo(self, gpu: int) -> Any:  # noqa: N802
        part = 8 if gpu >= FIRST_SLICE else 1
        return SimpleNamespace(used=5 * 2**30 // part, total=80 * 2**30 // part)

    def nvmlDeviceGetMaxClockInfo(self, _: int, kind: int) -> int:  # noqa: N802
        return 1980 if kind == self.NVML_CLOCK_SM else 2619

    def nvmlDeviceGetMigMode(self, gpu: int) -> list[int]:  # noqa: N802
        on = int(self.profile.mig and gpu == 0)
        return [on, on]

    def nvmlDeviceGetClockInfo(self, _: int, kind: int) -> int:  # noqa: N802
        return self.profile.clock_sm_mhz if kind == self.NVML_CLOCK_SM else 2619

    def nvmlDeviceGetVirtualizationMode(self, _: int) -> int:  # noqa: N802
        return self.profile.virtualization

    def nvmlDeviceGetGridLicensableFeatures(self, _: int) -> Any:  # noqa: N802
        states = self.profile.license_states
        # The library's array is as long as it can be.
        array = [SimpleNamespace(featureState=state) for state in (*states, 0, 0, 0)][:3]
        return SimpleNamespace(
            isGridLicenseSupported=int(bool(states)),
            licensableFeaturesCount=len(states),
            gridLicensableFeatures=array,
        )

    def nvmlDeviceGetTotalEccErrors(self, _: int, kind: int, since: int) -> int:  # noqa: N802
        counts = (
            self.profile.errors if since == self.NVML_VOLATILE_ECC else self.profile.errors_ever
        )
        return counts[kind]

    def nvmlDeviceGetRemappedRows(self, _: int) -> tuple[int, int, int, int]:  # noqa: N802
        return self.profile.rows

    def nvmlDeviceGetRetiredPages(self, _: int, cause: int) -> list[int]:  # noqa: N802
        return [4096 * page for page in range(self.profile.pages[cause])]

    def nvmlDeviceGetRetiredPagesPendingStatus(self, _: int) -> int:  # noqa: N802
        return int(self.profile.retirement_pending)

    def nvmlDeviceGetSramEccErrorStatus(self, _: int, status: Any) -> None:  # noqa: N802
        status._obj.bThresholdExceeded = self.profile.sram_worn

    def nvmlDeviceGetPcieReplayCounter(self, _: int) -> int:  # noqa: N802
        return self.profile.replays

    def nvmlEventSetCreate(self) -> list[int]:  # noqa: N802
        return []

    def nvmlDeviceRegisterEvents(self, gpu: int, kinds: int, events: list[int]) -> None:  # noqa: N802
        assert kinds == self.nvmlEventTypeXidCriticalError
        events.append(gpu)

    def nvmlEventSetWait(self, events: list[int], wait_ms: int) -> Any:  # noqa: N802
        assert (len(events), wait_ms) == (1, 0)
        told = self.heard.get(id(self.profile), 0)
        if told == len(self.profile.xids):
            raise NVMLError(10)
        self.heard[id(self.profile)] = told + 1
        return SimpleNamespace(eventData=self.profile.xids[told])

    def nvmlDeviceGetPowerUsage(self, _: int) -> float:  # noqa: N802
        return self.profile.power_w * 1e3

    def nvmlDeviceGetTemperature(self, _: int, __: int) -> int:  # noqa: N802
        return self.profile.temperature_c

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, _: int) -> int:  # noqa: N802
        return self.profile.reasons

    def nvmlDeviceGetTotalEnergyConsumption(self, _: int) -> float:  # noqa: N802
        began = 0.0 if self.profile.reset else 1e9
        return began + self.profile.power_w * 1e3 * self.clock()

    def nvmlDeviceGetViolationStatus(self, _: int, policy: int) -> Any:  # noqa: N802
        held = self.profile.held_by_power if policy == 0 else self.profile.held_by_heat
        began = 0.0 if self.profile.reset else 7e9
        held_ns = int(began + held * 1e9 * self.clock())
        return SimpleNamespace(referenceTime=0, violationTime=held_ns)

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: int) -> list[Any]:  # noqa: N802
        known = self.profile
        pids = {0: (*known.here, *known.beside), 1: known.there}.get(gpu, known.here)
        if gpu > FIRST_SLICE + min(known.slices, default=0):
            pids = known.beside
        return [SimpleNamespace(pid=pid, usedGpuMemory=None) for pid in pids]
