"""Why a script is slow, under way: round by round, each a block in which the arms take turns.

Which changes apply, and what is run next, others decide from what was seen (`Advice`).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from suite import codec
from suite.cells.cell import Cell
from suite.errors import GpuError, ScriptError
from suite.host.campaign import plan
from suite.host.campaign.arms import Arms
from suite.host.campaign.invocation_runner import Ask
from suite.host.campaign.listener import describe_refused
from suite.host.campaign.options import Options
from suite.host.campaign.recorder import Means, Recorder
from suite.host.campaign.request import begin_plan
from suite.host.engine import Volume
from suite.host.provision.resources import name_volume
from suite.host.why.script import Brought, mount_data
from suite.input_limits import RANGES
from suite.model import CellResult, Document, Prediction, facts_of
from suite.model.why import BASE, Inquiry, Round, RunNotes, Script, Try, Watched, list_runs

ARM_BUDGET_S = 240.0
"""For an arm, where nobody says: four minutes are some fifteen runs of a script that is set up in seconds."""

OVERTIME = 1.08
"""All ends at so many times the budget, with whatever is in flight."""

GRACE_S = 15.0
"""The worker itself ends a run that takes too long; after so much more, it hangs."""

LONG_RUNS, LONG_RUN_S = 3.0, 20.0
"""A run with a change may take so many times as long as the unchanged one, and so much besides: compiling by
XLA takes up to 17 s, and a change can make it slower."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Who decides: ``propose`` gives the changes that apply to what was watched, on an arm with a GPU or
    without; ``next_round`` takes how many seconds there are left, and reads what was measured."""

    propose: Callable[[Watched, bool], Sequence[Try]]
    next_round: Callable[[float], Round | None]


def plan_inquiry(options: Options, arms: Arms, script: Script) -> Inquiry:
    """The plan: the unchanged script once on each arm, which is watched."""
    first = Round(runs={arm.name: [BASE] for arm in arms.run})
    budget_s = options.budget_s or ARM_BUDGET_S * len(arms.run)
    return Inquiry(
        **begin_plan(options, arms, "why"),
        blocks=1,
        cells=list_runs([first]),
        every_arm=list(arms.run),
        prediction=Prediction(before_s=budget_s),
        warmup_s=0.0,
        measure_s=0.0,
        budget_s=budget_s,
        script=script,
        rounds=[first],
    )


class InquiryRunner(Recorder):
    """Runs an inquiry that has been planned."""

    campaign: Inquiry

    def __init__(self, inquiry: Inquiry, means: Means, brought: Brought, advice: Advice) -> None:
        super().__init__(inquiry, means)
        self.brought, self.advice = brought, advice
        self.folder = Volume(
            name=name_volume(inquiry, "script"),
            target="/script",
            variable="CROSSOVER_SCRIPT",
            purpose="script",
            read_only=True,
        )
        data = () if brought.data is None else (mount_data(brought.data, self.engine),)
        self.mounts = (self.folder, *data)
        self.bases: dict[str, CellResult] = {}
        """Of each arm on which the unchanged script ran, that run."""
        self.failed: tuple[str, str | None] = ("no arm was run", None)
        self.began = time.monotonic()

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """See `Recorder`."""
        return (self.folder,)

    def run_blocks(self, resumed: Sequence[Document]) -> None:  # noqa: ARG002  as the others
        """See `Recorder`.

        Raises:
            ScriptError: the script fails on every arm, or trains nothing.
        """
        self.began = time.monotonic()
        self.write_plan()
        image = next(iter(self.means.images.values()))
        self.engine.fill(self.folder, self.brought.archive, image)
        self._run_round()
        if not self.bases:
            raise self.refused or self._explain()
        while (round_ := self._decide()) is not None:
            rounds = [*self.campaign.rounds, round_]
            self.write_plan(rounds=rounds, blocks=len(rounds), cells=list_runs(rounds))
            self.listener.say(_describe(len(rounds), round_))
            self._run_round()

    def _decide(self) -> Round | None:
        """The next round, on the arms that can run it; None: there is none."""
        left_s = self._left_s()
        if left_s <= 0 or len(self.campaign.rounds) >= RANGES["blocks"].most:
            return None
        round_ = self.advice.next_round(left_s)
        if round_ is None:
            return None
        runs = {arm: runs for arm, runs in round_.runs.items() if runs and arm in self.bases}
        return replace(round_, runs=runs) if runs else None

    def _run_round(self) -> None:
        block = len(self.campaign.rounds)
        for arm in plan.order_arms(self.campaign, block):
            if not self.campaign.runs_of(arm, block):
                continue
            try:
                document = self.record(arm, block)
            except GpuError as error:
                self.refused = error
                self.bases.pop(arm, None)
                not_run = {**self.campaign.not_run, arm: error.what}
                self.write_plan(not_run=not_run)
                self.listener.say(describe_refused(error))
                continue
            self.write_plan()
            if block == 1:
                self._look_at_base(arm, document)

    def _look_at_base(self, arm: str, document: Document) -> None:
        """Takes from the run of the unchanged script what all others are run by."""
        base, notes = document.cells[0], read_notes(document, document.cells[0])
        if base.outcome != "measured" or notes is None or notes.watched is None:
            reason = (base.reason or "nothing was seen of it").strip().splitlines()[-1]
            self.failed = f"{arm}: {reason}", notes.error if notes else None
            self.listener.say(f"{arm}: {reason}")
            return
        self.bases[arm] = base
        tries = self.advice.propose(notes.watched, self.campaign.arm(arm).gpu)
        self.write_plan(tries={**self.campaign.tries, arm: list(tries)})
        run_s, left_s = _last_s(base), max(0.0, self._left_s())
        arms = len(self.campaign.rounds[0].runs)
        self.listener.say(
            f"{arm}: a step takes {_format(base.samples_s[0])}; the set-up takes "
            f"{_format(base.evidence.get('setup_s') or 0.0)}; with this budget some "
            f"{left_s / arms / run_s:.0f} more runs fit; changes that apply: {len(tries)}"
        )

    def _explain(self) -> ScriptError:
        reason, error = self.failed
        name = self.campaign.script.name
        if error and error.startswith("Traceback"):
            return ScriptError(f"{name} fails by itself:\n{error}", "mend the script, or its ARGS")
        return ScriptError(
            f"{name} could not be measured: {reason}", "docs/why.md says what it takes"
        )

    def ask(self, arm: str, block: int) -> Ask:  # noqa: ARG002  as the others
        """See `Recorder`."""
        return Ask(
            arguments=lambda cells: self._list_arguments(arm, cells),
            volumes=lambda _: self.mounts,
            limit_s=lambda _: self._limit_s(arm) + GRACE_S,
            until=self.began + OVERTIME * self.campaign.budget_s,
        )

    def _list_arguments(self, arm: str, cells: Sequence[Cell]) -> tuple[str, ...]:
        script, base = self.campaign.script, self.bases.get(arm)
        by_name = {each.name: each for each in self.campaign.tries.get(arm, ())}
        window = base and [
            int(base.evidence[name] or 0) for name in ("from_step", "to_step", "series")
        ]
        runs = []
        for cell in cells:
            tries = [by_name[name] for name in cell.case.split("+") if name != BASE]
            runs.append(
                {
                    "id": cell.id,
                    "tries": [{"intervention": t.intervention, "target": t.target} for t in tries],
                    "window": window,
                    "watch": base is None,
                    "limit_s": round(self._limit_s(arm), 1),
                    "scale": math.prod(each.scale for each in tries),
                }
            )
        gpu = ("--gpu",) if self.campaign.arm(arm).gpu else ()
        words = ("--script", script.name, "--seconds", f"{self.campaign.window_s:g}")
        return ("why", *gpu, *words, "--runs", json.dumps(runs), "--", *script.arguments)

    def _limit_s(self, arm: str) -> float:
        """How long a run may take; the first, as much of the budget as its arm has."""
        if arm not in self.bases:
            return self.campaign.budget_s / len(self.campaign.arms)
        longest_s = LONG_RUNS * _last_s(self.bases[arm]) + LONG_RUN_S
        return max(1.0, min(longest_s, self._left_s()))

    def _left_s(self) -> float:
        return self.campaign.budget_s - (time.monotonic() - self.began)

    def show(self, document: Document, in_flight: str | None) -> None:
        """See `Recorder`."""
        self.listener.show(document, in_flight, self.campaign.blocks, max(0.0, self._left_s()))


def read_notes(document: Document, run: CellResult) -> RunNotes | None:
    """What a run told besides its times; None: nothing."""
    text = facts_of(document, run.container).get(f"notes.{run.id}")
    return None if text is None else msgspec.convert(codec.parse_json(str(text)), RunNotes)


def _describe(number: int, round_: Round) -> str:
    """What a round runs: ``round 2: cpu: 4 runs: cache:30, xla``."""
    arms = []
    for arm, runs in round_.runs.items():
        cases = ", ".join(dict.fromkeys(case for case in runs if case != BASE)) or "unchanged"
        arms.append(f"{arm}: {len(runs)} runs: {cases}")
    return f"round {number}: {'; '.join(arms)}"


def _last_s(run: CellResult) -> float:
    return max(0.1, math.fsum(run.spent_s.values()))


def _format(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
