"""The commands bench and aa: from their options to a campaign, its report and an exit status."""

from __future__ import annotations

import contextlib
import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click

from suite.cli.engines import open_engine
from suite.cli.terminal import Terminal
from suite.content import SUITE
from suite.errors import CrossoverError, UsageError
from suite.host import campaign as campaigns
from suite.host import plan
from suite.host.arms import Arms, against_itself, resolve_arms
from suite.host.ask import Ask, draw_up, resume_plan
from suite.host.engine import Engine
from suite.host.store import Store, only_campaign
from suite.host.telemetry import Mode, make_observer
from suite.model import AGAIN, Campaign, Document, Image, ProfileName
from suite.report.collate import Collated, collate, draw, look
from suite.report.gauges import join_document
from suite.report.load import load_campaign
from suite.report.pictures import POSSIBLE_FILES
from suite.report.validity import asks_for_repeat
from suite.worker import scenarios

ROOT = SUITE.parent


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a campaign may use up: CPUs (None: all), and seconds (None: no end); and what is watched
    meanwhile."""

    cpus: tuple[int, ...] | None
    budget_s: float | None
    telemetry: Mode


def run_bench(given: dict[str, Any], *, again: bool) -> int:
    """Runs a campaign anew or goes on with one; ``again``: one arm against itself.

    Returns:
        the exit status.
    """
    bounds = _bounds(given)
    resume: Path | None = given["resume"]
    if resume is None:
        return _bench_anew(given, bounds, again=again)
    planned = ("profile", "arms", "only", "seed", "label", "results", "price", "price_currency")
    clash = [name.upper() for name in planned if given[name] is not None]
    if clash:
        raise UsageError(
            f"RESUME goes on with the plan of {resume}; {', '.join(clash)} would change it",
            "leave out what the plan already says; BLOCKS and BUDGET may be given",
        )
    return _bench_resumed(resume, given)


def _bounds(given: dict[str, Any]) -> Bounds:
    return Bounds(
        cpus=None if given["cpus"] is None else plan.parse_cpus(given["cpus"]),
        budget_s=None if given["budget"] is None else plan.parse_duration(given["budget"]),
        telemetry=given["telemetry"] or "on",
    )


def _bench_anew(given: dict[str, Any], bounds: Bounds, *, again: bool) -> int:
    results: Path = given["results"] or ROOT / "results"
    ask = Ask(
        profile=cast(ProfileName, given["profile"] or "standard"),
        arms=tuple((given["arms"] or ("cpu" if again else "auto")).replace(",", " ").split()),
        only=tuple((given["only"] or "").split()),
        blocks=given["blocks"],
        gpu=single_gpu(given["gpu"] or "0"),
        seed=given["seed"],
        label=given["label"],
        price=given["price"],
        price_currency=given["price_currency"],
        command=_repeat("aa" if again else "bench", given),
        settings=_settings(given),
    )
    with only_campaign(results), Terminal() as terminal:
        engine = open_engine(given, terminal)
        arms = resolve_arms(engine, ask.arms, ask.gpu)
        arms = against_itself(arms) if again else arms
        drawn = draw_up(ask, arms, scenarios.cells())
        for arm, why in drawn.not_run.items():
            terminal.say(f"the arm {arm} is left out: {why}")
        images = _provide(engine, arms, terminal)
        store = Store.create(results, drawn.id)
        _conduct(engine, store, drawn, arms, images, bounds=bounds, terminal=terminal)
    return conclude(store)


def _bench_resumed(folder: Path, given: dict[str, Any]) -> int:
    loaded = load_campaign(folder)
    given = _settled(given, loaded.campaign.settings)
    drawn = resume_plan(loaded.campaign, blocks=given["blocks"])
    store = Store(folder)
    with only_campaign(folder.resolve().parent), Terminal() as terminal:
        engine = open_engine(given, terminal)
        names = [arm for arm in drawn.arms if not arm.endswith(AGAIN)]
        arms = resolve_arms(engine, names, single_gpu(given["gpu"] or "0"))
        arms = arms if names == drawn.arms else against_itself(arms)
        images = _provide(engine, arms, terminal)
        kept = [*loaded.documents, *loaded.controls]
        _conduct(
            engine, store, drawn, arms, images, bounds=_bounds(given), terminal=terminal, kept=kept
        )
    return conclude(store)


def _provide(engine: Engine, arms: Arms, terminal: Terminal) -> dict[str, Image]:
    return {arm.image: engine.provide(arm.image, terminal.say) for arm in arms.run}


def _conduct(
    engine: Engine,
    store: Store,
    drawn: Campaign,
    arms: Arms,
    images: dict[str, Image],
    *,
    bounds: Bounds,
    terminal: Terminal,
    kept: Sequence[Document] = (),
) -> None:
    """Runs the campaign; however it ends, what was measured by then gets its report."""
    conductor = campaigns.Conductor(
        engine,
        store,
        drawn,
        arms,
        images,
        cpus=bounds.cpus,
        budget_s=bounds.budget_s,
        listener=terminal,
        # Pictures take seconds, which the campaign would pay for after every block.
        collate=lambda: _write_reports(store, pictures=False),
        look=lambda: _look(store),
        disturbed=lambda document: asks_for_repeat(join_document(document)),
        observe=make_observer(engine, bounds.telemetry),
    )
    try:
        conductor.run(kept)
    except (KeyboardInterrupt, CrossoverError):
        with contextlib.suppress(CrossoverError):
            # The first trouble is the one to tell about; a report that can't be made of half a
            # campaign is not.
            _write_reports(store)
            terminal.say(f"what was measured is in {shown(store.folder)}")
        raise


def conclude(store: Store) -> int:
    """Writes the report and tells of it: its summary, its files and, in the last line, where."""
    collated, names = _write_reports(store)
    click.echo(collated.terminal)
    click.echo(f"{', '.join(names)} are in")
    click.echo(shown(store.folder))
    return 1 if collated.troubled else 0


def _look(store: Store) -> tuple[int, int, bool]:
    seen = look(store.folder)
    return seen.precise, seen.cells, seen.enough


def _write_reports(store: Store, *, pictures: bool = True) -> tuple[Collated, list[str]]:
    """Writes every file of the report, the quick ones first; and their names."""
    collated = collate(store.folder, pictures=pictures)
    store.write_reports(collated.files)
    drawn = draw(collated)
    store.write_reports(drawn)
    names = [*collated.files, *drawn]
    store.drop_reports(name for name in POSSIBLE_FILES if name not in names)
    return collated, names


def shown(folder: Path) -> str:
    """A folder as the person would type it."""
    with contextlib.suppress(ValueError):
        return str(folder.resolve().relative_to(Path.cwd()))
    return str(folder)


def single_gpu(text: str) -> str:
    """The one GPU that a text names.

    Raises:
        UsageError: it names none, or several.
    """
    if text == "all":
        raise UsageError("GPU=all is not there yet", "name one GPU by its index or UUID")
    if not text or any(c.isspace() or c == "," for c in text):
        raise UsageError(f"GPU={text!r} does not name one GPU", "name one by its index or UUID")
    return text


SETTINGS = ("engine", "cpus", "gpu", "base_image", "telemetry")
"""Options that must not change while a campaign goes on, beside what its plan says."""


def _settings(given: dict[str, Any]) -> dict[str, str]:
    """Those that were given; a GPU's UUID, which names one machine in the world, as a hash."""
    found = {name: str(given[name]) for name in SETTINGS if given[name] not in {None, "auto"}}
    if "gpu" in found:
        found["gpu"] = _hide_uuid(found["gpu"])
    return found


def _hide_uuid(gpu: str) -> str:
    return gpu if gpu.isdigit() else "sha256:" + hashlib.sha256(gpu.encode()).hexdigest()[:16]


def _settled(given: dict[str, Any], settings: dict[str, str]) -> dict[str, Any]:
    """The options with which a campaign goes on: as it began.

    Raises:
        UsageError: one differs from what the campaign began with, or has to be given again.
    """
    now = _settings(given)
    differing = sorted(name for name in now if now[name] != settings.get(name, "auto"))
    if differing:
        words = ", ".join(f"{n.upper()}={settings.get(n, 'not given')}" for n in differing)
        raise UsageError(
            f"the campaign began with {words}", "leave it out, or begin a new campaign"
        )
    hidden = settings.get("gpu", "").startswith("sha256:") and "gpu" not in now
    if hidden:
        raise UsageError(
            "the campaign began with a GPU named by its UUID, which is not kept",
            "name it with GPU=",
        )
    return {**given, **{name: value for name, value in settings.items() if name not in now}}


def _repeat(command: str, given: dict[str, Any]) -> str:
    """The command that repeats this campaign, as make takes it; folders of this machine left out."""
    words = [f"make {command}"]
    for name, value in given.items():
        if (
            value is None
            or name in {"results", "resume", "local_python", "seed"}
            or value == "auto"
        ):
            continue
        text = _hide_uuid(str(value)) if name == "gpu" else str(value)
        words.append(f"{name.upper()}={shlex.quote(text)}")
    return " ".join(words)
