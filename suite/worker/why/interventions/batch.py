"""A larger batch, counted by the example."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.calls import count_examples, rebind
from suite.worker.why.intervention import Intervention, make_try
from suite.worker.why.run import ScriptRun

LARGER = 8

_STAGES = ("dataset.batch", "dataset.padded_batch")


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    counts, line = watched.counts, watched.lines.get("fit")
    stage = next((each.line for each in watched.stages if each.method.endswith("batch")), None)
    target, text, at = "", "batch_size={}", ""
    if stage is not None:
        line, target, text, at = stage, f"{stage}:", ".batch({})", f":{stage}"
    batch, steps = counts.get(f"batch{at}", 0), int(counts.get(f"epoch_steps{at}", 0))
    # The one near to 8 that leaves the smallest part of a batch at an epoch's end; -1: without end.
    times = min(range(4, 11), key=lambda n: (-steps % n if steps > 0 else 0, abs(n - LARGER)))
    if batch and (steps >= 2 * times or steps == -1) and (at or watched.clock == "fit"):
        yield make_try(
            f"batch:{target}{times}",
            "overhead",
            text.format(int(batch * times)),
            line,
            needs="more memory, and another learning rate",
            training="otherwise",
            scale=float(times),
        )


def _install(run: ScriptRun, target: str) -> None:
    *line, text = target.split(":")
    times = int(text)

    def enlarge(arguments: dict[str, Any]) -> None:
        arguments["batch_size"] = times * int(arguments.get("batch_size") or 32)
        run.applied()

    def enlarge_stage(arguments: dict[str, Any]) -> None:
        if [str(run.user_line())] == line:
            enlarge(arguments)

    def change(arguments: dict[str, Any]) -> None:
        if not line and count_examples(arguments.get("x")):
            enlarge(arguments)
        if arguments.get("steps_per_epoch"):
            arguments["steps_per_epoch"] = math.ceil(arguments["steps_per_epoch"] / times)

    run.patch("fit", lambda original: rebind(original, change))
    for method in _STAGES if line else ():
        run.patch(method, lambda original: rebind(original, enlarge_stage))


BATCH = Intervention(name="batch", propose=_propose, install=_install, needs=("fit", *_STAGES))
