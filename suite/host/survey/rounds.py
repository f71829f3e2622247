"""A survey of a machine's GPUs: the same campaign on each in turn, and on all at once.

Round by round, so that what drifts in the machine meets all of them alike.  Decides as values, then
acts through conductors, one for each campaign; prints nothing.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from threading import Lock
from time import monotonic
from typing import Protocol

from suite import wire
from suite.errors import UsageError
from suite.host.campaign import plan
from suite.host.campaign.arms import Arms
from suite.host.campaign.conductor import Conductor, Listener, Position, word_cost, word_minutes
from suite.host.campaign.outcomes import is_complete
from suite.host.campaign.request import Ask, check_label, draw_seed, draw_up, machine_label
from suite.host.campaign.store import campaign_name
from suite.host.machine.cpus import write_cpus
from suite.host.survey.halting import Halted, HaltingEngine
from suite.model import Campaign, Cell, Document, Survey, SurveyMember

AT_ONCE = "all"
"""The turn of all GPUs at once, in a round's order."""


def share_cpus(
    cores: Sequence[tuple[int, ...]], near: Mapping[str, tuple[int, ...] | None]
) -> dict[str, tuple[int, ...]]:
    """CPUs for each GPU, none for two of them, the same number of whole cores for all.

    Args:
        cores: the CPUs that may be used, by core.
        near: by GPU, the CPUs on its side of the machine; None: not known.  They are kept to where
            every side has cores for its GPUs.

    Raises:
        UsageError: there are fewer cores than GPUs.
    """
    if len(cores) < len(near):
        raise UsageError(
            f"GPU=all has {len(near)} GPUs at work at once, and there are {len(cores)} CPU cores for them",
            "give it more CPUS=, or name one GPU",
        )
    sides: dict[tuple[int, ...], list[str]] = {}
    for gpu, cpus in near.items():
        sides.setdefault(cpus or (), []).append(gpu)
    by_side = {side: [core for core in cores if set(core) <= set(side)] for side in sides}
    least = min(len(by_side[side]) // len(gpus) for side, gpus in sides.items())
    taken = {core for side in sides for core in by_side[side]}
    # A side that overlaps with another, is unknown or has too few: dealt out without regard to it.
    if () in sides or least == 0 or sum(map(len, by_side.values())) > len(taken):
        sides, by_side = {(): list(near)}, {(): list(cores)}
        least = len(cores) // len(near)
    return {
        gpu: tuple(sorted(cpu for core in dealt for cpu in core))
        for side, gpus in sides.items()
        for place, gpu in enumerate(gpus)
        for dealt in [by_side[side][place * least : (place + 1) * least]]
    }


@dataclass(frozen=True, kw_only=True)
class Part:
    """One campaign of a survey: which GPU, whether all are at work at once, its plan and arms, and
    the CPUs that its workers may use (None: all that may be used)."""

    gpu: str
    at_once: bool
    campaign: Campaign
    arms: Arms
    cpus: tuple[int, ...] | None

    @property
    def name(self) -> str:
        """For people: ``GPU 3``."""
        return f"GPU {self.gpu}"


def draw_up_survey(
    ask: Ask,
    arms: Mapping[str, Arms],
    shares: Mapping[str, tuple[int, ...]],
    cells: Sequence[Cell],
    *,
    whole_cores: bool | None = True,
) -> tuple[Survey, list[Part]]:
    """The plan of a survey and of its campaigns, first those of one GPU alone.

    Only the first GPU's campaign has the arms that need none: the processor is the same.  No
    campaign looks whether to go on, since all need the same rounds.  At once a campaign has no price,
    which is that of the machine and not of one of its GPUs.

    Args:
        ask: what is asked of every campaign.
        arms: the arms by GPU.
        shares: the CPUs of each GPU while all are at work.
        cells: every cell that there is.
        whole_cores: whether no two shares hold threads of the same core; None: not known.

    Raises:
        UsageError: the ask does not fit together.
    """
    if ask.label is not None:
        check_label(ask.label)
    created = datetime.now(timezone.utc).replace(microsecond=0)
    label = machine_label() if ask.label is None else ask.label
    name = campaign_name(created, f"{label}-all-gpus", ask.profile)
    seed = draw_seed(ask.seed)
    first = next(iter(arms))
    parts: list[Part] = []
    alone: dict[str, str] = {}
    for at_once in (False, True):
        for gpu, found in arms.items():
            own = found if gpu == first and not at_once else _only_gpu(found)
            text = f"{label}-gpu{gpu.replace(':', '-')}" + ("-at-once" if at_once else "")
            price = None if at_once else ask.price
            currency = None if at_once else ask.price_currency
            of_gpu = replace(
                ask, gpu=gpu, seed=seed, label=None, price=price, price_currency=currency
            )
            campaign = draw_up(of_gpu, own, cells)
            campaign = replace(
                campaign,
                # Not held to the length of a label that is asked for, since it is made of one.
                id=campaign_name(created, text, ask.profile),
                label=text,
                most_blocks=campaign.blocks,
                survey=name,
                at_once=len(arms) if at_once else 1,
                settings={**ask.settings, "gpu": gpu},
            )
            if at_once:
                campaign = replace(campaign, calibrated_by=alone[gpu])
            else:
                alone[gpu] = campaign.id
            guess = plan.guess_campaign_s(campaign)
            campaign = replace(campaign, prediction=replace(campaign.prediction, before_s=guess))
            cpus = shares[gpu] if at_once else None
            parts.append(Part(gpu=gpu, at_once=at_once, campaign=campaign, arms=own, cpus=cpus))
    one = parts[0].campaign
    survey = Survey(
        schema=wire.SCHEMA,
        id=name,
        created=created,
        profile=ask.profile,
        seed=seed,
        label=ask.label,
        rounds=one.blocks,
        gpus=list(arms),
        cpus={gpu: write_cpus(share) for gpu, share in shares.items()},
        members=[
            SurveyMember(gpu=part.gpu, at_once=part.at_once, campaign=part.campaign.id)
            for part in parts
        ],
        suite=one.suite,
        whole_cores=whole_cores,
        command=f"{ask.command} SEED={seed}",
        settings=dict(ask.settings),
    )
    return survey, parts


def _only_gpu(arms: Arms) -> Arms:
    run = tuple(arm for arm in arms.run if arm.gpu)
    return Arms(run=run, gpu={arm.name: arms.gpu[arm.name] for arm in run}, not_run={})


def order_turns(survey: Survey, number: int) -> list[str]:
    """The turns of a round in their random order from the survey's seed: each GPU, and `AT_ONCE`."""
    turns = [*survey.gpus, AT_ONCE]
    random.Random(f"{survey.seed}/survey/{number}").shuffle(turns)
    return turns


def keep_whole_rounds(
    parts: Sequence[Part], documents: Mapping[str, Sequence[Document]]
) -> dict[str, list[Document]]:
    """What of the documents, by campaign, a survey that goes on can keep.

    A block of all GPUs at once counts where every GPU has it complete: one that is run again
    without the others would meet no neighbours.
    """
    whole = set.intersection(
        *(
            _complete_blocks(part.campaign, documents[part.campaign.id])
            for part in parts
            if part.at_once
        )
    )
    return {
        part.campaign.id: [
            one
            for one in documents[part.campaign.id]
            if not part.at_once or one.invocation.block in whole
        ]
        for part in parts
    }


def _complete_blocks(campaign: Campaign, documents: Sequence[Document]) -> set[int]:
    """The blocks in which every arm, controls among them, has had its turn."""
    arms = [*campaign.arms, *plan.control_arms(campaign)]
    had = {
        (one.invocation.arm, one.invocation.block)
        for one in documents
        if is_complete(one, plan.cells_of(campaign, one.invocation.arm))
    }
    return {block for _, block in had if all((arm, block) in had for arm in arms)}


class Named:
    """A listener (see ``campaign.conductor.Listener``) that says which GPU a line is about.

    ``lock`` is shared by all that speak to the same listener from several threads; one that is not
    ``shows`` says nothing of its position.
    """

    def __init__(self, listener: Listener, name: str, lock: Lock, *, shows: bool = True) -> None:
        self._listener = listener
        self._name = name
        self._lock = lock
        self._shows = shows

    def say(self, line: str) -> None:
        """See ``campaign.conductor.Listener``."""
        with self._lock:
            self._listener.say(f"{self._name}: {line}")

    def show(self, position: Position) -> None:
        """See ``campaign.conductor.Listener``."""
        if self._shows:
            with self._lock:
                self._listener.show(replace(position, arm=f"{self._name} {position.arm}"))


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
    """Runs a survey that has been drawn up, or the rest of one."""

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

    def run(self, kept: Mapping[str, Sequence[Document]]) -> Survey:
        """Runs every round; ``kept`` are the documents that there are already, by campaign.

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
                    alone[part.gpu] = self._begin(stack, conductor, part, kept)
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
                    at_once.append((self._begin(stack, conductor, part, kept), engine))
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
        kept: Mapping[str, Sequence[Document]],
    ) -> Generator[int, None, None]:
        """A campaign up to its first block."""
        steps = stack.enter_context(closing(conductor.steps(kept.get(part.campaign.id, ()))))
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
