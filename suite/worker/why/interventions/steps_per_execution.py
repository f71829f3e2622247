"""Several steps in one call of ``fit``'s function."""

from __future__ import annotations

from suite.model.why import Watched
from suite.worker.why.calls import configure
from suite.worker.why.intervention import Intervention, Offers
from suite.worker.why.run import ScriptRun

SEVERAL = (20, 10)
"""After so many steps the weights are looked at, too (`suite.worker.why.run.NORMS_AT`)."""


def _find(watched: Watched) -> Offers:
    settings, steps = watched.settings, int(watched.counts.get("epoch_steps", 0))
    eager = "True" in (settings.get("run_eagerly"), settings.get("run_functions_eagerly"))
    pointless = eager or settings.get("steps_per_execution", "1") != "1"
    by_batch = any(each.by_batch for each in watched.callbacks)
    if watched.clock != "fit" or pointless or by_batch or steps < 2:
        return
    # So that an epoch has a whole number of executions, if it can be.
    several = next((n for n in SEVERAL if steps % n == 0), min(steps, SEVERAL[-1]))
    yield {
        "target": f"{several}",
        "text": f"compile(…, steps_per_execution={several})",
        "line": watched.lines.get("compile"),
        "needs": f"the progress bar moves every {several} steps",
    }


def _install(run: ScriptRun, target: str) -> None:
    configure(run, "steps_per_execution", int(target))


STEPS_PER_EXECUTION = Intervention(
    "steps_per_execution", "overhead", _find, _install, training="rounding"
)
