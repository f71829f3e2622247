"""What a machine of this type, with this GPU, should give: the published figures, for `make doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suite.analysis.documents.published import COPIED, combine, read_figures
from suite.analysis.result.limits import Figure, MachineType, Part
from suite.host.doctor.finding import Finding, no, not_applicable, yes
from suite.model import Scalar
from suite.report.text.units import show_rate
from suite.slices import is_piece


def expect(type_name: str | None, gpus: Sequence[str]) -> Finding:
    """What is published of a machine of that type (None: not known) with GPUs of these names."""
    figures = read_figures()
    kind = figures.find_type(type_name)
    seen = [part for name in gpus if (part := figures.find_part(name))]
    part = next(
        (part for part in figures.parts if kind and part.name == kind.part),
        seen[0] if seen else None,
    )
    said = f"{type_name} is not in the table of machine types" if type_name else "no type is known"
    if part is None:
        named = f", and no figures are known of {gpus[0]}" if gpus else ", and no GPU answers"
        return not_applicable(f"{said}{named}: `TYPE=g5.xlarge` names a type")
    if kind and gpus and is_piece(gpus[0]):
        return not_applicable(f"{gpus[0]} is less than a whole GPU, and no figures are known of it")
    if kind and gpus and kind.part not in {each.name for each in seen}:
        return no(
            f"{type_name} ({kind.name}) has {kind.part} as its GPU, and the GPU here calls itself {gpus[0]}",
            "ask the vendor; or the table of types is wrong, or TYPE is",
            type=type_name,
            part=kind.part,
            gpu=gpus[0],
        )
    found = dict(_list_figures(part, kind))
    if not found:
        return not_applicable(f"{said}, and nothing that was measured is known of {part.name}")
    facts: dict[str, Scalar] = {"type": type_name, "known": kind.name if kind else None}
    facts["part"] = part.name
    for of, figure in found.items():
        name = of.replace(" ", "_")
        facts |= {f"{name}_low": figure.low, f"{name}_high": figure.high}
        facts[f"{name}_source"] = f"{figure.source} ({figure.date})"
    words = ", ".join(f"{of} {_show(figure)}" for of, figure in found.items())
    every = (source for figure in found.values() for source in figure.source.split("; "))
    sources = "; ".join(dict.fromkeys(every))
    notes = f"pinned copies, of which TensorFlow's reach a third to all; by {sources}"
    if kind is None:
        return yes(f"{said}; {part.name} on all types: {words} ({notes})", **facts)
    facts |= {"pcie_generation": kind.generation, "pcie_lanes": kind.lanes}
    link = f"PCIe generation {kind.generation} with {kind.lanes} lanes"
    return yes(
        f"{type_name} ({kind.name}, {part.name}): {words}, {link} ({notes})",
        **facts,
    )


def _list_figures(part: Part, kind: MachineType | None) -> Iterator[tuple[str, Figure]]:
    """What is measured, by what it is of; of copies those of the type alone, where it is known."""
    figures = read_figures()
    products = figures.select(part, "product", "measured")
    for precision in dict.fromkeys(figure.precision for figure in products):
        yield f"{precision} products", combine([p for p in products if p.precision == precision])
    if memory := figures.select(part, "memory", "measured"):
        yield "memory", combine(memory)
    for quantity, of in COPIED.items():
        copies = figures.select(part, quantity, "measured")
        if own := [each for each in copies if kind is None or kind.name in each.types]:
            yield of, combine(own)


def _show(figure: Figure) -> str:
    unit = figure.unit.removesuffix("/s").replace("B", "byte")
    low, high = (show_rate(value, unit, 1.0) for value in (figure.low, figure.high))
    return f"{low}" if low == high else f"{low} to {high}"
