"""``fit``, ``evaluate`` and ``predict`` of single batches by their siblings for a batch."""

from __future__ import annotations

import inspect
from typing import Any

from suite.model.why import Watched
from suite.worker.why.calls import Arguments, intercept, is_single
from suite.worker.why.intervention import Intervention, Offers, is_worth
from suite.worker.why.run import ScriptRun

SIBLINGS = {"fit": "train_on_batch", "evaluate": "test_on_batch", "predict": "predict_on_batch"}


def _find(watched: Watched) -> Offers:
    for method, sibling in SIBLINGS.items():
        if is_worth(watched, watched.counts.get(f"single.{method}_s", 0.0)):
            in_callback = watched.settings.get(f"single.{method}") == "callback"
            yield {
                "text": f"{sibling}(…) instead of {method}(…)",
                "line": watched.lines.get(f"single.{method}"),
                "target": method,
                "cause": "callback" if in_callback else "overhead",
            }


def _install(run: ScriptRun, target: str) -> None:
    def change(arguments: Arguments) -> Any:
        if not is_single(arguments):
            return None
        run.applied()
        return lambda _method: lambda *_, **__: _call_sibling(target, arguments)

    intercept(run, change, target)


def _call_sibling(method: str, arguments: Arguments) -> Any:
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


ON_BATCH = Intervention("on_batch", "overhead", _find, _install, training="rounding")
