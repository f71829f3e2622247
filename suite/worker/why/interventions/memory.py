"""Every batch from memory: as fast as input could be at most."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention
from suite.worker.why.kept import ENDLESS, Kept, gives_batches
from suite.worker.why.run import ScriptRun


def heaviest_line(watched: Watched) -> int | None:
    """The line of the script where most of the input is likely to be made."""
    calls = [each for each in watched.python_calls if each.of_data and each.line]
    if calls:
        return max(calls, key=lambda call: call.seconds).line
    lines = [each for each in watched.stages if each.line]
    work = [
        each.line for each in lines if each.method in ("map", "flat_map", "interleave", "filter")
    ]
    return (work or [each.line for each in lines] or [watched.line])[-1 if work else 0]


def _propose(watched: Watched, gpu: bool) -> Iterator[Try]:  # noqa: ARG001  the same on every arm
    loops = {each.loop for each in watched.statements if each.is_step}
    calls = [each for each in watched.python_calls if each.of_data]
    lines = sorted({each.line for each in calls if each.kind == "for" and each.line in loops})
    own = watched.clock in ("function", "tape")  # what it goes over may come from another module
    if own or watched.stages or lines or any(each.kind != "for" for each in calls):
        yield Try(
            name="memory",
            intervention="memory",
            target=",".join(map(str, lines)),
            cause="input",
            kind="ceiling",
            text="every batch taken from memory",
            line=heaviest_line(watched),
            waits=any(each.waits for each in calls),
            training="otherwise",
        )


def _install(run: ScriptRun, target: str) -> None:
    kept = Kept(run)
    lines = {int(line) for line in target.split(",") if line}
    run.patch("dataset.__iter__", functools.partial(_iterate, kept))
    run.tree.on_for(
        lambda line, items: (
            kept.give(line, items) if line in lines and gives_batches(items) else items
        )
    )


def _iterate(kept: Kept, original: Any) -> Any:
    """Goes over a copy of the data set in memory; what is too large is gone over as it is."""
    import tensorflow as tf

    copies: dict[int, tuple[Any, Any]] = {}

    def copy(dataset: Any) -> Any:
        count = int(dataset.cardinality())
        endless = count == tf.data.INFINITE_CARDINALITY
        most = min(kept.most, ENDLESS) if endless else kept.most
        memory = dataset.take(most).cache()
        found = kept.fill(original(memory))
        if not found:
            return None
        if found == most and count != most:
            memory = memory.repeat()
        return memory.take(count) if count > most else memory

    def go(dataset: Any) -> Any:
        if tf.inside_function():
            return original(dataset)
        if id(dataset) not in copies:
            with kept.run.pause():
                copies[id(dataset)] = (dataset, copy(dataset))
        memory = copies[id(dataset)][1]
        if memory is None:
            return original(dataset)
        kept.run.applied()
        return original(memory)

    return go


MEMORY = Intervention(
    name="memory", propose=_propose, install=_install, needs=("dataset.__iter__",)
)
