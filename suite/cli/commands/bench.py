"""The commands bench and aa: a campaign, or a survey of several GPUs, anew or gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from suite.analysis.documents.read import is_survey, load_campaign, load_survey
from suite.cli.commands.surveys import check_survey, find_gpus, survey_anew, survey_resumed
from suite.cli.conduct import conclude, engine_alone, provide, resolve_again, run_campaign
from suite.cli.engines import check_custom, settle_custom, settle_gpu
from suite.cli.fleet.asked import demand_same_plan
from suite.cli.resume import demand_same_custom, settle
from suite.cli.settings import ALL_GPUS, Bounds, read_bounds, read_request, single_gpu
from suite.errors import UnsoundError, UsageError
from suite.host.campaign.arms import against_itself, resolve_arms
from suite.host.campaign.request import plan_campaign, resume_plan
from suite.host.campaign.store import Store
from suite.host.provision.images import CUSTOM
from suite.worker import scenarios


def run_bench(given: dict[str, Any], *, again: bool) -> int:
    """Runs a campaign anew or goes on with one; ``again``: one arm against itself.

    Returns:
        the exit status.
    """
    bounds = read_bounds(given)
    resume: Path | None = given["resume"]
    if resume is None:
        return _bench_anew(given, bounds, again=again)
    if given["results"] is not None:
        raise UsageError(
            f"RESUME goes on in {resume}; RESULTS would name another folder", "leave RESULTS out"
        )
    return _bench_resumed(resume, given)


def _bench_anew(given: dict[str, Any], bounds: Bounds, *, again: bool) -> int:
    request = read_request(given, again=again)
    check_custom(given, request.arms)
    if again and request.gpu == ALL_GPUS:
        raise UsageError(
            "GPU=all runs a campaign on every GPU, and aa compares one arm with itself",
            "leave GPU=all out",
        )
    check_survey(request.gpu, request.arms)
    with engine_alone(given, bounds) as here:
        engine, say = here.engine, here.terminal.say
        gpus = find_gpus(engine) if request.gpu == ALL_GPUS else {}
        if len(gpus) > 1:
            settle_gpu(given, engine, say)
            given = settle_custom(given, engine, [CUSTOM], say)
            store = survey_anew(given, read_request(given, again=again), gpus, here)
        else:
            if gpus:
                say("this machine shows one GPU, so that GPU=all is an ordinary campaign")
                # So that it goes on, and is repeated, as the campaign of that GPU.
                given = {**given, "gpu": next(iter(gpus))}
            arms = resolve_arms(engine, request.arms, given["gpu"])
            given = given if arms.gpu is None else settle_gpu(given, engine, say)
            arms = against_itself(arms) if again else arms
            given = settle_custom(given, engine, [arm.image for arm in arms.run], say)
            drawn = plan_campaign(read_request(given, again=again), arms, scenarios.cells())
            for arm, why in drawn.not_run.items():
                say(f"the arm {arm} is left out: {why}")
                if bounds.stop_if_unsound:
                    raise UnsoundError(
                        f"the machine is unsound: {why}",
                        "another one, or ARMS=cpu where no GPU is meant",
                    )
            images = provide(engine, arms, say)
            store = Store.create(here.results, drawn.id)
            run_campaign(here, store, drawn, arms, images)
    return conclude(store)


def _bench_resumed(folder: Path, given: dict[str, Any]) -> int:
    if is_survey(folder):
        demand_same_plan(folder, given, load_survey(folder))
        return conclude(survey_resumed(folder, given))
    loaded = load_campaign(folder)
    demand_same_plan(folder, given, loaded.campaign)
    if loaded.campaign.survey is not None:
        raise UsageError(
            f"{folder} is part of a survey of several GPUs, which resumes as a whole",
            f"RESUME={folder.parent / loaded.campaign.survey}",
        )
    given = settle(given, loaded.campaign, loaded.documents)
    given["results"] = folder.resolve().parent
    drawn = resume_plan(loaded.campaign, blocks=given["blocks"])
    store = Store(folder)
    with engine_alone(given, read_bounds(given)) as here:
        engine, say = here.engine, here.terminal.say
        arms = resolve_again(engine, drawn, single_gpu(given["gpu"] or "0"))
        demand_same_custom(given, engine, [arm.image for arm in arms.run], drawn, say)
        images = provide(engine, arms, say)
        resumed = loaded.every_document
        run_campaign(here, store, drawn, arms, images, resumed=resumed)
    return conclude(store)
