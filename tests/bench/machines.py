"""Made-up machines of many shapes, as their drivers tell them in a calibration, and one fault each.

The shapes are those of rented machines: whole links and half ones, limits above the default, clocks far
under the highest, slices, old drivers, cards that tell little, processors that are not x86.  No machine
stands behind any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from msgspec import structs

from suite.analysis.ablation.hardware import LANE
from suite.analysis.ablation.soundness import find_unsound, take_first_block
from suite.analysis.analyse import analyse
from suite.analysis.documents.read import LoadedCampaign
from suite.model import CellResult, Document, Scalar, Telemetry
from suite.report.pages.campaign import compose_first
from suite.report.render.terminal import render_lines
from suite.worker import scenarios
from tests import synthetic
from tests.rendering import load

COPIES = [
    cell
    for cell in scenarios.cells()
    if cell.price in {"copy-in", "copy-out"} and (cell.work.bytes or 0.0) in {4.0, 2.0**16, 2.0**20}
]
CELLS = [*COPIES, *(synthetic.make_product(n) for n in (256, 1000, 4000))]
CAMPAIGN = synthetic.make_campaign(blocks=1, cells=CELLS)
LARGE = {cell.id for cell in CELLS[-1:]}
BYTES = {cell.id: cell.work.bytes or 0.0 for cell in COPIES}

Draw = np.random.Generator

HIDDEN = 0.42
"""Of a whole link that the driver tells, what one reaches that is really half of it."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine while it calibrates.

    ``link`` is a PCIe generation and its lanes under load, ``link_most`` what card and host can do, each None
    where the driver does not say; copies reach ``reach`` of what the link carries.  ``watts`` are the
    limit, the default and the highest, ``clock_mhz`` is what it came to, of ``clock_most_mhz``.  ``named`` is
    the card as the driver names it, ``seen`` as TensorFlow does; ``facts``, ``evidence`` and ``series`` are
    what else is told of the GPU, beside each cell, and over time; ``arm_facts`` what the worker tells.
    """

    named: str = "Made-Up Accelerator"
    seen: str | None = None
    link: tuple[int, int] | None = (4, 16)
    link_most: tuple[int, int] | None = (4, 16)
    reach: float | None = 0.85
    watts: tuple[float | None, float | None, float | None] = (300.0, 300.0, 300.0)
    clock_mhz: float = 1700.0
    clock_most_mhz: float | None = 1700.0
    clock_default_mhz: float | None = None
    gpus: int = 1
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    arm_facts: Mapping[str, Scalar] = field(default_factory=dict)
    evidence: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, float] = field(default_factory=dict)
    watched: bool = True
    refused: str | None = None


def tell_facts(machine: Machine) -> dict[str, Scalar]:
    """What the driver says of it, None where it says nothing."""
    limit, default, most = machine.watts
    generation, lanes = machine.link_most or (None, None)
    return {
        "gpu.name": machine.named,
        "gpu.count": machine.gpus,
        "gpu.silent": 0,
        "gpu.virtualization": "passthrough",
        "gpu.power_limit_w": limit,
        "gpu.power_limit_default_w": default,
        "gpu.power_limit_most_w": most,
        "gpu.clock_sm_most_mhz": machine.clock_most_mhz,
        "gpu.clock_default_mhz": machine.clock_default_mhz,
        "gpu.pcie_generation_most": generation,
        "gpu.pcie_width_most": lanes,
        **machine.facts,
    }


def watch(machine: Machine, document: Document) -> Document:
    """The document with what a sampler saw of the machine: idle at first, then at work."""
    if not machine.watched:
        return document
    series: dict[str, list[float | None]] = {
        "gpu.clock_sm_mhz": [300.0, machine.clock_mhz],
        "gpu.own_processes": [0.0, 1.0],
        "gpu.other_processes": [0.0, 0.0],
        "gpu.reasons_bits": [1.0, 0.0],
    }
    if machine.link is not None:
        # A link that idles goes down to the first generation; its lanes stay.
        series["gpu.pcie_generation"] = [1.0, float(machine.link[0])]
        series["gpu.pcie_width"] = [float(machine.link[1])] * 2
    series |= {name: [0.0, value] for name, value in machine.series.items()}
    telemetry = Telemetry(
        started=document.invocation.started,
        facts=tell_facts(machine),
        at_s=[0.0, 900.0],
        series=series,
    )
    absent = {name: why for name, why in document.absent.items() if name != "telemetry"}
    return replace(document, telemetry=telemetry, absent=absent)


def calibrate(machine: Machine) -> LoadedCampaign:
    """A campaign that has nothing but its calibration on this machine."""
    cpu, gpu = (synthetic.make_document(CAMPAIGN, arm, 0) for arm in CAMPAIGN.arms)
    lane = LANE[machine.link[0]] * machine.link[1] if machine.link else 15.8e9

    def change(cell: CellResult) -> CellResult:
        evidence = dict(machine.evidence)
        if cell.id in LARGE:
            evidence.setdefault("gpu.capped_share", 0.4)
        if machine.reach is None or not BYTES.get(cell.id):
            return replace(cell, evidence=evidence)
        # TensorFlow copies within the CPU's memory first, at some 8 GB/s; a copy takes 1.5 µs to begin.
        copying = 1.5e-6 + BYTES[cell.id] / (machine.reach * lane)
        call_s = 20e-6 + BYTES[cell.id] / 8e9 + copying
        trace = {"calls": 20.0, "call_s": call_s, "copy_share": copying / call_s, "copies": 1.0}
        return replace(cell, evidence=evidence, trace=trace)

    facts = {**gpu.facts, "gpu.0.name": machine.seen or machine.named, **machine.arm_facts}
    gpu = watch(machine, replace(gpu, facts=facts, cells=list(map(change, gpu.cells))))
    # What is the processor's shows on its own arm as well.
    shared = {name: value for name, value in machine.arm_facts.items() if name.startswith("cpu.")}
    cpu = replace(cpu, facts={**cpu.facts, **shared})
    if machine.refused is None:
        return load(CAMPAIGN, [cpu, gpu])
    return load(replace(CAMPAIGN, not_run={"cuda": machine.refused}), [cpu])


def read_first(machine: Machine) -> tuple[str, set[str], set[str]]:
    """What a person reads after the calibration, in one line; the codes for which it is unsound, and those
    of all that speaks against its GPU."""
    loaded = calibrate(machine)
    first, unsound = take_first_block(loaded), tuple(find_unsound(loaded))
    assert first is not None
    analysis = structs.replace(analyse(first), flags=unsound)
    against = {flag.code for flag in analysis.hardware if flag.severity == "caution"}
    text = " ".join(render_lines(compose_first(analysis)).split())
    return text, {flag.code for flag in unsound}, against


def _slice(draw: Draw) -> Machine:
    """A slice, whose driver says nothing of the card; of the licence an old one does not either."""
    cards = ("GRID T4-8Q", "NVIDIA A10-4Q", "NVIDIA A16-2B", "NVIDIA L40S-48Q", "NVIDIA A100-1-5C")
    modes: tuple[dict[str, Scalar], ...] = (
        {"gpu.virtualization": "vgpu", "gpu.licensed": True},
        {"gpu.virtualization": "vgpu"},
        {"gpu.virtualization": None},
    )
    return Machine(
        named=cards[draw.integers(len(cards))],
        link=None,
        link_most=None,
        watts=(None, None, None),
        clock_mhz=float(draw.integers(200, 2100)),
        clock_most_mhz=None,
        reach=None if draw.random() < 0.5 else 0.85,
        facts=modes[draw.integers(len(modes))],
    )


def _card(draw: Draw) -> Machine:
    """A whole card in a slot of its own kind."""
    generation, lanes = int(draw.integers(3, 6)), int(draw.choice([8, 16, 16]))
    clock = float(draw.integers(1100, 2600))
    watts = float(draw.choice([70, 72, 150, 250, 300, 350, 400, 700, 1000]))
    return Machine(
        link=(generation, lanes),
        link_most=(generation, 16),
        reach=float(draw.uniform(0.66, 0.92)),
        watts=(watts, watts, watts),
        # Hot, or a lottery: not every sound card comes to its highest clock.
        clock_mhz=clock * float(draw.uniform(0.88, 1.0)),
        clock_most_mhz=clock,
        gpus=(gpus := int(draw.choice([1, 1, 2, 4, 8]))),
        facts={
            "gpu.memory_errors": 0,
            "gpu.remapping_failed": False,
            **_count_old(draw),
            # Of a container's or a job's the bus says nothing.
            "gpu.on_bus": gpus if draw.random() < 0.5 else None,
        },
    )


def _count_old(draw: Draw) -> dict[str, Scalar]:
    """What a sound card may have counted in its life, and heard of while it was watched."""
    counted = {
        "corrected_errors_ever": int(draw.choice([0, 0, 12])),
        "memory_errors_ever": int(draw.choice([0, 0, 2])),
        "rows_remapped": int(draw.choice([0, 0, 1])),
        "pcie_replays": int(draw.choice([0, 6])),
    }
    facts: dict[str, Scalar] = {"gpu.xids": str(draw.choice(["none", "13,43", "31"]))}
    for name, count in counted.items():
        facts |= {f"gpu.{name}": count, f"gpu.at_end.{name}": count}
    return facts | {"gpu.at_end.pcie_replays": counted["pcie_replays"] + int(draw.integers(0, 9))}


def _raised(draw: Draw) -> Machine:
    """More power than by default, or less than could be set."""
    watts = (
        (400.0, 310.0, 400.0),
        (350.0, 310.0, 350.0),
        (150.0, 150.0, 162.0),
        (450.0, 450.0, 600.0),
        (500.0, 450.0, 600.0),
    )
    return replace(_card(draw), watts=watts[draw.integers(len(watts))])


def _default(draw: Draw) -> Machine:
    """A clock that stays at a default far under the highest, or does not heed it."""
    pairs = ((557.0, 1177.0), (885.0, 1531.0), (1245.0, 1597.0), (1290.0, 1530.0), (585.0, 1590.0))
    default, most = pairs[draw.integers(len(pairs))]
    clock = default if draw.random() < 0.5 else most
    return replace(
        _card(draw),
        clock_mhz=clock,
        clock_default_mhz=default,
        clock_most_mhz=most,
        series={"gpu.reasons_bits": 2.0},
    )


def _hidden(draw: Draw) -> Machine:
    """A virtual machine whose driver tells another link than there is: a faster one, or a slower one."""
    if draw.random() < 0.5:
        return replace(_card(draw), link=(4, 16), link_most=(4, 16), reach=HIDDEN)
    return replace(_card(draw), link=(1, 1), link_most=(5, 16), reach=float(draw.uniform(50, 800)))


def _dumb(draw: Draw) -> Machine:
    """A desktop card, another driver, or WSL: much is not told, or nobody watched or traced."""
    machine = replace(
        _card(draw), link_most=None, watts=(None, None, None), clock_most_mhz=None, facts={}
    )
    return replace(machine, watched=draw.random() < 0.7, reach=None)


def _mig(draw: Draw) -> Machine:
    name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
    return replace(_card(draw), named=name, facts={"gpu.mig": True})


def _arm(draw: Draw) -> Machine:
    return replace(
        _card(draw), arm_facts={"cpu.architecture": "aarch64", "cpu.model": "Neoverse-N1"}
    )


SHAPES: tuple[Callable[[Draw], Machine], ...] = (
    *(_card, _card, _card, _slice, _raised, _default, _hidden, _dumb, _mig, _arm),
)


def draw_sound(draw: Draw) -> Machine:
    """A sound machine, with what an idle one does besides: others take a little of its CPUs."""
    machine = SHAPES[draw.integers(len(SHAPES))](draw)
    quiet = {
        "foreign_cpus": float(draw.uniform(0, 0.3)),
        "steal_share": float(draw.uniform(0, 0.01)),
    }
    return replace(machine, evidence={**quiet, **machine.evidence})


Planted = tuple[Machine, str]
"""The machine with a fault, and what a person is to read of it."""


def _relink(machine: Machine, generation: int, lanes: int) -> Planted | None:
    """Another link than card and host could have; None: there is none, or no less of one."""
    if not (machine.link and machine.link_most and generation and lanes):
        return None
    words = f"link is PCIe generation {generation} with {lanes} lanes; at most:"
    return replace(machine, link=(generation, lanes)), words


def _copy_half(machine: Machine) -> Planted | None:
    if machine.link is None or machine.reach is None or not 0.6 < machine.reach < 1:
        return None
    return replace(machine, reach=machine.reach / 2), "that the reported link carries"


def _limit(machine: Machine) -> Planted | None:
    limit, default, most = machine.watts
    if limit is None:
        return None
    less = replace(machine, watts=(0.8 * limit, default, most))
    return less, f"the GPU's power limit is {0.8 * limit:,.0f} W"


def _lock_clock(machine: Machine, draw: Draw) -> Planted | None:
    if machine.clock_most_mhz is None:
        return None
    clock = float(draw.uniform(0.6, 0.8)) * machine.clock_most_mhz
    return replace(machine, clock_mhz=clock), f"the GPU's clock peaked at {clock:,.0f} MHz"


def _take_gpu(machine: Machine, draw: Draw) -> Planted:
    ways = [
        (replace(machine, refused="this machine has no NVIDIA GPU"), "has no NVIDIA GPU"),
        (replace(machine, arm_facts={"gpu.at_end": "gone"}), "the GPU did not answer"),
    ]
    if machine.gpus > 1 and machine.watched:
        unlisted = {"gpu.count": machine.gpus - 1, "gpu.on_bus": machine.gpus}
        words = f"1 of the machine's {machine.gpus} GPUs do not answer"
        ways += [
            (replace(machine, facts={**machine.facts, **facts}), words)
            for facts in ({"gpu.silent": 1}, unlisted)
        ]
    return ways[draw.integers(len(ways))]


def _set_quota(machine: Machine, draw: Draw) -> Planted:
    quota = float(draw.choice([0.1, 1.0, 3.5]))
    if draw.random() < 0.5:
        facts = {**machine.arm_facts, "cpu.quota": f"{quota:g}"}
        return replace(machine, arm_facts=facts), "a quota of"
    return replace(machine, evidence={"throttled_share": 0.3}), "a CPU quota throttled the worker"


def _spoil_memory(machine: Machine, draw: Draw) -> Planted | None:
    if "gpu.memory_errors" not in machine.facts:
        return None
    errors = int(draw.integers(1, 99))
    ways: list[tuple[dict[str, Scalar], str]] = [
        ({"gpu.memory_errors": errors}, "that ECC could not correct"),
        ({"gpu.at_end.memory_errors": errors}, f"{errors} of them in the preliminary run"),
        ({"gpu.remapping_failed": True}, "no spare rows are left"),
        ({"gpu.remapping_pending": True}, "the GPU has to be reset"),
        ({"gpu.at_end.retirement_pending": True}, "the GPU has to be reset"),
        ({"gpu.xids": "31,79"}, "the GPU has fallen off the bus"),
        ({"gpu.xids": "48"}, "by NVIDIA's Xid catalog the card"),
    ]
    bad, words = ways[draw.integers(len(ways))]
    return replace(machine, facts={**machine.facts, **bad}), words


def _hold(machine: Machine, draw: Draw) -> Planted | None:
    if machine.link is None:
        return None
    bit = float(draw.choice([0x8, 0x20, 0x40, 0x80]))
    return replace(machine, series={"gpu.reasons_bits": bit}), "hardware slowdown of the GPU"


def _share(machine: Machine) -> Planted:
    others = replace(machine, series={"gpu.other_processes": 1.0})
    return others, "another process computed on the GPU"


def _take_licence(machine: Machine) -> Planted | None:
    if machine.facts.get("gpu.virtualization") != "vgpu":
        return None
    return replace(machine, facts={**machine.facts, "gpu.licensed": False}), "without a licence"


def _neighbour(machine: Machine, draw: Draw) -> Planted:
    if draw.random() < 0.5:
        return replace(machine, evidence={"foreign_cpus": 1.5}), "other work used 1.5 CPUs"
    return replace(machine, evidence={"steal_share": 0.3}), "the hypervisor took over 10 %"


Fault = Callable[[Machine, Draw], Planted | None]
"""None: such a machine can't have it."""

UNWATCHED: Mapping[str, Fault] = {
    "half of its copies' rate": lambda machine, _: _copy_half(machine),
    "a missing GPU": _take_gpu,
    "a quota": _set_quota,
    "a neighbour": _neighbour,
}
"""The faults that a machine shows also where nobody watches it."""

FAULTS: Mapping[str, Fault] = {
    **UNWATCHED,
    "half of its lanes": lambda m, _: m.link and _relink(m, m.link[0], m.link[1] // 2),
    "a generation less": lambda m, _: m.link and _relink(m, m.link[0] - 1, m.link[1]),
    "80 % of its power": lambda machine, _: _limit(machine),
    "a locked clock": _lock_clock,
    "another card": lambda machine, _: (
        replace(machine, seen="Another Accelerator"),
        "ran on a GPU other than the one named",
    ),
    "bad memory": _spoil_memory,
    "held back": _hold,
    "another process": lambda machine, _: _share(machine),
    "no licence": lambda machine, _: _take_licence(machine),
}


def draw_faulty(draw: Draw, name: str) -> Planted:
    """A machine that was sound but for this fault, and what is to be read of it."""
    while True:
        machine = draw_sound(draw)
        may_show = machine.watched or name in UNWATCHED
        if may_show and (planted := FAULTS[name](machine, draw)):
            return planted
