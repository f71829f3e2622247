"""Who wins: campaigns without a difference, with planted ones, and with planted crossovers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from scipy.optimize import brentq

from suite.analysis.statistics.crossover import find_sweeps, pick_main
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

EXTRA = re.compile(
    r"\(([\d.]+)–[\d.]+\) times the time for .*; the interval contains the true value, and not 1"
)

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
    rows = report.claims("row")
    causes = report.claims("cause")
    tally.blame("the opening names a winner or a crossover", winner)
    tally.blame("a row of the brief names a winner", rows)
    tally.blame("the opening names a cause of a loss", causes)
    tally.blame("the opening counts a win or a loss", report.claims("count"))
    named = bool(winner or rows or causes)
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
    every = [] if report.judged else report.claims("winner")
    tally.blame("something is decided, and no verdict says so", every)
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
        "a row of the brief names a winner of a cell without an effect",
        *(not find_row(row) & effects.keys() for row in report.claims("row")),
    )
    add_decision(tally, report, lambda cell: effects.get(cell.id, 1.0))


ROW = re.compile(
    r"^\| (?:training steps, network (?P<net>\w+), batch (?P<batch>\d+)|n × n products, n = (?P<n>\d+)"
    r"|(?P<cell>\S+))"
)
"""The cell of a row of the brief, in plain words where it is of a sweep that the brief opens with."""


def find_row(row: str) -> set[str]:
    """The ids of the cells that a row can be about, of whose id a report may leave axes out."""
    match = ROW.match(row)
    assert match, row
    named = {name: value for name, value in match.groupdict().items() if value}
    if "cell" in named:
        case, *axes = named["cell"].rstrip("…").split("/")
        return {
            cell.id
            for cell in plan_cells()
            if f"{cell.scenario}.{cell.case}" == case
            and all(any(part.startswith(axis) for part in cell.id.split("/")) for axis in axes)
        }
    axis = "n" if "n" in named else "batch"
    return {main_cells(axis, named.get("net", ""))[float(named[axis])].id}


@cache
def main_cells(axis: str, net: str) -> Mapping[float, Cell]:
    """The cells of a sweep that the brief opens with, by size: products, or the steps of a network."""
    return {
        float(cell.params[axis]): cell
        for sweep in pick_main(find_sweeps(plan_cells()))
        if sweep.axis == axis and str(sweep.fixed.get("net", "")) == net
        for cell in sweep.cells
    }


RUNS = r"(?:batch |n = )?(\d+(?: to \d+)?(?:, \d+(?: to \d+)?)*)"
CLAUSE = re.compile(
    r"on (?P<above>\w+) from (?:batch|n =) (?P<first>\d+) on"
    r"|on (?P<below>\w+) (?:up to (?P<last>\d+)|at every smaller)"
    r"|on (?P<every>\w+) at every (?:batch|n) measured"
    rf"|(?:on (?P<some>\w+)|undecided|equivalent) at {RUNS}"
)
"""What a decision says of some sizes."""


def read_decision(sentence: str, axis: str, net: str) -> dict[float, str]:
    """Who wins at which size of a network's steps, or of products, by a sentence of the decision; a size that
    it leaves open has no winner."""
    said, _, _ = sentence.partition("; at ")
    clauses = said.split("; ")
    if ": network" in said:
        clauses = [clause for clause in clauses if re.search(rf"\b{net}\b", clause)]
    sizes = sorted(main_cells(axis, net))
    told: dict[float, str] = dict.fromkeys(sizes, "")
    border = math.inf
    for match in CLAUSE.finditer(clauses[0]):
        if arm := match["above"]:
            border = float(match["first"])
            told |= {size: arm for size in sizes if size >= border}
        elif arm := match["below"]:
            last = float(match["last"] or math.nextafter(border, 0))
            told |= {size: arm for size in sizes if size <= last}
        elif arm := match["every"]:
            told |= dict.fromkeys(sizes, arm)
        else:
            runs = [[*map(float, run.split(" to "))] for run in match[7].split(", ")]
            told |= {
                size: match["some"] or ""
                for size in sizes
                if any(run[0] <= size <= run[-1] for run in runs)
            }
    return told


FACTOR = re.compile(r"([\d.]+)× as fast \(([\d.]+)–([\d.]+)\)(?: for network (\w+))?")


def add_decision(tally: Tally, report: Told, truth: Callable[[Cell], float]) -> None:
    """Counts what the decision says of sizes against the true ratios of the arms' times."""
    wrong, silent = list[str](), list[str]()
    winners = {"FASTER": OTHER, "SLOWER": BASE}
    for axis, net, verb in (
        ("batch", "A", "Train"),
        ("batch", "B", "Train"),
        ("n", "", "Multiply"),
    ):
        sentence = next((line for line in report.decision if line.startswith(verb)), "")
        told = read_decision(sentence, axis, net)
        cells = main_cells(axis, net)
        for size, cell in cells.items():
            winner = told[size]
            if winner and (truth(cell) < 1) != (winner == OTHER):
                wrong.append(sentence)
            if winner != winners.get(report.verdicts.get(cell.id, ""), ""):
                silent.append(f"{cell.id}: {sentence}")
        _, _, named = sentence.partition(f"; at {axis}")
        for factor in FACTOR.finditer(named):
            size = float(re.findall(r"\d+", named)[0])
            if net in {"", factor[4] or net} and size in cells:
                ratio, step = truth(cells[size]), 10.0 ** -len(factor[2].partition(".")[2])
                low, high = float(factor[2]) - step, float(factor[3]) + step
                holds = low <= max(ratio, 1 / ratio) <= high
                tally.add("the interval that is named holds the truth", holds)
    tally.blame("the decision is untrue", wrong)
    tally.blame("the decision says other than the verdicts", silent)


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
    seconds = devices.times(cpu, gpu)
    add_decision(tally, report, lambda cell: seconds(cell, OTHER) / seconds(cell, BASE))
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
    tally.add("a row is no work", *(not find_row(row) & work for row in report.claims("row")))
    counted = (COUNTED.search(row) for row in report.rows)
    numbers = [int(match["cells"]) for match in counted if match]
    tally.add("other than the work is counted", sum(numbers) != len(work))
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


COUNTED = re.compile(r"^\| [^|]+\| \d+ of (?P<cells>\d+) ")
"""How many cells a row of means is about."""


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
    named = [*report.claims("winner"), *report.claims("row"), *report.claims("cause")]
    tally.blame("any of these", named)
    add_bimodal(tally, report)


def try_provisional(tally: Tally, seed: int) -> None:
    """No difference between the arms, in a profile that gives no verdicts."""
    planted = Planted(seconds=same, host=TYPICAL)
    report = tell(planted, seed=8000 + seed, blocks=3, profile="smoke")
    claims = [report.claims(kind) for kind in ("winner", "row", "cause", "wrong winner")]
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
