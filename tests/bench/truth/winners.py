"""Who wins: campaigns without a difference, with planted ones, and with planted crossovers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from scipy.optimize import brentq

from suite.cells.cell import Cell
from tests.bench.truth import devices
from tests.bench.truth.campaigns import (
    ARMS,
    BASE,
    OTHER,
    SKEWED,
    Factor,
    Planted,
    Seconds,
    plan_cells,
)
from tests.bench.truth.claims import CONTROLS, Told
from tests.bench.truth.devices import CPU, GPU, Device
from tests.bench.truth.tally import Tally, tell, work_cells
from tests.fakes.hosts import HOSTS, TYPICAL, Host

EXTRA = re.compile(r"the interval ([\d.]+) to [\d.]+ contains the true value, and not 1")

ROUGH = replace(TYPICAL, between=0.03, within=0.05)
MOODY = Host(between=0.005, within=0.02)
NOISY: Mapping[str, tuple[Host, float]] = {
    **{name: (HOSTS[name], 0.0) for name in ("typical", "bimodal", "drifting", "never steady")},
    "rough": (ROUGH, 0.0),
    "moody": (MOODY, 0.02),
}
"""The machines of the null campaigns, and by how much an invocation as a whole is slower or faster than
the next: the standard deviation of its logarithm."""

same = devices.times(CPU, CPU)
"""Both arms are one machine's CPU."""


def draw_moods(seed: int, deviation: float) -> Factor:
    """Every invocation has a factor of its own, the same in all of its cells."""

    @cache
    def mood(arm: str, block: int) -> float:
        draw = np.random.default_rng([seed, block, *arm.encode()])
        return math.exp(draw.normal(0.0, deviation))

    return lambda _cell, arm, block: mood(arm, block)


def try_null(tally: Tally, seed: int) -> None:
    """No difference between the arms, on noisy machines."""
    name, (host, mood) = list(NOISY.items())[seed % len(NOISY)]
    planted = Planted(seconds=same, host=host, factor=draw_moods(seed, mood))
    report = tell(planted, seed=1000 + seed)
    winner = [*report.claims("winner"), *report.claims("crossover"), *report.claims("wrong winner")]
    false = set(report.judged)
    work = {cell.id for cell in work_cells()}
    extremes = report.claims("extreme")
    causes = report.claims("cause")
    tally.blame("the opening names a winner or a crossover", winner)
    tally.blame("the opening names a largest win or loss", extremes)
    tally.blame("the opening names a cause of a loss", causes)
    tally.blame("the opening counts a win or a loss", report.claims("count"))
    named = bool(winner or extremes or causes)
    tally.add("any of these", named)
    tally.add(f"any of these ({name})", named)
    tally.add("a crossover is in summary.json", bool(report.crossovers))
    tally.add("any false verdict", bool(false))
    tally.add("any false verdict of work", bool(false & work))
    twins = {
        verdict["name"]
        for twin in report.summary["controls"]["twins"]
        for verdict in twin["verdicts"].values()
    }
    tally.add("any false verdict of twins", bool(twins & {"FASTER", "SLOWER"}))
    _add_sentences(tally, report, modes=bool(host.modes or host.restless))
    codes = {flag["code"] for flag in report.summary["flags"]}
    tally.add("a block is measured again", "off-pace-then" in codes)


def _add_sentences(tally: Tally, report: Told, *, modes: bool) -> None:
    """Sentences and labels that contradict what stands beside them, of a null campaign."""
    every = [
        sentence for sentence in report.opening if "wins at every" in sentence and not report.judged
    ]
    tally.blame("an arm wins everywhere, and no verdict says so", every)
    floor, noise = report.summary["noise_floor"], report.noise
    tally.add(
        "noise is said to be under half of the floor", noise is not None and noise < floor / 2
    )
    if not modes:
        add_bimodal(tally, report)
    tally.add(
        "extra work is said to hold where none would hold as well",
        *(float(low) <= 1 for low in EXTRA.findall(report.report)),
    )
    misled = "off by a factor" in report.report or "the wrong winner" in report.report
    tally.add("the script misleads, though nothing differs", misled)
    tally.add("cells can't be compared that nobody meant to", "can't be compared" in report.report)


def add_bimodal(tally: Tally, report: Told) -> None:
    """Counts the cells of a machine with one level that are told to have two."""
    arms = [cell["arms"][arm] for cell in report.cells.values() for arm in ARMS]
    notes = [" ".join(n["text"] for n in arm.get("notes", ())) for arm in arms if arm["n"]]
    tally.add("bimodal, though it is not", *("bimodal" in note for note in notes))


def choose_effects(draw: np.random.Generator, size: float, count: int) -> dict[str, float]:
    """Ratios of times planted in some warm work cells: half of them slower, half faster."""
    cells = [cell.id for cell in work_cells(warm=True)]
    chosen = draw.choice(cells, count, replace=False).tolist()
    return {name: (1 + size) if place % 2 else 1 / (1 + size) for place, name in enumerate(chosen)}


def tell_effects(effects: Mapping[str, float]) -> Seconds:
    """The true seconds where the arms differ by these ratios alone."""
    return lambda cell, arm: same(cell, arm) * (effects.get(cell.id, 1.0) if arm == OTHER else 1.0)


def try_effects(
    tally: Tally,
    seed: int,
    *,
    size: float,
    blocks: int = 5,
    host: Host = TYPICAL,
    slow: float = 0.0,
    lasts: bool = False,
) -> None:
    """Effects of one size in ten work cells; with ``slow`` one invocation that takes so much longer, and
    where that ``lasts`` whenever its block is measured again."""
    draw = np.random.default_rng([seed, blocks])
    effects = choose_effects(draw, size, 10)
    bad = str(draw.choice(ARMS)), int(draw.integers(1, blocks + 1))

    def factor(_cell: Cell, arm: str, block: int) -> float:
        return 1 + slow if (arm, block) == bad else 1.0

    planted = Planted(seconds=tell_effects(effects), host=host, factor=factor, lasts=lasts)
    report = tell(planted, seed=2000 + seed, blocks=blocks)
    _add_effects(tally, report, effects)
    again = [flag for flag in report.summary["flags"] if flag["code"] == "off-pace-then"]
    tally.add("a block is measured again", bool(again))
    tally.add(
        "another block than the slow one", *(flag["where"]["block"] != bad[1] for flag in again)
    )
    if slow:
        tally.add(
            "the opening tells of the slow invocation", bool(report.places("slow invocation"))
        )


def _add_effects(tally: Tally, report: Told, effects: Mapping[str, float]) -> None:
    judged = report.judged
    right = {name: "SLOWER" if ratio > 1 else "FASTER" for name, ratio in effects.items()}
    tally.add("found", *(judged.get(name) == want for name, want in right.items()))
    tally.add("wrong direction", *(judged.get(n) not in {None, w} for n, w in right.items()))
    tally.add("any false verdict", bool(judged.keys() - effects.keys()))
    work = [cell.id for cell in work_cells()]
    tally.add(
        "any false verdict of work", any(name in judged for name in work if name not in effects)
    )
    ratios = {name: report.cells[name] for name in work if report.cells[name]["ratio_low"]}
    tally.add(
        "coverage",
        *(
            ratio["ratio_low"] <= effects.get(name, 1.0) <= ratio["ratio_high"]
            for name, ratio in ratios.items()
        ),
    )
    tally.add(
        "an end of the range is a cell without an effect",
        *(
            not any(_names(name, sentence) for name in effects)
            for sentence in report.claims("extreme")
        ),
    )


def _names(cell: str, sentence: str) -> bool:
    """Whether a sentence names a cell, of whose id a report may leave axes out."""
    case, *axes = cell.split("/")
    named = [name.split("/") for name in NAMED.findall(sentence)]
    return any(parts[0] == case and set(parts[1:]) <= set(axes) for parts in named)


NAMED = re.compile(r"\bat (\S+):")
"""A cell in a sentence of the opening."""


SHARP = 200.0
"""Handing over and computing side by side, as on a GPU whose queue is never empty: the curve of times has
a bend where one becomes the longer."""


def find_truth(
    cell: Cell, axis: str, ends: tuple[float, float], cpu: Device, gpu: Device
) -> float | None:
    """The size at which both devices take the same time; None: none within the ends."""

    def differ(log: float) -> float:
        there = replace(cell, params={**cell.params, axis: math.exp(log)})
        return math.log(devices.take(gpu, there).seconds / devices.take(cpu, there).seconds)

    low, high = map(math.log, ends)
    return math.exp(brentq(differ, low, high)) if differ(low) * differ(high) < 0 else None


def try_crossovers(tally: Tally, seed: int) -> None:
    """A GPU that is dearer to call and faster, so that every sweep crosses over once."""
    host = (TYPICAL, HOSTS["quiet"], ROUGH)[seed % 3]
    draw = np.random.default_rng(seed)
    # One after the other makes a smooth curve of times, side by side one with a bend in it.
    overlap = 1.0 if seed % 2 else SHARP
    cpu = replace(CPU, overlap=overlap)
    dear = math.exp(draw.uniform(math.log(1.5), math.log(30)))
    gpu = replace(
        GPU,
        overlap=overlap,
        eager=CPU.eager * dear,
        graph=CPU.graph * dear,
        kernel=float(draw.uniform(0.5e-6, 4e-6)),
        flops=float(math.exp(draw.uniform(math.log(1e12), math.log(2e13)))),
    )
    report = tell(devices.plant(cpu, gpu, host=host), seed=3000 + seed)
    for sweep in report.answers:
        _add_crossover(tally, sweep, cpu, gpu)


def _add_crossover(tally: Tally, sweep: Mapping[str, Any], cpu: Device, gpu: Device) -> None:
    axis = sweep["axis"]
    cells = [
        cell
        for cell in plan_cells()
        if (cell.scenario, cell.case) == (sweep["scenario"], sweep["case"])
        and {name: value for name, value in cell.params.items() if name != axis} == sweep["fixed"]
    ]
    sizes = sorted(float(cell.params[axis]) for cell in cells)
    truth = find_truth(cells[0], axis, (sizes[0], sizes[-1]), cpu, gpu)
    if truth is None or cells[0].arms:
        return
    tally.add("a crossover is answered", sweep["answer"] == "crosses")
    tally.add("a sweep that crosses is said not to", sweep["answer"] in {"always", "never"})
    if sweep["answer"] == "crosses":
        low, high = sweep["low"] or 0.0, sweep["high"] or math.inf
        bend = "smooth" if cpu.overlap == 1.0 else "with a bend"
        few = f"{'two' if len(sizes) == 2 else 'more'} sizes"
        tally.add("the range holds the truth", low <= truth <= high)
        tally.add(f"the range holds the truth ({bend}, {few})", low <= truth <= high)
        tally.add("the wrong arm wins above it", not sweep["rising"])
        tally.add("the range is open", sweep["low"] is None or sweep["high"] is None)


def try_roles(tally: Tally, seed: int) -> None:
    """A GPU whose calls are far dearer than the CPU's, and whose prices are not what a reader asks for."""
    gpu = replace(GPU, eager=30e-6, graph=200e-6, fence=40e-6)
    work = {cell.id for cell in work_cells()}
    draw = np.random.default_rng(seed)
    effects = choose_effects(draw, 0.03, 20)
    report = tell(devices.plant(CPU, gpu), seed=7000 + seed)
    losses = [sentence for sentence in report.claims("extreme") if "loss" in sentence]
    tally.add("the largest loss is no work", *(_names_none(work, sentence) for sentence in losses))
    counted = (COUNTED.search(sentence) for sentence in report.opening)
    numbers = [int(match["cells"]) for match in counted if match]
    tally.add("more than the work is counted", *(number > len(work) for number in numbers))
    small = Planted(seconds=tell_effects(effects), host=HOSTS["quiet"])
    both = [
        tell(small, seed=7500 + seed, without=frozenset(roles))
        for roles in ((), ("overhead", "reference"))
    ]
    chances = [
        {name: each.cells[name]["comparisons"][OTHER]["verdict"]["p_holm"] for name in work}
        for each in both
    ]
    tally.add("verdicts of work depend on the prices beside them", chances[0] != chances[1])


def _names_none(cells: Iterable[str], sentence: str) -> bool:
    loss = sentence.partition("loss")[2]
    return not any(_names(name, loss) for name in cells)


COUNTED = re.compile(r"^Of (?P<cells>\d+) ")
"""How many cells the opening counts."""


def try_calls(tally: Tally, seed: int, *, base: int, other: int) -> None:
    """K differs between the arms, and the mean time per call does not."""
    calls = {BASE: base, OTHER: other}
    warm = {cell.id for cell in plan_cells() if not cell.one_shot and not cell.arms}
    planted = Planted(seconds=same, calls=calls, skew=SKEWED)
    report = tell(planted, seed=5000 + seed)
    ratios = {
        name: cell for name, cell in report.cells.items() if name in warm and cell["ratio_low"]
    }
    bias = math.expm1(float(np.mean([math.log(each["ratio"]) for each in ratios.values()])))
    tally.sizes.setdefault("bias", []).append(bias)
    tally.add("coverage", *(o["ratio_low"] <= 1 <= o["ratio_high"] for o in ratios.values()))
    tally.add("any false verdict", bool(report.judged.keys() & warm))
    named = [*report.claims("winner"), *report.claims("extreme"), *report.claims("cause")]
    tally.blame("any of these", named)
    add_bimodal(tally, report)


def try_quick(tally: Tally, seed: int) -> None:
    """No difference between the arms, in a profile that gives no verdicts."""
    planted = Planted(seconds=same, host=TYPICAL)
    report = tell(planted, seed=8000 + seed, blocks=3, profile="quick")
    claims = [report.claims(kind) for kind in ("winner", "extreme", "cause", "wrong winner")]
    tally.blame("a provisional profile speaks of findings", chain(*claims))


WANTED = re.compile(r"settled by BLOCKS=(\d+)")


def try_settling(tally: Tally, seed: int) -> None:
    """A noisy campaign of five blocks, half of them with effects, and another of as many as it asks for."""
    work = {cell.id for cell in work_cells()}
    draw = np.random.default_rng([seed, 77])
    effects: dict[str, float] = {}
    for size in (0.04, 0.06, 0.10, 0.15) if seed % 2 else ():
        effects |= choose_effects(draw, size, 12)
    planted = Planted(seconds=tell_effects(effects), host=ROUGH)
    report = tell(planted, seed=3000 + seed)
    wanted = [int(match[1]) for sentence in report.opening if (match := WANTED.search(sentence))]
    # More blocks don't mend a control that fails, which on such a machine a sound one can.
    if not any(map(report.places, CONTROLS)):
        tally.add("the opening says what would settle it", len(wanted) == 1)
    if wanted:
        later = tell(planted, seed=9000 + seed, blocks=wanted[0])
        open_ = work & {
            name for name, verdict in report.verdicts.items() if verdict == "INCONCLUSIVE"
        }
        settled = [later.verdicts[name] != "INCONCLUSIVE" for name in sorted(open_)]
        tally.add("inconclusive, and settled by the blocks asked for", *settled)
