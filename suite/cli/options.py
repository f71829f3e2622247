"""The options that several commands share, and what every help text ends with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from suite.host.campaign import plan
from suite.host.telemetry.observer import MODES
from suite.input_limits import RANGES

PROFILE_NAMES = tuple(plan.PROFILES)

FOLDER = click.Path(path_type=Path, resolve_path=True)
"""A folder as a person names it: links on the way to it are theirs, and those in it nobody follows."""


def _whole(kind: str) -> click.IntRange:
    return click.IntRange(int(RANGES[kind].least), int(RANGES[kind].most))


EXITS = """\b
Exit status: 0 every cell measured, or skipped for cause; 1 some cell failed, is invalid
(the report is still written) or, with RECHECK, does not reproduce; 2 usage; 3 no engine, or it refused;
4 a GPU was requested and is not available; 5 a document can't be read; 6 another
campaign is running here; 7 the machine is unsound (STOP_IF);
130 interrupted (what was measured is kept)."""


Command = Callable[..., Any]
Specs = dict[str, dict[str, Any]]
"""Options by the names that commands get them by, and what click is told of each."""

ENGINE: Specs = {
    "engine": {
        "type": click.Choice(["auto", "docker", "local", "inside"]),
        "metavar": "[auto|docker|local]",
        "default": "auto",
        "show_default": True,
        "help": "auto: docker; if there is none, or with --local-python, local (no containers)",
    },
    "base_image": {"metavar": "REF", "help": "build the images on this one"},
    "cuda_image": {
        "metavar": "REF",
        "help": "add the suite to this image and its own TensorFlow for the arms cuda, cuda-hidden",
    },
    "local_python": {
        "metavar": "PATH",
        "help": "no containers: an interpreter that has TensorFlow",
    },
}
"""The options that choose an engine and what it runs."""

CAMPAIGN: Specs = {
    "profile": {
        "type": click.Choice(PROFILE_NAMES),
        "help": "scope and duration  [default: standard]",
    },
    "blocks": {"type": _whole("blocks"), "help": "how many turns each arm gets"},
    "wait": {
        "metavar": "TIME",
        "help": "how long to wait for another campaign to end: 30m  [default: not at all]",
    },
    "stop_if": {
        "type": click.Choice(["unsound"]),
        "help": "stop after the calibration if the machine proves unsound",
    },
    "budget": {"metavar": "TIME", "help": "begin no block that would cross it: 20m, 1h30m"},
    "arms": {
        "metavar": "ARMS",
        "help": 'auto, or some of "cpu cuda cuda-hidden"; "cpu cpu" measures an arm against itself  '
        "[default: auto]",
    },
    "only": {
        "metavar": "GLOBS",
        "help": "only cells whose ids match, such as 'matmul.* mlp.*batch=32*'",
    },
    "cpus": {"metavar": "LIST", "help": "the CPUs that the worker may use: 0-3  [default: all]"},
    "gpu": {
        "metavar": "GPU",
        "help": "an index, a UUID, a MIG instance (0:1), or all: an arm on each  [default: 0, "
        "or without docker the first of CUDA_VISIBLE_DEVICES]",
    },
    "telemetry": {
        "type": click.Choice(MODES),
        "metavar": "[on|off]",
        "help": "monitor the machine  [default: on]",
    },
    "seed": {"type": _whole("seed"), "help": "decides the order  [default: random]"},
    "label": {
        "metavar": "TEXT",
        "help": "part of the folder's name  [default: a hash of the host]",
    },
    "price": {
        "metavar": "PRICE",
        "help": "what the machine costs an hour, such as '0.53 EUR' (USD unless said): the report then says "
        "what training costs",
    },
    "results": {"metavar": "FOLDER", "type": FOLDER, "help": "[default: results]"},
    "resume": {
        "metavar": "FOLDER",
        "type": FOLDER,
        "help": "resume a campaign: complete invocations are kept, the rest is run",
    },
}
"""The options of a campaign."""


def add_options(specs: Specs) -> Callable[[Command], Command]:
    """What adds these options to a command, in this order."""

    def add(command: Command) -> Command:
        for name, about in reversed(specs.items()):
            command = click.option(f"--{name.replace('_', '-')}", **about)(command)
        return command

    return add


def add_out(where: str) -> Callable[[Command], Command]:
    """What adds OUT to a command: ``where`` says what is written there."""
    return add_options({"out": {"metavar": "FOLDER", "type": FOLDER, "help": where}})


engine_options = add_options(ENGINE)
campaign_options = add_options(CAMPAIGN)
