"""What a scenario gives: to the loop the step to time and a check of its result; or what its script printed.

The measuring loop owns the fence, so no scenario can forget it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from suite.model import Check

DATA_SEED = 20_261_121
"""The seed of every operand, input and initial weight: the same on all arms and in all campaigns."""


class Inapplicable(Exception):
    """Raised by ``prepare``: this device can't do the cell; the text is the reason to print."""


class WrongResult(Exception):
    """Raised by a check: the step's result is not what it has to be; there is no number then."""


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
    samples, untimed, and raises `WrongResult`; ``brief`` stands for it, where it is dear, in blocks before
    which it has held (None: it is cheap).  ``traces`` counts the traces of the step's
    functions so far: while they grow, the cell is still warming up.
    ``tensors`` is asked where the scenario's proof is ``results``: it picks, from the result of the first
    call, those that must lie on the cell's device (without it: the result itself); or makes them once more,
    where the step fetches.
    ``resident`` is what the cell's id says lies on a device before the step begins.
    ``enqueues``: on a GPU the step returns before its work is done, so that the enqueue fraction
    has a meaning.  ``warm_start`` is what has to happen, watched and untimed, before the first call that is
    timed, of a one-shot cell the only one.  ``retraces``: every call traces the step's function, so that a
    later one is watched as well.  ``close`` lets go of what the step holds
    (iterators, files).
    """

    step: Callable[[], object]
    check: Callable[[Any], Check]
    brief: Callable[[Any], Check] | None = None
    tensors: Callable[[Any], list[Any]] = field(default=lambda result: [result])
    resident: Resident | None = None
    enqueues: bool = False
    traces: Callable[[], int] = field(default=lambda: 0)
    warm_start: Callable[[], object] | None = None
    retraces: bool = False
    close: Callable[[], object] = field(default=lambda: None)


Nodes = list[tuple[str, str, str]]
"""The operation type, device and name of every node of the graphs that were executed."""


@dataclass(frozen=True, kw_only=True)
class Printed:
    """One number that a script as people post it printed: the seconds by its own timer.

    All else comes after the whole script, untimed.  ``again`` does the same work once more in graphs made
    anew, since TensorFlow shows a graph's placement only while it is made, and returns their nodes;
    ``tensors`` are what the script itself made: the scenario's proof says which of the two is looked at.
    ``check`` raises `WrongResult`.  ``traces``: how often the step was traced meanwhile; None: nobody counts.
    """

    seconds: float
    check: Callable[[], Check]
    again: Callable[[], Nodes] = list
    tensors: Callable[[], list[Any]] = list
    traces: int | None = None


def list_halves(device: str) -> list[str]:
    """The devices that a script times one after the other: the CPU, and then the GPU where there is one."""
    return list(dict.fromkeys(("/CPU:0", device)))
