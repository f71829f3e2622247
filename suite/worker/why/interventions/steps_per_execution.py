"""Several steps in one call of ``fit``'s function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from suite.model.why import Try, Watched
from suite.worker.why.calls import configure
from suite.worker.why.intervention import Intervention

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun

MOST = 32


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    settings, steps = watched.settings, int(watched.counts.get("epoch_steps", 0))
    if (
        watched.clock != "fit"
        or settings.get("steps_per_execution", "1") != "1"
        or "True" in (settings.get("run_eagerly"), settings.get("run_functions_eagerly"))
        or any(each.by_batch for each in watched.callbacks)
        or 0 < steps < 4
    ):
        return
    # So that an epoch has a whole number of executions, if it can be.
    several = max((n for n in range(8, MOST + 1) if steps % n == 0), default=min(steps, 16))
    yield Try(
        name=f"steps_per_execution@{several}",
        intervention="steps_per_execution",
        target=str(several),
        cause="overhead",
        kind="fix",
        line=watched.lines.get("compile"),
        text=f"compile(…, steps_per_execution={several})",
        needs=f"the progress bar moves every {several} steps",
        training="rounding",
    )


def _install(run: ScriptRun, target: str) -> None:
    configure(run, "steps_per_execution", int(target))


STEPS_PER_EXECUTION = Intervention(
    name="steps_per_execution", propose=_propose, install=_install, needs=("fit",)
)
