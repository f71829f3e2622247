"""The step compiled by XLA, or, where Keras has done so by itself, not."""

from __future__ import annotations

from suite.model.why import Watched
from suite.worker.why.calls import Arguments, configure, find_code, intercept
from suite.worker.why.intervention import Intervention, Offers
from suite.worker.why.run import ScriptRun


def _find(watched: Watched) -> Offers:
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
    yield {"text": text, "line": line, "target": target}


def _install(run: ScriptRun, target: str) -> None:
    def compile_step(arguments: Arguments) -> None:
        code = find_code(run, arguments["python_function"])
        if code and str(code.co_firstlineno) == target:
            arguments["jit_compile"] = True
            run.applied()

    if target in ("True", "False"):
        configure(run, "jit_compile", target == "True")
    else:
        intercept(run, compile_step, "function.init")


JIT = Intervention("jit", "overhead", _find, _install, training="rounding", late=True)
