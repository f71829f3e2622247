"""What a person asks for, parsed once from the texts of the command line.

Pure; knows no engine.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from suite import codec
from suite.cells.traits import ProfileName
from suite.errors import UsageError
from suite.fingerprint import hash_lines
from suite.host.campaign.arms import AUTO, auto_arms, check_arms, check_versions, name_versions
from suite.host.campaign.durations import parse_duration
from suite.host.gpu.choice import ALL_GPUS, NOTATION
from suite.host.machine.identity import hide, read_salt
from suite.host.machine.machine import parse_cpus
from suite.host.telemetry.observer import Mode
from suite.input_limits import LONGEST_NAME, RANGES

_T = TypeVar("_T")

NAMED = ("engine", "local_python", "base_image", "cuda_image")
"""Settings that say what runs, and where: they only ever come from the command line."""

SETTINGS = (*NAMED, "cpus", "gpu", "telemetry", "sustain", "type")
"""Options that must not change while a campaign goes on, beside what its plan says."""

_NOT_REPEATED = ("results", "resume", "local_python", "seed", "wait", "evidence")
"""Options that a command which repeats the campaign leaves out: folders of this machine among them."""

_BY_NAME = ("script", "data", "requirements")
"""Options of which it has the last part of the path."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a person asks for; None: the profile's or the machine's own choice.

    ``words`` are the options that were given, by name, as they were written; everything else follows from
    them, so that `give` is the only way to change one.  ``cpus`` None: all; ``budget_s`` None: no end;
    ``sustain_s`` is how long cells are kept going, which are measured then in any profile (None: as the
    profile has it); ``wait_s`` is how long to wait for another campaign to end; ``price`` is an hour's, in
    ``currency``; ``type`` is what the cloud calls machines of this type.
    ``versions`` are what the arms are, whose family the machine decides, where no ``arms`` are named.
    ``evidence`` are files of others' tools.  A ``script`` is asked about with its ``args``, the folder
    ``data`` and the lock ``requirements``.
    """

    words: Mapping[str, str] = field(default_factory=dict)
    engine: str = AUTO
    local_python: str | None = None
    base_image: str | None = None
    cuda_image: str | None = None
    profile: ProfileName = "standard"
    arms: tuple[str, ...] = (AUTO,)
    versions: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    blocks: int | None = None
    seed: int | None = None
    label: str | None = None
    gpu: str | None = None
    cpus: tuple[int, ...] | None = None
    type: str | None = None
    telemetry: Mode = "on"
    budget_s: float | None = None
    sustain_s: float | None = None
    wait_s: float = 0.0
    stop_if_unsound: bool = False
    price: float | None = None
    currency: str = "USD"
    results: Path | None = None
    resume: Path | None = None
    evidence: tuple[str, ...] = ()
    script: Path | None = None
    args: tuple[str, ...] = ()
    data: Path | None = None
    requirements: Path | None = None
    include_script: bool = False

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Options:
        """The options of these values, as click or a text has them; None: not given.

        Raises:
            UsageError: one makes no sense.
        """
        words = {name: str(value) for name, value in given.items() if value is not None}
        get = words.get

        def read(name: str, parse: Callable[[str], _T]) -> _T | None:
            return parse(words[name]) if name in words else None

        if {"arms", "versions"} <= words.keys():
            raise UsageError(
                "ARMS and VERSIONS both say which arms there are", "leave one of them out"
            )
        gpu = read("gpu", parse_gpu)
        price, currency = read("price", parse_price) or (None, "USD")
        return cls(
            words=words,
            engine=get("engine", AUTO),
            local_python=get("local_python"),
            base_image=get("base_image"),
            cuda_image=get("cuda_image"),
            profile=cast(ProfileName, get("profile", "standard")),
            arms=parse_arms(get("arms") or AUTO, gpu, laid="cuda_image" in words),
            versions=read("versions", parse_versions) or (),
            only=tuple(get("only", "").split()),
            blocks=read("blocks", int),
            seed=read("seed", int),
            label=get("label"),
            gpu=gpu,
            cpus=read("cpus", parse_cpus),
            type=read("type", parse_type),
            telemetry=cast(Mode, get("telemetry", "on")),
            budget_s=read("budget", parse_duration),
            sustain_s=read("sustain", parse_sustain),
            wait_s=read("wait", parse_duration) or 0.0,
            stop_if_unsound="stop_if" in words,
            price=price,
            currency=currency,
            results=read("results", Path),
            resume=read("resume", Path),
            evidence=parse_words("EVIDENCE", get("evidence", "")),
            script=read("script", Path),
            args=parse_words("ARGS", get("args", "")),
            data=read("data", Path),
            requirements=read("requirements", Path),
            include_script="include_script" in words,
        )

    def give(self, **words: str | None) -> Options:
        """These options with others beside them, or in their place; None: without that one.

        Raises:
            UsageError: as `parse`.
        """
        return self.parse({**self.words, **words})

    def list_settings(self) -> dict[str, str]:
        """Those that must not change while a campaign goes on; what names one machine in the world, or a
        place on one, as a hash.

        Raises:
            UsageError: the secret of the hashes is none.
        """
        read_salt()  # refused here, and not once the first document is to be written
        plain = self._list_plain()
        settings = {name: plain[name] for name in SETTINGS if name in plain}
        if "local_python" in settings:
            place = str(Path(settings["local_python"]).absolute())
            settings["local_python"] = hide(f"sha256:{hash_lines([place])[:16]}")
        return settings

    def format_command(self) -> str:
        """The command that repeats this campaign, as make takes it."""
        words = [
            f"{name.upper()}={shlex.quote(Path(word).name if name in _BY_NAME else word)}"
            for name, word in self._list_plain().items()
            if name not in _NOT_REPEATED
        ]
        return " ".join(["make", "why" if self.script else "bench", *words])

    def _list_plain(self) -> dict[str, str]:
        """The words that say more than the default does; a GPU's UUID as a hash."""
        plain = {name: word for name, word in self.words.items() if word != AUTO}
        if "-" in plain.get("gpu", ""):
            plain["gpu"] = hide(codec.hash_uuid(plain["gpu"]))
        return plain


def parse_gpu(text: str) -> str:
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


def parse_sustain(text: str) -> float:
    """For how long cells are kept going, in seconds.

    Raises:
        UsageError: as `parse_duration`, or it is too short to see anything, or longer than anybody waits.
    """
    seconds = parse_duration(text)
    if complaint := RANGES["sustain"].refuse(seconds):
        raise UsageError(
            f"SUSTAIN={text[:99]!r}: {complaint} seconds",
            "such as SUSTAIN=120s; from 20s, of which the first two and the last are compared, to 30m",
        )
    return seconds


_TYPE = re.compile(r"[A-Za-z0-9][\w.:+-]*", re.ASCII)


def parse_type(text: str) -> str:
    """The type of a machine as a text names it.

    Raises:
        UsageError: no cloud calls one so.
    """
    if not _TYPE.fullmatch(text) or len(text) > LONGEST_NAME:
        raise UsageError(
            f"TYPE={text[:LONGEST_NAME]!r} is not the name of a machine type",
            "as your cloud writes it: TYPE=g5.xlarge, TYPE=a2-highgpu-1g, TYPE=Standard_NC24ads_A100_v4",
        )
    return text


def parse_arms(text: str, gpu: str | None, *, laid: bool) -> tuple[str, ...]:
    """The arms that a text names, where they go with the value of GPU, and with CUDA_IMAGE (``laid``).

    Raises:
        UsageError: as `check_arms` and `check_versions`.
    """
    names = tuple(text.replace(",", " ").split())
    check_arms(names, gpu)
    check_versions(names, laid=laid)
    return names


def parse_versions(text: str) -> tuple[str, ...]:
    """The versions that a text names, of which there are arms without a GPU.

    Raises:
        UsageError: as `name_versions`.
    """
    versions = tuple(text.replace(",", " ").split())
    name_versions(versions, auto_arms(gpu=False)[0].name)
    return versions


def parse_words(name: str, text: str) -> tuple[str, ...]:
    """The words of an option's text, as a shell takes them apart.

    Raises:
        UsageError: a quotation mark is not closed.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{name}={text[:99]!r}: {error}", "close what is open") from error


def parse_price(text: str) -> tuple[float, str]:
    """The price of an hour and its currency, of ``0.53`` (USD) or ``0.53 EUR``.

    Raises:
        UsageError: it is not a price, or the currency is not a code.
    """
    amount, _, currency = text.strip().partition(" ")
    try:
        price = float(amount)
    except ValueError:
        price = 0.0
    if price <= 0 or RANGES["price"].refuse(price):
        raise UsageError(
            f"PRICE={text[:99]!r} is not a price per hour",
            'such as PRICE=0.53, or PRICE="0.53 EUR"',
        )
    currency = currency.strip() or "USD"
    if len(currency) != 3 or not (currency.isascii() and currency.isalpha() and currency.isupper()):
        raise UsageError(
            f"PRICE={text[:99]!r}: {currency[:99]!r} is not a currency code",
            "three capital letters, such as EUR",
        )
    return price, currency
