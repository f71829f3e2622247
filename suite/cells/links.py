"""How a scenario names the other cells that its own are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.cells.cell import Link, Param, cell_id
from suite.cells.traits import Effect


@dataclass(frozen=True, kw_only=True)
class Target:
    """Another cell: of a case by all its axes, or (``name`` None) of the same case, with some changed."""

    name: str | None
    axes: Mapping[str, Param]
    words: str
    effect: Effect | None = None
    costs: str = ""


def vary(words: str | None = None, **axes: Param) -> Target:
    """The cell that differs in these axes alone; none where that is the cell itself.

    ``words`` say what is different there; without them ``with axis=value``.
    """
    said = ", ".join(f"{axis}={value}" for axis, value in axes.items())
    return Target(name=None, axes=axes, words=f"with {said}" if words is None else words)


def cell(name: str, words: str = "", **axes: Param) -> Target:
    """The cell of a case (``family.case``), by all its axes in their declared order."""
    return Target(name=name, axes=axes, words=words)


def resolve(target: Target, name: str, params: Mapping[str, Param]) -> Link | None:
    """The link from the cell of this case and these parameters; None: it would lead to itself.

    Raises:
        ValueError: the case has no such axis.
    """
    if target.name is None and not set(target.axes) <= set(params):
        raise ValueError(f"{name} has not all of the axes {', '.join(target.axes)}")
    axes = target.axes if target.name else {**params, **target.axes}
    if target.name is None and axes == dict(params):
        return None
    family, _, case = (target.name or name).partition(".")
    to = cell_id(family, case, axes)
    return Link(to=to, words=target.words, effect=target.effect, costs=target.costs)
