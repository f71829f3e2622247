"""The command recheck: some cells of a finished campaign, measured again, and whether they reproduce."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from suite.analysis.analyse import analyse, analyse_folder
from suite.analysis.documents.read import load_campaign
from suite.analysis.several.recheck import draw_cells, hash_samples, judge_again
from suite.cli.conduct import engine_alone, provide, run_campaign, shown, write_reports
from suite.cli.engines import check_custom, settle_custom, settle_gpu
from suite.cli.options import CAMPAIGN, add_options, engine_options
from suite.cli.receipts.archive import unpacked
from suite.cli.runs import run_argument
from suite.cli.terminal import answer_kept
from suite.errors import UsageError
from suite.host.campaign.arms import ALL_GPUS, resolve_arms
from suite.host.campaign.options import Options
from suite.host.campaign.request import RECHECK_BLOCKS, plan_recheck
from suite.host.campaign.store import Store
from suite.report.pages.recheck import compose_recheck
from suite.report.render.markdown import render_page
from suite.worker import scenarios

_OF_THE_PLAN = ("resume", "only", "seed", "price", "stop_if")
"""Options of a campaign that this command does not have, beside the profile."""

_OPTIONS = {
    name: about for name, about in CAMPAIGN.items() if name not in {"profile", *_OF_THE_PLAN}
}


RECHECKED = """\b
Exit status: 0 every cell reproduces; 1 one does not, or has no number now; 2 usage;
3 no engine, or it refused; 4 a GPU is needed and not available; 5 a document can't be
read; 6 another campaign is running here; 130 interrupted (what was measured is kept)."""


@click.command(epilog=RECHECKED)
@run_argument(bundles=True)
@click.option(
    "--n", "number", type=click.IntRange(1), default=5, show_default=True, help="how many cells"
)
@add_options(_OPTIONS)
@engine_options
def recheck(run: Path, number: int, **given: Any) -> int:
    """Measure some cells of the campaign folder or bundle RUN again, and say which reproduce.

    A hash over RUN's samples draws them. They get a folder of their own in results.
    """
    options = Options.parse(given)
    if options.gpu == ALL_GPUS:
        raise UsageError("GPU=all is for `make bench`", "name one GPU: GPU=1")
    with unpacked(run) as folder:
        loaded = load_campaign(folder)
    campaign, before = loaded.campaign, analyse(loaded)
    compared = map(campaign.arm, campaign.arms)
    plain = [arm.name for arm in compared if arm.control != "again" and arm.device is None]
    wanted = options.arms if "arms" in options.words else tuple(plain)
    if not wanted or len(set(wanted)) < len(wanted) or set(wanted) - set(plain):
        raise UsageError(
            f"ARMS={' '.join(wanted)!r}: {campaign.id} has {', '.join(plain) or 'several GPUs'}",
            "name some of these; what was measured on one of several GPUs can't be measured again",
        )
    seed = hash_samples(loaded)
    cells = draw_cells(before, wanted, number, seed)
    options = options.give(
        profile=campaign.profile,
        arms=" ".join(wanted),
        only=" ".join(cells),
        blocks=str(options.blocks or RECHECK_BLOCKS),
    )
    check_custom(options, wanted)
    with engine_alone(options) as here:
        engine, say = here.engine, here.terminal.say
        arms = resolve_arms(engine, wanted, options.gpu)
        options = settle_gpu(options, engine, say) if arms.gpus else options
        options = settle_custom(options, engine, [arm.image for arm in arms.run], say)
        drawn = plan_recheck(options, arms, scenarios.cells(), campaign)
        images = provide(engine, arms, say)
        store = Store.create(here.results, drawn.id)
        run_campaign(here, store, drawn, arms, images)
    write_reports(store)
    now, where = analyse_folder(store.folder), shown(store.folder)
    found = judge_again(before, now, seed)
    answer_kept(f"{render_page(compose_recheck(found, before, now))}\n{where}", where)
    return 0 if found.reproduces else 1
