"""Campaigns of two versions of an arm of which one part differs, and what the analysis calls by its name.

``python -m tests.bench.versions [CAMPAIGNS [BLOCKS [NOISE]]]``: a minute by default; it asserts nothing.

A version has a few prices, from which the true seconds of every cell follow: its calls, its first call, and
what a process does once.  They are as in the recorded campaign of a small CPU, whose noise is one of three.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from tabulate import tabulate

from suite.analysis.ablation.cell_index import index_cells
from suite.analysis.campaign.summarise import summarise
from suite.analysis.result.versions import VersionChange, VersionSteps
from suite.analysis.versions.change import Versions
from suite.analysis.versions.steps import find_steps
from suite.cells.cell import Cell
from suite.model import Arm, Campaign, Document
from suite.worker import scenarios
from tests import synthetic
from tests.bench.moods import Moods
from tests.bench.replay import CPU, Recorded, Replay, bootstrap, draw, read_campaign
from tests.bench.truth.tally import Tally, load
from tests.fakes.hosts import TYPICAL

BASE, OTHER, OLDEST = "cpu", "cpu@2.20", "cpu@2.16"

EXAMPLES = 10_000
"""Of an epoch of ``fit``."""

NODES = 250
"""Nodes of a training step's graph."""

FLOP = {"A": 3.9e5, "B": 9e4}
"""Floating-point operations for an example, forward and backward."""


@dataclass(frozen=True, kw_only=True)
class Version:
    """Seconds, unless said otherwise, as they were recorded.

    ``eager`` and ``graph`` are a call, ``node`` an operation inside a graph; ``rate`` is in FLOP/s.
    ``trace`` is tracing a step, ``built`` what a function's first call takes beside that, ``first`` what an
    eager one's does.  ``loop`` is Keras's own loop around a step, ``epoch`` what it does once in one,
    ``answer`` what ``predict`` does around a call.  ``element`` is an element out of a pipeline, ``shuffled``
    one that only fills a buffer; ``mapped`` are batches of 512 of the pipelines that compute.  ``copy`` is a
    copy of nothing, ``bandwidth`` in bytes a second.
    """

    eager: float = 15e-6
    graph: float = 228e-6
    node: float = 1.1e-6
    rate: float = 2.2e11
    trace: float = 60e-3
    built: float = 70e-3
    first: float = 1.3e-3
    loop: float = 150e-6
    epoch: float = 5e-3
    answer: float = 20e-3
    element: float = 1.6e-6
    shuffled: float = 0.8e-6
    mapped: Mapping[str, float] = field(
        default_factory=lambda: {
            "parallel": 10e-3,
            "native": 13e-3,
            "numpy_function": 45e-3,
            "generator": 60e-3,
        }
    )
    copy: float = 8e-6
    bandwidth: float = 1.5e10
    starts: Mapping[str, float] = field(
        default_factory=lambda: {
            "import": 1.47,
            "devices": 2.6e-3,
            "kernel": 0.045,
            "build": 0.03,
            "deep": 0.4,
        }
    )


def scale(**factors: float) -> Version:
    """The version with these prices so many times as high (rates: as low)."""
    plain = Version()
    scaled: dict[str, Any] = {}
    for name, by in factors.items():
        price = getattr(plain, name)
        scaled[name] = (
            {key: by * value for key, value in price.items()}
            if isinstance(price, Mapping)
            else price / by
            if name in {"rate", "bandwidth"}
            else by * price
        )
    return replace(plain, **scaled)


PLANTS: Mapping[str, Version] = {
    "fit": replace(Version(), loop=Version().loop + 40e-6),
    "kernels": scale(rate=1.15),
    "tracing": scale(trace=1.3),
    "dispatch": scale(eager=1.2, graph=1.2, node=1.2),
    "tf.data": scale(element=1.2, shuffled=1.2, mapped=1.2),
    "transfer": scale(bandwidth=1.3),
    "first-call": scale(built=1.3, first=1.3),
    "start-up": scale(starts=1.3),
}
"""By part a version in which it is slower."""


def take(version: Version, cell: Cell) -> float:
    """The true seconds of a call; of a cell that has no part in any of it a few microseconds."""
    case = CASES.get(cell.name)
    return case(version, cell) if case else 11e-6


def _product(v: Version, cell: Cell) -> float:
    return v.eager + cell.work.amount / v.rate


def _train(v: Version, cell: Cell) -> float:
    data, batch = str(cell.params["data"]), float(cell.params["batch"])
    if cell.params["execution"] == "eager":
        return NODES * v.eager + _compute(v, cell)
    fed = {"device": 0.0, "host": 2 * v.copy + batch * 516 / v.bandwidth, "dataset": v.eager}
    return _step(v, cell) + fed[data]


def _width(v: Version, cell: Cell) -> float:
    return v.graph + NODES * v.node + cell.work.amount / v.rate


def _retrace(v: Version, cell: Cell) -> float:
    return _step(v, cell) + (v.trace if cell.params["traced"] == "anew" else 0.0)


def _infer(v: Version, cell: Cell) -> float:
    call = str(cell.params["call"])
    each, once = (v.eager, 0.0) if call == "direct" else (v.node, v.graph)
    own = {"predict": v.answer, "on_batch": 0.05 * v.answer}.get(call, 0.0)
    return NODES / 3 * each + once + own


def _elements(v: Version, cell: Cell) -> float:
    slow = {"generator": 40.0, "chunks": 3.0}.get(str(cell.params.get("source")), 1.0)
    return v.eager + slow * float(cell.params["batch"]) * v.element


def _triple(v: Version, cell: Cell) -> float:
    feed = v.eager + v.mapped[str(cell.params["pipeline"])] * float(cell.params["batch"]) / 512
    return feed if cell.params["part"] == "input" else max(feed, _step(v, cell)) + 1e-3


def _start(v: Version, cell: Cell) -> float:
    return v.starts.get(str(cell.params["stage"]), v.trace + v.built)


def _compute(version: Version, cell: Cell) -> float:
    net = str(cell.params.get("net", "A"))
    return float(cell.params["batch"]) * FLOP[net] / version.rate


def _step(version: Version, cell: Cell) -> float:
    return version.graph + NODES * version.node + _compute(version, cell)


def _fit(version: Version, cell: Cell) -> float:
    """An epoch: its buffer is filled before the first step, and the rest of the input is hidden."""
    each = _step(version, cell) + version.eager + version.loop
    cold = version.trace + version.built if cell.one_shot else 0.0
    return (cell.work.steps or 1) * each + version.epoch + EXAMPLES * version.shuffled + cold


CASES: Mapping[str, Callable[[Version, Cell], float]] = {
    "matmul.square": _product,
    "mlp.train": _train,
    "mlp.width": _width,
    "mlp.loop": _fit,
    "mlp.loop_short": _fit,
    "mlp.retrace": _retrace,
    "mlp.infer": _infer,
    "asked.fit": _fit,
    "tfdata.slices": _elements,
    "tfdata.source": _elements,
    "tfdata.triple": _triple,
    "overhead.eager_op": lambda v, _: v.eager,
    "overhead.function_call": lambda v, _: v.graph,
    "overhead.copy": lambda v, cell: v.copy + (cell.work.bytes or 0.0) / v.bandwidth,
    "overhead.startup": _start,
}


def take_first(version: Version, cell: Cell) -> float:
    """The true seconds of a first call."""
    seconds = take(version, cell)
    if cell.dispatch in {None, "eager"}:
        return seconds + version.first
    return seconds + version.trace + version.built


@cache
def list_cells() -> tuple[Cell, ...]:
    """The standard profile's cells on a CPU of which the truth is known, but for most scripts."""
    return tuple(
        cell
        for cell in scenarios.cells()
        if "standard" in cell.profiles
        and cell.suits(gpu=False)
        and not (cell.by_host or cell.process)
        and cell.role not in {"control", "sustained"}
        and (cell.way is None or cell.name == "asked.fit")
    )


LIKE: Sequence[tuple[str, str]] = (
    ("mlp.retrace/varies=number/traced=anew", "overhead.startup/stage=step"),
    (
        "mlp.retrace/varies=shape/traced=anew",
        "asked.fit/stage=epoch-1/batch=512/prefetch=on/on=arm",
    ),
    ("mlp.loop", "asked.fit/stage=script/epoch=3/batch=512/prefetch=on/on=arm"),
    ("mlp.infer", "overhead.function_call"),
    ("mlp.", "mlp.train/net=A/batch=32/data=device/precision=fp32/execution=graph"),
    ("tfdata.", "tfdata.triple/pipeline=numpy_function/part=input/batch=512"),
    ("", "matmul.square/n=1000/precision=fp32/operands=device/xla=off"),
)
"""By what a cell's id begins with the recorded one whose noise it has, where it was not recorded itself."""


@cache
def _source(names: tuple[str, ...]) -> Recorded:
    """What the recorded arm's noise is, of these cells."""
    recorded = read_campaign(CPU)[1]["cpu"]
    rows = []
    for name in names:
        like = next(there for begin, there in LIKE if name.startswith(begin))
        rows.append(recorded.names.index(name if name in recorded.names else like))
    return replace(recorded, names=names, residuals=recorded.residuals[rows])


@dataclass(frozen=True, kw_only=True)
class _Noisy(Replay):
    """A replay of other cells than were recorded, for its noise alone."""

    cells: tuple[str, ...] = ()

    def source(self, arm: str) -> Recorded:
        return _source(self.cells)


Noise = Callable[[Campaign, str, int, tuple[str, ...]], Mapping[str, float]]
"""By cell, the logarithm of what an invocation takes over the truth."""


def _typical(campaign: Campaign, arm: str, block: int, names: tuple[str, ...]) -> dict[str, float]:
    own = draw(campaign.seed, arm, block).normal(0.0, TYPICAL.between, len(names))
    mood = draw(campaign.seed, "mood", block).normal(0.0, 3 * TYPICAL.between)
    return dict(zip(names, (own + mood).tolist(), strict=True))


NOISES: Mapping[str, Noise] = {
    "typical": _typical,
    "recorded": lambda c, arm, block, names: bootstrap(_Noisy(cells=names), c, arm, block, 0),
    "moods": lambda c, arm, block, names: Moods()(_Noisy(cells=names), c, arm, block, 0),
}
"""A quiet machine whose cells are alike; the recorded one; and one with bursts, boots and memory."""

FIRSTS = 0.05
"""How first calls spread: the recorded ones by 3 to 8 %."""


def make_plan(arms: Iterable[str], *, blocks: int, seed: int) -> Campaign:
    """The plan of such a campaign."""
    synthetic.ARMS.update({name: Arm(name=name, image=name, gpu=False) for name in arms})
    campaign = synthetic.make_campaign(
        arms=arms, cells=list(list_cells()), blocks=blocks, seed=seed
    )
    plain = [arm for arm in campaign.every_arm if arm.control is None]
    return replace(campaign, every_arm=plain, most_blocks=blocks)


@cache
def _skeleton(arms: tuple[str, ...], arm: str, block: int) -> Document:
    campaign = make_plan(arms, blocks=10, seed=0)
    how: dict[str, Any] = {"truth": lambda *_: 1e-3, "host": synthetic.SILENT}
    return synthetic.make_document(campaign, arm, block, samples=1, warmup=0, **how)


def make_documents(
    campaign: Campaign, versions: Mapping[str, Version], noise: Noise
) -> list[Document]:
    """The documents of every invocation."""
    made = []
    names = tuple(cell.id for cell in campaign.cells)
    for arm in campaign.arms:
        for block in range(1, campaign.blocks + 1):
            bare = _skeleton(tuple(campaign.arms), arm, block)
            off = noise(campaign, arm, block, names)
            first = draw(campaign.seed, arm, block, "first").normal(0.0, FIRSTS, len(names))
            cells = []
            for at, (cell, result) in enumerate(zip(campaign.cells, bare.cells, strict=True)):
                level = math.exp(off[cell.id])
                seconds = level * take(versions[arm], cell)
                begun = level * math.exp(first[at]) * take_first(versions[arm], cell)
                cells.append(
                    replace(
                        result,
                        samples_s=[seconds],
                        first_call_s=seconds if cell.one_shot else begun,
                        placement={"CPU:0": NODES if cell.dispatch == "graph" else 1},
                    )
                )
            identity = replace(bare.campaign, seed=campaign.seed)
            made.append(replace(bare, cells=cells, campaign=identity))
    return made


def study(
    versions: Mapping[str, Version],
    *,
    seed: int,
    blocks: int = 10,
    noise: str = "recorded",
) -> tuple[list[VersionChange], list[VersionSteps]]:
    """What is said of a campaign of arms with these versions."""
    campaign = make_plan(versions, blocks=blocks, seed=seed)
    documents = make_documents(campaign, versions, NOISES[noise])
    summary = summarise(load(campaign, documents))
    found = Versions(summary=summary, index=index_cells(summary), software={})
    changes = list(found.find_changes())
    return changes, list(find_steps(found, changes))


def name_first(change: VersionChange) -> str:
    """The part that is named first; none: empty."""
    return change.changed[0].name if change.changed else ""


def try_plant(tally: Tally, part: str, *, seed: int, **how: Any) -> None:
    """Counts whether the part that was slowed down is named first, whether another is named as well, and by
    which part the interval of the ratio holds."""
    slowed = PLANTS.get(part, Version())
    (change,), _ = study({BASE: Version(), OTHER: slowed}, seed=seed, **how)
    names: list[str] = [changed.name for changed in change.changed]
    tally.add(f"{part}: first", (names or [""])[0] == part)
    tally.add(f"{part}: others", any(name != part for name in names))
    for name in names:
        tally.add(f"{part}: {name}", True)


def main() -> None:
    count, blocks, noise = [*sys.argv[1:], *("20", "10", "recorded")[len(sys.argv) - 1 :]]
    tally = Tally()
    for part in ("", *PLANTS):
        for seed in range(int(count)):
            try_plant(tally, part, seed=seed, blocks=int(blocks), noise=noise)
        told = {
            what: rate
            for what in tally.hits
            if what.startswith(f"{part}:")
            for rate in [tally[what]]
        }
        rows = [(what, rate.hits, rate.tries) for what, rate in told.items()]
        sys.stdout.write(f"{tabulate(rows, tablefmt='plain')}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
