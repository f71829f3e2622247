"""The options that several commands share, and what every help text ends with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import click

from suite.host.campaign import plan
from suite.host.watch.observe import MODES
from suite.ranges import RANGES

PROFILE_NAMES = tuple(plan.PROFILES)

FOLDER = click.Path(path_type=Path, resolve_path=True)
"""A folder as a person names it: links on the way to it are theirs, and those in it nobody follows."""


def _whole(kind: str) -> click.IntRange:
    return click.IntRange(int(RANGES[kind].least), int(RANGES[kind].most))


EXITS = """\b
Exit status: 0 every cell measured, or skipped for cause; 1 some cell failed or is
invalid (the report is still written); 2 usage; 3 no engine, or it refused;
4 a GPU was requested and is not available; 5 a document can't be read; 6 another
campaign is running here; 7 the machine is unsound (STOP_IF);
130 interrupted (what was measured is kept)."""


Command = Callable[..., Any]


def _adding(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """What adds these options to a command, the last of them first."""

    def add(command: Command) -> Command:
        return reduce(lambda made, option: option(made), options, command)

    return add


engine_options = _adding(
    click.option(
        "--local-python",
        metavar="PATH",
        help="local engine: an interpreter that has TensorFlow",
    ),
    click.option(
        "--cuda-image",
        metavar="REF",
        help="add the suite to this image and its own TensorFlow for the arms cuda, cuda-hidden",
    ),
    click.option("--base-image", metavar="REF", help="build the images on this one"),
    click.option(
        "--engine",
        type=click.Choice(["auto", "docker", "local", "inside"]),
        default="auto",
        show_default=True,
        help="auto: docker, or local (no containers) if there is no docker; inside: in a "
        "container or job that somebody else has started",
    ),
)
"""The options that choose an engine and what it runs."""

_CAMPAIGN: Mapping[str, Callable[[Command], Command]] = {
    "resume": click.option(
        "--resume",
        metavar="FOLDER",
        type=FOLDER,
        help="resume a campaign: complete invocations are kept, the rest is run",
    ),
    "results": click.option(
        "--results",
        metavar="FOLDER",
        type=FOLDER,
        help="[default: results]",
    ),
    "price-currency": click.option(
        "--price-currency",
        metavar="CODE",
        help="three-letter code, such as EUR  [default: USD]",
    ),
    "price": click.option(
        "--price",
        type=click.FloatRange(min=0, min_open=True),
        help="what the machine costs an hour: the report then says what training costs",
    ),
    "label": click.option(
        "--label",
        metavar="TEXT",
        help="part of the folder's name  [default: a hash of the host]",
    ),
    "seed": click.option(
        "--seed", type=_whole("seed"), help="decides the order  [default: random]"
    ),
    "telemetry": click.option(
        "--telemetry",
        type=click.Choice(MODES),
        help="monitor the machine; first: only the first arm of aa  [default: on]",
    ),
    "gpu": click.option(
        "--gpu",
        metavar="GPU",
        help="an index, a UUID, a MIG instance (0:1), or all: each in turn, then at once  [default: 0]",
    ),
    "cpus": click.option(
        "--cpus", metavar="LIST", help="the CPUs that the worker may use: 0-3  [default: all]"
    ),
    "only": click.option(
        "--only",
        metavar="GLOBS",
        help="only cells whose ids match, such as 'matmul.* mlp.*batch=32*'",
    ),
    "arms": click.option(
        "--arms",
        metavar="ARMS",
        help='auto, or some of "cpu cuda cuda-hidden"  [default: auto]',
    ),
    "budget": click.option(
        "--budget", metavar="TIME", help="begin no block that would cross it: 20m, 1h30m"
    ),
    "stop-if": click.option(
        "--stop-if",
        type=click.Choice(["unsound"]),
        help="stop after the calibration if the machine proves unsound",
    ),
    "wait": click.option(
        "--wait",
        metavar="TIME",
        help="how long to wait for another campaign to end: 30m  [default: not at all]",
    ),
    "blocks": click.option("--blocks", type=_whole("blocks"), help="how many turns each arm gets"),
    "profile": click.option(
        "--profile",
        type=click.Choice(PROFILE_NAMES),
        help="scope and duration  [default: standard]",
    ),
}
"""The options of a campaign by their names, the last first."""


campaign_options = _adding(*_CAMPAIGN.values())
"""The options of a campaign."""

_UNPLANNED = ("results", "label", "telemetry", "gpu", "cpus", "arms", "budget", "wait", "blocks")

recheck_options = _adding(*(_CAMPAIGN[name] for name in _UNPLANNED))
"""Those of them that a campaign's plan does not say."""
