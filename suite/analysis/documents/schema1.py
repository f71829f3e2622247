"""What the cells of schema 1 are: plans did not say it before schema 2.  Frozen; pure.

Made once from what the scenarios declared: a row a family, case or value of an axis, joined and sorted by a
script that compared what the rows give with what each of the 236 cells says, until nothing differed.  A plan
of schema 2 says all of this itself, so that a new scenario adds nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from suite.cells.cell import Cell, Link, Param, Stage, Way, Work, cell_id

ROWS = """
matmul | kin=product/{n} larger=n dispatch=eager data=device
matmul xla=on | dispatch=xla
matmul.square | headline=time
matmul.square operands=host | data=host | nearer operands=device: with the operands on the device
matmul.square xla=off | | fewer xla=on
matmul.extra | role=control
mlp | kin=training/A larger=batch operations=TRAINING dispatch=graph data=device steps=yes
mlp.train | kin=training/{net} headline=rate priced=yes | compute data=device: with the data on the device
mlp.train data=host | data=host | nearer data=device: with the data on the device
mlp.train data=dataset | data=prefetched
mlp.train net=A data=dataset | | input tfdata.slices/batch={batch}/shuffle=on/prefetch=on:
mlp.train execution=graph | | fewer execution=xla
mlp.train execution=eager | dispatch=eager operations= | fewer execution=graph; compute -
mlp.train execution=xla | dispatch=xla operations= | compute -
mlp.train precision=tf32 | | compute -
mlp.train precision=bf16 | | compute -
mlp.train precision=fp16 | | compute -
mlp.width | kin=training_at_width/{width} priced=yes
mlp.loop | dispatch=keras data=prefetched priced=yes | fewer steps_per_execution=32
mlp.infer | kin=inference/A operations= dispatch=keras priced=yes | fewer call=direct
mlp.infer call=direct | dispatch=eager
mlp.infer call=predict | operations=PRODUCTS data=host
mlp.build | kin=building/{model} larger= operations= dispatch=keras data= steps=
mlp.fallback | | without python=none: without it
asked | kin=training/B operations=TRAINING dispatch=graph
asked on=cpu | role=reference device=cpu
asked.matmul | kin=product/{n} larger=n operations= dispatch=eager data=device
asked.clone | kin=building/clone operations= dispatch=eager
asked.clone stage=first | device=none
asked.slices | data=host
asked.slices stage=naive | | start overhead.startup/stage=step:
asked.slices stage=naive on=cpu | operations=PRODUCTS
asked.slices stage=traced on=cpu | operations=PRODUCTS
asked.slices stage=device-data | data=device
asked.slices stage=batch-512 | data=device
asked.dataset | data=prefetched
asked.fit | kin=training/A larger=batch dispatch=keras data=prefetched steps=yes
asked.fit prefetch=off | data=pipeline
asked.fit stage=epoch-1 | | start overhead.startup/stage=step:
asked.fit stage=epoch-2 | | start overhead.startup/stage=step:
asked.fit stage=epoch-3 | | start overhead.startup/stage=step:
asked.fit stage=steady | | feed prefetch=on
asked.fit stage=steady on=arm | priced=yes | prefetched prefetch=on: prefetched
tfdata | role=input device=cpu data=prefetched
tfdata prefetch=off | data=pipeline
tfdata.slices | kin=slices | prefetched prefetch=on: prefetched
tfdata.cache | kin=cache
tfdata.map | kin=map | prefetched prefetch=on: prefetched; native function=native: native map
tfdata.read | kin=read data=file
tfdata.to_device | kin=to_device device=arm operations=TRAINING steps=yes | nearer ahead=on: when copied ahead
tfdata.triple | kin={part}/{pipeline} steps=yes
tfdata.triple pipeline=native | data=pipeline
tfdata.triple part=trivial | device=arm operations=PRODUCTS dispatch=graph | input part=input
tfdata.triple part=trivial | | feed pipeline=parallel; feed pipeline=native; feed pipeline=numpy_function
tfdata.triple part=together | kin=training/A device=arm operations=TRAINING dispatch=graph priced=yes
tfdata.triple part=together | | input part=input; trivial part=trivial
tfdata.triple part=together | | compute STEP: with the data on the device
tfdata.triple part=together | | feed pipeline=parallel; feed pipeline=native; feed pipeline=numpy_function
tfdata.triple part=together pipeline=native | | prefetched pipeline=parallel: prefetched, map in parallel
tfdata.triple part=together pipeline=numpy_function | | native pipeline=parallel: native map in parallel
overhead | role=overhead
overhead.fence | kin=fence price=fence device=none
overhead.eager_op | kin=eager_op price=eager
overhead.function_call | kin=function_call price=graph operations=AddV2
overhead.xla_call | kin=xla_call price=xla
overhead.graph_op | kin=graph_op price=operation operations=Mul,_MklMul
overhead.copy | kin=copying/{direction} price=copy-in
overhead.copy direction=from-device | price=copy-out device=cpu
overhead.sum | role=reference kin=sum price=memory
overhead.startup | kin=starting/{stage} price=start-up device=none
overhead.container | kin=starting/container price=start-up device=none
"""
"""A row: family or case and what its axes have to be | traits | links; later rows over earlier ones.

``{axis}`` is filled in.  A link is a name, the cell (an id, or the axis that differs) and what is different
there; one that differs in nothing is none, unless it is ``compute``; ``-`` takes one back.  ``steps``: a
call goes through batches."""

WAYS = """
asked.matmul | a product, timed with everything around it | product | call | n
naive | | as asked
first-call-apart | start-up | the first call no longer timed
warm | start-up | creation and random numbers no longer timed

asked.clone | a model cloned, once | model | call |
first | | as asked
again | start-up | again, once warm

asked.slices | 1,000 examples in slices of 10 | example | |
naive | | as asked
traced | start-up | tracing no longer timed
placed | fallback | the model made on the device timed
float32 | transfer | float32 inputs instead of float64
no-fetch | overhead | the loss no longer fetched every step
device-data | transfer | the data already on the device
batch-512 | overhead | batch 512 instead of 10

asked.dataset | 100,000 examples from a dataset, the loss fetched at every step | example | |
fetch | | as asked
no-fetch | overhead | the loss no longer fetched every step

asked.fit | Model.fit, its first epoch | example | | batch,prefetch
epoch-1 | | as asked
epoch-2 | start-up | the second epoch
epoch-3 | start-up | the third epoch
steady | start-up | an epoch once warm
"""
"""A case: its title, unit, whether a call counts, the axes with a way each; and its stages: the value of the
axis ``stage``, what it removes, what changes."""

_WORDS = {
    "PRODUCTS": "*MatMul*",
    "TRAINING": "*MatMul*,BiasAddGrad,ReluGrad,AssignSubVariableOp,ResourceApplyAdam",
    "STEP": "mlp.train/net=A/batch={batch}/data=device/precision=fp32/execution=graph",
}

_LISTS = ("larger", "operations")


def _split(line: str) -> list[str]:
    return [part.strip() for part in line.split("|")]


def _read_traits(text: str) -> dict[str, Any]:
    pairs = (one.partition("=")[::2] for one in text.split())
    named = {name: _WORDS.get(value, value) for name, value in pairs}
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
            "kin": traits["kin"].format_map(_Axes(cell.params)) if "kin" in traits else cell.name,
            "priced": bool(traits.get("priced")),
            "precision": str(cell.params.get("precision", "fp32")),
            "links": {name: found for name, found in links.items() if found},
            "way": _find_way(cell),
        },
    )
    told = replace(told, work=_tell_work(told, has_steps=has_steps))
    return _tell_extra(told) if told.role == "control" else told


class _Axes(dict[str, Param]):
    """The values of a cell's axes; an axis that it lacks has none."""

    def __missing__(self, axis: str) -> str:
        return ""


def _fits(where: str, params: Mapping[str, Param]) -> bool:
    pairs = (one.split("=") for one in where.split())
    return all(str(params.get(axis)) == value for axis, value in pairs)


def _link(cell: Cell, name: str, text: str) -> list[Link]:
    to, told, words = text.partition(":")
    words = words.strip() if told else f"with {to}"
    to = _WORDS.get(to, to)
    if "/" in to:
        return [Link(to=to.format_map(_Axes(cell.params)), words=words)]
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
            Stage(cell=find_cell(name), change=change, removes=removes or None)  # type: ignore[arg-type]
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
