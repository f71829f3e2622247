"""A survey of a machine's GPUs: the same campaign on each in turn, and on all at once.

Round by round, so that what drifts in the machine meets all of them alike.  Decides as values (`plan`),
then acts through conductors, one for each campaign; prints nothing.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import replace
from threading import Lock
from time import monotonic
from typing import Protocol

from suite.host.campaign.conductor import Conductor
from suite.host.campaign.listener import Listener, Progress, word_cost, word_minutes
from suite.host.survey.halting import Halted, HaltingEngine
from suite.host.survey.plan import Part
from suite.model import Document, Survey

AT_ONCE = "all"
"""The turn of all GPUs at once, in a round's order."""


def order_turns(survey: Survey, number: int) -> list[str]:
    """The turns of a round in their random order from the survey's seed: each GPU, and `AT_ONCE`."""
    turns = [*survey.gpus, AT_ONCE]
    random.Random(f"{survey.seed}/survey/{number}").shuffle(turns)
    return turns


class Named:
    """A listener (see ``campaign.listener.Listener``) that says which GPU a line is about.

    ``lock`` is shared by all that speak to the same listener from several threads; one that is not
    ``shows`` says nothing of its progress.
    """

    def __init__(self, listener: Listener, name: str, lock: Lock, *, shows: bool = True) -> None:
        self._listener = listener
        self._name = name
        self._lock = lock
        self._shows = shows

    def say(self, line: str) -> None:
        """See ``campaign.listener.Listener``."""
        with self._lock:
            self._listener.say(f"{self._name}: {line}")

    def show(self, progress: Progress) -> None:
        """See ``campaign.listener.Listener``."""
        if self._shows:
            with self._lock:
                self._listener.show(replace(progress, arm=f"{self._name} {progress.arm}"))


class Household(Protocol):
    """What a survey needs of whoever runs it."""

    def make(self, part: Part, listener: Listener) -> tuple[Conductor, HaltingEngine]:
        """The conductor of a part's campaign, on an engine of its own."""

    def keep(self, survey: Survey) -> None:
        """The survey's plan has changed."""

    def keep_part(self, part: Part) -> None:
        """The plan of one of its campaigns is to be kept before any of them begins."""

    def report(self) -> None:
        """A round is done: what there is by now is worth a report."""


class Surveyor:
    """Runs a survey that has been planned, or the rest of one."""

    def __init__(
        self,
        survey: Survey,
        parts: Sequence[Part],
        household: Household,
        *,
        budget_s: float | None,
        listener: Listener,
    ) -> None:
        self.survey = survey
        self.parts = parts
        self.household = household
        self.budget_s = budget_s
        self.listener = listener

    def run(self, resumed: Mapping[str, Sequence[Document]]) -> Survey:
        """Runs every round; ``resumed`` are the documents that there are already, by campaign.

        Returns:
            the plan as it is at the end.

        Raises:
            GpuError, EngineError: as the engine or a worker refuse; what was measured is kept.
        """
        began = monotonic()
        lock = Lock()
        self.household.keep(self.survey)
        for part in self.parts:
            self.household.keep_part(part)
        self._predict()
        with ExitStack() as stack:
            alone: dict[str, Generator[int, None, None]] = {}
            conductors: dict[str, Conductor] = {}
            for part in self.parts:
                if not part.at_once:
                    named = Named(self.listener, f"{part.name} alone", lock)
                    conductor, _ = self.household.make(part, named)
                    conductors[part.gpu] = conductor
                    alone[part.gpu] = self._begin(stack, conductor, part, resumed)
            at_once: list[tuple[Generator[int, None, None], HaltingEngine]] = []
            for part in self.parts:
                if part.at_once:
                    found = conductors[part.gpu].campaign
                    calls = {arm: found.calls[arm] for arm in part.campaign.arms}
                    excluded = {arm: found.excluded[arm] for arm in part.campaign.arms}
                    campaign = replace(part.campaign, calls=calls, excluded=excluded)
                    shows = not at_once
                    named = Named(self.listener, f"{part.name} at once", lock, shows=shows)
                    conductor, engine = self.household.make(replace(part, campaign=campaign), named)
                    at_once.append((self._begin(stack, conductor, part, resumed), engine))
            last_s: float | None = None
            for number in range(1, self.survey.rounds + 1):
                if self._stop_before(number, monotonic() - began, last_s):
                    break
                before = monotonic()
                for turn in order_turns(self.survey, number):
                    if turn == AT_ONCE:
                        step_at_once(at_once)
                    else:
                        next(alone[turn], None)
                last_s = monotonic() - before
                left = self.survey.rounds - number
                self.listener.say(
                    f"round {number} of {self.survey.rounds} done"
                    + (f"; {self._cost(left * last_s)} to go" if left else "")
                )
                self.household.report()
        return self.survey

    def _predict(self) -> None:
        """What the whole takes: the turns alone one after the other, those at once at the same time."""
        alone, at_once = (
            [p.campaign.prediction.before_s for p in self.parts if p.at_once == busy]
            for busy in (False, True)
        )
        total = self._cost(sum(alone) + max(at_once))
        self.listener.say(
            f"a survey of {len(self.survey.gpus)} GPUs in {self.survey.rounds} rounds: {total} in "
            "all, a guess until the first round is done"
        )

    def _cost(self, seconds: float) -> str:
        """A time, and what it costs where the machine has a price."""
        return f"about {word_minutes(seconds)}{word_cost(self.parts[0].campaign, seconds)}"

    def _begin(
        self,
        stack: ExitStack,
        conductor: Conductor,
        part: Part,
        resumed: Mapping[str, Sequence[Document]],
    ) -> Generator[int, None, None]:
        """A campaign up to its first block."""
        steps = stack.enter_context(closing(conductor.steps(resumed.get(part.campaign.id, ()))))
        next(steps, None)
        return steps

    def _stop_before(self, number: int, spent_s: float, last_s: float | None) -> bool:
        """Whether the budget forbids this round; the first of this command always runs."""
        if self.budget_s is None or last_s is None or spent_s + last_s <= self.budget_s:
            return False
        reason = (
            f"after round {number - 1}: the next one was predicted to cross the budget of "
            f"{self.budget_s:g} s ({spent_s:.0f} s spent, {last_s:.0f} s more)"
        )
        self.survey = replace(self.survey, stopped=reason)
        self.household.keep(self.survey)
        self.listener.say(f"stopped {reason}")
        return True


def step_at_once(campaigns: Sequence[tuple[Generator[int, None, None], HaltingEngine]]) -> None:
    """One step of several campaigns at the same time, each in a thread of its own.

    Trouble in one, or an interrupt here, stops them all; returns when all have come to rest.

    Raises:
        CrossoverError: the first trouble that one of them had.
    """
    with ThreadPoolExecutor(max_workers=len(campaigns)) as pool:
        try:
            futures = [pool.submit(next, steps, None) for steps, _ in campaigns]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            troubles = [trouble for one in done if (trouble := one.exception()) is not None]
        except BaseException:
            _halt(campaigns)
            raise
        if troubles:
            _halt(campaigns)
            wait(futures)
            own = [one for one in troubles if not isinstance(one, Halted)]
            raise (own or troubles)[0]


def _halt(campaigns: Sequence[tuple[Generator[int, None, None], HaltingEngine]]) -> None:
    for _, engine in campaigns:
        engine.halt()
