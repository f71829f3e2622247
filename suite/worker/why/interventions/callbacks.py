"""The script's callbacks: dropped, or called more rarely."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from suite.model.why import CallbackSeen, Try, Watched
from suite.worker.why.calls import methods, own_callbacks, rebind
from suite.worker.why.intervention import NEVER, Intervention, is_worth, make_try, thin_to
from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    heavy = [each for each in watched.callbacks if is_worth(watched, each.seconds)]
    fixes = [each for each in heavy if thin_to(each.calls) is not None and not each.steers]
    some = [each for each in watched.callbacks if is_worth(watched, 5 * each.seconds)]
    if is_worth(watched, math.fsum(each.seconds for each in some)) and (len(some) > 1 or not fixes):
        names = sorted({each.name for each in some})
        yield make_try(
            f"callbacks:{','.join(names)}",
            "callback",
            f"without {' and '.join(names)}",
            max(some, key=lambda each: each.seconds).line,
            kind="ceiling",
            training="otherwise" if any(each.steers for each in some) else "unchanged",
        )
    for each in fixes:
        every = thin_to(each.calls) or NEVER
        text = _describe(each, every, int(watched.counts.get("epoch_steps", 0)))
        unit = "batch" if each.by_batch else "epoch"
        yield make_try(f"callbacks:{each.name}:{unit}:{every}", "callback", text, each.line)


def _describe(seen: CallbackSeen, every: int, epoch_steps: int) -> str:
    """What to write, so that a callback is called more rarely."""
    if seen.name in ("ModelCheckpoint", "BackupAndRestore"):
        steps = 1 if seen.by_batch else epoch_steps
        return f"{seen.name}(…, save_freq={every * steps or f'{every} * steps_per_epoch'})"
    if seen.name == "TensorBoard":
        return f"TensorBoard(…, {'update' if seen.by_batch else 'histogram'}_freq={every})"
    unit = "batch" if "batch" in seen.method else "epoch"
    return f"`if {unit} % {every}: return` as the first line of {seen.name}.{seen.method}"


def _install(run: ScriptRun, target: str) -> None:
    names, _, rest = target.partition(":")
    unit, _, every = rest.partition(":")
    thinned: dict[int, Any] = {}

    def change(arguments: dict[str, Any]) -> None:
        for callback in own_callbacks(arguments.get("callbacks")):
            if id(callback) in thinned or type(callback).__name__ not in names.split(","):
                continue
            thinned[id(callback)] = callback
            for by_batch in (True, False):
                if not unit or by_batch == (unit == "batch"):
                    for method, function in methods(callback, by_batch).items():
                        setattr(callback, method, _gate(run, function, int(every or NEVER)))

    run.patch("fit", lambda original: rebind(original, change))


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


CALLBACKS = Intervention(name="callbacks", propose=_propose, install=_install, needs=("fit",))
