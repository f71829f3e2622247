"""Campaigns of any length made of recorded ones, with a known truth, and what the analysis says of them.

``python -m tests.bench.replay [CAMPAIGNS [KIND…]]``: minutes with the default; it asserts nothing.

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
from suite.model import Campaign, CellResult, Document
from tests import synthetic
from tests.bench.truth.tally import Tally, load
from tests.fakes.hosts import Array

SAMPLES = Path("results/samples")
CPU = SAMPLES / "20261125T072147Z-sample-standard"
GPU = SAMPLES / "20261126T044954Z-gpu-standard"
BASE, OTHER = ARMS = ("cpu", "cuda")

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
    scaled to the spread of a new block), ``documents`` the blocks' own, by block.
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
        documents = [replace(document, telemetry=None) for document in by_block.values()]
        logs = [
            {cell.id: math.log(read(cell).value) for cell in document.cells if cell.samples_s}
            for document in documents
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

    ``effects`` are by cell the times that the second arm takes over what was recorded; ``noise`` how an
    invocation differs from the truth; ``whole``: with all samples that were recorded, else with one that is
    the invocation's value (the verdicts are the same).
    """

    folder: Path = CPU
    arms: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(ARMS, "cpu"))
    effects: Mapping[str, float] = field(default_factory=dict)
    noise: Noise = bootstrap
    whole: bool = False

    def source(self, arm: str) -> Recorded:
        """What an arm, or a control, behaves like."""
        real = BASE if arm == "cuda-hidden" else arm.removesuffix("-twin")
        return read_campaign(self.folder)[1][self.arms[real]]

    @property
    def names(self) -> list[str]:
        """The cells that both arms have."""
        base, other = map(self.source, ARMS)
        return [name for name in base.names if name in other.names]

    def truth(self, arm: str) -> dict[str, float]:
        """The true seconds a call, by cell."""
        recorded = self.source(arm)
        effects = self.effects if arm.startswith(OTHER) and arm != "cuda-hidden" else {}
        return {
            name: math.exp(level) * effects.get(name, 1.0)
            for name, level in zip(recorded.names, recorded.levels.tolist(), strict=True)
        }

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
        """An invocation: of these cells, or of all that the arm has."""
        recorded = self.source(arm)
        truth, off = self.truth(arm), self.noise(self, campaign, arm, block, repeat)
        like = recorded.documents[block % len(recorded.documents)]
        gpu = campaign.arm(arm).gpu
        planned = {cell.id: cell for cell in plan.cells_of(campaign, arm)}
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
        """Every invocation of a block, the controls' among them."""
        arms = [*campaign.arms, *plan.control_arms(campaign)]
        return [self.document(campaign, arm, block, repeat=repeat, **how) for arm in arms]

    def campaign(self, *, blocks: int, seed: int) -> tuple[Campaign, list[Document]]:
        """A campaign as the host leaves it, with the blocks that it measured again."""
        campaign = self.plan(blocks=blocks, seed=seed)
        documents = [d for b in range(1, blocks + 1) for d in self.block(campaign, b)]
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


def tell_truth(replay: Replay) -> dict[str, float]:
    """The true ratio, by cell that both arms have."""
    base, other = map(replay.truth, ARMS)
    return {name: other[name] / base[name] for name in replay.names}


def try_campaign(tally: Tally, replay: Replay, rules: Mapping[str, Rule], seed: int) -> None:
    """Counts what is right and wrong in one campaign by each rule; all are held to the first one."""
    truth = tell_truth(replay)
    full: dict[str, str] = {}
    for name, rule in rules.items():
        heard = hear(replay, rule, seed)
        verdicts = heard.verdicts
        tally.add(f"{name}: coverage", *heard.cover(truth))
        if replay.noise is bootstrap:
            tally.add(f"{name}: coverage of values", *heard.cover_values(replay))
        wins = {cell: verdict for cell, verdict in verdicts.items() if verdict in WINS}
        false = [cell for cell in wins if math.isclose(truth[cell], 1.0)]
        tally.add(f"{name}: campaigns with a false verdict", bool(false))
        wrong = [c for c, v in wins.items() if c not in false and (v == "SLOWER") != (truth[c] > 1)]
        real = [cell for cell in replay.effects if cell in verdicts]
        tally.add(f"{name}: effects found", *(cell in wins for cell in real))
        tally.add(f"{name}: wrong direction", *(cell in wrong for cell in real))
        for cell, verdict in full.items():
            own = verdicts.get(cell, "none")
            tally.add(f"{name}: the full campaign's verdict", own == verdict)
            if verdict in WINS:
                tally.add(f"{name}: the full campaign's winner", own == verdict)
            tally.add(f"{name}: reversed", {own, verdict} == set(WINS))
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
    }


RULES: Mapping[str, Rule] = {"10 blocks": run_blocks(10), "5 blocks": run_blocks(5)}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    only = " ".join(sys.argv[2:])
    for name, kind in make_kinds().items():
        if only in name:
            tally = Tally()
            for seed in range(count):
                try_campaign(tally, kind(seed), RULES, seed)
            sys.stdout.write(f"{name}\n")
            for what, outcomes in tally.hits.items():
                rate = tally[what]
                sys.stdout.write(f"  {what}: {rate.hits} of {len(outcomes)} ({rate})\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
