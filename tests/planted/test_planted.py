"""Planted failures, one list: whatever is wrong with a GPU, no number stands under its name.

Each ends in exit 4, in INVALID or in a cell that failed, with a reason; `judge` reads all the files.
Real ones run the real worker with the real TensorFlow in a real container, deceived by `lies`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from suite import codec
from suite.cli import run_campaign
from suite.cli.entry import main
from suite.errors import EngineError, NoGpuError
from suite.fingerprint import SUITE
from suite.host.campaign import campaign_runner, durations
from suite.host.docker.engine import DockerEngine
from suite.host.engine import LABEL, Card, GpuRequest, Job, Running
from suite.host.gpu import remedies
from suite.host.gpu import request as gpu
from suite.model import AT_END, Document, Image, SuiteIdentity
from suite.report import produce as collating
from tests import synthetic
from tests.analysis.documents.test_telemetry import FACTS as TELEMETRY
from tests.analysis.documents.test_telemetry import HEALTHY, HOST_ONLY, Series, watch
from tests.changes import keep
from tests.changes import tell as tell_facts
from tests.engine.conftest import api, base, cpu_image, engine
from tests.fakes.daemons import build_image
from tests.fakes.engine import FakeEngine, Life, Script, Worker, is_on_gpu, record
from tests.fakes.tree import lay
from tests.gpus import hash_gpu, make_gpus
from tests.planted.judge import find_compared, find_numbers

__all__ = ["api", "base", "cpu_image", "engine"]

LIES = Path(__file__).with_name("lies.py")
EAGER = "matmul.square/n=10/precision=fp32/operands=device/xla=off"
OTHER = "matmul.square/n=1000/precision=fp32/operands=device/xla=off"
GRAPH = "mlp.train/net=A/batch=32/data=device/precision=fp32/execution=graph"
REQUEST = GpuRequest(driver="cdi", devices=("nvidia.com/gpu=0",))


@dataclass
class Ground:
    """Where failures are planted: a results folder, and the commands as people call them."""

    results: Path
    request: pytest.FixtureRequest
    monkeypatch: pytest.MonkeyPatch
    status: int = 0
    said: str = ""
    named: Path | None = None
    """The campaign's folder where there are several."""
    over: Path | None = None
    """The folder of what stands over several campaigns."""

    def run(self, *words: str) -> None:
        capsys: pytest.CaptureFixture[str] = self.request.getfixturevalue("capsys")
        capsys.readouterr()
        self.status = main(words)
        heard = capsys.readouterr()
        self.said = heard.err + heard.out
        assert "Traceback" not in self.said

    def bench(self, engine: Any, *words: str, only: str, arms: str) -> None:
        self.monkeypatch.setattr(run_campaign, "open_engine", lambda given, terminal: engine)
        head = ("bench", "--results", str(self.results), "--profile", "smoke", "--seed", "1")
        self.run(*head, "--telemetry", "off", "--arms", arms, "--only", only, *words)

    @property
    def folder(self) -> Path | None:
        if self.named is not None or not self.results.exists():
            return self.named
        return next((path for path in self.results.iterdir() if path.is_dir()), None)

    def tell(self) -> str:
        """All that a person can read: what was said, and the report."""
        pages = [self.folder / "report.md"] if self.folder else []
        pages += sorted(self.over.glob("*.md")) if self.over else []
        return self.said + "".join(
            page.read_text(encoding="utf-8") for page in pages if page.exists()
        )

    def find(self) -> list[str]:
        """What the judge finds in all the files."""
        found = find_numbers(self.folder, self.status)
        return [*found, *(find_compared(self.over) if self.over else ())]


@dataclass(frozen=True)
class Plant:
    """A failure: how it is planted, and a text that a person must then read.

    ``status`` is the command's, 4 or 1 (failed or INVALID).  ``real``: the image it needs.
    """

    act: Callable[[Ground], None]
    seen: str
    status: int = 4
    real: str | None = None


# --- in a real container ---------------------------------------------------------------------------


class Deceived:
    """A real engine that seems to give a GPU, and whose containers are told lies, start by start."""

    def __init__(self, real: DockerEngine, image: Image, *lies: str) -> None:
        self._real = real
        self._image = image
        self._lies = list(lies)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def find_gpu(self, wanted: str) -> GpuRequest:
        return REQUEST

    def provide(
        self, name: str, progress: Callable[[str], None], *, packages: Path | None = None
    ) -> Image:
        return self._image

    def start(self, job: Job) -> Running:
        lie = self._lies.pop(0) if len(self._lies) > 1 else self._lies[0]
        environment = {**job.environment, "CROSSOVER_LIES": lie}
        return self._real.start(replace(job, gpu=None, environment=environment))


LOST = "CUDA_ERROR_LAUNCH_FAILED"
NO_GPU_LATER = "all -listed"
NOT_PASSED = (
    r"\(libcuda\.so\.1\) is not where TensorFlow runs: in a container, the GPU was not passed"
)


def lie(
    seen: str,
    *lies: str,
    image: str = "cpu",
    status: int = 4,
    only: str = EAGER,
    **deadlines: float,
) -> Plant:
    """A campaign of the arm alone, whose real containers of this image are told these lies, the last one
    for ever."""

    def act(ground: Ground) -> None:
        for name, seconds in deadlines.items():
            ground.monkeypatch.setattr(durations, name, seconds)
        given = ground.request.getfixturevalue
        built = given(f"lying_{image}_image")
        ground.bench(Deceived(given("engine"), built, *lies), only=only, arms="cuda")

    return Plant(act, seen, status, "cpu" if image == "cpu" else "cuda")


REAL: Mapping[str, Plant] = {
    "the CPU's TensorFlow in the image of the GPU's arm": lie("built without CUDA", ""),
    "the CUDA image, and no GPU was passed through": lie(NOT_PASSED, "", image="cuda"),
    "a CUDA library missing from the CUDA image": lie(
        "is unavailable|survived to begin a cell", "", image="crippled_cuda"
    ),
    "a build that says it has CUDA, and lists no GPU": lie("sees no GPU here", "all -listed"),
    "a GPU listed by a build without CUDA": lie(
        r"lists a GPU \(its build is for CPU only\)", "all -build"
    ),
    "a GPU listed that can't be initialised": lie("can't initialise it", "all -logical"),
    "a GPU listed without CUDA's driver library": lie(
        "without having loaded CUDA's driver", "all -driver"
    ),
    "a whole illusion in which CUDA's driver library is not there to be asked": lie(
        "did not report its version", "all -driver_api", status=1
    ),
    "soft placement forced on": lie("soft placement can't be switched off", "all -soft"),
    "soft placement switched on again in mid-run": lie(
        "soft placement was on", "all +soft-behind=cell", status=1
    ),
    "what is asked of the GPU runs on the CPU": lie(
        "a small product for /GPU:0 was made on CPU:0", "all -backing"
    ),
    "only a cell's eager work runs on the CPU": lie(
        "eager work that belongs on GPU:0 ran on CPU:0", "all -tensors", status=1
    ),
    "only a cell's graph runs on the CPU": lie(
        "work that belongs on GPU:0 ran elsewhere", "all -graphs", only=GRAPH, status=1
    ),
    "the executed graphs can't be read": lie(
        "node was executed in a graph", "all +no-graphs", only=GRAPH, status=1
    ),
    "a GPU that is newer than the build": lie(
        "this GPU is newer than that TensorFlow", "all +capability=12.0"
    ),
    "a GPU that is older than the build": lie(
        "older than this TensorFlow was built for", "all +capability=5.2"
    ),
    "a GPU that refuses its first kernel": lie(
        f"fails in the start-up sequence: {LOST}", "all +lost-behind=start"
    ),
    "a GPU that hangs in its first kernel": lie(
        "the deadline for the start has passed", "all +hang-behind=start", START_DEADLINE_S=2.5
    ),
    "a GPU that computes wrong": lie(
        "gives a wrong result for a small product", "all +wrong-behind=start"
    ),
    "a GPU lost in the middle of a cell": lie(
        "sees no GPU here", "all +lost-behind=cell_started", NO_GPU_LATER, only=f"{EAGER} {OTHER}"
    ),
    "a GPU lost between two cells": lie(
        "sees no GPU here", "all +lost-behind=cell", NO_GPU_LATER, only=f"{EAGER} {OTHER}"
    ),
    "a GPU lost after the last cell": lie(
        "after the last cell the GPU did not answer, or gave a wrong result",
        "all +lost-behind=cell",
        status=1,
    ),
    "a GPU that computes wrong from the first cell on": lie(
        "gives a wrong result for a small product", "all +wrong-behind=cell_started", status=1
    ),
    "TF32 left on behind a cell": lie("TF32 was on", "all +tf32-behind=cell", status=1),
}


# --- an engine or a worker by a script --------------------------------------------------------------


def live_by(
    seen: str,
    bad: Script,
    status: int = 4,
    *,
    more: tuple[str, ...] = (),
    only: str = f"{EAGER} {OTHER}",
) -> Plant:
    """A campaign of both arms in which the containers with the GPU live by this script."""

    def act(ground: Ground) -> None:
        good = Worker()
        scripted = FakeEngine(
            otherwise=lambda job: bad(job) if is_on_gpu(job) else good(job), gpu=REQUEST
        )
        ground.bench(scripted, *more, only=only, arms="cpu cuda")

    return Plant(act, seen, status)


def change_records(kind: str, **fields: Any) -> Script:
    """A worker that is well but for these fields in its records of a kind."""
    return lambda job: Life(words=rewrite(Worker().words(job), kind, fields))


def rewrite(lines: list[str], kind: str, fields: dict[str, Any]) -> Iterator[str]:
    for line in lines:
        read = dict(codec.parse_record(line))
        if read["record"] != kind:
            yield line
            continue
        for name, value in fields.items():
            inner = read.get(name)
            read[name] = {**inner, **value} if isinstance(inner, dict) else value
        yield record(read.pop("record"), **read)


def live(*words: str, **how: Any) -> Script:
    """Containers that say this, and no more."""
    return lambda _job: Life(words=words, **how)


def refuse(diary: str) -> Script:
    refused = record("refused", reason="TensorFlow sees no GPU here")
    return live(*Worker().greeting()[:1], refused, code=4, diary=diary)


class Finding(FakeEngine):
    """An engine on a machine with two GPUs, of which the request is judged as on a real one."""

    def __init__(self, root: Path) -> None:
        self.root = lay(root, {"dev/nvidia0": "", "dev/nvidia1": ""})
        cards = (Card(index=index, uuid=f"GPU-000{index}", mig=False) for index in range(2))
        super().__init__(cards=tuple(cards))

    def find_gpu(self, wanted: str) -> GpuRequest:
        return gpu.find_local_gpu(wanted, self.cards, self.root)


def ask(seen: str, engine: Callable[[Path], FakeEngine], *words: str) -> Plant:
    """A campaign of both arms on such an engine, which is made in a folder of the test's."""

    def act(ground: Ground) -> None:
        made = engine(ground.results.parent / "machine")
        ground.bench(made, *words, only=EAGER, arms="cpu cuda")

    return Plant(act, seen)


CU_INIT = (
    "E0000 00:00:1795290143.066641       1 cuda_platform.cc:52] failed call to cuInit: INTERNAL: "
    "CUDA error: Failed call to cuInit: {}\n"
)
"""As TensorFlow 2.21 in the CUDA image prints it; the first with UNKNOWN ERROR (303), seen there."""

NO_LIBRARIES = "Cannot dlopen some GPU libraries. Please make sure\n"
DEFECTIVE = "the GPU is lost: CUDA_ERROR_ECC_UNCORRECTABLE\n"
REFUSED_TOOLKIT = 'could not select device driver "" with capabilities: [[gpu]]'
HIDDEN = CU_INIT.format("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected")
NO_ROOM = {
    "outcome": "failed",
    "reason": "ResourceExhaustedError: OOM when allocating tensor with shape[40000,40000] and "
    "type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
}


def tell(seen: str, **facts: Any) -> Plant:
    """Containers that tell this of themselves; a name's first word ends at two underscores."""
    told = {name.replace("__", "."): value for name, value in facts.items()}
    return live_by(seen, change_records("facts", facts=told), 1)


def place(seen: str, *, only: str = f"{EAGER} {OTHER}", **cell: Any) -> Plant:
    """Cells that tell this of where they ran."""
    return live_by(seen, change_records("cell", cell=cell), 1, only=only)


def swap(fact: str, first: str, later: str, seen: str) -> Plant:
    """A fact that is another one from the second block on."""
    left: list[dict[str, Any]] = [{fact: first}, {fact: later}]

    def life(job: Job) -> Life:
        now = left.pop(0) if len(left) > 1 else left[0]
        return change_records("facts", facts=now)(job)

    return live_by(seen, life, 1, more=("--blocks", "2"))


SCRIPTED: Mapping[str, Plant] = {
    "a machine without a GPU": ask(
        "no NVIDIA GPU on this machine",
        lambda _: FakeEngine(gpu=NoGpuError("no NVIDIA GPU on this machine", "ARMS=cpu")),
    ),
    "a wrong UUID": ask("there is no GPU GPU-9999 on this machine", Finding, "--gpu", "GPU-9999"),
    "an index out of range": ask("there is no GPU 2 on this machine", Finding, "--gpu", "2"),
    "an engine that refuses the request": ask(
        "nvidia-ctk runtime configure",
        lambda _: FakeEngine(gpu=remedies.explain_refusal(REFUSED_TOOLKIT)),
    ),
    "an engine that takes the request and does nothing": live_by(
        NOT_PASSED, refuse(CU_INIT.format("UNKNOWN ERROR (303)"))
    ),
    "a GPU hidden within the container": live_by("closed to this job", refuse(HIDDEN)),
    "a worker that computes on the CPU and says so": live_by(
        "its worker computes on /CPU:0", change_records("startup", device="/CPU:0")
    ),
    "a container that dies at every start": live_by(
        "CUDA libraries are missing beside TensorFlow", live(code=139, diary=NO_LIBRARIES)
    ),
    "a worker of another schema": live_by(
        "speaks schema 99", live(record("hello", schema=99, version="9.9", pid=1))
    ),
    "a GPU that is lost in every container": live_by(
        "the GPU's memory, or a link of it, is defective",
        Worker().dies_in(EAGER, code=7, diary=DEFECTIVE),
        1,
        only=EAGER,
    ),
    "a GPU that hangs in a cell": live_by(
        "the deadline for the cell", Worker().meets(EAGER, TimeoutError()), 1, only=EAGER
    ),
    "a GPU without enough memory": live_by(
        r"this tensor alone takes 6\.4 GB",
        Worker(outcomes={EAGER: NO_ROOM, OTHER: NO_ROOM}),
        1,
    ),
    "facts that list no GPU": tell(
        "TensorFlow had no GPU among its devices", tensorflow__devices="CPU:0"
    ),
    "facts of a build for the CPU": tell(
        "TensorFlow was built for CPU only", tensorflow__build__cuda=False
    ),
    "facts that say soft placement was on": tell(
        "soft placement was on", tensorflow__soft_placement=True
    ),
    "facts that say TF32 was on": tell("TF32 was on", tensorflow__tf32=True),
    "cells that ran on the CPU": place("its work was seen on CPU:0", placement={"CPU:0": 3}),
    "cells that were seen nowhere": place("its work was seen on no device at all", placement={}),
    "cells whose products ran elsewhere": place(
        "some of its work was seen elsewhere", elsewhere=["_MklMatMul on CPU:0 ×2"]
    ),
    "a GPU that was not well at the end": tell(
        "after the last cell the GPU", **{AT_END: "/GPU:0 refuses a small product"}
    ),
    "the image changed in mid-campaign": swap(
        "content.hash", "0" * 64, "1" * 64, "the image changed during the campaign"
    ),
    "the driver changed in mid-campaign": swap(
        "gpu.driver", "550.54.15", "550.90.07", r"changed during the campaign: gpu\.driver"
    ),
    "another GPU in mid-campaign": swap(
        "gpu.0.name", "Made-Up One", "Made-Up Two", r"changed during the campaign: gpu\.0\.name"
    ),
    "another GPU of the same name in mid-campaign, and nobody watches": swap(
        "gpu.0.uuid", "sha256:00", "sha256:11", r"changed during the campaign: gpu\.0\.uuid"
    ),
    "cells of which some ran on the CPU": place(
        "some of its work was seen on CPU:0", placement={"GPU:0": 1, "CPU:0": 9}
    ),
    "a graph whose gradients ran on the CPU": place(
        "some of its work was seen elsewhere: BiasAddGrad",
        only=GRAPH,
        placement={"GPU:0": 9, "CPU:0": 3},
        elsewhere=["BiasAddGrad on CPU:0 ×3"],
    ),
    "a graph that ran on another GPU": place(
        "some of its work was seen elsewhere: MatMul on GPU:1",
        only=GRAPH,
        placement={"GPU:0": 9, "GPU:1": 6},
        elsewhere=["MatMul on GPU:1 ×6"],
    ),
    "a graph with nodes that nobody names": place(
        "are not those that are named", only=GRAPH, placement={"GPU:0": 1, "CPU:0": 1000}
    ),
}


# --- documents --------------------------------------------------------------------------------------


CELLS = [cell for cell in synthetic.make_cells() if cell.scenario in {"matmul", "mlp"}]
SAMPLES = 20
"""Of a cell, in a document."""


def write_down(change: Callable[[Document], Document], **how: Any) -> Callable[[Ground], None]:
    """A standard campaign whose documents of the GPU's arm are changed; then its report anew."""

    def act(ground: Ground) -> None:
        report_on(ground, "made-up", change, **how)

    return act


def report_on(
    ground: Ground,
    name: str,
    change: Callable[[Document], Document],
    *,
    arms: tuple[str, ...] = ("cpu", "cuda"),
    twins: bool = False,
) -> Path:
    """Writes such a campaign down and has its report made; its folder."""
    made = replace(synthetic.make_campaign(blocks=5, cells=CELLS, arms=arms), id=name)
    documents = [
        change(watch(on_gpu(one))) if is_gpus(one) else watch(one, HOST_ONLY, {})
        for one in synthetic.make_documents(made, samples=SAMPLES, calibration=False)
    ]
    if twins:
        documents += [
            change(watch(synthetic.make_document(made, "cuda-twin", block, samples=SAMPLES)))
            for block in range(1, 6)
        ]
    folder = synthetic.write_campaign(ground.results / name, made, documents)
    ground.named = folder
    ground.run("report", str(folder))
    return folder


def is_gpus(document: Document) -> bool:
    return document.invocation.arm in {"cuda", "cuda-again"}


def on_gpu(document: Document) -> Document:
    """The document as a GPU's: of the arm's other self only the name is known to who makes them up."""
    cells = [replace(one, placement={"GPU:0": 3}) for one in document.cells]
    return replace(document, facts=synthetic.make_facts("cuda"), cells=cells)


def set_beside(change: Callable[[Document], Document]) -> Callable[[Ground], None]:
    """Two such campaigns, compared."""

    def act(ground: Ground) -> None:
        first, second = (report_on(ground, name, change) for name in ("one", "two"))
        status, said = ground.status, ground.said
        out = ground.results.parent / "compared"
        ground.run("compare", str(first), str(second), "--out", str(out))
        assert ground.status == 0
        ground.status, ground.said, ground.over = status, said, out

    return act


def on_gpus(change: Callable[[Document], Document]) -> Callable[[Ground], None]:
    """A campaign of three GPUs, whose documents of GPUs are changed; then its report anew."""

    def act(ground: Ground) -> None:
        campaign, documents = make_gpus({"0": 1.0, "1": 1.0, "2": 1.08}, change=change)
        ground.named = synthetic.write_campaign(ground.results / "gpus", campaign, documents)
        ground.run("report", str(ground.named))

    return act


def swap_gpus(document: Document) -> Document:
    """What lies there under a GPU's arm is of the next one."""
    device = document.invocation.arm.rpartition(":")[2]
    return tell_facts({"gpu.0.uuid": hash_gpu(str((int(device) + 1) % 3))})(document)


def see(**series: Callable[[float], float | None]) -> Callable[[Document], Document]:
    """The document with other telemetry."""
    changed: Series = {**HEALTHY, **{f"gpu.{name}": one for name, one in series.items()}}
    return lambda document: watch(document, changed)


def know(document: Document, **facts: str) -> Document:
    """The document whose telemetry is of a GPU with other facts."""
    known = {name.replace("_", ".", 1): value for name, value in facts.items()}
    return watch(document, facts={**TELEMETRY, **known})


def rename_arm(document: Document) -> Document:
    """A document of the CPU under the GPU's arm: what a wrong copy, or a hand, makes of it."""
    cells = [replace(one, placement={"CPU:0": 3}) for one in document.cells]
    return replace(document, facts=synthetic.make_facts("cpu"), cells=cells)


def forget_devices(one: Document) -> Document:
    return replace(one, facts={n: v for n, v in one.facts.items() if n != "tensorflow.devices"})


def by_block(first: str, later: str) -> Callable[[Document], str]:
    return lambda document: first if document.invocation.block < 3 else later


OLD_DRIVER = by_block("550.54.15", "550.90.07")
OTHER_UUID = by_block("sha256:00", "sha256:11")

FOR_CPU = "TensorFlow was built for CPU only"
OTHER_GPU = "a GPU other than the one named"
SLOWED = "thermal or hardware slowdown of the GPU"
CHANGED = r"changed during the campaign: "


def written(seen: str, change: Callable[[Document], Document], **how: Any) -> Plant:
    """What is planted in documents."""
    return Plant(write_down(change, **how), seen, 1)


WRITTEN: Mapping[str, Plant] = {
    "the CPU's documents under the GPU's arm": written(FOR_CPU, rename_arm),
    "documents that say nothing of their devices": written(
        r"lacks the fact tensorflow\\?\.devices", forget_devices
    ),
    "another GPU's name in the telemetry": written(
        OTHER_GPU, lambda one: know(one, gpu_name="Another Accelerator")
    ),
    "the worker's process on another GPU": written(
        OTHER_GPU, see(own_processes=lambda _: 0, own_processes_elsewhere=lambda _: 1)
    ),
    "another process computing on the GPU": written(
        "another process computed on the GPU", see(other_processes=lambda _: 1)
    ),
    "a GPU slowed down by heat": written(SLOWED, see(held_by_heat_s=lambda at: 0.05 * at)),
    "a GPU held back by its power brake": written(SLOWED, see(reasons_bits=lambda _: 0x80)),
    "the driver upgraded between blocks, seen from outside": written(
        CHANGED + r"driver\\?\.version", lambda one: know(one, driver_version=OLD_DRIVER(one))
    ),
    "another GPU of the same name between blocks": written(
        CHANGED + r"gpu\\?\.uuid", lambda one: know(one, gpu_uuid=OTHER_UUID(one))
    ),
    "another GPU of the same name between blocks, and nobody watches": written(
        CHANGED + r"gpu\\?\.0\\?\.uuid",
        lambda one: tell_facts({"gpu.0.uuid": OTHER_UUID(one)})(replace(one, telemetry=None)),
    ),
    "the CPU's documents under the GPU's arm and its other self, in a campaign of it against itself": (
        written(FOR_CPU, rename_arm, arms=("cuda", "cuda-again"))
    ),
    "the CPU's documents under the GPU's arm and its twin": written(
        "Noise floor: unknown", rename_arm, twins=True
    ),
    "the CPU's documents under the GPU's arm, in two campaigns compared": Plant(
        set_beside(rename_arm), FOR_CPU, 1
    ),
    "the CPU's documents under the arms of three GPUs": Plant(on_gpus(rename_arm), FOR_CPU, 1),
    "each GPU's documents under the arm of another GPU": Plant(
        on_gpus(swap_gpus), "it is another GPU's than the arm's", 1
    ),
}

PLANTS: Mapping[str, Plant] = {**REAL, **SCRIPTED, **WRITTEN}
"""The whole list; docs/method-in-detail.md names them, and a test holds it to this."""

NEEDS_CUDA = "(where the CUDA image is)"
"""Stands in the documentation behind those that other machines skip."""


# --- the tests --------------------------------------------------------------------------------------


@pytest.fixture
def ground(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    own_signals: None,
    suite_identity: SuiteIdentity,
) -> Ground:
    # Drawing takes seconds; the judge reads the pictures as values.
    monkeypatch.setattr(collating, "can_draw", lambda: False)
    # A disturbed invocation is not run again: what disturbs these is there for ever.
    monkeypatch.setattr(campaign_runner, "REPEATS", 0)
    return Ground(tmp_path / "results", request, monkeypatch)


def lay_in(api: Any, image: Image, label: str, *more: str) -> Iterator[Image]:
    """The image with the lies in it, for as long as its tests run."""
    lines = [f"FROM {image.id}", "COPY lies.py /opt/crossover/sitecustomize.py"]
    if more:
        lines += ["USER root", *more, "USER 10001:10001"]
    files = {"Dockerfile": "\n".join(lines).encode(), "lies.py": LIES.read_bytes()}
    # Of this run alone: two checkouts' tests can share an engine.
    tag = f"crossover/test-planted:{label}-{uuid.uuid4().hex[:12]}"
    build_image(api, files, tag=tag, labels={f"{LABEL}.test": "planted"})
    try:
        yield replace(image, id=tag)
    finally:
        api.remove_image(tag, force=True)


@pytest.fixture(scope="module")
def lying_cpu_image(api: Any, cpu_image: Image) -> Iterator[Image]:
    yield from lay_in(api, cpu_image, "cpu")


@pytest.fixture(scope="module")
def cuda_image(engine: DockerEngine, base: str) -> Image:
    """The CUDA image, where all but its last layers are here; building the rest takes seconds."""
    found = DockerEngine(base_image=base)
    try:
        if found.take_stock("cuda").room_bytes:
            pytest.skip(
                "this failure is planted in the CUDA image alone, which is not here: "
                '`make images ARMS="cpu cuda"`, then `make test`'
            )
        return found.provide("cuda", lambda _line: None)
    except EngineError as error:
        pytest.skip(f"the CUDA image can't be had: {error.what}")
    finally:
        found.close()


@pytest.fixture(scope="module")
def lying_cuda_image(api: Any, cuda_image: Image) -> Iterator[Image]:
    yield from lay_in(api, cuda_image, "cuda")


@pytest.fixture(scope="module")
def lying_crippled_cuda_image(api: Any, cuda_image: Image) -> Iterator[Image]:
    """The CUDA image without the library that every kernel is started through."""
    gone = "RUN rm -r /opt/crossover/venv/lib/python3*/site-packages/nvidia/cuda_runtime/lib"
    yield from lay_in(api, cuda_image, "crippled", gone)


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(one, id=name, marks=[pytest.mark.engine] if one.real else [])
        for name, one in PLANTS.items()
    ],
)
def test_no_number_stands_under_the_name_of_a_gpu(plant: Plant, ground: Ground) -> None:
    plant.act(ground)
    assert ground.find() == []
    assert ground.status == plant.status, ground.said
    assert re.search(plant.seen, ground.tell()), ground.said


@pytest.mark.engine
def test_the_lies_are_believed_where_nothing_betrays_them(ground: Ground) -> None:
    """Without this, a plant whose lies fell flat would prove nothing; and it is the limit of what
    a process can know of itself: only what watches from outside sees through a whole illusion."""
    lie("", "all", only=f"{EAGER} {GRAPH}").act(ground)
    assert ground.status == 0, ground.said
    places = {text.split(":")[0] for text in find_numbers(ground.folder, 1)}
    assert places >= {"summary.json", "cells.csv", "report.md", "report.html"}


ALL_FILES = ("exit status 0", "summary.json", "cells.csv", "report.md", "report.html")


@pytest.mark.parametrize(
    ("act", "where", "what"),
    [
        (
            write_down(keep),
            ALL_FILES,
            ("verdict", "a ratio", "crossover", "the picture", "findings", "in words"),
        ),
        (
            write_down(keep, arms=("cuda", "cuda-again")),
            ALL_FILES,
            ("md: cuda-again, time per call", "md: cuda-again against", "in words", "the picture"),
        ),
        (
            set_beside(keep),
            ("compare.json", "compare.md", "compare.html"),
            (
                *("json: matmul", "compare.md: in words"),
                *("md: 2:cuda, time per call", "md: 2:cuda against"),
            ),
        ),
        (
            on_gpus(keep),
            ALL_FILES,
            (
                "md: cuda:2, time per call",
                "md: cuda:2 against cuda:0",
                "a ratio of GPUs",
                "in words",
            ),
        ),
    ],
    ids=["a campaign", "one image against itself", "two campaigns", "several GPUs"],
)
def test_the_judge_sees_the_numbers_of_what_went_well(
    act: Callable[[Ground], None], where: tuple[str, ...], what: tuple[str, ...], ground: Ground
) -> None:
    act(ground)
    found = ground.find()
    for place in where:
        assert any(text.startswith(place) for text in found), place
    for word in what:
        assert any(word in text for text in found), word


def test_a_sound_twin_gives_the_noise_floor_that_the_cpus_does_not(ground: Ground) -> None:
    write_down(keep, twins=True)(ground)
    assert "Noise floor: unknown" not in ground.tell()


def test_the_list_is_long_enough_and_is_the_documentations() -> None:
    names = list(PLANTS)
    assert len(names) == len(REAL) + len(SCRIPTED) + len(WRITTEN) >= 24
    method = (SUITE.parent / "docs" / "method-in-detail.md").read_text(encoding="utf-8")
    section = method.split("## What must never happen")[1].split("\n## ")[0]
    listed = re.findall(r"^- (.*)$", section, re.MULTILINE)
    assert [text.removesuffix(f" {NEEDS_CUDA}") for text in listed] == names
    readme = (SUITE.parent / "README.md").read_text(encoding="utf-8")
    in_cuda = [name for name, one in PLANTS.items() if one.real == "cuda"]
    assert f"{len(names) - len(in_cuda)} failures of a GPU are planted by the tests" in readme
    assert f"and {len(in_cuda)} more if the CUDA image exists" in readme
    for name in in_cuda:
        assert f"- {name} {NEEDS_CUDA}\n" in section
