"""What the options of a campaign mean: the request, its bounds, and what must stay as it is.

Pure; knows no engine.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from suite import wire
from suite.cells.traits import ProfileName
from suite.content import hash_lines
from suite.errors import UsageError
from suite.host.campaign import durations
from suite.host.campaign.arms import ALL_GPUS, AUTO, check_arms
from suite.host.campaign.request import Request
from suite.host.gpu.choice import NOTATION
from suite.host.machine.identity import hide, read_salt
from suite.host.machine.machine import parse_cpus
from suite.host.telemetry.observer import Mode
from suite.ranges import LONGEST_NAME


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a campaign may use up: CPUs (None: all), and seconds (None: no end); what is watched
    meanwhile; how many seconds it waits for another one to end; and whether an unsound machine ends it."""

    cpus: tuple[int, ...] | None
    budget_s: float | None
    telemetry: Mode
    wait_s: float
    stop_if_unsound: bool


def read_bounds(given: dict[str, Any]) -> Bounds:
    """The bounds that were given.

    Raises:
        UsageError: one is no list of CPUs, or no time.
    """
    return Bounds(
        cpus=None if given["cpus"] is None else parse_cpus(given["cpus"]),
        budget_s=None if given["budget"] is None else durations.parse_duration(given["budget"]),
        telemetry=given["telemetry"] or "on",
        wait_s=0.0 if given["wait"] is None else durations.parse_duration(given["wait"]),
        stop_if_unsound=given["stop_if"] is not None,
    )


def read_gpu(text: str) -> str:
    """The GPU that a text names, or `ALL_GPUS`.

    Raises:
        UsageError: it names none, or several.
    """
    if text == ALL_GPUS:
        return text
    if not NOTATION.fullmatch(text) or len(text) > LONGEST_NAME:
        raise UsageError(
            f"GPU={text[:LONGEST_NAME]!r} does not name one GPU",
            "name one: GPU=1, GPU=GPU-…, or a MIG instance: GPU=0:1, GPU=MIG-…; or GPU=all",
        )
    return text


NAMED = ("engine", "local_python", "base_image", "cuda_image")
"""Settings that say what runs, and where: they only ever come from the command line."""

SETTINGS = (*NAMED, "cpus", "gpu", "telemetry")
"""Options that must not change while a campaign goes on, beside what its plan says."""


def read_settings(given: dict[str, Any]) -> dict[str, str]:
    """Those that were given; what names one machine in the world, or a place on one, as a hash.

    Raises:
        UsageError: the secret of the hashes is none.
    """
    read_salt()  # refused here, and not once the first document is to be written
    settings = _list_given(given, SETTINGS)
    if "local_python" in settings:
        place = str(Path(settings["local_python"]).absolute())
        settings["local_python"] = hide(f"sha256:{hash_lines([place])[:16]}")
    return settings


def _list_given(given: dict[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Those of these options that were given, as text; a GPU's UUID as a hash."""
    options = {name: str(given[name]) for name in names if given[name] not in {None, "auto"}}
    if "-" in options.get("gpu", ""):
        options["gpu"] = hide(wire.hash_uuid(options["gpu"]))
    return options


_UNTOLD = ("results", "resume", "local_python", "seed", "wait")
"""Options that a command which repeats the campaign leaves out: folders of this machine among them."""


def word_command(given: dict[str, Any]) -> str:
    """The command that repeats this campaign, as make takes it."""
    options = _list_given(given, [name for name in given if name not in _UNTOLD])
    words = [f"{name.upper()}={shlex.quote(text)}" for name, text in options.items()]
    return " ".join(["make bench", *words])


def read_arms(text: str, gpu: str | None) -> tuple[str, ...]:
    """The arms that a text names, where they go with the value of GPU.

    Raises:
        UsageError: as `check_arms`.
    """
    names = tuple(text.replace(",", " ").split())
    check_arms(names, gpu)
    return names


def read_request(given: dict[str, Any]) -> Request:
    """What is asked of a new campaign.

    Raises:
        UsageError: an option makes no sense.
    """
    gpu = read_gpu(given["gpu"] or "0")
    return Request(
        profile=cast(ProfileName, given["profile"] or "standard"),
        arms=read_arms(given["arms"] or AUTO, gpu),
        only=tuple((given["only"] or "").split()),
        blocks=given["blocks"],
        gpu=gpu,
        seed=given["seed"],
        label=given["label"],
        price=given["price"],
        price_currency=given["price_currency"],
        command=word_command(given),
        settings=read_settings(given),
    )
