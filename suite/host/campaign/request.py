"""What a person asks of a campaign, and the plan that comes of it."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

from suite import __version__, wire
from suite.cells.cell import Cell
from suite.cells.traits import ProfileName
from suite.content import SUITE, suite_content
from suite.errors import UsageError
from suite.host.campaign import durations, plan
from suite.host.campaign.arms import AUTO, Arms
from suite.host.campaign.store import campaign_name
from suite.host.machine.identity import hash_machine
from suite.model import Campaign, Prediction, SuiteIdentity
from suite.ranges import LONGEST_LABEL, RANGES


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a person asks of a campaign; None: the profile's or the machine's own choice."""

    profile: ProfileName = "standard"
    arms: tuple[str, ...] = (AUTO,)
    only: tuple[str, ...] = ()
    blocks: int | None = None
    gpu: str = "0"
    seed: int | None = None
    label: str | None = None
    price: float | None = None
    price_currency: str | None = None
    command: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


def plan_campaign(
    request: Request, arms: Arms, cells: Sequence[Cell], *, suite: SuiteIdentity | None = None
) -> Campaign:
    """The plan of a new campaign; ``suite`` is the one that runs it, looked up where none is given.

    Raises:
        UsageError: the request does not fit together.
    """
    profile = plan.PROFILES[request.profile]
    names = [arm.name for arm in arms.run]
    chosen = plan.choose_cells(cells, request.profile, arms.run, request.only)
    for arm in arms.run:
        if not any(not cell.by_host and plan.means_something(cell, arm) for cell in chosen):
            raise UsageError(
                f"no cell that was asked for can be measured on the arm {arm.name}",
                "`make list` shows which cells there are",
            )
    created = datetime.now(timezone.utc).replace(microsecond=0)
    seed = request.seed if request.seed is not None else secrets.randbelow(2**31)
    label = choose_label(request.label)
    currency = check_price(request.price, request.price_currency)
    controls = plan.choose_controls(chosen, request.profile)
    campaign = Campaign(
        schema=wire.SCHEMA,
        id=campaign_name(created, label, request.profile),
        created=created,
        profile=request.profile,
        seed=seed,
        label=request.label,
        arms=names,
        blocks=request.blocks if request.blocks is not None else profile.blocks,
        most_blocks=request.blocks if request.blocks is not None else profile.most_blocks,
        cells=chosen,
        controls=controls,
        every_arm=plan.add_controls(arms.run, controls),
        suite=suite or identify_suite(),
        prediction=Prediction(before_s=0.0),
        warmup_s=profile.warmup_s,
        measure_s=profile.measure_s,
        budget_s=profile.budget_s,
        not_run=dict(arms.not_run),
        command=f"{request.command} SEED={seed}",
        settings=dict(request.settings),
        price=request.price,
        price_currency=currency,
    )
    return durations.predict_before(campaign)


RECHECK_BLOCKS = 5
"""As a standard campaign has: enough for an interval, also against a campaign of one block."""


def plan_recheck(request: Request, arms: Arms, cells: Sequence[Cell], before: Campaign) -> Campaign:
    """The plan that measures the cells of ``request.only`` again as ``before`` measured them: with its
    profile and its K, and with a twin of each arm, so that the noise of this hour is known.

    Raises:
        UsageError: this suite is not the one that measured them, or the request does not fit together.
    """
    suite = identify_suite()
    _demand_same_suite(before, suite.content)
    campaign = plan_campaign(request, arms, cells, suite=suite)
    chosen = [cell.id for cell in campaign.cells]
    twins = [arm for arm in plan.add_controls(arms.run, chosen) if arm.control != "hidden"]
    campaign = replace(
        campaign,
        controls=chosen,
        every_arm=list(dict.fromkeys([*arms.run, *twins])),
        calls={
            arm: {name: k for name, k in before.calls.get(arm, {}).items() if name in chosen}
            for arm in campaign.arms
        },
        calibrated_by=before.id,
        rechecks=before.id,
    )
    return durations.predict_before(campaign)


def _demand_same_suite(campaign: Campaign, content: str) -> None:
    if campaign.suite.content != content:
        raise UsageError(
            f"{campaign.id} was started by another suite (content {campaign.suite.content[:12]}, "
            f"this is {content[:12]}); its numbers would not be comparable",
            "check out the commit that campaign.json names, or start a new campaign",
        )


def resume_plan(campaign: Campaign, *, blocks: int | None) -> Campaign:
    """The plan of a campaign that goes on, with more blocks if asked.

    Raises:
        UsageError: this suite is not the one that began it, or it would have fewer blocks.
    """
    _demand_same_suite(campaign, suite_content())
    if blocks is not None and blocks < campaign.blocks:
        raise UsageError(
            f"{campaign.id} has {campaign.blocks} blocks planned; BLOCKS={blocks} is fewer",
            "leave BLOCKS out, or name more",
        )
    # An arm of the plan that was not available is tried again.
    not_run = {arm: why for arm, why in campaign.not_run.items() if arm not in campaign.arms}
    campaign = replace(campaign, stopped=None, not_run=not_run)
    return campaign if blocks is None else replace(campaign, blocks=blocks, most_blocks=blocks)


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


def check_price(price: float | None, currency: str | None) -> str:
    """The currency of a price, if both make sense.

    Raises:
        UsageError: the price is not one, or the currency is not a code or has no price.
    """
    if price is not None and (price <= 0 or RANGES["price"].refuse(price)):
        raise UsageError(f"PRICE={price:g} is not a price per hour", "such as PRICE=0.53")
    if currency is None:
        return "USD"
    if price is None:
        raise UsageError(
            f"PRICE_CURRENCY={currency!r} is of no price", "give PRICE, the price an hour, as well"
        )
    if len(currency) != 3 or not (currency.isascii() and currency.isalpha() and currency.isupper()):
        raise UsageError(
            f"PRICE_CURRENCY={currency!r} is not a currency code",
            "three capital letters, such as EUR",
        )
    return currency
