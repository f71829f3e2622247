"""What the cells of schema 1 are: plans did not say it before schema 2.  Frozen; pure.

Made once from what the scenarios declared: a row a family, case or value of an axis, joined and sorted by a
script that compared what the rows give with what each of the 236 cells says, until nothing differed.  A plan
of schema 2 says all of this itself, so that a new scenario adds nothing here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from suite.analysis.documents.schema1_rows import ROWS, WAYS, WORDS
from suite.cells.cell import Cell, Link, Param, Stage, Way, Work, cell_id

_LISTS = ("larger", "operations")


def _split(line: str) -> list[str]:
    return [part.strip() for part in line.split("|")]


def _read_traits(text: str) -> dict[str, Any]:
    pairs = (one.partition("=")[::2] for one in text.split())
    named = {name: WORDS.get(value, value) for name, value in pairs}
    return {
        name: value.split(",") * bool(value)
        if name in _LISTS
        else value.replace("_at_", " at ") or None
        for name, value in named.items()
    }


_ROWS = [
    (*line.partition(" | ")[0].partition(" ")[::2], *[*_split(line)[1:], ""][:2])
    for line in ROWS.strip().splitlines()
]
_WAYS = {
    (block := text.splitlines())[0].split(" | ")[0]: [_split(line) for line in block]
    for text in WAYS.strip().split("\n\n")
}

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
    links: dict[str, list[Link]] = {}
    for which, where, given, linked in _ROWS:
        if which not in {cell.scenario, cell.name} or not _fits(where, cell.params):
            continue
        traits |= _read_traits(given)
        for text in filter(None, linked.split("; ")):
            name, _, to = text.partition(" ")
            link = _link(cell, name, to)
            links[name] = [*links.get(name, []), *link] if to != "-" else []
    has_steps = bool(traits.pop("steps", None))
    told = replace(
        cell,
        **{
            **traits,
            "kin": _fill_in(traits["kin"], cell.params) if "kin" in traits else cell.name,
            "priced": bool(traits.get("priced")),
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


def _fits(where: str, params: Mapping[str, Param]) -> bool:
    pairs = (one.split("=") for one in where.split())
    return all(str(params.get(axis)) == value for axis, value in pairs)


def _link(cell: Cell, name: str, text: str) -> list[Link]:
    to, told, words = text.partition(":")
    words = words.strip() if told else f"with {to}"
    to = WORDS.get(to, to)
    if "/" in to:
        return [Link(to=_fill_in(to, cell.params), words=words)]
    axis, _, value = to.partition("=")
    there = _vary(cell, axis, value) if axis in cell.params else cell.id
    return [] if there == cell.id and name != "compute" else [Link(to=there, words=words)]


def _vary(cell: Cell, axis: str, value: str) -> str:
    return cell_id(cell.scenario, cell.case, {**cell.params, axis: value})


def _find_way(cell: Cell) -> Way | None:
    (_, title, unit, call, over), *stages = _WAYS.get(cell.name, [[""] * 5])
    params = cell.params
    pinned = params.get("on") == "cpu"
    # The first clone of a process is on the arm's device.
    if params.get("stage") not in [name for name, *_ in stages] or (
        cell.case == "clone" and pinned
    ):
        return None
    short = cell.case == "fit" and (params.get("batch"), params.get("prefetch")) in _VARIANTS

    def find_cell(name: str) -> str | None:
        if cell.case == "matmul" and name == "warm" and not pinned:
            return f"matmul.square/n={params.get('n')}/precision=fp32/operands=device/xla=off"
        return None if short and name not in _ENDS else _vary(cell, "stage", name)

    return Way(
        name=cell.case,
        title=title,
        unit=unit,
        by_call=bool(call),
        fixed={axis: params[axis] for axis in over.split(",") if axis in params},
        pinned=pinned,
        stages=[
            Stage(
                cell=find_cell(name),
                change=change,
                # On the arm's own device a model lies there by itself.
                removes=(removes or None) if pinned or removes != "fallback" else None,  # type: ignore[arg-type]
            )
            for name, removes, change in stages
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
