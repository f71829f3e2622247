"""Models of the same configuration made again and again: trained by the first one's compiled functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention, make_try
from suite.worker.why.run import ScriptRun

_METHODS = ("fit", "train_on_batch", "evaluate", "predict")


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    made = int(watched.counts.get("train_functions", 0))
    if made > 1:
        text = f"without compiling {made} models in turn: one that is given fresh weights each time"
        line = watched.lines.get("compile")
        yield make_try("reuse", "start-up", text, line, kind="ceiling", training="rounding")


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

    for method in _METHODS:
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


REUSE = Intervention(name="reuse", propose=_propose, install=_install, needs=_METHODS)
