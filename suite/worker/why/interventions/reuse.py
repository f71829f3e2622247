"""Models of the same configuration made again and again: trained by the first one's compiled functions."""

from __future__ import annotations

import json
import re
from typing import Any

from suite.model.why import Watched
from suite.worker.why.intervention import Intervention, Offers
from suite.worker.why.run import ScriptRun


def _find(watched: Watched) -> Offers:
    made = int(watched.counts.get("train_functions", 0))
    if made > 1:
        text = f"without compiling {made} models in turn: one that is given fresh weights each time"
        yield {"text": text, "line": watched.lines.get("compile")}


def _install(run: ScriptRun, _target: str) -> None:
    first: dict[str, Any] = {}

    def lend(original: Any) -> Any:
        def call(model: Any, *words: Any, **named: Any) -> Any:
            lender = first.setdefault(_describe(model), model)
            if lender is model:
                return original(model, *words, **named)
            _copy(model, lender)
            try:
                return original(lender, *words, **named)
            finally:
                _copy(lender, model)
                run.applied()

        return call

    for method in ("fit", "train_on_batch", "evaluate", "predict"):
        run.patch(method, lend)


def _describe(model: Any) -> str:
    """What makes two models the same but for their weights; names are numbered and don't count."""
    try:
        config = {"model": model.get_config(), "compiled": model.get_compile_config()}
        text = json.dumps(config, default=lambda value: repr(type(value)), sort_keys=True)
    except (NotImplementedError, TypeError):
        return f"{id(model)}"
    return type(model).__name__ + re.sub(r"_\d+\b", "", text)


def _copy(origin: Any, place: Any) -> None:
    """Gives a model the variables of another, and its optimizer's state."""
    if not origin.built:
        origin.build_from_config(place.get_build_config())
    pairs = [(origin, place)]
    if origin.optimizer is not None:
        pairs.append((origin.optimizer, place.optimizer))
        for each in (origin, place):
            if not each.optimizer.built:
                each.optimizer.build(each.trainable_variables)
    for one, other in pairs:
        for value, variable in zip(one.variables, other.variables, strict=False):
            if value.shape == variable.shape:
                variable.assign(value)


REUSE = Intervention("reuse", "start-up", _find, _install, kind="ceiling", training="rounding")
