"""``fit``, ``evaluate`` and ``predict`` of single batches by their siblings for a batch."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.calls import is_single
from suite.worker.why.intervention import Intervention, is_worth, make_try
from suite.worker.why.run import ScriptRun

SIBLINGS = {"fit": "train_on_batch", "evaluate": "test_on_batch", "predict": "predict_on_batch"}


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    for method, sibling in SIBLINGS.items():
        if is_worth(watched, watched.counts.get(f"single.{method}_s", 0.0)):
            yield make_try(
                f"on_batch:{method}",
                "overhead",
                f"{sibling}(…) instead of {method}(…)",
                watched.lines.get(f"single.{method}"),
                training="rounding",
            )


def _install(run: ScriptRun, target: str) -> None:
    def instead(original: Any) -> Any:
        signature = inspect.signature(original)

        def call(*words: Any, **named: Any) -> Any:
            arguments = signature.bind(*words, **named).arguments
            if named.get("_use_cached_eval_dataset") or not is_single(arguments):
                return original(*words, **named)
            run.applied()
            return _call_sibling(target, arguments)

        return call

    run.patch(target, instead)


def _call_sibling(method: str, arguments: dict[str, Any]) -> Any:
    import keras

    sibling = getattr(arguments["self"], SIBLINGS[method])
    names = inspect.signature(sibling).parameters
    passed = {name: value for name, value in arguments.items() if name in names}
    if method != "fit":
        return sibling(**passed)
    history = keras.callbacks.History()
    history.set_model(arguments["self"])
    history.on_train_begin()
    history.on_epoch_end(0, sibling(**passed, return_dict=True))
    return history


ON_BATCH = Intervention(name="on_batch", propose=_propose, install=_install, needs=tuple(SIBLINGS))
