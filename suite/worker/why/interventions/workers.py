"""A `PyDataset` whose batches are made by several threads, ahead of the steps that take them."""

from __future__ import annotations

from typing import Any

from suite.model.why import Watched
from suite.worker.why.calls import Arguments, intercept
from suite.worker.why.intervention import Intervention, Offers, is_worth
from suite.worker.why.run import ScriptRun

WORKERS, QUEUE = 4, 10


def _find(watched: Watched) -> Offers:
    calls = [each for each in watched.python_calls if each.kind == "generator"]
    heaviest = max(calls, key=lambda call: call.seconds, default=None)
    alone = watched.settings.get("workers") in ("0 threads", "1 threads")
    if heaviest and alone and is_worth(watched, heaviest.seconds):
        more = f"workers={WORKERS}, use_multiprocessing=False, max_queue_size={QUEUE}"
        text = f"super().__init__({more}) in {heaviest.name}"
        yield {"text": text, "line": heaviest.line}


def _install(run: ScriptRun, _target: str) -> None:
    def change(arguments: Arguments) -> None:
        data: Any = arguments.get("x")
        if hasattr(data, "max_queue_size") and data.workers <= 1:
            data.workers, data.max_queue_size = WORKERS, QUEUE
            run.applied()

    intercept(run, change, "fit")


# The order of batches stays; where threads disturb each other, it is another training.
PYDATASET = Intervention("workers", "input", _find, _install, waits=True)
