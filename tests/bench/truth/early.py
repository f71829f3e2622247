"""What is said before the end: looks of the profile verdict at campaigns with a known truth, and the full
campaign of the same machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from suite.analysis.analyse import analyse, count_held
from suite.analysis.campaign.summarise import summarise
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import FEWEST, Verdict
from suite.host.campaign.plan import PROFILES
from suite.model import Campaign, Document
from suite.worker import scenarios
from tests.bench.replay import Replay, make_kinds
from tests.bench.truth import devices
from tests.bench.truth.campaigns import OTHER, Planted, make_documents, make_plan
from tests.bench.truth.devices import CPU, GPU
from tests.bench.truth.reasons import PLANTS
from tests.bench.truth.tally import Tally, load
from tests.bench.truth.winners import NOISY, draw_moods, same
from tests.fakes.hosts import TYPICAL

Words = Mapping[tuple[str, str], str]
"""What is said of a cell: who wins it, and the main cause where the GPU loses."""

MOST = PROFILES["verdict"].most_blocks

NEVER = "any false word at any look"


def say(analysis: Analysis, *, everywhere: bool = False) -> Words:
    """What holds of what is asked, or of all cells."""
    words = {}
    for cell in analysis.cells if everywhere else analysis.asked:
        verdict = cell.verdicts[OTHER]
        if isinstance(verdict, Verdict) and verdict.name not in {"INCONCLUSIVE", "INVALID"}:
            words["who", cell.id] = str(verdict.name)
        if cell.lost and cell.standing and not cell.standing.open:
            words["why", cell.id] = str(cell.causes[0].rule)
    return words


def read_looks(campaign: Campaign, documents: list[Document], fit: int) -> Iterator[LoadedCampaign]:
    """A campaign as it is read at its looks, of which the budget lets so many blocks be measured."""
    for block in range(FEWEST, fit + 1):
        stopped = f"after block {block}" if block == fit < MOST else None
        so_far = [document for document in documents if document.invocation.block <= block]
        yield load(replace(campaign, blocks=block, most_blocks=MOST, stopped=stopped), so_far)


def look(campaign: Campaign, documents: list[Document], fit: int) -> Iterator[Analysis]:
    """The looks at a campaign until it knows enough."""
    for loaded in read_looks(campaign, documents, fit):
        analysis = analyse(loaded)
        yield analysis
        held, asked = count_held(analysis)
        if held == asked:
            return


def has_winner(loaded: LoadedCampaign) -> bool:
    """Whether any cell of a campaign, whatever its role, is said to have a winner."""
    verdicts = (cell.comparisons[OTHER].verdict for cell in summarise(loaded).cells)
    return any(verdict is not None and verdict.names_winner for verdict in verdicts)


def follow(planted: Planted, seed: int, fit: int) -> list[Analysis]:
    """Every look at such a campaign of the profile verdict."""
    campaign = make_plan(blocks=fit, seed=seed, profile="verdict", calls=planted.calls)
    return list(look(campaign, make_documents(campaign, planted), fit))


def try_null(tally: Tally, seed: int) -> None:
    """No difference between the arms, on noisy machines of which the budget lets few blocks or many fit."""
    name, (host, mood) = list(NOISY.items())[seed % len(NOISY)]
    planted = Planted(seconds=same, host=host, factor=draw_moods(seed, mood))
    fit = (3, 4, 5, 6, 8, MOST)[seed // len(NOISY) % 6]
    campaign = make_plan(blocks=fit, seed=1000 + seed, profile="verdict")
    looks = read_looks(campaign, make_documents(campaign, planted), fit)
    false = any(map(has_winner, looks))
    tally.add(NEVER, false)
    tally.add(f"{NEVER} ({name})", false)


def draw_planted(seed: int) -> Planted:
    """A GPU that is dearer to call and faster, or one with a planted cause."""
    draw = np.random.default_rng([seed, 5])
    if seed % 2:
        cpu, gpu = list(PLANTS.values())[seed // 2 % len(PLANTS)]
        return devices.plant(cpu, gpu, host=TYPICAL)
    dear = math.exp(draw.uniform(math.log(1.1), math.log(30)))
    gpu = replace(
        GPU,
        eager=CPU.eager * dear,
        graph=CPU.graph * dear,
        kernel=float(draw.uniform(0.5e-6, 4e-6)),
        flops=float(math.exp(draw.uniform(math.log(2e11), math.log(2e13)))),
    )
    host = (TYPICAL, NOISY["rough"][0], NOISY["moody"][0])[seed // 2 % 3]
    return devices.plant(CPU, gpu, host=host)


def try_planted(tally: Tally, seed: int) -> None:
    """What is said early, beside what the full campaign of the same machine says, and what is true."""
    planted = draw_planted(seed)
    fit = (3, 4, 6, MOST)[seed // 4 % 4]
    looks = follow(planted, 7000 + seed, fit)
    whole = make_plan(seed=7000 + seed, calls=planted.calls)
    full = analyse(load(whole, make_documents(whole, planted)))
    compare(tally, list(map(say, looks)), {cell.id for cell in looks[0].asked}, full, fit)


def compare(tally: Tally, said: Sequence[Words], asked: set[str], full: Analysis, fit: int) -> None:
    """Counts what was said at the looks against a full campaign's words on the same cells."""
    end = {key: word for key, word in say(full, everywhere=True).items() if key[1] in asked}
    words = {(key, word) for of in said for key, word in of.items()}
    tally.add("the full campaign's word", *(end[key] == word for key, word in words if key in end))
    turned = {
        f"{key[1]}: {word}, and {end[key]} in the full campaign"
        for key, word in words
        if end.get(key, word) != word
    }
    turned |= {
        f"{key[1]}: {word}, then {later[key]}"
        for at, of in enumerate(said)
        for later in said[at + 1 :]
        for key, word in of.items()
        if later.get(key, word) != word
    }
    tally.blame("a campaign with a word that is reversed", turned)
    tally.add("unsaid at the end", *(key not in said[-1] for key, _ in words))
    tally.add(f"held at the end, of {fit} blocks", *(key in said[-1] for key in end))
    tally.add("held at the first look", *(key in said[0] for key in end))
    for kind, what in (("who", "winners held"), ("why", "main causes held")):
        tally.add(what, *(key in said[-1] for key in end if key[0] == kind))
    tally.add("ends before its budget", len(said) < fit - FEWEST + 1)


# --- Replays of recorded campaigns --------------------------------------------------------------------

RECORDED: Mapping[str, Callable[[int], Replay]] = {
    name: kind
    for name, kind in make_kinds().items()
    if name.startswith(("null", "gpu")) or "mixed" in name
}


def try_replay(tally: Tally, seed: int, *, kind: str) -> None:
    """The looks at a replay, beside a full campaign of the same machine at another hour."""
    replay = RECORDED[kind](seed)
    fit = (3, 4, 6, MOST)[seed % 4]
    first = {cell.id for cell in scenarios.cells() if "verdict" in cell.profiles}
    whole = replace(replay.plan(blocks=fit, seed=seed), controls=[])
    documents = [d for b in range(1, fit + 1) for d in replay.block(whole, b, cells=first)]
    cells = [cell for cell in whole.cells if cell.id in first]
    plan = replace(whole, profile="verdict", cells=cells)
    if kind.startswith("null"):
        tally.add(NEVER, any(map(has_winner, read_looks(plan, documents, fit))))
        return
    looks = list(look(plan, documents, fit))
    said = list(map(say, looks))
    full = analyse(load(*replay.campaign(blocks=5, seed=90_000 + seed)))
    compare(tally, said, {cell.id for cell in looks[0].asked}, full, fit)
