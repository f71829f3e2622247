"""``fit``, ``evaluate`` and ``predict`` of single batches by their siblings for a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suite.model.why import Try, Watched
from suite.worker.why.calls import is_single
from suite.worker.why.intervention import Intervention, is_worth

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun

SIBLINGS = {"fit": "train_on_batch", "evaluate": "test_on_batch", "predict": "predict_on_batch"}


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    for method, sibling in SIBLINGS.items():
        if is_worth(watched, watched.counts.get(f"single.{method}_s", 0.0)):
            yield Try(
                name=f"on_batch@{method}",
                intervention="on_batch",
                target=method,
                cause="overhead",
                kind="fix",
                line=watched.lines.get(f"single.{method}"),
                text=f"{sibling}(…) instead of {method}(…)",
                training="rounding" if method == "fit" else "unchanged",
            )


def _install(run: ScriptRun, target: str) -> None:
    import inspect

    def instead(original: Any) -> Any:
        signature = inspect.signature(original)

        def call(*words: Any, **named: Any) -> Any:
            arguments = signature.bind(*words, **named).arguments
            if named.get("_use_cached_eval_dataset") or not is_single(arguments):
                return original(*words, **named)
            run.applied()
            return _call_sibling(target, **arguments)

        return call

    run.patch(target, instead)


def _call_sibling(
    method: str,
    *,
    self: Any,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    return_dict: bool = False,
    **_: Any,
) -> Any:
    import keras

    if method == "predict":
        return self.predict_on_batch(x)
    if method == "evaluate":
        return self.test_on_batch(x, y, sample_weight=sample_weight, return_dict=return_dict)
    logs = self.train_on_batch(
        x, y, sample_weight=sample_weight, class_weight=class_weight, return_dict=True
    )
    history = keras.callbacks.History()
    history.on_train_begin()
    history.on_epoch_end(0, logs)
    return history


ON_BATCH = Intervention(name="on_batch", propose=_propose, install=_install, needs=tuple(SIBLINGS))
