"""From a build plan to an image in the engine: what there is of it; reused by its label, or built with live
progress.  Also fetches the base image.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from docker.utils import parse_repository_tag

from suite.errors import MORE_DISK, EngineError
from suite.host.docker.connection import Daemon, Refused
from suite.host.docker.leftovers import (
    LASTING,
    find_image,
    list_images,
    list_volumes,
    look_at_image,
)
from suite.host.engine import LABEL, Say, Stock
from suite.host.machine.deadlines import SILENT_S
from suite.host.provision.build_steps import describe_pip
from suite.host.provision.custom_image import describe_check, explain_unfit, refuse_custom
from suite.host.provision.debian_base import (
    RELEASES,
    STAND_IN,
    find_release,
    make_files,
    name_stand_in,
)
from suite.host.provision.image_table import ImageSpec
from suite.host.provision.images import (
    PYTHON,
    BuildPlan,
    build_context,
    count_room,
    demand_python,
    explain_build,
    explain_python,
    has_layers,
    identify_base,
    is_pinned,
    name_base_command,
    plan_build,
)
from suite.model import Image

_BLOCK_BYTES = 1 << 20


def provide_image(
    daemon: Daemon, spec: ImageSpec, progress: Say, *, data_root: str | None, fresh: bool = False
) -> Image:
    """The image of that spec, reused where its inputs are unchanged, else built.

    ``data_root`` is the engine's folder where it is on this machine: its disk is looked at before
    a large build.  ``fresh`` builds from nothing, past every cache.

    Raises:
        EngineError: the base is not available, the disk is too full, or the build failed.
    """
    identity = identify_base(spec) or ensure_base(daemon, spec, progress, data_root)
    plan, known, image = _look_up(daemon, spec, identity)
    if image and not fresh:
        what = "image beneath and suite" if spec.laid else "lock, base and suite"
        progress(
            f"image {spec.name}: reused {plan.tag} (Dockerfile, {what} are those it was built from)"
        )
    else:
        progress(f"image {spec.name}: building {plan.tag} ({explain_build(plan, known)})")
        if not spec.laid and not has_layers(plan, known):
            ensure_room({spec.name: spec.free_bytes}, data_root)
        ensure_base(daemon, spec, progress, data_root)
        look_at_python(daemon, spec)
        image = _build(daemon, spec, plan, progress, fresh=fresh)
    return describe_image(daemon, image, plan, spec.origin)


def demand_images(
    daemon: Daemon, specs: Iterable[ImageSpec], progress: Say, data_root: str | None
) -> None:
    """Demands that nothing which is known beforehand stands against these images: fetches a base that is
    only known by what it holds, and builds nothing.

    Raises:
        EngineError: a base is not available or has another Python, or there is no room for all that has to be
            built.
    """
    rooms: dict[str, int] = {}
    for spec in specs:
        if not is_pinned(spec.base):
            ensure_base(daemon, spec, progress, data_root)
        stock = take_stock(daemon, spec)
        if stock.room_bytes:
            rooms[spec.name] = stock.room_bytes
    ensure_room(rooms, data_root)


def look_at_python(daemon: Daemon, spec: ImageSpec) -> None:
    """Holds a base that is here against the Python that the image has to have.

    Raises:
        EngineError: it says that it has another one.
    """
    seen = look_at_image(daemon, spec.base)
    config = seen.get("Config") or {}
    demand_python(spec, config.get("Labels") or {}, config.get("Env") or ())


def take_stock(daemon: Daemon, spec: ImageSpec) -> Stock:
    """What the engine has of that spec's image.

    Raises:
        EngineError: it does not answer, or the base has another Python.
    """
    look_at_python(daemon, spec)
    base = spec.base
    here = find_image(daemon, base)
    identity = identify_base(spec) or here
    image, room, recorded = None, spec.free_bytes, ("", "")
    if identity is not None:
        plan, known, image = _look_up(daemon, spec, identity)
        recorded = (plan.base, plan.lock)
        has_all = here if spec.laid else has_layers(plan, known)
        room = 0 if image or has_all else room
    caches = list_volumes(daemon, LASTING) if image else ()
    return Stock(
        name=spec.name,
        image=image,
        base=base,
        base_here=here is not None,
        room_bytes=room,
        from_lock=not spec.laid,
        recorded=recorded,
        caches=tuple(sorted(volume["Name"] for volume in caches)),
    )


def _look_up(
    daemon: Daemon, spec: ImageSpec, identity: str
) -> tuple[BuildPlan, list[Mapping[str, str]], str | None]:
    """How an engine is to build an image on a base of that identity, the labels of the images that were
    built there, and the id of the one that this plan has made already."""
    with daemon.errors("asking for its architecture"):
        architecture = str(daemon.api.version().get("Arch", ""))
    plan = plan_build(spec, base_identity=identity, architecture=architecture)
    known = list_images(daemon)
    # By its name: an image that somebody builds on ours has all of our labels.
    made = (
        str(image["Id"])
        for image in known
        if any(f"/{tag}".endswith(f"/{plan.tag}") for tag in image.get("RepoTags") or [])
    )
    return plan, [image["Labels"] for image in known], next(made, None)


def ensure_base(daemon: Daemon, spec: ImageSpec, progress: Say, data_root: str | None) -> str:
    """The engine's id of what an image is built on, which is pulled where it is missing.

    Raises:
        EngineError: it is not there and can't be pulled, or there is no room for it.
    """
    if base := find_image(daemon, spec.base):
        return base
    _refuse_stand_in(daemon, spec.base)
    # A base of ours is small; one that brings its TensorFlow is nearly all of the image.
    if spec.laid:
        ensure_room({spec.name: spec.free_bytes}, data_root)
    progress(f"base {spec.base}: pulling")
    try:
        with daemon.calls("pulling the base image", SILENT_S):
            for line in follow_pull(daemon.api.pull(spec.base, stream=True, decode=True)):
                progress(f"base: {line}")
            return str(daemon.api.inspect_image(spec.base)["Id"])
    except Refused as refused:
        raise refuse_base(daemon, spec.base, refused.text, laid=spec.laid) from refused


def describe_image(daemon: Daemon, image: str, plan: BuildPlan, origin: str) -> Image:
    """What the engine says about an image, for the record."""
    with daemon.errors("asking after an image"):
        seen = daemon.api.inspect_image(image)
    return Image(
        id=str(seen["Id"]),
        content=None,
        base=plan.base,
        digests=[*(seen.get("RepoDigests") or []), *(seen.get("RootFS", {}).get("Layers") or [])],
        lock=plan.lock,
        origin=origin,
        size_bytes=int(seen["Size"]) if seen.get("Size") else None,
    )


def make_base(daemon: Daemon, python: str, progress: Say) -> str:
    """The stand-in base with that Python, made now or reused; its id in the engine.

    Raises:
        EngineError: it can't be made here, or the engine refused it.
    """
    name, release = name_stand_in(python), find_release(python)
    if known := find_image(daemon, name):
        progress(f"base {name}: reused (`docker rmi {name}` removes it, to make it again)")
        return known
    repository, tag = parse_repository_tag(name)
    changes = [f"LABEL {LABEL}=base", f"LABEL {LABEL}.release={release}", 'CMD ["python3"]']
    with (
        make_files(name, release, progress) as archive,
        daemon.errors("importing the stand-in base", SILENT_S),
    ):
        # As blocks: of a file, whose length it knows, the SDK would send two contradicting headers.
        blocks = iter(lambda: archive.read(_BLOCK_BYTES), b"")
        daemon.api.import_image_from_stream(
            blocks, repository=repository, tag=tag or "latest", changes=changes
        )
        image = str(daemon.api.inspect_image(name)["Id"])
    progress(f"base {name}: ready; BASE_IMAGE={STAND_IN} takes it for arms with Python {python}")
    return image


def _refuse_stand_in(daemon: Daemon, reference: str) -> None:
    """Raises EngineError of a stand-in that is not here: no registry has it, and what one has by that name is
    somebody else's."""
    for python in RELEASES:
        if reference == name_stand_in(python):
            raise EngineError(
                f"the stand-in base {reference} is not in the engine ({daemon.endpoint.source})",
                f"`{name_base_command(python)}` makes it",
            )


def refuse_base(daemon: Daemon, reference: str, text: str, *, laid: bool) -> EngineError:
    """The error for a base image that is not here and not available; names the ways out.

    ``laid``: it is one from elsewhere that the suite is to be laid on.
    """
    if laid:
        return refuse_custom(reference, daemon.endpoint.source, text)
    if find_image(daemon, STAND_IN):
        stand_in = f"a stand-in from `make base` is here: BASE_IMAGE={STAND_IN} takes it"
    else:
        stand_in = f"`make base` and then BASE_IMAGE={STAND_IN}, where no registry can be reached"
    return EngineError(
        f"the base image {reference} is not in the engine ({daemon.endpoint.source}) and can't be "
        f"pulled: {text}",
        f"`docker login` if the registry limits or wants it; BASE_IMAGE=… for a mirror's copy or any image "
        f"with the same Python, venv and pip ({PYTHON} in its name stands for the version); {stand_in}",
    )


def reach_base(daemon: Daemon, reference: str, *, laid: bool) -> bool | None:
    """Whether the registry of a base image answers the engine for it; None: this engine can't be
    asked that, as podman.  ``laid`` as in `refuse_base`.

    Raises:
        EngineError: the registry refuses or is out of reach; names the ways out.
    """
    _refuse_stand_in(daemon, reference)
    try:
        with daemon.calls("asking the registry for the base image"):
            daemon.api.inspect_distribution(reference)
    except Refused as refused:
        if refused.missing and "page not found" in refused.text.lower():
            return None
        raise refuse_base(daemon, reference, refused.text, laid=laid) from refused
    return True


def ensure_room(rooms: Mapping[str, int], data_root: str | None) -> None:
    """Demands that the disk can hold what building these images takes, each in bytes.

    Raises:
        EngineError: it can't.
    """
    if not rooms or data_root is None or not Path(data_root).is_dir():
        return
    free, needed = shutil.disk_usage(data_root).free, count_room(rooms.values())
    if free < needed:
        subject = f"the {' and '.join(rooms)} image{'s need' if len(rooms) > 1 else ' needs'}"
        raise EngineError(
            f"{subject} {needed / 1e9:.0f} GB of free disk to be built, and the engine's folder {data_root} "
            f"has {free / 1e9:.1f} GB",
            MORE_DISK,
        )


def _build(daemon: Daemon, spec: ImageSpec, plan: BuildPlan, progress: Say, *, fresh: bool) -> str:
    word = describe_check if spec.laid else describe_pip
    try:
        with daemon.calls(f"building the {spec.name} image", SILENT_S):
            for line in follow_build(
                daemon.api.build(
                    fileobj=io.BytesIO(build_context(spec)),
                    custom_context=True,
                    tag=plan.tag,
                    labels=dict(plan.labels),
                    buildargs=dict(plan.arguments),
                    # What docker's client is configured with is for nobody else, least of all a password.
                    use_config_proxy=False,
                    nocache=fresh,
                    rm=True,
                    forcerm=True,
                    decode=True,
                )
            ):
                if words := word(line):
                    progress(f"image {spec.name}: {words}")
            return str(daemon.api.inspect_image(plan.tag)["Id"])
    except Refused as refused:
        explained = explain_unfit(spec.base, refused.text) if spec.laid else None
        unfit = explained or explain_python(spec, refused.text)
        error = unfit or daemon.endpoint.error(f"building the {spec.name} image", refused.text)
        raise error from refused


_CHATTER = ("--->", "Removing intermediate container", "Step ")
"""What the classic builder says about its own steps; the commands' output is what tells."""


def follow_build(events: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """The output of a build's commands, by lines.

    Raises:
        Refused: one of the events is an error; its text begins with all of that output, which holds
            the reason where a command failed.
    """
    said: list[str] = []
    for event in _follow(events, said):
        for line in str(event.get("stream", "")).splitlines():
            text = " ".join(line.split())
            if text and not text.startswith(_CHATTER):
                said.append(text)
                yield text


def follow_pull(events: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """How far an image has come, in words: ``3 of 7 layers``.

    Raises:
        Refused: one of the events is an error.
    """
    layers: dict[str, str] = {}
    for event in _follow(events, []):
        layer, status = str(event.get("id", "")), str(event.get("status", ""))
        # Other events have an id too: the first one's is the image's tag.
        if layer in layers or status in {"Pulling fs layer", "Already exists"}:
            layers[layer] = status
        if status == "Pull complete" and layer in layers:
            here = sum(state in {"Pull complete", "Already exists"} for state in layers.values())
            yield f"{here} of {len(layers)} layers"


def _follow(events: Iterator[Mapping[str, Any]], said: list[str]) -> Iterator[Mapping[str, Any]]:
    """The events up to an error, whose text begins with what was ``said`` by then."""
    for event in events:
        if "error" in event:
            # Nothing comes after it; only a stream that was read to its end frees its connection.
            for _ in events:
                continue
            raise Refused(None, "\n".join([*said, str(event["error"])]))
        yield event
