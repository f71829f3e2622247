"""What the waterfalls share: stages one change away from each other, and where work is pinned."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from suite.cells.cell import Param, Way, cell_id
from suite.cells.cell import Stage as StageOf
from suite.cells.links import cell
from suite.cells.scenario import Point, cross
from suite.cells.traits import ProfileName, Removed

Settings = TypeVar("Settings")

On = Literal["arm", "cpu"]
Profiles = tuple[ProfileName, ...]

ARMS_OF: dict[On, tuple[str, ...]] = {"arm": (), "cpu": ("gpu",)}
"""Where the work is pinned, and on which arms that has a meaning (none named: all): ``cpu`` is what
people compare a GPU with, and another thing than the CPU arm only beside a visible GPU."""

SMOKE: Profiles = ("smoke", "quick", "standard", "full")
QUICK: Profiles = ("quick", "standard", "full")
STANDARD: Profiles = ("standard", "full")
FULL: Profiles = ("full",)

TELLING: dict[str, Any] = {"profiles": STANDARD, "pinned": FULL}
"""Of a stage that the profile standard has to tell causes apart, on the arm's device alone."""

SCRIPT = "script"
"""The stage that is what a script as people post it prints."""


@dataclass(frozen=True)
class Stage(Generic[Settings]):
    """One step of a waterfall: its name, what is new in it, and everything that it sets.

    ``new`` says in at most eight words what differs from the stage before (of the first: what the
    asker does).  ``settings`` differ from those of the stage before in exactly one field.
    ``removes`` is the cause that this takes away.
    ``one_shot``: what is timed happens once in a process, so it has one sample an invocation.
    ``pinned`` are the profiles of its half on the CPU beside a GPU; None: the same.
    The stage of the name `SCRIPT` is the script itself, in a process of its own.
    """

    name: str
    new: str
    settings: Settings
    removes: Removed | None = None
    one_shot: bool = False
    profiles: Profiles = FULL
    pinned: Profiles | None = None

    def profiles_of(self, on: str) -> Profiles:
        """The profiles that have its half on the arm's device, or the one on the CPU beside a GPU."""
        return self.pinned if on == "cpu" and self.pinned is not None else self.profiles


def identify(case: str, axes: Mapping[str, Param]) -> str | None:
    """The id of a cell of this family."""
    return cell_id("asked", case, axes)


def ways(
    case: str,
    title: str,
    stages: tuple[Stage[Any], ...],
    *,
    unit: str = "example",
    by_call: bool = False,
    over: tuple[str, ...] = (),
    cell_of: Callable[[str, Mapping[str, Param]], str | None] = identify,
) -> Callable[..., Way | None]:
    """What gives each cell of a case its way: the case's stages, in the same place.

    ``title`` says what people do, in a few words; times are given a ``unit``, of the work or ``by_call``.
    ``over`` are the axes whose values have a way each.  ``cell_of`` gives the cell that measures a stage,
    by all axes.  The way begins with the first that has one; there is none where all has one cell alone.
    """

    def find_way(**axes: Param) -> Way | None:
        every = [(cell_of(case, {**axes, "stage": one.name}), one) for one in stages]
        there = list(itertools.dropwhile(lambda one: one[0] is None, every))
        if len(there) < 2:
            return None
        changes = ["as asked", *(one.new for _, one in there[1:])]
        return Way(
            name=case,
            title=title,
            unit=unit,
            by_call=by_call,
            fixed={axis: axes[axis] for axis in over},
            pinned=axes["on"] == "cpu",
            stages=[
                StageOf(cell=cell, change=change, removes=_removes(one, axes["on"]))
                for (cell, one), change in zip(there, changes, strict=True)
            ],
        )

    return find_way


def _removes(stage: Stage[Any], on: Param) -> Removed | None:
    """On the arm's own device a model lies there by itself: making it there takes no fallback away."""
    return None if on == "arm" and stage.removes == "fallback" else stage.removes


ASKED: dict[str, Any] = {"arms": lambda on, **_: ARMS_OF[on], "asked_about": True}
"""What every point of this family is."""


def declare(
    case: str, stage: Stage[Any], prepare: Callable[..., Any] | None, script: Callable[..., Any]
) -> dict[str, Any]:
    """What a stage of a case has like every other: it is measured by the script in a process of its own, or
    by what ``prepare`` gives; and what people compare a GPU with is a reference, and no work to choose a
    device for."""
    posted = stage.name == SCRIPT
    return {
        "family": "asked",
        "case": case,
        "prepare": None if posted else prepare,
        "script": script if posted else None,
        "process": f"asked.{case}" if posted else None,
        "role": lambda on, **_: "reference" if on == "cpu" else "work",
        "device": lambda on, **_: on,
        "one_shot": stage.one_shot,
    }


FIRST_STEP = cell("overhead.startup", stage="step")
"""What a process's first training step takes by itself; a cold cell that trains contains one."""


def points(stage: Stage[Any], ons: Iterable[On] = tuple(ARMS_OF)) -> tuple[Point, ...]:
    """The cells of a stage that has no other axis, with its work on the arm's device and pinned."""
    return cross(
        stage=stage.name, on=tuple(ons), **ASKED, profiles=lambda on, **_: stage.profiles_of(on)
    )


def find(stages: tuple[Stage[Settings], ...], name: str) -> Settings:
    """The settings of a stage.

    Raises:
        ValueError: there is no such stage.
    """
    for stage in stages:
        if stage.name == name:
            return stage.settings
    raise ValueError(f"no such stage: {name}")


def placed(device: str, on: On) -> str:
    """The device that the work belongs on: the arm's, or the CPU beside it."""
    return "/CPU:0" if on == "cpu" else device


def pin(step: Callable[[], Any], on: On) -> Callable[[], Any]:
    """The step, inside ``tf.device("/CPU:0")`` where that is asked for.

    On the arm's own device none is named: TensorFlow puts work there by itself, and naming it would
    cost some microseconds a call that the cells outside this family do not pay.
    """
    if on == "arm":
        return step
    import tensorflow as tf

    def pinned() -> Any:
        with tf.device("/CPU:0"):
            return step()

    return pinned
