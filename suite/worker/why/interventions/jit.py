"""The step compiled by XLA, or, where Keras has done so by itself, not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.calls import configure
from suite.worker.why.intervention import Intervention, make_try
from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    settings, lines = watched.settings, watched.lines
    if "True" in (settings.get("run_eagerly"), settings.get("run_functions_eagerly")):
        return
    if watched.clock in ("fit", "train_on_batch"):
        value, line = settings.get("jit_compile") != "True", lines.get("compile")
        target, text = f"{value}", f"compile(…, jit_compile={value})"
    elif "step.function" in lines:
        line = lines["step.function"]
        target, text = f"{line}", "@tf.function(jit_compile=True) above this def"
    else:
        return
    yield make_try(f"jit:{target}", "overhead", text, line, training="rounding", late=True)


def _install(run: ScriptRun, target: str) -> None:
    def compile_step(original: Any) -> Any:
        def init(function: Any, python_function: Any, *words: Any, **named: Any) -> None:
            code = getattr(python_function, "__code__", None)
            if code and (code.co_filename, str(code.co_firstlineno)) == (run.file, target):
                named["jit_compile"] = True
                run.applied()
            original(function, python_function, *words, **named)

        return init

    if target in ("True", "False"):
        configure(run, "jit_compile", target == "True")
    else:
        run.patch("function.init", compile_step)


JIT = Intervention(name="jit", propose=_propose, install=_install, needs=("fit", "function.init"))
