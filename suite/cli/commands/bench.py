"""The command bench: a campaign, anew or gone on with."""

from __future__ import annotations

from pathlib import Path

from suite.analysis.documents.read import load_campaign
from suite.cli.fleet.asked import demand_same_plan
from suite.cli.keep_tools import read_named
from suite.cli.resume import demand_same_custom, settle
from suite.cli.run_campaign import (
    conclude,
    engine_alone,
    provide,
    resolve_again,
    run_campaign,
    start_campaign,
)
from suite.errors import UsageError
from suite.host.campaign.options import Options
from suite.host.campaign.request import plan_campaign, resume_plan
from suite.host.campaign.store import Store
from suite.model.why import Inquiry
from suite.worker import scenarios


def run_bench(options: Options) -> int:
    """Runs a campaign anew or goes on with one.

    Returns:
        the exit status.
    """
    if options.resume is not None:
        return _resume(options.resume, options)
    return conclude(
        start_campaign(
            options, lambda settled, arms: plan_campaign(settled, arms, scenarios.cells())
        )
    )


def _resume(folder: Path, options: Options) -> int:
    if options.results is not None:
        raise UsageError(
            f"RESUME goes on in {folder}; RESULTS would name another folder", "leave RESULTS out"
        )
    loaded = load_campaign(folder)
    if isinstance(loaded.campaign, Inquiry):
        raise UsageError(
            f"{folder} is of `make why`, which asks anew each time and is not resumed",
            f"`{loaded.campaign.command}`",
        )
    demand_same_plan(folder, options.words, loaded.campaign)
    options = settle(options, loaded.campaign, loaded.documents)
    read_named(options.evidence)
    drawn = resume_plan(loaded.campaign, loaded.every_document, blocks=options.blocks)
    store = Store(folder)
    with engine_alone(options.give(results=str(folder.resolve().parent))) as here:
        engine, say = here.engine, here.terminal.say
        arms = resolve_again(engine, drawn, options.gpu or "0")
        demand_same_custom(options, engine, [arm.image for arm in arms.run], drawn, say)
        images = provide(engine, arms.run, say)
        run_campaign(here, store, drawn, arms, images, resumed=loaded.every_document)
    return conclude(store)
