"""The step compiled by XLA, or, where Keras has done so by itself, not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suite.model.why import Try, Watched
from suite.worker.why.calls import configure
from suite.worker.why.intervention import Intervention

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    settings, lines = watched.settings, watched.lines
    if "True" in (settings.get("run_eagerly"), settings.get("run_functions_eagerly")):
        return
    value, line = True, lines.get("compile")
    text = "compile(…, jit_compile={})"
    if watched.clock == "function" and "step.function" in lines:
        line, text = lines["step.function"], "@tf.function(jit_compile={})"
    elif watched.clock in ("fit", "train_on_batch"):
        value = settings.get("jit_compile") != "True"
    else:
        return
    yield Try(
        name=f"jit@{value}",
        intervention="jit",
        target=f"{line if watched.clock == 'function' else ''}:{value}",
        cause="overhead",
        kind="fix",
        line=line,
        text=text.format(value),
        training="rounding",
        late=True,
    )


def _install(run: ScriptRun, target: str) -> None:
    line, _, value = target.partition(":")

    def compile_step(original: Any) -> Any:
        def init(function: Any, python_function: Any, *words: Any, **named: Any) -> None:
            code = getattr(python_function, "__code__", None)
            if code and (code.co_filename, str(code.co_firstlineno)) == (run.file, line):
                named["jit_compile"] = value == "True"
                run.applied()
            original(function, python_function, *words, **named)

        return init

    if line:
        run.patch("function.init", compile_step)
    else:
        configure(run, "jit_compile", value == "True")


JIT = Intervention(name="jit", propose=_propose, install=_install, needs=("fit", "function.init"))
