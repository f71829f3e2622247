"""``cache()`` behind the last stage whose work is the same in every epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from suite.model.why import Stage, Watched
from suite.worker.why.chains import Call, follow
from suite.worker.why.intervention import Intervention, Offers, split_chains
from suite.worker.why.run import ScriptRun

MOST_BYTES = 2**32
"""What takes more memory is not offered."""

_WORK = ("map", "filter", "flat_map", "interleave", "from_generator")
MIXED = 1024
"""So many elements are mixed where nobody knows how many there are."""

_PASS = ("map", "filter", "prefetch")
"""Stages that give the same in distribution on either side of those."""


def find_place(chain: Sequence[Stage]) -> tuple[Stage, list[Stage]] | None:
    """The stage to put the cache behind, and those stages before it that must then come behind the cache;
    None: every stage that works is random, stands behind a random one, or is cached already."""
    place: tuple[Stage, list[Stage]] | None = None
    moved: list[Stage] = []
    cached = max((n for n, each in enumerate(chain, 1) if each.method == "cache"), default=0)
    for stage in chain[cached:]:
        mixes = stage.method == "shuffle" and stage.random is not False
        if mixes or (stage.method == "repeat" and stage.key):
            moved.append(stage)
        elif stage.random is not False or (moved and stage.method not in _PASS):
            break
        elif stage.method in _WORK and stage.key:
            place = (stage, list(moved))
    return place


def _find(watched: Watched) -> Offers:
    chains = split_chains(watched)
    keys = [{each.key for each in chain} for chain in chains]
    names = set[str]()
    for stage, moved in filter(None, map(find_place, chains)):
        away = {each.key for each in moved if each.key}
        # A stage that is moved must find its way back in every chain that it is in.
        lost = any(away & each and stage.key not in each for each in keys)
        name, size = f"cache:{stage.line}", stage.bytes
        if lost or name in names or (size or 0) > MOST_BYTES:
            continue
        names.add(name)
        # `list_files` mixes by itself.
        of = [f" of line {each.line}" if each.key else "" for each in moved]
        behind = ", ".join(f".{each.method}(…){at}" for each, at in zip(moved, of, strict=True))
        elements = "memory for its elements"
        memory = elements if size is None else f"{max(1, size // 2**20)} MB of memory"
        yield {
            "name": name,
            "target": ",".join([stage.key, *(each.key for each in moved)]),
            "text": f".{stage.method}(…).cache()" + (f", and {behind} behind it" if moved else ""),
            "line": stage.line,
            "needs": f"{memory}; the first epoch is as slow as before",
            "waits": any(each.waits for each in watched.python_calls if each.of_data),
            "training": "distribution" if moved else "unchanged",
        }


def _install(run: ScriptRun, target: str) -> None:
    chains = follow(run)
    place, *moved = target.split(",")
    put_off: dict[int, Call] = {}

    def around(call: Call, make: Callable[[], Any]) -> Any:
        if call.key in moved:
            # Another data set of the same elements, so that it can be told from its input.
            call.dataset = call.inputs[0].take(-1)
            put_off[id(call.dataset)] = call
            return call.dataset
        if call.key != place:
            return make()
        dataset = make().cache()
        if "" in moved:
            dataset = dataset.shuffle(max(int(dataset.cardinality()), 0) or MIXED)
        for stage in [stage for each in call.inputs for stage in chains.trace(each)]:
            if id(stage.dataset) in put_off:
                dataset = put_off[id(stage.dataset)].make(dataset)
        run.applied()
        return dataset

    chains.around.append(around)


CACHE = Intervention("cache", "input", _find, _install)
