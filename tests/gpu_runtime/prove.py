"""In the environment of the CUDA wheels: the first call of each cell and where it ran, and no timing.

    python prove.py CELL…      every cell: none named

As the worker does it, but that one call is the whole measurement, and no check follows: the stand-in's
results are void.  One JSON record a line: ``facts``, then each ``cell``.  CROSSOVER_FAIL names a file to
make before the first of them: the ``fail_file`` of plants.conf.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from suite import codec
from suite.model import CellResult, Check
from suite.worker import scenarios
from suite.worker.loop.measure import Loop, Timing
from suite.worker.proof import facts, libraries
from suite.worker.proof.placement import Placement
from suite.worker.scenario.scenario import Prepared
from suite.worker.session import startup
from suite.worker.session.cell import Request
from suite.worker.session.session import Runner


class OneCall(Runner):
    """Takes the first call for the cell's samples, and looks at no result."""

    def _time(self, *_: Any) -> Any:
        timing = Timing(samples_s=[1e-9], enqueue_fraction=0.0, warmup_status="time", last=None)
        return 1, timing, {}

    def _prove(self, request: Request, prepared: Prepared, *seen: Any) -> Placement:
        found = super()._prove(request, prepared, *seen)
        object.__setattr__(prepared, "check", lambda _: Check(what="not looked at"))
        return found


def main(names: list[str]) -> None:
    """Writes the records."""
    libraries.open_unfound()
    stages, device = startup.start(gpu=True)
    import tensorflow as tf

    loop = Loop(
        clock=time.perf_counter_ns,
        cpu_clock=time.process_time_ns,
        fence=tf.test.experimental.sync_devices,
    )
    none: dict[str, Any] = {"warmup_s": 0.0, "measure_s": 0.0, "budget_s": 1e9}
    runner = OneCall(loop=loop, device=device, stages=stages, **none)
    said = {**facts.tensorflow_facts(), **facts.switches()}
    print(codec.dump_record({"record": "facts", "facts": said}), flush=True)  # noqa: T201
    if trigger := os.environ.get("CROSSOVER_FAIL"):
        Path(trigger).touch()
    for scenario in scenarios.SCENARIOS:
        for cell in scenario.cells():
            # A script has a process of its own, which a test starts; on how many CPUs a cell is placed
            # makes no difference.
            ours = not cell.by_host and (cell.process is None or cell.cpus == 1)
            if (not names or cell.id in names) and ours:
                run = Request(scenario=scenario, cell=cell, calls=1)
                result: CellResult = replace(runner.run(run), spent_s={})
                print(codec.dump_record({"record": "cell", "cell": result}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
