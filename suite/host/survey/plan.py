"""The plan of a survey: a campaign on each GPU of a machine alone, and one on each beside all others.

Pure: no engine and no files; a plan can be asserted in a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import chain

from suite.cells.cell import Cell
from suite.errors import UsageError
from suite.host.campaign import durations
from suite.host.campaign.arms import Arms
from suite.host.campaign.request import Request, choose_label, draw_seed, plan_campaign
from suite.host.campaign.store import campaign_name
from suite.kernel import write_cpus
from suite.model import Campaign, Survey, SurveyMember


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
    sides: dict[tuple[int, ...], list[str]] = {}
    for gpu, cpus in near.items():
        sides.setdefault(cpus or (), []).append(gpu)
    by_side = [([one for one in cores if set(one) <= set(s)], gpus) for s, gpus in sides.items()]
    # A side that shares cores with another, is unknown or has too few: dealt out without regard to it.
    for groups in (by_side, [(list(cores), list(near))]):
        least = min(len(own) // len(gpus) for own, gpus in groups)
        dealt = {
            gpu: tuple(sorted(cpu for core in own[at * least : (at + 1) * least] for cpu in core))
            for own, gpus in groups
            for at, gpu in enumerate(gpus)
        }
        if least and len({*chain(*dealt.values())}) == sum(map(len, dealt.values())):
            return dealt
    raise UsageError(
        f"GPU=all has {len(near)} GPUs at work at once, and there are {len(cores)} CPU cores for them",
        "give it more CPUS=, or name one GPU",
    )


@dataclass(frozen=True, kw_only=True)
class Part:
    """One campaign of a survey, with its plan and arms."""

    member: SurveyMember
    campaign: Campaign
    arms: Arms


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
    label = choose_label(request.label)
    created = datetime.now(timezone.utc).replace(microsecond=0)
    name = campaign_name(created, f"{label}-all-gpus", request.profile)
    seed = draw_seed(request.seed)
    parts: list[Part] = []
    alone: dict[str, str] = {}
    for at_once in (False, True):
        for gpu, found in arms.items():
            with_gpu = tuple(arm for arm in found.run if arm.gpu)
            own = Arms(run=with_gpu, gpu=found.gpu) if parts else found
            of_gpu = replace(request, gpu=gpu, seed=seed, label=None)
            if at_once:
                of_gpu = replace(of_gpu, price=None, price_currency=None)
            text = f"{label}-gpu{gpu.replace(':', '-')}" + ("-at-once" if at_once else "")
            drawn = plan_campaign(of_gpu, own, cells)
            drawn = replace(
                drawn,
                # Not held to the length of a label that is asked for, since it is made of one.
                id=campaign_name(created, text, request.profile),
                label=text,
                most_blocks=drawn.blocks,
                survey=name,
                at_once=len(arms) if at_once else 1,
                calibrated_by=alone.get(gpu),
                settings={**request.settings, "gpu": gpu},
            )
            campaign = durations.predict_before(drawn)
            alone.setdefault(gpu, campaign.id)
            member = SurveyMember(gpu=gpu, at_once=at_once, campaign=campaign.id)
            parts.append(Part(member=member, campaign=campaign, arms=own))
    one = parts[0].campaign
    survey = Survey(
        schema=one.schema,
        id=name,
        created=created,
        profile=one.profile,
        seed=seed,
        label=request.label,
        rounds=one.blocks,
        gpus=list(arms),
        cpus={gpu: write_cpus(share) for gpu, share in shares.items()},
        members=[part.member for part in parts],
        suite=one.suite,
        whole_cores=whole_cores,
        command=one.command,
        settings=dict(request.settings),
    )
    return survey, parts
