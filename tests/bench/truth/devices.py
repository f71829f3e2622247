"""Devices of a few prices, from which the true seconds of each of the suite's cells follow.

A cause is planted in a price; how much of a loss it is to blame for is told by taking it away.  Says
what a cell takes, and what was seen of it (dispatch, a trace); knows nothing of the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from suite.analysis.result.findings import RuleName
from suite.cells.cell import Cell, Param
from tests.bench.truth.campaigns import OTHER, Planted, Seconds

KERNELS = 40
"""Kernels that a training step launches."""

FLOPS = {"A": 3e5, "B": 2e5, "C": 9e5}
"""Floating-point operations for an example, forward and backward."""

BYTES = {"A": 520.0, "B": 408.0, "C": 24.0}
"""Bytes of an example."""

EPOCH, SLICES = 10_000, 1000
"""Examples of an epoch of `fit`, and of the asker's slices."""


@dataclass(frozen=True, kw_only=True)
class Device:
    """Seconds unless said otherwise.

    ``eager`` and ``graph`` are handing a call over, ``kernel`` what the device takes for each kernel of a
    step however small.  Handing over and computing run at the same time as far as ``overlap`` says: 1 is
    one after the other, and infinity the longer of both alone.  ``flops`` is the rate of large products, of
    which a size ``half`` reaches half.  A copy takes ``latency`` and its bytes over ``bandwidth``; a CPU has
    none.  ``feed`` are the pipelines' seconds for a batch of 512, ``drag`` by how much longer they take
    while the device is driven beside them.  ``wake`` is handing over to a thread and back, ``fallback`` an
    operation on the CPU inside a step,
    ``first`` what a cold call sets up, ``fetch`` waiting for a loss, ``fence`` for nothing.  Of what
    scripts do beside that, ``session`` is a graph and session for a product, ``handed`` objects of Python
    as a call's arguments, ``again`` tracing a step once more, ``bar`` showing a step's progress; ``retrace``
    tracing at every call, ``keras`` the loop of ``predict`` around one batch.
    """

    eager: float
    graph: float
    kernel: float
    flops: float
    half: float = 0.0
    latency: float = 0.0
    bandwidth: float = float("inf")
    feed: Mapping[str, float]
    drag: float = 1.0
    fallback: float = 0.0
    first: float
    fetch: float = 2e-6
    fence: float = 2e-6
    wake: float = 5e-6
    session: float = 1e-3
    handed: float = 30e-6
    again: float = 5e-3
    bar: float = 10e-6
    retrace: float = 5e-3
    keras: float = 2e-3
    overlap: float = 16.0


FEED = {"parallel": 0.3e-3, "native": 0.9e-3, "numpy_function": 1.5e-3}
YIELDED = {"slices": 1.0, "chunks": 3.0, "generator": 10.0}
"""By how much longer a batch takes by what its elements come from, than in the pipeline as it should be."""

CPU = Device(eager=6e-6, graph=60e-6, kernel=1e-6, flops=2e11, feed=FEED, first=10e-3)
GPU = Device(
    eager=6e-6,
    graph=50e-6,
    kernel=1e-6,
    flops=1e13,
    latency=5e-6,
    bandwidth=1.2e10,
    feed=FEED,
    first=10e-3,
)
"""A GPU without a fault: as cheap to call as the CPU, and faster wherever there is work."""


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What one call takes, and its parts: dispatch, kernels, copies, the pipeline; seconds."""

    seconds: float
    host: float = 0.0
    busy: float = 0.0
    copied: float = 0.0


def take(device: Device, cell: Cell) -> Taken:
    """What a call of a cell takes on a device."""
    return CASES[cell.name](device, cell.params)


def times(cpu: Device, gpu: Device) -> Seconds:
    """The true seconds of these devices."""
    return lambda cell, arm: take(gpu if arm == OTHER and not cell.on_cpu else cpu, cell).seconds


def plant(cpu: Device, gpu: Device, **fields: Any) -> Planted:
    """A campaign of these devices, with what a worker sees of a GPU: dispatch, and traces."""

    def see(cell: Cell, arm: str) -> dict[str, Any]:
        if arm != OTHER or cell.on_cpu or cell.dispatch is None or _blocks(cell):
            return {}
        taken = take(gpu, cell)
        share = min(1.0, taken.host / taken.seconds)
        labels = ["dispatch-bound"] if share > 0.9 else []
        return {"enqueue_fraction": share, "labels": labels, "absent": {"peak_memory_bytes": "-"}}

    def trace(cell: Cell, arm: str) -> dict[str, float]:
        if arm != OTHER or cell.on_cpu or cell.one_shot or cell.device == "none":
            return {}
        taken = take(gpu, cell)
        return {
            "calls": 20.0,
            "call_s": taken.seconds,
            "busy_share": min(1.0, (taken.busy + taken.copied) / taken.seconds),
            "copy_share": taken.copied / taken.seconds,
            "kernels": float(KERNELS),
            "copies": 2.0 if taken.copied else 0.0,
            "longest_gap_s": max(0.0, taken.seconds - taken.busy - taken.copied),
        }

    return replace(Planted(seconds=times(cpu, gpu), results=see, traced=trace), **fields)


OVERHEAD = ("eager", "graph", "kernel", "session", "handed", "bar", "fetch", "keras")
STARTS = ("first", "again")
"""The prices of which a cause consists."""


def blame(cell: Cell, cpu: Device, gpu: Device, best: float | None = None) -> dict[RuleName, float]:
    """By cause the share of the GPU's loss to the CPU that goes away without it; nothing where the
    GPU does not lose.

    With ``best``, seconds a call at the GPU's own best rate: the share of what it takes beyond that.
    """
    own = take(gpu, cell).seconds
    rival = take(cpu, cell).seconds if best is None else best
    if cell.on_cpu or own <= rival:
        return {}

    def cheapen(prices: tuple[str, ...]) -> Device:
        """What the CPU pays as well is no reason to lose; what the GPU does worse is."""
        least = {name: getattr(cpu, name) if best is None else 0.0 for name in prices}
        return replace(gpu, **{name: min(getattr(gpu, name), least[name]) for name in prices})

    idle = replace(gpu, feed=dict.fromkeys(gpu.feed, 0.0))
    cures: dict[RuleName, Device] = {
        "overhead": cheapen(OVERHEAD),
        "transfer": replace(gpu, latency=0.0, bandwidth=float("inf")),
        "input": replace(gpu, drag=1.0) if best is None else idle,
        "fallback": replace(gpu, fallback=0.0),
        "start-up": cheapen(STARTS),
        "retracing": cheapen(("retrace",)),
        "too small": replace(gpu, half=0.0),
    }
    return {
        rule: (own - take(cured, cell).seconds) / (own - rival) for rule, cured in cures.items()
    }


def _blocks(cell: Cell) -> bool:
    """Whether a call waits by itself, so that dispatch can't be told apart."""
    return cell.one_shot or cell.scenario in {"asked", "tfdata"} or cell.data != "device"


def join(device: Device, host: float, busy: float) -> float:
    """Seconds of dispatch and computing together."""
    longer = max(host, busy)
    shares = ((each / longer) ** device.overlap for each in (host, busy))
    return longer * math.pow(sum(shares), 1 / device.overlap)


def _copy(device: Device, size: float) -> float:
    return device.latency + size / device.bandwidth


def _copied(device: Device, size: float) -> Taken:
    """A copy as a call of its own; a CPU's stays in its cache."""
    copied = _copy(device, size)
    return Taken(seconds=1e-6 + copied, copied=copied)


def _step(
    device: Device,
    batch: float,
    *,
    net: str = "A",
    data: str = "device",
    feed: float = 0.0,
    ahead: bool = True,
    wide: float = 1.0,
    execution: str = "graph",
) -> Taken:
    """A training step: handed over while the kernels run; its data copied first, unless it is there."""
    host = KERNELS * device.eager if execution == "eager" else device.graph
    busy = KERNELS * device.kernel + batch * FLOPS[net] / device.flops
    copied = 2 * _copy(device, wide * batch * BYTES[net] / 2) if data != "device" else 0.0
    model = join(device, host, busy) + copied
    waits = feed * device.drag
    seconds = max(model, waits) if ahead else model + waits
    return Taken(seconds=seconds, host=host, busy=busy, copied=copied)


def _times(taken: Taken, count: float, more: float = 0.0) -> Taken:
    return Taken(
        seconds=count * taken.seconds + more,
        host=count * taken.host,
        busy=count * taken.busy,
        copied=count * taken.copied,
    )


def _product(device: Device, p: Mapping[str, Param]) -> Taken:
    n = float(p["n"])
    busy = device.kernel + 2 * n**3 / device.flops * (1 + device.half / n)
    return Taken(seconds=join(device, device.eager, busy), host=device.eager, busy=busy)


def _repeated(device: Device, p: Mapping[str, Param]) -> Taken:
    return _times(_product(device, p), float(p["products"]))


def _asked_product(device: Device, p: Mapping[str, Param]) -> Taken:
    stage, n = str(p["stage"]), float(p["n"])
    # Only the first size of a script's process pays what a process does once.
    more = device.first if stage == "script" and n == 1 else 0.0
    if stage in {"script", "session"}:
        more += device.session
    if stage in {"script", "session", "eager", "naive"}:
        more += device.first
    copied = _copy(device, 4 * n * n) if stage in {"script", "session", "eager"} else 0.0
    taken = _times(_product(device, p), 1.0, more + copied)
    return replace(taken, copied=copied)


def _train(device: Device, p: Mapping[str, Param]) -> Taken:
    batch, data = float(p["batch"]), str(p["data"])
    feed = device.feed["parallel"] * batch / 512 if data == "dataset" else 0.0
    execution = str(p["execution"])
    return _step(device, batch, net=str(p["net"]), data=data, feed=feed, execution=execution)


def _width(device: Device, p: Mapping[str, Param]) -> Taken:
    width, batch = float(p["width"]), float(p["batch"])
    busy = KERNELS * device.kernel + 6 * batch * (128 + width + 1) * width / device.flops
    return Taken(seconds=join(device, device.graph, busy), host=device.graph, busy=busy)


def _fallback(device: Device, p: Mapping[str, Param]) -> Taken:
    return _times(_step(device, 512), 1.0, 0.0 if p["python"] == "none" else device.fallback)


def _retrace(device: Device, p: Mapping[str, Param]) -> Taken:
    step = _step(device, float(p["batch"]))
    more = device.retrace if p["traced"] == "anew" else 0.0
    return replace(step, seconds=step.seconds + more, host=step.host + more)


ANSWERS = {"direct": 0.0, "graph": 0.0, "graph_numpy": 0.0, "on_batch": 0.1, "predict": 1.0}
"""The share of Keras's loop that a call has."""


def _infer(device: Device, p: Mapping[str, Param]) -> Taken:
    """A third of a training step, handed over by operation or as a graph; NumPy's arrays are copied."""
    batch, call = float(p["batch"]), str(p["call"])
    data = "device" if call in {"direct", "graph"} else "host"
    step = _step(device, batch, data=data, execution="eager" if call == "direct" else "graph")
    busy, host = step.busy / 3, step.host / (3 if call == "direct" else 1)
    seconds = join(device, host, busy) + step.copied + ANSWERS[call] * device.keras
    return Taken(seconds=seconds, host=host, busy=busy, copied=step.copied)


def _clone(device: Device, p: Mapping[str, Param]) -> Taken:
    return Taken(seconds=3e-3 + (device.first if p["stage"] == "first" else 0.0))


SLICED = (
    *("script", "trained", "built", "closure", "naive", "traced", "placed", "float32", "no-fetch"),
)
FED = (
    *("script", "trained", "built", "closure", "traced", "placed", "made", "float32", "fetch"),
    "no-fetch",
)
FITTED = ("script", "trained", "placed", "epoch-1", "epoch-2", "epoch-3", "steady")
DROPPED = ("script", "epoch-2", "own-loop", "no-metric", "device-data", "batch-5000")
"""The stages of the scripts, in their order: each is without what it and those before it take away."""


def _list_later(order: tuple[str, ...], stage: str) -> tuple[str, ...]:
    """The stages behind one: what they take away, it still has."""
    return order[order.index(stage) + 1 :]


def _count_colds(device: Device, later: tuple[str, ...], traced: str) -> float:
    """What a script that trains sets up before these stages."""
    cold = device.first if "trained" in later else 0.0
    cold += device.again if "built" in later else 0.0
    return cold + (device.first if traced in later else 0.0)


def _loop(device: Device, later: tuple[str, ...], steps: float, **step: Any) -> Taken:
    """A loop that trains, at the stage before these; ``step`` are words of `_step`."""
    each = device.handed if "closure" in later else 0.0
    each += device.fetch if "no-fetch" in later else 0.0
    # NumPy's usual float64 is twice the bytes.
    taken = _step(device, net="B", wide=2.0 if "float32" in later else 1.0, **step)
    return _times(taken, steps, _count_colds(device, later, "traced") + steps * each)


def _slices(device: Device, p: Mapping[str, Param]) -> Taken:
    stage = str(p["stage"])
    if stage == "batch-512":
        return _step(device, 512, net="B")
    if stage == "device-data":
        return _times(_step(device, 10, net="B"), SLICES / 10)
    return _loop(device, _list_later(SLICED, stage), SLICES / 10, batch=10, data="host")


def _dataset(device: Device, p: Mapping[str, Param]) -> Taken:
    later = _list_later(FED, str(p["stage"]))
    steps = 100_000 / 32 if "made" in later else 1.0
    feed = device.feed["parallel"] / 16
    return _loop(device, later, steps, batch=32, data="dataset", feed=feed)


def _fit(device: Device, p: Mapping[str, Param]) -> Taken:
    batch, later = float(p["batch"]), _list_later(FITTED, str(p["stage"]))
    feed = device.feed["parallel"] * batch / 512
    step = _step(device, batch, data="dataset", feed=feed, ahead=p["prefetch"] == "on")
    more = 0.0 if p.get("epoch", 1) != 1 else _count_colds(device, later, "epoch-2")
    if "epoch-1" in later:
        more += EPOCH / batch * device.bar
    return _times(step, EPOCH / batch, more)


def _keras_loop(device: Device, p: Mapping[str, Param]) -> Taken:
    """An epoch of whole batches, as silent as it is once warm."""
    return _fit(device, {**p, "stage": FITTED[-1], "prefetch": "on"})


def _short_loop(device: Device, p: Mapping[str, Param]) -> Taken:
    """An epoch takes nothing once here."""
    return _times(_keras_loop(device, p), float(p["steps"]) * float(p["batch"]) / EPOCH)


def _dropout(device: Device, p: Mapping[str, Param]) -> Taken:
    later = _list_later(DROPPED, str(p["stage"]))
    batch = 5000 if not later else 500
    step = _step(device, batch, net="C", data="host" if "device-data" in later else "device")
    if "own-loop" not in later:
        return _times(step, 1.0, device.bar if "no-metric" in later else 0.0)
    more = device.first if "epoch-2" in later else 0.0
    return _times(step, 500, more + 500 * (device.keras + device.bar))


def _feed(device: Device, source: str) -> float:
    """Seconds for a batch of 512 from one of the pipelines, or a source as good as one."""
    if source in device.feed:
        return device.feed[source]
    return YIELDED[source] * device.feed["parallel"]


def _triple(device: Device, p: Mapping[str, Param]) -> Taken:
    pipeline = str(p["pipeline"])
    feed = _feed(device, pipeline)
    if p["part"] == "input":
        return Taken(seconds=feed)
    return _step(device, 512, data="dataset", feed=feed, ahead=pipeline != "native")


CASES: Mapping[str, Callable[[Device, Mapping[str, Param]], Taken]] = {
    "matmul.square": _product,
    "matmul.repeated": _repeated,
    "mlp.train": _train,
    "mlp.width": _width,
    "mlp.loop": _keras_loop,
    "mlp.loop_short": _short_loop,
    "mlp.fallback": _fallback,
    "mlp.retrace": _retrace,
    "mlp.infer": _infer,
    "asked.matmul": _asked_product,
    "asked.clone": _clone,
    "asked.slices": _slices,
    "asked.dataset": _dataset,
    "asked.fit": _fit,
    "asked.dropout": _dropout,
    "tfdata.triple": _triple,
    "tfdata.slices": lambda d, p: Taken(seconds=d.feed["parallel"] * float(p["batch"]) / 512),
    "tfdata.source": lambda d, p: Taken(seconds=_feed(d, str(p["source"]))),
    "overhead.fence": lambda d, p: Taken(seconds=d.fence),
    "overhead.handover": lambda d, p: Taken(seconds=d.wake),
    "overhead.eager_op": lambda d, p: Taken(seconds=d.eager + 1e-9),
    "overhead.function_call": lambda d, p: Taken(seconds=d.graph),
    "overhead.copy": lambda d, p: _copied(d, float(p["bytes"])),
    "overhead.startup": lambda d, p: Taken(seconds=d.first if p["stage"] == "step" else 0.4),
    "overhead.container": lambda d, p: Taken(seconds=1.0),
}
