"""What an engine has of this project, by its label alone: images, volumes and containers; and what a killed
campaign leaves of these, removed.

Containers, images and volumes without this project's label are never touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

from suite.errors import BusyError, EngineError
from suite.fingerprint import hash_lines
from suite.host.docker.connection import Daemon, Refused
from suite.host.engine import LABEL, Volume
from suite.host.machine.deadlines import LEAVE_S, WORK_S
from suite.host.machine.lock import MIND_OTHER, PLACE, name_self
from suite.host.machine.machine import is_alive
from suite.host.provision.resources import UNKNOWN_DRIVER

LASTING = "lasting-volume"
"""The label's value on volumes that are nobody's in particular, and are kept from run to run."""


def volume_labels(volume: Volume, owner: str) -> dict[str, str]:
    """The labels of a volume; ``owner`` is the token of the process that first needed it.

    A lasting one has no owner, with whom it would go, but what says how long it is of use.
    """
    purpose = {f"{LABEL}.purpose": volume.purpose}
    if volume.lasting:
        own = {f"{LABEL}.{name}": value for name, value in volume.labels.items()}
        return {LABEL: LASTING, **purpose, **own}
    return {LABEL: "volume", f"{LABEL}.owner": owner, **purpose}


def list_volumes(daemon: Daemon, kind: str) -> list[Mapping[str, Any]]:
    """This project's volumes of a kind, by its label.

    Raises:
        EngineError: the engine does not answer, or refuses this user the list.
    """
    with daemon.errors("listing volumes"):
        found = daemon.api.volumes(filters={"label": f"{LABEL}={kind}"})
        return list(found.get("Volumes") or [])


def discard_volume(daemon: Daemon, name: str) -> bool:
    """Removes a volume where no container holds it and the engine answers, or comes back; whether it did."""

    def remove() -> None:
        with daemon.calls("removing a volume", LEAVE_S):
            daemon.api.remove_volume(name)

    with suppress(Refused, EngineError):
        daemon.outlast(remove)
        return True
    return False


_FOREIGN_AGE_S = 48 * 3600.0
"""After this long, a stopped container or a volume whose owner can't be looked up is nobody's any more.  No
campaign takes that long, and no two machines' clocks, or one that is set by an hour, differ by so much."""


def list_images(daemon: Daemon) -> list[dict[str, Any]]:
    """The engine's images that this project built, with their labels."""
    with daemon.errors("listing images"):
        return [
            {**image, "Labels": image.get("Labels") or {}}
            for image in daemon.api.images(filters={"label": f"{LABEL}=image"})
        ]


def find_image(daemon: Daemon, reference: str) -> str | None:
    """The engine's id of an image; None where it is not there."""
    return look_at_image(daemon, reference).get("Id")


def find_digests(daemon: Daemon, reference: str) -> list[str]:
    """What registries call an image that is here; nothing where it is not, or came from none."""
    return look_at_image(daemon, reference).get("RepoDigests") or []


def look_at_image(daemon: Daemon, reference: str) -> dict[str, Any]:
    """What the engine says of an image; nothing where it is not there."""
    with suppress(Refused), daemon.errors("looking for an image", missing_ok=True):
        seen: dict[str, Any] = daemon.api.inspect_image(reference)
        return seen
    return {}


def remove_container(daemon: Daemon, container: str, within: float = WORK_S) -> None:
    """Removes a container and its anonymous volumes; one that somebody has removed is gone.

    Raises:
        Refused: the engine does not.
        EngineError: it does not answer.
    """
    try:
        with daemon.calls("removing a container", within):
            daemon.api.remove_container(container, v=True, force=True)
    except Refused as refused:
        if not refused.gone:
            raise


def discard_container(daemon: Daemon, container: str, within: float = WORK_S) -> bool:
    """As `remove_container`, where the engine still answers; whether it is gone."""
    with suppress(Refused, EngineError):
        remove_container(daemon, container, within)
        return True
    return False


def sweep(daemon: Daemon, now_s: float, kernel_driver: str | None = None) -> int:
    """Removes the leftovers among the containers and volumes of this project; how many there were.

    ``kernel_driver`` is the version of the GPU's driver on the engine's machine; None: unknown.

    Raises:
        EngineError: the engine does not answer.
    """
    count = 0
    for container in _list_containers(daemon):
        if _is_nobodys(container, now_s):
            discard_container(daemon, str(container["Id"]))
            count += 1
    # After the containers that may hold them.
    for volume in list_volumes(daemon, "volume"):
        count += _is_nobodys(volume, now_s) and discard_volume(daemon, volume["Name"])
    return count + _sweep_lasting(daemon, kernel_driver)


def _is_nobodys(labelled: Mapping[str, Any], now_s: float) -> bool:
    """Whether a container or a volume of ours is nobody's any more.

    A living owner's never; a dead owner's always, running or not; one whose owner can't be seen
    (another machine on the same engine) when a campaign that goes on would be younger.
    """
    alive = is_alive(_labels(labelled).get(f"{LABEL}.owner", ""))
    if alive is not None:
        return not alive
    if labelled.get("State") in ("running", "paused", "restarting"):
        return False
    return now_s - _find_birth(labelled, now_s) > _FOREIGN_AGE_S


def _find_birth(labelled: Mapping[str, Any], now_s: float) -> float:
    """When it was made, in seconds; now where that can't be told."""
    if "CreatedAt" not in labelled:
        return float(labelled.get("Created", now_s))
    # Engines write Z or an offset, and some of them nanoseconds.
    text = re.sub(r"\.\d+", "", str(labelled["CreatedAt"]).replace("Z", "+00:00"))
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return now_s


def claim(daemon: Daemon, owner: str, now_s: float) -> str | None:
    """Makes the volume that says who has this engine.  None: it is ours; else who has it, in words.

    An engine makes one volume of a name, and gives who asks for it again the one that is there.

    Raises:
        EngineError: the engine does not answer, or refuses.
    """
    name = name_claim()
    since = f"{datetime.fromtimestamp(now_s, timezone.utc):%Y-%m-%d %H:%M} UTC"
    signed = {"owner": owner, "who": name_self(), "since": since}
    labels = {LABEL: "volume", **{f"{LABEL}.{key}": value for key, value in signed.items()}}
    with daemon.errors("marking it as taken"):
        found = daemon.api.create_volume(name, labels=labels)
        if _is_nobodys(found, now_s):
            discard_volume(daemon, name)
            found = daemon.api.create_volume(name, labels=labels)
    return None if _labels(found).get(f"{LABEL}.owner") == owner else _describe_claim(found)


def release(daemon: Daemon, owner: str) -> None:
    """Removes the volume of `claim`, where it is this owner's and the engine answers; and what an interrupt
    left of others, whose making the engine ended after nobody waited for it."""
    with daemon.patience.hurried(), suppress(EngineError):
        for volume in daemon.outlast(lambda: list_volumes(daemon, "volume")):
            if _labels(volume).get(f"{LABEL}.owner") == owner:
                discard_volume(daemon, str(volume["Name"]))


def name_claim() -> str:
    """The name of the volume that says who has an engine; where the machine's lock lies elsewhere than
    usual, another."""
    place = os.environ.get(PLACE)
    return "crossover-campaign" + (f"-{hash_lines([place])[:16]}" if place else "")


def _describe_claim(volume: Mapping[str, Any]) -> str:
    who, since = (_labels(volume).get(f"{LABEL}.{name}", "unknown") for name in ("who", "since"))
    return (
        f"of {who}, since {since}; it can't be seen from here whether it still lives: where it does not, "
        f"`docker volume rm {volume['Name']}` takes its mark away"
    )


def _labels(volume: Mapping[str, Any]) -> Mapping[str, str]:
    return volume.get("Labels") or {}


def look(daemon: Daemon, now_s: float) -> None:
    """Lists what `sweep` would look at, and changes nothing.

    Raises:
        BusyError: a campaign has this engine.
        EngineError: the engine does not answer, or refuses this user the list.
    """
    _list_containers(daemon)
    for volume in list_volumes(daemon, "volume"):
        if volume["Name"] == name_claim() and not _is_nobodys(volume, now_s):
            raise BusyError(
                f"another campaign is running on this engine: {_describe_claim(volume)}", MIND_OTHER
            )


def _sweep_lasting(daemon: Daemon, kernel_driver: str | None) -> int:
    """Removes the lasting volumes that nobody will ask for again; the engine refuses where a container
    holds one.

    The driver on the machine (None: unknown) is another than they are for; or no image in the engine has
    the packages that they are for.
    """
    packages = {image["Labels"].get(f"{LABEL}.packages") for image in list_images(daemon)}
    count = 0
    for volume in list_volumes(daemon, LASTING):
        labels = _labels(volume)
        its = labels.get(f"{LABEL}.driver", UNKNOWN_DRIVER)
        other = kernel_driver is not None and its not in (kernel_driver, UNKNOWN_DRIVER)
        if other or labels.get(f"{LABEL}.packages") not in packages:
            count += discard_volume(daemon, str(volume["Name"]))
    return count


def _list_containers(daemon: Daemon) -> list[Mapping[str, Any]]:
    with daemon.errors("listing containers"):
        return list(daemon.api.containers(all=True, filters={"label": f"{LABEL}=run"}))


def remove_everything(daemon: Daemon) -> dict[str, int]:
    """Removes every container, volume and image with this project's label, running or not; how
    many of each.

    Raises:
        EngineError: the engine does not answer, or something of ours is held by something else.
    """
    labelled = {"label": LABEL}
    with daemon.errors("removing what this project made"):
        containers = daemon.api.containers(all=True, filters=labelled)
        for container in containers:
            daemon.api.remove_container(container["Id"], v=True, force=True)
        volumes = daemon.api.volumes(filters=labelled)["Volumes"] or []
        for volume in volumes:
            daemon.api.remove_volume(volume["Name"])
        images = [str(image["Id"]) for image in daemon.api.images(filters=labelled)]
    for image in images:
        with suppress(Refused), daemon.errors("removing an image", missing_ok=True):
            daemon.api.remove_image(image, force=True)
    return {"containers": len(containers), "volumes": len(volumes), "images": len(images)}
