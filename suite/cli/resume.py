"""What a folder may say of how its campaign goes on: numbers and closed words, and nothing that runs.

A folder can be anybody's.  What names a program, an engine or an image has to stand on the command line of
whoever goes on with it, and is only held against what the folder says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping

from suite import codec
from suite.cli.engines import name_engine, settle_custom
from suite.errors import DocumentError, UsageError
from suite.host.campaign.options import (
    NAMED,
    SETTINGS,
    Options,
    parse_gpu,
    parse_sustain,
    parse_type,
)
from suite.host.engine import Engine, Say
from suite.host.gpu.choice import ALL_GPUS, read_visible
from suite.host.machine.identity import SALT, hide, read_salt
from suite.host.machine.machine import parse_cpus
from suite.host.provision.custom_image import CUSTOM
from suite.host.telemetry.observer import MODES
from suite.model import PLAN, Campaign, Document

_HASH = re.compile(r"(sha256|hmac):[0-9a-f]{16}")
_IMAGE = re.compile(r"\w(?:[\w./:@-]|\{python\}){0,299}", re.ASCII)
"""A reference to an image, and nothing that a shell or make would take for more than a word."""


def settle(options: Options, begun: Campaign, documents: Iterable[Document] = ()) -> Options:
    """The options with which a campaign goes on, as it began.

    Raises:
        DocumentError: the plan holds no proper settings, or names what the command line does not.
        UsageError: an option or the fleet's secret differs from what the campaign began with, or an option
            has to be given again.
    """
    _demand_same_secret(begun, documents)
    settings = begun.settings
    for name, value in settings.items():
        if complaint := _judge(name, value):
            raise DocumentError(
                f"{PLAN}: $.settings.{name[:99]}: {complaint}", "start a new campaign"
            )
    if "engine" in settings:
        options = options.give(engine=name_engine(options))
    now = options.list_settings()
    image = settings.get("cuda_image", "")
    # Which image a tag means now is not known yet; see `demand_same_custom`.
    by_tag = {"cuda_image": image} if now.get("cuda_image") == image.partition("@")[0] else {}
    _demand_named({**now, **by_tag}, begun)
    plain = {name: value for name, value in settings.items() if name not in NAMED}
    if now.get("gpu") == ALL_GPUS and not any(arm.device for arm in begun.every_arm):
        # The machine shows one GPU, so that it became an ordinary campaign of that one.
        del now["gpu"]
    differing = sorted(n for n in now if n not in NAMED and now[n] != plain.get(n))
    if differing:
        words = ", ".join(f"{n.upper()}={plain.get(n, 'not given')}" for n in differing)
        raise UsageError(
            f"the campaign began with {words}", "leave it out, or start a new campaign"
        )
    if "gpu" not in now and _HASH.fullmatch(plain.get("gpu", "")):
        plain["gpu"] = _find_gpu(plain["gpu"])
    return options.give(**{name: value for name, value in plain.items() if name not in now})


def _find_gpu(hashed: str) -> str:
    """The UUID of that hash, where this shell's CUDA_VISIBLE_DEVICES has it.

    Raises:
        UsageError: it has not.
    """
    for name in read_visible(os.environ) or ():
        if "-" in name and hide(codec.hash_uuid(name)) == hashed:
            return name
    raise UsageError(
        "the campaign began with a GPU named by its UUID, which is not kept", "name it with GPU="
    )


def _demand_same_secret(begun: Campaign, documents: Iterable[Document]) -> None:
    """Refuses to go on with other hashes of a GPU than the campaign has: no number of it would count.

    Raises:
        UsageError: it began with a fleet's secret and there is none now, or the other way round.
    """
    uuids = (v for each in documents for n, v in each.facts.items() if n.endswith(".uuid"))
    kinds = {
        str(value).partition(":")[0]
        for value in (*begun.settings.values(), *uuids)
        if _HASH.fullmatch(str(value))
    }
    if kinds and ("hmac" in kinds) != bool(read_salt()):
        began, remedy = "without", f"unset {SALT}"
        if "hmac" in kinds:
            began, remedy = "with", f"give it the same: `{SALT}=$(cat fleet/.salt)`"
        raise UsageError(f"the campaign began {began} a fleet's secret ({SALT})", remedy)


_CHOICES = {"engine": ("docker", "local", "inside"), "telemetry": MODES}
_SHAPES = {"local_python": _HASH, "base_image": _IMAGE, "cuda_image": _IMAGE}


def _judge(name: str, value: str) -> str | None:
    """What is wrong with a setting of a plan; None: nothing."""
    if name not in SETTINGS:
        return "is not a campaign setting"
    try:
        if name == "cpus":
            parse_cpus(value)
        elif name == "sustain":
            parse_sustain(value)
        elif name == "type":
            parse_type(value)
        elif name == "gpu" and not _HASH.fullmatch(value):
            parse_gpu(value)
    except UsageError as error:
        return error.what
    if name in _CHOICES and value not in _CHOICES[name]:
        return f"{value[:99]!r} is none of {', '.join(_CHOICES[name])}"
    if name in _SHAPES and not _SHAPES[name].fullmatch(value):
        return f"{value[:99]!r} is not a valid value"
    return None


def _demand_named(now: Mapping[str, str], begun: Campaign) -> None:
    """Refuses to go on where what runs is not what the campaign began with."""
    settings = begun.settings
    differing = [name for name in NAMED if now.get(name) != settings.get(name)]
    if not differing:
        return
    what = "; ".join(
        f"$.settings.{name}: the campaign began with {settings.get(name, 'none')}, and this command has "
        f"{now.get(name, 'none')}"
        for name in differing
    )
    # What a plan names is a word to a shell, by `_judge`.
    words = {**settings, "local_python": "<the interpreter that it began with>"}
    add = "".join(f" {n.upper()}={words[n]}" for n in differing if n in settings)
    remedies = [f"a folder never decides what runs; to use the same, add{add}"] if add else []
    remedies += [f"leave {name.upper()} out" for name in differing if name not in settings]
    raise DocumentError(f"{PLAN}: {what}", "; ".join(remedies))


def demand_same_custom(
    options: Options,
    engine: Engine,
    images: Collection[str],
    begun: Campaign,
    say: Say,
) -> None:
    """Holds what CUDA_IMAGE means now against the digest that the plan names.

    Raises:
        EngineError: it is not to be had.
        DocumentError: its tag names another image by now.
    """
    settled = settle_custom(options, engine, images, say)
    if settled.cuda_image is not None and CUSTOM in images:
        _demand_named(settled.list_settings(), begun)
