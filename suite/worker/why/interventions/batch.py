"""A larger batch, counted by the example."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suite.model.why import Try, Watched
from suite.worker.why.calls import count_examples, rebind
from suite.worker.why.intervention import Intervention

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun

LARGER = 8

_STAGES = ("dataset.batch", "dataset.padded_batch")


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    batch, steps = watched.counts.get("batch", 0), int(watched.counts.get("epoch_steps", 0))
    line, target, text = watched.lines.get("fit"), "", "batch_size={}"
    stage = next((each for each in watched.stages if each.method.endswith("batch")), None)
    if stage is not None and stage.line is not None:
        line, target, text = stage.line, str(stage.line), ".batch({})"
        batch = watched.counts.get(f"batch@{line}", 0)
    elif watched.clock != "fit":
        return
    # The one near to 8 that leaves the smallest part of a batch at an epoch's end.
    times = min(range(4, 11), key=lambda n: (math.ceil(steps / n) * n - steps, abs(n - LARGER)))
    if batch and (steps >= 2 * times or not steps):
        yield Try(
            name=f"batch@{times}",
            intervention="batch",
            target=f"{target}:{times}",
            cause="overhead",
            kind="fix",
            line=line,
            text=text.format(int(batch * times)),
            needs="more memory, and another learning rate",
            training="otherwise",
            scale=float(times),
        )


def _install(run: ScriptRun, target: str) -> None:
    line, _, text = target.partition(":")
    times = int(text)

    def enlarge(arguments: dict[str, Any]) -> None:
        arguments["batch_size"] = times * int(arguments.get("batch_size") or 32)
        run.applied()

    def enlarge_stage(arguments: dict[str, Any]) -> None:
        if str(run.user_line()) == line:
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
