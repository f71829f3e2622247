"""The volumes of this project in an engine: known by its label, and removed by name."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from suite.errors import EngineError
from suite.host.docker.connect import Daemon
from suite.host.docker.errors import Refused
from suite.host.engine import LABEL, Volume
from suite.host.machine.deadlines import LEAVE_S

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
