"""A survey of a machine's GPUs (GPU=all): from the options to its campaigns and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from suite.analysis.documents.read import load_campaign, load_survey
from suite.analysis.several.places import drop_unpaired
from suite.cli.conduct import (
    Alone,
    engine_alone,
    make_runner,
    provide,
    reporting,
    resolve_again,
    write_reports,
)
from suite.cli.engines import connect
from suite.cli.resume import demand_same_custom, settle
from suite.cli.settings import ALL_GPUS, read_bounds, single_gpu
from suite.errors import DELEGATE, EngineError, GpuError, UsageError
from suite.host.campaign.arms import AUTO, known_arms, resolve_arms
from suite.host.campaign.campaign_runner import CampaignRunner
from suite.host.campaign.listener import Listener
from suite.host.campaign.request import Request, resume_plan
from suite.host.campaign.store import Store
from suite.host.engine import Card, Engine
from suite.host.gpu.choice import name_gpus
from suite.host.machine.machine import find_cores, parse_cpus
from suite.host.provision.images import CUSTOM
from suite.host.survey.halting import HaltingEngine
from suite.host.survey.plan import Part, plan_survey, share_cpus
from suite.host.survey.rounds import run_survey
from suite.model import Document, Survey
from suite.worker import scenarios


def check_survey(gpu: str | None, arms: Sequence[str]) -> None:
    """Whether an arm is asked for that a survey could be about.

    Raises:
        UsageError: every GPU is asked for, and no arm that has one.
    """
    known = known_arms()
    if gpu == ALL_GPUS and AUTO not in arms and not any(known[name].gpu for name in arms):
        raise UsageError("GPU=all, but no requested arm has a GPU", "leave GPU out")


def find_gpus(engine: Engine) -> dict[str, Card]:
    """The GPUs of the engine's machine by the names that requests take, at least one.

    Raises:
        GpuError: there is none, or nothing lists them.
    """
    gpus = name_gpus(engine.list_gpus())
    if not gpus:
        engine.find_gpu(None)
        raise GpuError(
            "GPU=all: the engine gives a GPU, but nothing here lists the GPUs",
            "`nvidia-smi -L` must work on the engine's machine; or name one GPU",
        )
    return gpus


def survey_anew(
    given: dict[str, Any], request: Request, gpus: Mapping[str, Card], here: Alone
) -> Store:
    """Runs a survey of these GPUs.

    Returns:
        its folder.

    Raises:
        CrossoverError: it can't be had, or broke off; what was measured by then has its report.
    """
    engine = here.engine
    if not engine.binds_cpus:
        raise EngineError(
            "GPU=all gives each GPU CPUs of its own while all are at work, and this engine can't bind "
            "a container to CPUs (no cpuset control group, as in rootless mode)",
            f"name one GPU; or {DELEGATE}",
        )
    allowed = here.bounds.cpus or engine.cpus()
    near = {
        name: tuple(cpu for cpu in card.cpus if cpu in allowed) if card.cpus else None
        for name, card in gpus.items()
    }
    # Elsewhere nothing tells which CPUs are threads of one core.
    is_here = engine.is_here is True
    cores = find_cores(allowed) if is_here else [(cpu,) for cpu in allowed]
    shares = share_cpus(cores, near)
    arms = {name: resolve_arms(engine, request.arms, name) for name in gpus}
    survey, parts = plan_survey(
        request, arms, shares, scenarios.cells(), whole_cores=True if is_here else None
    )
    provide(engine, arms[next(iter(gpus))], here.terminal.say)
    store = Store.create(here.results, survey.id)
    for part in parts:
        Store.create(here.results, part.campaign.id)
    _conduct(given, here, store, survey, parts, resumed={})
    return store


def survey_resumed(folder: Path, given: dict[str, Any]) -> Store:
    """Goes on with the survey in a folder.

    A block at once that some GPU did not finish is run again by all: alone it would meet no neighbours.

    Raises:
        UsageError: it was begun by another suite, or with other options.
        CrossoverError: as `survey_anew`.
    """
    survey = load_survey(folder)
    given = settle(given, survey)
    store = Store(folder)
    given["results"] = results = store.folder.parent
    with engine_alone(given, read_bounds(given)) as here:
        demand_same_custom(given, here.engine, [CUSTOM], survey, here.terminal.say)
        loaded = {one.campaign: load_campaign(results / one.campaign) for one in survey.members}
        parts: list[Part] = []
        for member in survey.members:
            # Every campaign has the survey's rounds, also where a command that was to add some was cut off.
            rounds = given["blocks"] or survey.rounds
            drawn = resume_plan(loaded[member.campaign].campaign, blocks=rounds)
            arms = resolve_again(here.engine, drawn, single_gpu(member.gpu))
            parts.append(Part(member=member, campaign=drawn, arms=arms))
        provide(here.engine, parts[0].arms, here.terminal.say)
        kept, _ = drop_unpaired(survey, loaded)
        _conduct(
            given,
            here,
            store,
            replace(survey, rounds=parts[0].campaign.blocks, stopped=None),
            parts,
            resumed={name: one.every_document for name, one in kept.items()},
        )
    return store


def _conduct(
    given: dict[str, Any],
    here: Alone,
    store: Store,
    survey: Survey,
    parts: Sequence[Part],
    *,
    resumed: Mapping[str, Sequence[Document]],
) -> None:
    """Runs the survey; however it ends, every campaign of it gets its report."""
    stores = {
        # What an earlier run of a block at once left met other neighbours than the block's new run.
        part.campaign.id: Store(
            store.folder.parent / part.campaign.id, keeps_old=not part.member.at_once
        )
        for part in parts
    }

    def make(part: Part, listener: Listener) -> tuple[CampaignRunner, HaltingEngine]:
        # Connections of its own; what there is to say and to sweep, the survey has.
        engine = HaltingEngine(connect(given))
        share = (
            parse_cpus(survey.cpus[part.member.gpu]) if part.member.at_once else here.bounds.cpus
        )
        runner = make_runner(
            cast("Engine", engine),
            stores[part.campaign.id],
            part.campaign,
            part.arms,
            provide(cast("Engine", engine), part.arms, lambda _: None),
            bounds=replace(here.bounds, cpus=share, budget_s=None),
            listener=listener,
        )
        return runner, engine

    def write() -> None:
        for one in stores.values():
            write_reports(one, pictures=False)
        write_reports(store)

    with reporting(store.folder, write, here.terminal.say):
        run_survey(
            survey,
            parts,
            resumed,
            store=store,
            make=make,
            report=lambda: write_reports(store),
            budget_s=here.bounds.budget_s,
            listener=here.terminal,
        )
    for one in stores.values():
        write_reports(one)
