"""What the options of a campaign mean: the request, its bounds, and what must stay as it is.

Pure; knows no engine.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any, cast

from suite import wire
from suite.cells.traits import ProfileName
from suite.errors import UsageError
from suite.host.campaign import durations
from suite.host.campaign.arms import AUTO, check_arms, known_arms
from suite.host.campaign.request import Request
from suite.host.gpu.choice import NOTATION
from suite.host.machine.cpus import parse_cpus
from suite.host.watch.observe import Mode

ALL_GPUS = "all"
"""The value of GPU that asks for a survey."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a campaign may use up: CPUs (None: all), and seconds (None: no end); and what is watched
    meanwhile."""

    cpus: tuple[int, ...] | None
    budget_s: float | None
    telemetry: Mode


def read_bounds(given: dict[str, Any]) -> Bounds:
    """The bounds that were given.

    Raises:
        UsageError: one is no list of CPUs, or no time.
    """
    return Bounds(
        cpus=None if given["cpus"] is None else parse_cpus(given["cpus"]),
        budget_s=None if given["budget"] is None else durations.parse_duration(given["budget"]),
        telemetry=given["telemetry"] or "on",
    )


def single_gpu(text: str) -> str:
    """The one GPU that a text names.

    Raises:
        UsageError: it names none, or several.
    """
    how = "name one: GPU=1, GPU=GPU-…, or a MIG instance: GPU=0:1, GPU=MIG-…"
    if text == ALL_GPUS:
        raise UsageError("GPU=all is for `make bench`", how)
    if not NOTATION.fullmatch(text):
        raise UsageError(f"GPU={text!r} does not name one GPU", how)
    return text


SETTINGS = ("engine", "cpus", "gpu", "base_image", "cuda_image", "telemetry")
"""Options that must not change while a campaign goes on, beside what its plan says."""


def read_settings(given: dict[str, Any]) -> dict[str, str]:
    """Those that were given; a GPU's UUID, which names one machine in the world, as a hash."""
    found = {name: str(given[name]) for name in SETTINGS if given[name] not in {None, "auto"}}
    if "gpu" in found:
        found["gpu"] = _hide_uuid(found["gpu"])
    return found


def _hide_uuid(gpu: str) -> str:
    return wire.hash_uuid(gpu) if "-" in gpu else gpu


def settle(given: dict[str, Any], settings: dict[str, str]) -> dict[str, Any]:
    """The options with which a campaign goes on: as it began.

    Raises:
        UsageError: one differs from what the campaign began with, or has to be given again.
    """
    now = read_settings(given)
    if now.get("cuda_image") == settings.get("cuda_image", "").partition("@")[0]:
        # By its tag again: what the plan pinned is what it goes on with.
        now.pop("cuda_image", None)
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


def word_command(command: str, given: dict[str, Any]) -> str:
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


def read_arms(text: str) -> tuple[str, ...]:
    """The arms that a text names.

    Raises:
        UsageError: one is unknown or named twice, or none is named.
    """
    names = tuple(text.replace(",", " ").split())
    check_arms(names, known_arms())
    return names


def read_request(given: dict[str, Any], *, again: bool) -> Request:
    """What is asked of a new campaign.

    Raises:
        UsageError: an option makes no sense.
    """
    gpu: str = given["gpu"] or "0"
    return Request(
        profile=cast(ProfileName, given["profile"] or "standard"),
        arms=read_arms(given["arms"] or ("cpu" if again else AUTO)),
        only=tuple((given["only"] or "").split()),
        blocks=given["blocks"],
        gpu=gpu if gpu == ALL_GPUS else single_gpu(gpu),
        seed=given["seed"],
        label=given["label"],
        price=given["price"],
        price_currency=given["price_currency"],
        command=word_command("aa" if again else "bench", given),
        settings=read_settings(given),
    )
