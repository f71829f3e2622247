"""The commands, and the one place that catches what goes wrong."""

from __future__ import annotations

import fnmatch
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from tabulate import tabulate

from suite import __version__, codec
from suite.analysis.several.recheck import DRAWN
from suite.cells.cell import Cell
from suite.cells.traits import ProfileName
from suite.cli.commands.accept import accept
from suite.cli.commands.bench import run_bench
from suite.cli.commands.export import export, paper
from suite.cli.commands.fleet import fleet
from suite.cli.commands.generate import generate
from suite.cli.commands.lock import lock
from suite.cli.commands.receipts import bundle, check, defend
from suite.cli.commands.recheck import run_recheck
from suite.cli.commands.several import compare
from suite.cli.commands.why import run_why
from suite.cli.engines import (
    check_custom,
    connect,
    docker_endpoint,
    name_engine,
    open_docker,
    open_engine,
)
from suite.cli.expected import expect
from suite.cli.fleet.end import leave_end
from suite.cli.options import (
    EXITS,
    FOLDER,
    PROFILE_NAMES,
    campaign_options,
    engine_options,
    shared_options,
    why_options,
)
from suite.cli.run_campaign import ROOT, conclude, provide
from suite.cli.runs import run_argument
from suite.cli.terminal import Terminal, complain, hush, open_closed_streams, tell
from suite.errors import CrossoverError, EngineError, Interrupted, UsageError
from suite.host.campaign.arms import AUTO, auto_arms, name_arms
from suite.host.campaign.options import Options
from suite.host.campaign.plan import is_in
from suite.host.campaign.store import Store
from suite.host.doctor.examine import examine
from suite.host.doctor.page import draw_screen, write_lines
from suite.host.doctor.probe import Machine, Question
from suite.host.gpu.choice import ALL_GPUS
from suite.host.machine.deadlines import EXAMINED_S
from suite.host.provision.image_table import find_spec
from suite.worker import scenarios


@click.group(
    epilog=EXITS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="crossover")
def commands() -> None:
    """Where TensorFlow's GPU starts to beat its CPU, by how much, and why not before."""


@commands.command(epilog=EXITS)
@campaign_options
@click.option(
    "--recheck",
    metavar="FOLDER",
    help=f"measure {DRAWN} cells of this campaign (or bundle) again: do they reproduce?",
)
@engine_options
def bench(recheck: str | None, **given: Any) -> int:
    """Build or reuse the images, run the suite, write a campaign folder and its report."""
    options = Options.parse(given)
    return run_bench(options) if recheck is None else run_recheck(recheck, options)


@commands.command(epilog=EXITS)
@why_options
@shared_options
@engine_options
def why(**given: Any) -> int:
    """Run your own training script again and again, each time with one thing changed: why is it slow?"""
    return run_why(Options.parse(given))


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
        if (profile is None or is_in(cell, profile, globs))
        and any(fnmatch.fnmatchcase(cell.id, glob) for glob in globs or ["*"])
    ]
    if not chosen:
        raise UsageError(f"no cell matches {only!r}", "`make list` shows all of them")
    if as_json:
        rows = [
            {"id": c.id, "profiles": c.profiles, "work": vars(c.work), "question": c.question}
            for c in chosen
        ]
        click.echo(codec.dump_document(rows), nl=False)
    else:
        click.echo(tabulate([_row(c) for c in chosen], headers=_HEADERS, tablefmt="plain"))
    return 0


_HEADERS = ("cell", "first in", "work per call", "question")


def _row(cell: Cell) -> tuple[str, ...]:
    where = ", beside a GPU only" if cell.needs_gpu else ", without a GPU only"
    first = cell.profiles[0] + (where if cell.arms else "")
    first += f", or ONLY='{cell.name}*'" if cell.on_request else ""
    first += ", or SUSTAIN=120s" if cell.role == "sustained" else ""
    return cell.id, first, f"{cell.work.amount:g} {cell.work.unit}", cell.question


@commands.command()
@run_argument()
def report(run: Path) -> int:
    """Rebuild every report file of the campaign folder RUN from its documents alone."""
    return conclude(Store(run))


@commands.command()
@click.option("--arms", metavar="ARMS", default="cpu cuda", show_default=True)
@engine_options
def images(**given: Any) -> int:
    """Build or reuse the images (of both arms, or of those named), and say what they are."""
    options = Options.parse(given)
    check_custom(options, options.arms)
    arms = auto_arms(gpu=True) if options.arms == (AUTO,) else name_arms(options.arms)
    with Terminal() as terminal:
        made = provide(open_engine(options, terminal.say), arms, terminal.say)
    width = max(map(len, made))
    for name, image in made.items():
        size = "" if image.size_bytes is None else f"  {image.size_bytes / 1e9:.2f} GB"
        click.echo(f"{name:{width}}  {image.id}{size}")
    return 0


@commands.command(epilog=EXITS)
@click.option("--json", "as_json", is_flag=True, help="as JSON; docs/doctor-schema.json")
@click.option("--results", metavar="FOLDER", type=FOLDER)
@click.option(
    "--gpu",
    metavar="GPU",
    help="an index, a UUID, a MIG instance (0:1), or all: the first is looked at  [default: as bench]",
)
@click.option("--arms", metavar="ARMS", default="auto", show_default=True)
@click.option(
    "--type",
    metavar="TYPE",
    help="what your cloud calls this type of machine  [default: as it says]",
)
@engine_options
def doctor(*, as_json: bool, **given: Any) -> int:
    """What can and can't run here, and why, with the remedy for each "no".  Changes nothing.

    The exit status is 0 if bench would run, else the status it would exit with.
    """
    options = Options.parse(given)
    names = options.arms
    check_custom(options, names)
    # Every GPU: as bench, not without one.
    if options.gpu == ALL_GPUS and AUTO in names:
        names = tuple(arm.name for arm in auto_arms(gpu=True))
    if options.engine != AUTO:
        name_engine(options)
    diagnosis = examine(
        Machine(open_engine=lambda: connect(options, patience_s=EXAMINED_S)),
        Question(
            results=options.results or ROOT / "results",
            cells=scenarios.cells(),
            engine="local" if options.local_python and options.engine == AUTO else options.engine,
            arms=names,
            gpu=options.gpu,
            cuda_image=options.cuda_image,
            environment=os.environ,
            type=options.type,
            expect=expect,
        ),
    )
    console = Console(highlight=False)
    if as_json:
        click.echo(codec.dump_document(diagnosis), nl=False)
    elif console.is_terminal:
        console.print(draw_screen(diagnosis, console.encoding))
        console.print(diagnosis.verdict, markup=False, style="bold")
    else:
        click.echo("\n".join(write_lines(diagnosis, console.encoding)))
    stops = next((check for check in diagnosis.checks if check.stops), None)
    return leave_end(diagnosis.status, f"{stops.id}: {stops.text}", stops.remedy) if stops else 0


@commands.command()
@click.option("--arms", metavar="ARMS", default="cpu", show_default=True)
def base(**given: Any) -> int:
    """Make the stand-in base images that these arms need, from Debian packages, where no image registry can
    be reached."""
    wanted = Options.parse(given).arms
    arms = auto_arms(gpu=True) if wanted == (AUTO,) else name_arms(wanted)
    pythons = dict.fromkeys(find_spec(arm.image).python for arm in arms)
    with Terminal() as terminal:
        for python in pythons:
            click.echo(open_docker().make_base(python, terminal.say))
    return 0


@commands.command()
def clean() -> int:
    """Remove the containers, images and volumes that this project made, by their label."""
    if docker_endpoint() is None:
        click.echo("no docker engine here: nothing to remove", err=True)
        return 0
    try:
        removed = open_docker().remove_everything()
    except EngineError as error:
        click.echo(f"engine objects are left in place: {error.what}", err=True)
        return 0
    click.echo(", ".join(f"{count} {kind}" for kind, count in removed.items()) + " removed")
    return 0


for _other in (export, paper, fleet, check, bundle, defend, compare, accept, generate, lock):
    commands.add_command(_other)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; tells people what went wrong and what to do next.

    Returns:
        its exit status; see ``--help``.
    """
    open_closed_streams()
    # As Ctrl-C: containers are stopped and what was measured is kept.
    heeded = [n for n in _INTERRUPTS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, _interrupt) for number in heeded}
    try:
        status = commands.main(argv, prog_name="python -m suite", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        tell(error.show)
        return leave_end(UsageError.exit_status, error.format_message())
    except CrossoverError as error:
        return _fail(error)
    except (KeyboardInterrupt, click.Abort):
        complain("interrupted")
        return leave_end(
            Interrupted.exit_status, "interrupted", "run it again: it goes on where it was"
        )
    except (BrokenPipeError, SystemExit):
        # Whoever read standard output has gone, as `make list | head` does; nothing is wrong.  click makes
        # the second of the first, and of nothing else here.
        return 0
    except OSError as error:
        # A full disk, mostly: under standard output, or where no folder of documents is.
        what = f"can't go on: {error.strerror} ({error.filename or 'standard output'})"
        return _fail(CrossoverError(what, "make room there, or write somewhere else"))
    finally:
        hush()
        for number, handler in before.items():
            signal.signal(number, handler)
    return int(status or 0)


def _fail(error: CrossoverError) -> int:
    complain(error.what, error.remedy)
    return leave_end(error.exit_status, error.what, error.remedy)


_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _interrupt(number: int, _frame: object) -> None:
    # Once is enough: a second one, as nox sends it, must not break into the cleaning up.  One that has come
    # already, as after a pause, Python would complain of with a traceback if it were ignored by SIG_IGN.
    for other in _INTERRUPTS:
        signal.signal(other, _pass_over)
    raise KeyboardInterrupt(signal.Signals(number).name)


def _pass_over(_number: int, _frame: object) -> None:
    pass
