"""What is said before the end: looks of the profile verdict at campaigns with a known truth, and the full
campaign of the same machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from suite.analysis.analyse import analyse, count_held
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.numbers import FEWEST, Verdict
from suite.host.campaign.plan import PROFILES
from suite.model import Campaign, Document
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


def look(campaign: Campaign, documents: list[Document], fit: int) -> Iterator[Analysis]:
    """The looks at a campaign whose budget lets so many blocks be measured, until it knows enough."""
    for block in range(FEWEST, fit + 1):
        stopped = f"after block {block}" if block == fit < MOST else None
        so_far = [one for one in documents if one.invocation.block <= block]
        so_far = [one for one in so_far if one.invocation.block or one.invocation.arm]
        plan = replace(campaign, blocks=block, most_blocks=MOST, stopped=stopped)
        analysis = analyse(load(plan, so_far))
        yield analysis
        held, asked = count_held(analysis)
        if held == asked:
            return


def follow(planted: Planted, seed: int, fit: int) -> list[Analysis]:
    """Every look at such a campaign of the profile verdict."""
    campaign = make_plan(blocks=fit, seed=seed, profile="verdict", calls=planted.calls)
    return list(look(campaign, make_documents(campaign, planted), fit))


def try_null(tally: Tally, seed: int) -> None:
    """No difference between the arms, on noisy machines of which the budget lets few blocks or many fit."""
    name, (host, mood) = list(NOISY.items())[seed % len(NOISY)]
    planted = Planted(seconds=same, host=host, factor=draw_moods(seed, mood))
    looks = follow(planted, 1000 + seed, (3, 4, 5, 6, 8, MOST)[seed // len(NOISY) % 6])
    said = [
        {key: word for key, word in say(each, everywhere=True).items() if word != "EQUIVALENT"}
        for each in looks
    ]
    tally.add("any false word at any look", any(said))
    tally.add(f"any false word at any look ({name})", any(said))


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


def try_words(tally: Tally, seed: int) -> None:
    """What is said early, beside what the full campaign of the same machine says, and what is true."""
    planted = draw_planted(seed)
    fit = (3, 4, 6, MOST)[seed // 4 % 4]
    looks = follow(planted, 7000 + seed, fit)
    said = [say(each) for each in looks]
    whole = make_plan(blocks=10, seed=7000 + seed, calls=planted.calls)
    full = analyse(load(whole, make_documents(whole, planted)))
    ids = {cell.id for cell in looks[0].asked}
    fair = {cell.id: cell for cell in full.cells}
    end = {
        key: word
        for key, word in say(full, everywhere=True).items()
        if key[1] in ids and fair[key[1]].role == "work"
    }
    tally.add(
        "another word than the full campaign",
        *(end[key] != word for of in said for key, word in of.items() if key in end),
    )
    tally.add(
        "a campaign with another word than the full one",
        any(end.get(key, word) != word for of in said for key, word in of.items()),
    )
    tally.blame(
        "reversed",
        (
            f"{seed} {key}: {word}, then {later[key]}"
            for at, of in enumerate(said)
            for later in [*said[at + 1 :], end]
            for key, word in of.items()
            if later.get(key, word) != word and {word, later[key]} != {"EQUIVALENT", "INCONCLUSIVE"}
        ),
    )
    last = said[-1]
    first = {key for of in said for key in of}
    tally.add("unsaid at the end", *(key not in last for key in sorted(first)))
    tally.add(
        f"held at the end with {fit} blocks, of what the full campaign says",
        *(key in last for key in end),
    )
    for kind in ("who", "why"):
        tally.add(
            f"{kind} wins, held" if kind == "who" else "why, held",
            *(key in last for key in end if key[0] == kind),
        )
    tally.add("held at the first look", *(key in said[0] for key in end))
    tally.add("ends before its budget", len(said) < fit - FEWEST + 1)
