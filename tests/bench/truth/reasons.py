"""Why, and whether to believe it: campaigns with planted causes, and with controls that fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from suite.analysis.result.findings import RuleName
from suite.cells.cell import Cell
from suite.model import Document
from tests.bench.truth import devices
from tests.bench.truth.campaigns import OTHER, Planted, plan_cells
from tests.bench.truth.claims import Told
from tests.bench.truth.devices import CPU, GPU, Device
from tests.bench.truth.tally import Tally, tell
from tests.changes import Change, swap_image
from tests.changes import tell as tell_facts

FALLBACK = ("mlp.fallback/*",)
SLOW = {"parallel": 3e-3, "native": 9e-3, "numpy_function": 20e-3}
SLOWER = {"parallel": 30e-3, "native": 60e-3, "numpy_function": 90e-3}
"""Seconds of the pipelines for a batch, where the input waits."""

PLANTS: Mapping[str, tuple[Device, Device]] = {
    "overhead: dear calls": (CPU, replace(GPU, eager=0.25e-3, graph=1.5e-3)),
    "overhead: dear kernels": (CPU, replace(GPU, kernel=40e-6)),
    "transfer": (CPU, replace(GPU, latency=30e-6, bandwidth=6e7)),
    "transfer: long waits": (CPU, replace(GPU, latency=2e-3)),
    "input": (replace(CPU, feed=SLOW), replace(GPU, feed=SLOW, drag=1.4)),
    "input: both wait": (replace(CPU, feed=SLOWER), replace(GPU, feed=SLOWER)),
    "fallback": (CPU, replace(GPU, fallback=5e-3)),
    "start-up": (CPU, replace(GPU, first=2.0)),
    "start-up: traced twice": (CPU, replace(GPU, again=2.0)),
    "retracing": (CPU, replace(GPU, retrace=50e-3)),
    "overhead: a session a product": (CPU, replace(GPU, session=50e-3)),
    "overhead: objects as arguments": (CPU, replace(GPU, handed=3e-3)),
    "too small": (replace(CPU, flops=2e12), replace(GPU, half=20_000.0)),
}
"""By the planted mechanism a CPU and a GPU; the rule's name stands before the colon."""

CLEAR, SLIGHT = 0.6, 0.25
"""A cause is the planted one where at least so much of the loss goes away with it, and with every other
at most so much; a confirmed cause is wrong where at most so much goes away with it."""


def try_causes(tally: Tally, seed: int) -> None:
    """Each cause planted in turn; what the cells that lose by it are told to lose by."""
    for place, (name, (cpu, gpu)) in enumerate(PLANTS.items()):
        planted = devices.plant(cpu, gpu)
        report = tell(planted, seed=4000 + 20 * seed + place, also=FALLBACK)
        _add_causes(tally, report, name, cpu, gpu)


def _add_causes(tally: Tally, report: Told, name: str, cpu: Device, gpu: Device) -> None:
    unknown = 0
    for cell in plan_cells(also=FALLBACK):
        causes = report.causes.get(cell.id, [])
        if causes and report.cells[cell.id]["standing"]["hopeless"]:
            wrong = _misjudges_device(report, cell, cpu, gpu)
            tally.add("the CPU is wrongly called the right device", wrong)
            if wrong:
                tally.false.append(f"{name}: {cell.name}: the CPU is called the right device")
        if cell.role not in {"work", "input"} or cell.on_cpu or not causes:
            continue
        loses = report.verdicts[cell.id] == "SLOWER"
        shares = devices.blame(cell, cpu, gpu, None if loses else find_best(cell, gpu))
        if not shares:
            continue
        first = causes[0]["rule"]
        true = find_true(shares)
        right = first == true
        if true and loses:
            tally.add("named first", right)
            tally.add(f"named first ({name})", right)
            tally.add(f"named first, of {'asked' if cell.long_budget else 'other'} cells", right)
        elif true:
            tally.add("named first, of idle cells that do not lose", right)
        if true and not right:
            where = "" if loses else " (idle)"
            tally.false.append(f"{name}: {cell.name}{where}: {first} and not {true}")
        _add_confirmed(tally, f"{name}: {cell.name}", causes, shares)
        unknown += first == "unknown" and cell.long_budget
        total = sum(cause.get("share", 0.0) for cause in causes)
        tally.add("shares of one cell add up to more than 1", total > 1.001)
    tally.add("more than two asked cells unknown", unknown > 2)


def _misjudges_device(report: Told, cell: Cell, cpu: Device, gpu: Device) -> bool:
    """Whether the GPU wins at a variant of the same work, where the CPU is called the right device; or does
    not at the other size at which it is said to."""
    winner = report.cells[cell.id]["standing"].get("winner")
    wins = {
        other.id: devices.take(gpu, other).seconds < devices.take(cpu, other).seconds
        for other in plan_cells(also=FALLBACK)
        if other.id == winner
        or (other.work_key == cell.work_key and not (other.one_shot or other.on_cpu))
    }
    return not wins.pop(winner, True) or any(wins.values())


def _add_confirmed(
    tally: Tally, where: str, causes: Sequence[Mapping[str, Any]], shares: Mapping[RuleName, float]
) -> None:
    for place, cause in enumerate(causes):
        if cause["confirmed"]:
            wrong = shares.get(cause["rule"], 0.0) <= SLIGHT
            tally.add("confirmed and wrong", wrong)
            if place == 0:
                tally.add("confirmed, first and wrong", wrong)
            if wrong:
                tally.false.append(f"{where}: {cause['rule']} CONFIRMED")


def find_true(shares: Mapping[RuleName, float]) -> RuleName | None:
    """The cause with which the loss goes away; None: several have a part in it."""
    parts = [rule for rule, share in shares.items() if share > SLIGHT]
    return parts[0] if len(parts) == 1 and shares[parts[0]] >= CLEAR else None


def find_best(cell: Cell, gpu: Device) -> float:
    """Seconds that a call of the cell would take at the best rate that the GPU reaches in such work."""
    alike = [
        other
        for other in plan_cells(also=FALLBACK)
        if other.work_key == cell.work_key or (other.kind == cell.kind and cell.work.unit == "FLOP")
        if not other.on_cpu
    ]
    return cell.work.amount * min(
        devices.take(gpu, other).seconds / other.work.amount for other in alike
    )


def _from_third(change: Change) -> Change:
    """The change on the GPU's arm, from the third block on."""
    return lambda document: (
        change(document)
        if document.invocation.arm == OTHER and document.invocation.block >= 3
        else document
    )


def _change_instance(document: Document) -> Document:
    return tell_facts({"cpu.model": f"Made-Up Processor {9001 - document.invocation.block % 2}"})(
        document
    )


def _slow_arm(name: str, by: float) -> Callable[[Cell, str, int], float]:
    return lambda _cell, arm, _block: by if arm == name else 1.0


def _slow_input(cell: Cell, arm: str) -> float:
    more = 1.15 if arm == OTHER and cell.role == "input" and cell.on_cpu else 1.0
    return clear(cell, arm) * more


def _wrong_extra(cell: Cell, arm: str) -> float:
    return clear(cell, arm) * (1.137 / 1.05 if cell.extra_work else 1.0)


clear = devices.times(CPU, replace(GPU, eager=20e-6, graph=150e-6))
"""A GPU that wins clearly where there is work, and loses where there is little."""

FAILED: Mapping[str, Planted] = {
    "twins": Planted(seconds=clear, factor=_slow_arm(f"{OTHER}-twin", 1.10)),
    "hidden": Planted(seconds=clear, factor=_slow_arm("cuda-hidden", 1.10)),
    "input only": Planted(seconds=_slow_input),
    "extra work": Planted(seconds=_wrong_extra),
    "changed: the image": Planted(
        seconds=clear, change=_from_third(swap_image(id=f"sha256:{'d' * 64}", content="d" * 64))
    ),
    "changed: the driver": Planted(
        seconds=clear, change=_from_third(tell_facts({"cuda.driver_api": 12060}))
    ),
    "changed: the instance": Planted(seconds=clear, change=_change_instance),
}
"""Controls that fail, by the name of what has to be told of them."""


def try_controls(tally: Tally, seed: int) -> None:
    """A control that fails has to stand in the first paragraphs, before any winner."""
    for name, planted in FAILED.items():
        report = tell(planted, seed=6000 + seed)
        places = report.places(name.partition(":")[0])
        before = bool(places) and places[0] < report.first_winner
        tally.add("told before any winner", before)
        tally.add(f"told before any winner ({name})", before)
        tally.add(f"told in the opening ({name})", bool(places))
        tally.add("a control of no cells is told to hold", "of 0 cells none" in report.report)
    report = tell(Planted(seconds=clear), seed=6500 + seed)
    named = [name.partition(":")[0] for name in FAILED]
    tally.add(
        "a sound control is told to have failed", any(report.places(control) for control in named)
    )
