"""The arms that there are, which of them this machine can run, and how they are given its GPU."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from suite import codec
from suite.errors import GpuError, NoGpuError, UsageError
from suite.host.engine import Engine, GpuRequest
from suite.host.gpu.choice import ALL_GPUS, name_gpus
from suite.host.machine.identity import hide
from suite.host.provision.custom_image import CUSTOM
from suite.host.provision.image_table import ImageSpec, name_lock_command, read_specs
from suite.model import Arm, control_of, family_of, on_device, version_of

AUTO = "auto"

FEWEST_VERSIONS = 2
"""Of one version there is nothing to compare."""

Known = Mapping[str, Arm]
"""Every arm that can be asked for, by name."""


def list_arms(specs: Mapping[str, ImageSpec]) -> Known:
    """The arms of these images: one each, and one more of each with a GPU, which is hidden from it."""
    arms = []
    for spec in specs.values():
        arm = Arm(name=spec.name, image=spec.name, gpu=spec.gpu, tensorflow=spec.tensorflow)
        arms += [arm, control_of(arm, "hidden")] if spec.gpu else [arm]
    return {arm.name: arm for arm in arms}


@functools.cache
def known_arms() -> Known:
    """Those of docker/images.toml."""
    return list_arms(read_specs())


@dataclass(frozen=True, kw_only=True)
class Arms:
    """The arms that will run, how those with a GPU are given it, and why others are left out.

    ``gpus`` are by `Arm.device`: of a campaign with one GPU the only request stands under None.  ``cpus`` is
    how many CPUs there are to bind their processes to; 0: none can be bound to fewer than all.
    """

    run: tuple[Arm, ...]
    gpus: Mapping[str | None, GpuRequest] = field(default_factory=dict)
    not_run: Mapping[str, str] = field(default_factory=dict)
    cpus: int = 0


def check_arms(wanted: Sequence[str], gpu: str | None = None) -> None:
    """Whether these names make sense together, and with ``gpu``; no machine is looked at.

    Raises:
        UsageError: an arm is unknown, or named twice beside others, or none is named; or every GPU is asked
            for, and no arm that has one, or one arm twice.
    """
    known = known_arms()
    auto = tuple(wanted) == (AUTO,)
    unknown = [name for name in wanted if name not in known]
    doubled = len(set(wanted)) < len(wanted)
    for name in () if auto else unknown:
        if command := name_lock_command(name):
            raise UsageError(
                f"ARMS={' '.join(wanted)!r}: there is no lock of {name} yet; known are {', '.join(known)}",
                f"`{command}` makes it, and its row in docker/images.toml",
            )
    if not auto and (unknown or (doubled and len(wanted) != 2) or not wanted):
        raise UsageError(
            f"ARMS={' '.join(wanted)!r}: each of {', '.join(known)} at most once, or {AUTO}; or one of "
            "them twice and no other, which measures it against itself",
            'such as ARMS="cpu cuda"',
        )
    if gpu == ALL_GPUS and not auto and not any(known[name].gpu for name in wanted):
        raise UsageError("GPU=all, but no requested arm has a GPU", "leave GPU out")
    if gpu == ALL_GPUS and doubled:
        raise UsageError(
            "GPU=all compares all GPUs, and an arm that is named twice is compared with itself",
            "name one GPU, or each arm once",
        )


def check_versions(wanted: Sequence[str], *, laid: bool) -> None:
    """Whether these arms ask who wins of one version alone; no machine is looked at.

    The first of each family are rivals, and compare devices where they are of one TensorFlow and Keras.  What
    the plain rows pin is for their author to say.  ``laid``: the arm with a GPU runs in an image of somebody
    else's (CUDA_IMAGE), of whose versions only its documents will tell.

    Raises:
        UsageError: they are of different versions.
    """
    known, specs = known_arms(), read_specs()
    rivals: dict[tuple[str, object], Arm] = {}
    for arm in (known[name] for name in wanted if name != AUTO):
        if not (laid and arm.image == CUSTOM):
            rivals.setdefault((family_of(arm.of or arm.name), arm.control), arm)
    if not any(map(version_of, rivals.values())):
        return
    found = {arm.name: specs[arm.image] for arm in rivals.values()}
    for package, pins in (
        ("TensorFlow", {name: spec.tensorflow for name, spec in found.items()}),
        ("Keras", {name: spec.keras for name, spec in found.items()}),
    ):
        if len({*pins.values()} - {None}) > 1:
            told = ", ".join(f"{name} has {package} {pin}" for name, pin in pins.items() if pin)
            raise UsageError(
                f"ARMS={' '.join(wanted)!r}: {told}: who wins would be asked of different versions",
                _name_fitting(wanted, rivals, specs),
            )


def _name_fitting(
    wanted: Sequence[str],
    rivals: Mapping[tuple[str, object], Arm],
    specs: Mapping[str, ImageSpec],
) -> str:
    """What helps where rivals are of different versions: the arms of one that every family has."""
    remedy = "name arms of one version first in each family"
    families: dict[tuple[str, object], list[Arm]] = {}
    for arm in known_arms().values():
        families.setdefault((family_of(arm.of or arm.name), arm.control), []).append(arm)

    def read_pins(arm: Arm) -> tuple[str | None, str | None]:
        return specs[arm.image].tensorflow, specs[arm.image].keras

    for model in sorted(rivals.values(), key=lambda arm: not version_of(arm)):
        fitting = [
            next((a.name for a in (rival, *families[of]) if read_pins(a) == read_pins(model)), None)
            for of, rival in rivals.items()
        ]
        if None not in fitting:
            others = {*wanted} - {arm.name for arm in rivals.values()} - {*fitting}
            names = [*filter(None, fitting), *(name for name in wanted if name in others)]
            return f'{remedy}, such as ARMS="{" ".join(names)}"'
    return remedy


def name_arms(wanted: Sequence[str]) -> tuple[Arm, ...]:
    """The arms of these names; one that is named a second time runs against itself, as a control."""
    arms = [known_arms()[name] for name in wanted]
    return tuple(
        control_of(arm, "again") if arm in arms[:place] else arm for place, arm in enumerate(arms)
    )


def auto_arms(*, gpu: bool) -> tuple[Arm, ...]:
    """The arms that run where none was named: the first, and the first with a GPU where there is one."""
    known = known_arms()
    first = next(arm for arm in known.values() if not arm.gpu)
    return (first, next(arm for arm in known.values() if arm.gpu)) if gpu else (first,)


def name_versions(versions: Sequence[str], family: str) -> tuple[str, ...]:
    """The arms of a family that run these versions of TensorFlow, or have what else stands behind the @ of an
    arm's name (``keras-3.12``); the version of the family's plain arm is that arm.

    Raises:
        UsageError: there is no arm of a version, or there are not two different ones.
    """
    asked = f"VERSIONS={' '.join(versions)[:99]!r}"
    names = []
    for version in versions:
        name = _find_version(version, family)
        if name is None:
            name = f"{family}@{version}"
            raise UsageError(
                f"{asked}: there is no arm {name[:99]}; versions of {family} are "
                f"{', '.join(_list_versions(family))}",
                _name_remedy(versions, family, name),
            )
        names.append(name)
    if len(names) < FEWEST_VERSIONS or len(set(names)) < len(names):
        raise UsageError(
            f"{asked}: a list of versions has two at least, and each once",
            'such as VERSIONS="2.20 2.21"',
        )
    return tuple(names)


def _find_version(version: str, family: str) -> str | None:
    """The arm of a family that runs a version; None: there is none."""
    known, name = known_arms(), f"{family}@{version}"
    plain = known[family].tensorflow or ""
    if name not in known and version in {plain, plain.rpartition(".")[0]}:
        return family
    return name if name in known and not known[name].control else None


def _list_versions(family: str) -> list[str]:
    """What can be named of a family: its plain arm's version, and what stands behind the @ of the others."""
    known = known_arms()
    arms = (arm for arm in known.values() if not arm.control and family_of(arm.name) == family)
    versions = (arm.name.partition("@")[2] for arm in arms)
    plain = (known[family].tensorflow or "").rpartition(".")[0]
    return [*dict.fromkeys(filter(None, [plain, *versions]))]


def _name_remedy(versions: Sequence[str], family: str, name: str) -> str:
    """What helps where a family has no arm of a version: to make it, or a family that has all of them."""
    if command := name_lock_command(name):
        return f"`{command}` makes its lock, and its row in docker/images.toml"
    for other in (arm.name for arm in auto_arms(gpu=True) if arm.name != family):
        arms = [arm for version in versions if (arm := _find_version(version, other))]
        if len(arms) == len(versions):
            return f'ARMS="{" ".join(arms)}" compares these versions of {other}'
    return 'such as VERSIONS="2.20 2.21"'


def choose_family(engine: Engine, gpu: str | None) -> str:
    """The arms of which versions are compared here: those with a GPU where there is one.

    Raises:
        GpuError: there is a GPU, and the engine won't pass it through.
    """
    first, with_gpu = auto_arms(gpu=True)
    try:
        engine.find_gpu(None if gpu == ALL_GPUS else gpu)
    except NoGpuError:
        return first.name
    return with_gpu.name


def resolve_arms(engine: Engine, wanted: Sequence[str], gpu: str | None) -> Arms:
    """Which arms can run here, before any image is built; ``gpu`` is `ALL_GPUS`, or as `Engine.find_gpu`
    takes it.

    Raises:
        UsageError: as `check_arms`.
        GpuError: an arm that needs a GPU was named, or every GPU was asked for, and there is none; or the
            engine won't pass one through.
    """
    check_arms(wanted, gpu)
    auto = tuple(wanted) == (AUTO,)
    arms = auto_arms(gpu=True) if auto else name_arms(wanted)
    if gpu == ALL_GPUS:
        return spread_arms(arms, find_gpus(engine), engine)
    gpus: dict[str | None, GpuRequest] = {}
    try:
        if any(arm.gpu for arm in arms):
            gpus[None] = engine.find_gpu(gpu)
    except NoGpuError as error:
        if not auto:
            raise
        missed = {arm.name: error.what for arm in arms if arm.gpu}
        return Arms(run=auto_arms(gpu=False), not_run=missed)
    return Arms(run=arms, gpus=gpus)


def find_gpus(engine: Engine) -> dict[str, str | None]:
    """The UUIDs of the GPUs of the engine's machine, by the names that `Engine.find_gpu` takes; at least one
    GPU.

    Raises:
        GpuError: there is none, or nothing lists them.
    """
    gpus = name_gpus(engine.list_gpus())
    if not gpus:
        engine.find_gpu(None)
        raise GpuError(
            "GPU=all: the engine gives a GPU, but nothing here lists the GPUs",
            "`nvidia-smi -L` must work on the engine's machine; or name one GPU",
        )
    return gpus


def spread_arms(arms: Sequence[Arm], uuids: Mapping[str, str | None], engine: Engine) -> Arms:
    """These arms, each that has a GPU once on each of those GPUs.

    A worker that computes on another GPU than its own is refused, where the UUID of that is known.

    Raises:
        GpuError: as `Engine.find_gpu`.
    """
    gpus: dict[str | None, GpuRequest] = {}
    for device, uuid in uuids.items():
        request = engine.find_gpu(device)
        gpus[device] = replace(request, uuid=uuid or request.uuid)
    hashes = {device: uuid and hide(codec.hash_uuid(uuid)) for device, uuid in uuids.items()}
    run: list[Arm] = []
    for arm in arms:
        run += [on_device(arm, *gpu) for gpu in hashes.items()] if arm.gpu else [arm]
    return Arms(run=tuple(run), gpus=gpus)
