"""What a scenario declares of its cells, and which others they are compared with; needs no TensorFlow.

``prepare(device=…, **params)`` does everything untimed and returns a
`suite.worker.scenario.scenario.Prepared`.  It imports TensorFlow inside, so that listing and planning are
instant.
"""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from suite.cells.cell import Cell, Ladder, Link, Param, Work, cell_id
from suite.cells.changes import CHOICES
from suite.cells.traits import (
    PROFILES,
    Data,
    Device,
    Dispatch,
    Effect,
    Headline,
    LinkName,
    OverheadName,
    Precision,
    Profiles,
    Role,
)

T = TypeVar("T")

Declared: TypeAlias = T | Callable[..., T]
"""What a scenario declares of all its cells, or as a function of their axes."""


Target: TypeAlias = Link | Callable[[str, Mapping[str, Param]], Link | None]
"""Another cell: a link to it, or what gives the link from the cell of a case and its parameters (`vary`)."""

Links = Mapping[LinkName, Target | Sequence[Target]]


def vary(
    words: str | None = None, *, effect: Effect | None = None, costs: str = "", **axes: Param
) -> Callable[[str, Mapping[str, Param]], Link | None]:
    """The cell that differs in these axes alone; none where that is the cell itself.

    ``words`` say what is different there; without them ``with axis=value``.
    """
    changes = ", ".join(f"{axis}={value}" for axis, value in axes.items())
    said = f"with {changes}" if words is None else words

    def find(name: str, params: Mapping[str, Param]) -> Link | None:
        if not set(axes) <= set(params):
            raise ValueError(f"{name} has not all of the axes {', '.join(axes)}")
        if axes.items() <= params.items():
            return None
        return cell(name, said, effect=effect, costs=costs, **{**params, **axes})

    return find


def cell(
    name: str, words: str = "", *, effect: Effect | None = None, costs: str = "", **axes: Param
) -> Link:
    """The cell of a case (``family.case``), by all its axes in their declared order."""
    family, _, case = name.partition(".")
    return Link(to=cell_id(family, case, axes), words=words, effect=effect, costs=costs)


@dataclass(frozen=True, kw_only=True)
class Ops:
    """The cell's work happens in graphs: nodes of these operation types must have been executed
    on the cell's device.  Several names for one operation (``MatMul``, ``_MklMatMul``) are given
    as one group; every group needs at least one node, and no node of a group may be elsewhere.
    ``cpu`` are groups that belong on the CPU, whatever the cell's device: of a cell about that.
    ``least``: every other group needs so many, where the cell counts on their number.
    ``like`` are further names, with ``*`` for any letters, of which none may be elsewhere."""

    groups: tuple[tuple[str, ...], ...]
    cpu: tuple[tuple[str, ...], ...] = ()
    least: int = 1
    like: tuple[str, ...] = ()


Proof: TypeAlias = Ops | Literal["results"] | None
"""How the device of a cell's work is shown: by the nodes of its graphs; by its ``results``, which lie where
they were made (eager work, or one kernel of XLA's); None: there is no operation."""

Point = Mapping[str, Param]
"""One cell of a scenario: the value of every axis."""


def cross(**axes: Param | Sequence[Param]) -> tuple[Point, ...]:
    """The points of every combination of the axes' values, the last axis the fastest."""
    values = [[v] if isinstance(v, str | int | float) else v for v in axes.values()]
    return tuple(dict(zip(axes, point, strict=True)) for point in itertools.product(*values))


def _apply(declared: Declared[T], axes: Mapping[str, Param]) -> T:
    return declared(**axes) if callable(declared) else declared


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One case: its name, its points, what they are, and how to prepare one of them.

    ``axes`` are in the order of the ids; not said: those of the first point.

    ``question`` is what a cell answers; ``{axis}`` in it is filled in.  ``work`` declares what one
    call gets done.  ``prepare`` takes ``device`` (``/CPU:0`` or ``/GPU:0``, the arm's) and the axes
    as keywords; None: the host measures it, or the start-up sequence, whose stage is ``startup`` or,
    without it, the one that the axis ``stage`` names.
    ``script`` takes the place of ``prepare`` in cells with a ``process`` and no ``cpus``: it takes
    ``device`` and ``asked``, the axes of every cell asked for, and returns a
    `suite.worker.scenario.scenario.Printed` of each.
    ``reads_files``: it keeps its data in the scratch space (`suite.worker.scenario.scratch`).
    ``arms``: those on which a cell has a meaning (``gpu``: those with a GPU, ``cpu``: those without; none
    named: all).
    What a field of the rest means is said at `Cell`; one that depends on the axes is a function of them.
    ``choices`` are names of `suite.cells.changes.CHOICES`, by axis.  ``work_key`` is the case unless it is
    said.  ``proof`` serves the worker as it does whoever reads its records.
    """

    family: str
    case: str
    question: str
    points: tuple[Point, ...]
    axes: tuple[str, ...] = ()
    work: Declared[Work]
    prepare: Callable[..., Any] | None
    role: Declared[Role] = "work"
    work_key: Declared[str] = ""
    proof: Declared[Proof]
    profiles: Declared[Profiles] = ("full",)
    arms: Declared[tuple[str, ...]] = ()
    long_budget: Declared[bool] = False
    sweep: str | None = None
    headline: Headline | None = None
    larger: tuple[str, ...] = ()
    one_shot: bool = False
    by_host: bool = False
    startup: str | None = None
    reads_files: bool = False
    process: Declared[str | None] = None
    cpus: Declared[int | None] = None
    script: Callable[..., Sequence[Any]] | None = None
    precision: Declared[Precision] = "fp32"
    device: Declared[Device] = "arm"
    data: Declared[Data | None] = None
    dispatch: Declared[Dispatch | None] = None
    price: Declared[OverheadName | None] = None
    priced: Declared[bool] = False
    control: Declared[bool] = False
    extra_work: Declared[float | None] = None
    links: Declared[Links] = field(default_factory=dict)
    way: Declared[Ladder | None] = None
    choices: Declared[Mapping[str, str]] = field(default_factory=dict)

    def cells(self) -> list[Cell]:
        """Every cell of the scenario, in declared order.

        Raises:
            ValueError: a point does not bind exactly the declared axes.
        """
        axes = self.axes or tuple(self.points[0])
        cells = []
        for point in self.points:
            if set(point) != set(axes):
                raise ValueError(f"{self.family}.{self.case}: {point} binds other axes than {axes}")
            cells.append(self._make({axis: point[axis] for axis in axes}))
        return cells

    def proof_of(self, params: Mapping[str, Param]) -> Proof:
        """How the device of the work is shown of the cell with these axes."""
        return _apply(self.proof, params)

    def _make(self, params: dict[str, Param]) -> Cell:
        proof, profiles = self.proof_of(params), _apply(self.profiles, params)
        traits: dict[str, Any] = {name: _apply(getattr(self, name), params) for name in _TRAITS}
        if proof is None:
            traits["device"] = "none"
        return Cell(
            id=cell_id(self.family, self.case, params),
            scenario=self.family,
            params=params,
            question=self.question.format(**params),
            profiles=[name for name in PROFILES if name in profiles],
            arms=list(_apply(self.arms, params)),
            work_key=_apply(self.work_key, params) or self.case,
            larger=list(self.larger),
            operations=_list_operations(proof),
            choices={axis: CHOICES[name] for axis, name in _apply(self.choices, params).items()},
            links=_resolve(_apply(self.links, params), f"{self.family}.{self.case}", params),
            **traits,
        )


_TRAITS = (
    *(
        "case",
        "long_budget",
        "sweep",
        "headline",
        "one_shot",
        "by_host",
        "reads_files",
        "process",
        "cpus",
    ),
    *("work", "role", "precision", "device", "data", "dispatch", "price", "priced", "control"),
    *("extra_work", "way"),
)
"""The fields that a cell has from its scenario, as they are or for its axes."""


def _list_operations(proof: Proof) -> list[str]:
    if not isinstance(proof, Ops):
        return []
    names = (name for group in proof.groups for name in group)
    return [
        *proof.like,
        *(n for n in names if not any(fnmatch.fnmatchcase(n, like) for like in proof.like)),
    ]


def _resolve(links: Links, name: str, params: Mapping[str, Param]) -> dict[LinkName, list[Link]]:
    resolved: dict[LinkName, list[Link]] = {}
    for kind, targets in links.items():
        several = targets if isinstance(targets, Sequence) else [targets]
        every = (to if isinstance(to, Link) else to(name, params) for to in several)
        others = [link for link in every if link is not None]
        if others:
            resolved[kind] = others
    return resolved
