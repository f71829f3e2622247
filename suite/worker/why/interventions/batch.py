"""A larger batch, counted by the example."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from suite.model.why import Watched
from suite.worker.why.calls import Arguments, count_examples, intercept
from suite.worker.why.chains import Call, follow
from suite.worker.why.intervention import Intervention, Offers
from suite.worker.why.run import ScriptRun

LARGER = 8


def _find(watched: Watched) -> Offers:
    counts, line = watched.counts, watched.lines.get("fit")
    stage = next((each.line for each in watched.stages if each.method.endswith("batch")), None)
    target, text, at = "", "batch_size={}", ""
    if stage is not None:
        line, target, text, at = stage, f"{stage}:", ".batch({})", f":{stage}"
    batch, steps = counts.get(f"batch{at}", 0), int(counts.get(f"epoch_steps{at}", 0))
    # The one near to 8 that leaves the smallest part of a batch at an epoch's end; -1: without end.
    times = min(range(4, 11), key=lambda n: (-steps % n if steps > 0 else 0, abs(n - LARGER)))
    if batch and (steps >= 2 * times or steps == -1) and (at or watched.clock == "fit"):
        text, scale = text.format(int(batch * times)), float(times)
        yield {"text": text, "line": line, "target": f"{target}{times}", "scale": scale}


def _install(run: ScriptRun, target: str) -> None:
    *line, text = target.split(":")
    times = int(text)

    def enlarge(arguments: Arguments) -> None:
        arguments["batch_size"] = times * int(arguments.get("batch_size") or 32)
        run.applied()

    def around(call: Call, make: Callable[[], Any]) -> Any:
        if [str(call.line)] == line and call.method.endswith("batch"):
            enlarge(call.arguments)
        return make()

    def change(arguments: Arguments) -> None:
        if not line and count_examples(arguments.get("x")):
            enlarge(arguments)
        if arguments.get("steps_per_epoch"):
            arguments["steps_per_epoch"] = math.ceil(arguments["steps_per_epoch"] / times)

    follow(run).around.append(around)
    intercept(run, change, "fit")


BATCH = Intervention(
    "batch",
    "overhead",
    _find,
    _install,
    needs="more memory, and another learning rate",
    training="otherwise",
)
