"""Why a script is slow, under way: round by round, each a block in which the arms take turns.

Which changes apply, and what is run next, others decide from what was seen.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from typing import cast

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

Propose = Callable[[Watched, bool], Sequence[Try]]
"""The changes that apply to what was watched, on an arm with a GPU or without."""

NextRound = Callable[[float], Round | None]
"""What is run next, where so many seconds are left, by what was measured; None: nothing."""


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


class InquiryRunner:
    """Runs an inquiry that has been planned."""

    def __init__(
        self,
        inquiry: Inquiry,
        means: Means,
        brought: Brought,
        propose: Propose,
        next_round: NextRound,
    ) -> None:
        self.recorder, self.means, self.brought = Recorder(inquiry, means), means, brought
        self.propose, self.next_round = propose, next_round
        self.folder = Volume(
            name=name_volume(inquiry, "script"),
            target="/script",
            variable="CROSSOVER_SCRIPT",
            purpose="script",
            read_only=True,
        )
        self.data = () if brought.data is None else (mount_data(brought.data, means.engine),)
        self.bases: dict[str, CellResult] = {}
        """Of each arm on which the unchanged script ran, that run."""
        self.failed = ScriptError("no arm was run")
        self.began = time.monotonic()

    @property
    def campaign(self) -> Inquiry:
        """The plan as it is by now."""
        return cast("Inquiry", self.recorder.campaign)

    def run(self) -> Inquiry:
        """Runs round by round; writes as it goes.

        Returns:
            the plan as it is at the end.

        Raises:
            ScriptError: the script fails on every arm, or trains nothing.
            GpuError, EngineError: as `Recorder.end_with`.
        """
        recorder, means = self.recorder, self.means
        with recorder.end_with([self.folder]):
            recorder.write_plan()
            means.engine.fill(self.folder, self.brought.archive, next(iter(means.images.values())))
            self._run_round()
            if not self.bases:
                raise recorder.refused or self.failed
            while (following := self._decide()) is not None:
                rounds = [*self.campaign.rounds, following]
                recorder.write_plan(rounds=rounds, blocks=len(rounds), cells=list_runs(rounds))
                means.listener.say(_describe(len(rounds), following))
                self._run_round()
        return self.campaign

    def _decide(self) -> Round | None:
        """The next round, on the arms that can run it; None: there is none."""
        left_s = self._left_s()
        if left_s <= 0 or len(self.campaign.rounds) >= RANGES["blocks"].most:
            return None
        following = self.next_round(left_s)
        runs = following.runs.items() if following else ()
        possible = {arm: cases for arm, cases in runs if cases and arm in self.bases}
        return Round(runs=possible) if possible else None

    def _run_round(self) -> None:
        block = len(self.campaign.rounds)
        for arm in plan.order_arms(self.campaign, block):
            if self.campaign.runs_of(arm, block):
                self._take_turn(arm, block)

    def _take_turn(self, arm: str, block: int) -> None:
        recorder = self.recorder
        ask = Ask(
            arguments=lambda cells: self._list_arguments(arm, cells),
            volumes=lambda _: (self.folder, *self.data),
            limit_s=lambda _: self._limit_s(arm) + GRACE_S,
            until=self.began + OVERTIME * self.campaign.budget_s,
        )
        try:
            document = recorder.record(arm, block, ask, lambda _: max(0.0, self._left_s()))
        except GpuError as error:
            recorder.refused = error
            self.bases.pop(arm, None)
            recorder.write_plan(not_run={**self.campaign.not_run, arm: error.what})
            self.means.listener.say(describe_refused(error))
            return
        recorder.write_plan()
        if block == 1:
            self._look_at_base(arm, document)

    def _look_at_base(self, arm: str, document: Document) -> None:
        """Takes from the run of the unchanged script what all others are run by."""
        base, say = document.cells[0], self.means.listener.say
        notes = read_notes(document, base)
        if base.outcome != "measured" or notes.watched is None:
            reason = (base.reason or "nothing was seen of it").strip().splitlines()[-1]
            self.failed = _explain(self.campaign.script.name, f"{arm}: {reason}", notes.error or "")
            say(f"{arm}: {reason}")
            return
        self.bases[arm] = base
        tries = list(self.propose(notes.watched, self.campaign.arm(arm).gpu))
        self.recorder.write_plan(tries={**self.campaign.tries, arm: tries})
        fit = self._left_s() / len(self.campaign.rounds[0].runs) / _last_s(base)
        say(
            f"{arm}: a step takes {_format(base.samples_s[0])}; the set-up takes "
            f"{_format(base.evidence.get('setup_s') or 0.0)}; with this budget some "
            f"{max(0.0, fit):.0f} more runs fit; changes that apply: {len(tries)}"
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


def read_notes(document: Document, run: CellResult) -> RunNotes:
    """What a run told besides its times."""
    text = facts_of(document, run.container).get(f"notes.{run.id}", "{}")
    return msgspec.convert(codec.parse_json(str(text)), RunNotes)


def _explain(name: str, reason: str, error: str) -> ScriptError:
    if error.startswith("Traceback"):
        return ScriptError(f"{name} fails by itself:\n{error}", "mend the script, or its ARGS")
    return ScriptError(f"{name} could not be measured: {reason}", "docs/why.md says what it takes")


def _describe(number: int, following: Round) -> str:
    """What a round runs: ``round 2: cpu: 4 runs: cache:30, xla``."""
    arms = []
    for arm, runs in following.runs.items():
        cases = ", ".join(dict.fromkeys(case for case in runs if case != BASE)) or "unchanged"
        arms.append(f"{arm}: {len(runs)} runs: {cases}")
    return f"round {number}: {'; '.join(arms)}"


def _last_s(run: CellResult) -> float:
    return max(0.1, math.fsum(run.spent_s.values()))


def _format(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
