"""What a scenario is: a declaration that needs no TensorFlow, and a ``prepare`` that does.

``prepare(device=…, **params)`` does everything untimed and returns a `Prepared`: the step to time and a
check of its result.  It imports TensorFlow inside, so that listing and planning are instant.
The measuring loop owns the fence, so no scenario can forget it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from suite.model import Cell, Check, Param, ProfileName, Work, cell_id

DATA_SEED = 20_261_121
"""The seed of every operand, input and initial weight: the same on all arms and in all campaigns."""

PROFILES: tuple[ProfileName, ...] = ("smoke", "quick", "standard", "full")


class Inapplicable(Exception):
    """Raised by ``prepare``: this device can't do the cell; the text is the reason to print."""


class WrongResult(Exception):
    """Raised by a check: the step's result is not what it has to be; there is no number then."""


@dataclass(frozen=True, kw_only=True)
class GraphProof:
    """The cell's work happens in graphs: nodes of these operation types must have been executed
    on the cell's device.  Several names for one operation (``MatMul``, ``_MklMatMul``) are given
    as one group; every group needs at least one node, and no node of a group may be elsewhere.
    ``cpu`` are groups that belong on the CPU, whatever the cell's device: of a cell about that.
    ``least``: every other group needs so many, where the cell counts on their number."""

    groups: tuple[tuple[str, ...], ...]
    cpu: tuple[tuple[str, ...], ...] = ()
    least: int = 1


@dataclass(frozen=True, kw_only=True)
class TensorProof:
    """The cell's work is eager, or one kernel of XLA's: ``tensors`` picks, from the result of the first
    call, those that must lie on the cell's device; or makes them once more, where the step fetches."""

    tensors: Callable[[Any], list[Any]]


@dataclass(frozen=True, kw_only=True)
class Resident:
    """Tensors whose bytes lie on a device (``/CPU:0`` or ``/GPU:0``) before the step begins.

    That an operation ran there is not enough: TensorFlow keeps int32 tensors of a GPU in the host's
    memory, and sends them at every step.
    """

    device: str
    tensors: Sequence[Any]


def lay(device: str, *arrays: Any) -> Resident:
    """NumPy's arrays as tensors on a device."""
    import tensorflow as tf

    with tf.device(device):
        return Resident(device=device, tensors=[tf.constant(array) for array in arrays])


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A cell ready to be timed.

    ``step`` is one call.  ``check`` takes the result of the last timed call, runs after the
    samples, untimed, and raises `WrongResult`.  ``traces`` counts the traces of the step's
    functions so far: while they grow, the cell is still warming up.
    ``on`` says where the cell's work belongs: the ``arm``'s device, or the ``cpu`` on every arm.
    ``proof`` None: the cell runs no TensorFlow operation, so there is nothing to place.
    ``resident`` is what the cell's id says lies on a device before the step begins.
    ``enqueues``: on a GPU the step returns before its work is done, so that the enqueue fraction
    has a meaning.  ``run_up`` is what has to happen, watched and untimed, before the one call that a
    one-shot cell times, where that call is not the first.  ``close`` lets go of what the step holds
    (iterators, files).
    """

    step: Callable[[], object]
    check: Callable[[Any], Check]
    proof: GraphProof | TensorProof | None
    on: Literal["arm", "cpu"] = "arm"
    resident: Resident | None = None
    enqueues: bool = False
    traces: Callable[[], int] = field(default=lambda: 0)
    run_up: Callable[[], object] | None = None
    close: Callable[[], None] = field(default=lambda: None)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One cell of a scenario: the value of every axis, the profiles that hold it, the arms on
    which it has a meaning (none named: all), and whether people asked about just this one.
    """

    params: Mapping[str, Param]
    profiles: tuple[ProfileName, ...]
    arms: tuple[str, ...] = ()
    asked_about: bool = False


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One case: its name, its axes, its points, and how to prepare one of them.

    ``question`` is what a cell answers; ``{axis}`` in it is filled in.  ``work`` declares what one
    call gets done.  ``prepare`` takes ``device`` (``/CPU:0`` or ``/GPU:0``, the arm's) and the axes
    as keywords; None: the host measures it, or the start-up sequence, whose stage is ``startup`` or,
    without it, the one that the axis ``stage`` names.
    ``reads_files``: it keeps its data in the scratch space (`suite.worker.scenario.scratch`).
    """

    family: str
    case: str
    about: str
    question: str
    axes: tuple[str, ...]
    points: tuple[Point, ...]
    work: Callable[..., Work]
    prepare: Callable[..., Prepared] | None
    sweep: str | None = None
    one_shot: bool = False
    by_host: bool = False
    startup: str | None = None
    reads_files: bool = False

    def cells(self) -> list[Cell]:
        """Every cell of the scenario, in declared order.

        Raises:
            ValueError: a point does not bind exactly the declared axes.
        """
        cells = []
        for point in self.points:
            if set(point.params) != set(self.axes):
                raise ValueError(
                    f"{self.family}.{self.case}: {dict(point.params)} binds other axes than {self.axes}"
                )
            params = {axis: point.params[axis] for axis in self.axes}
            cells.append(
                Cell(
                    id=cell_id(self.family, self.case, params),
                    scenario=self.family,
                    case=self.case,
                    params=params,
                    question=self.question.format(**params),
                    work=self.work(**params),
                    profiles=[name for name in PROFILES if name in point.profiles],
                    arms=list(point.arms),
                    sweep=self.sweep,
                    one_shot=self.one_shot,
                    asked_about=point.asked_about,
                    by_host=self.by_host,
                    reads_files=self.reads_files,
                )
            )
        return cells
