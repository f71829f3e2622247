"""Made-up CPUs and GPUs with known causes planted in them: what `synthetic` makes documents of.

Every time here follows from a few prices of a device, so that a cause is planted by one of them;
the cells are those of the suite, by their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch

from suite.cells.cell import Cell, Ladder, Param
from suite.cells.traits import PROFILES, ProfileName
from suite.model import Campaign, Document
from suite.worker import scenarios
from tests import synthetic
from tests.fakes.hosts import Host

EXAMPLE_BYTES = 129 * 4
"""128 float32 inputs and an int32 label of network A."""

EPOCH = 10_000
"""Examples of an epoch of `Model.fit`."""

MILD = Host(between=0.01, within=0.02)
ROUGH = Host(between=0.03, within=0.05)


@dataclass(frozen=True, kw_only=True)
class Device:
    """The prices of a made-up device, in seconds unless said otherwise.

    ``eager`` and ``call`` are an eager operation's and a function call's, ``op`` an operation's in
    a graph, ``trace`` a function's trace; ``fixed`` is what a training step takes however small,
    ``example`` what each example adds.  ``flops`` is the rate of products, ``latency`` and
    ``bandwidth`` a copy's.  ``native`` and ``python`` are the maps of a batch of 512, ``fallback`` what an
    operation on the CPU inside the step adds, ``start`` the first call's tracing, ``fetch`` a loss
    fetched, ``wake`` handing over to a thread and back.
    At the size ``half`` a product reaches half of its rate.  ``hides``: input and compute run
    at the same time.
    """

    eager: float
    call: float
    op: float
    fixed: float
    example: float
    flops: float
    latency: float
    bandwidth: float
    native: float = 0.4e-3
    python: float = 0.5e-3
    fallback: float = 0.0
    start: float = 1e-3
    fetch: float = 1e-6
    wake: float = 4e-6
    trace: float = 20e-3
    half: float = 0.0
    hides: bool = True


CPU = Device(
    eager=5e-6,
    call=20e-6,
    op=1e-6,
    fixed=60e-6,
    example=10e-6,
    flops=1e11,
    latency=1e-6,
    bandwidth=1e10,
)
GPU = Device(
    eager=5e-6,
    call=10e-6,
    op=1e-6,
    fixed=20e-6,
    example=1e-6,
    flops=1e12,
    latency=1e-6,
    bandwidth=1e10,
)
"""A GPU that is well in every respect: it wins every cell that does any work."""


def copy_time(device: Device, size: float) -> float:
    """Seconds for a copy of so many bytes."""
    return device.latency + size / device.bandwidth


def step_time(device: Device, batch: float, *, data: str = "device") -> float:
    """Seconds for a training step of network A."""
    seconds = device.fixed + device.example * batch
    if data == "host":
        seconds += copy_time(device, batch * EXAMPLE_BYTES)
    elif data == "dataset":
        seconds = join(device, input_time(device, "parallel") * batch / 512, seconds)
    return seconds


def input_time(device: Device, pipeline: str) -> float:
    """Seconds for a batch of 512 out of a pipeline alone."""
    return {"parallel": device.native / 4, "native": device.native}.get(pipeline, device.python)


def join(device: Device, first: float, second: float) -> float:
    """Seconds for input and compute together."""
    return max(first, second) if device.hides else first + second


def tell_truth(devices: dict[str, Device]) -> Callable[[Cell, str], float]:
    """The true seconds a call of every cell, by arm."""

    def truth(cell: Cell, arm: str) -> float:
        # Work that is pinned to the CPU beside a GPU is as fast as the CPU's.
        pinned = cell.params.get("on") == "cpu" or cell.params.get("part") == "input"
        device = devices["cpu" if pinned else arm]
        return TRUTHS[f"{cell.scenario}.{cell.case}"](device, cell.params)

    return truth


def _product(device: Device, p: dict[str, Param]) -> float:
    n = float(p["n"])
    seconds = device.eager + 2 * n**3 / device.flops * (1 + device.half / n)
    if p.get("operands") == "host":
        seconds += copy_time(device, 8 * n * n) + copy_time(device, 4 * n * n)
    return seconds


def _asked_product(device: Device, p: dict[str, Param]) -> float:
    extra = {"naive": 2 * device.start, "first-call-apart": 0.2 * device.start}
    return _product(device, p) + extra.get(str(p["stage"]), 0.0)


def _slices(device: Device, p: dict[str, Param]) -> float:
    """100 steps of 10; each stage is without what it and those before it take away."""
    stage = STAGES.index(str(p["stage"]))
    if p["stage"] == "batch-512":
        return step_time(device, 512)
    seconds = 100 * step_time(device, 10)
    taken = (
        device.start,
        100 * 0.3 * device.fixed,
        100 * 2e-6,
        100 * device.fetch,
        100 * copy_time(device, 10 * EXAMPLE_BYTES),
    )
    return seconds + sum(taken[stage:])


def _triple(device: Device, p: dict[str, Param]) -> float:
    fed = input_time(device, str(p["pipeline"]))
    model = device.fixed if p["part"] == "trivial" else step_time(device, 512)
    return fed if p["part"] == "input" else join(device, fed, model)


def _fit(device: Device, p: dict[str, Param]) -> float:
    steps = -(-EPOCH // int(p["batch"]))
    seconds = steps * step_time(device, float(p["batch"]))
    if p["prefetch"] == "off":
        seconds += EPOCH / 512 * device.native / 4
    once = {"epoch-1": device.start, "epoch-2": 0.05 * device.start, "epoch-3": 0.01 * device.start}
    return seconds + once.get(str(p["stage"]), 0.0)


def _width(device: Device, p: dict[str, Param]) -> float:
    width, batch = float(p["width"]), float(p["batch"])
    # Nobody asks for the gradient by the 128 inputs.
    operations = 6 * (128 + width + 1) - 2 * 128
    return device.fixed + batch * operations * width / device.flops


def _retrace(device: Device, p: dict[str, Param]) -> float:
    seconds = step_time(device, float(p["batch"]))
    return seconds + (device.trace if p["traced"] == "anew" else 0.0)


def _execute(device: Device, p: dict[str, Param]) -> float:
    seconds = step_time(device, float(p["batch"]), data=str(p["data"]))
    return seconds * {"eager": 3.0, "xla": 0.9}.get(str(p["execution"]), 1.0)


TRUTHS: dict[str, Callable[[Device, dict[str, Param]], float]] = {
    "matmul.square": _product,
    "mlp.train": _execute,
    "mlp.width": _width,
    "mlp.retrace": _retrace,
    "mlp.fallback": lambda d, p: step_time(d, 512) + (0.0 if p["python"] == "none" else d.fallback),
    "asked.matmul": _asked_product,
    "asked.clone": lambda d, p: 5e-3 + (d.start if p["stage"] == "first" else 0.0),
    "asked.slices": _slices,
    "asked.dataset": lambda d, p: (
        step_time(d, 32, data="dataset") + (d.fetch if p["stage"] == "fetch" else 0.0)
    ),
    "asked.fit": _fit,
    "tfdata.triple": _triple,
    "tfdata.slices": lambda d, p: input_time(d, "parallel") * float(p["batch"]) / 512,
    "overhead.fence": lambda d, p: 8e-6,
    "overhead.handover": lambda d, p: d.wake,
    "overhead.eager_op": lambda d, p: d.eager,
    "overhead.function_call": lambda d, p: d.call,
    "overhead.graph_op": lambda d, p: 1000 * d.op,
    "overhead.copy": lambda d, p: copy_time(d, float(p["bytes"])),
    "overhead.sum": lambda d, p: 3 * float(p["bytes"]) / (20 * d.bandwidth),
    "overhead.startup": lambda d, p: {"step": d.start}.get(str(p["stage"]), 0.5),
    "overhead.container": lambda d, p: 1.0,
}

STAGES = ("naive", "traced", "placed", "float32", "no-fetch", "device-data", "batch-512")
KEPT = (
    *("matmul.square/*/precision=fp32/*/xla=off", "mlp.train/net=A/*/precision=fp32/*"),
    *("mlp.width/width=[!6]*/precision=fp32", "mlp.fallback/*"),
    *(f"tfdata.triple/pipeline={name}/*" for name in ("parallel", "native", "numpy_function")),
    *("tfdata.slices/*/shuffle=on/prefetch=on", "overhead.startup/*"),
    *(
        f"overhead.{case}"
        for case in ("fence", "handover", "eager_op", "function_call", "graph_op")
    ),
    *("overhead.copy/*", "overhead.sum/*", "overhead.container", "mlp.retrace/*"),
    *(
        f"asked.{case}/*stage={stage}/*"
        for case, stages in {
            "matmul": ("naive", "first-call-apart", "warm"),
            "clone": ("first", "again"),
            "slices": STAGES,
            "dataset": ("fetch", "no-fetch"),
            "fit": ("epoch-*", "steady"),
        }.items()
        for stage in stages
    ),
)
"""The cells that the analysis has something to say about: of scripts these stages alone, and no width at
which even a sound GPU is idle."""


def make_cells() -> list[Cell]:
    """Those of the suite, in every profile."""
    cells = [
        cell for cell in scenarios.cells() if any(fnmatch(cell.id, pattern) for pattern in KEPT)
    ]
    ids = {cell.id for cell in cells}
    return [
        replace(cell, profiles=list(PROFILES), way=cell.way and keep_stages(cell.way, ids))
        for cell in cells
    ]


def keep_stages(way: Ladder, ids: Collection[str]) -> Ladder:
    """The way by the stages that these cells measure."""
    return replace(way, stages=[stage for stage in way.stages if stage.cell in ids])


def choose(cells: Sequence[Cell], *ids: str) -> list[Cell]:
    """The cells whose ids begin with one of these."""
    return [one for one in cells if one.id.startswith(ids)]


def make_campaign(
    cells: Sequence[Cell] | None = None,
    *,
    cpu: Device = CPU,
    gpu: Device | None = GPU,
    host: Host = MILD,
    blocks: int = 5,
    seed: int = 7,
    profile: ProfileName = "standard",
) -> tuple[Campaign, list[Document]]:
    """A campaign of these cells (None: all) on two made-up devices; one arm where ``gpu`` is None."""
    devices = {"cpu": cpu} if gpu is None else {"cpu": cpu, "cuda": gpu}
    campaign = synthetic.make_campaign(
        arms=tuple(devices),
        blocks=blocks,
        cells=list(make_cells() if cells is None else cells),
        profile=profile,
        seed=seed,
    )
    documents = synthetic.make_documents(
        campaign, truth=tell_truth(devices), host=host, calibration=False
    )
    return campaign, documents
