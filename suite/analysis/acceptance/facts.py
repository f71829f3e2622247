"""What a campaign knows of its machine, by the words that contracts have for it."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from suite.analysis.acceptance.quantities import QuantityError, Wanted, read_amount
from suite.analysis.result.acceptance import Answer
from suite.analysis.result.arms import ArmAnalysis, Fact

Kind = Literal["text", "version", "switch", "count", "size", "power", "temperature", "share"]

Value = str | float | bool

Values = Sequence[Value]


@dataclass(frozen=True, kw_only=True)
class Known:
    """A fact under a name that people know: of which ``kind`` it is, whether an arm needs a GPU to have it,
    the documents' names for it (the first that has values counts), and where else it is watched; ``least``
    is what any machine has."""

    kind: Kind
    gpu: bool = True
    names: tuple[str, ...] = ()
    watched: Callable[[ArmAnalysis], float | None] | None = None
    least: float = 0.0


def _of_gpu(name: str) -> Callable[[ArmAnalysis], float | None]:
    return lambda arm: getattr(arm.watched.gpu, name, None)


def _count_errors(arm: ArmAnalysis) -> float | None:
    """What ECC could not correct since the driver was loaded, at the campaign's last look."""
    count = arm.health.counts.get("memory_errors") if arm.health else None
    return count.last if count else None


def _share_slowed(arm: ArmAnalysis) -> float | None:
    slowed = arm.watched.gpu.slowed if arm.watched.gpu else None
    return slowed.seen / slowed.of if slowed and slowed.of else None


KNOWN: Mapping[str, Known] = {
    "driver": Known(kind="version", names=("outside.driver.version", "gpu.driver")),
    "CUDA": Known(kind="version", names=("outside.driver.cuda",)),
    "GPU": Known(kind="text", names=("gpu.0.name", "outside.gpu.name")),
    "GPUs": Known(kind="count", watched=_of_gpu("count")),
    "GPU memory": Known(kind="size", names=("outside.gpu.memory_bytes",)),
    "PCIe lanes": Known(kind="count", watched=_of_gpu("pcie_lanes"), least=1),
    "PCIe generation": Known(kind="count", watched=_of_gpu("pcie_generation"), least=1),
    "ECC": Known(kind="switch", names=("outside.gpu.ecc",)),
    "MIG": Known(kind="switch", names=("outside.gpu.mig",)),
    "persistence mode": Known(kind="switch", names=("outside.gpu.persistence",)),
    "memory errors": Known(kind="count", watched=_count_errors),
    "power limit": Known(kind="power", watched=_of_gpu("power_limit_w")),
    "GPU temperature": Known(kind="temperature", watched=_of_gpu("temperature_c")),
    "GPU slowed": Known(kind="share", watched=_share_slowed),
    "TensorFlow": Known(kind="version", gpu=False, names=("tensorflow.version",)),
    "CPU": Known(kind="text", gpu=False, names=("cpu.model",)),
    "CPUs": Known(kind="count", gpu=False, names=("cpu.usable",), least=1),
    "memory": Known(kind="size", gpu=False, names=("memory.bytes",)),
    "kernel": Known(kind="version", gpu=False, names=("os.kernel",)),
    "machine type": Known(kind="text", gpu=False, names=("engine.machine.type",)),
    "isolation": Known(kind="text", gpu=False, names=("isolation",)),
}

_ON = {"on": True, "enabled": True, "yes": True, "off": False, "disabled": False, "no": False}


_ANOTHER = r"\s(?:ti|super|d|laptop|mobile|with max-q|max-q)\b|-\d+[abcq]\b"
"""What makes another GPU of the one whose name it follows: a chip of its own, or a slice (``A100-10C``)."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What a fact has to be: a number in the units of the analysis, a text, or on or off; ``by_number``: the
    text is a version."""

    wanted: Wanted
    value: Value
    unit: str = ""
    scale: float = 1.0
    by_number: bool = False


def find_values(known: Known, arm: ArmAnalysis) -> Values:
    """Every value that an arm has of a fact; none: it does not know it."""
    for name in known.names:
        values = [_take(value) for value in arm.facts.get(name, ()) if value is not None]
        if values:
            return values
    value = known.watched(arm) if known.watched else None
    return [] if value is None else [float(value)]


def guess_kind(values: Sequence[Fact]) -> Kind:
    """The kind of a fact that only documents have a name for."""
    first = next(value for value in values if value is not None)
    if isinstance(first, bool):
        return "switch"
    if isinstance(first, str):
        return "version" if re.match(r"\d+(\.\d+)+", first) else "text"
    return "count"


def read_bound(known: Known, wanted: Wanted) -> Bound:
    """What a fact of this kind has to be.

    Raises:
        QuantityError: this kind of fact can't be that, or is nothing else.
    """
    text = wanted.rest
    if known.kind == "switch":
        if wanted.side != "exactly" or text.lower() not in _ON:
            raise QuantityError(f"{text!r} is neither on nor off", 'write "on" or "off"')
        return Bound(wanted=wanted, value=_ON[text.lower()])
    if known.kind == "text":
        if wanted.side != "exactly" or not text.strip("*? "):
            raise QuantityError(
                f"{text!r} is not a name that could differ",
                "write the whole name, with * for any letters",
            )
        listed = known in KNOWN.values() and re.search("[,;]", text)
        if listed or re.match(r"(?:not|no|other than)\s", text, re.IGNORECASE):
            raise QuantityError(
                f"{text!r} is not a name", 'write what it has to be, such as "H100 or H200"'
            )
        return Bound(wanted=wanted, value=text)
    if known.kind == "version":
        return _read_version(text, wanted)
    amount = read_amount(text, known.kind)
    if wanted.side == "exactly" and known.kind != "count":
        # 141 GB of memory are 150.8 GB to the driver: nobody who writes the number means only that.
        raise QuantityError(
            f"{text!r}: nothing that is measured is exactly a number",
            f'say "at least {text}", or "at most {text}"',
        )
    empty = wanted.side == "at least" and (
        amount.value < known.least or (amount.value <= known.least and not wanted.strict)
    )
    full = known.kind == "share" and wanted.side == "at most" and amount.value >= 1
    if empty or full:
        raise QuantityError(
            f"{wanted.side} {text} holds of every machine, so that this requirement can't fail",
            "name a number that some machine does not have, or leave the requirement out",
        )
    return Bound(wanted=wanted, value=amount.value, unit=amount.unit, scale=amount.scale)


def _read_version(text: str, wanted: Wanted) -> Bound:
    if not re.match(r"\d", text):
        raise QuantityError(f"{text!r} is not a version", 'such as "at least 555.42"')
    text = re.sub(r"(?:\.[xX*])+$", "", text)
    # What has letters in it, too, is a name.
    by_number = wanted.side != "exactly" or re.fullmatch(r"[\d.]+", text) is not None
    if not by_number and not re.fullmatch(r"\d+\.[^+]+", text):
        raise QuantityError(
            f"{text!r} is not a version alone", 'such as "555.42", "555" or "at least 555"'
        )
    return Bound(wanted=wanted, value=text, by_number=by_number)


def judge_fact(values: Values, bound: Bound) -> Answer:
    """Whether all values are what is wanted; none is undecided."""
    if not values:
        return "undecided"
    return "pass" if all(_holds(value, bound) for value in values) else "fail"


def _holds(value: Value, bound: Bound) -> bool:
    limit, wanted = bound.value, bound.wanted
    if isinstance(limit, bool):
        return value is limit
    if isinstance(limit, str):
        if bound.by_number:
            return _compare_versions(str(value), limit, wanted)
        names = re.split(r"\s+or\s+", limit.lower())
        return any(_matches(str(value).lower(), name) for name in names)
    number = float(value)
    if wanted.side == "exactly":
        return number == limit
    over, under = number > limit, number < limit
    return (over if wanted.side == "at least" else under) or (number == limit and not wanted.strict)


def _matches(value: str, limit: str) -> bool:
    """Whether a name has these whole words one behind the other, and none behind them that makes it another
    thing: an A10G is no A10, and an RTX 4070 Ti no RTX 4070; or matches a pattern."""
    if "*" in limit or "?" in limit:
        return fnmatch.fnmatchcase(value, limit)
    whole = rf"(?<![a-z0-9]){re.escape(limit)}(?![a-z0-9])(?!{_ANOTHER})"
    return re.search(whole, value) is not None


def _compare_versions(value: str, limit: str, wanted: Wanted) -> bool:
    """By the numbers that the limit has: 555.42.06 is 555, and not over it."""
    parts = [int(part) for part in re.findall(r"\d+", limit)]
    own = [int(part) for part in re.findall(r"\d+", value)][: len(parts)]
    own += [0] * (len(parts) - len(own))
    if own == parts:
        return not wanted.strict
    return wanted.side != "exactly" and (own > parts) == (wanted.side == "at least")


def _take(value: Fact) -> Value:
    return value if isinstance(value, bool | str) else float(value or 0)
