"""From the options to the engine: docker, plain processes where there is none at all, or those within a
container of somebody else's."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from suite.errors import UsageError
from suite.host.campaign.arms import known_arms
from suite.host.docker.engine import DockerEngine, docker_endpoint
from suite.host.engine import Engine, Say
from suite.host.local.engine import LocalEngine
from suite.host.local.inside import InsideEngine
from suite.host.provision.overlay import CUSTOM


def open_engine(given: dict[str, Any], say: Say) -> Engine:
    """The engine that was asked for; ``auto`` takes no engine at all as a reason for ``local``.

    Raises:
        EngineError: it can't be had.
        UsageError: an option does not go with it.
    """
    engine = connect(given)
    name = name_engine(given)
    if name == "inside":
        say(
            "CONTAINER, ENGINE NOT SEEN: ENGINE=inside was asked for; the worker runs as a plain process "
            "in an existing container or job, and every table says so"
        )
    if name == "local":
        say(
            "NOT CONTAINERIZED: "
            + _why_local(given)
            + "; the worker runs as a plain process of this machine, and every table says so"
        )
    if swept := engine.sweep_leftovers():
        say(f"removed {swept} leftovers of a campaign that was killed")
    return engine


def connect(given: dict[str, Any], **patience: float) -> DockerEngine | LocalEngine:
    """Another connection to the engine that was asked for: nothing is said, and nothing swept.

    Raises:
        EngineError: it can't be had.
        UsageError: an option does not go with it.
    """
    name = name_engine(given)
    if name != "docker":
        kind = InsideEngine if name == "inside" else LocalEngine
        return kind(python=given["local_python"])
    return DockerEngine(base_image=given["base_image"], cuda_image=given["cuda_image"], **patience)


def name_engine(given: dict[str, Any]) -> str:
    """``docker``, ``local`` or ``inside``, as asked, or as found.

    Raises:
        EngineError: docker's settings can't be read.
        UsageError: an option does not go with it.
    """
    name: str = given["engine"]
    if name == "auto":
        here = given["local_python"] is not None or docker_endpoint() is None
        name = "local" if here else "docker"
    if name == "docker" and given["local_python"] is not None:
        raise UsageError("LOCAL_PYTHON is for the engines local and inside", "add ENGINE=local")
    for image, instead in (
        ("base_image", ""),
        ("cuda_image", ", or name an interpreter that has a TensorFlow with LOCAL_PYTHON="),
    ):
        if name != "docker" and given[image] is not None:
            raise UsageError(
                f"{image.upper()} is for the docker engine, and this is the {name} one",
                f"leave it out, or start a docker engine{instead}",
            )
    return name


def check_custom(given: dict[str, Any], arms: Collection[str]) -> None:
    """Holds CUDA_IMAGE against the arms that were asked for by name.

    Raises:
        UsageError: none of them would run in it.
    """
    if given["cuda_image"] is None or "auto" in arms:
        return
    run_in = [arm.name for arm in known_arms().values() if arm.image == CUSTOM]
    if not set(arms) & set(run_in):
        raise UsageError(
            f"CUDA_IMAGE is for the arms {' and '.join(run_in)}, and ARMS={' '.join(arms)} has neither",
            "leave it out, or add one of them to ARMS",
        )


def settle_custom(
    given: dict[str, Any], engine: Engine, images: Collection[str], say: Say
) -> dict[str, Any]:
    """The options, with the digest of CUDA_IMAGE where its registry gave it one, so that the plan names
    what is measured and not what its tag means some other day; it is fetched where it is missing.

    ``images`` are those that the campaign's arms run in.

    Raises:
        EngineError: it is not to be had.
    """
    if given["cuda_image"] is not None:
        if CUSTOM in images:
            return {**given, "cuda_image": engine.settle_custom(say)}
        say("CUDA_IMAGE is not used: no arm of this campaign runs in it")
    return given


def _why_local(given: dict[str, Any]) -> str:
    if given["engine"] == "local":
        return "ENGINE=local was asked for"
    if given["local_python"] is not None:
        return "LOCAL_PYTHON was given"
    return "no docker engine is here"
