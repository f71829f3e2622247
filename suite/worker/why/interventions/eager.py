"""Steps as graphs: eager mode off, or `@tf.function` on what holds a bare tape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.calls import configure
from suite.worker.why.intervention import Intervention, make_try
from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    lines, settings = watched.lines, watched.settings
    if settings.get("run_eagerly") == "True":
        target, line, text = "compile", lines.get("compile"), "compile(…) without run_eagerly=True"
    elif settings.get("run_functions_eagerly") == "True":
        line = lines.get("run_functions_eagerly")
        target, text = "functions", "without tf.config.run_functions_eagerly(True)"
    elif watched.clock != "tape":
        return
    elif "tape.function" in lines:
        line = lines["tape.function"]
        target, text = str(line), "@tf.function above this def"
    else:
        target, line = "model", lines.get("tape")
        text = (
            "graph = tf.function(model) before the loop, and graph(…) for model(…) under the tape"
        )
    yield make_try(f"eager:{target}", "eager", text, line, training="rounding")


def _install(run: ScriptRun, target: str) -> None:
    import tensorflow as tf

    def stay_off(original: Any) -> Any:
        def run_functions_eagerly(_eagerly: bool) -> None:
            original(False)
            run.applied()

        return run_functions_eagerly

    def decorate(function: Any) -> Any:
        run.applied()
        return tf.function(function)

    if target == "compile":
        configure(run, "run_eagerly", False)
    elif target == "functions":
        run.patch("run_functions_eagerly", stay_off)
    elif target == "model":
        run.patch("layer.call", lambda original: _call_as_graph(run, original))
    else:
        run.tree.decorate(int(target), decorate)


def _call_as_graph(run: ScriptRun, original: Any) -> Any:
    """Layers' calls, of which those of a model by the script, outside of any graph, go through one."""
    import tensorflow as tf
    from keras import Model

    graphs: dict[int, Any] = {}

    def call(layer: Any, *words: Any, **named: Any) -> Any:
        if not isinstance(layer, Model) or not tf.executing_eagerly():
            return original(layer, *words, **named)
        # The bound method keeps the layer, so that its id stays its own.
        if id(layer) not in graphs:
            graphs[id(layer)] = tf.function(original.__get__(layer))
        run.applied()
        return graphs[id(layer)](*words, **named)

    return call


EAGER = Intervention(
    name="eager",
    propose=_propose,
    install=_install,
    needs=("fit", "run_functions_eagerly", "layer.call"),
)
