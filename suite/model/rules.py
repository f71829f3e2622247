"""What a document must satisfy beyond its types: one complaint a broken rule.

What a single field may hold is annotated at the field, as one of ``suite.input_limits``; here these are
asked, and what must hold between fields.  Pure: values in, ``(field path, complaint)`` pairs out.  It judges
whether a document makes sense, never whether its numbers are good.  The host asks it of what a worker
says, and a reader of what a folder holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache, partial
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

from suite.cells.cell import Cell, Work, cell_id
from suite.input_limits import FILLED, RANGES, Range, Text
from suite.model.document import CellResult, Document, Telemetry

Complaint = tuple[str, str]
"""The path of a field, such as ``$.cells[3].samples_s[2]``, and what is wrong with it."""

Judge: TypeAlias = Callable[[str, Any], Iterator[Complaint]]


def demand_no(complaints: Iterable[Complaint]) -> None:
    """Demands that there is no complaint.

    Raises:
        ValueError: there is one; tells the first.
    """
    for where, complaint in complaints:
        raise ValueError(f"{where}: {complaint}")


def judge_document(document: Document) -> Iterator[Complaint]:
    """The complaints about one document on its own."""
    yield from judge_fields("$", document)
    invocation = document.invocation
    path = "$.invocation"
    yield from _judge_span(path, invocation.started, invocation.ended)
    if invocation.status == "complete" and invocation.ended is None:
        yield f"{path}.ended", "is null although the invocation is complete"
    for index, container in enumerate(invocation.containers):
        yield from _judge_span(f"{path}.containers[{index}]", container.started, container.ended)
    containers = [container.id for container in invocation.containers]
    yield from judge_repeated(f"{path}.containers[{{}}].id", containers)
    if document.telemetry is not None:
        yield from _judge_series("$.telemetry", document.telemetry)
    yield from judge_repeated("$.cells[{}].id", [cell.id for cell in document.cells])
    for index, cell in enumerate(document.cells):
        path = f"$.cells[{index}]"
        if cell.container is not None and cell.container not in containers:
            yield f"{path}.container", f"{cell.container!r} is not a container of this invocation"
        yield from _judge_result(path, cell)


def judge_telemetry(path: str, telemetry: Telemetry) -> Iterator[Complaint]:
    """Telemetry whose instants are out of order, or with a series of another length."""
    yield from judge_fields(path, telemetry)
    yield from _judge_series(path, telemetry)


def _judge_series(path: str, telemetry: Telemetry) -> Iterator[Complaint]:
    at_s = telemetry.at_s
    for index in range(1, len(at_s)):
        if at_s[index] < at_s[index - 1]:
            yield f"{path}.at_s[{index}]", f"{at_s[index]} is before the previous instant"
    for name, values in telemetry.series.items():
        if len(values) != len(at_s):
            yield f"{path}.series.{name}", f"has {len(values)} values for {len(at_s)} instants"


def judge_cell(path: str, cell: CellResult) -> Iterator[Complaint]:
    """The complaints about what came of a cell, on its own."""
    yield from judge_fields(path, cell)
    yield from _judge_result(path, cell)


def _judge_result(path: str, cell: CellResult) -> Iterator[Complaint]:
    yield from judge_name(path, cell)
    if cell.work is not None:
        yield from judge_work(f"{path}.work", cell.work)
    yield from _judge_span(path, cell.started, cell.ended)
    yield from _judge_clocks(path, cell)
    if cell.outcome == "measured":
        for name in ("work", "calls_per_sample", "samples_s"):
            if not getattr(cell, name):
                yield f"{path}.{name}", "is empty although the cell is measured"
        unexpected = ["reason"]
    elif cell.outcome == "pending":
        unexpected = ["samples_s", "warmup_s", "first_call_s"]
    else:
        if not (cell.reason or "").strip():
            yield f"{path}.reason", f"is missing although the cell is {cell.outcome}"
        unexpected = ["samples_s"]
    for name in unexpected:
        if getattr(cell, name) not in (None, []):
            yield f"{path}.{name}", f"is given although the cell is {cell.outcome}"


def _judge_clocks(path: str, cell: CellResult) -> Iterator[Complaint]:
    """CPU seconds of another number of samples than there are."""
    for name, of in (("cpu_s", "samples_s"), ("replaced_cpu_s", "replaced_s")):
        count, samples = len(getattr(cell, name)), len(getattr(cell, of))
        if count not in {0, samples}:
            yield f"{path}.{name}", f"has {count} values for {samples} samples"


def judge_name(path: str, cell: Cell | CellResult) -> Iterator[Complaint]:
    """A cell whose id is not what its scenario, case and parameters make."""
    yield from _judge_bound(FILLED, f"{path}.scenario", cell.scenario)
    yield from _judge_bound(FILLED, f"{path}.case", cell.case)
    expected = cell_id(cell.scenario, cell.case, cell.params)
    if cell.id != expected:
        yield f"{path}.id", f"{cell.id!r}, but scenario, case and params make {expected!r}"


def judge_work(path: str, work: Work) -> Iterator[Complaint]:
    """Work without a unit, or less than none."""
    yield from _judge_bound(FILLED, f"{path}.unit", work.unit)
    for name in ("amount", "bytes", "bytes_in", "bytes_out", "steps", "launches"):
        if (getattr(work, name) or 0) < 0:
            yield f"{path}.{name}", f"{getattr(work, name)} is negative"


def judge_repeated(path: str, names: Iterable[str]) -> Iterator[Complaint]:
    """Names that are there twice; ``{}`` in the path stands for the index of the second."""
    first: set[str] = set()
    for index, name in enumerate(names):
        if name in first:
            yield path.format(index), f"{name!r} is there twice"
        first.add(name)


def judge_duration(path: str, seconds: float) -> Iterator[Complaint]:
    """A duration in seconds that is negative or too long."""
    yield from _judge_bound(RANGES["seconds"], path, seconds)


def judge_keys(path: str, values: Iterable[str]) -> Iterator[Complaint]:
    """Values without a name."""
    for name in values:
        if not name.strip():
            yield path, "holds a value without a name"


def judge_fields(path: str, value: Any) -> Iterator[Complaint]:
    """What the annotations of a dataclass's fields forbid, in it and in all that it holds."""
    kind: type = type(value)
    judge = _find_judge(kind)
    if judge is not None:
        yield from judge(path, value)


@cache
def _find_judge(kind: Any) -> Judge | None:
    """What judges the values of a type; None: all of them will do."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return partial(_judge_bound, kind.__metadata__[0])
    if kind is datetime:
        return _judge_instant
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        judges = {name: judge for name, hint in hints.items() if (judge := _find_judge(hint))}
        return partial(_judge_each, judges) if judges else None
    if origin is dict:
        return partial(_judge_dict, _find_judge(inner[1]))
    judge = next(filter(None, map(_find_judge, inner)), None)
    if judge is None:
        return None
    return partial(_judge_list if origin is list else _judge_given, judge)


def _judge_bound(bound: Range | Text, path: str, value: Any) -> Iterator[Complaint]:
    if (complaint := bound.refuse(value)) is not None:
        yield path, complaint


def _judge_instant(path: str, instant: datetime) -> Iterator[Complaint]:
    if instant.utcoffset() is None:
        yield path, f"{instant.isoformat()} has no UTC offset"


def _judge_each(judges: Mapping[str, Judge], path: str, value: Any) -> Iterator[Complaint]:
    for name, judge in judges.items():
        yield from judge(f"{path}.{name}", getattr(value, name))


def _judge_dict(judge: Judge | None, path: str, values: dict[str, Any]) -> Iterator[Complaint]:
    if not all(map(str.strip, values)):
        yield from judge_keys(path, values)
    if judge is not None and _refuses(judge, path, values.values()):
        for name, value in values.items():
            yield from judge(f"{path}.{name}", value)


def _judge_list(judge: Judge, path: str, values: list[Any]) -> Iterator[Complaint]:
    if _refuses(judge, path, values):
        for index, value in enumerate(values):
            yield from judge(f"{path}[{index}]", value)


def _refuses(judge: Judge, path: str, values: Collection[Any]) -> bool:
    """Whether one of these values is refused.

    Most are samples, which are nearly all in their range: the least and the largest stand for them.
    """
    ends = (min(values), max(values)) if isinstance(next(iter(values), None), float) else values
    return any(True for value in ends for _ in judge(path, value))


def _judge_given(judge: Judge, path: str, value: Any) -> Iterator[Complaint]:
    if value is not None:
        yield from judge(path, value)


def _judge_span(path: str, started: datetime | None, ended: datetime | None) -> Iterator[Complaint]:
    """A time that ends before it begins."""
    if started is None or ended is None or None in {started.utcoffset(), ended.utcoffset()}:
        return
    if ended < started:
        yield f"{path}.ended", f"{ended.isoformat()} is before started, {started.isoformat()}"
