"""Made-up scripts with known truth: what each part of a step takes, and what each change leaves of it.

A whole course is made in memory, round by round, with the decisions that a real one has.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import numpy as np

from suite import codec
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.why import Answer
from suite.analysis.why.answer import answer
from suite.analysis.why.decide import next_round
from suite.cells.cell import Cell
from suite.model import CellResult, Check, Document, container_seconds
from suite.model.why import (
    BASE,
    Inquiry,
    Round,
    RunNotes,
    Script,
    Try,
    Watched,
    list_runs,
)
from tests.synthetic import CREATED, make_campaign, make_document

WINDOW_S = 3.0

Noise = Callable[[np.random.Generator], Iterator[tuple[float, float]]]
"""By what a run's wall and CPU seconds are multiplied, run by run."""


def smooth(wall: float, cpu: float = 0.02) -> Noise:
    """Logarithms of both clocks are normal, with these standard deviations."""

    def draw(rng: np.random.Generator) -> Iterator[tuple[float, float]]:
        while True:
            yield math.exp(rng.normal(0, wall)), math.exp(rng.normal(0, cpu))

    return draw


def bursts(share: float = 0.3, most: float = 6.0, length: float = 3.0, cpu: float = 0.04) -> Noise:
    """A neighbour that comes and goes: for some ``length`` runs wall time is up to ``most`` times as long."""

    def draw(rng: np.random.Generator) -> Iterator[tuple[float, float]]:
        busy = False
        while True:
            busy = rng.random() < (1 - 1 / length if busy else share / (1 - share) / length)
            slow = rng.uniform(1.2, most) if busy else 1.0
            yield slow * math.exp(rng.normal(0, 0.03)), math.exp(rng.normal(0, cpu))

    return draw


def heavy(cpu: float = 0.05) -> Noise:
    """Wall time varies by three to ten times."""

    def draw(rng: np.random.Generator) -> Iterator[tuple[float, float]]:
        while True:
            slow = math.exp(abs(rng.standard_t(2)) * 0.5)
            yield min(slow, 10.0), math.exp(rng.normal(0, cpu))

    return draw


def spikes(share: float = 0.15, cpu: float = 0.03) -> Noise:
    """Every so often a run is hit alone."""

    def draw(rng: np.random.Generator) -> Iterator[tuple[float, float]]:
        while True:
            hit = rng.uniform(1.5, 4.0) if rng.random() < share else 1.0
            yield hit * math.exp(rng.normal(0, 0.03)), math.exp(rng.normal(0, cpu))

    return draw


QUIET, USUAL = smooth(0.01, 0.005), smooth(0.04, 0.03)


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A change, and the truth about it: what it ``leaves`` of a step's parts, by how much it moves the norms
    from the tenth step on (``printed``: the numbers that are printed at the end), and whether its runs
    ``fail`` or it never takes effect (``applied`` 0)."""

    change: Try
    leaves: Mapping[str, float] = field(default_factory=dict)
    norm: float = 0.0
    printed: float = 0.0
    fail: str = ""
    applied: int = 49


def plant(
    name: str,
    cause: str,
    kind: str = "fix",
    *,
    leaves: Mapping[str, float] | None = None,
    **fields: Any,
) -> Planted:
    """A planted change; ``fields`` are those of `Try` and of `Planted`."""
    own = {key: fields.pop(key) for key in ("norm", "printed", "fail", "applied") if key in fields}
    line = fields.pop("line", 30)
    change = Try(
        name=name,
        intervention=name.partition(":")[0],
        target=name.partition(":")[2],
        cause=cause,  # type: ignore[arg-type]
        kind=kind,  # type: ignore[arg-type]
        text=f"write {name}",
        line=line,
        **fields,
    )
    return Planted(change=change, leaves=leaves or {}, **own)


IDLE = (
    plant("prefetch:34", "input", waits=True, line=34),
    plant("python:30", "input", "ceiling"),
    plant("memory", "input", "ceiling", line=None, leaves={"input": 0.1}),
    plant("callback:51", "callback", line=51, leaves={"callback": 0.02}),
    plant("callbacks", "callback", "ceiling", line=None, leaves={"callback": 0.0}),
    plant("validation", "validation", "ceiling", line=60, leaves={"validation": 0.0}),
    plant("validate-rarely", "validation", line=60, leaves={"validation": 0.2}),
    plant("eager-off", "eager", line=44, training="rounding", leaves={"eager": 0.0}, norm=1e-6),
    plant("steps_per_execution", "overhead", line=44, leaves={"overhead": 0.1}),
    plant(
        "batch:8", "overhead", line=61, training="otherwise", scale=8.0, leaves={"overhead": 0.12}
    ),
    plant("jit", "overhead", line=44, training="rounding", late=True, norm=1e-5),
    plant("cache:30", "input", needs="3 MB of memory", leaves={"input": 0.02}),
)
"""Twelve changes such as apply to an ordinary script; each helps where its part takes time."""


@dataclass(frozen=True, kw_only=True)
class MadeUp:
    """A script: by arm the wall and CPU seconds of each part of a step, and the changes that apply.

    ``norms`` are whether two runs of it have equal norms (else they differ by so much); ``setup_s`` is its
    set-up, ``steps`` are in the window.
    """

    parts: Mapping[str, Mapping[str, tuple[float, float]]]
    tries: Mapping[str, Sequence[Planted]]
    noise: Noise = QUIET
    budget_s: float = 240.0
    setup_s: float = 2.0
    steps: int = 49
    norms: float = 0.0
    fails: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)


def make_script(step: float = 0.04, *, tries: Sequence[Planted] = IDLE, **fields: Any) -> MadeUp:
    """A script on a CPU; ``fields`` are parts, in seconds or (wall, CPU) seconds, and those of `MadeUp`."""
    own = {key: fields.pop(key) for key in list(fields) if key in MadeUp.__dataclass_fields__}
    parts = {"step": step, **fields}
    both = {name: of if isinstance(of, tuple) else (of, of) for name, of in parts.items()}
    steps = max(5, round(WINDOW_S / sum(wall for wall, _ in both.values())))
    return MadeUp(**{"parts": {"cpu": both}, "tries": {"cpu": tries}, "steps": steps, **own})


def make_inquiry(script: MadeUp, seed: int = 7) -> Inquiry:
    """The plan before its first round."""
    arms = list(script.parts)
    plan = make_campaign(arms=arms, cells=[], blocks=0, profile="why", seed=seed)
    first = Round(runs={arm: [BASE] for arm in arms})
    fields = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
    return Inquiry(
        **{
            **fields,
            "every_arm": [plan.arm(arm) for arm in arms],
            "budget_s": script.budget_s,
            "blocks": 1,
            "created": CREATED,
            "simulated": True,
            "rounds": [first],
            "cells": list_runs([first]),
        },
        script=Script(name="train.py", arguments=[], content="a" * 64, folder="b" * 64),
    )


def run_course(script: MadeUp, seed: int = 7) -> LoadedCampaign:
    """The whole course of a script: rounds are made until nothing is asked for, or the budget is used up."""
    rng, inquiry = np.random.default_rng(seed), make_inquiry(script, seed)
    noises = {arm: script.noise(rng) for arm in script.parts}
    loaded = LoadedCampaign(folder="made-up-why", campaign=inquiry, documents=[])
    spent_s = 0.0
    while True:
        block = len(inquiry.rounds)
        for arm in inquiry.rounds[-1].runs:
            document = _make_document(script, inquiry, arm, block, noises[arm])
            spent_s += container_seconds(document)
            documents = [*loaded.documents, document]
            order = sorted(documents, key=lambda d: inquiry.arms.index(d.invocation.arm))
            loaded = replace(loaded, documents=order)
        tries = {arm: [planted.change for planted in of] for arm, of in script.tries.items()}
        inquiry = replace(inquiry, tries=tries)
        loaded = replace(loaded, campaign=inquiry)
        following = next_round(loaded, script.budget_s - spent_s)
        if following is None:
            return loaded
        rounds = [*inquiry.rounds, following]
        assert len(rounds) < 30
        inquiry = replace(inquiry, rounds=rounds, blocks=len(rounds), cells=list_runs(rounds))
        loaded = replace(loaded, campaign=inquiry)


def ask(script: MadeUp, seed: int = 7) -> Answer:
    """The answer for a script."""
    return answer(run_course(script, seed))


def list_cases(loaded: LoadedCampaign, arm: str = "cpu") -> list[list[str]]:
    """What an arm ran, round by round."""
    assert isinstance(loaded.campaign, Inquiry)
    return [round_.runs.get(arm, []) for round_ in loaded.campaign.rounds]


def _make_document(
    script: MadeUp, inquiry: Inquiry, arm: str, block: int, noise: Iterator[tuple[float, float]]
) -> Document:
    document = make_document(replace(inquiry, cells=[]), arm, block)
    (container,) = document.invocation.containers
    instant = container.started + timedelta(seconds=4)
    facts = {**document.facts, **script.facts}
    cells = []
    for cell in inquiry.runs_of(arm, block):
        result, notes = _run(script, inquiry, arm, cell, next(noise))
        took = timedelta(seconds=sum(result.spent_s.values()))
        cells.append(replace(result, container=container.id, started=instant, ended=instant + took))
        instant += took
        facts[f"notes.{cell.id}"] = json.dumps(codec.plain(notes))
    ended = instant + timedelta(seconds=0.5)
    invocation = replace(
        document.invocation, ended=ended, containers=[replace(container, ended=ended)]
    )
    return replace(document, invocation=invocation, facts=facts, cells=cells)


def _run(
    script: MadeUp, inquiry: Inquiry, arm: str, cell: Cell, noise: tuple[float, float]
) -> tuple[CellResult, RunNotes]:
    by_name = {planted.change.name: planted for planted in script.tries[arm]}
    on = [by_name[name] for name in cell.case.split("+") if cell.case != BASE]
    number = int(cell.params["run"])
    draw = random.Random(f"{inquiry.seed} {number}")
    seconds, cpu_s = (
        sum(
            taken[clock] * math.prod(planted.leaves.get(part, 1.0) for planted in on)
            for part, taken in script.parts[arm].items()
        )
        * noise[clock]
        for clock in (0, 1)
    )
    fail = next((planted.fail for planted in on if planted.fail), script.fails)
    base = CellResult(
        id=cell.id,
        scenario=cell.scenario,
        case=cell.case,
        params=dict(cell.params),
        outcome="failed",
        reason=fail or None,
        work=cell.work,
        spent_s={"setup": script.setup_s},
    )
    if fail:
        return base, RunNotes(error=fail)
    moved = 1 + sum(planted.norm for planted in on) + draw.gauss(0, script.norms)
    printed = [0.693, 0.51, 0.42 * (1 + sum(planted.printed for planted in on)), seconds]
    watched = Watched(clock="fit", line=61, counts={"batch": 32.0})
    result = replace(
        base,
        outcome="measured",
        samples_s=[seconds],
        calls_per_sample=script.steps,
        first_call_s=1.5,
        warmup_status="window",
        check=Check(what="norms"),
        spent_s={"setup": script.setup_s, "first_call": 1.5, "measure": seconds * script.steps},
        evidence={
            "cpu_s": cpu_s,
            "setup_s": script.setup_s,
            "from_step": 49.0,
            "to_step": 49.0 + script.steps,
            "epoch_steps": 49.0,
            "applied": float(min([planted.applied for planted in on], default=0)),
            "ended": 0.0,
            "norm.3": 12.5,
            "norm.10": 12.25 * moved,
            "norm.20": 12.125 * moved,
        },
    )
    return result, RunNotes(
        printed=printed, watched=watched if number <= len(inquiry.arms) else None
    )
