"""The plan that comes of what a person asks."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, TypeVar

from suite import __version__, codec
from suite.cells.cell import Cell
from suite.cells.traits import ProfileName
from suite.errors import UsageError
from suite.fingerprint import SUITE, suite_content
from suite.host.campaign import durations, plan
from suite.host.campaign.arms import Arms
from suite.host.campaign.options import Options
from suite.host.campaign.store import campaign_name
from suite.host.machine.identity import hash_machine
from suite.input_limits import LONGEST_LABEL
from suite.model import Campaign, Document, Prediction, SuiteIdentity, Sustained

T = TypeVar("T")


def plan_campaign(
    options: Options, arms: Arms, cells: Sequence[Cell], *, suite: SuiteIdentity | None = None
) -> Campaign:
    """The plan of a new campaign; ``suite`` is the one that runs it, looked up where none is given.

    Raises:
        UsageError: the options do not fit together.
    """
    profile = plan.PROFILES[options.profile]
    asked = plan.choose_cells(
        *(cells, options.profile, arms.run, options.only),
        cpus=arms.cpus,
        sustain=options.sustain_s is not None,
    )
    kept = [cell for cell in asked if cell.role == "sustained"]
    chosen = [cell for cell in asked if cell not in kept]
    for arm in arms.run:
        if not any(not cell.by_host and plan.means_something(cell, arm) for cell in asked):
            raise UsageError(
                f"no cell that was asked for can be measured on the arm {arm.name}",
                "`make list` shows which cells there are",
            )
    controls = plan.choose_controls(chosen, options.profile)
    begun = begin_plan(options, arms, options.profile, suite)
    campaign = Campaign(
        **begun,
        # What is kept going needs no block, and a plan has one at least.
        blocks=options.blocks or (profile.blocks if chosen else 1),
        most_blocks=profile.most_blocks if chosen and not options.blocks else None,
        cells=chosen,
        controls=controls,
        every_arm=plan.add_controls(arms.run, controls),
        prediction=Prediction(before_s=0.0),
        warmup_s=profile.warmup_s,
        measure_s=profile.measure_s,
        budget_s=profile.budget_s,
        sustained=Sustained(seconds=options.sustain_s or plan.SUSTAIN_S, cells=kept)
        if kept
        else None,
        calibrated_by=begun["id"],
    )
    return durations.predict_before(campaign)


def begin_plan(
    options: Options, arms: Arms, profile: ProfileName, suite: SuiteIdentity | None = None
) -> dict[str, Any]:
    """What plans of every kind begin with, by field.

    Raises:
        UsageError: the label can't be part of a folder's name.
    """
    created = datetime.now(timezone.utc).replace(microsecond=0)
    seed = options.seed if options.seed is not None else secrets.randbelow(2**31)
    return {
        "schema": codec.SCHEMA,
        "id": campaign_name(created, choose_label(options.label), profile),
        "created": created,
        "profile": profile,
        "seed": seed,
        "label": options.label,
        "arms": [arm.name for arm in arms.run],
        "suite": suite or identify_suite(),
        "not_run": dict(arms.not_run),
        "command": f"{options.format_command()} SEED={seed}",
        "settings": options.list_settings(),
        "price": options.price,
        "price_currency": options.currency,
    }


RECHECK_BLOCKS = 5
"""As a standard campaign has: enough for an interval, also against a campaign of one block."""


def plan_recheck(options: Options, arms: Arms, cells: Sequence[Cell], before: Campaign) -> Campaign:
    """The plan that measures the cells of ``options.only`` again as ``before`` measured them: with its
    profile and its K, and with a twin of each arm, so that the noise of this hour is known.

    Raises:
        UsageError: this suite is not the one that measured them, or the options do not fit together.
    """
    suite = identify_suite()
    _demand_same_suite(before, suite.content)
    campaign = plan_campaign(options, arms, cells, suite=suite)
    chosen = [cell.id for cell in campaign.cells]
    twins = [arm for arm in plan.add_controls(arms.run, chosen) if arm.control != "hidden"]
    campaign = replace(
        campaign,
        controls=chosen,
        every_arm=list(dict.fromkeys([*arms.run, *twins])),
        calls=_choose(before.calls, campaign.arms, chosen),
        slow=_choose(before.slow, campaign.arms, chosen),
        calibrated_by=before.id,
        rechecks=before.id,
    )
    return durations.predict_before(campaign)


def _choose(
    by_arm: Mapping[str, Mapping[str, T]], arms: Iterable[str], cells: Container[str]
) -> dict[str, dict[str, T]]:
    """What a first block found of these arms and cells."""
    return {
        arm: {name: found for name, found in by_arm.get(arm, {}).items() if name in cells}
        for arm in arms
    }


def _demand_same_suite(campaign: Campaign, content: str) -> None:
    if campaign.suite.content != content:
        raise UsageError(
            f"{campaign.id} was started by another suite (content {campaign.suite.content[:12]}, "
            f"this is {content[:12]}); its numbers would not be comparable",
            "check out the commit that campaign.json names, or start a new campaign",
        )


def resume_plan(
    campaign: Campaign, documents: Iterable[Document], *, blocks: int | None
) -> Campaign:
    """The plan of a campaign that goes on, with more blocks if asked; these are the invocations it has.

    Raises:
        UsageError: this suite is not the one that began it, or it would have fewer blocks.
    """
    _demand_same_suite(campaign, suite_content())
    # A number that is chosen after a look could choose what is found, so that a forecast holds as well.
    if blocks is not None and blocks < campaign.blocks:
        raise UsageError(
            f"{campaign.id} has {campaign.blocks} blocks planned; BLOCKS={blocks} is fewer",
            "leave BLOCKS out, or name more",
        )
    # An arm of the plan that was not available is tried again.
    not_run = {arm: why for arm, why in campaign.not_run.items() if arm not in campaign.arms}
    campaign = replace(campaign, stopped=None, not_run=not_run)
    if blocks is None:
        return campaign
    # Who names a number has all cells in so many; what has been begun stays what it is.
    begun = max((document.invocation.block for document in documents), default=0)
    awake = [
        replace(look, block=max(look.block, begun), resting=[]) for look in campaign.looks[-1:]
    ]
    return replace(campaign, blocks=blocks, most_blocks=None, looks=[*campaign.looks, *awake])


def identify_suite() -> SuiteIdentity:
    """This suite: version, commit of the checkout (``+`` where files differ from it), content."""
    root = SUITE.parent

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(root), *words], capture_output=True, text=True, check=False
            )
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD") if (root / ".git").exists() else None
    if commit and git("status", "--porcelain", "--untracked-files=no"):
        commit += "+"
    return SuiteIdentity(version=__version__, commit=commit, content=suite_content())


def choose_label(label: str | None) -> str:
    """The label that was asked for, if it can be part of a folder's name; or else eight characters that stay
    the same on a machine and tell nothing about it.

    Raises:
        UsageError: it can't.
    """
    if label is None:
        return hash_machine() or "machine"
    if not label or len(label) > LONGEST_LABEL or not all(c.isalnum() or c in "._-" for c in label):
        raise UsageError(
            f"LABEL={label!r} can't be part of a folder's name",
            f"use up to {LONGEST_LABEL} letters, digits, dots, dashes and underscores",
        )
    return label
