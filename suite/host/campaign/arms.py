"""The arms that there are, which of them this machine can run, and how they are given its GPU."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from suite.errors import NoGpuError, UsageError
from suite.host.engine import Engine, GpuRequest
from suite.host.provision.images import ImageSpec, read_specs
from suite.model import Arm, control_of

AUTO = "auto"

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
    """The arms that will run, how those with a GPU are given it, and why others are left out."""

    run: tuple[Arm, ...]
    gpu: GpuRequest | None = None
    not_run: Mapping[str, str] = field(default_factory=dict)


def check_arms(wanted: Sequence[str]) -> None:
    """Whether these names make sense together; no machine is looked at.

    Raises:
        UsageError: an arm is unknown, or named twice beside others, or none is named.
    """
    known = known_arms()
    unknown = [name for name in wanted if name not in known]
    repeated = len(set(wanted)) < len(wanted) and len(wanted) != 2
    if tuple(wanted) != (AUTO,) and (unknown or repeated or not wanted):
        raise UsageError(
            f"ARMS={' '.join(wanted)!r}: each of {', '.join(known)} at most once, or {AUTO}; or one of "
            "them twice and no other, which measures it against itself",
            'such as ARMS="cpu cuda"',
        )


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


def resolve_arms(engine: Engine, wanted: Sequence[str], gpu: str | None) -> Arms:
    """Which arms can run here, before any image is built; ``gpu`` as `Engine.find_gpu` takes it.

    Raises:
        UsageError: as `check_arms`.
        GpuError: an arm that needs a GPU was named and there is none; or there is one and the
            engine won't pass it through.
    """
    check_arms(wanted)
    auto = tuple(wanted) == (AUTO,)
    arms = auto_arms(gpu=True) if auto else name_arms(wanted)
    try:
        request = engine.find_gpu(gpu) if any(arm.gpu for arm in arms) else None
    except NoGpuError as error:
        if not auto:
            raise
        missed = {arm.name: error.what for arm in arms if arm.gpu}
        return Arms(run=auto_arms(gpu=False), not_run=missed)
    return Arms(run=arms, gpu=request)
