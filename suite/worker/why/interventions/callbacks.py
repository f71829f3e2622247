"""The script's callbacks: all dropped, one dropped, or one called more rarely."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suite.model.why import CallbackSeen, Try, Watched
from suite.worker.why.calls import methods, own_callbacks, rebind
from suite.worker.why.intervention import Intervention, is_worth, thin_to

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun

_NEVER = 10**9


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    heavy = [each for each in watched.callbacks if is_worth(watched, each.seconds)]
    if len(heavy) > 1 or any(thin_to(each.calls) is None or each.steers for each in heavy):
        names = " and ".join(sorted({each.name for each in heavy}))
        yield _make_try("all", heavy[0], f"without {names}", kind="ceiling")
    for each in heavy:
        every = thin_to(each.calls)
        if every is not None and not each.steers:
            unit = "batch" if each.by_batch else "epoch"
            text = _describe(each, every, int(watched.counts.get("epoch_steps", 0)))
            yield _make_try(f"{each.name}.{unit}.{every}", each, text, kind="fix")


def _make_try(target: str, seen: CallbackSeen, text: str, **fields: Any) -> Try:
    return Try(
        name=f"callbacks@{target}",
        intervention="callbacks",
        target=target,
        cause="callback",
        line=seen.line,
        text=text,
        **fields,
    )


def _describe(seen: CallbackSeen, every: int, epoch_steps: int) -> str:
    """What to write, so that a callback is called more rarely."""
    if seen.name in ("ModelCheckpoint", "BackupAndRestore"):
        steps = f"{every * (1 if seen.by_batch else epoch_steps or 1)}"
        times = f" × the steps of an epoch ({every})" if not (seen.by_batch or epoch_steps) else ""
        return f"{seen.name}(…, save_freq={steps}{times})"
    if seen.name == "TensorBoard":
        setting = "update_freq" if seen.by_batch else "histogram_freq"
        return f"TensorBoard(…, {setting}={every})"
    unit = "batch" if seen.by_batch else "epoch"
    return f"`if {unit} % {every}: return` as the first line of {seen.name}.on_{unit}_end"


def _install(run: ScriptRun, target: str) -> None:
    name, _, rest = target.partition(".")
    unit, _, every = rest.partition(".")
    thinned: dict[int, Any] = {}

    def thin(callback: Any, by_batch: bool, every: int) -> None:
        for method, function in methods(callback, by_batch).items():
            setattr(callback, method, _gate(run, function, every))

    def change(arguments: dict[str, Any]) -> None:
        for callback in own_callbacks(arguments.get("callbacks")):
            if id(callback) in thinned or name not in ("all", type(callback).__name__):
                continue
            thinned[id(callback)] = callback
            for by_batch in (True, False):
                if name == "all" or by_batch == (unit == "batch"):
                    thin(callback, by_batch, _NEVER if name == "all" else int(every))

    run.patch("fit", lambda original: rebind(original, change))


def _gate(run: ScriptRun, function: Any, every: int) -> Any:
    def call(*words: Any, **named: Any) -> Any:
        number = next(iter([*words, *named.values()]), None)
        if every < _NEVER and (not isinstance(number, int) or number % every == 0):
            return function(*words, **named)
        run.applied()
        return None

    # Keras hands batches over to a thread where no callback looks at them.
    call._is_default = every == _NEVER  # type: ignore[attr-defined]
    return call


CALLBACKS = Intervention(name="callbacks", propose=_propose, install=_install, needs=("fit",))
