"""The fewest seconds that a product or a price can take on the hardware it was measured on.

A bound is what nothing can beat: a number under it is wrong, and wins nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.analysis.documents.published import read_figures
from suite.analysis.result.limits import Figure, MachineType, Part
from suite.analysis.result.numbers import derive_rate
from suite.cells.cell import Cell
from suite.cells.traits import OverheadName
from suite.flags import Flag, raise_flag
from suite.model import Arm, Campaign, Document, Scalar

PCIE = 16 * 7.563e9
"""Bytes a second in one direction of the fastest PCIe link, of generation 6.0 with 16 lanes: 64 GT/s a
lane, of which 242 of the 256 bytes of a flit are data (the PCI-SIG's base specification).  No copy
reaches it, since packets have headers."""

MOST_COUNTED = 1e6
"""No count of CPUs, lanes or generations is larger; a document can hold any number."""

C2C = 900e9
"""Bytes a second in one direction to a GPU beside a processor that is not x86, which need not be joined
by PCIe: half of the 1.8 TB/s of NVIDIA's second NVLink-C2C.  The first one (GH200) has half of that, and
POWER9's NVLink less."""

CORE = 400e9
"""Bytes a second that a core writes at most: 64 bytes a cycle at 6.2 GHz.  No bandwidth of memory bounds
a copy, since some processors' caches hold 1 GiB."""

CALL = 1e-6
"""Seconds of a call from Python that launches a kernel; a bound of ours.  An empty kernel alone, without
Python and TensorFlow, takes over 4 µs (superbench-results, ``figures.toml``)."""

OPERATION = 0.2e-6
"""Seconds of an operation that waits for the one before; a bound of ours.  It reads what that one wrote
through the GPU's L2 cache, which takes 0.1 µs (222 to 339 cycles on an L40, arXiv 2606.22588), and has to
be launched besides: kernels that wait for each other usually take 1 to 2 µs, even in a CUDA graph."""


LEAST: Mapping[OverheadName | None, tuple[str, float]] = {
    **dict.fromkeys(("eager", "graph", "xla"), ("below-call", CALL)),
    "operation": ("below-operation", OPERATION),
}
"""By price the fewest seconds of a unit of work on a GPU, and the code of the flag for fewer.  A fence and a
start can take any time above zero, which `rules` asks of all."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """What an arm's numbers were made on, as its documents tell it; None: none of them does.

    ``device`` is the name of what does the arithmetic (the GPU as TensorFlow names it, else the
    processor), ``part`` its place among the published figures, ``products`` the theoretical peaks there
    by precision and ``memory`` the theoretical bandwidth.  ``cpus`` counts those that the arm may use.
    ``variant`` are a GPU's PCI numbers (device:subsystem), where the driver tells them; ``type_name`` is what
    a person or the cloud calls the type of the machine, and ``type`` what is known of it.
    """

    is_gpu: bool
    device: str | None
    part: Part | None
    products: Mapping[str, Figure]
    memory: Figure | None
    architecture: str | None
    cpus: float | None
    variant: str | None
    type_name: str | None
    type: MachineType | None


def find_places(
    campaign: Campaign, documents: Mapping[str, Mapping[int, Document]]
) -> dict[str, Place]:
    """By arm what it ran on, from its documents by block."""
    return {
        arm: _find_place(campaign.arm(arm), list(by_block.values()))
        for arm, by_block in documents.items()
    }


def find_impossible(arm: str, cell: Cell, place: Place, seconds: float) -> Flag | None:
    """Why no call of the cell can take so few seconds there, or None.

    Work that the cell pins to the CPU beside a GPU is not held against the GPU.
    """
    where = {"arm": arm, "cell": cell.id}
    if cell.on_cpu:
        return None
    if cell.work.unit == "FLOP":
        return _find_impossible_product(where, cell, place, seconds)
    most = _find_most(cell, place)
    if most is not None and cell.work.bytes and seconds < cell.work.bytes / most[1]:
        code, limit, values = most
        rate = derive_rate(cell.work.bytes, seconds)
        return raise_flag(code, where, rate=rate, most=limit, **values)
    # On a GPU alone: nothing that is published bounds a CPU's calls from below.
    # A copy is a call as well, however small.
    if place.is_gpu and cell.price in {"copy-in", "copy-out"} and seconds < CALL:
        return raise_flag("below-copy", where, seconds=seconds, least=CALL)
    if place.is_gpu and cell.price in LEAST and cell.work.amount:
        code, least = LEAST[cell.price]
        each = seconds / cell.work.amount
        if each < least:
            return raise_flag(code, where, seconds=each, unit=cell.work.unit, least=least)
    return None


def _find_impossible_product(
    where: Mapping[str, str], cell: Cell, place: Place, seconds: float
) -> Flag | None:
    precision = cell.precision
    peak, rate = place.products.get(precision), cell.work.amount / seconds
    if peak is None or place.part is None or rate <= peak.high:
        return None
    return raise_flag(
        *("above-peak", where),
        rate=rate,
        share=rate / peak.high,
        peak=peak.high,
        part=place.part.name,
        precision=precision,
    )


def _find_place(arm: Arm, documents: Sequence[Document]) -> Place:
    facts = take_first(documents)
    gpus = sorted(name for name in facts if name.startswith("gpu.") and name.endswith(".name"))
    device = read_text((facts[gpus[0]] if gpus else None) if arm.gpu else facts.get("cpu.model"))
    figures = read_figures()
    part = figures.find_part(device)
    engines = (document.invocation.engine for document in documents)
    type_name = next((str(kind) for facts in engines if (kind := facts.get("machine.type"))), None)
    watched = (document.telemetry.facts for document in documents if document.telemetry)
    variants = (facts.get("gpu.pci_device") for facts in watched)
    return Place(
        is_gpu=arm.gpu,
        device=device,
        part=part,
        products={figure.precision: figure for figure in figures.select(part, "product", "peak")},
        memory=next(iter(figures.select(part, "memory", "peak")), None),
        architecture=read_text(facts.get("cpu.architecture")),
        cpus=_most(document.facts.get("cpu.usable") for document in documents),
        variant=next((str(numbers) for numbers in variants if arm.gpu and numbers), None),
        type_name=type_name,
        type=figures.find_type(type_name),
    )


def take_first(documents: Iterable[Document]) -> dict[str, Scalar]:
    """Every fact that is known, from the first document that has it."""
    facts: dict[str, Scalar] = {}
    for document in documents:
        for name, value in document.facts.items():
            if value is not None:
                facts.setdefault(name, value)
    return facts


def read_text(value: Scalar) -> str | None:
    """A fact as a text, where there is one."""
    return None if value is None else str(value)


def _most(values: Iterable[Scalar]) -> float | None:
    """The largest of the counts among them."""
    numbers = (value for value in values if isinstance(value, int | float))
    return max((number for number in numbers if 1 <= number < MOST_COUNTED), default=None)


def _find_most(cell: Cell, place: Place) -> tuple[str, float, Mapping[str, Any]] | None:
    """The most bytes a second that a sum or a copy can move there, with the code and the values of the flag
    for a rate above it.

    A sum by the memory of a known part; what a GPU's caches hold is a small share of the arrays.  A copy on a
    GPU by one direction of the fastest link that there is, not by the one that the driver tells: in a virtual
    machine it can tell a slower one.  A copy on the CPU by what its cores write.
    """
    if cell.price == "memory":
        if place.part is None or place.memory is None:
            return None
        named = {"part": place.part.name, "source": place.memory.source}
        return "above-memory", place.memory.high, named
    if cell.price not in {"copy-in", "copy-out"}:
        return None
    if not place.is_gpu:
        cpus = place.cpus
        return ("above-cores", CORE * cpus, {"cpus": cpus}) if cpus else None
    if place.architecture not in {None, "x86_64", "amd64"}:
        return "above-nvlink", C2C, {}
    return "above-pcie", PCIE, {}
