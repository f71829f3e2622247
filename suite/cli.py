"""The commands: the only file that prints and exits.

Results go to standard output, progress and errors to standard error.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from tabulate import tabulate

from suite import __version__, wire
from suite.content import SUITE
from suite.errors import CrossoverError, EngineError, UsageError
from suite.host import campaign as campaigns
from suite.host import plan, stand_in
from suite.host.docker_engine import DockerEngine, docker_endpoint
from suite.host.doctor import diagnosis_schema, examine
from suite.host.doctor_machine import ENGINE_S, Examined, Machine, Question
from suite.host.doctor_page import draw_screen, write_lines
from suite.host.engine import ARMS, Engine
from suite.host.images import STAND_IN
from suite.host.local_engine import LocalEngine
from suite.host.store import Store, only_campaign, write_atomically
from suite.host.telemetry import MODES, Mode, make_observer
from suite.model import AGAIN, Campaign, Cell, Document, Image, ProfileName
from suite.report.collate import Collated, collate, collate_side_by_side, draw, look
from suite.report.gallery import depict
from suite.report.gauges import join_document
from suite.report.load import load_campaign, schema
from suite.report.markup import escape
from suite.report.pictures import FOLDER, POSSIBLE_FILES
from suite.report.validity import asks_for_repeat
from suite.worker import scenarios

ROOT = SUITE.parent
PROFILE_NAMES = tuple(plan.PROFILES)
INTERRUPTED = 130

EXITS = """\b
Exit status: 0 every cell measured, or skipped for cause; 1 some cell failed or is
invalid (the report is written all the same); 2 usage; 3 no engine, or it refused;
4 a GPU was asked for and is not to be had; 5 a document can't be read; 6 another
campaign is running here; 130 interrupted (what was measured is kept)."""


class _QuietConsole(Console):
    """Goes on without a reader: who closes our standard error does not end a campaign."""

    def on_broken_pipe(self) -> None:
        """Says nothing from now on."""
        self.quiet = True


class Terminal:
    """Shows a campaign's progress on standard error: a bar on a terminal, plain lines elsewhere.

    Never more often than once a second, and only between cells: it must not disturb a measurement.
    """

    def __init__(self) -> None:
        self.console = _QuietConsole(stderr=True, highlight=False)
        self.plain_every_s = 15.0
        self.shown = 0.0
        self.bar: Progress | None = None
        self.task: Any = None
        if self.console.is_terminal:
            # No refreshing thread: it would wake up in the middle of a sample.
            self.bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TaskProgressColumn(),
                TextColumn("{task.fields[rest]}"),
                console=self.console,
                auto_refresh=False,
                transient=True,
            )
            self.task = self.bar.add_task("", total=None, rest="")

    def __enter__(self) -> Terminal:  # noqa: PYI034  Self is newer than Python 3.10
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def say(self, line: str) -> None:
        """One line worth keeping."""
        self.console.print(line, markup=False, soft_wrap=True)

    def show(self, position: campaigns.Position) -> None:
        """Where the campaign stands."""
        now = time.monotonic()
        if now - self.shown < (1.0 if self.bar is not None else self.plain_every_s):
            return
        self.shown = now
        turn = "calibration" if position.block == 0 else f"block {position.block}/{position.blocks}"
        left = "" if position.left_s is None else f"{_clock(position.left_s)} left"
        cell = position.in_flight or ""
        if self.bar is None:
            parts = [
                f"{position.arm} {turn}",
                f"{position.done}/{position.cells} cells",
                left,
                cell,
            ]
            self.say("  " + " · ".join(part for part in parts if part))
            return
        self.bar.update(
            self.task,
            description=f"{position.arm} {turn}",
            completed=position.done,
            total=position.cells,
            rest=" · ".join(part for part in (left, cell) if part),
        )
        self.bar.refresh()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


@click.group(
    epilog=EXITS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="crossover")
def commands() -> None:
    """Where TensorFlow's GPU starts to win over its CPU, by how much, and why not before."""


def _engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose an engine and what it runs."""
    for option in (
        click.option(
            "--local-python",
            metavar="PATH",
            help="local engine: an interpreter that has TensorFlow",
        ),
        click.option("--base-image", metavar="REF", help="build the images on this one"),
        click.option(
            "--engine",
            type=click.Choice(["auto", "docker", "local"]),
            default="auto",
            show_default=True,
            help="auto: docker; local, without containers, where there is none at all",
        ),
    ):
        command = option(command)
    return command


def _campaign_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a campaign."""
    for option in (
        click.option(
            "--resume",
            metavar="FOLDER",
            type=click.Path(path_type=Path),
            help="go on with a campaign: complete invocations are kept, the rest is run",
        ),
        click.option(
            "--results",
            metavar="FOLDER",
            type=click.Path(path_type=Path),
            help="[default: results]",
        ),
        click.option(
            "--price-currency",
            metavar="CODE",
            help="of the price: three letters, such as EUR  [default: USD]",
        ),
        click.option(
            "--price",
            type=click.FloatRange(min=0, min_open=True),
            help="what the machine costs an hour: the report then says what training costs",
        ),
        click.option(
            "--label",
            metavar="TEXT",
            help="part of the folder's name  [default: a hash of the host]",
        ),
        click.option(
            "--seed", type=click.IntRange(0, 2**31 - 1), help="decides the order  [default: random]"
        ),
        click.option(
            "--telemetry",
            type=click.Choice(MODES),
            help="watch the machine meanwhile; first: not the second arm of aa  [default: on]",
        ),
        click.option("--gpu", metavar="GPU", help="an index or UUID  [default: 0]"),
        click.option(
            "--cpus", metavar="LIST", help="the CPUs that the worker may use: 0-3  [default: all]"
        ),
        click.option(
            "--only",
            metavar="GLOBS",
            help="only cells whose ids match, such as 'matmul.* mlp.*batch=32*'",
        ),
        click.option(
            "--arms",
            metavar="ARMS",
            help='auto, or some of "cpu cuda cuda-hidden"  [default: auto]',
        ),
        click.option(
            "--budget", metavar="TIME", help="begin no block that would cross it: 20m, 1h30m"
        ),
        click.option(
            "--blocks", type=click.IntRange(1, 99), help="how often each arm has its turn"
        ),
        click.option(
            "--profile",
            type=click.Choice(PROFILE_NAMES),
            help="how much, how long  [default: standard]",
        ),
    ):
        command = option(command)
    return command


@commands.command(epilog=EXITS)
@_campaign_options
@_engine_options
def bench(**given: Any) -> int:
    """Build or reuse the images, run the suite, write a campaign folder and its report."""
    return _bench(given, again=False)


@commands.command(epilog=EXITS)
@_campaign_options
@_engine_options
def aa(**given: Any) -> int:
    """Run one arm (ARMS, cpu unless named) against itself: every difference is false.

    For those who doubt: what this finds is what the method gets wrong on this machine.
    """
    return _bench(given, again=True)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a campaign may use up: CPUs (None: all), and seconds (None: no end); and what is watched
    meanwhile."""

    cpus: tuple[int, ...] | None
    budget_s: float | None
    telemetry: Mode


def _bench(given: dict[str, Any], *, again: bool) -> int:
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
    ask = campaigns.Ask(
        profile=cast(ProfileName, given["profile"] or "standard"),
        arms=tuple((given["arms"] or ("cpu" if again else "auto")).replace(",", " ").split()),
        only=tuple((given["only"] or "").split()),
        blocks=given["blocks"],
        gpu=_single_gpu(given["gpu"] or "0"),
        seed=given["seed"],
        label=given["label"],
        price=given["price"],
        price_currency=given["price_currency"],
        command=_repeat("aa" if again else "bench", given),
        settings=_settings(given),
    )
    with only_campaign(results), Terminal() as terminal:
        engine = _open_engine(given, terminal)
        arms = campaigns.resolve_arms(engine, ask.arms, ask.gpu)
        arms = campaigns.against_itself(arms) if again else arms
        drawn = campaigns.draw_up(ask, arms, scenarios.cells())
        for arm, why in drawn.not_run.items():
            terminal.say(f"the arm {arm} is left out: {why}")
        images = _provide(engine, arms, terminal)
        store = Store.create(results, drawn.id)
        _conduct(engine, store, drawn, arms, images, bounds=bounds, terminal=terminal)
    return _conclude(store)


def _bench_resumed(folder: Path, given: dict[str, Any]) -> int:
    loaded = load_campaign(folder)
    given = _settled(given, loaded.campaign.settings)
    drawn = campaigns.resume(loaded.campaign, blocks=given["blocks"])
    store = Store(folder)
    with only_campaign(folder.resolve().parent), Terminal() as terminal:
        engine = _open_engine(given, terminal)
        names = [arm for arm in drawn.arms if not arm.endswith(AGAIN)]
        arms = campaigns.resolve_arms(engine, names, _single_gpu(given["gpu"] or "0"))
        arms = arms if names == drawn.arms else campaigns.against_itself(arms)
        images = _provide(engine, arms, terminal)
        kept = [*loaded.documents, *loaded.controls]
        _conduct(
            engine, store, drawn, arms, images, bounds=_bounds(given), terminal=terminal, kept=kept
        )
    return _conclude(store)


def _provide(engine: Engine, arms: campaigns.Arms, terminal: Terminal) -> dict[str, Image]:
    return {arm.image: engine.provide(arm.image, terminal.say) for arm in arms.run}


def _conduct(
    engine: Engine,
    store: Store,
    drawn: Campaign,
    arms: campaigns.Arms,
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
            terminal.say(f"what was measured is in {_shown(store.folder)}")
        raise


def _conclude(store: Store) -> int:
    """Writes the report and tells of it: its summary, its files and, in the last line, where."""
    collated, names = _write_reports(store)
    click.echo(collated.terminal)
    click.echo(f"{', '.join(names)} are in")
    click.echo(_shown(store.folder))
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


def _shown(folder: Path) -> str:
    """A folder as the person would type it."""
    with contextlib.suppress(ValueError):
        return str(folder.resolve().relative_to(Path.cwd()))
    return str(folder)


def _single_gpu(text: str) -> str:
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


def _open_engine(given: dict[str, Any], terminal: Terminal) -> Engine:
    """The engine that was asked for; ``auto`` takes no engine at all as a reason for ``local``.

    Raises:
        EngineError: it can't be had.
        UsageError: an option does not go with it.
    """
    if _name_engine(given) == "docker":
        return _swept(DockerEngine(base_image=given["base_image"]), terminal)
    terminal.say(
        "NOT CONTAINERIZED: "
        + _why_local(given)
        + "; the worker runs as a plain process of this machine, and every table says so"
    )
    return _swept(LocalEngine(python=given["local_python"]), terminal)


def _name_engine(given: dict[str, Any]) -> str:
    """``docker`` or ``local``, as asked, or as found.

    Raises:
        EngineError: docker's settings can't be read.
        UsageError: an option does not go with it.
    """
    name: str = given["engine"]
    if name == "auto":
        here = given["local_python"] is not None or docker_endpoint() is None
        name = "local" if here else "docker"
    if name == "docker" and given["local_python"] is not None:
        raise UsageError("LOCAL_PYTHON is for the local engine", "add ENGINE=local")
    if name == "local" and given["base_image"] is not None:
        raise UsageError(
            "BASE_IMAGE is for the docker engine, and this is the local one",
            "leave it out, or start a docker engine",
        )
    return name


def _swept(engine: Engine, terminal: Terminal) -> Engine:
    swept = engine.sweep_leftovers()
    if swept:
        terminal.say(f"removed {swept} leftovers of a campaign that was killed")
    return engine


def _why_local(given: dict[str, Any]) -> str:
    if given["engine"] == "local":
        return "ENGINE=local was asked for"
    if given["local_python"] is not None:
        return "LOCAL_PYTHON was given"
    return "no docker engine is here"


@commands.command("list")
@click.option("--profile", type=click.Choice(PROFILE_NAMES), help="only this profile's cells")
@click.option("--only", metavar="GLOBS", help="only cells whose ids match")
@click.option("--json", "as_json", is_flag=True, help="as JSON")
def list_(profile: ProfileName | None, only: str | None, as_json: bool) -> int:
    """Every cell: id, profiles, work, the question it answers."""
    globs = (only or "").split()
    chosen = [
        cell
        for cell in scenarios.cells()
        if (profile is None or profile in cell.profiles)
        and (not globs or any(fnmatch.fnmatchcase(cell.id, glob) for glob in globs))
    ]
    if not chosen:
        raise UsageError(f"no cell matches {only!r}", "`make list` shows all of them")
    if as_json:
        rows = [
            {"id": c.id, "profiles": c.profiles, "work": vars(c.work), "question": c.question}
            for c in chosen
        ]
        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        click.echo(tabulate([_row(c) for c in chosen], headers=_HEADERS, tablefmt="plain"))
    return 0


_HEADERS = ("cell", "first in", "work of a call", "question")


def _row(cell: Cell) -> tuple[str, ...]:
    first = cell.profiles[0] + (f", {' '.join(cell.arms)} only" if cell.arms else "")
    return cell.id, first, f"{cell.work.amount:g} {cell.work.unit}", cell.question


@commands.command()
@click.argument("run", type=click.Path(path_type=Path))
def report(run: Path) -> int:
    """Rebuild every report file of the campaign folder RUN from its documents alone."""
    return _conclude(Store(run))


@commands.command()
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--pairs",
    metavar="PAIRS",
    help="which to compare, such as '2:cuda/1:cpu'  [default: each arm with the first campaign's]",
)
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="write compare.md, .html and .json there  [default: print the Markdown]",
)
def compare(runs: Sequence[Path], pairs: str | None, out: Path | None) -> int:
    """One report over the campaign folders RUNS: the first named is what the others are held to."""
    files = collate_side_by_side(runs, (pairs or "").split())
    if out is None:
        click.echo(files["compare.md"], nl=False)
        return 0
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"can't make {out}: {error.strerror}", "name another OUT=") from error
    for name, text in files.items():
        write_atomically(out / name, text)
        click.echo(_shown(out / name))
    return 0


@commands.command()
@click.option("--arms", metavar="ARMS", default="cpu cuda", show_default=True)
@_engine_options
def images(arms: str, **given: Any) -> int:
    """Build or reuse the images (of both arms, or of those named), and say what they are."""
    with Terminal() as terminal:
        known = ARMS
        names = arms.replace(",", " ").split()
        if not names or any(name not in known for name in names):
            raise UsageError(
                f"ARMS={arms!r}: some of {', '.join(known)}", 'such as ARMS="cpu cuda"'
            )
        engine = _open_engine(given, terminal)
        for image in dict.fromkeys(known[name].image for name in names):
            built = engine.provide(image, terminal.say)
            size = "" if built.size_bytes is None else f"  {built.size_bytes / 1e9:.2f} GB"
            click.echo(f"{image:5} {built.id}{size}")
    return 0


@commands.command(epilog=EXITS)
@click.option("--json", "as_json", is_flag=True, help="as JSON; docs/doctor-schema.json")
@click.option("--results", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--gpu", metavar="GPU", default="0", show_default=True, help="an index or UUID")
@click.option("--arms", metavar="ARMS", default="auto", show_default=True)
@_engine_options
def doctor(arms: str, gpu: str, results: Path | None, *, as_json: bool, **given: Any) -> int:
    """What this machine can run and why not, with the remedy for each "no".  Changes nothing.

    The exit status is 0 where bench would run, else the one that it would end with.
    """
    names = tuple(arms.replace(",", " ").split())
    if names != ("auto",) and (not names or not set(names) <= set(ARMS)):
        raise UsageError(f"ARMS={arms!r}: auto, or some of {', '.join(ARMS)}", "leave it out")
    if given["engine"] != "auto":
        _name_engine(given)
    found = examine(
        Machine(open_engine=lambda: _engine_to_examine(given)),
        Question(
            results=results or ROOT / "results",
            cells=scenarios.cells(),
            engine="local" if given["local_python"] else given["engine"],
            arms=names,
            gpu=_single_gpu(gpu),
        ),
    )
    console = Console(highlight=False)
    if as_json:
        click.echo(json.dumps(wire.plain(found), indent=1, ensure_ascii=False))
    elif console.is_terminal:
        console.print(draw_screen(found, console.encoding))
        console.print(found.verdict, markup=False, style="bold")
    else:
        click.echo("\n".join(write_lines(found, console.encoding)))
    return found.status


def _engine_to_examine(given: dict[str, Any]) -> Examined:
    """As `_open_engine`, but leftovers are left where they are, and nobody waits long."""
    if _name_engine(given) == "docker":
        return DockerEngine(base_image=given["base_image"], patience_s=ENGINE_S)
    return LocalEngine(python=given["local_python"])


@commands.command()
@click.option("--name", default=STAND_IN, show_default=True, help="the image's name")
def base(name: str) -> int:
    """Make a stand-in base image from Debian packages, where no image registry can be reached."""
    with Terminal() as terminal:
        click.echo(stand_in.make_base(DockerEngine(), terminal.say, name))
    return 0


@commands.command()
def clean() -> int:
    """Remove the containers, images and volumes that this project made, by their label."""
    if docker_endpoint() is None:
        click.echo("no docker engine here: nothing to remove", err=True)
        return 0
    try:
        removed = DockerEngine().remove_everything()
    except EngineError as error:
        click.echo(f"the engine's side is left as it is: {error.what}", err=True)
        return 0
    click.echo(", ".join(f"{count} {kind}" for kind, count in removed.items()) + " removed")
    return 0


@commands.command()
@click.option("--check", is_flag=True, help="change nothing; fail where a file is stale")
def generate(check: bool) -> int:
    """Write what is made from the code: docs/cells.md, docs/schema.json, the README's sample."""
    stale = []
    for name, text in generated().items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
        if not check:
            write_atomically(path, text)
            click.echo(name)
    if check and stale:
        raise UsageError(f"stale: {', '.join(stale)}", "`make generate` writes them anew")
    return 0


SAMPLE_MARKS = ("<!-- sample:begin", "<!-- sample:end -->")


def generated() -> dict[str, str]:
    """The files that are made from the code and from the committed sample, by their path."""
    rows = [
        (f"`{c.id}`", ", ".join(c.profiles), f"{c.work.amount:g} {c.work.unit}", c.question)
        for c in scenarios.cells()
    ]
    headers = ("cell", "profiles", "work of a call", "question")
    head = (
        "# The cells\n\nMade by `make generate` from the scenarios; a test holds it to them.\n"
        "Cells with `on=cpu` have a meaning, and run, only beside a visible GPU.\n\n"
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return {
        "docs/cells.md": head + tabulate(rows, headers=headers, tablefmt="github") + "\n",
        "docs/schema.json": json.dumps(schema(), indent=1, ensure_ascii=False) + "\n",
        "docs/doctor-schema.json": json.dumps(diagnosis_schema(), indent=1, ensure_ascii=False)
        + "\n",
        "README.md": _with_sample(readme, ROOT / "results" / "samples"),
    }


def _with_sample(readme: str, samples: Path) -> str:
    """The README with a picture and tables of the newest sample campaign between its marks."""
    begin, end = SAMPLE_MARKS
    before, rest = readme.split(begin, 1)
    mark, rest = rest.split("\n", 1)
    after = rest.split(end, 1)[1]
    folders = sorted(path.parent for path in samples.glob("*/campaign.json"))
    excerpt = ""
    if folders:
        newest = folders[-1]
        collated = collate(newest)
        text = collated.files["report.md"]
        sections = [part for part in text.split("\n### ") if part.startswith(SAMPLE_SECTIONS)]
        excerpt = "".join(
            f"#### {section.split(chr(10) + '## ')[0].strip()}\n\n" for section in sections
        )
        marks = tuple(f"- {mark} " for mark in set(re.findall(r"\[\d+\]", excerpt)))
        notes = [line for line in text.splitlines() if line.startswith(marks)] if marks else []
        excerpt += "\n".join(notes) + "\n\n" if notes else ""
        folder = newest.relative_to(ROOT)
        shown = "".join(
            f"![{escape(one.alt, limit=2000)}]({folder}/{FOLDER}/{one.name}.svg)\n\n"
            for one in depict(collated.summary)
            if one.name == SAMPLE_PICTURE
        )
        head = (
            f"[The whole report]({folder}/report.md). One of its pictures, and two of its tables:"
        )
        excerpt = f"{head}\n\n{shown}{excerpt}"
    return f"{before}{begin}{mark}\n{excerpt}{end}{after}"


SAMPLE_SECTIONS = ("matmul:", "asked:")
"""The tables of the sample that the README shows."""

SAMPLE_PICTURE = "matmul"
"""And its picture."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; tells people what went wrong and what to do next.

    Returns:
        its exit status; see ``--help``.
    """
    # As Ctrl-C: containers are stopped and what was measured is kept.
    before = {number: signal.signal(number, _interrupt) for number in _INTERRUPTS}
    try:
        words = None if argv is None else list(argv)
        status = commands.main(args=words, prog_name="python -m suite", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return UsageError.exit_status
    except CrossoverError as error:
        click.echo(f"crossover: {error.what}", err=True)
        if error.remedy:
            click.echo(f"  what to do: {error.remedy}", err=True)
        return error.exit_status
    except (KeyboardInterrupt, click.Abort):
        click.echo("crossover: interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read standard output has gone, as `make list | head` does; nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return int(status or 0)


_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _interrupt(number: int, _frame: object) -> None:
    # Once is enough: a second one, as nox sends it, must not break into the cleaning up.
    for other in _INTERRUPTS:
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt(signal.Signals(number).name)
