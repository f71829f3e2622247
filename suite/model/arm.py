"""An arm: what runs a cell, said once as a value that everybody asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from suite.input_limits import ARM

Control = Literal["twin", "again", "hidden"]
"""An arm of which the truth is known.  ``twin``: its arm's second, short invocation of a block.  ``again``:
its arm once more as an arm of its own, in a campaign of one image against itself.  ``hidden``: its
arm's image with the GPU hidden, where a person asks for that and where it controls the image."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What runs a cell: an image, with the GPU or without.

    ``image`` is a row of docker/images.toml.  ``tensorflow`` is the version that the image's lock pins;
    None: not known, such as where somebody else chose it.  A ``control`` is one ``of`` another arm;
    one that a person asks for by name can be of an arm that the plan does not have.

    Where a campaign has several GPUs, ``device`` is the one that this arm is given, as ``GPU=`` takes it
    (``1``, or ``0:1`` for a MIG instance), and ``uuid`` the hash of its UUID (None: nothing told it);
    without a device an arm has the GPU that the whole campaign has, or none.
    """

    name: Annotated[str, ARM]
    image: str
    gpu: bool
    tensorflow: str | None = None
    control: Control | None = None
    of: str | None = None
    device: str | None = None
    uuid: str | None = None


def on_device(arm: Arm, device: str, uuid: str | None) -> Arm:
    """The arm on one of several GPUs: ``cuda:1``."""
    return replace(arm, name=f"{arm.name}:{device}", device=device, uuid=uuid)


def family_of(name: str) -> str:
    """What the name of a version's arm begins with: ``cpu`` of ``cpu@2.20``, and of ``cpu``."""
    return name.partition("@")[0]


def name_kind(arm: Arm) -> str:
    """What the arm is called whichever GPU it has: ``cuda`` of ``cuda:1``."""
    return arm.name.partition(":")[0]


def control_of(arm: Arm, control: Control) -> Arm:
    """The arm as a control, under the arm's name and what it is for: ``cpu-twin``, ``cuda-hidden``.

    With its GPU hidden an arm is the same beside every GPU: that of ``cuda:1`` is ``cuda-hidden``, too.
    """
    if control != "hidden":
        return replace(arm, name=f"{arm.name}-{control}", control=control, of=arm.name)
    plain = name_kind(arm)
    return replace(
        arm, name=f"{plain}-hidden", gpu=False, control=control, of=plain, device=None, uuid=None
    )


def version_of(arm: Arm) -> str:
    """What stands behind the @ of an arm's name, or of the name of what it is a control of: ``2.20`` of
    ``cpu@2.20`` and of its twin; empty: its software is that of its family's plain arm."""
    return (arm.of or arm.name).partition(":")[0].partition("@")[2]


def group_versions(arms: Iterable[Arm]) -> list[tuple[Arm, ...]]:
    """The arms of one family on one device, in their order, of every family of which there are several; an
    arm without its GPU is of another family than with it, and an arm once more is no version."""
    groups: dict[tuple[str, Control | None, str], list[Arm]] = {}
    for arm in arms:
        if arm.control in {None, "hidden"}:
            family, device = family_of(arm.of or name_kind(arm)), arm.name.partition(":")[2]
            groups.setdefault((family, arm.control, device), []).append(arm)
    return [tuple(group) for group in groups.values() if len(group) > 1]
