"""The plan of a survey: a campaign on each GPU of a machine alone, and one on each beside all others.

Pure: no engine and no files; a plan can be asserted in a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from suite import wire
from suite.cells.cell import Cell
from suite.errors import UsageError
from suite.host.campaign import durations, plan
from suite.host.campaign.arms import Arms
from suite.host.campaign.outcomes import is_complete
from suite.host.campaign.request import (
    Request,
    check_label,
    draw_seed,
    machine_label,
    plan_campaign,
)
from suite.host.campaign.store import campaign_name
from suite.host.machine.cpus import write_cpus
from suite.model import Campaign, Document, Survey, SurveyMember


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


def plan_survey(
    request: Request,
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
        request: what is asked of every campaign.
        arms: the arms by GPU.
        shares: the CPUs of each GPU while all are at work.
        cells: every cell that there is.
        whole_cores: whether no two shares hold threads of the same core; None: not known.

    Raises:
        UsageError: the request does not fit together.
    """
    if request.label is not None:
        check_label(request.label)
    created = datetime.now(timezone.utc).replace(microsecond=0)
    label = machine_label() if request.label is None else request.label
    name = campaign_name(created, f"{label}-all-gpus", request.profile)
    seed = draw_seed(request.seed)
    first = next(iter(arms))
    parts: list[Part] = []
    alone: dict[str, str] = {}
    for at_once in (False, True):
        for gpu, found in arms.items():
            own = found if gpu == first and not at_once else _only_gpu(found)
            text = f"{label}-gpu{gpu.replace(':', '-')}" + ("-at-once" if at_once else "")
            price = None if at_once else request.price
            currency = None if at_once else request.price_currency
            of_gpu = replace(
                request, gpu=gpu, seed=seed, label=None, price=price, price_currency=currency
            )
            campaign = plan_campaign(of_gpu, own, cells)
            campaign = replace(
                campaign,
                # Not held to the length of a label that is asked for, since it is made of one.
                id=campaign_name(created, text, request.profile),
                label=text,
                most_blocks=campaign.blocks,
                survey=name,
                at_once=len(arms) if at_once else 1,
                settings={**request.settings, "gpu": gpu},
            )
            if at_once:
                campaign = replace(campaign, calibrated_by=alone[gpu])
            else:
                alone[gpu] = campaign.id
            guess = durations.guess_campaign_s(campaign)
            campaign = replace(campaign, prediction=replace(campaign.prediction, before_s=guess))
            cpus = shares[gpu] if at_once else None
            parts.append(Part(gpu=gpu, at_once=at_once, campaign=campaign, arms=own, cpus=cpus))
    one = parts[0].campaign
    survey = Survey(
        schema=wire.SCHEMA,
        id=name,
        created=created,
        profile=request.profile,
        seed=seed,
        label=request.label,
        rounds=one.blocks,
        gpus=list(arms),
        cpus={gpu: write_cpus(share) for gpu, share in shares.items()},
        members=[
            SurveyMember(gpu=part.gpu, at_once=part.at_once, campaign=part.campaign.id)
            for part in parts
        ],
        suite=one.suite,
        whole_cores=whole_cores,
        command=f"{request.command} SEED={seed}",
        settings=dict(request.settings),
    )
    return survey, parts


def _only_gpu(arms: Arms) -> Arms:
    run = tuple(arm for arm in arms.run if arm.gpu)
    return Arms(run=run, gpu={arm.name: arms.gpu[arm.name] for arm in run}, not_run={})


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
