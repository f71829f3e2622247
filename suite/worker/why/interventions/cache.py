"""``cache()`` behind the last stage whose work is the same in every epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from suite.model.why import Stage, Try, Watched
from suite.worker.why.chains import NEEDS, Call, follow
from suite.worker.why.intervention import Intervention
from suite.worker.why.run import ScriptRun

MOST_BYTES = 2**32
"""What takes more memory is not offered."""

_WORK = ("map", "filter", "flat_map", "interleave", "from_generator")
_MOVE = ("shuffle", "repeat")
"""Stages that may stand behind the cache as well as before the work."""
_PASS = ("map", "filter", "prefetch")
"""Stages that give the same in distribution on either side of those."""


def find_place(chain: Sequence[Stage]) -> tuple[Stage, list[Stage]] | None:
    """The stage to put the cache behind, and those stages before it that must then come behind the cache;
    None: every stage that works is random, stands behind a random one, or is cached already."""
    place: tuple[Stage, list[Stage]] | None = None
    moved: list[Stage] = []
    for stage in chain:
        if stage.method == "cache":
            place, moved = None, []
        elif stage.method in _MOVE and stage.key:
            moved.append(stage)
        elif stage.random is not False or (moved and stage.method not in _PASS):
            break
        elif stage.method in _WORK and stage.key:
            place = (stage, list(moved))
    if place is None or any(stage.method == "cache" for stage in chain[chain.index(place[0]) :]):
        return None
    return place


def _propose(watched: Watched, gpu: bool) -> Iterator[Try]:  # noqa: ARG001  the same on every arm
    chains = [list(chain) for _, chain in groupby(watched.stages, lambda stage: stage.dataset)]
    placed = [(chain, find_place(chain)) for chain in chains]
    waits = any(each.waits for each in watched.python_calls if each.of_data)
    names = set[str]()
    for chain, place in placed:
        if place is None:
            continue
        stage, moved = place
        keys = {each.key for each in chain}
        away = {each.key for each in moved}
        # A stage that is moved must find its way back in every chain that it is in.
        lost = any(
            away & {each.key for each in other} and stage.key not in {each.key for each in other}
            for other in chains
        )
        name = f"cache:{stage.line}"
        if lost or name in names or (stage.bytes or 0) > MOST_BYTES or not keys:
            continue
        names.add(name)
        behind = ", ".join(f".{each.method}(…) of line {each.line}" for each in moved)
        memory = "its elements" if stage.bytes is None else f"{max(1, stage.bytes // 2**20)} MB"
        yield Try(
            name=name,
            intervention="cache",
            target=",".join([stage.key, *(each.key for each in moved)]),
            cause="input",
            kind="fix",
            text=f".{stage.method}(…).cache()" + (f", and {behind} behind it" if moved else ""),
            line=stage.line,
            needs=f"memory for {memory}; the first epoch is as slow as before"
            if stage.bytes is None
            else f"{memory} of memory; the first epoch is as slow as before",
            waits=waits,
            training="distribution" if moved else "unchanged",
        )


def _install(run: ScriptRun, target: str) -> None:
    chains = follow(run)
    place, *moved = target.split(",")
    put_off: dict[int, tuple[Any, Call]] = {}

    def around(call: Call, make: Callable[[], Any]) -> Any:
        if call.key in moved:
            # Another data set of the same elements, so that it can be told from its input.
            dataset = call.inputs[0].take(-1)
            put_off[id(dataset)] = (dataset, call)
            return dataset
        if call.key != place:
            return make()
        before = [stage for each in call.inputs for stage, _ in chains.trace(each)]
        dataset = make().cache()
        for stage in before:
            if id(stage) in put_off:
                dataset = put_off[id(stage)][1].again(dataset)
        run.applied()
        return dataset

    chains.around.append(around)


CACHE = Intervention(name="cache", propose=_propose, install=_install, needs=NEEDS)
