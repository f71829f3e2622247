"""Evidence in words: the registry of what supports a verdict or a cause, and of what was found to help."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any, NamedTuple

from suite.analysis.result.findings import RuleName
from suite.analysis.result.numbers import Evidence
from suite.cells.traits import Effect
from suite.report.text.names import name_changes
from suite.report.text.units import show_count, show_rate, show_seconds, show_share

_UNPROVEN, _FACT = "not proven to be the GPU's:", "({fact}: {value})"

SENTENCES: Mapping[str, str] = {
    # What a verdict rests on.
    "resolution": "resolution: every block gave the same ratio, so the timer is too coarse to judge",
    "significant": "Holm-adjusted p {p:p}, and beyond {margin:share}",
    "within-margin": "the 90 % CI lies within ±{margin:percent}",
    "within-noise": "significant, but within {margin:share}, which noise alone can cause",
    "not-significant": "the interval is too wide to tell (Holm-adjusted p {p:p})",
    # Why a number is not proven to be a GPU's.
    "stand-in-driver": "simulated: its driver is a stand-in, and no GPU made this number",
    "no-fact": f"{_UNPROVEN} its document lacks the fact {{fact}}",
    "built-for-cpu": f"{_UNPROVEN} TensorFlow was built for CPU only {_FACT}",
    "no-gpu-device": f"{_UNPROVEN} TensorFlow had no GPU among its devices {_FACT}",
    "no-gpu-name": f"{_UNPROVEN} the GPU had no name {_FACT}",
    "not-its-gpu": f"{_UNPROVEN} it is another GPU's than the arm's {_FACT}",
    "soft-placement": f"{_UNPROVEN} soft placement was on, so work could silently run on the CPU {_FACT}",
    "tf32-on": f"{_UNPROVEN} TF32 was on outside the cells that ask for it, so fp32 was not fp32 {_FACT}",
    "no-driver-version": f"{_UNPROVEN} CUDA's driver library in the worker's process did not report its "
    f"version {_FACT}",
    "seen-nowhere": f"{_UNPROVEN} its work was seen on no device at all",
    "seen-on": f"{_UNPROVEN} its work was seen on {{devices:names}}",
    "seen-also-on": f"{_UNPROVEN} some of its work was seen on {{devices:names}}",
    "seen-elsewhere": f"{_UNPROVEN} some of its work was seen elsewhere: {{operations:names}}",
    "seen-unnamed": f"{_UNPROVEN} the nodes seen elsewhere ({{seen:names}}) are not those that are named",
    # What a cell is, so that it needs no other evidence.
    "is-copy": "the cell is a copy and nothing else",
    "is-price": "the cell computes nothing: its time is pure overhead",
    "is-start": "the cell measures start-up, which a process pays once",
    "on-cpu-on-both": "its work runs on the CPU on both arms, so the GPU plays no part: it is the image, "
    "or noise",
    "rest": "{share:share} of the loss is explained by nothing that was measured",
    "refuted": "not {rule}: a trace shows next to nothing of it",
    # Work on the CPU.
    "fallen-unmeasured": "{operations:names}, inside the step; no cell measures the step without it",
    "strays": "seen on the CPU: {operations:names}",
    "round-trip": "the round trip to the CPU takes at least {least:seconds}",
    # The pipeline.
    "step": "{seconds:seconds} a step",
    "input-alone": "input alone {seconds:seconds}, {share:share} of it",
    "trivial-model": "a trivial model behind the same pipeline {seconds:seconds}",
    "model-alone": "the model alone {seconds:seconds}",
    # Copies.
    "left-out": "{own:seconds}, and {less:seconds} {words}",
    "copied": "{seconds:seconds} for copying, by the same step with its data on the host",
    "copied-by-price": "{seconds:seconds} for copying, by the cost of the copies",
    "copies": "copying {size:,.0f} B {way} ({copy:cell})[, {size_back:,.0f} B {way_back} "
    "({copy_back:cell})] takes {seconds:seconds}",
    # Dispatch.
    "at-no-work": "{seconds:seconds} at no work at all, extrapolated from {smaller:cell} "
    "({small:seconds}) and {larger:cell} ({large:seconds})",
    "dispatch-bound": "dispatch-bound: dispatch takes longer than the work on the device",
    "handover": "dispatching {calls:calls} ({call:cell})[ and {nodes} operations a step "
    "({operation:cell})] takes up to {price:seconds} of {own:seconds}",
    "fewer": "{share:share} of it disappears {words}",
    "of-best": "{share:share} of the rate that this device reaches at {best:cell}",
    # What a script's own time consists of.
    "gone": "{seconds:seconds} saved by {changes:names}",
    "gone-elsewhere": "{seconds:seconds} for {changes:names}, as measured separately",
    "first-call": "the first call of the plain step, which makes one trace, takes {seconds:seconds} longer "
    "than the others",
    "first-step": "a process's first step takes {seconds:seconds} by itself",
    "repaid": "breaks even after {units:count} {unit}s at the fair number",
    "repayment-unknown": "no break-even point is shown",
    "never-repaid": "never breaks even, because the fair number saves nothing",
    # What a profiler saw.
    "trace": "a trace of {calls:.0f} calls shows the GPU busy {busy:share} of the time"
    "[, copying {copied:share} ({copies:.3g} copies a call)], {kernels:.3g} kernels a call"
    "[, idle for {gap:seconds} at most]",
    # What a step waits for.
    "both-as-long": "the input alone takes as long as the model alone",
    "longer-of-two": "the longer of the two alone",
    "by-trivial-model": "a trivial model behind the same pipeline",
    "by-input-alone": "the input alone",
    "same-model-at-hand": "the same model takes {share:share} of it with its data at hand",
    "same-model-elsewhere": "the same model takes {share:share} of it behind another pipeline",
    "model-takes-most": "the model alone takes most of the step",
    "neither-alone": "neither the input nor the model was measured alone",
    # What a device is, and what is published of it.
    "device": "[{device}][ ({part})]",
    "product-figure": "{low:FLOP/s}[ to {high:FLOP/s}] ({source}, {date}[; {caveat}])",
    "memory-figure": "{low:B/s}[ to {high:B/s}] ({source}, {date}[; {caveat}])",
    # What a script misleads to, and what a change is.
    "off-by": "off by a factor of {factor:.3g}",
    "changes": "{changes:changes}",
    "effect": "{effect:effect}[; costs {costs}]",
    "shown-in": "{pairs} of {of}",
    # Why a part of a step can't be told.
    "no-call-price": "no cell measures the cost of a call; it is counted as compute",
    "no-copy": "neither the step with its data on the host nor a copy was measured",
    "no-input-alone": "the input alone was not measured",
    # What is different at a cell that takes less time.
    "linked": "{words}",
    "at-size": "at {axis} {size:g}",
    "of-value": "{axis}={value}",
    "at-cell": "{cell:cell}",
    "instead": "{now} instead of {was}",
    "at-hand": "with the data on the device",
    "fair": "at the fair number",
    "changed": "with {change}",
}
"""The sentence of each code, with the names of the values that it needs."""


class CauseWords(NamedTuple):
    """What a cause's name means, for who has not met it before, and what to do about it."""

    meaning: str
    advice: str


CAUSES: Mapping[RuleName, CauseWords] = {
    "fallback": CauseWords(
        "work that TensorFlow runs on the CPU",
        "remove the operation that runs on the CPU from the step",
    ),
    "input": CauseWords(
        "waiting for the data pipeline",
        "make the pipeline faster: prefetch, map in parallel, no Python in it",
    ),
    "transfer": CauseWords(
        "copying to and from the device",
        "keep the data on the device, or prefetch it to the device",
    ),
    "start-up": CauseWords(
        "what a process pays once, tracing included", "time after a warm-up, without the set-up"
    ),
    "retracing": CauseWords(
        "a function that is traced again at every call",
        "trace once: pass tensors instead of Python numbers, and set reduce_retracing=True where shapes vary",
    ),
    "overhead": CauseWords(
        "the time to start operations",
        "give each call more work: a larger batch, several steps a call, one compiled graph",
    ),
    "too small": CauseWords(
        "work that leaves most of the device idle",
        "use larger sizes: at this one most of the device is idle",
    ),
    "unknown": CauseWords("", "profile this cell"),
}

CPU_IS_RIGHT = "the CPU is the right device for this: the GPU wins at no measured variant of it"

GAPS: Mapping[str, str] = {
    "wrong-winner": "the wrong winner",
    "invented": "a difference where none is shown",
    "unjudged": "provisional, without a verdict",
    "alike": "neither tells them apart",
}
"""What a script misleads to, where it is more than a factor."""

EFFECTS: Mapping[Effect, str] = {
    "timing": "nothing gained: only what is timed changes",
    "script": "the same results",
    "training": "trains otherwise",
}
"""What a change is to whoever makes it."""


def word_evidence(*found: Evidence, names: Mapping[str, str] | None = None) -> str:
    """The evidence in one sentence, without a full stop; cells by their ``names``, or else by their ids."""
    known = names or {}
    shown = {
        "cell": lambda cell: known.get(cell, cell),
        "changes": name_changes,
        "effect": lambda effect: EFFECTS.get(effect, effect),
    }
    return "; ".join(dict.fromkeys(fill(SENTENCES[one.code], one.values, shown) for one in found))


Shown = Mapping[str, Callable[[Any], str]]

_SHOWN: Shown = {
    "seconds": show_seconds,
    "share": show_share,
    "percent": lambda share: f"{100 * share:.0f} %",
    "p": lambda p: f"{p:.2g}" if p >= 1e-4 else "under 0.0001",
    "count": show_count,
    "calls": lambda number: "a call" if number == 1 else f"{number:,.0f} calls",
    "names": lambda names: ", ".join(names) or "none",
}
"""What a placeholder can ask for behind its colon, beside Python's own formats and ``unit/s``."""

_OPTIONAL = re.compile(r"\[([^]]*)\]")


def fill(text: str, values: Mapping[str, Any], more: Shown) -> str:
    """A registry's text with values in the places of their names, each as its placeholder asks.

    What stands in square brackets is left out where its values are not there.  ``more`` is what else
    placeholders can ask for.
    """

    def keep(part: re.Match[str]) -> str:
        names = {name for _, name, _, _ in Formatter().parse(part[1]) if name}
        return part[1] if names <= values.keys() else ""

    return _Words({**_SHOWN, **more}).vformat(_OPTIONAL.sub(keep, text), (), values)


class _Words(Formatter):
    """Shows values as their placeholders ask."""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown

    def format_field(self, value: Any, format_spec: str) -> Any:
        if format_spec in self.shown:
            return self.shown[format_spec](value)
        if format_spec.endswith("/s"):
            return show_rate(value or 0.0, format_spec.removesuffix("/s"), 1.0) or "no finite rate"
        return super().format_field(value, format_spec)
