"""Made-up machines for the doctor: files under a folder, programs and an engine that answer from
tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from suite.errors import EngineError, UsageError
from suite.host.doctor.examine import Diagnosis, examine
from suite.host.doctor.finding import Finding
from suite.host.doctor.probe import Machine, Question, Ran
from suite.host.engine import Engine, GpuRequest, GpuSupport, Stock
from suite.model import Image, Scalar
from suite.worker import scenarios
from tests.fakes.clock import Clock
from tests.fakes.engine import FakeEngine, Life, record
from tests.fakes.nvml import UUIDS
from tests.fakes.tree import lay

GB = 10**9


def ran(code: int, text: str) -> Ran:
    """A program that has printed this."""
    return Ran((), code, text)


def smi(
    index: int = 0,
    name: str = "NVIDIA A10G",
    *,
    driver: str = "550.90.07",
    memory: str = "23028 MiB",
    mig: str = "[N/A]",
    persistence: str = "Enabled",
    capability: str = "8.6",
    used: str = "1 MiB",
) -> str:
    """A row of nvidia-smi's, of a GPU that is well unless it says otherwise."""
    row = (
        str(index),
        name,
        driver,
        memory,
        UUIDS[index],
        mig,
        persistence,
        capability,
        used,
        "31",
        "P8",
    )
    return ", ".join(row)


FILES: Mapping[str, str] = {
    "proc/1/comm": "systemd",
    "proc/2/comm": "kthreadd",
    "proc/loadavg": "0.05 0.10 0.12 1/180 4242",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=7",
    "proc/cpuinfo": "model name : Made-Up\nflags : fpu sse avx avx2\n",
    "sys/devices/system/cpu/smt/active": "1",
    "sys/devices/system/node/node0/cpulist": "0-1",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    **{
        f"sys/devices/system/cpu/cpu{cpu}/topology/{name}": value
        for cpu in (0, 1)
        for name, value in (("thread_siblings_list", "0-1"), ("physical_package_id", "0"))
    },
}
"""A quiet machine of one core and two threads, without a GPU."""

GPU_FILES: Mapping[str, str] = {"dev/nvidia0": "", "dev/nvidiactl": ""}

BUILT = Image(
    id="",
    content=None,
    base="python:3.13@sha256:0",
    digests=[],
    lock="cuda.txt@sha256:1",
    origin="",
)
"""What the record has of every image of `FakeExamined`: its base and its lock."""

CELLS = [cell for cell in scenarios.cells() if cell.id.startswith("matmul.square/")]
"""Some of every profile: planning with all takes most of a made-up machine's time."""

TIMERS_OFF = ran(code=3, text="inactive\ninactive\ninactive")


class FakeExamined(FakeEngine):
    """An engine that says what it has.

    ``built`` are the images that are there and current; ``registry`` an error, or whether it
    answers.
    """

    def __init__(
        self,
        *,
        built: Sequence[str] = (),
        base_here: bool = True,
        registry: bool | EngineError | None = True,
        probe_image: bool = True,
        support: GpuSupport | None = None,
        architecture: str = "x86_64",
        facts: Mapping[str, Scalar] | None = None,
        view: Life | None = None,
        caches: Sequence[str] = (),
        stock_trouble: EngineError | None = None,
        laid_on: str | None = None,
        local_python: str | None = None,
        **how: Any,
    ) -> None:
        super().__init__(otherwise=view and (lambda _job: view), **how)
        self._built = built
        self._base_here = base_here
        self._registry = registry
        self._probe_image = probe_image
        self._support = support or GpuSupport(devices=(), cdi_folders=(), runtimes=("runc",))
        self._facts = {"architecture": architecture, **(facts or {})}
        self.stock_trouble = stock_trouble
        self.laid_on = laid_on
        self.local_python = local_python
        self.caches = tuple(caches)

    @property
    def data_root(self) -> str | None:
        return "/var/lib/docker" if self.is_here else None

    def describe(self) -> dict[str, Scalar]:
        return {
            "product": "docker",
            "version": "29.0.1",
            "storage.driver": "overlay2",
            "cgroup.version": "2",
            **self._facts,
        }

    def take_stock(self, name: str) -> Stock:
        if self.stock_trouble is not None:
            raise self.stock_trouble
        built = self.local_python is not None or name in self._built
        stock = Stock(
            name=name,
            image=f"sha256:{name}" if built else None,
            base=BUILT.base,
            base_here=self._base_here,
            room_bytes=0 if built else {"cpu": 5 * GB, "cuda": 20 * GB}[name],
            recorded=(BUILT.base, BUILT.lock),
            caches=self.caches,
        )
        if self.local_python is not None:
            return replace(stock, base=self.local_python, from_lock=False)
        if name == "cuda" and self.laid_on is not None:
            laid = "cuda-laid"
            return replace(stock, name=laid, base=self.laid_on, base_here=False, from_lock=False)
        return stock

    def reach_base(self, reference: str) -> bool | None:
        if isinstance(self._registry, EngineError):
            raise self._registry
        return self._registry

    def look_at_leftovers(self) -> None:
        pass

    def has_probe_image(self) -> bool:
        return self._probe_image

    def gpu_support(self) -> GpuSupport:
        return self._support


def sees(*, refused: str = "", diary: str = "", **facts: Any) -> Life:
    """A container in which TensorFlow describes itself."""
    if refused:
        return Life(words=[record("refused", reason=refused)], code=4, diary=diary)
    found = {"tensorflow.version": "2.21.0", **facts}
    return Life(words=[record("facts", facts=found, seconds=0.1), record("bye")], diary=diary)


def make_machine(
    root: Path,
    engine: Engine | Exception,
    *,
    files: Mapping[str, str] | None = None,
    programs: Mapping[str, Ran | Exception | Callable[[], Ran]] | None = None,
    free: int | None = 100 * GB,
    writable: bool = True,
    clock: Callable[[], int] | None = None,
) -> Machine:
    """``programs`` answer by the beginning of their words; there are no others."""
    lay(root, {**FILES, **(files or {})})
    known = {"systemctl is-active": TIMERS_OFF, **(programs or {})}

    def open_engine() -> Engine:
        if isinstance(engine, Exception):
            raise engine
        return engine

    def run(words: Sequence[str], _timeout_s: float) -> Ran | None:
        text = " ".join(words)
        answer = next((known[name] for name in known if text.startswith(name)), None)
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer

    def try_results(_folder: Path) -> None:
        if not writable:
            raise UsageError("can't write results", "name another folder")

    return Machine(
        open_engine=open_engine,
        root=root,
        run=run,
        free_bytes=lambda _path: free,
        try_results=try_results,
        cpus=lambda: (0, 1),
        clock_ns=clock or Clock(),
    )


def diagnose(machine: Machine, **question: Any) -> Diagnosis:
    """What the doctor finds there; it must never take a second of a made-up machine's time."""
    asked = Question(results=Path("results"), cells=CELLS, **question)
    return examine(machine, asked, limit_s=5.0)


HOOK = GpuRequest(driver="nvidia", devices=("0",))
CDI = GpuRequest(driver="cdi", devices=("nvidia.com/gpu=0",))
PLAIN = GpuRequest(driver="none", devices=("0",))
TOOLKIT = {"nvidia-ctk --version": ran(code=0, text="NVIDIA Container Toolkit CLI version 1.17.4")}


def marks(found: Diagnosis) -> dict[str, str]:
    """By check its mark, with the exit status that it stands for."""
    signs = {"yes": "+", "no": "x", "unknown": "?", "not-applicable": "-"}
    return {
        line.id: signs[line.state] + (str(line.stops) if line.stops else "")
        for line in found.checks
    }


def line(found: Diagnosis, name: str) -> Finding:
    return next(one for one in found.checks if one.id == name)
