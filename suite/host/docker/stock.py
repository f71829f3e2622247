"""What a docker engine has, looked up without building, fetching or running anything."""

from __future__ import annotations

from suite.host.docker import build
from suite.host.docker.connect import Daemon
from suite.host.docker.errors import Refused
from suite.host.docker.volumes import LASTING, list_volumes
from suite.host.engine import Stock
from suite.host.provision.images import Recipe, identify_base


def take_stock(daemon: Daemon, recipe: Recipe) -> Stock:
    """What the engine has of that recipe's image.

    Raises:
        EngineError: it does not answer.
    """
    base = recipe.base
    here = build.find_image(daemon, base)
    identity = identify_base(recipe) or here
    image, room, recorded = None, recipe.free_bytes, ("", "")
    if identity is not None:
        plan = build.plan_on(daemon, recipe, identity)
        known = build.list_images(daemon)
        image = build.find_built(plan, known)
        recorded = (plan.base, plan.lock)
        has_all = (
            here if recipe.lock is None else build.has_layers(plan, [i["Labels"] for i in known])
        )
        room = 0 if image or has_all else room
    caches = list_volumes(daemon, LASTING) if image else ()
    return Stock(
        name=recipe.name,
        image=image,
        base=base,
        base_here=here is not None,
        room_bytes=room,
        from_lock=recipe.lock is not None,
        recorded=recorded,
        caches=tuple(sorted(one["Name"] for one in caches)),
    )


def reach_base(daemon: Daemon, reference: str, *, laid: bool) -> bool | None:
    """Whether the registry of a base image answers the engine for it; None: this engine can't be
    asked that, as podman.  ``laid`` as in `build.refuse_base`.

    Raises:
        EngineError: the registry refuses or is out of reach; names the ways out.
    """
    try:
        with daemon.calls("asking the registry for the base image"):
            daemon.api.inspect_distribution(reference)
    except Refused as refused:
        if refused.missing and "page not found" in refused.text.lower():
            return None
        raise build.refuse_base(daemon, reference, refused.text, laid=laid) from refused
    return True
