"""Maps that work on several elements at once, and batches made ahead of the step that takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suite.model.why import Watched
from suite.worker.why.chains import Call, follow
from suite.worker.why.intervention import Intervention, Offers, split_chains
from suite.worker.why.run import ScriptRun

_MAPS = ("map", "interleave")
_NO_ENDS = ("prefetch", "zip", "concatenate")


def _find(watched: Watched) -> Offers:
    maps = {e.key: e for e in watched.stages if e.key and e.method in _MAPS and not e.parallel}
    last = [chain[-1] for chain in split_chains(watched)]
    ends = {each.key: each for each in last if each.key and each.method not in _NO_ENDS}
    more = "num_parallel_calls=tf.data.AUTOTUNE"
    texts = [f"{each.method}(…, {more}) at line {each.line}" for each in maps.values()]
    texts += [f".prefetch(tf.data.AUTOTUNE) at the end of line {e.line}" for e in ends.values()]
    if texts:
        same = all(each.random is False for each in maps.values())
        yield {
            "name": "parallel",
            "target": f"{','.join(maps)};{','.join(ends)}",
            "text": ", ".join(texts),
            "line": [*maps.values(), *ends.values()][0].line,
            "training": "unchanged" if same else "distribution",
        }


def _install(run: ScriptRun, target: str) -> None:
    import tensorflow as tf

    maps, ends = (set(keys.split(",")) for keys in target.split(";"))

    def around(call: Call, make: Callable[[], Any]) -> Any:
        if call.key in maps:
            call.arguments["num_parallel_calls"] = tf.data.AUTOTUNE
        run.applied(call.key in maps | ends)
        return make().prefetch(tf.data.AUTOTUNE) if call.key in ends else make()

    follow(run).around.append(around)


PARALLEL = Intervention("parallel", "input", _find, _install, waits=True)
