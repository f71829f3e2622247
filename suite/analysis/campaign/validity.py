"""Which invocations and numbers must not count, for reasons that look at no timing of a cell; pure.

The one list of the labels and counters by which a document says that it was disturbed.  A counter
that a document does not have is unknown and excludes nothing.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from suite.analysis.documents.read import LoadedCampaign
from suite.model import AT_END, FINE, CellResult, Document, Scalar

MOST_SET_ASIDE = 0.2
"""With a larger share of its invocations set aside a campaign is INVALID."""

Fault = tuple[str, str]
"""The code of a reason, for programs, and the reason as a phrase for people."""

QUOTA = ("cpu-quota", "a CPU quota throttled the container")
SLOWDOWN = ("gpu-slowdown", "thermal or hardware slowdown of the GPU for over 1 % of the time")
SHARED = ("gpu-shared", "another process computed on the GPU")
STEAL = ("steal", "the hypervisor took over 10 % of the CPU time (steal)")
LOST = (
    "gpu-lost",
    "the GPU did not answer, or answered wrong, when the last cell had been measured",
)
OTHER_GPU = ("gpu-other", "another GPU than the one named")
CHANGED = "changed"
SET_ASIDE = "set-aside"

FAULTS: Mapping[str, Fault] = {
    fault[0]: fault for fault in (QUOTA, SLOWDOWN, SHARED, STEAL, OTHER_GPU, LOST)
}
"""By label, what a cell's own labels can say against its numbers."""


def _exceeds(limit: float) -> Callable[[Scalar], bool]:
    return lambda value: isinstance(value, int | float) and value > limit


COUNTERS: Sequence[tuple[str, Callable[[Scalar], bool], Fault]] = (
    ("cpu.throttled_s", _exceeds(0.0), QUOTA),
    ("cpu.steal_share", _exceeds(0.10), STEAL),
    ("gpu.is_named", lambda value: value is False, OTHER_GPU),
)
"""Names in the facts of an invocation's telemetry, what of them is a fault, and which one."""

THROTTLED_SHARE = 0.001
"""A quota that held a cell back for less than this of its time took less than timing itself costs."""

EVIDENCE: Sequence[tuple[str, float, Fault]] = (
    ("throttled_share", THROTTLED_SHARE, QUOTA),
    ("steal_share", 0.10, STEAL),
    ("gpu.slowdown_share", 0.01, SLOWDOWN),
    ("gpu.other_processes", 0.0, SHARED),
)
"""Names in a cell's evidence, from where on they are a fault, and which one."""

CONTENDED_CELL = (("steal_share", 0.02), ("foreign_cpus", 0.10))
"""Names in a cell's evidence that label its number ``contended``, and from where on.  A tenth of a
CPU is more than an idle machine's own services take; the worker's own threads wait for each other,
so that pressure alone says nothing about others."""

LABELLED = (
    (
        "gpu.capped_share",
        0.05,
        "power-capped: the GPU's power limit held its clocks down, as large products do",
    ),
    ("thermal_events", 0.0, "cpu-thermal: the processor slowed itself down for heat"),
    ("cpu.throttle_events", 0.0, "cpu-thermal: the processor slowed itself down for heat"),
)
"""Names in a cell's evidence that stand beside its number, from where on, and in which words."""

STALL_S = 0.5
STALL_FACTOR = 3.0

CONTENDED = (("cpu.steal_share", _exceeds(0.02)), ("cpu.pressure_share", _exceeds(0.02)))
"""Names in the facts of an invocation's telemetry that label its numbers ``contended``, and from where on."""


@dataclass(frozen=True, kw_only=True)
class Aside:
    """An invocation that does not count; ``repeated``: another one took its place."""

    arm: str
    block: int
    repeat: int
    code: str
    reason: str
    repeated: bool


def find_fault(document: Document) -> Fault | None:
    """What its GPU at the end, or its telemetry, says against a whole invocation, the first, or None."""
    # A container that died in a cell, or an arm without a GPU, does not say how its GPU was at the end.
    told = [document.facts, *(one.facts for one in document.invocation.containers)]
    if any(facts.get(AT_END, FINE) != FINE for facts in told):
        return LOST
    telemetry = document.telemetry.facts if document.telemetry else {}
    return next((fault for name, is_bad, fault in COUNTERS if is_bad(telemetry.get(name))), None)


def find_disturbance(document: Document) -> Fault | None:
    """Why an invocation as a whole was disturbed, for a reason that looks at no timing, or None.

    Its telemetry says so; or one fault befell more of its measured cells than may be set aside.
    """
    whole = find_fault(document)
    if whole is not None:
        return whole
    measured = [one for one in document.cells if one.outcome == "measured"]
    found = Counter(fault for one in measured if (fault := find_cell_fault(one)))
    fault, count = next(iter(found.most_common(1)), (None, 0))
    return fault if count > MOST_SET_ASIDE * len(measured) else None


def asks_for_repeat(document: Document) -> str | None:
    """Why an invocation should be run again, in words, or None; by what `gauges` joined, too.

    A CPU quota and a wrong GPU stay as they are, however often one tries.
    """
    fault = find_disturbance(document)
    return None if fault is None or fault in {QUOTA, OTHER_GPU} else fault[1]


def find_cell_fault(result: CellResult) -> Fault | None:
    """What its labels or its evidence say against one cell of an invocation, the first, or None."""
    said = next((FAULTS[label] for label in result.labels if label in FAULTS), None)
    if said is not None:
        return said
    return next(
        (fault for name, most, fault in EVIDENCE if (result.evidence.get(name) or 0.0) > most), None
    )


def find_labels(result: CellResult) -> list[str]:
    """What stands beside a cell's number: its own labels, and what its evidence says."""
    labels = [label for label in result.labels if label not in FAULTS]
    evidence = result.evidence
    if any((evidence.get(name) or 0.0) > most for name, most in CONTENDED_CELL):
        labels.append("contended: others used the CPUs")
    labels += dict.fromkeys(
        words for name, most, words in LABELLED if (evidence.get(name) or 0.0) > most
    )
    if _is_stalled(result):
        labels.append("stalled: for a while nothing moved, and no sample of its kind explains it")
    return labels


def _is_stalled(result: CellResult) -> bool:
    """Whether time went by that the cell's samples do not explain, between them or within one.

    Between: the loop's wall time less all samples.  Within: a sample that took `STALL_S` longer than
    the median one; a paused container or a suspended machine looks like that.
    """
    samples = [*result.warmup_s, *result.samples_s]
    calls = result.calls_per_sample
    if calls is None or len(samples) < 2:
        return False
    wall = result.spent_s.get("warmup", 0.0) + result.spent_s.get("measure", 0.0)
    between = wall - calls * sum(samples)
    usual = statistics.median(samples)
    within = calls * (max(samples) - usual)
    return between > STALL_S or (within > STALL_S and max(samples) > STALL_FACTOR * usual)


def is_contended(document: Document) -> bool:
    """Whether its telemetry shows others at work, not enough to set it aside."""
    telemetry = document.telemetry.facts if document.telemetry else {}
    return any(is_bad(telemetry.get(name)) for name, is_bad in CONTENDED)


def set_aside(loaded: LoadedCampaign) -> list[Aside]:
    """The invocations of block 1 and later that do not count, in the documents' order.

    An earlier repeat gives way to a later one whatever it measured; the last one of a block is set
    aside only for a fault.
    """
    documents = [one for one in loaded.documents if one.invocation.block >= 1]
    last = {(one.invocation.arm, one.invocation.block): one.invocation.repeat for one in documents}
    asides = []
    for document in documents:
        invocation = document.invocation
        repeated = invocation.repeat < last[invocation.arm, invocation.block]
        fault = find_fault(document)
        if fault is None and not repeated:
            continue
        code, reason = fault or _explain_repeat(document)
        asides.append(
            Aside(
                arm=invocation.arm,
                block=invocation.block,
                repeat=invocation.repeat,
                code=code,
                reason=reason,
                repeated=repeated,
            )
        )
    return asides


def judge_campaign(loaded: LoadedCampaign, asides: Sequence[Aside]) -> Fault | None:
    """Why a whole campaign is INVALID: over a fifth of its invocations were disturbed.

    Interrupted ones were repeated for no fault of theirs and do not count against it.
    """
    count = sum(one.invocation.block >= 1 for one in loaded.documents)
    disturbed = [one for one in asides if one.code != "interrupted"]
    if len(disturbed) <= MOST_SET_ASIDE * count:
        return None
    reasons = "; ".join(dict.fromkeys(one.reason for one in disturbed))
    return SET_ASIDE, f"{len(disturbed)} of {count} invocations had to be set aside: {reasons}"


def _explain_repeat(document: Document) -> Fault:
    status = document.invocation.status
    if status != "complete":
        return "interrupted", status
    disturbance = find_disturbance(document)
    if disturbance is not None:
        return disturbance
    return "repeated", "repeated; the document does not say why"
