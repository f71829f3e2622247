"""The rows of ``refusals.toml``: what the texts mean with which a GPU is refused, and what to do next.

Pure: reads that file once, beside this one; `remedies` words the errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from suite import errors
from suite.host.engine import EngineKind, Refusal, find_row

FILE = Path(__file__).with_name("refusals.toml")

_TABLES: Mapping[str, Any] = msgspec.toml.decode(FILE.read_bytes())

_NAMES: Mapping[str, str] = {
    **_TABLES["patterns"],
    **_TABLES["words"],
    **{name: getattr(errors, name) for name in ("OTHER_BUILD", "TOO_OLD", "LOCKED_BUILD")},
}


def _fill(text: str) -> str:
    """The text with what its names in braces stand for; a KeyError for one that is not in the file."""
    return re.sub(r"\{([A-Z_]+)\}", lambda name: _fill(_NAMES[name[1]]), text)


def _make_refusal(
    patterns: Sequence[str],
    cause: str,
    remedy: str,
    instead: Literal["cdi", "hook"] | None = None,
) -> Refusal:
    return Refusal(
        pattern=_fill("|".join(patterns)),
        cause=_fill(cause),
        remedy=_fill(remedy),
        instead=instead,
    )


WORDS: Mapping[str, str] = {name: _fill(text) for name, text in _NAMES.items()}
"""The shared parts of causes and remedies, for docker as root."""

TRY_TOOLKIT = WORDS["TRY_TOOLKIT"]
WRITE_SPEC = WORDS["WRITE_SPEC"]
FIND_HANG = WORDS["FIND_HANG"]
OLD_DRIVER = WORDS["OLD_DRIVER"]
"""What to do about a driver that is too old for TensorFlow's CUDA."""
OLD_FOR_PTX = WORDS["OLD_FOR_PTX"]
"""What to do about a driver that is too old for the PTX that TensorFlow brings."""
REPAIR = WORDS["REPAIR"]
"""What to do about a GPU that was there and no longer answers."""
UNLICENSED = WORDS["UNLICENSED"]
"""What to do about a slice (vGPU) without a licence."""
JETSON, USE_JETSON = WORDS["JETSON"], WORDS["USE_JETSON"]

GROUPS: Mapping[str, tuple[Refusal, ...]] = {
    name: tuple(_make_refusal(**row) for row in rows) for name, rows in _TABLES["refusals"].items()
}
"""The rows by what stands in the way."""

REFUSALS: tuple[Refusal, ...] = tuple(row for rows in GROUPS.values() for row in rows)
"""Every refusal that is known, the most telling first."""

INFOROM = _make_refusal(**_TABLES["inforom"])
"""What nvidia-smi says beside a GPU that works."""

CUDA_DRIVERS: Mapping[tuple[int, ...], str] = {
    tuple(map(int, cuda.split("."))): driver for cuda, driver in _TABLES["cuda_drivers"].items()
}
"""By version of CUDA the first driver for Linux that has it, the oldest first."""

PENDING: Mapping[str, str] = _TABLES["pending"]
"""What ``nvidia-smi -q`` prints of a GPU that works and has to be reset, or exchanged: by pattern the
words."""

DEMANDS: Mapping[str, str] = _TABLES["demands"]
COMPARED: Mapping[str, str] = _TABLES["demands_compared"]
"""What an image demands, and how that is compared, for people."""

HARMLESS: Mapping[str, str] = {
    about: "|".join(patterns) for about, patterns in _TABLES["harmless"].items()
}
"""Lines that look like trouble and are none: by what they are about a pattern; about nothing are those that
every start has."""

_HARMLESS = re.compile("|".join(HARMLESS.values()), re.IGNORECASE)


def find_code(code: int | None) -> Refusal | None:
    """The row of an exit status of nvidia-smi's, for where it does not say more."""
    return find_row(_TABLES["codes"].get(str(code), ""), (*GROUPS["driver"], INFOROM))


def is_harmless(line: str) -> bool:
    """Whether a line of TensorFlow's is known to mean nothing."""
    return _HARMLESS.search(line) is not None


def name_harmless(diary: str) -> list[str]:
    """What the lines of a diary that only look like trouble are about."""
    return [
        about
        for about, pattern in HARMLESS.items()
        if about and re.search(pattern, diary, re.IGNORECASE)
    ]


_WORDING: Mapping[EngineKind, Mapping[str, str]] = {
    kind: {_fill(docker): _fill(other) for docker, other in wording.items()}
    for kind, wording in _TABLES["wording"].items()
}

_NOT_OURS = (
    "; what takes root on the machine itself (a driver, a reboot) is for whoever runs it: ask, or rent "
    "another"
)


def reword(text: str, kind: EngineKind) -> str:
    """A cause or a remedy in that engine's words."""
    for docker, other in _WORDING.get("local" if kind == "inside" else kind, {}).items():
        text = text.replace(docker, other)
    return text + _NOT_OURS if kind == "inside" and ("sudo" in text or "reboot" in text) else text
