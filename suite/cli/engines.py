"""From the options to the engine: docker, plain processes where there is none at all, or those within a
container of somebody else's."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from suite.errors import UsageError
from suite.host.campaign.arms import known_arms
from suite.host.campaign.options import Options
from suite.host.engine import Engine, Say
from suite.host.gpu.choice import explain_visible, read_visible
from suite.host.local.engine import InsideEngine, LocalEngine
from suite.host.machine.surroundings import find_container
from suite.host.provision.custom_image import CUSTOM

if TYPE_CHECKING:
    from suite.host.docker.engine import DockerEngine


def docker_endpoint() -> object | None:
    """Where the docker engine is, as `suite.host.docker.connection` finds it; None: nowhere.

    Raises:
        EngineError: docker's settings can't be read.
    """
    # docker takes longer to load than most commands that need none take.
    from suite.host.docker import connection  # noqa: PLC0415

    return connection.docker_endpoint()


def open_docker(**how: Any) -> DockerEngine:
    """The docker engine, with the words of `DockerEngine`.

    Raises:
        EngineError: it can't be had.
    """
    from suite.host.docker.engine import DockerEngine  # noqa: PLC0415

    return DockerEngine(**how)


def open_engine(options: Options, say: Say) -> Engine:
    """The engine that was asked for; ``auto`` takes no engine at all as a reason for ``local``, or for
    ``inside`` where this is a container already.

    Raises:
        EngineError: it can't be had.
        UsageError: an option does not go with it.
    """
    engine, name = connect(options), name_engine(options)
    if name == "inside":
        say(
            f"CONTAINER, ENGINE NOT SEEN: {_explain(options, name)}; the worker runs as a plain process in "
            "it. Its engine, the machine's other tenants and limits that are set outside can't be seen from "
            "here, and every table says so"
        )
    if name == "local":
        say(
            f"NOT CONTAINERIZED: {_explain(options, name)}; the worker runs as a plain process of this "
            "machine, and every table says so"
        )
    if swept := engine.sweep_leftovers():
        say(f"removed {swept} leftovers of a campaign that was killed")
    return engine


def connect(options: Options, **patience: float) -> DockerEngine | LocalEngine:
    """Another connection to the engine that was asked for: nothing is said, and nothing swept.

    Raises:
        EngineError: it can't be had.
        UsageError: an option does not go with it.
    """
    name = name_engine(options)
    if name != "docker":
        kind = InsideEngine if name == "inside" else LocalEngine
        return kind(python=options.local_python)
    return open_docker(base_image=options.base_image, cuda_image=options.cuda_image, **patience)


def name_engine(options: Options) -> str:
    """``docker``, ``local`` or ``inside``, as asked, or as found.

    Raises:
        EngineError: docker's settings can't be read.
        UsageError: an option does not go with it.
    """
    name = options.engine
    if name == "auto":
        here = options.local_python is not None or docker_endpoint() is None
        # The container of a person who has an engine beside it, and an interpreter of their own, is theirs.
        alone = here and docker_endpoint() is None and find_container(os.environ) is not None
        name = "inside" if alone else "local" if here else "docker"
    if name == "docker" and options.local_python is not None:
        raise UsageError(
            "LOCAL_PYTHON is for the engines local and inside",
            "leave ENGINE=docker out, or LOCAL_PYTHON",
        )
    for image, instead in (
        ("base_image", ""),
        ("cuda_image", ", or name an interpreter that has a TensorFlow with LOCAL_PYTHON="),
    ):
        if name != "docker" and image in options.words:
            raise UsageError(
                f"{image.upper()} is for the docker engine, and this is the {name} one",
                f"leave it out, or start a docker engine{instead}",
            )
    return name


def check_custom(options: Options, arms: Collection[str]) -> None:
    """Holds CUDA_IMAGE against the arms that were asked for by name.

    Raises:
        UsageError: none of them would run in it.
    """
    if options.cuda_image is None or "auto" in arms:
        return
    run_in = [arm.name for arm in known_arms().values() if arm.image == CUSTOM]
    if not set(arms) & set(run_in):
        raise UsageError(
            f"CUDA_IMAGE is for the arms {' and '.join(run_in)}, and ARMS={' '.join(arms)} has neither",
            "leave it out, or add one of them to ARMS",
        )


def settle_custom(options: Options, engine: Engine, images: Collection[str], say: Say) -> Options:
    """The options, with the digest of CUDA_IMAGE where its registry gave it one, so that the plan names
    what is measured and not what its tag means some other day; it is fetched where it is missing.

    ``images`` are those that the campaign's arms run in.

    Raises:
        EngineError: it is not to be had.
    """
    if options.cuda_image is not None:
        if CUSTOM in images:
            return options.give(cuda_image=engine.settle_custom(say))
        say("CUDA_IMAGE is not used: no arm of this campaign runs in it")
    return options


def _explain(options: Options, name: str) -> str:
    """Why there is no container of ours."""
    if options.engine == name:
        return f"ENGINE={name} was asked for"
    if name == "inside":
        return f"this is a container that the suite did not start ({find_container(os.environ)})"
    return "no docker engine is here" if options.local_python is None else "LOCAL_PYTHON was given"


def settle_gpu(options: Options, engine: Engine, say: Say) -> Options:
    """The options, with the GPU that the caller's CUDA_VISIBLE_DEVICES means where none was named and no
    engine stands between, so that the campaign goes on, and is repeated, as that GPU's.  Says what becomes
    of that variable, before anything is measured.
    """
    contained = engine.isolation == "container"
    words = explain_visible(options.gpu, os.environ, contained=contained)
    if words is None or engine.is_here is False:
        return options
    say(words)
    if contained or options.gpu is not None:
        return options
    return options.give(gpu=(read_visible(os.environ) or (None,))[0])
