"""On a GPU: what the script pins to the processor, left to TensorFlow to place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention, make_try
from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, on_gpu: bool) -> Iterator[Try]:
    if on_gpu and "device" in watched.settings:
        text = f'without tf.device("{watched.settings["device"]}")'
        line = watched.lines.get("device")
        yield make_try("placement", "fallback", text, line, training="rounding", on_gpu=True)


def _install(run: ScriptRun, _target: str) -> None:
    def leave_free(original: Any) -> Any:
        def device(name: Any) -> Any:
            pinned = "CPU" in str(name).upper() and run.user_line() is not None
            run.applied(pinned)
            return original(None if pinned else name)

        return device

    run.patch("device", leave_free)


PLACEMENT = Intervention(name="placement", propose=_propose, install=_install, needs=("device",))
