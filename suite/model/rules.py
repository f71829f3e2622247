"""What a document and a plan must satisfy beyond their types: one complaint a broken rule.

Pure: words in, ``(field path, complaint)`` pairs out, in the order of the fields.  It judges
whether a document makes sense, never whether its numbers are good.  The host asks them of what a worker
says, and a reader of what a folder holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from suite.cells.cell import Cell, Work, cell_id
from suite.model.document import CellResult, Document, Invocation, Telemetry
from suite.ranges import RANGES

Complaint = tuple[str, str]
"""The path of a field, such as ``$.cells[3].samples_s[2]``, and what is wrong with it."""

LONGEST_S = 1e9
"""No duration here is longer than 31 years; a larger number is a unit gone wrong."""

SHORTEST_S = 1e-12
"""No call takes under a picosecond, which is less than a thousandth of a processor's cycle."""


def demand_no(complaints: Iterable[Complaint]) -> None:
    """Demands that there is no complaint.

    Raises:
        ValueError: there is one; tells the first.
    """
    for where, complaint in complaints:
        raise ValueError(f"{where}: {complaint}")


def judge_document(document: Document) -> Iterator[Complaint]:
    """The complaints about one document on its own."""
    yield from demand_text(
        {
            "$.suite.version": document.suite.version,
            "$.suite.content": document.suite.content,
            "$.campaign.id": document.campaign.id,
        }
    )
    yield from _judge_invocation(document.invocation)
    yield from judge_keys("$.facts", document.facts)
    yield from judge_telemetry("$.telemetry", document.telemetry)
    containers = {container.id for container in document.invocation.containers}
    seen: set[str] = set()
    for index, cell in enumerate(document.cells):
        path = f"$.cells[{index}]"
        if cell.id in seen:
            yield f"{path}.id", f"{cell.id} stands in this document twice"
        seen.add(cell.id)
        if cell.container is not None and cell.container not in containers:
            yield f"{path}.container", f"{cell.container!r} is no container of this invocation"
        yield from judge_cell(path, cell)
    yield from judge_durations("$.spent_s", document.spent_s)


def _judge_invocation(invocation: Invocation) -> Iterator[Complaint]:
    path = "$.invocation"
    yield from demand_text({f"{path}.arm": invocation.arm, f"{path}.image.id": invocation.image.id})
    yield from judge_range(f"{path}.block", invocation.block, "block")
    yield from judge_range(f"{path}.repeat", invocation.repeat, "repeat")
    yield from judge_range(f"{path}.image.size_bytes", invocation.image.size_bytes, "bytes")
    yield from judge_keys(f"{path}.engine", invocation.engine)
    yield from judge_keys(f"{path}.limits", invocation.limits)
    seen: set[str] = set()
    for index, container in enumerate(invocation.containers):
        place = f"{path}.containers[{index}]"
        yield from demand_text({f"{place}.id": container.id})
        yield from judge_span(place, container.started, container.ended)
        yield from judge_duration(f"{place}.start_s", container.start_s)
        if container.id in seen:
            yield f"{place}.id", f"{container.id!r} stands there twice"
        seen.add(container.id)
    yield from judge_span(path, invocation.started, invocation.ended)
    if invocation.status == "complete" and invocation.ended is None:
        yield f"{path}.ended", "is null although the invocation is complete"


def judge_telemetry(path: str, telemetry: Telemetry | None) -> Iterator[Complaint]:
    """Watching that can not be: instants out of order, or a column of another length."""
    if telemetry is None:
        return
    yield from judge_instant(f"{path}.started", telemetry.started)
    yield from judge_keys(f"{path}.facts", telemetry.facts)
    yield from judge_keys(f"{path}.series", telemetry.series)
    for index, at_s in enumerate(telemetry.at_s):
        yield from judge_duration(f"{path}.at_s[{index}]", at_s)
        if index and at_s < telemetry.at_s[index - 1]:
            yield f"{path}.at_s[{index}]", f"{at_s} is before the previous instant"
    for name, values in telemetry.series.items():
        if len(values) != len(telemetry.at_s):
            yield (
                f"{path}.series.{name}",
                f"has {len(values)} values for {len(telemetry.at_s)} instants",
            )


def judge_cell(path: str, cell: CellResult) -> Iterator[Complaint]:
    """What came of a cell, on its own."""
    yield from judge_name(path, cell)
    if cell.work is not None:
        yield from judge_work(f"{path}.work", cell.work)
    yield from judge_span(path, cell.started, cell.ended)
    yield from judge_duration(f"{path}.first_call_s", cell.first_call_s, zero=False)
    yield from judge_range(f"{path}.calls_per_sample", cell.calls_per_sample, "calls")
    for name, series in (("warmup_s", cell.warmup_s), ("samples_s", cell.samples_s)):
        for index, value in enumerate(series):
            # Nearly all are in the range, and there are hundreds of thousands.
            if not SHORTEST_S <= value <= LONGEST_S:
                yield from judge_duration(f"{path}.{name}[{index}]", value, zero=False)
    if cell.enqueue_fraction is not None and not 0 <= cell.enqueue_fraction <= 1:
        yield f"{path}.enqueue_fraction", f"{cell.enqueue_fraction} is not between 0 and 1"
    for device, nodes in cell.placement.items():
        yield from judge_range(f"{path}.placement.{device}", nodes, "count")
    if cell.check is not None and cell.check.tolerance is not None and cell.check.tolerance < 0:
        yield f"{path}.check.tolerance", f"{cell.check.tolerance} is negative"
    yield from judge_range(f"{path}.peak_memory_bytes", cell.peak_memory_bytes, "bytes")
    yield from judge_durations(f"{path}.spent_s", cell.spent_s)
    yield from _judge_outcome(path, cell)


def _judge_outcome(path: str, cell: CellResult) -> Iterator[Complaint]:
    if cell.outcome == "measured":
        for name in ("work", "calls_per_sample", "samples_s"):
            if not getattr(cell, name):
                yield f"{path}.{name}", "is empty although the cell is measured"
        if cell.reason is not None:
            yield f"{path}.reason", "is given although the cell is measured"
        return
    unexpected = ["samples_s"]
    if cell.outcome == "pending":
        unexpected += ["warmup_s", "first_call_s"]
    elif not (cell.reason or "").strip():
        yield f"{path}.reason", f"is missing although the cell is {cell.outcome}"
    for name in unexpected:
        if getattr(cell, name):
            yield f"{path}.{name}", f"is given although the cell is {cell.outcome}"


def judge_name(path: str, cell: Cell | CellResult) -> Iterator[Complaint]:
    """A cell whose id is not what its scenario, case and parameters make."""
    yield from demand_text({f"{path}.scenario": cell.scenario, f"{path}.case": cell.case})
    expected = cell_id(cell.scenario, cell.case, cell.params)
    if cell.id != expected:
        yield f"{path}.id", f"{cell.id!r}, but scenario, case and params make {expected!r}"


def judge_work(path: str, work: Work) -> Iterator[Complaint]:
    """Work that no cell does: not finite, or less than none."""
    yield from demand_text({f"{path}.unit": work.unit})
    for name in ("amount", "bytes", "bytes_in", "bytes_out", "steps", "launches"):
        count = getattr(work, name)
        if count is not None and count < 0:
            yield f"{path}.{name}", f"{count} is negative"


def judge_span(path: str, started: datetime | None, ended: datetime | None) -> Iterator[Complaint]:
    """A time that ends before it begins, or an instant without its offset from UTC."""
    instants = (f"{path}.started", started), (f"{path}.ended", ended)
    naive = [one for place, instant in instants for one in judge_instant(place, instant)]
    yield from naive[:1]
    if not naive and started is not None and ended is not None and ended < started:
        yield f"{path}.ended", f"{ended.isoformat()} is before started, {started.isoformat()}"


def judge_instant(path: str, instant: datetime | None) -> Iterator[Complaint]:
    """An instant without its offset from UTC."""
    if instant is not None and instant.utcoffset() is None:
        yield path, f"{instant.isoformat()} has no UTC offset"


def judge_durations(path: str, durations: Mapping[str, float | None]) -> Iterator[Complaint]:
    """Durations that can not be."""
    for name, value in durations.items():
        yield from judge_duration(f"{path}.{name}", value)


def judge_duration(path: str, value: float | None, *, zero: bool = True) -> Iterator[Complaint]:
    """A duration that can not be: negative, too short or too long; None is none."""
    if value is None:
        return
    if value < 0:
        yield path, f"{value} is negative"
    elif value < SHORTEST_S and not zero:
        yield path, f"{value} s is no time that a call can take"
    elif value > LONGEST_S:
        yield path, f"{value} s is longer than anything here can take"


def judge_range(path: str, value: float | None, kind: str) -> Iterator[Complaint]:
    """A number out of the range that its kind has; None is none."""
    if value is not None and (complaint := RANGES[kind].refuse(value)) is not None:
        yield path, complaint


def judge_keys(path: str, values: Iterable[str]) -> Iterator[Complaint]:
    """Values without a name."""
    for name in values:
        if not name.strip():
            yield path, "holds a value without a name"


def judge_reference(
    path: str, arm: str, arms: Iterable[str], names: Iterable[str], planned: set[str]
) -> Iterator[Complaint]:
    """Something named that is not there."""
    if arm not in arms:
        yield path, f"{arm!r} is no arm of this plan"
    for name in names:
        if name not in planned:
            yield f"{path}.{name}", "is no cell of this plan"


def demand_text(texts: Mapping[str, str]) -> Iterator[Complaint]:
    """Texts that must not be empty."""
    for path, text in texts.items():
        if not text.strip():
            yield path, "is empty"
