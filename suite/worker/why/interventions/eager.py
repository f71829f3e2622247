"""Steps as graphs: eager mode off, or `@tf.function` on what holds a bare tape."""

from __future__ import annotations

from typing import Any

from suite.model.why import Watched
from suite.worker.why.calls import Arguments, configure, intercept
from suite.worker.why.intervention import Intervention, Offers
from suite.worker.why.run import ScriptRun

_CHANGES = {
    "compile": ("compile", "compile(…) without run_eagerly=True"),
    "run_functions_eagerly": ("functions", "without tf.config.run_functions_eagerly(True)"),
    "tape.function": ("", "@tf.function above this def"),
    "tape": (
        "model",
        "graph = tf.function(model) before the loop, and graph(…) wherever it calls model(…)",
    ),
}
"""By what is named by its line: the target, where that isn't the line itself, and the text."""


def _find(watched: Watched) -> Offers:
    what = "tape.function" if "tape.function" in watched.lines else "tape"
    if watched.settings.get("run_eagerly") == "True":
        what = "compile"
    elif watched.settings.get("run_functions_eagerly") == "True":
        what = "run_functions_eagerly"
    elif watched.clock != "tape":
        return
    (target, text), line = _CHANGES[what], watched.lines.get(what)
    if target == "model":
        line = watched.lines.get("layer", line)
    yield {"text": text, "line": line, "target": target or f"{line}"}


def _install(run: ScriptRun, target: str) -> None:
    import tensorflow as tf
    from keras import Model

    graphs: dict[int, Any] = {}

    def stay_off(arguments: Arguments) -> None:
        arguments["run_eagerly"] = False
        run.applied()

    def decorate(function: Any) -> Any:
        run.applied()
        return tf.function(function)

    def call_as_graph(arguments: Arguments) -> Any:
        if not isinstance(arguments["self"], Model) or not tf.executing_eagerly():
            return None
        run.applied()
        # Each of its own: what a first call builds, another's graph can't.
        return lambda original: graphs.setdefault(id(arguments["self"]), tf.function(original))

    if target == "compile":
        configure(run, "run_eagerly", False)
    elif target == "functions":
        intercept(run, stay_off, "run_functions_eagerly")
    elif target == "model":
        intercept(run, call_as_graph, "layer.call")
    else:
        run.tree.decorate(int(target), decorate)


EAGER = Intervention("eager", "eager", _find, _install, training="rounding")
