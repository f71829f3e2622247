"""Made-up campaigns with an arm on each of several GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from suite import codec
from suite.host.campaign.plan import add_controls
from suite.model import Arm, Campaign, CampaignIdentity, Document, on_device
from tests import synthetic
from tests.fakes.hosts import QUIET

CUDA = Arm(name="cuda", image="cuda", gpu=True)


def hash_gpu(device: str) -> str:
    """The hash of a GPU's UUID."""
    return codec.hash_uuid(f"GPU-{device}")


def make_gpus(
    factors: Mapping[str, float],
    *,
    cpu: bool = True,
    change: Callable[[Document], Document] = lambda document: document,
    **fields: Any,
) -> tuple[Campaign, list[Document]]:
    """A campaign and its documents: how many times the plain time each GPU takes."""
    plain = synthetic.make_campaign(arms=[*(["cpu"] if cpu else []), "cuda"], **fields)
    gpus = [on_device(CUDA, device, hash_gpu(device)) for device in factors]
    arms = [*([plain.arm("cpu")] if cpu else []), *gpus]
    names = [arm.name for arm in arms]
    plan = replace(
        plain,
        arms=names,
        calls={name: plain.calls[name.partition(":")[0]] for name in names},
        every_arm=add_controls(arms, [cell.id for cell in plain.cells]),
        command="make bench GPU=all SEED=7",
    )
    documents = synthetic.make_documents(replace(plain, arms=["cpu"]), host=QUIET) if cpu else []
    for place, (arm, factor) in enumerate(zip(gpus, factors.values(), strict=True)):
        one = replace(plain, arms=["cuda"], seed=100 + place)
        own = synthetic.make_documents(one, truth=synthetic.slow_down(factor), host=QUIET)
        documents += map(change, rename(own, arm, plan))
    return plan, documents


def rename(documents: Iterable[Document], arm: Arm, plan: Campaign) -> Iterable[Document]:
    """The documents of an arm on one of several GPUs, of this campaign."""
    identity = CampaignIdentity(id=plan.id, profile=plan.profile, seed=plan.seed, label=plan.label)
    for document in documents:
        yield replace(
            document,
            campaign=identity,
            invocation=replace(document.invocation, arm=arm.name),
            facts={**document.facts, "gpu.0.uuid": arm.uuid},
        )
