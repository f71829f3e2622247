"""The options that several commands share, and what every help text ends with."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal

import click
import msgspec

from suite.host.campaign import plan
from suite.host.telemetry.observer import MODES
from suite.input_limits import RANGES

PROFILE_NAMES = tuple(plan.PROFILES)

FOLDER = click.Path(path_type=Path, resolve_path=True)
"""A folder as a person names it: links on the way to it are theirs, and those in it nobody follows."""

EXITS = """\b
Exit status: 0 every cell measured, or skipped for cause; 1 some cell failed, is invalid
(the report is still written) or, with RECHECK, does not reproduce;
1 a script fails by itself; 2 usage; 3 no engine, or it refused;
4 a GPU was requested and is not available; 5 a document can't be read; 6 another
campaign is running here; 7 the machine is unsound (STOP_IF); 8 a sheet is undecided;
130 interrupted (what was measured is kept)."""


def _whole(kind: str) -> click.IntRange:
    return click.IntRange(int(RANGES[kind].least), int(RANGES[kind].most))


_TYPES = {
    "engine": click.Choice(["auto", "docker", "local", "inside"]),
    "profile": click.Choice(PROFILE_NAMES),
    "blocks": _whole("blocks"),
    "stop_if": click.Choice(["unsound"]),
    "telemetry": click.Choice(MODES),
    "seed": _whole("seed"),
    "results": FOLDER,
    "resume": FOLDER,
    "include_script": click.Choice(["1"]),
}
"""What else than a text an option takes, by the name that commands get it by."""

Command = Callable[..., Any]


def add_options(
    group: Literal["engine", "campaign", "why"], names: Collection[str] = ()
) -> Callable[[Command], Command]:
    """What adds these options to a command: those that choose an engine and what it runs, those of a
    campaign, or those of a question about a script, in the order of options.toml; of these ``names``, if any.
    """
    table = msgspec.toml.decode(Path(__file__).with_name("options.toml").read_bytes())

    def add(command: Command) -> Command:
        for name, about in reversed(table[group].items()):
            if names and name not in names:
                continue
            option = click.option(f"--{name.replace('_', '-')}", type=_TYPES.get(name), **about)
            command = option(command)
        return command

    return add


def add_out(where: str) -> Callable[[Command], Command]:
    """What adds OUT to a command: ``where`` says what is written there."""
    return click.option("--out", metavar="FOLDER", type=FOLDER, help=where)


engine_options = add_options("engine")
campaign_options = add_options("campaign")
why_options = add_options("why")
shared_options = add_options(
    "campaign",
    ("wait", "arms", "cpus", "gpu", "telemetry", "seed", "label", "price", "results"),
)
