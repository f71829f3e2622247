"""What nvidia-smi's answers hold: the GPUs that answer, those that do not, what else it says, and of which
card a GPU is a slice (vGPU).  Pure.

It can print a GPU's row and end with an error, print an error in each field and end well, and name one
GPU that does not answer beside the rows of the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from suite.host.engine import Card
from suite.host.gpu.refusals import PENDING
from suite.slices import read_virtual_gpu

WSL_SMI = "/usr/lib/wsl/lib/nvidia-smi"
"""On WSL it lies beside the driver's libraries, which is not on everybody's PATH."""

FIELDS = (
    *("index", "name", "driver_version", "memory.total", "uuid"),
    *("mig.mode.current", "persistence_mode", "compute_cap"),
    *("memory.used", "temperature.gpu", "pstate"),
)
"""What nvidia-smi is asked; older ones do not know them all."""

UNKNOWN_FIELD = re.compile(r'Field "([\w.]+)" is not a valid field')

_LOST = re.compile(
    r"unable to \w+ the [\w ]+? (?:for|of) GPU\s*"
    r"(?:(?:(\d{1,3}):?\s+)?([0-9a-f]{3,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])|(\d{1,3}))?\s*:\s*(.*)",
    re.IGNORECASE,
)
"""Written in four ways: ``GPU 0000:0B:00.0``, ``GPU0000:0B:00.0``, ``GPU3: 0000:0B:00.0``, ``GPU2``."""

_NOT_TOLD = re.compile(
    r"N/A|not (supported|available|applicable|active)|no data|function not found"
    r"|insufficient permissions|.*deprecated",
    re.IGNORECASE,
)
"""In brackets: what this GPU, driver or user has no answer to, which says nothing against the GPU."""

_TROUBLE = re.compile(
    r"ERR!|unknown error|GPU is lost|requires? (a )?reset|reset required", re.IGNORECASE
)
_LASTING = re.compile(r"GPU is lost|reset", re.IGNORECASE)

_IDENTITY = ("name", "uuid", "memory.total")
"""What every driver knows of a GPU that it can reach."""


class Lost(NamedTuple):
    """A GPU that nvidia-smi can't reach: its number, its name for people, and what is said of it."""

    number: int | None
    name: str
    said: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """What nvidia-smi says of a GPU.

    ``capability`` such as 8.9, ``used_mib`` and ``total_mib`` of its memory in MiB: None where it does
    not say.  ``errors`` are by field the words that stand in an answer's place; ``dead``: it does not
    answer.
    """

    card: Card
    driver: str = ""
    memory: str = ""
    persistence: str = ""
    capability: float | None = None
    used_mib: float | None = None
    total_mib: float | None = None
    errors: dict[str, str] = field(default_factory=dict)
    dead: bool = False

    @property
    def as_lost(self) -> Lost:
        """The same of one that does not answer."""
        words = " and ".join(dict.fromkeys(self.errors.values())) or "nothing"
        name = f"GPU {self.card.index}" + (f" ({self.card.name})" if self.card.name else "")
        fields = ", ".join(self.errors) or "its name and UUID"
        return Lost(self.card.index, name, f"{words} for {fields}")


class Answer(NamedTuple):
    """The GPUs, those that can't be reached, all other lines, and the exit code."""

    rows: tuple[Row, ...]
    lost: tuple[Lost, ...]
    rest: str
    code: int | None

    @property
    def silent(self) -> list[Lost]:
        """The GPUs that do not answer, whether nvidia-smi gives them a row or not."""
        return [*self.lost, *(row.as_lost for row in self.rows if row.dead)]


def read_answer(text: str, code: int | None, fields: Sequence[str] = FIELDS) -> Answer:
    """What ``nvidia-smi --query-gpu=FIELDS --format=csv,noheader`` printed, both streams, and its exit
    code."""
    rows: list[Row] = []
    lost: list[re.Match[str]] = []
    rest = []
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if found := _LOST.search(line):
            lost.append(found)
        elif len(parts) > len(_IDENTITY) and (parts[0].isdigit() or _is_trouble(parts[0])):
            rows.append(_read_row(dict(zip(fields, parts, strict=False)), len(rows)))
        elif line.strip():
            rest.append(line.strip())
    return Answer(
        tuple(rows), _number(lost, [row.card.index for row in rows]), " ".join(rest), code
    )


def _read_row(fields: dict[str, str], place: int) -> Row:
    errors = {name: word.strip("[]") for name, word in fields.items() if _is_trouble(word)}
    nameless = all(fields.get(name, "[").startswith("[") for name in ("name", "uuid"))
    number = fields.get("compute_cap", "")
    uuid = fields.get("uuid", "")
    mig = fields.get("mig.mode.current", "")
    return Row(
        card=Card(
            index=int(fields["index"]) if fields["index"].isdigit() else place,
            name=None if fields["name"].startswith("[") or "name" in errors else fields["name"],
            uuid=uuid if uuid.startswith("GPU-") else None,
            mig=mig == "Enabled",
        ),
        driver=fields.get("driver_version", ""),
        memory=fields.get("memory.total", ""),
        persistence=fields.get("persistence_mode", ""),
        capability=float(number) if re.fullmatch(r"\d+\.\d+", number) else None,
        used_mib=_read_mib(fields.get("memory.used", "")),
        total_mib=_read_mib(fields.get("memory.total", "")),
        errors=errors,
        dead=nameless
        or len(errors) > 1
        or any(name in _IDENTITY or _LASTING.search(word) for name, word in errors.items()),
    )


def _is_trouble(word: str) -> bool:
    """Whether it is an error in an answer's place."""
    inner = word.strip("[]")
    if inner != word and word.startswith("["):
        return _NOT_TOLD.fullmatch(inner) is None
    return _TROUBLE.fullmatch(word) is not None


def _read_mib(text: str) -> float | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*MiB", text)
    return float(found[1]) if found else None


def _number(lost: Sequence[re.Match[str]], answering: Sequence[int]) -> tuple[Lost, ...]:
    """The GPUs that can't be reached, with their numbers: nvidia-smi counts all by their addresses, so
    that those are the numbers which the others leave out."""
    each = {found[2] or found[1] or found[3] or "": found for found in reversed(lost)}
    named = sorted(each.values(), key=lambda found: (found[2] or "").lower())
    left = [number for number in range(len(answering) + len(named)) if number not in answering]
    gpus = []
    for place, found in enumerate(named):
        own = found[1] or found[3]
        # Where none answers, nothing tells which of the machine's it is.
        number = int(own) if own else left[place] if answering else None
        name = "a GPU" if number is None else f"GPU {number}"
        gpus.append(Lost(number, f"{name} ({found[2]})" if found[2] else name, found[0].strip()))
    return tuple(gpus)


def find_pending(text: str) -> tuple[str, ...]:
    """What waits for a reset of the GPU, by the text of ``nvidia-smi -q``."""
    found = ((re.search(pattern, text), words) for pattern, words in PENDING.items())
    return tuple(words.format(match[1].strip()) for match, words in found if match)


def find_licence(details: str) -> str | None:
    """The driver's License Status in what ``nvidia-smi -q`` prints; None: it does not say."""
    return _find_field("License Status", details)


def describe_vgpu(name: str | None, details: str) -> str | None:
    """What a GPU is a slice of, by its name and by what ``nvidia-smi -q`` prints of it; None: it is not a
    slice."""
    mode, slice_ = _find_field("Virtualization Mode", details), read_virtual_gpu(name)
    if mode != "VGPU" and (mode not in (None, "N/A") or slice_ is None):
        return None
    card = f"a slice of {slice_.card}" if slice_ else "a slice of a GPU"
    shares = (
        "has parts of its processor to itself"
        if slice_ and slice_.is_part
        else "other virtual machines take turns at the same card, so their load shows in its numbers"
    )
    return f"{card} (vGPU): {shares}"


def _find_field(name: str, details: str) -> str | None:
    field = re.search(rf"^\s*{name}\s*:\s*(\S.*?)\s*$", details, re.MULTILINE)
    return field[1] if field else None
