"""A survey of a machine's GPUs under way: the same campaign on each in turn, and on all at once.

Round by round, so that what drifts in the machine meets all of them alike.  Each campaign has a
runner of its own; those at once have a thread each.  Prints nothing.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from time import monotonic

from suite.host.campaign import durations
from suite.host.campaign.campaign_runner import CampaignRunner
from suite.host.campaign.listener import Listener, Progress, format_wait
from suite.host.campaign.store import Store
from suite.host.survey.halting import HaltingEngine
from suite.host.survey.plan import Part
from suite.model import Document, Survey

_TICK_S = 1.0

AT_ONCE = "all"
"""The turn of all GPUs at once, in a round's order."""

Make = Callable[[Part, Listener], tuple[CampaignRunner, HaltingEngine]]
"""Makes the runner of a part's campaign, on an engine of its own."""

Turn = list[tuple[Generator[int, None, None], HaltingEngine]]
"""Campaigns under way that have their blocks at the same time, and their engines."""


def order_turns(survey: Survey, number: int) -> list[str]:
    """The turns of a round in their random order from the survey's seed: each GPU, and `AT_ONCE`."""
    turns = [*survey.gpus, AT_ONCE]
    random.Random(f"{survey.seed}/survey/{number}").shuffle(turns)
    return turns


@dataclass(frozen=True, kw_only=True)
class Named:
    """A listener (see ``campaign.listener.Listener``) that says which GPU a line is about; one that
    does not ``shows`` says nothing of its progress."""

    listener: Listener
    name: str
    shows: bool

    def say(self, line: str) -> None:
        """See ``campaign.listener.Listener``."""
        self.listener.say(f"{self.name}: {line}")

    def show(self, progress: Progress) -> None:
        """See ``campaign.listener.Listener``."""
        if self.shows:
            self.listener.show(replace(progress, arm=f"{self.name} {progress.arm}"))


def run_survey(
    survey: Survey,
    parts: Sequence[Part],
    resumed: Mapping[str, Sequence[Document]],
    *,
    store: Store,
    make: Make,
    report: Callable[[], object],
    budget_s: float | None,
    listener: Listener,
) -> None:
    """Runs every round of a survey that has been planned, or the rest of one.

    Args:
        survey: its plan, kept in ``store``; the campaigns' folders lie beside that.
        parts: its campaigns, those of one GPU alone first.
        resumed: the documents that there are already, by campaign.
        store: the survey's own folder.
        make: see `Make`.
        report: called after every round; what there is by then is worth a report.
        budget_s: no round begins that would cross it, but the first of this command; None: no end.
        listener: hears all campaigns, from several threads.

    Raises:
        GpuError, EngineError: as the engine or a worker refuse; what was measured is kept.
    """
    began, last_s = monotonic(), 0.0
    store.write_plan(survey)
    for part in parts:
        Store(store.folder.parent / part.campaign.id).write_plan(part.campaign)

    priced = parts[0].campaign
    # The turns alone one after the other, those at once at the same time.
    guesses = [(part.member.at_once, part.campaign.prediction.before_s) for part in parts]
    total_s = math.fsum(s for busy, s in guesses if not busy) + max(
        s for busy, s in guesses if busy
    )
    listener.say(
        f"a survey of {len(survey.gpus)} GPUs in {survey.rounds} rounds: about "
        f"{format_wait(priced, total_s)} in all, an estimate until the first round is done"
    )
    with ExitStack() as stack:
        turns = _begin(stack, parts, resumed, make, listener)
        # Left first, so that what runs has come to rest before its campaign is closed.
        pool = stack.enter_context(start_pool(max(map(len, turns.values()))))
        for number in range(1, survey.rounds + 1):
            begun = monotonic()
            reason = durations.forbid(f"round {number - 1}", budget_s, begun - began, last_s)
            if reason is not None and number > 1:
                store.write_plan(replace(survey, stopped=reason))
                listener.say(f"stopped {reason}")
                break
            for turn in order_turns(survey, number):
                step(turns[turn], pool)
            last_s = monotonic() - begun
            left_s = (survey.rounds - number) * last_s
            to_go = f"; about {format_wait(priced, left_s)} to go" if number < survey.rounds else ""
            listener.say(f"round {number} of {survey.rounds} done{to_go}")
            report()


def _begin(
    stack: ExitStack,
    parts: Sequence[Part],
    resumed: Mapping[str, Sequence[Document]],
    make: Make,
    listener: Listener,
) -> dict[str, Turn]:
    """Every campaign up to its first block, by turn."""
    turns: dict[str, Turn] = {}
    calibrated: dict[str, CampaignRunner] = {}
    for part in parts:
        gpu, at_once, campaign = part.member.gpu, part.member.at_once, part.campaign
        turn = turns.setdefault(AT_ONCE if at_once else gpu, [])
        if at_once:
            found = calibrated[gpu].campaign
            campaign = replace(
                campaign,
                calls={arm: found.calls[arm] for arm in campaign.arms},
                excluded={arm: found.excluded[arm] for arm in campaign.arms},
            )
        # Those at once have one line of progress, of the first.
        name = f"GPU {gpu} {'at once' if at_once else 'alone'}"
        named = Named(listener=listener, name=name, shows=not turn)
        runner, engine = make(replace(part, campaign=campaign), named)
        steps = stack.enter_context(closing(runner.steps(resumed.get(campaign.id, ()))))
        next(steps, None)
        turn.append((steps, engine))
        calibrated.setdefault(gpu, runner)
    return turns


def start_pool(threads: int) -> ThreadPoolExecutor:
    """A pool whose threads all run: one that an interrupt meets while it starts is known to nobody."""
    pool = ThreadPoolExecutor(max_workers=threads)
    ready = threading.Barrier(threads)
    try:
        wait([pool.submit(ready.wait) for _ in range(threads)])
    except BaseException:
        ready.abort()
        raise
    return pool


def step(turn: Turn, pool: ThreadPoolExecutor) -> None:
    """A block of every campaign of a turn at the same time, in a thread each where there are several.

    Trouble in one, or an interrupt here, stops them all; returns when all have come to rest.

    Raises:
        CrossoverError: the first trouble that one of them had.
    """
    if len(turn) == 1:
        next(turn[0][0], None)
        return
    begun: list[Future[int | None]] = []
    try:
        for steps, _ in turn:
            begun.append(pool.submit(next, steps, None))
        open_: Collection[Future[int | None]] = begun
        while open_:
            # An interrupt in the instant before this begins to wait does not end it.
            done, open_ = wait(open_, timeout=_TICK_S, return_when=FIRST_EXCEPTION)
            for one in done:
                one.result()
    except BaseException:
        # At once: an engine that hangs takes its time for each of them.
        with ThreadPoolExecutor(len(turn)) as halting:
            list(halting.map(lambda one: one[1].halt(), turn))
        wait(begun)
        raise
