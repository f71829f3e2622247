"""From a plan to its runner, and from what was measured to the report and an exit status."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite.analysis.analyse import (
    count_held,
    look,
    look_early,
    look_first,
    look_for_odd,
    study,
)
from suite.analysis.campaign.validity import asks_for_repeat
from suite.analysis.documents.read import load_campaign, load_plan
from suite.analysis.documents.telemetry import join_document
from suite.analysis.result.numbers import FEWEST
from suite.analysis.result.why import Answer
from suite.cells.traits import SEQUENTIAL, WITH_VERDICTS
from suite.cli.engines import check_custom, open_engine, settle_custom, settle_gpu
from suite.cli.fleet.end import leave_end
from suite.cli.keep_tools import keep_here, keep_named, read_named
from suite.cli.terminal import Terminal, answer_kept
from suite.errors import CrossoverError, DocumentError, GpuError, UnsoundError
from suite.fingerprint import SUITE
from suite.flags import raise_flag
from suite.host.campaign.arms import (
    Arms,
    choose_family,
    find_gpus,
    known_arms,
    name_versions,
    resolve_arms,
)
from suite.host.campaign.campaign_runner import CampaignRunner
from suite.host.campaign.listener import AnalysisHooks
from suite.host.campaign.options import Options
from suite.host.campaign.plan import PROFILES
from suite.host.campaign.recorder import Means
from suite.host.campaign.store import CampaignLock, Store, only_campaign
from suite.host.engine import Engine, Say
from suite.host.gpu.choice import ALL_GPUS
from suite.host.machine.identity import read_salt
from suite.host.provision.image_table import find_spec
from suite.host.provision.images import lock_identity
from suite.host.provision.resources import count_bindable
from suite.host.provision.sbom import write_bill
from suite.host.telemetry.observer import make_observer
from suite.model import (
    BILLS,
    NOT_FROM_LOCK,
    PLAN,
    Arm,
    Campaign,
    Document,
    Image,
    name_bill,
    name_kind,
)
from suite.report.pages.brief import compose_look
from suite.report.pages.campaign import compose_first
from suite.report.pictures.picture import FOLDER, POSSIBLE_FILES
from suite.report.produce import Report, build_report, draw
from suite.report.render.forms import keep_arms
from suite.report.render.terminal import render_lines
from suite.report.text.wording import word

ROOT = SUITE.parent

LOOK_LINES = 8
"""Lines at most of what holds after a block."""


@dataclass(frozen=True, kw_only=True)
class Alone:
    """An engine with no other campaign on it while it is our turn; where ours is shown and kept, and what
    was asked for."""

    engine: Engine
    lock: CampaignLock
    terminal: Terminal
    results: Path
    options: Options


@contextlib.contextmanager
def engine_alone(options: Options) -> Iterator[Alone]:
    """The engine that was asked for, alone."""
    results = options.results or ROOT / "results"
    with (
        Terminal() as terminal,
        only_campaign(results, wait_s=options.wait_s, say=terminal.say) as lock,
    ):
        engine = open_engine(options, terminal.say)
        lock.claim(engine)
        yield Alone(engine=engine, lock=lock, terminal=terminal, results=results, options=options)


def provide(
    engine: Engine, arms: Sequence[Arm], say: Say, packages: Path | None = None
) -> dict[str, Image]:
    """The images of the arms by name, built or reused, the largest first, which leaves the others the most
    room; ``packages``: a lock of what each has besides.

    Raises:
        EngineError: one can't be made here; as far as that can be known, before any is built.
    """
    names = list(dict.fromkeys(arm.image for arm in arms))
    engine.demand(names, say)
    largest = sorted(names, key=lambda name: find_spec(name).free_bytes, reverse=True)
    made = {name: engine.provide(name, say, packages=packages) for name in largest}
    return {name: made[name] for name in names}


def resolve_again(engine: Engine, drawn: Campaign, gpu: str) -> Arms:
    """The arms of a campaign that goes on.

    Raises:
        GpuError: a GPU that it needs can't be had any more, or is another one by now.
        DocumentError: its plan says of an arm that it runs in something else.
    """
    planned = [drawn.arm(name) for name in drawn.arms]
    # A GPU's arms are of one kind; what runs against itself is named twice.
    names = list(dict.fromkeys(name_kind(arm) for arm in planned if arm.control != "again"))
    names += [arm.of for arm in planned if arm.control == "again" and arm.of]
    arms = resolve_arms(engine, names, gpu)
    known = {**known_arms(), **{arm.name: arm for arm in arms.run}}
    # A GPU that the machine has got since then is none of the plan's.
    arms = replace(arms, run=tuple(arm for arm in arms.run if arm.name in drawn.arms))
    run, images = {arm.name for arm in arms.run}, {arm.image for arm in arms.run}
    for index, arm in enumerate(drawn.every_arm):
        # Twins and the second of two alike are as the arm that they are of, by the rules of plans.
        named = arm if arm.control in {"twin", "again"} else known.get(arm.name)
        if arm.device is not None and (named is None or len({named.uuid, arm.uuid} - {None}) > 1):
            raise GpuError(
                f"the GPU of the arm {arm.name} is not GPU {arm.device} of this machine any more",
                "go on where the campaign began, or start a new one; `nvidia-smi -L` lists the GPUs",
            )
        why, remedy = "", "start a new campaign"
        if named is None or (named.image, named.gpu) != (arm.image, arm.gpu):
            why = f"$.every_arm[{index}]: {arm.name!r} differs from docker/images.toml"
            remedy = "check out the commit that campaign.json names, or start a new campaign"
        elif arm.name in drawn.arms and arm.name not in run:
            why = f"$.settings.gpu: {gpu!r} leaves out the arm {arm.name!r}"
        elif arm.image not in images:
            why = f"$.every_arm[{index}].image: no arm that is compared runs in {arm.image!r}"
        if why:
            raise DocumentError(f"{PLAN}: {why}", remedy)
    return arms


def _word_disturbance(document: Document) -> str | None:
    code = asks_for_repeat(join_document(document))
    return None if code is None else word(raise_flag(code))


def _tell_first(store: Store, say: Say, *, stop: bool) -> None:
    """Says what the first block shows of the machine and, provisionally, of the arms.

    Raises:
        UnsoundError: an unsound machine is to ``stop`` the campaign, and this one is.
    """
    if (analysis := look_first(store.folder)) is None:
        return
    with keep_arms(analysis.arms):
        lines = render_lines(compose_first(analysis)).splitlines()
    for line in filter(None, lines):
        say(line)
    if stop and analysis.flags:
        raise UnsoundError(
            # One line, whatever an engine says: a fleet's table has one for each host.
            f"the machine is unsound: {' '.join('; '.join(map(word, analysis.flags)).split())}",
            "use another machine; or RESUME without STOP_IF to continue on this one",
        )


Measure = Callable[[Campaign, Means], object]


def start_campaign(
    options: Options,
    draw_plan: Callable[[Options, Arms], Campaign],
    measure: Measure | None = None,
) -> Store:
    """Measures a new campaign; where it is kept.

    ``draw_plan`` makes its plan of the options, as they are settled on this machine, and of the arms that
    can run here; ``measure`` runs another kind of campaign than bench's.
    """
    check_custom(options, options.arms)
    read_salt()  # an unusable secret is refused before anything begins
    read_named(options.evidence)
    with engine_alone(options) as here:
        engine, say = here.engine, here.terminal.say
        if options.gpu == ALL_GPUS and len(gpus := find_gpus(engine)) == 1:
            say("this machine shows one GPU, so that GPU=all is an ordinary campaign")
            # So that it goes on, and is repeated, as the campaign of that GPU.
            options = options.give(gpu=next(iter(gpus)))
        cpus = count_bindable(engine, options.cpus)
        wanted = options.arms
        if options.versions:
            wanted = name_versions(options.versions, choose_family(engine, options.gpu))
        arms = replace(resolve_arms(engine, wanted, options.gpu), cpus=cpus)
        options = settle_gpu(options, engine, say) if arms.gpus else options
        options = settle_custom(options, engine, [arm.image for arm in arms.run], say)
        drawn = draw_plan(options, arms)
        for arm, why in drawn.not_run.items():
            say(f"the arm {arm} is left out: {why}")
            if options.stop_if_unsound:
                raise UnsoundError(
                    f"the machine is unsound: {why}",
                    "another one, or ARMS=cpu where no GPU is meant",
                )
        images = provide(engine, arms.run, say, options.requirements)
        store = Store.create(here.results, drawn.id)
        run_campaign(here, store, drawn, arms, images, measure=measure)
    return store


def run_campaign(
    here: Alone,
    store: Store,
    drawn: Campaign,
    arms: Arms,
    images: dict[str, Image],
    *,
    resumed: Sequence[Document] = (),
    measure: Measure | None = None,
) -> None:
    """Runs the campaign, or the rest of it; however it ends, what was measured by then gets its report.

    The images' bills of materials lie in the folder from the beginning.
    """
    store.write_plan(drawn)  # first: a folder without its plan is none to go on with
    options, terminal = here.options, here.terminal
    budget_s, least_blocks = options.budget_s, 0
    # Who names a number of blocks, or measures a script, has no limit by a profile.
    if budget_s is None and drawn.most_blocks is not None:
        profile = PROFILES[drawn.profile]
        budget_s, least_blocks = profile.limit_s, profile.blocks
    processor = str(here.engine.describe().get("architecture") or platform.machine())
    store.write_reports(_write_bills(images, processor, options.requirements))
    named = keep_named(store, options.evidence)
    if measure is None and not resumed:
        keep_here(store, here.engine, drawn, options.gpu, named=named, say=terminal.say)
    hooks = AnalysisHooks(
        # Pictures take seconds, which the campaign would pay for after every block.
        build_reports=lambda: _report_block(store, terminal.say),
        look=lambda block, most: _look(store, drawn, block, most),
        disturbed=_word_disturbance,
        find_odd=lambda: look_for_odd(store.folder),
        check_first=lambda: _tell_first(store, terminal.say, stop=options.stop_if_unsound),
    )
    means = Means(
        engine=here.engine,
        store=store,
        arms=arms,
        images=images,
        cpus=options.cpus,
        budget_s=budget_s,
        least_blocks=least_blocks,
        listener=terminal,
        observe=make_observer(here.engine, options.telemetry),
    )
    here.terminal.heard = here.lock.expect
    try:
        if measure is None:
            CampaignRunner(drawn, means, hooks).run(resumed)
        else:
            measure(drawn, means)
    except (KeyboardInterrupt, CrossoverError, OSError):
        with contextlib.suppress(CrossoverError, OSError):
            # The first trouble is the one to tell about; a report that can't be made of half a
            # campaign is not.
            write_reports(store)
            here.terminal.say(f"what was measured is in {shown(store.folder)}")
        raise


def _write_bills(
    images: Mapping[str, Image], processor: str, requirements: Path | None
) -> dict[str, str]:
    """The images' bills of materials, and that of what they have besides, by their path in the folder."""
    pythons = {
        name: None if image.lock == NOT_FROM_LOCK else find_spec(name).python
        for name, image in images.items()
    }
    bills = {
        f"{BILLS}/{name_bill(name)}": write_bill(name, image, pythons[name], processor)
        for name, image in images.items()
    }
    if requirements is not None:
        name, first = next(iter(images.items()))
        image = replace(first, lock=lock_identity(requirements))
        bills[f"{BILLS}/{name_bill('requirements')}"] = write_bill(
            "requirements", image, pythons[name], processor, requirements.parent
        )
    return bills


def write_reports(store: Store, *, pictures: bool = True) -> tuple[Report, list[str]]:
    """Writes every file of the report, the quick ones first.

    Returns:
        the report, and the names of its files.
    """
    report = build_report(study(load_campaign(store.folder)), pictures=pictures)
    store.write_reports(report.files)
    drawn = draw(report)
    store.write_reports(drawn)
    names = [*report.files, *drawn]
    store.drop_reports(name for name in POSSIBLE_FILES if name not in names)
    store.pin()
    return report, names


def conclude(store: Store) -> int:
    """Writes the report of a campaign and tells of it: its summary, its files and, in the last line,
    where."""
    report, names = write_reports(store)
    where = shown(store.folder)
    own = [name for name in names if not name.startswith(FOLDER)]
    drawn = f" and the pictures in {FOLDER}" if own != names else ""
    answer_kept(f"{report.terminal}\n{', '.join(own)}{drawn} are in\n{where}", where)
    return leave_end(1 if report.analysis.troubled else 0)


def _report_block(store: Store, say: Say) -> None:
    """After a block: the report of what there is by then, and, as long as more can come, in a few lines what
    holds of it already by the sequential rule."""
    analysis = write_reports(store, pictures=False)[0].analysis
    drawn = load_plan(store.folder)
    most = drawn.most_blocks or drawn.blocks
    over = drawn.blocks if drawn.profile not in SEQUENTIAL else most
    if drawn.profile in WITH_VERDICTS and FEWEST <= len(drawn.prediction.corrected_s) < over:
        # A sequential profile's report is by that rule already.
        if drawn.profile not in SEQUENTIAL or isinstance(analysis, Answer):
            analysis = look_early(store.folder)
        with keep_arms(analysis.arms):
            lines = render_lines(compose_look(analysis, most), LOOK_LINES).splitlines()
        for line in filter(None, lines):
            say(line)


def _look(
    store: Store, drawn: Campaign, block: int, most: int
) -> tuple[int, int, Mapping[str, int]]:
    if drawn.profile in SEQUENTIAL:
        held, asked = count_held(look_early(store.folder))
        wanted = max(FEWEST, block if held == asked else block + 1)
        return held, asked, {cell.id: wanted for cell in drawn.cells}
    fewest = PROFILES[drawn.profile].blocks
    precision = look(store.folder, block, fewest=fewest, most=most)
    return len(precision.precise), len(precision.wanted), precision.wanted


def shown(folder: Path) -> str:
    """A folder as the person would type it."""
    with contextlib.suppress(ValueError):
        return str(folder.resolve().relative_to(Path.cwd()))
    return str(folder)
