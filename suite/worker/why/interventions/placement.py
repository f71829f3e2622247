"""On a GPU: what the script pins to the processor, left to TensorFlow to place."""

from __future__ import annotations

from suite.model.why import Watched
from suite.worker.why.calls import Arguments, intercept
from suite.worker.why.intervention import Intervention, Offers
from suite.worker.why.run import ScriptRun


def _find(watched: Watched) -> Offers:
    if "device" in watched.settings:
        text = f'without tf.device("{watched.settings["device"]}")'
        yield {"text": text, "line": watched.lines.get("device")}


def _install(run: ScriptRun, _target: str) -> None:
    def leave_free(arguments: Arguments) -> None:
        if "CPU" in str(arguments["device_name"]).upper() and run.user_line() is not None:
            arguments["device_name"] = None
            run.applied()

    intercept(run, leave_free, "device")


PLACEMENT = Intervention("placement", "fallback", _find, _install, training="rounding", on_gpu=True)
