"""What a campaign knows of its machine and its arms, beside the cells' numbers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from msgspec import Struct, field

from suite.model import InvocationStatus

MOST_FOR_TIMING = 0.005
"""Timing may cost half a per cent of a sample; a sample takes at least 200 empty fences for that."""


Fact = str | int | float | bool | None
"""The value of one fact; None is "looked for and not there"."""


def hash_identity(text: str) -> str:
    """A short name for something that must be recognisable but not readable: ``#1a2b3c4d``.

    Such a name is returned as is, so that reports of already hidden documents stay the same.
    """
    if re.fullmatch("#[0-9a-f]{8}", text):
        return text
    return "#" + hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:8]


class Machine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The machine, from the first document that has each fact; ``cpus`` only where not all were used.

    ``gpus`` are the names of those that arms ran on, one for each.
    """

    cpu: str | None = None
    cpus_used: str | None = None
    cpus: str | None = None
    memory_bytes: int | float | None = None
    gpus: tuple[str, ...] = ()


class Build(Struct, frozen=True, kw_only=True):
    """What an arm ran: versions by name, and whether the suite's own locks chose them (None: nobody
    said); ``others`` are the names whose version is not that of the first arm."""

    versions: Mapping[str, str]
    from_lock: bool | None
    others: tuple[str, ...] = ()


class Span(Struct, frozen=True, kw_only=True):
    """The least, the median and the most of some values."""

    low: float
    middle: float
    high: float


class Share(Struct, frozen=True, kw_only=True):
    """In how many cells something was seen, of those of which it is known."""

    seen: int
    of: int


class WatchedGpu(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A GPU while cells warmed up and were sampled.

    ``power_default_w`` is the card's own limit, ``power_most_w`` the highest that can be set, ``most_…`` what
    it and its board can do at best, ``default_clock_mhz`` what its applications get unless somebody asks.
    ``named``: nothing speaks against its being the worker's; False: that can't be told from outside.
    ``virtualization`` is the driver's mode, ``licensed`` whether a slice had its licence throughout.  Of
    the ``count`` GPUs of the machine ``silent`` did not answer, or were on its bus and not listed.
    """

    clock_mhz: Span | None = None
    most_clock_mhz: float | None = None
    default_clock_mhz: float | None = None
    power_w: Span | None = None
    power_limit_w: float | None = None
    power_default_w: float | None = None
    power_most_w: float | None = None
    temperature_c: float | None = None
    capped: Share
    slowed: Share
    pcie_generation: float | None = None
    pcie_lanes: float | None = None
    most_pcie_generation: float | None = None
    most_pcie_lanes: float | None = None
    memory_bytes: float | None = None
    shared: Share
    named: bool = True
    virtualization: str | None = None
    licensed: bool | None = None
    count: float | None = None
    silent: float | None = None


class Count(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A counter at the first look and at the last, and by how much it grew in between: ``within`` the
    invocations of these blocks, or since the look ``before`` those of these (0 came before the first).  A
    counter that falls began anew, and has not grown by that."""

    first: float
    last: float
    grown: float = 0.0
    within: tuple[int, ...] = ()
    before: tuple[int, ...] = ()


class Health(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a GPU's driver counted of its memory and its link in ``watched_s``, from the first look at it to
    the last, over all invocations of a campaign on it.

    ``counts`` are counters by name, ``states`` whether something was so at any look; what the driver does not
    tell is in neither.  ``xids`` are the driver's messages by their number, with the blocks that had them
    (None: it does not tell).  ``replays`` are the packets that its link repeated in a minute, in the
    invocation with most, and ``link`` the highest generation and lanes at any sample.
    """

    watched_s: float
    counts: Mapping[str, Count] = field(default_factory=dict)
    states: Mapping[str, bool] = field(default_factory=dict)
    xids: Mapping[int, tuple[int, ...]] | None = None
    replays: float | None = None
    link: tuple[float, float] | None = None


class Watched(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was seen of the machine in an arm's counted blocks; ``blocks`` were watched.

    ``reasons`` say why others were not, ``absent`` by name what could not be had.
    """

    blocks: int
    reasons: tuple[str, ...] = ()
    gpu: WatchedGpu | None = None
    cpu_clock_mhz: Span | None = None
    cpu_temperature_c: float | None = None
    cpu_slowed: Share | None = None
    absent: Mapping[str, str] = field(default_factory=dict)


class WatchEffect(Struct, frozen=True, kw_only=True):
    """How many times as long an arm takes that nobody watched: the quartiles over its cells."""

    arm: str
    quartiles: Span
    cells: int


class Watching(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the sampler took, in seconds, and what that did to the numbers (None: not measured)."""

    cpu_s: float
    wall_s: float
    effect: WatchEffect | None = None


class Placed(Struct, frozen=True, kw_only=True):
    """How many cells had something on a device, and how many nodes of their graphs."""

    cells: int
    nodes: int


class ArmAnalysis(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of an arm beside its cells' numbers.

    ``gpu``: it has one; ``device``: which, where the campaign has several, as ``GPU=`` takes it.
    ``first_gpu`` is the arm on the first of them, which this one is compared with beside the base; None: it
    is that arm, or that is the base.  ``plain`` is the arm that it is, or is once more, and
    ``without_gpu`` what the same without its GPU is called. ``blocks`` are those that count, with how each
    ended. ``image`` and ``facts`` hold by name every value that some document has; what identifies a machine
    or a person is a hash. ``timing`` is by cell the largest share of a sample that an empty fence took.
    ``elsewhere`` is by cell what was not on its own device.  ``health`` is that of its GPU, which other arms
    may have as well (None: nobody watched it, or there is none).
    """

    gpu: bool
    device: str | None = None
    first_gpu: str | None = None
    plain: str
    without_gpu: str | None = None
    blocks: Mapping[int, InvocationStatus]
    calibrated: bool
    image: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    digests: tuple[str, ...] = ()
    facts: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    build: Build | None = None
    watched: Watched
    health: Health | None = None
    timing: Mapping[str, float] = field(default_factory=dict)
    placement: Mapping[str, Placed] = field(default_factory=dict)
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Spent(Struct, frozen=True, kw_only=True):
    """The container time of an arm's invocations, in seconds, and what of it is itemised, by kind."""

    total_s: float
    kinds: Mapping[str, float]


class Death(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A container that ended before its work was done.

    ``lived_s`` is its container time, ``lost`` the cells that failed in it; ``restart_s`` is what
    the start of the next one cost.  ``replaced``: there was a next one.
    """

    arm: str
    block: int
    status: str | None = None
    lived_s: float
    lost: tuple[str, ...] = ()
    replaced: bool
    restart_s: float | None = None
