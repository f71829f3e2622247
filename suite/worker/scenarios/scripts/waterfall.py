"""What the waterfalls share: stages one change away from each other, and where their work is done."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

from suite.cells.cell import Choice, Ladder, Param, Step, cell_id
from suite.cells.changes import CHOICES, WATERFALLS
from suite.cells.scenario import Ops, Point, Scenario, cell, cross
from suite.cells.traits import FULL, SMOKE, STANDARD, VERDICT, Effect, Profiles, Removed
from suite.worker.scenario.scenario import Printed, list_halves
from suite.worker.scenarios.mlp.training import MATMUL_PROOF, TRAINING_PROOF

Run = TypeVar("Run")

On = Literal["arm", "cpu"]

ARMS_OF: dict[On, tuple[str, ...]] = {"arm": (), "cpu": ("gpu",)}
"""Where the work is done, and on which arms that has a meaning (none named: all): ``cpu`` is what
people compare a GPU with, and another thing than the CPU arm only beside a visible GPU."""


def telling(on: On, **_: Param) -> Profiles:
    """Of a stage that the profile standard has to tell causes apart, on the arm's device alone."""
    return STANDARD if on == "arm" else FULL


PROFILES_FROM: dict[str, Profiles | Callable[..., Profiles]] = {
    "smoke": SMOKE,
    "verdict": lambda on, **_: VERDICT if on == "arm" else FULL,
    "standard": STANDARD,
    "full": FULL,
    "telling": telling,
}
"""The profiles of a stage by the shortest that holds it."""

SCRIPT = "script"
"""The stage that is what a script as people post it prints."""


@dataclass(frozen=True)
class Stage:
    """One step of a waterfall: its name, what is new in it, and which setting that changes.

    ``new`` says in at most eight words what differs from the stage before (of the first: what the
    asker does).  ``change`` is the one setting that does, and ``removes`` the cause that this takes away.
    ``profiles`` are those of its cells, where the case has none of its own.  ``ons`` is where it is measured.
    ``effect`` is what the change is to whoever makes it, and ``costs`` what it costs besides; or it is
    ``like`` a change along an axis.
    The stage of the name `SCRIPT` is the script itself, in a process of its own.
    """

    name: str
    new: str
    change: Mapping[str, Any] = field(default_factory=dict)
    removes: Removed | None = None
    profiles: Profiles | Callable[..., Profiles] = FULL
    ons: Sequence[On] = tuple(ARMS_OF)
    effect: Effect = "timing"
    costs: str = ""
    like: Choice | None = None


def halves(stage: Stage) -> tuple[Point, ...]:
    """The cells of a stage that has no other axis, with its work on the arm's device and on the CPU."""
    return cross(stage=stage.name, on=stage.ons)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a script's timer holds, where its model is, and in which types its data are; by default as posted.
    No case has all of these.

    ``process``: a ``fresh`` one runs the script and nothing else; one is ``warm`` that has worked before.
    ``model``: made outside of ``tf.device``, so that beside a GPU it lies there whichever device is then
    named; or on the device that is timed.  ``fetch``: the product, or the loss of every step, is brought to
    Python by ``.numpy()``.  ``first_call``: in the time, or before it.

    Of products: ``execution`` has a graph and a session for each, or is eager; ``operands`` are created
    inside the timer or before.  Of clones: which one of a process is timed.

    Of loops that train: the ``optimizer``'s variables are made by the first trace, or before.  ``handed``:
    model, optimizer and loss are arguments of the `tf.function`; or it closes over them.  ``labels``: of
    shape (n,) or (n, 1).  ``bits`` of an input: NumPy's usual 64, or 32.  ``data`` and ``batch`` of slices.
    ``timed`` of a dataset: a whole epoch with its tracing, one with the step traced before, or single steps
    on a dataset that is there.

    Of ``Model.fit``: with its progress ``bar``; which ``epoch`` of a fresh model is timed; 0: those once
    warm, one after the other.  Or a ``loop`` of one's own, with a ``metric`` or without; ``at_once``: so many
    of the script's batches are one.
    """

    process: Literal["fresh", "warm"] = "fresh"
    model: Literal["anywhere", "placed"] = "anywhere"
    fetch: bool = True
    first_call: Literal["timed", "apart"] = "timed"
    execution: Literal["session", "eager"] = "session"
    operands: Literal["created inside", "created before"] = "created inside"
    clone: Literal["the first", "later ones"] = "the first"
    optimizer: Literal["unbuilt", "built"] = "unbuilt"
    handed: bool = True
    labels: Literal["row", "column"] = "row"
    bits: Literal[64, 32] = 64
    data: Literal["host", "device"] = "host"
    batch: int = 10
    timed: Literal["tracing and epoch", "epoch", "step"] = "tracing and epoch"
    bar: bool = True
    epoch: int = 1
    loop: Literal["fit", "own"] = "fit"
    metric: bool = True
    at_once: int = 1


@dataclass(frozen=True, kw_only=True)
class Waterfall:
    """The stages of a case, from what people post to what they meant to time.

    ``title`` says what people do, in a few words; times are given a ``unit``, of the work or ``by_call``.
    What is timed happens once in a process until the stage
    ``warm``, so it has one sample an invocation.
    ``printed`` are the stages whose numbers the script itself prints, ``started`` is the one that the
    start-up sequence measures.
    ``axes`` are in the order of the ids; a stage can lack one.  ``over`` are those whose values have a ladder
    each.  ``make_points`` gives a stage's points; ``fair``, by these axes and ``on``, the cell of another
    case that ends the ladder where the last stage has none.
    """

    case: str
    title: str
    stages: tuple[Stage, ...]
    warm: str
    printed: Sequence[str] = (SCRIPT,)
    started: str | None = None
    unit: str = "example"
    by_call: bool = False
    axes: Sequence[str] = ("stage", "on")
    over: Sequence[str] = ()
    make_points: Callable[[Stage], tuple[Point, ...]] = halves
    fair: Callable[..., str] | None = None

    @cached_property
    def _names(self) -> list[str]:
        return [stage.name for stage in self.stages]

    @cached_property
    def _points(self) -> dict[str, tuple[Point, ...]]:
        return {stage.name: self.make_points(stage) for stage in self.stages}

    def settings(self, name: str) -> Settings:
        """The settings of a stage: those of the one before, but for its change."""
        settings = Settings()
        for stage in self.stages[: self._names.index(name) + 1]:
            settings = replace(settings, **stage.change)
        return settings

    def is_cold(self, name: str) -> bool:
        """Whether what a stage times happens once in a process."""
        return self._names.index(name) < self._names.index(self.warm)

    def declare(
        self, prepare: Callable[..., Any], script: Callable[..., Any], question: str, **same: Any
    ) -> tuple[Scenario, ...]:
        """A scenario for each stage: it is measured by the script in a process of its own, or by what
        ``prepare`` gives; and what people compare a GPU with is a reference, and no work to choose a device
        for.  ``{new}`` in the ``question`` is what is new in a stage; ``same`` are the fields that all
        have."""
        return tuple(
            Scenario(
                **{
                    "family": "asked",
                    "case": self.case,
                    "question": question.replace("{new}", stage.new),
                    "axes": tuple(
                        axis for axis in self.axes if axis in self._points[stage.name][0]
                    ),
                    "points": self._points[stage.name],
                    "profiles": stage.profiles,
                    "arms": lambda on, **_: ARMS_OF[on],
                    "long_budget": True,
                    "prepare": None if stage.name in {*self.printed, self.started} else prepare,
                    "startup": self.case if stage.name == self.started else None,
                    "script": script if stage.name in self.printed else None,
                    "process": f"asked.{self.case}" if stage.name in self.printed else None,
                    "role": lambda on, **_: "reference" if on == "cpu" else "work",
                    "device": lambda on, **_: on,
                    "one_shot": self.is_cold(stage.name),
                    "way": self.find_ladder,
                    **same,
                }
            )
            for stage in self.stages
        )

    def prove(self, stage: str, on: On, **_: Param) -> Ops:
        """The proof of a cell that trains: where its model lies elsewhere, the optimizer's updates are there,
        beside its variables."""
        there = self.settings(stage).model == "placed" or on == "arm"
        return TRAINING_PROOF if there else MATMUL_PROOF

    def find_ladder(self, **axes: Param) -> Ladder | None:
        """The ladder of a cell: the stages in the same place, from the first that has a cell there; None:
        it is not on it, or alone."""
        place = {axis: axes[axis] for axis in (*self.over, "on")}
        every = [(self._find_cell(stage, place), stage) for stage in self.stages]
        measured = list(itertools.dropwhile(lambda pair: pair[0] is None, every))
        if len(measured) < 2 or cell_id("asked", self.case, axes) not in dict(measured):
            return None
        changes = ["as asked", *(stage.new for _, stage in measured[1:])]
        return Ladder(
            name=self.case,
            title=self.title,
            unit=self.unit,
            by_call=self.by_call,
            fixed={axis: axes[axis] for axis in self.over},
            on_cpu=axes["on"] == "cpu",
            stages=[
                Step(
                    cell=cell,
                    change=change,
                    # On the arm's own device a model lies there by itself: no fallback is taken away.
                    removes=None
                    if (axes["on"], stage.removes) == ("arm", "fallback")
                    else stage.removes,
                    effect=(stage.like or stage).effect,
                    costs=(stage.like or stage).costs,
                    called=stage.like.larger if stage.like else "",
                )
                for (cell, stage), change in zip(measured, changes, strict=True)
            ],
        )

    def _find_cell(self, stage: Stage, place: Mapping[str, Param]) -> str | None:
        """The cell that measures a stage in that place: its first point there."""
        for point in self._points[stage.name]:
            if place.items() <= point.items():
                params = {axis: point[axis] for axis in self.axes if axis in point}
                return cell_id("asked", self.case, params)
        return self.fair(**place) if self.fair is not None and stage is self.stages[-1] else None


def read_waterfall(case: str, **functions: Any) -> Waterfall:
    """The waterfall of a case as `WATERFALLS` declares it.

    ``functions``: those of its fields that are functions.
    """
    stages = tuple(
        Stage(
            **{
                **row,
                "profiles": PROFILES_FROM[row.get("profiles", "full")],
                "like": CHOICES[row["like"]] if "like" in row else None,
            }
        )
        for row in WATERFALLS[case]["stages"]
    )
    return Waterfall(**{**WATERFALLS[case], "case": case, "stages": stages, **functions})


FIRST_STEP = cell("overhead.startup", stage="step")
"""What a process's first training step takes by itself; a cold cell that trains contains one."""


def placed(device: str, on: On) -> str:
    """The device that the work belongs on: the arm's, or the CPU beside it."""
    return "/CPU:0" if on == "cpu" else device


def by_half(
    run: Callable[[list[str]], Run], bear_out: Callable[..., Printed]
) -> Callable[..., list[Printed]]:
    """What gives what a script prints of each cell that is asked for: it runs once, on a GPU's arm both
    halves, and ``bear_out`` finds the number of a half, and of the cell's other axes."""

    def post(*, device: str, asked: Sequence[Mapping[str, Any]]) -> list[Printed]:
        printed = run(list_halves(device))
        return [bear_out(printed, placed(device, axes["on"]), **axes) for axes in asked]

    return post


def pin(step: Callable[[], Any], on: On) -> Callable[[], Any]:
    """The step, inside ``tf.device("/CPU:0")`` where that is asked for.

    On the arm's own device none is named: TensorFlow puts work there by itself, and naming it would
    cost some microseconds a call that the cells outside this family do not pay.
    """
    if on == "arm":
        return step
    import tensorflow as tf

    def step_on_cpu() -> Any:
        with tf.device("/CPU:0"):
            return step()

    return step_on_cpu
