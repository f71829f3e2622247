"""A cell: one case with its parameters, the work of a call, and what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from suite.cells.traits import (
    Data,
    Device,
    Dispatch,
    Effect,
    Headline,
    LinkName,
    OverheadName,
    Precision,
    ProfileName,
    Removed,
    Role,
)

ALL_CPUS = 0
"""Stands for a number of CPUs that only the machine knows."""

Param = str | int | float
"""The value of one axis of a cell; numbers stay numbers."""


def cell_id(scenario: str, case: str, params: Mapping[str, Param]) -> str:
    """The id of a cell: ``family.case/axis=value/…`` with every axis in its declared order."""
    return "/".join([f"{scenario}.{case}", *(f"{axis}={value}" for axis, value in params.items())])


@dataclass(frozen=True, kw_only=True)
class Work:
    """What one call of a cell's step gets done; rates are derived from it and never stored.

    ``unit`` is a singular noun (``FLOP``, ``example``, ``element``, ``call``); ``bytes`` is what
    a call moves, where the cell is about moving.  ``bytes_in`` and ``bytes_out`` are what would have to
    be copied to the device and back, where the data lay on the host.  ``steps`` are the batches that a
    call goes through, ``launches`` the calls of a function that it hands over; None: nobody counted.
    """

    amount: float
    unit: str
    bytes: float | None = None
    bytes_in: float | None = None
    bytes_out: float | None = None
    steps: int | None = None
    launches: float | None = None


@dataclass(frozen=True, kw_only=True)
class Link:
    """Another cell, by its id, and in words what is different there.

    ``effect`` and ``costs`` are those of a change that whoever writes the script can make; None: it is none.
    """

    to: str
    words: str
    effect: Effect | None = None
    costs: str = ""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An axis whose value whoever writes the script chooses; all other axes are the question's own.

    ``effect`` says what choosing otherwise changes, ``costs`` what it costs besides.  ``values`` are the
    axis's in the order in which people are advised to change them, each with what it is called; or
    ``larger`` is what a larger number is called, from the ``usual`` one on (None, or not measured: from the
    smallest).
    """

    effect: Effect
    costs: str = ""
    values: dict[str, str] = field(default_factory=dict)
    larger: str = ""
    usual: float | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step from a script to a faster one: what changes in it, and which cause that removes.

    ``cell`` measures it; None: no cell does, and what changes counts at the next one.  ``effect``
    and ``costs``: what the change is to whoever makes it (`suite.cells.changes.find_effect`), and costs
    besides; ``called``: the name of that change where other cells make it as well.
    """

    cell: str | None
    change: str
    removes: Removed | None
    effect: Effect = "timing"
    costs: str = ""
    called: str = ""


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """The steps from what people time to what they meant to time, and on; each of its cells holds all.

    ``title`` says what they do; times are given a ``unit``, of the work or, where ``by_call``, a call.
    ``fixed`` are the axes whose values have a ladder each.  ``on_cpu``: the work is on the CPU beside a GPU.
    """

    name: str
    title: str
    unit: str
    by_call: bool
    fixed: dict[str, Param]
    on_cpu: bool
    stages: list[Step]

    def list_steps(self, cell: str, other: str) -> list[Step]:
        """The steps behind a cell's stage, as far as that of another; none where that is not behind it."""
        cells = [stage.cell for stage in self.stages]
        if cell not in cells or other not in cells:
            return []
        return self.stages[cells.index(cell) + 1 : cells.index(other) + 1]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One case with its parameters, as declared: what may be asked of every arm.

    ``profiles`` names the profiles that contain it; ``arms`` is ``gpu`` or ``cpu`` where it has a meaning
    only on arms with a GPU, or without (empty: on all).  ``sweep`` is the axis along which the first block
    climbs before it dares the next size.  A ``one_shot`` cell is of what happens once: one sample an
    invocation, no warm-up.  ``long_budget`` cells are people's own cases and have four times the budget.
    ``by_host`` cells are measured from outside the container.
    ``reads_files`` cells need a place on disk, which the host gives to no other.
    ``process``: the cell is measured in a fresh process, which cells of equal name share: by a script that
    does nothing else, kept going, or with so many ``cpus``; None: in the invocation's common process.
    ``cpus``: of the campaign's CPUs that process has so many; `ALL_CPUS`: as many as there are, until a plan
    says how many those are; None: the cell has what its process has.

    The rest is what the analysis asks, in the words of `suite.cells.traits`.  Cells of equal ``work_key``
    (``kind/of what``) do the same work.  ``larger`` are the axes along which it can be had in larger
    pieces.  ``operations`` are those of which no node may be on another device than the work's (``*``
    stands for any letters); none: the results are what shows where it was.  ``priced``: somebody pays for
    it by the million.  ``control``: the twins run it.  ``extra_work`` is the share of work beyond what is
    declared, of a cell that does more on purpose.  ``choices`` are the axes that whoever writes the script
    chooses.
    """

    id: str
    scenario: str
    case: str
    params: dict[str, Param]
    question: str
    work: Work
    profiles: list[ProfileName]
    arms: list[str] = field(default_factory=list)
    sweep: str | None = None
    one_shot: bool = False
    long_budget: bool = False
    by_host: bool = False
    reads_files: bool = False
    process: str | None = None
    cpus: int | None = None
    role: Role = "work"
    work_key: str = ""
    headline: Headline | None = None
    larger: list[str] = field(default_factory=list)
    precision: Precision = "fp32"
    device: Device = "arm"
    operations: list[str] = field(default_factory=list)
    data: Data | None = None
    dispatch: Dispatch | None = None
    price: OverheadName | None = None
    priced: bool = False
    control: bool = False
    extra_work: float | None = None
    links: dict[LinkName, list[Link]] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    way: Ladder | None = None

    @property
    def needs_gpu(self) -> bool:
        """Whether it has a meaning only on an arm with a GPU."""
        return "gpu" in self.arms

    def suits(self, *, gpu: bool) -> bool:
        """Whether it has a meaning on an arm with a GPU, or without."""
        return not self.arms or ("gpu" if gpu else "cpu") in self.arms

    @property
    def scripted(self) -> bool:
        """Whether a script measures it, which is all that its process does."""
        return self.process is not None and self.cpus is None and self.role != "sustained"

    @property
    def on_request(self) -> bool:
        """Whether any profile has it that is asked for its case by name."""
        return self.cpus is not None

    @property
    def name(self) -> str:
        """``family.case``."""
        return f"{self.scenario}.{self.case}"

    @property
    def sweep_key(self) -> str:
        """What all sizes of its sweep have in common; of a cell without one its own id."""
        fixed = {axis: value for axis, value in self.params.items() if axis != self.sweep}
        return cell_id(self.scenario, self.case, fixed)

    @property
    def kind(self) -> str:
        """The kind of its work, whatever it is done to."""
        return self.work_key.partition("/")[0]

    @property
    def on_cpu(self) -> bool:
        """Whether its work is the CPU's on every arm.

        A copy back ends in the host's memory, and is the device's work all the same.
        """
        return self.device == "cpu" and self.price is None
