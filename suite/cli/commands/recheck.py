"""RECHECK: five cells of a finished campaign, measured again, and whether they reproduce."""

from __future__ import annotations

from suite.analysis.analyse import analyse, analyse_folder, compare_again
from suite.analysis.documents.read import load_campaign
from suite.analysis.several.recheck import draw_cells, hash_samples
from suite.cli.receipts.archive import unpacked
from suite.cli.run_campaign import shown, start_campaign, write_reports
from suite.cli.runs import find_run
from suite.cli.terminal import answer_kept
from suite.errors import UsageError
from suite.host.campaign.options import Options
from suite.host.campaign.request import RECHECK_BLOCKS, plan_recheck
from suite.host.gpu.choice import ALL_GPUS
from suite.model import name_kind
from suite.report.pages.comparison import compose_versus
from suite.report.render.forms import keep_arms
from suite.report.render.markdown import render_page
from suite.worker import scenarios

_CHOSEN = ("resume", "profile", "versions", "only", "seed", "stop_if", "price", "sustain")
"""Options that the campaign which is measured again decides, or that make no sense for it."""


def run_recheck(named: str, options: Options) -> int:
    """Measures some cells of a campaign again, in a folder of its own, and says which reproduce.

    A hash over the campaign's samples draws the cells.

    Returns:
        the exit status: 0 where every cell reproduces.
    """
    given = [name.upper() for name in _CHOSEN if name in options.words]
    given += ["GPU=all"] if options.gpu == ALL_GPUS else []
    if given:
        raise UsageError(
            f"RECHECK measures cells as {named} did, on one GPU; {', '.join(given)} "
            "can't be combined with it",
            f"leave {', '.join(given)} out",
        )
    with unpacked(find_run("RECHECK", named)) as folder:
        loaded = load_campaign(folder)
    campaign, before = loaded.campaign, analyse(loaded)
    compared = [campaign.arm(name) for name in campaign.arms]
    plain = [arm.name for arm in compared if arm.control != "again" and arm.device is None]
    named_arms = "arms" in options.words
    wanted = options.arms if named_arms else tuple(plain)
    measured = {name_kind(arm) for arm in compared}
    if others := [name for name in wanted if name not in measured]:
        raise UsageError(
            f"ARMS={' '.join(wanted)!r}: {', '.join(others)} is not among the arms that "
            f"{campaign.id} measured",
            f"name some of these: ARMS={' '.join(plain)!r}" if plain else "name another campaign",
        )
    if set(wanted) - set(plain) or (not named_arms and any(arm.device for arm in compared)):
        raise UsageError(
            f"{campaign.id} measured {', '.join(campaign.arms)}; RECHECK measures on one GPU",
            f"name some of these arms: ARMS={' '.join(plain)!r}"
            if plain
            else "name another campaign",
        )
    if len(set(wanted)) < len(wanted):
        raise UsageError(
            f"ARMS={' '.join(wanted)!r} names an arm twice, and RECHECK gives each a twin by itself",
            "name each arm once",
        )
    seed = hash_samples(loaded)
    options = options.give(
        profile=campaign.profile,
        arms=" ".join(wanted),
        only=" ".join(draw_cells(before, wanted, seed)),
        blocks=str(options.blocks or RECHECK_BLOCKS),
    )
    store = start_campaign(
        options, lambda settled, arms: plan_recheck(settled, arms, scenarios.cells(), campaign)
    )
    write_reports(store)
    now, where = analyse_folder(store.folder), shown(store.folder)
    versus = compare_again(before, now, seed)
    with keep_arms([*before.arms, *now.arms]):
        page = render_page(compose_versus(versus, [before, now]))
    answer_kept(f"{page}\n{where}", where)
    return 0 if versus.holds else 1
