"""Flags: everything that speaks against a number, an invocation, a comparison or a campaign.

The one registry of their kinds.  Whoever raises a flag gives a code and values; the report makes the
sentence from the text that stands here.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["info", "caution", "excluded", "invalid", "missing"]
"""Beside the number; in the opening, too; the invocation does not count; struck through and never
judged; no number."""

Scope = Literal["machine", "campaign", "arm", "invocation", "cell", "comparison"]
"""What a flag is about."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of flag; ``text`` is its sentence, with the names of the values that it needs."""

    severity: Severity
    scope: Scope
    text: str


@dataclass(frozen=True, kw_only=True)
class Flag:
    """One finding: its kind, how grave it is here, and about what.

    ``where`` names what it is about: ``arm``, ``cell``, ``block``, ``repeat``, or ``blocks``, the numbers
    of the blocks that have it.  ``values`` are what its sentence tells: numbers, names, or lists of these.
    """

    code: str
    severity: Severity
    scope: Scope
    where: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


_RESULTS = (
    "the results differ by more than the tolerance of {tolerance:g}, so this was not the same work: "
    "{seen:ranges}"
)
_NOT_THE_WORK = "the work was incomplete, not waited for, or not on this device"
_MOVES = "{arm}: moves {rate:byte/s}, but"
_TAKES = "{arm}: takes {seconds:seconds} for each {unit}, but on a GPU"

_TEXTS: Mapping[tuple[Severity, Scope], Mapping[str, str]] = {
    # What disturbed an invocation.  A cell of which too many invocations were is invalid for it.
    ("excluded", "invocation"): {
        "cpu-quota": "a CPU quota throttled the worker",
        "gpu-slowdown": "thermal or hardware slowdown of the GPU for over 1 % of the time",
        "gpu-shared": "another process computed on the GPU",
        "steal": "the hypervisor took over 10 % of the CPU time (steal)",
        "gpu-other": "ran on a GPU other than the one named",
        "gpu-lost": "after the last cell the GPU did not answer, or gave a wrong result",
        "interrupted": "{status}",
        "off-pace": "took {pace:.2f} times as long as the arm's other invocations, uniformly across its "
        "cells; its block is excluded for all arms",
        "off-pace-then": "took {pace:.2f} times as long as the arm's other invocations, uniformly across "
        "its cells; it does not count, its block was measured again on all arms",
        "block-again": "{odd} was off its usual pace in this block",
        "repeated": "repeated; the document does not say why",
    },
    # A campaign that is not set beside others.
    ("excluded", "campaign"): {
        "same-campaign": "the same campaign as one listed before it",
        "copied": "{share:share} of its values equal those of {campaign} to the last digit: a copy",
        "contradicts": "{share:share} of its values equal those of {campaign} to the last digit, under "
        "another machine's identity: one of the two is a copy, and nobody can tell which",
        "copied-somewhere": "{share:share} of its values equal those of {campaign} to the last digit, and "
        "not both name their machine: one of the two is a copy, and nobody can tell which",
        "other-suite": "measured by another version of the suite: the content of its measured part is "
        "{content}, that of the others {usual}",
        "other-method": "measured with another method than the others: {ours:names}, not {usual:names}",
        "none-counts": "no block of it counts",
    },
    # Of a whole campaign: told in the title and over every table.
    ("caution", "campaign"): {
        "simulated": "The numbers are synthetic, to test or demonstrate the report. No machine was measured",
        "stand-in": "The GPU's driver was a stand-in from the project's tests, with no GPU behind it: arms "
        "with a GPU have no numbers here, and that GPU's details are made up. The CPU arms were "
        "measured",
        "container-unseen": "The worker ran in a container or job that the suite did not start: its limits "
        "are those visible from inside, and nothing else is known of its isolation",
        "not-containerized": "The worker ran as a plain process on this machine, not in a container: its "
        "libraries and limits are not those of an image",
        "cpus-idle": "{arm}: its largest products kept only {busy:.1f} of {cores:.0f} CPU cores busy, so CPU "
        "times are up to {factor:.1f} times too long, and GPUs look better by the same factor; "
        "`make doctor` looks for isolated CPUs, limits on threads, and quotas",
        "cpus-withheld": "{arm}: only {used:.0f} of the {cores:.0f} CPU cores available here could be used "
        "(a pinned shell, taskset, Slurm's binding, or isolated CPUs), so CPU times are of these alone",
    },
    # What a GPU is, how it is set, and how fast; what of it makes a machine unsound is said in
    # ``analysis/ablation/soundness``.
    ("caution", "arm"): {
        "power-limited": "{arm}: the GPU's power limit is {limit:,.0f} W[ (default: {usual:,.0f} W)][; up to "
        "{most:,.0f} W can be set] (`nvidia-smi -q -d POWER`)",
        "link-slow": "{arm}: copies between CPU and GPU reach {rate:byte/s}, {share:percent} of the "
        "{carries:byte/s} that the reported link carries (PCIe generation {generation:.0f} with {lanes:.0f} "
        "lanes): in a virtual machine the driver may report a link that is not there, so trust the copies",
        "unlicensed": "{arm}: the GPU is a slice (vGPU) without a licence: from about 20 minutes after the "
        "virtual machine's start its driver slows it down, and may later refuse CUDA; the provider has to "
        "license it (`nvidia-smi -q` shows the License Status)",
        "memory-errors": "{arm}: the GPU's memory had {errors:,.0f} errors that ECC could not correct since "
        "the driver was loaded{failed:remapping} (`nvidia-smi -q -d ECC,ROW_REMAPPER`)",
        "gpus-silent": "{arm}: {silent:.0f} of the machine's {gpus:.0f} GPUs do not answer the driver, or it "
        "does not list them (`nvidia-smi -L`)",
        "far-below-published": "{arm}: {precision:products} reach {share:share} of the published figure "
        "for a {part} ({published:{unit}/s}, {source}); check the clock and power limits, throttling, link "
        "width, whether TF32 is off, and which device it is",
    },
    # What no further block mends, as ``analysis/ablation/soundness`` finds it in a calibration.
    ("caution", "machine"): {
        "arm-refused": "{why}",
        "cells-failed": "{arm}: {failed} of {cells} cells failed, the first of them {cell}",
        "disturbed": "{arm}: {codes:codes}",
        "quota-short": "{arm}: a quota of {quota:g} CPUs, and {used:g} are used",
        "cpus-busy": "{arm}: other work used {busy:.1f} CPUs",
    },
    ("invalid", "campaign"): {
        "set-aside": "{disturbed} of {invocations} invocations had to be excluded: {codes:codes}",
    },
    # Something else was measured half-way.
    ("invalid", "arm"): {
        "changed": "{arm:whose}{what:part}changed during the campaign{facts:listed}",
    },
    # What is usual and worth knowing; the invocations of an arm were not all alike; or their cold figures
    # hold more.
    ("info", "arm"): {
        "sliced": "{arm}: {device} is a slice of a GPU (vGPU), not a whole one: {shared:sharing}",
        "clock-low": "{arm}: the GPU's clock peaked at {clock:,.0f} MHz, {share:percent} of its highest, "
        "{most:,.0f} MHz[; the default is {usual:,.0f} MHz] (`nvidia-smi -q -d CLOCK,PERFORMANCE` shows what "
        "holds it)",
        "link-narrow": "{arm}: under load the GPU's link is PCIe generation {generation:.0f} with "
        "{lanes:.0f} lanes; at most: generation {most:.0f} with {most_lanes:.0f}. Many types of rented "
        "machines are built that way, so only others of the same type show whether it is a fault",
        "isolation-differs": "{arm}: some invocations ran in a container and some did not",
        "limits-differ": "{arm}: the resource limits differed between invocations",
        "clock-set": "{arm}: the wall clock was adjusted meanwhile, by {most:seconds} at most; durations "
        "do not depend on it",
        "ptx-jit": "ptx-jit: cold times include compiling kernels; new files in CUDA's compile cache: "
        "{grown:grown}",
        "cold-cache": "cold times of {unknown:blocks} may or may not include compiling kernels: how "
        "many files CUDA's compile cache held was not recorded at the start and the end",
    },
    ("info", "comparison"): {
        "not-interleaved": "not interleaved: the interval does not cover drift between the runs",
        "other-calls": "the two campaigns used different numbers of calls per sample",
    },
    # Beside one number, or seen in some blocks of a number; the worker's own labels are told in its words.
    ("info", "cell"): {
        "few-blocks": "no interval: fewer than {fewest} invocations",
        "no-spread": "no spread at all: this shows the timer's resolution, not a steady machine",
        "too-wide": "no interval: too wide to be represented",
        "blocks-missing": "{arm}: measured in {measured} of {every} blocks; {missing:missing}",
        "calls-differ": "{arm}: the calls per sample differed between blocks",
        "work-differs": "{arm}: the work per call differed between blocks",
        "warm-up-cap": "{label} (in {some})",
        "short-samples": "{label} (in {some})",
        "dispatch-bound": "{label} (in {some})",
        "labelled": "{label} (in {some})",
        "contended": "contended: other processes or other VMs used the CPUs (in {some})",
        "contended-machine": "{arm}: contended in {blocks:blocks}",
        "power-capped": "power-capped: the GPU's power limit lowered its clocks, as is usual for large "
        "products (in {some})",
        "cpu-thermal": "cpu-thermal: the CPU throttled due to heat (in {some})",
        "stalled": "stalled: paused for over half a second, within a sample or between samples (in {some})",
        "few-samples": "under 50 samples in {some}: too few to detect a steady state, so all count",
        "unsteady": "no steady state in {some}: all samples count",
        "slowed-down": "slowed down midway in {some}; only the samples after that count",
        "bimodal": "bimodal: the samples of {some} fall into two groups",
        "bimodal-blocks": "bimodal: the invocations fall into two groups",
        "outliers": "outliers: {far} of the samples are far out (Tukey); all but stalls are kept",
    },
    # A number that the hardware can't have made.
    ("invalid", "cell"): {
        "above-peak": "{arm}: reaches {rate:FLOP/s}, {share:share} of the theoretical peak of a {part} at "
        f"{{precision}} ({{peak:FLOP/s}}): {_NOT_THE_WORK}, or not at this precision",
        "above-memory": f"{_MOVES} the memory of the {{part}} moves at most {{most:byte/s}} ({{source}}): "
        f"{_NOT_THE_WORK}",
        "above-cores": f"{_MOVES} {{cpus:.0f}} CPUs write at most {{most:byte/s}} (64 bytes a cycle at 6.2 "
        f"GHz each, which no core exceeds): {_NOT_THE_WORK}",
        "above-pcie": f"{_MOVES} the fastest PCIe link moves at most {{most:byte/s}} (one direction of PCIe "
        f"6.0 with 16 lanes, by the PCI-SIG's base specification): {_NOT_THE_WORK}",
        "above-nvlink": f"{_MOVES} the fastest link to any GPU moves at most {{most:byte/s}} (one direction "
        f"of the second NVLink-C2C: NVIDIA gives 1.8 TB/s for both): {_NOT_THE_WORK}",
        "below-call": f"{_TAKES} a call that launches a kernel takes at least {{least:seconds}} (a bound of "
        f"ours: an empty kernel takes over 4 µs, superbench-results): {_NOT_THE_WORK}",
        "below-operation": f"{_TAKES} an operation that waits for the one before takes at least "
        f"{{least:seconds}} (a bound of ours: it is launched, and reads through the L2 cache): "
        f"{_NOT_THE_WORK}",
        "below-copy": "{arm}: takes {seconds:seconds}, but no call that reaches a GPU takes under "
        f"{{least:seconds}}: {_NOT_THE_WORK}",
    },
    ("missing", "cell"): {
        "results-differ": _RESULTS,
        "not-measured": "{arm}: {endings:endings}",
        "not-reached": "{arm}: pending: not reached yet",
        "not-on-arm": "{arm}: skipped: meaningful on {arms:names} only",
        "left-out": "{arm}: {outcome} in the calibration: {reason}",
        "not-tried": "{arm}: pending: not attempted in any block",
        "no-block": "{arm}: pending: no block has run on this arm",
        "not-planned": "the cell is not in the plan of this campaign",
    },
    # No ratio, or no verdict on one.
    ("missing", "comparison"): {
        "no-number": "no ratio: one of the two arms has no number",
        "no-possible-number": "no ratio: one of the two numbers exceeds what the hardware can do",
        "no-common-block": "no ratio: no block has a number on both arms",
        "not-in-both": "no ratio: the cell is not in both plans",
        "other-results": f"no ratio: {_RESULTS}",
        "other-work": "no ratio: the work per call differs",
        "provisional": "no verdict: the intervals of the profile {profile} are provisional",
        "few-pairs": "no verdict: fewer than {fewest} blocks have a number on both arms",
        "one-arm": "there is only one arm",
    },
}
"""The sentence of each kind, by how grave it is as a rule and what it is about."""

KINDS: Mapping[str, Kind] = {
    code: Kind(severity=severity, scope=scope, text=text)
    for (severity, scope), texts in _TEXTS.items()
    for code, text in texts.items()
}
"""Every kind of flag by its code."""

IMPLAUSIBLE = frozenset(
    {
        *("above-peak", "above-memory", "above-cores", "above-pcie", "above-nvlink"),
        *("below-call", "below-operation", "below-copy"),
    }
)
"""The codes of numbers that the hardware can't have made."""


def raise_flag(
    code: str,
    where: Mapping[str, Any] | None = None,
    *,
    severity: Severity | None = None,
    scope: Scope | None = None,
    **values: Any,
) -> Flag:
    """A flag of this kind; graver, or about something else, than its kind is where that is said."""
    kind = KINDS[code]
    return Flag(
        code=code,
        severity=severity or kind.severity,
        scope=scope or kind.scope,
        where=where or {},
        values=values,
    )


def is_common(flag: Flag) -> bool:
    """Whether it is said of the number, not of a block: most of the blocks have it, if not all.

    What fewer have is in the interval already, and stands in the files for programs.
    """
    return "of" not in flag.values or 2 * len(flag.where["blocks"]) > flag.values["of"]


def pick(flags: Iterable[Flag], severity: Severity) -> tuple[Flag, ...]:
    """The flags that are so grave."""
    return tuple(one for one in flags if one.severity == severity)


def find_invalid(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    """The flags for which a number is struck: those of the first kind that is invalid, or all
    that befell some blocks."""
    found = pick(flags, "invalid")
    return tuple(one for one in found if _is_told_with(found[0], one))


def _is_told_with(first: Flag, other: Flag) -> bool:
    return other.code == first.code or ("blocks" in first.where and "blocks" in other.where)
