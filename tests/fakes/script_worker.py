"""A worker that is asked to run a person's script, and says what came of it without running anything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from suite import codec
from suite.host.engine import Job
from suite.model import CellResult, Check, make_pending
from suite.model.why import BASE, RunNotes, Watched, run_cell
from tests.fakes.engine import FACTS, Life, Word, is_on_gpu, record


def asked_runs(job: Job) -> list[dict[str, Any]]:
    """The runs that a job asks for."""
    words = list(job.arguments)
    return list(json.loads(words[words.index("--runs") + 1]))


@dataclass
class ScriptWorker:
    """Runs every script that it is asked for: a step takes ``step_s`` seconds, and by case what ``faster``
    divides that by.

    ``error`` is the script's own, ``before`` what a container does instead of a run of a case.
    """

    step_s: float = 0.01
    faster: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None
    before: Mapping[str, Word] = field(default_factory=dict)
    watched: Watched = field(default_factory=lambda: Watched(clock="fit", line=7))
    seconds: float = 5.0

    def __call__(self, job: Job) -> Life:
        return Life(words=self.words(job), seconds=self.seconds)

    def words(self, job: Job) -> Sequence[Word]:
        """Every line, from the first word to the last."""
        now = datetime.now(timezone.utc)
        hello = record("hello", schema=codec.SCHEMA, version="0.1.0", pid=7, at=now)
        facts = {**FACTS, "gpu": is_on_gpu(job)}
        lines: list[Word] = [hello, record("facts", facts=facts, seconds=0.5)]
        for run in asked_runs(job):
            case = run["id"].removeprefix("why.").partition("/")[0]
            lines.append(record("cell_started", id=run["id"]))
            if case in self.before:
                lines.append(self.before[case])
            notes = RunNotes(watched=self.watched if run["watch"] else None, error=self.error)
            facts = {**facts, f"notes.{run['id']}": codec.dump_record(notes)}
            lines.append(record("facts", facts=facts, seconds=0.0))
            lines.append(record("cell", cell=self.result(case, run)))
        return [*lines, record("bye")]

    def result(self, case: str, run: Mapping[str, Any]) -> CellResult:
        """What comes of a run."""
        now = datetime.now(timezone.utc)
        number = int(run["id"].rpartition("=")[2])
        blank = replace(make_pending(run_cell(case, number)), started=now, ended=now)
        if self.error is not None:
            return replace(blank, outcome="failed", reason=self.error.splitlines()[-1])
        step_s = self.step_s / self.faster.get(case, 1.0)
        first, last, series = run["window"] or (40, 340, 1)
        return replace(
            blank,
            outcome="measured",
            first_call_s=0.5,
            calls_per_sample=last - first,
            warmup_status="window",
            samples_s=[step_s],
            check=Check(what="norms of all trainable variables after 3, 10 and 20 steps"),
            spent_s={"setup": 1.0, "first_call": 0.5, "measure": 3.0, "warmup": 0.5},
            evidence={
                "cpu_s": step_s,
                "setup_s": 1.0,
                "from_step": float(first),
                "to_step": float(last),
                "series": float(series),
                "applied": float(case != BASE),
                "norm.3": 4.0,
            },
            absent={"enqueue_fraction": "not taken apart", "peak_memory_bytes": "not looked at"},
        )
