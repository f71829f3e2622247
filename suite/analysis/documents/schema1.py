"""What the cells of schema 1 are: plans did not say it before schema 2.  Frozen.

Made once from what the scenarios declared: in ``schema1.toml`` a row a family, case or value of an axis,
joined and sorted by a script that compared what the rows give with what each of the 236 cells says, until
nothing differed.  A plan of schema 2 says all of this itself, so that a new scenario adds nothing here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from suite.cells.cell import Cell, Link, Param, Stage, Way, Work, cell_id
from suite.cells.traits import LinkName, Removed

TABLE = Path(__file__).with_name("schema1.toml")


class _Link(msgspec.Struct, frozen=True, kw_only=True):
    name: LinkName
    to: str = ""
    words: str = ""


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    of: str
    where: dict[str, str] = {}
    traits: dict[str, str | bool | list[str]] = {}
    links: list[_Link] = []


class _Stage(msgspec.Struct, frozen=True, kw_only=True):
    stage: str
    change: str
    removes: Removed | None = None


class _Way(msgspec.Struct, frozen=True, kw_only=True):
    of: str
    title: str
    unit: str
    by_call: bool = False
    over: list[str] = []
    stages: list[_Stage]


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    row: list[_Row]
    cells: dict[str, str]
    way: list[_Way]


@cache
def _read_table() -> _Table:
    return msgspec.toml.decode(TABLE.read_bytes(), type=_Table)


_ELEMENT = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0}
_EXAMPLE = {"A": 128 * 4 + 8, "B": 100 * 4 + 8}
"""Bytes of an operand's element by precision, and of an example by network."""

_MOST_STEPS = 1e100
"""No call makes more; a document can hold any number."""

_EXTRA = 5.0
"""Per cent of work that a control does beyond what it declares, unless it says."""


def tell_traits(cell: Cell) -> Cell:
    """A cell of schema 1 with what it is."""
    traits: dict[str, Any] = {}
    links: dict[LinkName, list[Link]] = {}
    for row in _read_table().row:
        fits = all(str(cell.params.get(axis)) == value for axis, value in row.where.items())
        if row.of not in {cell.scenario, cell.name} or not fits:
            continue
        traits |= {name: None if value == "" else value for name, value in row.traits.items()}
        for one in row.links:
            links[one.name] = [*links.get(one.name, []), *_link(cell, one)] if one.to else []
    has_steps = traits.pop("steps", False)
    told = replace(
        cell,
        **{
            **traits,
            "kin": _fill_in(traits["kin"], cell.params) if "kin" in traits else cell.name,
            "precision": str(cell.params.get("precision", "fp32")),
            "links": {name: found for name, found in links.items() if found},
            "way": _find_way(cell),
        },
    )
    told = replace(told, work=_tell_work(told, has_steps=has_steps))
    return _tell_extra(told) if told.role == "control" else told


def _fill_in(text: str, params: Mapping[str, Param]) -> str:
    """The text with the values of a cell's axes; an axis that it lacks has none."""
    return text.format_map(defaultdict(str, params))


def _link(cell: Cell, one: _Link) -> list[Link]:
    to = _read_table().cells.get(one.to, one.to)
    if "/" in to:
        return [Link(to=_fill_in(to, cell.params), words=one.words)]
    axis, _, value = to.partition("=")
    there = _vary(cell, axis, value) if axis in cell.params else cell.id
    return [] if there == cell.id and one.name != "compute" else [Link(to=there, words=one.words)]


def _vary(cell: Cell, axis: str, value: str) -> str:
    return cell_id(cell.scenario, cell.case, {**cell.params, axis: value})


def _find_way(cell: Cell) -> Way | None:
    way = next((one for one in _read_table().way if one.of == cell.name), None)
    params = cell.params
    pinned = params.get("on") == "cpu"
    if way is None or params.get("stage") not in [one.stage for one in way.stages]:
        return None
    # The first clone of a process is on the arm's device.
    if cell.case == "clone" and pinned:
        return None
    short = cell.case == "fit" and (params.get("batch"), params.get("prefetch")) in _VARIANTS

    def find_cell(name: str) -> str | None:
        if cell.case == "matmul" and name == "warm" and not pinned:
            return f"matmul.square/n={params.get('n')}/precision=fp32/operands=device/xla=off"
        return None if short and name not in _ENDS else _vary(cell, "stage", name)

    return Way(
        name=cell.case,
        title=way.title,
        unit=way.unit,
        by_call=way.by_call,
        fixed={axis: params[axis] for axis in way.over if axis in params},
        pinned=pinned,
        stages=[
            Stage(
                cell=find_cell(one.stage),
                change=one.change,
                # On the arm's own device a model lies there by itself.
                removes=one.removes if pinned or one.removes != "fallback" else None,
            )
            for one in way.stages
        ],
    )


_ENDS = ("epoch-1", "steady")
_VARIANTS = ((512, "off"), (8, "on"))
"""Batch and prefetch of what has the ends of its way alone."""


def _tell_work(cell: Cell, *, has_steps: bool) -> Work:
    work, params = cell.work, cell.params
    batch, n, together = (params.get(axis) for axis in ("batch", "n", "steps_per_execution"))
    steps = 1
    if cell.kind.startswith("training") and work.unit in {"example", "element"} and _counts(batch):
        several = work.amount / float(batch)  # type: ignore[arg-type]
        steps = max(1, math.ceil(several)) if several < _MOST_STEPS else 1
    if has_steps:
        work = replace(work, steps=steps)
    if _counts(together):
        work = replace(work, launches=max(1.0, steps / float(together)))  # type: ignore[arg-type]
    if cell.scenario == "matmul":
        work = replace(work, launches=1.0)
    if cell.name == "matmul.square" and isinstance(n, int | float):
        size = _ELEMENT.get(cell.precision, 4.0) * n * n
        work = replace(work, bytes_in=2 * size, bytes_out=size)
    example = _EXAMPLE.get(str(params.get("net", "A")))
    if cell.scenario == "tfdata" and has_steps:
        work = replace(work, bytes_in=work.bytes)
    elif cell.name == "mlp.train" and example and isinstance(batch, int | float):
        work = replace(work, bytes_in=float(batch) * example)
    return work


def _counts(value: Param | None) -> bool:
    return isinstance(value, int | float) and value > 0


def _tell_extra(cell: Cell) -> Cell:
    extra = cell.params.get("extra", _EXTRA)
    if isinstance(extra, str):
        return cell
    axes = {axis: value for axis, value in cell.params.items() if axis != "extra"}
    honest = Link(to=cell_id(cell.scenario, "square", axes), words="")
    return replace(cell, excess=extra / 100, links={**cell.links, "honest": [honest]})
