"""What is left of a rate when work goes on, when it fell, and what was seen to hold it back.

One run tells of itself: its interval is of its samples, and no verdict between arms comes of it
(docs/decisions/0058).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

from suite.analysis.campaign.consistency import find_reason
from suite.analysis.campaign.proof import withhold_unproven
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.documents.telemetry import Window, find_window, measure_window, pick
from suite.analysis.result.numbers import EQUIVALENCE, Estimate, Evidence, cite
from suite.analysis.result.sustained import Course, Ends, Shape, Sustained
from suite.analysis.statistics.estimate import Moments, exponentiate
from suite.cells.cell import Cell
from suite.flags import raise_flag
from suite.model import CellResult, Document

PIECE_S = 2.0
"""Neighbouring samples are alike, so that what varies is seen between pieces of so many seconds (batch means:
Law, Simulation Modeling and Analysis, 2015, section 9.5.3).  The first one's rate is what bursts reach; a dip
that is over sooner is in no rate."""

END_S, END_LEAST, END_MOST = 10.0, 0.1, 0.25
"""The rate when hot is that of the last seconds, but of no less than a tenth and no more than a quarter."""

FALLEN = 0.97
"""A rate that keeps more has not fallen: boosts and rounding make as much."""

FAR_FALLEN = 0.9
"""One that keeps less is told before everything else, and so is one that swings by more."""

BOOST_S = 10.0
"""What falls sooner, and not far, is as most processors are, which boost for their first seconds."""

BOOST = frozenset({"hot-capped", "hot-clock", "hot-unknown", "hot-unwatched"})
"""All that is seen when a boost ends."""

ASTRAY = 0.1
"""A larger share of pieces on the other side of the middle between beginning and end, before a fall or after
it, makes it none."""

HELD, MOST_HELD = 0.05, 0.5
"""A share of the time in which something held a GPU counts where it grew by so much, or is so large: a
product can be at the power limit from the beginning, and fall all the same, since a hot chip leaks."""

STOLEN, OTHERS = 0.02, 0.10
"""From here on what the hypervisor took, of the CPU time, and what others used, in CPUs, is told of; the
limits of a cell's labels."""

QUOTA = 0.01
"""From so many CPUs on that a quota held back."""

_MOST_WORK = 1e30
"""A document can say anything."""

POINTS = 120
"""Of the course; more can't be told apart in a picture."""


class _Run:
    """A cell's samples, and what was watched meanwhile; instants in seconds from the first one's start."""

    def __init__(self, result: CellResult, document: Document, cell: Cell, *, gpu: bool) -> None:
        self.result, self.document = result, document
        self.gpu, self.on_device = gpu, gpu and cell.data == "device"
        self.calls = result.calls_per_sample or 1
        work = result.work or cell.work
        # What a copy is worth is its bytes.
        self.amount, self.unit = (work.bytes, "B") if work.bytes else (work.amount, work.unit)
        if not 0 < self.amount < _MOST_WORK:
            self.amount, self.unit = 1.0, "call"
        self.seconds = [self.calls * sample for sample in result.samples_s]
        self.ends = list(accumulate(self.seconds))
        self.whole = self.ends[-1]
        # The samples of the warm-up woke the machine up, whose clocks had gone down.
        self.woken_s = self.calls * math.fsum(result.warmup_s)
        self._telemetry = document.telemetry
        window = self._telemetry and find_window(result, self._telemetry)
        self._start = window[0] + self.woken_s if window else None

    @property
    def watched(self) -> bool:
        """Whether anything tells what the machine did meanwhile."""
        return self._start is not None

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """From which sample and up to which: as many in each as take `PIECE_S` where they are fast, so that a
        hiccup in one does not make it a piece of few; at least one piece."""
        count, fast = len(self.seconds), sorted(self.seconds)[len(self.seconds) // 10]
        each = max(1, min(round(PIECE_S / fast), count))
        return [(first, first + each) for first in range(0, count - each + 1, each)]

    def rate(self, first: int, stop: int) -> float:
        """The work a second in the median of these samples, so that no hiccup counts."""
        return self.amount * self.calls / statistics.median(self.seconds[first:stop])

    def measure(self, window: Window) -> dict[str, float | None]:
        """What the machine did in a window, as `measure_window` has it."""
        if self._telemetry is None or self._start is None:
            return {}
        return measure_window(self._telemetry, (self._start + window[0], self._start + window[1]))

    def read(self, sensor: str, window: Window) -> float | None:
        """The median of a sensor's readings in a window; None: there are none."""
        if self._telemetry is None or self._start is None:
            return None
        low, high = window
        name = _SENSORS[sensor][self.gpu]
        values = pick(self._telemetry, name, (self._start + low, self._start + high))
        return statistics.median(values) if values else None


_SENSORS = {
    "clock_mhz": ("cpu.clock_mhz", "gpu.clock_sm_mhz"),
    "power_w": ("", "gpu.power_w"),
    "temperature_c": ("cpu.temperature_c", "gpu.temperature_c"),
}
"""The series of an arm without a GPU, and with one."""


def find_sustained(loaded: LoadedCampaign) -> Iterator[Sustained]:
    """What came of every cell that was to be kept going, by the plan's arms, in the plan's order."""
    campaign = loaded.campaign
    if campaign.sustained is None:
        return
    documents = withhold_unproven(loaded).documents
    for name in campaign.arms:
        arm = campaign.arm(name)
        if arm.control is not None:
            continue
        first = [d for d in documents if (d.invocation.arm, d.invocation.block) == (name, 0)]
        for cell in campaign.sustained.cells:
            if not cell.suits(gpu=arm.gpu):
                continue
            asked: dict[str, Any] = {
                "arm": name,
                "cell": cell.id,
                "what": cell.case,
                "planned_s": campaign.sustained.seconds,
            }
            # An invocation that is made again for another reason has it not.
            results = ((d, r) for d in first for r in d.cells if r.id == cell.id)
            document, result = next(results, (None, None))
            if document is None or result is None or result.outcome != "measured":
                outcome = result.outcome if result else "pending"
                reason = (result and find_reason(result)) or ""
                yield Sustained(**asked, outcome=outcome, reason=reason)
                continue
            yield _read(asked, _Run(result, document, cell, gpu=arm.gpu))


def _read(asked: dict[str, Any], run: _Run) -> Sustained:
    pieces = run.pieces
    logs = [math.log(run.rate(first, stop)) for first, stop in pieces]
    begin = run.ends[pieces[0][1] - 1]
    end_s = max(min(END_S, END_MOST * run.whole), END_LEAST * run.whole)
    late = sum(run.ends[stop - 1] > run.whole - end_s for _, stop in pieces[1:])
    hot = logs[-max(1, late) :]
    split = _find_fall(logs)
    left = _compare(logs, split, len(hot))
    shape = _judge(left, logs, split, len(hot))
    told: dict[str, Any] = {}
    where = {name: asked[name] for name in ("arm", "cell")}
    if shape == "fell":
        fell_s = run.ends[pieces[split - 1][1] - 1]
        held = _find_held(run, fell_s, left.value)
        if left.value < FAR_FALLEN:
            values = {"what": asked["what"], "left": left.value, "fell": fell_s, "held": held}
            told["flags"] = (raise_flag("falls-hot", where, **values),)
        elif fell_s <= BOOST_S and {evidence.code for evidence in held} <= BOOST:
            shape = "settled"
        if shape == "fell":
            told |= {"fell_at_s": fell_s, "held": held}
    elif shape == "unclear" and len(logs) >= MANY:
        slow, _, fast = statistics.quantiles(logs, n=4)
        if (low := math.exp(slow - fast)) < FAR_FALLEN:
            told["flags"] = (raise_flag("swings-hot", where, what=asked["what"], low=low),)
    return Sustained(
        **asked,
        **told,
        outcome="measured",
        unit=run.unit,
        seconds=run.whole,
        begin=math.exp(logs[0]),
        end=math.exp(statistics.median(hot)),
        end_s=end_s,
        left=left,
        shape=shape,
        lowest=math.exp(min(logs) - logs[0]),
        clock_mhz=_read_ends(run, "clock_mhz", begin, end_s),
        power_w=_read_ends(run, "power_w", begin, end_s),
        temperature_c=_read_ends(run, "temperature_c", begin, end_s),
        course=_follow(run),
    )


def _compare(logs: Sequence[float], split: int, hot: int) -> Estimate:
    """The last pieces over the first one, with Student's t interval.

    Of one piece nobody sees how much it varies; all of them together tell it, by their distance from their
    level before the split or after it.  Its median is not changed by a dip; of few pieces it tells nothing,
    and the root mean square does.
    """
    levels = [logs[:split], logs[split:]]
    if len(logs) >= MANY:
        off = [abs(log - statistics.median(level)) for level in levels for log in level]
        spread, freedom = _NORMAL * statistics.median(off), _EFFICIENCY * (len(logs) - 2)
    else:
        # The split was chosen for it, which is one degree of freedom more.
        squares = [
            (log - statistics.fmean(level)) ** 2 for level in levels if level for log in level
        ]
        freedom = max(len(logs) - 3, 1)
        spread = math.sqrt(math.fsum(squares) / freedom)
    moments = Moments(
        mean=statistics.median(logs[-hot:]) - logs[0],
        error=spread * math.sqrt(1 + 1 / hot),
        freedom=freedom,
    )
    # Of what has too few pieces for an interval nobody says more.
    found = exponentiate(moments, len(logs) - 2)
    return Estimate(value=found.value, low=found.low, high=found.high, n=len(logs))


MANY = 20
"""From so many pieces on, which are 40 seconds, a median tells how far they are off."""

_NORMAL, _EFFICIENCY = 1.4826, 0.37
"""The standard deviation of normal values by their median absolute deviation, and how much of the degrees of
freedom that leaves (Rousseeuw and Croux, Journal of the American Statistical Association 88, 1993)."""


def _lasts(logs: Sequence[float], hot: int, begin: float, end: float) -> bool:
    """Whether at some instant before the hot pieces the rate went from mostly nearer to ``begin`` to mostly
    nearer to ``end``: at once or slowly, but what comes back, as beside a neighbour who comes and goes, may
    do so again."""
    middle, down = (begin + end) / 2, end < begin
    # How many of the first ones are nearer to the end.
    near = [0, *accumulate((log < middle) == down for log in logs)]
    every = len(logs)
    return any(
        near[split] <= ASTRAY * split
        and every - split - (near[-1] - near[split]) <= ASTRAY * (every - split)
        for split in range(1, every - hot + 1)
    )


def _judge(left: Estimate, logs: Sequence[float], split: int, hot: int) -> Shape:
    """A fall is seen by the first piece, or, where that drowns in noise, by all before the split."""
    if left.low is None:
        return "unclear"
    if left.most < 1 or left.least > 1:
        lasts = _lasts(logs, hot, logs[0], statistics.median(logs[-hot:]))
        if lasts and left.value < FALLEN:
            return "fell"
        if lasts and left.value > 1 / FALLEN:
            return "rose"
    before, after = statistics.median(logs[:split]), statistics.median(logs[split:])
    if (
        len(logs) >= MANY
        and max(left.value, math.exp(after - before)) < FALLEN
        and _is_lower(logs, split)
        and _lasts(logs, hot, before, after)
    ):
        return "fell"
    near = left.least >= 1 - EQUIVALENCE and left.most <= 1 + EQUIVALENCE
    return "kept" if near else "unclear"


def _is_lower(logs: Sequence[float], split: int) -> bool:
    """Whether the mean after the split is lower by `APART` standard errors, of pieces of which neighbours are
    alike: their correlation ``r`` makes the error √((1 + r) / (1 - r)) times as large (Bayley and Hammersley,
    Supplement to the Journal of the Royal Statistical Society 8, 1946)."""
    levels, n = (logs[:split], logs[split:]), len(logs)
    means = [statistics.fmean(level) for level in levels]
    off = [log - mean for level, mean in zip(levels, means, strict=True) for log in level]
    squares = math.fsum(each * each for each in off)
    if not squares:
        return means[1] < means[0]
    # About two means it comes out too small by two in n.
    alike = math.fsum(a * b for a, b in pairwise(off)) / squares + 2 / n
    alike = min(max(alike, 0.0), MOST_ALIKE)
    variance = squares / (n - 3) * (1 / split + 1 / (n - split)) * (1 + alike) / (1 - alike)
    return means[0] - means[1] > APART * math.sqrt(variance)


APART = 5.5
"""Of noise alone the split is where it looks most like a fall, so that two or three errors are nothing."""

MOST_ALIKE = 0.9


def _find_fall(logs: Sequence[float]) -> int:
    """Where two levels leave the least squares: how many values lie before the fall, at least one.

    The change-point of one step in the mean (Hinkley, Biometrika 57, 1970), and not the first low value: of a
    rate that goes to and fro, or down slowly, it is where most of it is gone.
    """
    n, total = len(logs), math.fsum(logs)
    sums = list(accumulate(logs))
    # Of splits into k and n - k values the one whose two means explain most.
    return max(
        range(1, n),
        key=lambda k: (total * k / n - sums[k - 1]) ** 2 / (k * (n - k)),
        default=1,
    )


def _find_held(run: _Run, fell_s: float, left: float) -> tuple[Evidence, ...]:
    """What was seen to hold it back after the fall and not before, or so much; told as heat only where the
    machine tells of heat."""
    # What fell sooner than a reading is taken is compared with the first readings.
    fallen = min(max(fell_s, PIECE_S), (1 - END_LEAST) * run.whole)
    windows = (0.0, fallen), (fallen, run.whole)
    before, after = map(run.measure, windows)
    found = list(_find_held_gpu(before, after)) if run.gpu else []
    was, now = (run.read("clock_mhz", window) for window in windows)
    if was and now and 1 - now / was > (1 - left) / 2:
        found.append(cite("hot-clock", was=was, now=now))
    if not run.on_device:
        found += _find_held_cpu(run, before, after)
    return tuple(found) or (cite("hot-unknown" if run.watched else "hot-unwatched"),)


def _find_held_gpu(
    before: dict[str, float | None], after: dict[str, float | None]
) -> Iterator[Evidence]:
    slowed, more = _find_rise("gpu.slowdown_share", before, after)
    if slowed >= MOST_HELD or more >= HELD:
        yield cite("hot-slowed", share=slowed)
    capped, more = _find_rise("gpu.capped_share", before, after)
    if capped >= MOST_HELD or more >= HELD:
        yield cite("hot-capped", share=capped)


def _find_held_cpu(
    run: _Run, before: dict[str, float | None], after: dict[str, float | None]
) -> Iterator[Evidence]:
    """By what was seen from outside, from the fall on; what nobody told there, as the worker saw it, of its
    whole run."""
    seen = run.result.evidence
    if after.get("cpu.throttle_events", seen.get("thermal_events")):
        yield cite("hot-cpu")
    quota, more = _find_rise("cpu.quota_share", before, after, seen.get("throttled_share"))
    if more >= QUOTA:
        yield cite("hot-quota", cpus=quota)
    cpus = run.document.invocation.limits.get("cpu_count")
    each = cpus if isinstance(cpus, int) and cpus > 0 else 1
    share = seen.get("steal_share")
    stolen, more = _find_rise("cpu.stolen", before, after, share and share * each)
    if more >= STOLEN * each:
        yield cite("hot-stolen", share=stolen / each)
    if (others := seen.get("foreign_cpus") or 0.0) >= OTHERS:
        yield cite("hot-others", cpus=others)


def _find_rise(
    name: str,
    before: dict[str, float | None],
    after: dict[str, float | None],
    throughout: float | None = None,
) -> tuple[float, float]:
    """What something took after the fall, and by how much more than before; not told, ``throughout``."""
    now = after.get(name)
    if now is None:
        return throughout or 0.0, throughout or 0.0
    return now, now - (before.get(name) or 0.0)


def _read_ends(run: _Run, sensor: str, begin_s: float, end_s: float) -> Ends:
    """A sensor under load at the beginning and at the end; its temperature at rest before."""
    at_rest = (-run.woken_s - PIECE_S, -run.woken_s)
    first = at_rest if sensor == "temperature_c" else (0.0, begin_s)
    last = (run.whole - end_s, run.whole)
    return Ends(begin=run.read(sensor, first), end=run.read(sensor, last))


def _follow(run: _Run) -> Course:
    """The run in at most `POINTS` pieces of as many samples."""
    count = len(run.seconds)
    pieces = min(POINTS, count)
    cuts = [count * number // pieces for number in range(pieces + 1)]
    ends = [0.0, *run.ends]
    spans = [(ends[a], ends[b]) for a, b in pairwise(cuts)]
    series = {name: tuple(run.read(name, span) for span in spans) for name in _SENSORS}
    return Course(
        at_s=tuple((a + b) / 2 for a, b in spans),
        rate=tuple(run.rate(a, b) for a, b in pairwise(cuts)),
        **{name: values for name, values in series.items() if set(values) != {None}},
    )
