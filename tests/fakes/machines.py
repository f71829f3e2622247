"""Made-up CPUs and GPUs with known causes planted in them: what `synthetic` makes documents of.

Every time here follows from a few prices of a device, so that a cause is planted by one of them;
the cells are those of the suite, by their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from suite.cells.cell import Cell, Param, Work
from suite.cells.traits import ProfileName
from suite.model import Campaign, Document
from tests import synthetic
from tests.fakes.hosts import Host

EXAMPLE_BYTES = 129 * 4
"""128 float32 inputs and an int32 label of network A."""

EPOCH = 10_000
"""Examples of an epoch of `Model.fit`."""

NODES = 3
"""Nodes that a made-up step is said to have."""

MILD = Host(between=0.01, within=0.02)
ROUGH = Host(between=0.03, within=0.05)


@dataclass(frozen=True, kw_only=True)
class Device:
    """The prices of a made-up device, in seconds unless said otherwise.

    ``eager`` and ``call`` are an eager operation's and a function call's, ``op`` an operation's in
    a graph; ``fixed`` is what a training step takes however small, ``example`` what each example
    adds.  ``flops`` is the rate of products, ``latency`` and ``bandwidth`` a copy's.  ``native``
    and ``python`` are the maps of a batch of 512, ``fallback`` what an operation on the CPU inside
    the step adds, ``start`` the first call's tracing, ``fetch`` a loss fetched.  At the size ``half`` a
    product reaches half of its rate.  ``hides``: input and compute run at the same time.
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
    return device.fixed + 6 * batch * (128 + width + 1) * width / device.flops


def _execute(device: Device, p: dict[str, Param]) -> float:
    seconds = step_time(device, float(p["batch"]), data=str(p["data"]))
    return seconds * {"eager": 3.0, "xla": 0.9}.get(str(p["execution"]), 1.0)


TRUTHS: dict[str, Callable[[Device, dict[str, Param]], float]] = {
    "matmul.square": _product,
    "mlp.train": _execute,
    "mlp.width": _width,
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
    "overhead.eager_op": lambda d, p: d.eager,
    "overhead.function_call": lambda d, p: d.call,
    "overhead.graph_op": lambda d, p: 1000 * d.op,
    "overhead.copy": lambda d, p: copy_time(d, float(p["bytes"])),
    "overhead.sum": lambda d, p: 3 * float(p["bytes"]) / (20 * d.bandwidth),
    "overhead.startup": lambda d, p: {"step": d.start}.get(str(p["stage"]), 0.5),
    "overhead.container": lambda d, p: 1.0,
}

STAGES = ("naive", "traced", "placed", "float32", "no-fetch", "device-data", "batch-512")
SIZES = (1, 10, 32, 64, 100, 128, 256, 500, 1000, 2000, 3000, 4000, 5000, 8000, 10000)
ASKED_SIZES = (1, 10, 100, 500, 1000, 2000, 3000, 4000, 5000, 8000, 10000)
BATCHES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
PIPELINES = ("parallel", "native", "numpy_function")


def _cell(family: str, params: dict[str, Param], amount: float, unit: str, **more: object) -> Cell:
    scenario, case = family.split(".")
    return synthetic.make_cell(scenario, case, params, Work(amount=amount, unit=unit), **more)


def _ons() -> Iterable[tuple[str, dict[str, object]]]:
    yield "arm", {"asked_about": True}
    yield "cpu", {"asked_about": True, "arms": ["cuda"]}


def make_cells() -> list[Cell]:
    """The cells of the profile full that the analysis has something to say about."""
    cells = [
        _cell("matmul.square", {"n": n, **rest}, 2.0 * n**3, "FLOP", sweep="n")
        for rest, sizes in (
            ({"precision": "fp32", "operands": "device", "xla": "off"}, SIZES),
            ({"precision": "fp32", "operands": "host", "xla": "off"}, (100, 1000, 4000)),
        )
        for n in sizes
    ]
    for data, execution, batches in (
        ("device", "graph", BATCHES),
        ("host", "graph", (32, 512)),
        ("dataset", "graph", (32, 512)),
        ("device", "eager", (32, 512)),
        ("device", "xla", (32, 512)),
    ):
        for batch in batches:
            params: dict[str, Param] = {"net": "A", "batch": batch, "data": data}
            params |= {"precision": "fp32", "execution": execution}
            cells.append(_cell("mlp.train", params, batch, "example", sweep="batch"))
    cells += [
        _cell(
            "mlp.width",
            {"width": w, "batch": b, "precision": "fp32"},
            6.0 * b * (128 + w + 1) * w,
            "FLOP",
            sweep="width",
        )
        for w in (64, 512, 2048, 8192)
        for b in (32, 512)
    ]
    cells += [
        _cell("mlp.fallback", {"batch": 512, "python": python}, 512, "example")
        for python in ("none", "numpy_function")
    ]
    cells += [*_make_asked(), *_make_data(), *_make_overhead()]
    return cells


def _make_asked() -> Iterable[Cell]:
    for on, more in _ons():
        for n in ASKED_SIZES:
            for stage in ("naive", "first-call-apart", *(["warm"] if on == "cpu" else [])):
                params: dict[str, Param] = {"n": n, "stage": stage, "on": on}
                cold = stage == "naive"
                fields = {**more, "one_shot": cold, "sweep": "n"}
                yield _cell("asked.matmul", params, 2.0 * n**3, "FLOP", **fields)
        for stage in ("first", "again") if on == "arm" else ("again",):
            cold = stage == "first"
            yield _cell(
                "asked.clone", {"stage": stage, "on": on}, 1, "model", one_shot=cold, **more
            )
        for stage in STAGES:
            amount = 512 if stage == "batch-512" else 1000
            params = {"stage": stage, "on": on}
            cold = stage == "naive"
            yield _cell("asked.slices", params, amount, "example", one_shot=cold, **more)
        for stage in ("fetch", "no-fetch"):
            yield _cell("asked.dataset", {"stage": stage, "on": on}, 32, "example", **more)
        for batch, prefetch, stages in (
            (512, "on", ("epoch-1", "epoch-2", "epoch-3", "steady")),
            (512, "off", ("epoch-1", "steady")),
            (8, "on", ("epoch-1", "steady")),
        ):
            for stage in stages:
                params = {"stage": stage, "batch": batch, "prefetch": prefetch, "on": on}
                cold = stage != "steady"
                yield _cell("asked.fit", params, EPOCH, "example", one_shot=cold, **more)


def _make_data() -> Iterable[Cell]:
    for batch in (32, 512):
        params: dict[str, Param] = {"batch": batch, "shuffle": "on", "prefetch": "on"}
        yield _cell("tfdata.slices", params, batch, "element")
    for pipeline in PIPELINES:
        for part in ("input", "together", "trivial"):
            params = {"pipeline": pipeline, "part": part, "batch": 512}
            yield _cell("tfdata.triple", params, 512, "element")


def _make_overhead() -> Iterable[Cell]:
    for case in ("fence", "eager_op", "function_call"):
        yield _cell(f"overhead.{case}", {}, 1, "call")
    yield _cell("overhead.graph_op", {}, 1000, "operation")
    for direction in ("to-device", "from-device"):
        for size in (4, 4096, 65536, 2**20, 2**24, 2**28):
            params: dict[str, Param] = {"direction": direction, "bytes": size}
            copied = Work(amount=1.0, unit="copy", bytes=size)
            yield replace(_cell("overhead.copy", params, 1, "copy"), work=copied)
    summed = Work(amount=1.0, unit="sum", bytes=3 * 2**28)
    yield replace(_cell("overhead.sum", {"bytes": 2**28}, 1, "sum"), work=summed)
    for stage in ("import", "devices", "kernel", "build", "step"):
        yield _cell("overhead.startup", {"stage": stage}, 1, "start", one_shot=True)
    yield _cell("overhead.container", {}, 1, "start", one_shot=True, by_host=True)


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
