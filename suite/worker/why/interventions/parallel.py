"""Maps that work on several elements at once, and batches made ahead of the step that takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.chains import NEEDS, Call, follow
from suite.worker.why.intervention import Intervention
from suite.worker.why.run import ScriptRun

_MAPS = ("map", "interleave")


def _propose(watched: Watched, gpu: bool) -> Iterator[Try]:  # noqa: ARG001  the same on every arm
    maps = {
        stage.key: stage
        for stage in watched.stages
        if stage.key and stage.method in _MAPS and not stage.parallel
    }
    chains = [list(chain) for _, chain in groupby(watched.stages, lambda stage: stage.dataset)]
    ends = {
        chain[-1].key: chain[-1]
        for chain in chains
        if chain[-1].key and chain[-1].method not in ("prefetch", "zip", "concatenate")
    }
    if not maps and not ends:
        return
    texts = [
        f"{stage.method}(…, num_parallel_calls=tf.data.AUTOTUNE) at line {stage.line}"
        for stage in maps.values()
    ]
    texts += [f".prefetch(tf.data.AUTOTUNE) at the end of line {s.line}" for s in ends.values()]
    yield Try(
        name="parallel",
        intervention="parallel",
        target=f"{','.join(maps)};{','.join(ends)}",
        cause="input",
        kind="fix",
        text=", ".join(texts),
        line=next(iter((maps or ends).values())).line,
        waits=True,
        training="unchanged"
        if all(stage.random is False for stage in maps.values())
        else "distribution",
    )


def _install(run: ScriptRun, target: str) -> None:
    import tensorflow as tf

    maps, ends = (set(keys.split(",")) for keys in target.split(";"))

    def around(call: Call, make: Callable[[], Any]) -> Any:
        if call.key in maps:
            call.bound.arguments["num_parallel_calls"] = tf.data.AUTOTUNE
        dataset = make()
        if call.key in ends:
            dataset = dataset.prefetch(tf.data.AUTOTUNE)
        if call.key in maps | ends:
            run.applied()
        return dataset

    follow(run).around.append(around)


PARALLEL = Intervention(name="parallel", propose=_propose, install=_install, needs=NEEDS)
