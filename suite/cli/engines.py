"""From the options to the engine: docker, or plain processes where there is none at all."""

from __future__ import annotations

from typing import Any

from suite.errors import UsageError
from suite.host.docker_engine import DockerEngine, docker_endpoint
from suite.host.doctor_machine import ENGINE_S, Examined
from suite.host.engine import Engine, Progress
from suite.host.local_engine import LocalEngine


def open_engine(given: dict[str, Any], say: Progress) -> Engine:
    """The engine that was asked for; ``auto`` takes no engine at all as a reason for ``local``.

    Raises:
        EngineError: it can't be had.
        UsageError: an option does not go with it.
    """
    if name_engine(given) == "docker":
        return _swept(DockerEngine(base_image=given["base_image"]), say)
    say(
        "NOT CONTAINERIZED: "
        + _why_local(given)
        + "; the worker runs as a plain process of this machine, and every table says so"
    )
    return _swept(LocalEngine(python=given["local_python"]), say)


def engine_to_examine(given: dict[str, Any]) -> Examined:
    """As `open_engine`, but leftovers are left where they are, and nobody waits long."""
    if name_engine(given) == "docker":
        return DockerEngine(base_image=given["base_image"], patience_s=ENGINE_S)
    return LocalEngine(python=given["local_python"])


def name_engine(given: dict[str, Any]) -> str:
    """``docker`` or ``local``, as asked, or as found.

    Raises:
        EngineError: docker's settings can't be read.
        UsageError: an option does not go with it.
    """
    name: str = given["engine"]
    if name == "auto":
        here = given["local_python"] is not None or docker_endpoint() is None
        name = "local" if here else "docker"
    if name == "docker" and given["local_python"] is not None:
        raise UsageError("LOCAL_PYTHON is for the local engine", "add ENGINE=local")
    if name == "local" and given["base_image"] is not None:
        raise UsageError(
            "BASE_IMAGE is for the docker engine, and this is the local one",
            "leave it out, or start a docker engine",
        )
    return name


def _swept(engine: Engine, say: Progress) -> Engine:
    swept = engine.sweep_leftovers()
    if swept:
        say(f"removed {swept} leftovers of a campaign that was killed")
    return engine


def _why_local(given: dict[str, Any]) -> str:
    if given["engine"] == "local":
        return "ENGINE=local was asked for"
    if given["local_python"] is not None:
        return "LOCAL_PYTHON was given"
    return "no docker engine is here"
