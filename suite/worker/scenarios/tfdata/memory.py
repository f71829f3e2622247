"""tfdata: the input pipeline alone, from memory, and what Python inside it costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from suite.cells.cell import Param
from suite.cells.links import Target, cell, vary
from suite.cells.scenario import Links, Results, Scenario, cross
from suite.cells.traits import LinkName
from suite.worker.scenario.choices import (
    LARGER_BATCH,
    MAP_CALLS,
    MAP_FUNCTION,
    MAP_PLACE,
    PREFETCH,
    SHUFFLE,
    YIELDED,
)
from suite.worker.scenario.profiles import FULL, STANDARD
from suite.worker.scenario.scenario import Prepared
from suite.worker.scenarios.mlp.networks import A
from suite.worker.scenarios.tfdata.pipelines import (
    Map,
    Pipeline,
    batch_work,
    place_data,
    prepare_input,
)

BATCH = 512
"""The batch of all cells that do not sweep it."""


def prepare_slices(*, device: str, batch: int, shuffle: str, prefetch: str) -> Prepared:  # noqa: ARG001  input lives on the CPU
    """A's examples in batches, from memory."""
    return prepare_input(Pipeline(batch=batch, shuffle=shuffle, prefetch=prefetch))


def prepare_source(*, device: str, source: str, batch: int, prefetch: str) -> Prepared:  # noqa: ARG001  input lives on the CPU
    """A's examples in batches, from arrays that TensorFlow slices or a Python generator that does no work."""
    return prepare_input(Pipeline(batch=batch, prefetch=prefetch, source=source))


def prepare_cache(*, device: str, batch: int, prefetch: str) -> Prepared:  # noqa: ARG001  input lives on the CPU
    """The sequential native map, whose results are kept in memory; the pass that fills it is untimed."""
    pipeline = Pipeline(
        batch=batch,
        prefetch=prefetch,
        map=Map(function="native", calls="sequential"),
        cache=True,
    )
    return prepare_input(pipeline, filled=A.examples // batch + 1)


def prepare_map(
    *,
    device: str,  # noqa: ARG001  input lives on the CPU
    function: str,
    calls: str,
    place: str,
    batch: int,
    prefetch: str,
) -> Prepared:
    """A's examples put through a function, one by one before batching or a batch at a time."""
    how = Map(function=function, calls=calls, place=place)
    return prepare_input(Pipeline(batch=batch, prefetch=prefetch, map=how))


PREFETCHED: Links = {"prefetched": vary("prefetched", prefetch="on")}

ALONE: dict[str, Any] = {
    "family": "tfdata",
    "work": batch_work,
    "role": "input",
    "proof": Results(),
    "device": "cpu",
}
"""What every pipeline from memory is."""

SLICES = Scenario(
    **ALONE,
    case="slices",
    question="How many elements a second come from memory at batch {batch}, "
    "shuffle {shuffle}, prefetch {prefetch}?",
    axes=("batch", "shuffle", "prefetch"),
    points=cross(batch=(32, BATCH), shuffle=("on", "off"), prefetch=("on", "off")),
    # The input of the steps that train on a dataset.
    profiles=lambda shuffle, prefetch, **_: STANDARD if shuffle == prefetch == "on" else FULL,
    prepare=prepare_slices,
    kin="slices",
    data=lambda prefetch, **_: place_data(prefetch),
    links=PREFETCHED,
    choices={"batch": LARGER_BATCH, "shuffle": SHUFFLE, "prefetch": PREFETCH},
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
    axes=("source", "batch", "prefetch"),
    points=cross(source=("slices", *AFTER_GENERATOR), batch=BATCH, prefetch="on"),
    profiles=STANDARD,
    prepare=prepare_source,
    kin="source",
    data="prefetched",
    links=lambda source, **_: (
        {"native": AFTER_GENERATOR[source]} if source in AFTER_GENERATOR else {}
    ),
    choices={"source": YIELDED},
)

CACHE = Scenario(
    **ALONE,
    case="cache",
    question="How many elements a second come from a filled cache behind a map, prefetch {prefetch}?",
    axes=("batch", "prefetch"),
    points=cross(batch=BATCH, prefetch="on"),
    prepare=prepare_cache,
    kin="cache",
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
        kept = "memory for all elements; what a map draws at random is drawn once"
        there = cell("tfdata.cache", "from a cache", batch=BATCH, prefetch="on")
        links["cached"] = replace(there, effect="script", costs=kept)
    return links


MAP = Scenario(
    **ALONE,
    case="map",
    question="How many elements a second survive a {function} map "
    "({calls}, by {place}, prefetch {prefetch})?",
    axes=MAP_AXES,
    points=tuple(dict(zip(MAP_AXES, one, strict=True)) for one in MAPS),
    prepare=prepare_map,
    kin="map",
    data=lambda prefetch, **_: place_data(prefetch),
    links=_link_map,
    choices={
        "function": MAP_FUNCTION,
        "calls": MAP_CALLS,
        "place": MAP_PLACE,
        "prefetch": PREFETCH,
    },
)
