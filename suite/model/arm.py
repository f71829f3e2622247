"""An arm: what runs a cell, said once as a value that everybody asks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from suite.ranges import NAME

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
    """

    name: Annotated[str, NAME]
    image: str
    gpu: bool
    tensorflow: str | None = None
    control: Control | None = None
    of: str | None = None


def control_of(arm: Arm, control: Control) -> Arm:
    """The arm as a control, under the arm's name and what it is for: ``cpu-twin``, ``cuda-hidden``."""
    gpu = arm.gpu and control != "hidden"
    return replace(arm, name=f"{arm.name}-{control}", gpu=gpu, control=control, of=arm.name)
