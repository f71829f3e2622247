"""What others' tools say of the machine, beside what was measured: their copies beside ours, and what of it
speaks against the machine, or against taking it for this one's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from suite.analysis.ablation.cell_index import CellIndex
from suite.analysis.ablation.hardware import LANE, list_copies
from suite.analysis.campaign.plausibility import take_first
from suite.analysis.campaign.proof import GPU_UUID
from suite.analysis.campaign.summarise import Summary
from suite.analysis.campaign.telemetry import sum_up
from suite.analysis.result.arms import Span
from suite.analysis.result.numbers import derive_rate
from suite.analysis.result.tools import CopyBeside, CopyVerdict, Tool, Tools, Way
from suite.flags import Flag, raise_flag

BEYOND = 1.2
"""Times their rate that ours can't have: both copy over the same link, and most types of machines give
the same rate to a few per cent each time (SpareCores, 2026)."""

AGREES, STAGED = 0.8, 0.5
"""From this share of their rate on ours agrees; up to the other one the data go through the CPU's memory
once more, since TensorFlow copies from memory that is not pinned."""

_HASHED = re.compile("sha256:|hmac:|#")


def find_tools(summary: Summary, index: CellIndex) -> Tools | None:
    """What the kept outputs say; None: there are none."""
    outputs = summary.loaded.tools
    if not outputs:
        return None
    arms = [arm for arm in summary.counted if summary.places[arm].is_gpu]
    copies = tuple(
        beside
        for arm in arms
        for tool in outputs
        for way, theirs in tool.rates.items()
        if (beside := _compare(index, arm, way, tool, theirs))
    )
    flags = (*_flag_outputs(summary, arms, outputs), *map(_flag_copy, copies))
    return Tools(
        outputs=outputs,
        carries=_find_carried(summary, arms, outputs),
        copies=copies,
        flags=tuple(filter(None, flags)),
    )


def _find_carried(summary: Summary, arms: list[str], outputs: tuple[Tool, ...]) -> float | None:
    """What the fastest link carries: as it was seen under load, or as nvidia-smi has it at best."""
    seen = [sum_up(list(summary.counted[arm].values())).gpu for arm in arms]
    links = [(gpu.pcie_generation, gpu.pcie_lanes) for gpu in seen if gpu]
    if not any(generation for generation, _ in links):
        links = [(gpu.generation_most, gpu.lanes) for tool in outputs for gpu in tool.gpus]
    rates = (LANE.get(generation or 0.0, 0.0) * (lanes or 0.0) for generation, lanes in links)
    return max(filter(None, rates), default=None)


def _compare(index: CellIndex, arm: str, way: Way, tool: Tool, theirs: Span) -> CopyBeside | None:
    """Our best copy beside theirs; None: none was measured."""
    called, copied = [], []
    for cell, size, copying in list_copies(index, arm, way):
        if seconds := index.seconds(cell, arm):
            called.append(derive_rate(size, seconds))
            copied.append(derive_rate(size, copying) if copying > 0 else None)
    rate = max(filter(None, called), default=None)
    if rate is None:
        return None
    alone = max(filter(None, copied), default=None)
    return CopyBeside(
        arm=arm,
        way=way,
        file=tool.file,
        theirs=theirs,
        called=rate,
        copied=alone,
        verdict=_judge(max(rate, alone or 0.0), rate, theirs),
    )


def _judge(best: float, called: float, theirs: Span) -> CopyVerdict:
    if best > BEYOND * theirs.high:
        return "faster"
    if called >= AGREES * theirs.low:
        return "agrees"
    return "staged" if called <= STAGED * theirs.low else "slower"


def _flag_copy(beside: CopyBeside) -> Flag | None:
    if beside.verdict != "faster":
        return None
    rate = max(beside.called, beside.copied or 0.0)
    return raise_flag(
        "copy-beyond",
        {"arm": beside.arm},
        way=beside.way,
        rate=rate,
        theirs=beside.theirs.high,
        times=rate / beside.theirs.high,
        file=beside.file,
    )


def _flag_outputs(summary: Summary, arms: list[str], outputs: tuple[Tool, ...]) -> Iterator[Flag]:
    facts = {arm: take_first(list(summary.counted[arm].values())) for arm in arms}
    # A UUID as it was, of before it was kept as a hash, can't be recognised.
    ours = {str(of.get(GPU_UUID, "")) for of in facts.values()}
    ours = {identity for identity in ours if _HASHED.match(identity)}
    drivers = {str(of["gpu.driver"]) for of in facts.values() if of.get("gpu.driver")}
    told = {
        state for each in summary.health.values() for state, is_so in each.states.items() if is_so
    }
    where: Mapping[str, str] = {"arm": next(iter(arms), "")}
    for tool in outputs:
        own = [gpu for gpu in tool.gpus if gpu.identity in ours]
        if tool.driver and drivers and tool.driver not in drivers:
            theirs, measured = tool.driver, sorted(drivers)
            yield raise_flag("output-driver", where, file=tool.file, theirs=theirs, ours=measured)
        # Of an instance (MIG) ours is the instance's; of others either side may not know it.
        known = all(gpu.identity and not gpu.mig for gpu in tool.gpus)
        if tool.gpus and ours and not own and known:
            yield raise_flag("output-elsewhere", where, file=tool.file)
            continue
        for gpu in own or tool.gpus:
            # What was seen of this very GPU is flagged already.
            seen = told if own or len(tool.gpus) == 1 else set[str]()
            if faults := [fault for fault in gpu.faults if fault not in seen]:
                device = gpu.name or "a GPU"
                yield raise_flag("tool-faults", where, file=tool.file, device=device, faults=faults)
        failed = [": ".join([t.name, *t.said[:1]]) for t in tool.tests if t.outcome == "failed"]
        if failed:
            yield raise_flag("diag-failed", where, file=tool.file, failed=failed)
