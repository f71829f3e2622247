"""tfdata: the input pipeline alone, from memory, and what Python inside it costs."""

from __future__ import annotations

from typing import Any

from suite.cells.cell import Param
from suite.cells.scenario import Links, Scenario, Target, cell, cross, vary
from suite.cells.traits import FULL, STANDARD, LinkName
from suite.worker.scenario.scenario import Prepared
from suite.worker.scenarios.mlp.networks import A
from suite.worker.scenarios.tfdata.pipelines import Pipeline, batch_work, place_data, prepare_input

BATCH = 512
"""The batch of all cells that do not sweep it."""


def prepare(*, device: str, **axes: Any) -> Prepared:  # noqa: ARG001  input lives on the CPU
    """A's examples in batches; the axes are those of a `Pipeline`."""
    return prepare_input(Pipeline(**axes))


def prepare_cache(*, device: str, batch: int, prefetch: str) -> Prepared:  # noqa: ARG001  input lives on the CPU
    """The sequential native map, whose results are kept in memory; the pass that fills it is untimed."""
    pipeline = Pipeline(batch=batch, prefetch=prefetch, function="native", cache=True)
    return prepare_input(pipeline, filled=A.examples // batch + 1)


ALONE: dict[str, Any] = {
    "family": "tfdata",
    "prepare": prepare,
    "work": batch_work,
    "role": "input",
    "proof": "results",
    "device": "cpu",
}
"""What every pipeline from memory is."""

SLICES = Scenario(
    **ALONE,
    case="slices",
    question="How many elements a second come from memory at batch {batch}, "
    "shuffle {shuffle}, prefetch {prefetch}?",
    points=cross(batch=(32, BATCH), shuffle=("on", "off"), prefetch=("on", "off")),
    # The input of the steps that train on a dataset.
    profiles=lambda shuffle, prefetch, **_: STANDARD if shuffle == prefetch == "on" else FULL,
    data=lambda prefetch, **_: place_data(prefetch),
    links={"prefetched": vary("prefetched", prefetch="on")},
    choices={"batch": "larger_batch", "shuffle": "shuffle", "prefetch": "prefetch"},
)

BY_SLICES = vary("slices of arrays instead of a generator", source="slices")

AFTER_GENERATOR = {
    "generator": (BY_SLICES, vary("a generator of whole batches", source="chunks")),
    "chunks": (BY_SLICES,),
}
"""By source the ones that ask Python less often."""

SOURCE = Scenario(
    **ALONE,
    case="source",
    question="How many elements a second come from a source of {source} at batch {batch}, "
    "prefetch {prefetch}?",
    points=cross(source=("slices", *AFTER_GENERATOR), batch=BATCH, prefetch="on"),
    profiles=STANDARD,
    data="prefetched",
    links=lambda source, **_: (
        {"native": AFTER_GENERATOR[source]} if source in AFTER_GENERATOR else {}
    ),
    choices={"source": "yielded"},
)

CACHE = Scenario(
    **{**ALONE, "prepare": prepare_cache},
    case="cache",
    question="How many elements a second come from a filled cache behind a map, prefetch {prefetch}?",
    points=cross(batch=BATCH, prefetch="on"),
    data="prefetched",
)

MAP_AXES = ("function", "calls", "place", "batch", "prefetch")

MAPS = (
    ("native", "sequential", "element", BATCH, "on"),
    ("native", "sequential", "element", BATCH, "off"),
    ("native", "autotune", "element", BATCH, "on"),
    ("native", "fixed", "element", BATCH, "on"),
    ("native", "sequential", "batch", BATCH, "on"),
    ("numpy_function", "sequential", "element", BATCH, "on"),
    ("numpy_function", "sequential", "element", BATCH, "off"),
    ("numpy_function", "autotune", "element", BATCH, "on"),
    ("numpy_function", "sequential", "batch", BATCH, "on"),
)
"""Each map against its neighbour: prefetch, parallel calls, and a whole batch a call, one change at
a time.  Parallel calls of a batch are left out: one call is then so cheap that it is the batching
that is measured; so are parallel calls without prefetch, which nobody writes."""

CACHED = ("native", "sequential", "element", BATCH, "on")
"""The map that ``tfdata.cache`` has behind its cache."""


def _link_map(**axes: Param) -> Links:
    links: dict[LinkName, Target] = {
        "prefetched": vary("prefetched", prefetch="on"),
        "native": vary("native map", function="native"),
    }
    if tuple(axes.values()) == CACHED:
        links["cached"] = cell(
            "tfdata.cache",
            "from a cache",
            effect="script",
            costs="memory for all elements; what a map draws at random is drawn once",
            batch=BATCH,
            prefetch="on",
        )
    return links


MAP = Scenario(
    **ALONE,
    case="map",
    question="How many elements a second survive a {function} map "
    "({calls}, by {place}, prefetch {prefetch})?",
    points=tuple(dict(zip(MAP_AXES, axes, strict=True)) for axes in MAPS),
    data=lambda prefetch, **_: place_data(prefetch),
    links=_link_map,
    choices={
        "function": "map_function",
        "calls": "map_calls",
        "place": "map_place",
        "prefetch": "prefetch",
    },
)
