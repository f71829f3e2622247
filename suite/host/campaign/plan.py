"""What a campaign is going to do, decided as values: cells, order, the worker's arguments.

Pure: no engine, no files, no clock; a plan can be asserted in a test.
"""

from __future__ import annotations

import fnmatch
import random
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from suite.cells.cell import ALL_CPUS, Cell
from suite.cells.traits import WITH_CONTROLS, ProfileName, count_calls, is_slow
from suite.errors import UsageError
from suite.model import (
    NOT_FROM_LOCK,
    Again,
    Arm,
    Campaign,
    CellResult,
    Document,
    Excluded,
    Image,
    InterimLook,
    control_of,
)
from suite.model.why import Inquiry


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A profile's blocks, and its times for a cell in seconds.

    A cell is in so many ``blocks``, less where it is precise before, and more, up to ``most_blocks``, where
    these are likely to decide it; None: in exactly so many.  ``limit_s`` is the budget where nobody gives
    one; it forbids none of the profile's own blocks.
    """

    blocks: int
    most_blocks: int | None
    warmup_s: float
    measure_s: float
    budget_s: float
    limit_s: float | None = None


PROFILES: Mapping[ProfileName, Profile] = {
    "smoke": Profile(blocks=1, most_blocks=None, warmup_s=0.05, measure_s=0.1, budget_s=2.0),
    "verdict": Profile(
        blocks=3, most_blocks=10, warmup_s=0.1, measure_s=0.2, budget_s=4.0, limit_s=120.0
    ),
    "standard": Profile(blocks=5, most_blocks=10, warmup_s=0.15, measure_s=0.3, budget_s=15.0),
    "full": Profile(blocks=10, most_blocks=20, warmup_s=0.5, measure_s=1.0, budget_s=60.0),
}

FIRST_LOOK = 3
"""After so many blocks the spread of a cell can be told; it is looked at after each from then on."""

SUSTAIN_S = 120.0
"""How long a cell is kept going, unless somebody says: a heat sink has warmed through by then, and a small
machine's credits for bursts last longer."""

SAMPLE_S = 0.25
"""What a sample of such a cell takes at least: some are in the first two seconds, and a document holds
those of half an hour."""

MOST_REST_S = 30.0
"""At most so long it waits before, with all ready, and a quarter of its own time: a chip is cool again."""

ONE_SHOT = ("cold", "run-up")
"""How the worker says that a cell's one sample is its only call by definition, in place of a warm-up."""


def choose_cells(
    cells: Iterable[Cell],
    profile: ProfileName,
    arms: Sequence[Arm],
    only: Sequence[str],
    *,
    cpus: int = 0,
    sustain: bool = False,
) -> list[Cell]:
    """The cells of a profile that at least one arm can run, by the globs of ``only`` if any; ``cpus`` are
    those that a process may be bound to, as `fit_cells` has it; ``sustain``: those that are kept going are
    asked for, whatever the profile.

    Raises:
        UsageError: a glob matches nothing, or none those that are asked for.
    """
    cells = list(cells)
    of_profile = [
        cell
        for cell in fit_cells(cells, cpus)
        if (is_in(cell, profile, only) or (sustain and cell.role == "sustained"))
        and any(means_something(cell, arm) for arm in arms)
    ]
    for glob in only:
        if not _match(of_profile, [glob]):
            raise UsageError(
                f"ONLY={glob!r} matches no cell of the profile {profile}",
                _advise(_match(cells, [glob]), cpus),
            )
    if not only:
        return of_profile
    chosen = _match(of_profile, only)
    if sustain and not any(cell.role == "sustained" for cell in chosen):
        names = dict.fromkeys(cell.scenario for cell in of_profile if cell.role == "sustained")
        raise UsageError(
            f"SUSTAIN asks for cells that ONLY={' '.join(only)!r} leaves out",
            f"add {' '.join(f'{name}.*' for name in names)} to ONLY, or leave SUSTAIN out",
        )
    return chosen


def _match(cells: Iterable[Cell], globs: Iterable[str]) -> list[Cell]:
    return [cell for cell in cells if any(fnmatch.fnmatchcase(cell.id, glob) for glob in globs)]


def _advise(elsewhere: Sequence[Cell], cpus: int) -> str:
    """What to do about a glob that a profile has no cell for, by the suite's cells that it matches."""
    if any(cell.role == "sustained" for cell in elsewhere):
        return "SUSTAIN=120s measures it in any profile, and PROFILE=full does by itself"
    if any(cell.cpus is not None for cell in elsewhere) and not cpus:
        return "it takes an engine that binds a process to some of the CPUs, which this one doesn't"
    enough = f" that {cpus} CPUs are enough for" if cpus else ""
    return f"`make list` shows the ids; PROFILE=full has all of them{enough}"


def is_in(cell: Cell, profile: ProfileName, only: Iterable[str] = ()) -> bool:
    """Whether a profile has the cell; of those that it has on request, where a glob begins with the name of
    its case."""
    asked = cell.on_request and any(glob.startswith(cell.name) for glob in only)
    return asked or profile in cell.profiles


def fit_cells(cells: Iterable[Cell], cpus: int) -> list[Cell]:
    """The cells that so many CPUs are enough for (0: no process can be bound to some of them); a cell that is
    to have all of them says how many these are, and is left out where another one has as many."""
    cells = list(cells)
    counts = {ALL_CPUS, *(cell.cpus for cell in cells)}
    return [
        replace(cell, cpus=cpus) if cell.cpus == ALL_CPUS else cell
        for cell in cells
        if cell.cpus is None or (cpus not in counts if cell.cpus == ALL_CPUS else cell.cpus <= cpus)
    ]


def means_something(cell: Cell, arm: Arm) -> bool:
    """Whether the cell has a meaning on the arm."""
    return cell.suits(gpu=arm.gpu)


def choose_controls(cells: Iterable[Cell], profile: ProfileName) -> list[str]:
    """The ids of the campaign's cells that its control invocations run."""
    if profile not in WITH_CONTROLS:
        return []
    return [cell.id for cell in cells if cell.control]


def add_controls(arms: Sequence[Arm], controls: Sequence[str]) -> list[Arm]:
    """These arms, and where there are cells to control, those of their control invocations: each one's
    twin, and the first GPU's image without its GPU, where there is a CPU arm to hold it to.
    """
    if not controls:
        return list(arms)
    plain = [arm for arm in arms if arm.control is None]
    gpu = next((arm for arm in plain if arm.gpu), None)
    hidden = [control_of(gpu, "hidden")] if gpu and any(not arm.gpu for arm in plain) else []
    twins = [control_of(arm, "twin") for arm in arms]
    return [*arms, *twins, *(arm for arm in hidden if arm not in arms)]


def forget_versions(campaign: Campaign, images: Mapping[str, Image]) -> Campaign:
    """The plan without the TensorFlow of images whose packages are not the lock's, which nobody knows yet."""
    arms = [
        replace(arm, tensorflow=None) if images[arm.image].lock == NOT_FROM_LOCK else arm
        for arm in campaign.every_arm
    ]
    return replace(campaign, every_arm=arms)


def control_arms(campaign: Campaign) -> list[str]:
    """The arms of the control invocations, where the campaign has any."""
    names = [arm.name for arm in campaign.every_arm if arm.name not in campaign.arms]
    return names if campaign.controls else []


def decide_look(
    campaign: Campaign, block: int, precise: int, cells: int, wanted: Mapping[str, int]
) -> InterimLook:
    """What follows of a look after a block: which cells rest from then on.

    ``wanted`` is by cell in how many blocks it is to be in all; those that are in it no longer rest, but for
    what others need: the control invocations' cells and those whose truth is known, which show the noise of
    every block; what cells that go on lead to, since the causes of a loss are differences within blocks; and
    the other cells of a script, which runs as a whole.  Where none goes on for its own sake, all rest.
    """
    more = {name for name, blocks in wanted.items() if blocks > block}
    own = more - set(campaign.controls)
    kept = _add_needed(campaign, more) if own else set()
    resting = [cell.id for cell in campaign.cells if cell.id not in kept]
    return InterimLook(block=block, precise=precise, cells=cells, enough=not own, resting=resting)


def _add_needed(campaign: Campaign, names: Iterable[str]) -> set[str]:
    """These cells, and those without which they would be of less use."""
    cells = {cell.id: cell for cell in campaign.cells}
    known = [cell for cell in campaign.cells if cell.extra_work is not None]
    queue = [*names, *campaign.controls, *(cell.id for cell in known)]
    queue += [link.to for cell in known for link in cell.links.get("honest", ())]
    kept: set[str] = set()
    while queue:
        name = queue.pop()
        if name in kept or name not in cells:
            continue
        kept.add(name)
        cell = cells[name]
        if cell.scripted:
            queue += [other.id for other in campaign.cells if other.process == cell.process]
        # Causes are of losses, and those are between arms.
        if len(campaign.arms) > 1 and name not in campaign.controls:
            queue += [link.to for links in cell.links.values() for link in links]
            queue += _list_below(cell)
    return kept


def _list_below(cell: Cell) -> list[str]:
    """The stages of a script behind this one."""
    stages = [stage.cell for stage in cell.way.stages if stage.cell] if cell.way else []
    return stages[stages.index(cell.id) + 1 :] if cell.id in stages else []


def foresee(campaign: Campaign, block: int, wanted: Mapping[str, int]) -> Campaign:
    """The campaign with as many blocks, and with the looks after this block, as there will be if each cell is
    in so many blocks as it is ``wanted``."""
    own = [blocks for name, blocks in wanted.items() if name not in campaign.controls]
    last = max(own, default=campaign.blocks)
    first = max(block, FIRST_LOOK)
    looks = [decide_look(campaign, after, 0, 0, wanted) for after in range(first, last)]
    return replace(campaign, blocks=max(last, block), looks=looks)


def decide_again(odd: tuple[str, int, float], documents: Iterable[Document]) -> Again:
    """That a block is measured again in which an arm's invocation kept this pace: all arms with one number,
    the first that none of them has had."""
    arm, block, pace = odd
    repeats = [d.invocation.repeat for d in documents if d.invocation.block == block]
    return Again(arm=arm, block=block, pace=pace, repeat=max(repeats) + 1)


def cells_of(campaign: Campaign, arm: str) -> list[Cell]:
    """The campaign's cells that have a meaning on the arm, in the plan's order."""
    cells = [cell for cell in campaign.cells if means_something(cell, campaign.arm(arm))]
    if arm in campaign.arms:
        return cells
    return [cell for cell in cells if cell.id in campaign.controls]


def awake_cells(campaign: Campaign, arm: str, block: int) -> list[Cell]:
    """Those of them that an invocation has: in a block no cell that rests in it."""
    resting = set(campaign.resting(block))
    return [cell for cell in cells_of(campaign, arm) if cell.id not in resting]


def sustained_of(campaign: Campaign, arm: str) -> list[Cell]:
    """The cells that are kept going on the arm: none on a control."""
    if campaign.sustained is None or campaign.arm(arm).control is not None:
        return []
    cells = campaign.sustained.cells
    return [cell for cell in cells if means_something(cell, campaign.arm(arm))]


def rest_s(campaign: Campaign) -> float:
    """How long a cell waits before it is kept going, in seconds."""
    return min(MOST_REST_S, campaign.sustained.seconds / 4) if campaign.sustained else 0.0


def order_arms(campaign: Campaign, block: int) -> list[str]:
    """The arms of a block, controls among them, in their random order from the campaign's seed.

    Block 0: those on which cells are kept going.  A first block that finds K begins with the arms that do,
    since the others take over what they find.
    """
    if block == 0:
        return [arm for arm in campaign.arms if sustained_of(campaign, arm)]
    arms = [*campaign.arms, *control_arms(campaign)]
    repeat = campaign.first_counted(block)
    again = f"/{repeat}" if repeat else ""
    random.Random(f"{campaign.seed}/{block}{again}").shuffle(arms)
    if block == campaign.calibration:
        arms.sort(key=lambda arm: not calibrates(campaign, arm))
    return arms


def calibrates(campaign: Campaign, arm: str) -> bool:
    """Whether the arm finds its own K, rather than take over another's."""
    return arm in campaign.arms and campaign.calibrating_arm(arm) == arm


def order_cells(campaign: Campaign, arm: str, block: int, repeat: int = 0) -> list[Cell]:
    """The cells of an invocation in their order.

    Before the first block, as block 0, come those that are kept going, while the machine is cold.  A block's
    order is random, from the campaign's seed, but that where K is found each sweep climbs, so that sizes are
    refused that would take too long.  The runs of a script have theirs from the plan.
    """
    if isinstance(campaign, Inquiry):
        return campaign.runs_of(arm, block)
    if block == 0:
        return sustained_of(campaign, arm)
    cells = awake_cells(campaign, arm, block)
    random.Random(f"{campaign.seed}/{arm}/{block}/{repeat}").shuffle(cells)
    return _climb(cells) if block == campaign.calibration else cells


def _climb(cells: Sequence[Cell]) -> list[Cell]:
    """These cells with the sizes of each sweep in ascending order, in the places that the sweep has."""
    sweeps: dict[str, list[Cell]] = {}
    for cell in cells:
        sweeps.setdefault(cell.sweep_key, []).append(cell)
    ascending = {
        key: iter(sorted(sizes, key=lambda cell: cell.work.amount)) for key, sizes in sweeps.items()
    }
    return [next(ascending[cell.sweep_key]) for cell in cells]


def arguments(
    campaign: Campaign,
    arm: str,
    cells: Sequence[Cell],
    *,
    checked: Collection[str] = (),
) -> tuple[str, ...]:
    """The worker's arguments for these cells, of one process: with K where it is frozen.

    ``checked`` are the cells whose full checks have held on the arm: where these all have, brief ones do.
    """
    gpu = ("--gpu",) if campaign.arm(arm).gpu else ()
    if cells[0].scripted:
        return ("script", *gpu, *(cell.id for cell in cells))
    if cells[0].role == "sustained" and campaign.sustained is not None:
        seconds = campaign.sustained.seconds
        return (
            "measure",
            *gpu,
            *("--warmup", "0", "--measure", f"{seconds:g}", "--sample", f"{SAMPLE_S:g}"),
            *("--rest", f"{rest_s(campaign):g}", "--budget", f"{3 * seconds:g}"),
            *(cell.id for cell in cells),
        )
    calibrated = campaign.calibrating_arm(arm)
    calls = campaign.calls.get(calibrated, {})
    slow = campaign.slow.get(calibrated, {})
    known = {
        name: f"@{k}" + (f":{slow[name]:.3f}" if name in slow else "") for name, k in calls.items()
    }
    brief = ("--brief",) if all(cell.id in checked for cell in cells) else ()
    return (
        "measure",
        *gpu,
        *("--warmup", f"{campaign.warmup_s:g}"),
        *("--measure", f"{campaign.measure_s:g}"),
        *("--budget", f"{campaign.budget_s:g}"),
        *brief,
        *(cell.id + known.get(cell.id, "") for cell in cells),
    )


def next_process(campaign: Campaign, remaining: Sequence[Cell]) -> list[Cell]:
    """Those of the remaining cells that the next container runs: first each that is kept going, then all that
    have no process of their own, then those of one process after the other; of a script in the plan's order,
    which is the script's."""
    kept = [cell.process for cell in remaining if cell.role == "sustained"]
    names = kept or [cell.process for cell in remaining]
    process = None if None in names else names[0]
    chosen = [cell for cell in remaining if cell.process == process]
    if not chosen[0].scripted:
        return chosen
    return [cell for cell in campaign.every_cell if cell in chosen]


def list_checked(documents: Iterable[Document]) -> set[str]:
    """The cells whose full check has held in one of these invocations."""
    return {
        cell.id
        for document in documents
        for cell in document.cells
        if cell.outcome == "measured" and not (cell.check and cell.check.brief)
    }


def find_slow(document: Document, warmup_s: float) -> dict[str, float]:
    """The seconds of a call of the cells of which one took longer than this where K was found; such a cell's
    first call is its warm-up in every later block."""
    return {
        cell.id: call_s
        for cell in document.cells
        if cell.samples_s
        and cell.warmup_status not in ONE_SHOT
        and is_slow(call_s := statistics.median(cell.samples_s), warmup_s)
    }


def freeze(document: Document) -> tuple[dict[str, int], dict[str, Excluded]]:
    """What the first block has found: K by cell, and the cells that no other should try.

    K makes even the fastest call that it saw fill a sample: one that was found while something else was at
    work would be too small for every block to come.
    """
    floor_s = document.facts.get("sample_floor_s")
    calls = {
        cell.id: _enough_calls(cell, floor_s if isinstance(floor_s, float) else 0.0)
        for cell in document.cells
        if cell.outcome == "measured" and cell.calls_per_sample is not None
    }
    excluded = {
        cell.id: Excluded(outcome=cell.outcome, reason=cell.reason or "no reason was given")
        for cell in document.cells
        if cell.outcome in {"skipped", "failed"}
    }
    return calls, excluded


def _enough_calls(result: CellResult, floor_s: float) -> int:
    calls = result.calls_per_sample or 1
    if result.warmup_status in ONE_SHOT or not result.samples_s:
        return calls
    return max(calls, count_calls(floor_s, min(result.samples_s)))
