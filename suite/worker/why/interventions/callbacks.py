"""The script's callbacks: dropped, or called more rarely."""

from __future__ import annotations

import math
from typing import Any

from suite.model.why import CallbackSeen, Watched
from suite.worker.why.calls import wrap_callbacks
from suite.worker.why.intervention import NEVER, Intervention, Offers, is_worth, thin_to
from suite.worker.why.run import ScriptRun


def _find(watched: Watched) -> Offers:
    heavy = [each for each in watched.callbacks if is_worth(watched, each.seconds)]
    fixes = [each for each in heavy if thin_to(each.calls) is not None and not each.steers]
    some = [each for each in watched.callbacks if is_worth(watched, 5 * each.seconds)]
    if is_worth(watched, math.fsum(each.seconds for each in some)) and (len(some) > 1 or not fixes):
        names = sorted({each.name for each in some})
        yield {
            "target": ",".join(names),
            "text": f"without {' and '.join(names)}",
            "line": max(some, key=lambda each: each.seconds).line,
            "kind": "ceiling",
            "training": "otherwise" if any(each.steers for each in some) else "unchanged",
        }
    for each in fixes:
        every = thin_to(each.calls) or NEVER
        text = _describe(each, every, int(watched.counts.get("epoch_steps", 0)))
        target = f"{each.name}:{'batch' if each.by_batch else 'epoch'}:{every}"
        yield {"text": text, "line": each.line, "target": target}


def _describe(seen: CallbackSeen, every: int, epoch_steps: int) -> str:
    """What to write, so that a callback is called more rarely."""
    if seen.name in ("ModelCheckpoint", "BackupAndRestore"):
        steps = 1 if seen.by_batch else epoch_steps
        return f"{seen.name}(…, save_freq={every * steps or f'{every} * steps_per_epoch'})"
    if seen.name == "TensorBoard":
        return f"TensorBoard(…, {'update' if seen.by_batch else 'histogram'}_freq={every})"
    unit = "batch" if "_batch_" in seen.method else "epoch"
    if seen.name == "LambdaCallback":
        method = seen.method.rpartition(".")[2]
        return f"LambdaCallback(…, {method}=lambda {unit}, logs: None if {unit} % {every} else …)"
    return f"`if {unit} % {every}: return` as the first line of {seen.method}"


def _install(run: ScriptRun, target: str) -> None:
    names, _, rest = target.partition(":")
    unit, _, every = rest.partition(":")

    def gate(callback: Any, by_batch: bool, _name: str, method: Any) -> Any:
        meant = not unit or by_batch == (unit == "batch")
        if meant and type(callback).__name__ in names.split(","):
            return _gate(run, method, int(every or NEVER))
        return method

    wrap_callbacks(run, gate)


def _gate(run: ScriptRun, function: Any, every: int) -> Any:
    def call(*words: Any, **named: Any) -> Any:
        number = next(iter([*words, *named.values()]), None)
        if every != NEVER and (not isinstance(number, int) or number % every == 0):
            return function(*words, **named)
        run.applied()
        return None

    # Keras hands batches over to a thread where no callback looks at them.
    vars(call)["_is_default"] = every == NEVER
    return call


CALLBACKS = Intervention("callbacks", "callback", _find, _install)
