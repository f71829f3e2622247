"""What a script as people post it printed, and how that is borne out once it is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from suite.model import Check

Nodes = list[tuple[str, str, str]]
"""The operation type, device and name of every node of the graphs that were executed."""


@dataclass(frozen=True, kw_only=True)
class Printed:
    """One number of a script: the seconds by its own timer.

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
