"""Campaigns of any length made of recorded ones, with a known truth, and what the analysis says of them.

``python -m tests.bench.replay [CAMPAIGNS [KIND]]``: minutes with the default; it asserts nothing.

A recorded campaign gives its cells, their values, how each spreads between invocations, what an invocation
and a block have in common, and its documents; `tests.bench.moods` makes up how another machine behaves.
"""

from __future__ import annotations

import math
import sys
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from suite.analysis.campaign.consistency import counted_documents
from suite.analysis.campaign.invocation_value import read
from suite.analysis.campaign.proof import withhold_unproven
from suite.analysis.campaign.slow_invocations import find_odd
from suite.analysis.campaign.summarise import Summary, summarise
from suite.analysis.documents.read import load_campaign
from suite.analysis.documents.telemetry import join_document
from suite.cells.cell import Cell
from suite.host.campaign import plan
from suite.host.campaign.campaign_runner import MOST_AGAIN
from suite.model import Campaign, CellResult, Document, document_name
from tests import synthetic
from tests.bench.resting import rest
from tests.bench.truth import devices
from tests.bench.truth.campaigns import ARMS, OTHER, Planted, arm_of
from tests.bench.truth.tally import Tally, load
from tests.fakes.hosts import Array

SAMPLES = Path("results/samples")
CPU = SAMPLES / "20261125T072147Z-sample-standard"
GPU = SAMPLES / "20261126T044954Z-gpu-standard"

CAMPAIGNS = 40

MOST = 10

SMOOTHING = 0.5
"""Of a drawn residual's own deviation: so much normal noise is added, and all scaled back to the spread."""

SHARED = 0.4
"""What share of a residual's variance all arms of a block have in common.  Of the committed sample, the
correlation of its twin's residuals with its own, over 12 cells and 5 blocks: 0.4."""

PRIOR = 3.0
"""With so many degrees of freedom the usual spread counts where a cell's own has but one."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What one arm of a campaign was like: logarithms of seconds a call.

    ``levels`` are the cells' means over blocks, ``residuals`` what each block had beside (cells by blocks,
    scaled to the spread of a new block), ``documents`` the blocks' own, after the calibration's.
    """

    names: tuple[str, ...]
    levels: Array
    residuals: Array
    documents: Sequence[Document]

    @property
    def spread(self) -> Array:
        """The standard deviation of a new block's residual, by cell."""
        found: Array = np.sqrt(np.mean(self.residuals**2, axis=1))
        return found


@cache
def read_campaign(folder: Path) -> tuple[Campaign, Mapping[str, Recorded]]:
    """A recorded campaign's plan, and what each of its arms was like."""
    loaded = withhold_unproven(load_campaign(folder).change(join_document))
    arms = {}
    for arm, by_block in counted_documents(loaded).items():
        first = next(d for d in loaded.documents if d.name == document_name(arm, 0))
        documents = [replace(each, telemetry=None) for each in (first, *by_block.values())]
        logs = [
            {cell.id: math.log(read(cell).value) for cell in document.cells if cell.samples_s}
            for document in documents[1:]
        ]
        names = tuple(name for name in logs[0] if all(name in of for of in logs))
        values = np.array([[of[name] for of in logs] for name in names])
        levels = values.mean(axis=1)
        arms[arm] = Recorded(
            names=names,
            levels=levels,
            residuals=_widen(values - levels[:, np.newaxis]),
            documents=documents,
        )
    return loaded.campaign, arms


def _widen(residuals: Array) -> Array:
    """Residuals about a mean of so few, as wide as those of blocks to come.

    Of two blocks nobody knows a cell's spread: there it is moderated by that of all cells.
    """
    count = residuals.shape[1]
    wide: Array = residuals * math.sqrt(count / (count - 1))
    if count < 3:
        spread = np.sqrt(np.mean(wide**2, axis=1, keepdims=True))
        # The median of the absolute value of a normal variable is 0.674 of its deviation.
        usual = float(np.median(spread)) / 0.674
        own = np.sqrt((PRIOR * usual**2 + spread**2) / (PRIOR + 1))
        wide = np.where(spread > 0, wide / np.maximum(spread, 1e-12), [[-1.0, 1.0]])
        wide *= own
    return wide


Noise = Callable[["Replay", Campaign, str, int, int], Mapping[str, float]]
"""By cell, the logarithm of what an invocation (its arm, block and repeat) takes over the truth."""


def draw(*words: int | str) -> np.random.Generator:
    """A generator for these words alone, whatever is drawn elsewhere."""
    return np.random.default_rng(
        [word if isinstance(word, int) else zlib.crc32(word.encode()) for word in words]
    )


def bootstrap(replay: Replay, campaign: Campaign, arm: str, block: int, repeat: int) -> Any:
    """The residuals of whole recorded invocations: one that all arms of the block share, and one of its own,
    smoothed."""
    recorded = replay.source(arm)
    block_draw = draw(campaign.seed, "block", block, repeat)
    own_draw = draw(campaign.seed, arm, block, repeat)
    shared, own = (_pick(recorded.residuals, of) for of in (block_draw, own_draw))
    mixed = math.sqrt(SHARED) * shared + math.sqrt(1 - SHARED) * own
    noise = own_draw.normal(0.0, SMOOTHING, len(recorded.names)) * recorded.spread
    found = (mixed + noise) / math.sqrt(1 + SMOOTHING**2)
    return dict(zip(recorded.names, found.tolist(), strict=True))


def _pick(residuals: Array, own: np.random.Generator) -> Array:
    """One block's residuals; of two blocks, which say nothing of a shape, a normal mixture of both."""
    count = residuals.shape[1]
    if count > 2:
        return residuals[:, own.integers(count)]
    mixed: Array = residuals @ own.normal(0.0, 1 / math.sqrt(count), count)
    return mixed


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A kind of campaigns: which recorded arm each of its two arms behaves like, and what is planted.

    ``planted`` has the true seconds, and what is seen of them, in the place of the recorded ones.
    ``effects`` are by cell the times that the second arm takes over that; ``noise`` how an invocation differs
    from the truth; ``whole``: with all samples that were recorded, else with one that is the invocation's
    value (the verdicts are the same).
    """

    folder: Path = CPU
    arms: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(ARMS, "cpu"))
    planted: Planted | None = None
    effects: Mapping[str, float] = field(default_factory=dict)
    noise: Noise = bootstrap
    whole: bool = False

    def source(self, arm: str) -> Recorded:
        """What an arm, or a control, behaves like."""
        return read_campaign(self.folder)[1][self.arms[arm_of(arm)]]

    @property
    def names(self) -> list[str]:
        """The cells that both arms have."""
        base, other = map(self.source, ARMS)
        return [name for name in base.names if name in other.names]

    def truth(self, arm: str) -> dict[str, float]:
        """The true seconds a call, by cell."""
        recorded, real = self.source(arm), arm_of(arm)
        seconds = dict(zip(recorded.names, np.exp(recorded.levels).tolist(), strict=True))
        if self.planted is not None:
            cells = read_campaign(self.folder)[0].cells
            seconds = {
                cell.id: self.planted.seconds(cell, real) for cell in cells if cell.id in seconds
            }
        effects = self.effects if real == OTHER else {}
        return {name: value * effects.get(name, 1.0) for name, value in seconds.items()}

    def plan(self, *, blocks: int, seed: int) -> Campaign:
        """The plan of such a campaign."""
        recorded, _ = read_campaign(self.folder)
        calls = {arm: recorded.calls[of] for arm, of in self.arms.items()}
        return replace(
            recorded,
            id=f"replay-{seed}",
            seed=seed,
            blocks=blocks,
            most_blocks=blocks,
            arms=list(ARMS),
            every_arm=synthetic.make_arms(ARMS),
            calls=calls,
            looks=[],
            excluded={arm: recorded.excluded.get(of, {}) for arm, of in self.arms.items()},
            not_run={},
            stopped=None,
            simulated=True,
        )

    def document(
        self,
        campaign: Campaign,
        arm: str,
        block: int,
        *,
        cells: Collection[str] | None = None,
        repeat: int = 0,
    ) -> Document:
        """An invocation: of these cells, or of all that the arm has and that do not rest in the block."""
        recorded = self.source(arm)
        truth, off = self.truth(arm), self.noise(self, campaign, arm, block, repeat)
        first, *blocks = recorded.documents
        like = blocks[block % len(blocks)] if block else first
        gpu = campaign.arm(arm).gpu
        planned = {cell.id: cell for cell in plan.awake_cells(campaign, arm, block)}
        kept = planned if cells is None else planned.keys() & cells
        disguised = gpu and "GPU:0" not in str(like.facts.get("tensorflow.devices"))
        results = [
            _disguise(result, planned[result.id]) if disguised else result
            for cell in like.cells
            if cell.id in kept
            for result in [
                self._take(cell, truth[cell.id] * math.exp(off[cell.id]))
                if cell.id in off
                else cell
            ]
        ]
        if self.planted is not None:
            results = [
                replace(result, **_see(self.planted, planned[result.id], arm_of(arm), block))
                for result in results
            ]
        facts = {**like.facts, **synthetic.make_facts("cuda")} if disguised else like.facts
        invocation = replace(like.invocation, arm=arm, block=block, repeat=repeat)
        identity = replace(like.campaign, id=campaign.id, seed=campaign.seed)
        return replace(like, cells=results, facts=facts, invocation=invocation, campaign=identity)

    def _take(self, cell: CellResult, seconds: float) -> CellResult:
        """The recorded cell with this value."""
        if not self.whole:
            return replace(cell, samples_s=[seconds], warmup_s=[])
        times = seconds / read(cell).value
        samples, warmup = ([times * s for s in of] for of in (cell.samples_s, cell.warmup_s))
        return replace(cell, samples_s=samples, warmup_s=warmup)

    def block(self, campaign: Campaign, block: int, repeat: int = 0, **how: Any) -> list[Document]:
        """Every invocation of a block, the controls' among them; of block 0 the calibration's."""
        arms = [*campaign.arms, *(plan.control_arms(campaign) if block else ())]
        return [self.document(campaign, arm, block, repeat=repeat, **how) for arm in arms]

    def campaign(self, *, blocks: int, seed: int) -> tuple[Campaign, list[Document]]:
        """A campaign as the host leaves it, with the blocks that it measured again."""
        campaign = self.plan(blocks=blocks, seed=seed)
        documents = [d for b in range(blocks + 1) for d in self.block(campaign, b)]
        return self.measure_again(campaign, documents)

    def measure_again(
        self, campaign: Campaign, documents: list[Document]
    ) -> tuple[Campaign, list[Document]]:
        """What the host leaves after its last block."""
        while len(campaign.again) < MOST_AGAIN:
            odd = find_odd(counted_documents(load(campaign, documents)))
            if odd is None:
                break
            again = plan.decide_again(odd, documents)
            campaign = replace(campaign, again=[*campaign.again, again])
            documents = [*documents, *self.block(campaign, again.block, again.repeat)]
        return campaign, documents


def _see(planted: Planted, cell: Cell, arm: str, block: int) -> dict[str, Any]:
    """What a worker sees of a cell beside its times, and in the calibration a tracer."""
    traced = planted.traced if block == 0 else None
    return {**planted.results(cell, arm), "trace": dict(traced(cell, arm)) if traced else {}}


def _disguise(result: CellResult, cell: Cell) -> CellResult:
    """A CPU's result as a GPU's arm would have it."""
    if cell.device != "arm":
        return result
    placement = {name.replace("CPU", "GPU"): count for name, count in result.placement.items()}
    elsewhere = [text.replace("CPU", "GPU") for text in result.elsewhere]
    return replace(result, placement=placement, elsewhere=elsewhere)


# --- What the analysis says of them -------------------------------------------------------------------

Rule = Callable[[Replay, int], tuple[Campaign, list[Document]]]
"""How a campaign of a seed is run."""


def run_blocks(blocks: int) -> Rule:
    """All cells in so many blocks."""
    return lambda replay, seed: replay.campaign(blocks=blocks, seed=seed)


def run_as_planned(replay: Replay, seed: int) -> tuple[Campaign, list[Document]]:
    """As the host runs it, with cells that rest."""
    campaign = replay.plan(blocks=MOST, seed=seed)
    documents = [d for block in range(MOST + 1) for d in replay.block(campaign, block)]
    return replay.measure_again(*rest(campaign, documents))


WINS = ("FASTER", "SLOWER")


@dataclass(frozen=True, kw_only=True)
class Heard:
    """By cell, what a campaign says of its ratio: value, low and high ends, and the verdict's name."""

    summary: Summary

    @property
    def verdicts(self) -> dict[str, str]:
        return {
            cell.cell.id: compared.verdict.name
            for cell in self.summary.cells
            if (compared := cell.comparisons[OTHER]).verdict
        }

    def cover_values(self, replay: Replay) -> list[bool]:
        """The same of each arm's values."""
        truth = {arm: replay.truth(arm) for arm in ARMS}
        return [
            result.low <= truth[arm][cell.cell.id] <= result.high
            for cell in self.summary.cells
            for arm, result in cell.arms.items()
            if result.low is not None and result.high is not None
        ]

    def cover(self, truth: Mapping[str, float]) -> list[bool]:
        """Of each ratio that has an interval, whether that holds the truth."""
        ratios = ((cell.cell.id, cell.comparisons[OTHER].ratio) for cell in self.summary.cells)
        return [
            ratio.low <= truth[name] <= ratio.high
            for name, ratio in ratios
            if ratio and ratio.low is not None and ratio.high is not None
        ]


def hear(replay: Replay, rule: Rule, seed: int) -> Heard:
    """What is said of a campaign that was run by a rule."""
    return Heard(summary=summarise(load(*rule(replay, seed))))


def plant(replay: Replay, seed: int, sizes: Sequence[float], count: int) -> Replay:
    """The replay with effects in so many cells of work, each of one of the sizes, either way."""
    campaign, _ = read_campaign(replay.folder)
    own = draw(seed, "effects")
    work = {cell.id for cell in campaign.cells if cell.role == "work" and not cell.one_shot}
    cells = [name for name in replay.names if name in work]
    chosen = own.choice(cells, min(count, len(cells)), replace=False).tolist()
    effects = {name: 1 + float(own.choice(sizes)) for name in chosen}
    effects = {n: size if own.random() < 0.5 else 1 / size for n, size in effects.items()}
    return replace(replay, effects=effects)


def draw_devices(seed: int) -> Planted:
    """A GPU that is dearer to call than the CPU, and faster, so that sweeps cross over."""
    own = draw(seed, "devices")
    dear = math.exp(own.uniform(math.log(1.5), math.log(30)))
    gpu = replace(
        devices.GPU,
        eager=dear * devices.CPU.eager,
        graph=dear * devices.CPU.graph,
        flops=math.exp(own.uniform(math.log(1e12), math.log(2e13))),
    )
    return devices.plant(devices.CPU, gpu)


def tell_truth(replay: Replay) -> dict[str, float]:
    """The true ratio, by cell that both arms have."""
    base, other = map(replay.truth, ARMS)
    return {name: other[name] / base[name] for name in replay.names}


MEASURES = (
    *("coverage", "coverage of values", "false verdicts", "effects found", "wrong way"),
    *("verdicts kept", "winners kept", "reversed"),
)
"""Of each rule: how often intervals hold the true ratio, and the true value; campaigns with a verdict where
nothing differs; planted effects that are found, and by verdicts of the wrong direction; and of the first
rule's verdicts, and of its winners, those that come out the same, and the other way round."""


def try_campaign(tally: Tally, replay: Replay, rules: Mapping[str, Rule], seed: int) -> None:
    """Counts `MEASURES` in one campaign by each rule."""
    truth = tell_truth(replay)
    full: dict[str, str] = {}
    for name, rule in rules.items():
        heard = hear(replay, rule, seed)
        verdicts = heard.verdicts
        wins = {cell: verdict for cell, verdict in verdicts.items() if verdict in WINS}
        right = {cell: "SLOWER" if truth[cell] > 1 else "FASTER" for cell in replay.effects}
        same = [cell for cell, ratio in truth.items() if math.isclose(ratio, 1.0)]
        kept = {cell: (verdict, verdicts.get(cell)) for cell, verdict in full.items()}
        # Where a time has a part that comes and goes, nobody says what its true value is.
        values = heard.cover_values(replay) if replay.noise is bootstrap else []
        outcomes = (
            heard.cover(truth),
            values,
            [any(cell in wins for cell in same)] if same else [],
            [wins.get(cell) == verdict for cell, verdict in right.items()],
            [wins.get(cell, verdict) != verdict for cell, verdict in right.items()],
            [before == after for before, after in kept.values()],
            [before == after for before, after in kept.values() if before in WINS],
            [set(both) == set(WINS) for both in kept.values()],
        )
        for measure, hits in zip(MEASURES, outcomes, strict=True):
            tally.add(f"{name}: {measure}", *hits)
        full = full or verdicts


def make_kinds() -> dict[str, Callable[[int], Replay]]:
    """By name, the campaign of a seed."""
    from tests.bench.moods import Moods

    recorded, moody = Replay(), Replay(noise=Moods())
    gpu = Replay(folder=GPU, arms={arm: arm for arm in ARMS})
    return {
        "null recorded": lambda seed: recorded,
        "null moods": lambda seed: moody,
        "null gpu": lambda seed: replace(gpu, arms=dict.fromkeys(ARMS, "cuda")),
        **{
            f"{name} {size} %": lambda seed, replay=replay, size=size: plant(
                replay, seed, [size / 100], 10
            )
            for name, replay in (("recorded", recorded), ("moods", moody))
            for size in (5, 15, 20)
        },
        "recorded mixed": lambda seed: plant(recorded, seed, [0.03, 0.1, 0.3, 1.0, 3.0], 40),
        "moods mixed": lambda seed: plant(moody, seed, [0.03, 0.1, 0.3, 1.0, 3.0], 40),
        "gpu as it was": lambda seed: gpu,
        "devices": lambda seed: replace(recorded, planted=draw_devices(seed)),
    }


RULES: Mapping[str, Rule] = {
    f"{MOST} blocks": run_blocks(MOST),
    "5 blocks": run_blocks(5),
    "as planned": run_as_planned,
}


def tabulate_kind(name: str, campaigns: int, rules: Mapping[str, Rule] = RULES) -> str:
    """A row of `MEASURES` for each rule, of so many campaigns of a kind."""
    kind, tally = make_kinds()[name], Tally()
    for seed in range(campaigns):
        try_campaign(tally, kind(seed), rules, seed)
    rates = {rule: [tally[f"{rule}: {measure}"] for measure in MEASURES] for rule in rules}
    rows = [
        [rule, *(f"{rate.hits} of {rate.tries}" if rate.tries else "" for rate in of)]
        for rule, of in rates.items()
    ]
    return tabulate(rows, headers=[name, *MEASURES], tablefmt="pipe", disable_numparse=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CAMPAIGNS
    only = " ".join(sys.argv[2:])
    for name in make_kinds():
        if only in name:
            sys.stdout.write(f"{tabulate_kind(name, count)}\n\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
