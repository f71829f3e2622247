"""The command bench: a campaign, anew or gone on with."""

from __future__ import annotations

from pathlib import Path

from suite.analysis.documents.read import load_campaign
from suite.cli.engines import check_custom, settle_custom, settle_gpu
from suite.cli.fleet.asked import demand_same_plan
from suite.cli.resume import demand_same_custom, settle
from suite.cli.run_campaign import conclude, engine_alone, provide, resolve_again, run_campaign
from suite.errors import UnsoundError, UsageError
from suite.host.campaign.arms import find_gpus, resolve_arms
from suite.host.campaign.options import Options
from suite.host.campaign.request import plan_campaign, resume_plan
from suite.host.campaign.store import Store
from suite.host.gpu.choice import ALL_GPUS
from suite.host.machine.identity import read_salt
from suite.worker import scenarios


def run_bench(options: Options) -> int:
    """Runs a campaign anew or goes on with one.

    Returns:
        the exit status.
    """
    if options.resume is None:
        return _bench_anew(options)
    if options.results is not None:
        raise UsageError(
            f"RESUME goes on in {options.resume}; RESULTS would name another folder",
            "leave RESULTS out",
        )
    return _bench_resumed(options.resume, options)


def _bench_anew(options: Options) -> int:
    check_custom(options, options.arms)
    read_salt()  # an unusable secret is refused before anything begins
    with engine_alone(options) as here:
        engine, say = here.engine, here.terminal.say
        if options.gpu == ALL_GPUS and len(gpus := find_gpus(engine)) == 1:
            say("this machine shows one GPU, so that GPU=all is an ordinary campaign")
            # So that it goes on, and is repeated, as the campaign of that GPU.
            options = options.give(gpu=next(iter(gpus)))
        arms = resolve_arms(engine, options.arms, options.gpu)
        options = settle_gpu(options, engine, say) if arms.gpus else options
        options = settle_custom(options, engine, [arm.image for arm in arms.run], say)
        drawn = plan_campaign(options, arms, scenarios.cells())
        for arm, why in drawn.not_run.items():
            say(f"the arm {arm} is left out: {why}")
            if options.stop_if_unsound:
                raise UnsoundError(
                    f"the machine is unsound: {why}",
                    "another one, or ARMS=cpu where no GPU is meant",
                )
        images = provide(engine, arms, say)
        store = Store.create(here.results, drawn.id)
        run_campaign(here, store, drawn, arms, images)
    return conclude(store)


def _bench_resumed(folder: Path, options: Options) -> int:
    loaded = load_campaign(folder)
    demand_same_plan(folder, options.words, loaded.campaign)
    options = settle(options, loaded.campaign, loaded.documents)
    drawn = resume_plan(loaded.campaign, blocks=options.blocks)
    store = Store(folder)
    with engine_alone(options.give(results=str(folder.resolve().parent))) as here:
        engine, say = here.engine, here.terminal.say
        arms = resolve_again(engine, drawn, options.gpu or "0")
        demand_same_custom(options, engine, [arm.image for arm in arms.run], drawn, say)
        images = provide(engine, arms, say)
        resumed = loaded.every_document
        run_campaign(here, store, drawn, arms, images, resumed=resumed)
    return conclude(store)
