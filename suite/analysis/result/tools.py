"""What others' tools say of the machine, beside what was measured here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from suite.analysis.result.arms import Span
from suite.flags import Flag

ToolName = Literal["nvidia-smi", "dcgmi diag", "nvbandwidth"]

Way = Literal["copy-in", "copy-out"]
"""To the device, or from it: the names of the prices that copies are."""

CopyVerdict = Literal["faster", "agrees", "slower", "staged"]
"""What our copy is beside theirs; staged: half of it or less, as where data go through the CPU's memory."""


class ToolGpu(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A GPU as nvidia-smi tells of it; None: it does not say.

    ``identity`` is the hash of its UUID.  Errors that ECC ``corrected`` or could not correct are since the
    driver was loaded, those ``…_ever`` in the card's life; ``replaced`` are rows or pages of memory that
    spare ones stand in for.  ``clock_most_mhz`` is of the multiprocessors; ``generation_most`` and ``lanes``
    are the link's at best, and as it is.  ``faults`` are by name what is not as it should be.
    """

    name: str | None = None
    identity: str | None = None
    mig: bool = False
    ecc: bool | None = None
    corrected: float | None = None
    uncorrected: float | None = None
    corrected_ever: float | None = None
    uncorrected_ever: float | None = None
    replaced: float | None = None
    clock_most_mhz: float | None = None
    power_limit_w: float | None = None
    power_default_w: float | None = None
    generation_most: float | None = None
    lanes: float | None = None
    replays: float | None = None
    faults: tuple[str, ...] = ()


class ToolTest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A test of DCGM's that did not pass: what became of it, and what DCGM says of it."""

    name: str
    outcome: Literal["failed", "warned"]
    said: tuple[str, ...] = ()


class Tool(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The output of one tool, kept in ``file`` of the campaign's folder.

    ``given``: somebody named the file, so that it may be of another day or machine; else it was run before
    all else.  ``failed`` is why it gives nothing.  ``passed`` and ``skipped`` count DCGM's tests.
    ``rates`` are by way what nvbandwidth's copies from pinned memory reach, in bytes a second, over its GPUs.
    """

    name: ToolName
    file: str
    given: bool
    version: str | None = None
    driver: str | None = None
    taken: str | None = None
    failed: str | None = None
    gpus: tuple[ToolGpu, ...] = ()
    passed: int = 0
    skipped: int = 0
    tests: tuple[ToolTest, ...] = ()
    rates: Mapping[Way, Span] = field(default_factory=dict)


class CopyBeside(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Our copy on an arm beside nvbandwidth's of ``file``, in bytes a second.

    ``called`` is a whole call of the fastest copy cell, ``copied`` the copy over the link alone, where a
    trace has it.
    """

    arm: str
    way: Way
    file: str
    theirs: Span
    called: float
    copied: float | None = None
    verdict: CopyVerdict


class Tools(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Every output that is kept, copies beside ours, and what of it a reader must not miss.

    ``carries`` is what the link of the fastest GPU carries in one direction, as its driver reports it, in
    bytes a second: under load, or else at best.
    """

    outputs: tuple[Tool, ...] = ()
    carries: float | None = None
    copies: tuple[CopyBeside, ...] = ()
    flags: tuple[Flag, ...] = ()
