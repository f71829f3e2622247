"""The arms that there are, which of them this machine can run, and how each is given its GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suite.errors import NoGpuError, UsageError
from suite.host.engine import Engine, GpuRequest
from suite.model import AGAIN, ARM_NAMES, TWIN

AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What runs a cell: the image it takes (``cpu`` or ``cuda``) and whether it is given the GPU.

    ``kind`` is the arm that the worker is told to be: a twin's is that of its arm.
    """

    name: str
    kind: str
    image: str
    gpu: bool


ARMS: Mapping[str, Arm] = {
    name: Arm(name=name, kind=name, image="cpu" if name == "cpu" else "cuda", gpu=name == "cuda")
    for name in ARM_NAMES
}
"""Every arm that can be asked for, by name."""


def find_arm(name: str) -> Arm:
    """The arm of a name; ``cpu-twin`` and ``cpu-again`` are ``cpu`` under another name.

    Raises:
        KeyError: there is none.
    """
    arm = ARMS[name.removesuffix(TWIN).removesuffix(AGAIN)]
    return Arm(name=name, kind=arm.kind, image=arm.image, gpu=arm.gpu)


@dataclass(frozen=True, kw_only=True)
class Arms:
    """The arms that will run, how each is given its GPU, and why others are left out."""

    run: tuple[Arm, ...]
    gpu: Mapping[str, GpuRequest | None]
    not_run: Mapping[str, str]


def check_arms(wanted: Sequence[str]) -> None:
    """Whether these names make sense together; no machine is looked at.

    Raises:
        UsageError: an arm is unknown or named twice, or none is named.
    """
    unknown = [name for name in wanted if name not in ARMS]
    if tuple(wanted) != (AUTO,) and (unknown or len(set(wanted)) != len(wanted) or not wanted):
        raise UsageError(
            f"ARMS={' '.join(wanted)!r}: each of {', '.join(ARMS)} at most once, or {AUTO}",
            'such as ARMS="cpu cuda"',
        )


def auto_arms(*, gpu: bool) -> tuple[Arm, ...]:
    """The arms that run where none was named: the GPU's as well, where there is a GPU."""
    return (ARMS["cpu"], ARMS["cuda"]) if gpu else (ARMS["cpu"],)


def resolve_arms(engine: Engine, wanted: Sequence[str], gpu: str) -> Arms:
    """Which arms can run here, before any image is built.

    Raises:
        UsageError: an arm is unknown or named twice.
        GpuError: an arm that needs a GPU was named and there is none; or there is one and the
            engine won't pass it through.
    """
    if tuple(wanted) == (AUTO,):
        try:
            request = engine.find_gpu(gpu)
        except NoGpuError as error:
            return Arms(run=auto_arms(gpu=False), gpu={"cpu": None}, not_run={"cuda": error.what})
        return Arms(run=auto_arms(gpu=True), gpu={"cpu": None, "cuda": request}, not_run={})
    check_arms(wanted)
    arms = tuple(ARMS[name] for name in wanted)
    requests = {arm.name: engine.find_gpu(gpu) if arm.gpu else None for arm in arms}
    return Arms(run=arms, gpu=requests, not_run={})


def against_itself(arms: Arms) -> Arms:
    """One arm as two: whatever differs between them is false by construction.

    Raises:
        UsageError: there is more than one arm to begin with.
    """
    if len(arms.run) != 1:
        raise UsageError(
            f"one arm is compared with itself; {len(arms.run)} were asked for",
            "name one with ARMS=",
        )
    first = arms.run[0]
    second = find_arm(first.name + AGAIN)
    return Arms(
        run=(first, second),
        gpu={**arms.gpu, second.name: arms.gpu[first.name]},
        not_run={},
    )
