"""On a GPU: what the script pins to the processor, left to TensorFlow to place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun


def _propose(watched: Watched, on_gpu: bool) -> Iterator[Try]:
    if on_gpu and "device" in watched.settings:
        yield Try(
            name="placement",
            intervention="placement",
            cause="fallback",
            kind="fix",
            line=watched.lines.get("device"),
            text=f'without tf.device("{watched.settings["device"]}")',
            training="rounding",
            on_gpu=True,
        )


def _install(run: ScriptRun, _target: str) -> None:
    def leave_free(original: Any) -> Any:
        def device(name: Any) -> Any:
            pinned = "CPU" in str(name).upper() and run.user_line() is not None
            run.applied(pinned)
            return original(None if pinned else name)

        return device

    run.patch("device", leave_free)


PLACEMENT = Intervention(name="placement", propose=_propose, install=_install, needs=("device",))
