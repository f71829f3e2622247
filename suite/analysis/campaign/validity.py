"""Which invocations and numbers must not count, for reasons that look at no timing of a cell; pure.

The one list of the labels and counters by which a document says that it was disturbed.  A counter
that a document does not have is unknown and excludes nothing.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.documents.telemetry import IS_NAMED
from suite.analysis.statistics.estimate import STALL_S, is_stall
from suite.flags import Flag, raise_flag
from suite.model import (
    AT_END,
    FINE,
    FIRST_CALL,
    CellResult,
    Document,
    Scalar,
    count_compiled,
)

MOST_SET_ASIDE = 0.2
"""With a larger share of its invocations excluded a campaign is INVALID."""

OF_CELLS = frozenset({"cpu-quota", "gpu-slowdown", "gpu-shared", "steal", "gpu-other", "gpu-lost"})
"""The codes that a cell's own labels can hold against its numbers."""


Limits = Sequence[tuple[str, float, str]]
"""Names of what was seen, from where on it says something, and the code for that."""

COUNTERS: Limits = (("cpu.throttled_s", 0.0, "cpu-quota"), ("cpu.steal_share", 0.10, "steal"))
"""What in the facts of an invocation's telemetry disturbs it."""

CONTENDED: Limits = (
    ("cpu.steal_share", 0.02, "contended-machine"),
    ("cpu.pressure_share", 0.02, "contended-machine"),
)
"""What there labels its numbers."""

THROTTLED_SHARE = 0.001
"""A quota that held a cell back for less than this of its time took less than timing itself costs."""

EVIDENCE: Limits = (
    ("throttled_share", THROTTLED_SHARE, "cpu-quota"),
    ("cpu.quota_share", THROTTLED_SHARE, "cpu-quota"),
    ("steal_share", 0.10, "steal"),
    ("gpu.slowdown_share", 0.01, "gpu-slowdown"),
    ("gpu.other_processes", 0.0, "gpu-shared"),
)
"""What in a cell's evidence disturbs it."""

LABELLED: Limits = (
    ("steal_share", 0.02, "contended"),
    ("foreign_cpus", 0.10, "contended"),
    ("gpu.capped_share", 0.05, "power-capped"),
    ("thermal_events", 0.0, "cpu-thermal"),
    ("cpu.throttle_events", 0.0, "cpu-thermal"),
)
"""What in a cell's evidence flags its number.  A tenth of a CPU is more than an idle machine's own services
take; the worker's own threads wait for each other, so that pressure alone says nothing about others."""

TOLD = {
    "warm-up cap": "warm-up-cap",
    "short samples": "short-samples",
    "dispatch-bound": "dispatch-bound",
    "disturbed": "samples-waited",
}
"""The code for each label that the worker gives a cell."""


def _find_over(values: Mapping[str, Scalar], limits: Limits) -> list[str]:
    """The codes of what is over its limit; what is unknown is not."""
    return [
        code
        for name, most, code in limits
        if isinstance(value := values.get(name), int | float) and value > most
    ]


def find_whole_disturbance(document: Document) -> str | None:
    """What its GPU at the end, or its telemetry, says against a whole invocation: a code, or None."""
    # A container that died in a cell, or an arm without a GPU, does not say how its GPU was at the end.
    places = [document.facts, *(container.facts for container in document.invocation.containers)]
    if any(facts.get(AT_END, FINE) != FINE for facts in places):
        return "gpu-lost"
    telemetry = document.telemetry.facts if document.telemetry else {}
    other = ["gpu-other"] if telemetry.get(IS_NAMED) is False else []
    return next(iter([*_find_over(telemetry, COUNTERS), *other]), None)


def find_disturbance(document: Document) -> str | None:
    """Why an invocation as a whole was disturbed, for a reason that looks at no timing: a code, or None.

    Its telemetry says so; or one disturbance befell more of its measured cells than may be excluded.
    """
    whole = find_whole_disturbance(document)
    if whole is not None:
        return whole
    measured = [cell for cell in document.cells if cell.outcome == "measured"]
    counts = Counter(code for result in measured if (code := find_cell_disturbance(result)))
    code, count = next(iter(counts.most_common(1)), (None, 0))
    return code if count > MOST_SET_ASIDE * len(measured) else None


def asks_for_repeat(document: Document) -> str | None:
    """Why an invocation should be run again: a code, or None; by what `join_document` joined, too.

    A CPU quota and a wrong GPU stay as they are, however often one tries.
    """
    code = find_disturbance(document)
    return None if code in {"cpu-quota", "gpu-other"} else code


def find_cell_disturbance(result: CellResult) -> str | None:
    """What its labels or its evidence say against one cell of an invocation, the first code, or None."""
    said = [label for label in result.labels if label in OF_CELLS]
    return next(iter([*said, *_find_over(result.evidence, EVIDENCE)]), None)


def find_labels(result: CellResult) -> list[tuple[str, str]]:
    """What stands beside a cell's number, each with its code: the worker's labels, in its own words, and
    what the evidence says, in none."""
    labels = [
        (TOLD.get(label, "labelled"), label) for label in result.labels if label not in OF_CELLS
    ]
    codes = _find_over(result.evidence, LABELLED)
    codes += ["stalled"] if _is_stalled(result) else []
    return [*labels, *((code, "") for code in dict.fromkeys(codes))]


def _is_stalled(result: CellResult) -> bool:
    """Whether time went by that the cell's samples do not explain, between them or within one.

    Between: the loop's wall time less all samples.  Within: `is_stall`; of a slow cell's one sample beside
    its first call, which can't be shorter by itself, since it holds what a first time costs.
    """
    samples = [*result.warmup_s, *result.samples_s]
    calls = result.calls_per_sample
    first_s = result.first_call_s if result.warmup_status == FIRST_CALL else None
    if calls is None or (len(samples) < 2 and first_s is None):
        return False
    wall = result.spent_s.get("warmup", 0.0) + result.spent_s.get("measure", 0.0)
    between = wall - calls * math.fsum([*samples, *result.replaced_s]) - (first_s or 0.0)
    usual = statistics.median(samples if len(samples) > 1 or first_s is None else [first_s])
    return between > STALL_S or is_stall(max(samples), usual, calls)


def is_contended(document: Document) -> bool:
    """Whether its telemetry shows others at work, not enough to set it aside."""
    telemetry = document.telemetry.facts if document.telemetry else {}
    return bool(_find_over(telemetry, CONTENDED))


def exclude(loaded: LoadedCampaign) -> list[Flag]:
    """The invocations of block 1 and later that do not count, in the documents' order.

    An earlier repeat gives way to a later one whatever it measured, and its flag says that it was
    ``repeated``; the last one of a block is excluded only for what disturbed it, or with its block where
    that is measured again.
    """
    documents = [document for document in loaded.documents if document.invocation.block >= 1]
    repeats: dict[tuple[str, int], list[int]] = {}
    for document in documents:
        of = document.invocation
        repeats.setdefault((of.arm, of.block), []).append(of.repeat)
    flags = []
    for document in documents:
        of = document.invocation
        later = [repeat for repeat in repeats[of.arm, of.block] if repeat > of.repeat]
        news = (again for again in loaded.campaign.again if again.block == of.block)
        again = next((again for again in news if of.repeat < again.repeat), None)
        if again and any(repeat < again.repeat for repeat in later):
            again = None  # it had already given way to its own repeat
        code = find_whole_disturbance(document)
        if code is None and again is not None:
            # A campaign can have been stopped before the new measurement.
            own = "off-pace-then" if later else "off-pace"
            code = own if again.arm == of.arm else "block-again"
        elif code is None and later:
            code = _explain_repeat(document)
        if code is not None:
            where = {name: getattr(of, name) for name in ("arm", "block", "repeat")}
            values: dict[str, Any] = {"pace": again.pace, "odd": again.arm} if again else {}
            flags.append(raise_flag(code, where, repeated=bool(later), status=of.status, **values))
    return flags


def judge_campaign(loaded: LoadedCampaign, excluded: Sequence[Flag]) -> tuple[Flag, ...]:
    """Why a whole campaign is INVALID: over a fifth of its invocations are excluded and have no successor.

    What was measured again counts neither for it nor against it: the new measurement does.
    """
    aside = [flag for flag in excluded if not flag.values["repeated"]]
    count = sum(document.invocation.block >= 1 for document in loaded.documents)
    count -= len(excluded) - len(aside)
    codes = [flag.code for flag in aside]
    if len(codes) <= MOST_SET_ASIDE * count:
        return ()
    distinct = tuple(dict.fromkeys(codes))
    return (raise_flag("set-aside", disturbed=len(codes), invocations=count, codes=distinct),)


def _explain_repeat(document: Document) -> str:
    if document.invocation.status != "complete":
        return "interrupted"
    compiled = "kernels-compiled" if count_compiled(document) else "repeated"
    return find_disturbance(document) or compiled
